//! Starts the worker threads and tells them what to do. Each is a thread with a runtime of its own;
//! what they do there is `proxy::worker`'s.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::Context as _;
use config::Config;
use net::clock::Clock;
use net::dns::Resolver;
use proxy::flow::Store;
use proxy::log::AccessLog;
use proxy::plan::Plan;
use proxy::worker::{Orders, Phase, Setup};
use stats::Registry;
use tokio::sync::{mpsc, watch};

/// What all workers share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The cache.
    pub(crate) store: Arc<Store>,
    /// Known names.
    pub(crate) resolver: Resolver,
    /// The time.
    pub(crate) clock: Clock,
    /// Everybody's counters.
    pub(crate) registry: Arc<Registry>,
    /// The access logs.
    pub(crate) log: AccessLog,
}

/// All worker threads.
#[derive(Debug)]
pub(crate) struct Crew {
    orders: watch::Sender<Orders>,
    ends: mpsc::Receiver<usize>,
    threads: Vec<Option<JoinHandle<anyhow::Result<()>>>>,
}

impl Crew {
    /// Starts a thread for each set of sockets.
    pub(crate) fn start(
        listeners: Vec<Vec<TcpListener>>,
        plan: Arc<Plan>,
        shared: &Shared,
    ) -> anyhow::Result<Self> {
        let cores = Cores::read(&plan.config);
        let orders = watch::Sender::new(Orders {
            plan,
            phase: Phase::Serve,
        });
        let (end, ends) = mpsc::channel(listeners.len().max(1));
        let mut threads = Vec::with_capacity(listeners.len());
        for (worker, listeners) in listeners.into_iter().enumerate() {
            let cells = shared.registry.cells();
            let setup = Setup {
                worker,
                listeners,
                orders: orders.subscribe(),
                store: Arc::clone(&shared.store),
                resolver: shared.resolver.counting_in(&cells),
                clock: shared.clock,
                cells,
                log: shared.log.handle(worker),
            };
            let core = cores.of(worker);
            let end = End {
                worker,
                end: end.clone(),
            };
            let thread = thread::Builder::new().name(format!("worker-{}", worker + 1));
            let thread = thread.spawn(move || {
                let _end = end;
                work(setup, core)
            });
            threads.push(Some(thread.context("cannot start a worker")?));
        }
        Ok(Self {
            orders,
            ends,
            threads,
        })
    }

    /// The plan that holds.
    pub(crate) fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.orders.borrow().plan)
    }

    /// Lets all later transactions go by `plan`.
    pub(crate) fn reload(&self, plan: Arc<Plan>) {
        self.orders.send_modify(|orders| orders.plan = plan);
    }

    /// Tells all what to do.
    pub(crate) fn order(&self, phase: Phase) {
        self.orders.send_modify(|orders| orders.phase = phase);
    }

    /// Waits until a worker has ended; `None` when all have.
    pub(crate) async fn next_end(&mut self) -> Option<anyhow::Result<()>> {
        if self.threads.iter().all(Option::is_none) {
            return None;
        }
        let worker = self.ends.recv().await?;
        let thread = self.threads.get_mut(worker)?.take()?;
        let outcome = thread
            .join()
            .unwrap_or_else(|_| Err(anyhow::anyhow!("it panicked")));
        Some(outcome.with_context(|| format!("worker {} ended", worker + 1)))
    }
}

/// Tells the crew of a worker's end, also when it panics.
struct End {
    worker: usize,
    end: mpsc::Sender<usize>,
}

impl Drop for End {
    fn drop(&mut self) {
        // There is room for all; and if nobody listens, nobody wants to know.
        let _ = self.end.try_send(self.worker);
    }
}

/// A worker's life.
fn work(setup: Setup, core: Option<usize>) -> anyhow::Result<()> {
    if let Some(core) = core
        && let Err(error) = net::affinity::pin_current_thread(core)
    {
        tracing::error!("cpu_affinity_map: cannot use core {}: {error}", core + 1);
    }
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
