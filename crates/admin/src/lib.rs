//! What the proxy tells of itself: manager pages, and what else is asked of it by HTTP. Reads snapshots, and never waits
//! for a request or holds one up. The program makes an [`Admin`], gives it to the workers, and calls [`Admin::tick`].
//!
//! | folder | holds |
//! | --- | --- |
//! | `dashboard/` | `/squall/` |
//! | `manager/` | one table of pages; one file for each |
//! | `metrics/` | `/metrics` |
//! | `snmp/` | the SNMP agent |
//! | `health` | `/healthz`, `/readyz` |
//! | `process` | what the system says of the process |

pub mod dashboard;
mod health;
pub mod manager;
pub mod metrics;
mod process;
mod scene;
pub mod snmp;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use net::clock::{Clock, Now};
use proxy::flow::Store;
use proxy::helpers::Helpers;
use proxy::internal::{Answering, Ask, Pages};
use proxy::worker::Orders;
use stats::{History, Registry};
use tokio::sync::{mpsc, watch};

use dashboard::Recorder;
use process::Watch;
pub use process::{Descriptors, Process};
pub use scene::Scene;

/// What `admin` is made from.
#[derive(Debug)]
pub struct Parts {
    /// Everybody's counters.
    pub registry: Arc<Registry>,
    /// The cache.
    pub store: Arc<Store>,
    /// The program's clock; it began when the program did.
    pub clock: Clock,
    /// Helper programs.
    pub helpers: Helpers,
    /// Who looks at transactions.
    pub watch: proxy::watch::Watch,
    /// Who we are.
    pub names: Names,
    /// Where actions go.
    pub orders: mpsc::Sender<Order>,
}

/// Versions and names, as pages show them.
#[derive(Debug, Clone)]
pub struct Names {
    /// Our version.
    pub version: &'static str,
    /// The Squid whose behaviour callers may count on.
    pub squid: &'static str,
    /// `-n`
    pub service: String,
}

/// The configuration in force as a text without passwords, made when it is asked for.
#[derive(Clone)]
pub struct ConfigText(Arc<dyn Fn() -> String + Send + Sync>);

impl ConfigText {
    /// What makes it.
    pub fn new(make: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }
}

impl fmt::Debug for ConfigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConfigText")
    }
}

/// An action that the program carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// End, as after `SIGTERM`.
    Shutdown,
    /// Read the configuration anew.
    Reconfigure,
    /// Rotate the logs.
    Rotate,
}

/// See the module.
#[derive(Debug)]
pub struct Admin {
    parts: Parts,
    started: Now,
    history: Mutex<History>,
    watch: Mutex<Watch>,
    /// What the workers are told; nothing before they are.
    in_force: OnceLock<watch::Receiver<Orders>>,
    recorder: Mutex<Recorder>,
    config: Mutex<ConfigText>,
}

impl Admin {
    /// Begins to count.
    #[must_use]
    pub fn new(parts: Parts) -> Arc<Self> {
        Arc::new(Self {
            started: parts.clock.now(),
            // The clock began with the program, and so do all counters.
            history: Mutex::new(History::new(Duration::ZERO)),
            watch: Mutex::new(Watch::new(parts.registry.cells())),
            in_force: OnceLock::new(),
            recorder: Mutex::default(),
            config: Mutex::new(ConfigText::new(String::new)),
            parts,
        })
    }

    /// Sees from now on what the workers are told.
    pub fn follow(&self, orders: watch::Receiver<Orders>) {
        self.in_force.get_or_init(|| orders);
    }

    /// What the workers were told last.
    pub(crate) fn orders_in_force(&self) -> Option<Orders> {
        self.in_force.get().map(|orders| orders.borrow().clone())
    }

    /// The time.
    pub(crate) fn now(&self) -> Now {
        self.parts.clock.now()
    }

    /// Takes a reading. To be called once a second.
    pub fn tick(&self) {
        self.look();
        let now = self.parts.clock.now();
        lock(&self.history).tick(&self.parts.registry, now.mono());
        lock(&self.recorder).tick(&self.parts.registry, now);
        self.parts.watch.tick(now);
    }

    /// Shows this configuration from now on.
    pub fn show_config(&self, text: ConfigText) {
        *lock(&self.config) = text;
    }

    /// What the system and the disks have counted goes to the other counters.
    pub(crate) fn look(&self) {
        let volumes = self.parts.store.volumes().map(|volumes| volumes.usage());
        lock(&self.watch).look(volumes.as_ref().map(|usage| &usage.total));
    }
}

impl Pages for Admin {
    fn answer<'a>(&'a self, ask: Ask<'a>) -> Answering<'a> {
        Box::pin(manager::answer(self, ask))
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
