//! What a page may look at.

use std::sync::Arc;
use std::time::Duration;

use config::Config;
use net::clock::Now;
use proxy::flow::Store;
use proxy::helpers::Helpers;
use proxy::internal::Ask;
use proxy::plan::Plan;
use proxy::worker::Orders;
use stats::{History, Registry, Snapshot, Window};
use store::{Usage, VolumesUsage};
use tokio::sync::mpsc;

use crate::{Admin, Names, Order, lock};

/// See the module.
#[derive(Debug)]
pub struct Scene<'a> {
    /// What was asked.
    pub ask: &'a Ask<'a>,
    pub(crate) admin: &'a Admin,
}

impl<'a> Scene<'a> {
    /// The configuration in force, worked out.
    #[must_use]
    pub fn plan(&self) -> &'a Arc<Plan> {
        self.ask.plan
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &'a Config {
        &self.ask.plan.config
    }

    /// Versions and names.
    #[must_use]
    pub fn names(&self) -> &'a Names {
        &self.admin.parts.names
    }

    /// All counters, gauges and histograms.
    #[must_use]
    pub fn registry(&self) -> &'a Registry {
        &self.admin.parts.registry
    }

    /// All numbers, now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.admin.look();
        self.registry().snapshot()
    }

    /// What was counted lately: one window for each length, all of them up to now.
    #[must_use]
    pub fn windows<const N: usize>(&self, lengths: [Duration; N]) -> [Window; N] {
        self.admin.look();
        lock(&self.admin.history).windows(self.registry(), self.uptime(), lengths)
    }

    /// What was counted since the start.
    #[must_use]
    pub fn total(&self) -> Window {
        self.admin.look();
        lock(&self.admin.history).total(self.registry(), self.uptime())
    }

    /// The readings of the last five minutes.
    #[must_use]
    pub fn with_history<T>(&self, read: impl FnOnce(&History) -> T) -> T {
        read(&lock(&self.admin.history))
    }

    /// The cache.
    #[must_use]
    pub fn store(&self) -> &'a Store {
        &self.admin.parts.store
    }

    /// What it holds in memory.
    #[must_use]
    pub fn memory(&self) -> Usage {
        self.store().usage()
    }

    /// What it holds on disk; all zero without a `cache_dir`.
    #[must_use]
    pub fn volumes(&self) -> VolumesUsage {
        let volumes = self.store().volumes();
        volumes.map(|volumes| volumes.usage()).unwrap_or_default()
    }

    /// Helper programs.
    #[must_use]
    pub fn helpers(&self) -> &'a Helpers {
        &self.admin.parts.helpers
    }

    /// Who looks at transactions.
    pub(crate) fn watch(&self) -> &'a proxy::watch::Watch {
        &self.admin.parts.watch
    }

    /// The time by the program's clock.
    pub(crate) fn now(&self) -> Now {
        self.admin.parts.clock.now()
    }

    /// Time since the start of the program.
    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.admin.parts.clock.now().mono()
    }

    /// When the program was started: milliseconds since 1970.
    #[must_use]
    pub fn started_unix_ms(&self) -> i64 {
        let started = self.admin.started;
        let before = i64::try_from(started.mono().as_millis()).unwrap_or(0);
        started.unix_ms.saturating_sub(before)
    }

    /// The time: milliseconds since 1970.
    #[must_use]
    pub fn unix_ms(&self) -> i64 {
        self.admin.parts.clock.now().unix_ms
    }

    /// The configuration in force, as a text without passwords.
    #[must_use]
    pub fn config_text(&self) -> String {
        let text = lock(&self.admin.config).clone();
        (text.0)()
    }

    /// What the workers were told last; `None` before they were.
    pub(crate) fn orders_in_force(&self) -> Option<Orders> {
        self.admin.orders_in_force()
    }

    /// Where actions go.
    pub(crate) fn orders(&self) -> &'a mpsc::Sender<Order> {
        &self.admin.parts.orders
    }

    /// The value of a parameter behind the `?`, as it was sent.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&'a str> {
        let pairs = self.ask.query.split('&');
        let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}
