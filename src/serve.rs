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

use anyhow::{Context as _, bail};
use config::{Config, FilePlace, LogModule};
use proxy::log::AccessLog;
use proxy::worker::Phase;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use crate::cache_log::CacheLog;
use crate::cli::{Args, Stage};
use crate::configuration::{self, Source};
use crate::pid_file::{self, PidFile, Refused};
use crate::ports::Ports;
use crate::reload;
use crate::version::OURS;
use crate::workers::{self, Crew};
use crate::{access_log, console, daemon, limits, privileges, supports};

/// How long workers may take to end once they must.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the last log lines may take.
const LOG_PATIENCE: Duration = Duration::from_secs(2);

/// Starts the proxy, in the foreground or as a daemon.
pub(crate) fn run(called: &str, args: &Args) -> anyhow::Result<ExitCode> {
    if args.stage == Some(Stage::Session) {
        return daemon::open_session();
    }
    let source = Source::of(args);
    let config = match source.load(args) {
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
    runtime.block_on(live(args, source, config))
}

async fn live(args: &Args, source: Source, mut config: Config) -> anyhow::Result<ExitCode> {
    let built_in = source == Source::BuiltIn;
    let mut signals = Signals::open().context("cannot receive signals")?;
    let mut complaints = limits::set(&config);
    let pid_file = pid_file(&config, args, &mut complaints)?;
    let ports = Ports::bind(&config, workers::count(&config))?;
    keep_open(&mut config, &ports.open);
    complaints.extend_from_slice(&ports.failed);
    if built_in && let Some(addr) = ports.first_addr() {
        console::plain(format_args!(
            "No configuration file: Squid's stock rules hold, listening on {addr}"
        ));
    }
    for path in log_files(&config) {
        privileges::prepare(&config, path);
    }
    let files = store::Files::in_large_pages();
    privileges::give_up(&config)?;
    let cache_log = CacheLog::open(&config, args, built_in);
    cache_log.install()?;
    announce(&config, &complaints);
    let log = access_logs(&config, ports.listeners.len())?;
    let plan = match supports::plan(config, None) {
        Ok(plan) => Arc::new(plan),
        Err(problems) => return Ok(configuration::refuse(&problems)),
    };
    for warning in &plan.rules.warnings {
        tracing::warn!("{warning}");
    }
    let shared = supports::open(&plan.config, files, log.clone())?;
    let crew = Crew::start(ports.listeners, plan, &shared)?;
    for line in &ports.told {
        tracing::info!("{line}");
    }
    tracing::info!("Ready to serve requests.");
    if args.stage == Some(Stage::Proxy) {
        daemon::tell_ready().context("cannot leave the terminal")?;
    }
    let outcome = watch(crew, &mut signals, &source, args, &log, &cache_log).await;
    log.close(LOG_PATIENCE);
    drop(pid_file);
    outcome?;
    tracing::info!("Squall Cache (Version {OURS}): Exiting normally.");
    Ok(ExitCode::SUCCESS)
}

/// Serves until a signal says otherwise.
async fn watch(
    mut crew: Crew,
    signals: &mut Signals,
    source: &Source,
    args: &Args,
    log: &AccessLog,
    cache_log: &CacheLog,
) -> anyhow::Result<()> {
    let mut ending: Option<Instant> = None;
    let mut failure = None;
    loop {
        let patience = ending.unwrap_or_else(Instant::now);
        tokio::select! {
            asked = signals.next() => match asked {
                Asked::Reload if ending.is_none() => reload::run(&crew, source, args),
                Asked::Reload => {}
                Asked::Rotate => {
                    log.rotate();
                    cache_log.rotate();
                }
                Asked::Ignore => tracing::info!("this signal has no meaning yet"),
                Asked::Drain if ending.is_none() => ending = Some(drain(&crew)),
                Asked::Drain | Asked::Stop => ending = Some(stop(&crew)),
            },
            end = crew.next_end() => match end {
                None => break,
                Some(Ok(())) if ending.is_some() => {}
                Some(outcome) => {
                    let error = outcome.err().unwrap_or_else(|| anyhow::anyhow!("a worker ended"));
                    failure.get_or_insert(error);
                    ending = Some(stop(&crew));
                }
            },
            () = sleep_until(patience), if ending.is_some() => {
                tracing::warn!("workers don't end; leaving them");
                break;
            }
        }
    }
    failure.map_or(Ok(()), Err)
}

fn drain(crew: &Crew) -> Instant {
    let grace = crew.plan().config.shutdown_lifetime;
    tracing::info!("Preparing for shutdown");
    tracing::info!(
        "Waiting {} seconds for active connections to finish",
        grace.as_secs()
    );
    crew.order(Phase::Drain(grace));
    Instant::now() + grace + PATIENCE
}

fn stop(crew: &Crew) -> Instant {
    tracing::info!("Shutting down...");
    crew.order(Phase::Stop);
    Instant::now() + PATIENCE
}

/// The files that are logged to.
fn log_files(config: &Config) -> impl Iterator<Item = &Path> {
    let access = config
        .access_logs
        .iter()
        .filter_map(|log| match &log.module {
            LogModule::File(path) => Some(path.as_path()),
            LogModule::None | LogModule::Other(_) => None,
        });
    let cache = match &config.cache_log {
        FilePlace::File(path) => Some(path.as_path()),
        FilePlace::Unset | FilePlace::None => None,
    };
    access.chain(cache)
}

/// Rules and workers count ports as they are open.
fn keep_open(config: &mut Config, open: &[usize]) {
    let mut number = 0;
    config.ports.retain(|_| {
        number += 1;
        open.contains(&(number - 1))
    });
}

/// Says who starts, where and with what.
fn announce(config: &Config, complaints: &[String]) {
    tracing::info!(
        "Starting Squall Cache version {OURS} for {}...",
        std::env::consts::ARCH
    );
    tracing::info!("Service Name: squid");
    tracing::info!("Process ID {}", std::process::id());
    tracing::info!("With {} file descriptors available", limits::open_files());
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    for complaint in complaints {
        tracing::error!("{complaint}");
    }
}

/// Writes the PID file. In the foreground nobody needs one to find the process.
fn pid_file(
    config: &Config,
    args: &Args,
    complaints: &mut Vec<String>,
) -> anyhow::Result<Option<PidFile>> {
    let Some(path) = pid_file::place(config) else {
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

/// Opens the access logs. That the usual place isn't there is no reason not to serve; that a named
/// one isn't, is.
fn access_logs(config: &Config, workers: usize) -> anyhow::Result<AccessLog> {
    match access_log::open(config, workers) {
        Ok(log) => Ok(log),
        Err(error) if config.access_logs.is_empty() => {
            tracing::warn!("{error}; requests are not logged");
            Ok(AccessLog::default())
        }
        Err(error) => Err(error).with_context(|| {
            let user = privileges::user_name();
            format!("The parent directory must be writeable by the user '{user}'")
        }),
    }
}

/// What a signal asks for.
enum Asked {
    Reload,
    Rotate,
    Drain,
    Stop,
    Ignore,
}

/// All signals with a meaning.
struct Signals {
    hup: Signal,
    usr1: Signal,
    usr2: Signal,
    term: Signal,
    int: Signal,
    ttin: Signal,
}

impl Signals {
    fn open() -> std::io::Result<Self> {
        let ttin = SignalKind::from_raw(rustix::process::Signal::TTIN.as_raw());
        Ok(Self {
            hup: signal(SignalKind::hangup())?,
            usr1: signal(SignalKind::user_defined1())?,
            usr2: signal(SignalKind::user_defined2())?,
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            ttin: signal(ttin)?,
        })
    }

    async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.hup.recv() => Asked::Reload,
            _ = self.usr1.recv() => Asked::Rotate,
            _ = self.term.recv() => Asked::Drain,
            _ = self.int.recv() => Asked::Stop,
            _ = self.usr2.recv() => Asked::Ignore,
            _ = self.ttin.recv() => Asked::Ignore,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_open_ports_stay_in_the_configuration() {
        let mut config = config::built_in();
        let port = config.ports.remove(0);
        config.ports = (1..=3)
            .map(|number| config::Port {
                port: number,
                ..port.clone()
            })
            .collect();
        keep_open(&mut config, &[0, 2]);
        let left: Vec<u16> = config.ports.iter().map(|port| port.port).collect();
        assert_eq!(left, [1, 3]);
    }
}
