//! The proxy's life: start, signals, reload, stop.
//!
//! | phase | moved on by |
//! | --- | --- |
//! | start: limits, PID file, ports, user, logs, plan, workers | itself, in this order: the ports and memory in large pages may need root's rights, files must not be opened with them |
//! | serve | `SIGTERM`: drain; `SIGINT`: stop; a worker's end: stop, and fail |
//! | drain: no new connections, for `shutdown_lifetime` | the last worker's end; a second signal: stop |
//! | stop: workers end now | the last worker's end, or the end of patience |

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use admin::{ConfigText, Names, Order};
use anyhow::{Context as _, bail};
use config::{Config, FilePlace, LogModule};
use proxy::log::{RetiredLog, StoreLog};
use proxy::worker::Phase;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::cache_dirs::CacheDirs;
use crate::cache_log::CacheLog;
use crate::cli::{Args, Stage};
use crate::configuration::{self, Source};
use crate::pid_file::{self, PidFile, Refused};
use crate::ports::Ports;
use crate::signals::{Asked, Signals};
use crate::snmp::{self, Agent};
use crate::version::OURS;
use crate::workers::{self, Crew, Setting};
use crate::{
    access_log, config_command, console, daemon, limits, notify, privileges, reload, store_log,
    supports, version,
};

/// How often what may fail is looked after.
const TICK: Duration = Duration::from_secs(1);
/// Orders of the cache manager that wait; more of the same change nothing.
const ORDERS_MAX: usize = 8;
/// How long workers may take to end once they must.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the last log lines may take.
const LOG_PATIENCE: Duration = Duration::from_secs(2);
/// How long helper programs may take to end.
const HELPER_PATIENCE: Duration = Duration::from_secs(2);

/// Starts the proxy, in the foreground or as a daemon.
pub(crate) fn run(called: &str, args: &Args) -> anyhow::Result<ExitCode> {
    if args.stage == Some(Stage::Session) {
        return daemon::open_session();
    }
    let source = Source::of(args.config.as_deref());
    let (config, text) = config_command::load(&source, args);
    let config = match config {
        Ok(config) => config,
        Err(problems) => return Ok(configuration::refuse(&problems)),
    };
    // Without a configuration this is a first try by hand: it ends with the terminal. So does a
    // bare `squall`; under Squid's name it is a daemon, as Squid is.
    let by_hand = args.config.is_none() && called != "squid";
    let stays = args.stays() || source == Source::BuiltIn || by_hand;
    if args.stage.is_none() && !stays {
        return daemon::start();
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(live(args, source, config, text))
}

async fn live(
    args: &Args,
    source: Source,
    config: Config,
    text: ConfigText,
) -> anyhow::Result<ExitCode> {
    let built_in = source == Source::BuiltIn;
    let mut signals = Signals::open().context("cannot receive signals")?;
    let mut complaints = limits::set(&config);
    let pid_file = pid_file(&config, args, &mut complaints)?;
    let opened = Ports::default().reopen(&config, workers::count(&config))?;
    complaints.extend_from_slice(&opened.failed);
    if built_in && let Some(addr) = opened.ports.first_addr() {
        console::plain(format_args!(
            "No configuration file: Squid's stock rules hold, listening on {addr}"
        ));
    }
    let snmp = snmp::bind(&config, &mut complaints);
    for path in log_files(&config) {
        privileges::prepare(&config, path);
    }
    for socket in opened.ports.sockets().iter().flatten() {
        privileges::hand_over(&config, socket);
    }
    let files = store::Files::in_large_pages();
    privileges::give_up(&config)?;
    let cache_log = CacheLog::open(&config, args, built_in);
    cache_log.install()?;
    announce(&config, args, &complaints);
    let names = Names {
        version: OURS,
        squid: version::SQUID,
        service: args.service_name().as_str().to_owned(),
    };
    let (orders, asked) = mpsc::channel(ORDERS_MAX);
    let shared = supports::open(&config, files, names, orders);
    let log = access_log::open(&config, &shared.registry)?;
    let store_log = store_log::open(&config, &shared);
    shared.admin.show_config(text);
    let mut cache_dirs = CacheDirs::new();
    cache_dirs.arrange(&config, &shared.store);
    let plan = match supports::plan(config, &shared.helpers, None) {
        Ok(plan) => Arc::new(plan),
        Err(problems) => return Ok(configuration::refuse(&problems)),
    };
    for warning in &plan.rules.warnings {
        tracing::warn!("{warning}");
    }
    let setting = Setting {
        resolver: supports::resolver(&plan.config, &shared)?,
        sockets: opened.ports.sockets(),
        plan,
        log,
    };
    let crew = Crew::start(setting, shared)?;
    crew.shared().admin.follow(crew.subscribe());
    let mut running = Running {
        snmp: Agent::start(snmp, &crew),
        crew,
        ports: opened.ports,
        retired_logs: Vec::new(),
        store_log,
        cache_log,
        cache_dirs,
        source,
        args: args.clone(),
        asked,
    };
    for line in &opened.told {
        tracing::info!("{line}");
    }
    tracing::info!("Ready to serve requests.");
    notify::ready();
    if args.stage == Some(Stage::Proxy) {
        daemon::tell_ready().context("cannot leave the terminal")?;
    }
    let outcome = running.watch(&mut signals).await;
    running.crew.shared().helpers.stop(HELPER_PATIENCE);
    running.cache_dirs.close();
    running.close_logs();
    drop(pid_file);
    outcome?;
    tracing::info!("Squall Cache (Version {OURS}): Exiting normally.");
    Ok(ExitCode::SUCCESS)
}

/// A proxy that serves.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) crew: Crew,
    pub(crate) ports: Ports,
    /// Logs of configurations past that transactions still write to.
    pub(crate) retired_logs: Vec<RetiredLog>,
    pub(crate) store_log: Option<StoreLog>,
    pub(crate) cache_log: CacheLog,
    pub(crate) cache_dirs: CacheDirs,
    pub(crate) source: Source,
    pub(crate) args: Args,
    /// The SNMP agent, if there is one.
    pub(crate) snmp: Agent,
    /// What the cache manager asks for.
    asked: mpsc::Receiver<Order>,
}

impl Running {
    /// Serves until a signal says otherwise.
    async fn watch(&mut self, signals: &mut Signals) -> anyhow::Result<()> {
        let mut ending: Option<Instant> = None;
        let mut failure = None;
        let mut tick = tokio::time::interval(TICK);
        loop {
            let patience = ending.unwrap_or_else(Instant::now);
            tokio::select! {
                // While there is an admin there is a sender.
                Some(order) = self.asked.recv() => match order {
                    Order::Rotate => self.rotate(),
                    Order::Reconfigure | Order::Shutdown if ending.is_some() => {}
                    Order::Reconfigure => self.reload().await,
                    Order::Shutdown => ending = Some(self.drain()),
                },
                asked = signals.next() => match asked {
                    Asked::Rotate => self.rotate(),
                    Asked::Debug => self.cache_log.toggle_debugging(),
                    Asked::Reload | Asked::Restart if ending.is_some() => {}
                    Asked::Reload => self.reload().await,
                    Asked::Restart => self.restart(),
                    Asked::Drain if ending.is_none() => ending = Some(self.drain()),
                    Asked::Drain | Asked::Stop => ending = Some(self.stop()),
                },
                end = self.crew.next_end() => match end {
                    None => break,
                    Some(Ok(())) if ending.is_some() => {}
                    Some(outcome) => {
                        let error = outcome.err();
                        let error = error.unwrap_or_else(|| anyhow::anyhow!("a worker ended"));
                        failure.get_or_insert(error);
                        ending = Some(self.stop());
                    }
                },
                _ = tick.tick() => {
                    let shared = self.crew.shared();
                    self.cache_dirs.tend(&shared.store);
                    shared.admin.tick();
                    if ending.is_none() && let Some(why) = self.crew.orders().log.fatal() {
                        tracing::error!("FATAL: {why}");
                        failure.get_or_insert(anyhow::anyhow!("{why}"));
                        ending = Some(self.stop());
                    }
                }
                () = sleep_until(patience), if ending.is_some() => {
                    tracing::warn!("workers don't end; leaving them");
                    break;
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }

    async fn reload(&mut self) {
        notify::reloading();
        let before = self.crew.orders();
        reload::run(self);
        let now = self.crew.orders();
        let (old, new) = (&before.plan.config, &now.plan.config);
        self.snmp.reload(old, new, &self.crew).await;
        self.cache_log.reconfigure(&now.plan.config, &self.args);
        notify::ready();
    }

    fn drain(&self) -> Instant {
        notify::stopping();
        let grace = self.crew.orders().plan.config.shutdown_lifetime;
        tracing::info!("Preparing for shutdown");
        tracing::info!(
            "Waiting {} seconds for active connections to finish",
            grace.as_secs()
        );
        self.crew.order(Phase::Drain(grace));
        Instant::now() + grace + PATIENCE
    }

    fn stop(&self) -> Instant {
        notify::stopping();
        tracing::info!("Shutting down...");
        self.crew.order(Phase::Stop);
        Instant::now() + PATIENCE
    }

    /// New threads with nothing of the old ones take over; those end with their last connection.
    fn restart(&mut self) {
        tracing::info!("Restarting the workers");
        if let Err(error) = self.crew.relieve() {
            tracing::error!("{error:#}");
        }
    }

    fn rotate(&mut self) {
        tracing::info!("Rotating the logs");
        self.crew.orders().log.rotate();
        self.cache_log.rotate();
        if let Some(log) = &self.store_log {
            log.rotate();
        }
        self.retired_logs.retain(RetiredLog::reopen);
        self.crew.shared().helpers.restart();
    }

    fn close_logs(&self) {
        self.crew.orders().log.close(LOG_PATIENCE);
        for log in &self.retired_logs {
            log.close(LOG_PATIENCE);
        }
        if let Some(log) = &self.store_log {
            log.close(LOG_PATIENCE);
        }
    }
}

/// The files that are logged to.
fn log_files(config: &Config) -> impl Iterator<Item = &Path> {
    let access = config
        .access_logs
        .iter()
        .filter_map(|log| match &log.module {
            LogModule::File(path) => Some(path.as_path()),
            LogModule::None
            | LogModule::Daemon(_)
            | LogModule::Syslog(..)
            | LogModule::Udp(_)
            | LogModule::Tcp(_) => None,
        });
    let cache = match &config.cache_log {
        FilePlace::File(path) => Some(path.as_path()),
        FilePlace::Unset | FilePlace::None => None,
    };
    access.chain(cache).chain(store_log::path(config))
}

/// Says who starts, where and with what.
fn announce(config: &Config, args: &Args, complaints: &[String]) {
    tracing::info!(
        "Starting Squall Cache version {OURS} for {}...",
        std::env::consts::ARCH
    );
    tracing::info!("Service Name: {}", args.service_name());
    tracing::info!("Process ID {}", std::process::id());
    tracing::info!("With {} file descriptors available", limits::open_files());
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    for complaint in complaints {
        tracing::error!("{complaint}");
    }
    if let Some(port) = args.icp_port.filter(|&port| port != 0) {
        tracing::warn!("not yet: -u {port}: there is no ICP, and the port is not opened");
    }
}

/// Writes the PID file. In the foreground nobody needs one to find the process.
fn pid_file(
    config: &Config,
    args: &Args,
    complaints: &mut Vec<String>,
) -> anyhow::Result<Option<PidFile>> {
    let Some(path) = pid_file::place(config, &args.service_name()) else {
        return Ok(None);
    };
    let daemon = args.stage == Some(Stage::Proxy);
    let named = config.pid_filename != FilePlace::Unset;
    match PidFile::create(&path) {
        Ok(file) => Ok(Some(file)),
        Err(refused @ Refused::Running { .. }) if daemon => bail!(refused),
        Err(refused) if daemon && named => bail!(refused),
        Err(refused) => {
            if daemon || named {
                complaints.push(refused.to_string());
            }
            Ok(None)
        }
    }
}
