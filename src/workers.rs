//! Starts the worker threads and tells them what to do. Each is a thread with a runtime of its own;
//! what they do there is `proxy::worker`'s. A reload may change how many there are: a worker too
//! many takes no more connections, and ends when those it has are through.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use admin::Admin;
use anyhow::Context as _;
use config::Config;
use net::clock::Clock;
use net::dns::Resolver;
use proxy::flow::Store;
use proxy::helpers::Helpers;
use proxy::internal::Roll;
use proxy::log::AccessLog;
use proxy::plan::Plan;
use proxy::watch::Watch;
use proxy::worker::{Member, Orders, Phase, Setup, Sockets};
use stats::Registry;
use tokio::sync::{mpsc, watch};

/// Workers whose ends may be told before anybody listens; more wait.
const ENDS_MAX: usize = 64;

/// What all workers share, for good.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The cache.
    pub(crate) store: Arc<Store>,
    /// The time.
    pub(crate) clock: Clock,
    /// Helper programs.
    pub(crate) helpers: Helpers,
    /// Everybody's counters.
    pub(crate) registry: Arc<Registry>,
    /// Who looks at transactions.
    pub(crate) watch: Watch,
    /// Who tells of all this.
    pub(crate) admin: Arc<Admin>,
    /// The workers, as pages ask them.
    pub(crate) roll: Roll,
}

/// What workers serve by, until the next one.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The configuration, worked out.
    pub(crate) plan: Arc<Plan>,
    /// Its access logs.
    pub(crate) log: AccessLog,
    /// Known names.
    pub(crate) resolver: Resolver,
    /// Its ports.
    pub(crate) sockets: Sockets,
}

/// All worker threads.
#[derive(Debug)]
pub(crate) struct Crew {
    shared: Shared,
    orders: watch::Sender<Orders>,
    end: mpsc::Sender<u64>,
    ends: mpsc::Receiver<u64>,
    threads: BTreeMap<u64, JoinHandle<anyhow::Result<()>>>,
    next_id: u64,
}

impl Crew {
    /// Starts as many threads as the configuration asks for.
    pub(crate) fn start(setting: Setting, shared: Shared) -> anyhow::Result<Self> {
        let (end, ends) = mpsc::channel(ENDS_MAX);
        let mut crew = Self {
            shared,
            orders: watch::Sender::new(Orders {
                plan: Arc::clone(&setting.plan),
                log: setting.log.clone(),
                resolver: setting.resolver.clone(),
                sockets: Arc::clone(&setting.sockets),
                crew: Arc::new([]),
                phase: Phase::Serve,
            }),
            end,
            ends,
            threads: BTreeMap::new(),
            next_id: 0,
        };
        crew.reload(setting)?;
        Ok(crew)
    }

    /// What all workers share.
    pub(crate) const fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Tells of the orders that hold, now and later.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Orders> {
        self.orders.subscribe()
    }

    /// The orders that hold.
    pub(crate) fn orders(&self) -> Orders {
        self.orders.borrow().clone()
    }

    /// Lets all later transactions go by `setting`, with as many workers as it asks for.
    ///
    /// # Errors
    /// Not all threads could be started; the others serve.
    pub(crate) fn reload(&mut self, setting: Setting) -> anyhow::Result<()> {
        let keep = self.members().len();
        self.muster(setting, keep)
    }

    /// Lets a new crew serve in place of the old one.
    ///
    /// # Errors
    /// As [`Crew::reload`].
    pub(crate) fn relieve(&mut self) -> anyhow::Result<()> {
        let Orders {
            plan,
            log,
            resolver,
            sockets,
            ..
        } = self.orders();
        let setting = Setting {
            plan,
            log,
            resolver,
            sockets,
        };
        self.muster(setting, 0)
    }

    /// Brings the crew to its size, beginning with `keep` of those who serve.
    fn muster(&mut self, setting: Setting, keep: usize) -> anyhow::Result<()> {
        let config = &setting.plan.config;
        let (wanted, cores) = (count(config), Cores::read(config));
        let members = self.members();
        let kept = members.iter().take(keep).map(|member| member.id);
        let mut ids: Vec<u64> = kept.take(wanted).collect();
        let fresh = ids.len();
        while ids.len() < wanted {
            ids.push(self.next_id);
            self.next_id += 1;
        }
        let member = |(place, id)| Member {
            id,
            core: cores.of(place),
        };
        let crew = ids.iter().copied().enumerate().map(member).collect();
        self.orders.send_modify(|orders| {
            *orders = Orders {
                plan: setting.plan,
                log: setting.log,
                resolver: setting.resolver,
                sockets: setting.sockets,
                crew,
                phase: orders.phase,
            };
        });
        for (place, id) in ids.into_iter().enumerate().skip(fresh) {
            if let Err(error) = self.hire(place, id) {
                // What would be theirs is for the others.
                self.orders.send_modify(|orders| {
                    orders.crew = orders.crew.iter().take(place).copied().collect();
                });
                return Err(error);
            }
        }
        Ok(())
    }

    fn hire(&mut self, place: usize, id: u64) -> anyhow::Result<()> {
        let setup = Setup {
            id,
            orders: self.orders.subscribe(),
            store: Arc::clone(&self.shared.store),
            clock: self.shared.clock,
            cells: self
                .shared
                .registry
                .cells_named(format!("worker-{}", place + 1)),
            watch: self.shared.watch.clone(),
            pages: Arc::<Admin>::clone(&self.shared.admin),
            roll: self.shared.roll.clone(),
            tidy: sys::heap::collect,
        };
        let end = End {
            id,
            end: self.end.clone(),
        };
        let thread = thread::Builder::new().name(format!("worker-{}", place + 1));
        let thread = thread.spawn(move || {
            let _end = end;
            work(setup)
        });
        let thread = thread.context("cannot start a worker")?;
        self.threads.insert(id, thread);
        Ok(())
    }

    fn members(&self) -> Arc<[Member]> {
        Arc::clone(&self.orders.borrow().crew)
    }

    /// Tells all what to do.
    pub(crate) fn order(&self, phase: Phase) {
        self.orders.send_modify(|orders| orders.phase = phase);
    }

    /// Waits until a worker has ended that wasn't relieved; `None` when all have ended.
    pub(crate) async fn next_end(&mut self) -> Option<anyhow::Result<()>> {
        loop {
            if self.threads.is_empty() {
                return None;
            }
            let id = self.ends.recv().await?;
            let Some(thread) = self.threads.remove(&id) else {
                continue;
            };
            let outcome = thread
                .join()
                .unwrap_or_else(|_| Err(anyhow::anyhow!("it panicked")));
            let outcome = outcome.with_context(|| format!("worker {} ended", id + 1));
            let serves = self.members().iter().any(|member| member.id == id);
            if serves || outcome.is_err() {
                return Some(outcome);
            }
        }
    }
}

/// Tells the crew of a worker's end, also when it panics.
struct End {
    id: u64,
    end: mpsc::Sender<u64>,
}

impl Drop for End {
    fn drop(&mut self) {
        // If nobody listens, nobody wants to know.
        let _ = self.end.blocking_send(self.id);
    }
}

/// A worker's life.
fn work(setup: Setup) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build_local(tokio::runtime::LocalOptions::default())?;
    Ok(runtime.block_on(proxy::worker::run(setup))?)
}

/// `cpu_affinity_map`: which core a worker runs on, both counted from 0.
struct Cores(Vec<(u32, u32)>);

impl Cores {
    fn read(config: &Config) -> Self {
        Self(config.cpu_affinity_map.clone())
    }

    fn of(&self, worker: usize) -> Option<usize> {
        let number = u32::try_from(worker).ok()?.checked_add(1)?;
        let (_, core) = self.0.iter().rfind(|(process, _)| *process == number)?;
        usize::try_from(core.checked_sub(1)?).ok()
    }
}

/// How many workers there are to be.
pub(crate) fn count(config: &Config) -> usize {
    match config.workers {
        Some(workers) => usize::try_from(workers).unwrap_or(1).max(1),
        None => thread::available_parallelism().map_or(1, Into::into),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_cores_are_counted_from_one_in_the_configuration() {
        let cores = Cores(vec![(1, 3), (2, 1), (1, 2)]);
        assert_eq!(cores.of(0), Some(1));
        assert_eq!(cores.of(1), Some(0));
        assert_eq!(cores.of(2), None);
        assert_eq!(Cores(vec![(1, 0)]).of(0), None);
    }

    #[test]
    fn no_workers_means_one() {
        let with = |workers| Config {
            workers,
            ..config::built_in()
        };
        assert_eq!(count(&with(Some(0))), 1);
        assert_eq!(count(&with(Some(3))), 3);
        assert!(count(&with(None)) >= 1);
    }
}
