//! A `cache_peer` and its health, shared by all workers.
//!
//! | state | left by |
//! | --- | --- |
//! | up | `connect-fail-limit` failed connects in a row |
//! | dead | a probe that connects; one is sent every `PROBE_SECS` by the first worker |

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use net::dns::Addresses;

/// A dead peer is tried this often, seconds.
pub(crate) const PROBE_SECS: u64 = 2;

/// A `cache_peer`.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its line.
    pub(crate) config: config::peer::Peer,
    health: Arc<Health>,
}

/// How a peer is: kept over a reload, whatever else changes about it.
#[derive(Debug, Default)]
struct Health {
    dead: AtomicBool,
    failures: AtomicU32,
    open: AtomicU32,
    fetches: AtomicU64,
    kept_alive: AtomicU64,
    connect_failures: AtomicU64,
    /// Unix seconds; 0: it never happened.
    last_failure: AtomicI64,
    /// Those that its name had last.
    addresses: Mutex<Addresses>,
}

/// A peer at one moment, for the manager's pages.
#[derive(Clone, Debug)]
pub struct PeerReport {
    /// Its line.
    pub config: config::peer::Peer,
    /// May it be chosen?
    pub up: bool,
    /// Its addresses, as far as they are known.
    pub addresses: Vec<IpAddr>,
    /// Connections in use.
    pub open: u32,
    /// Requests sent to it.
    pub fetches: u64,
    /// Its answers after which the connection stayed open.
    pub kept_alive: u64,
    /// Connects that failed.
    pub connect_failures: u64,
    /// When the last of them did, in Unix seconds.
    pub last_failure: Option<i64>,
}

impl Peer {
    /// The peer of this line. One of `before` at the same address is as well as it was.
    pub(crate) fn new(config: config::peer::Peer, before: &[Arc<Self>]) -> Self {
        let known = before.iter().find(|known| {
            let known = &known.config;
            (&known.name, &known.host, known.http_port)
                == (&config.name, &config.host, config.http_port)
        });
        let health = known.map(|known| Arc::clone(&known.health));
        Self {
            config,
            health: health.unwrap_or_default(),
        }
    }

    /// May it be chosen?
    pub(crate) fn is_up(&self) -> bool {
        !self.health.dead.load(Ordering::Relaxed)
    }

    /// Connections in use.
    pub(crate) fn open(&self) -> u32 {
        self.health.open.load(Ordering::Relaxed)
    }

    /// A request is sent to it.
    pub(crate) fn asked(&self) {
        self.health.fetches.fetch_add(1, Ordering::Relaxed);
    }

    /// Its connection stays open after an answer.
    pub(crate) fn kept_alive(&self) {
        self.health.kept_alive.fetch_add(1, Ordering::Relaxed);
    }

    /// Its name has these addresses.
    pub(crate) fn is_at(&self, addresses: &Addresses) {
        let mut known = self.lock_addresses();
        if **known != **addresses {
            *known = Arc::clone(addresses);
        }
    }

    /// Is it known where it is?
    pub(crate) fn is_found(&self) -> bool {
        !self.lock_addresses().is_empty()
    }

    fn lock_addresses(&self) -> std::sync::MutexGuard<'_, Addresses> {
        let addresses = self.health.addresses.lock();
        addresses.unwrap_or_else(PoisonError::into_inner)
    }

    /// What the manager shows of it.
    pub(crate) fn report(&self) -> PeerReport {
        let health = &self.health;
        let last = health.last_failure.load(Ordering::Relaxed);
        let literal = self.config.host.parse().ok();
        PeerReport {
            config: self.config.clone(),
            up: self.is_up(),
            addresses: literal.map_or_else(|| self.lock_addresses().to_vec(), |addr| vec![addr]),
            open: self.open(),
            fetches: health.fetches.load(Ordering::Relaxed),
            kept_alive: health.kept_alive.load(Ordering::Relaxed),
            connect_failures: health.connect_failures.load(Ordering::Relaxed),
            last_failure: (last != 0).then_some(last),
        }
    }

    /// A connect failed, at that moment in Unix seconds.
    pub(crate) fn failed(&self, unix_secs: i64) {
        let health = &self.health;
        health.connect_failures.fetch_add(1, Ordering::Relaxed);
        health.last_failure.store(unix_secs, Ordering::Relaxed);
        let failures = self
            .health
            .failures
            .fetch_add(1, Ordering::Relaxed)
            .saturating_add(1);
        let limit = self.config.options.connect_fail_limit.max(1);
        if failures >= limit && !self.health.dead.swap(true, Ordering::Relaxed) {
            tracing::warn!("Detected DEAD Parent: {}", self.config.name);
        }
    }

    /// It answered.
    pub(crate) fn worked(&self) {
        if self.health.failures.load(Ordering::Relaxed) != 0 {
            self.health.failures.store(0, Ordering::Relaxed);
            if self.health.dead.swap(false, Ordering::Relaxed) {
                tracing::warn!("Detected REVIVED Parent: {}", self.config.name);
            }
        }
    }

    /// Counts a connection until the guard is dropped.
    pub(crate) fn open_one(&self) -> OpenPeer {
        self.health.open.fetch_add(1, Ordering::Relaxed);
        OpenPeer(Arc::clone(&self.health))
    }
}

/// A connection in use.
#[derive(Debug)]
pub(crate) struct OpenPeer(Arc<Health>);

impl Drop for OpenPeer {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(limit: u32) -> Peer {
        let text = format!(
            "http_port 1\ncache_peer 127.0.0.1 parent 80 0 no-query originserver connect-fail-limit={limit} login=a:b\n"
        );
        let config = config::parse(&text, "test").unwrap();
        Peer::new(config.peers.into_iter().next().unwrap(), &[])
    }

    #[test]
    fn a_peer_at_the_same_address_keeps_its_health() {
        let before = [Arc::new(peer(1))];
        before[0].failed(1);
        assert!(!Peer::new(peer(5).config, &before).is_up());
        let mut moved = peer(1).config;
        moved.http_port = 81;
        assert!(Peer::new(moved, &before).is_up());
    }

    #[test]
    fn a_peer_dies_after_its_limit_and_is_revived_by_one_success() {
        let peer = peer(2);
        peer.failed(7);
        assert!(peer.is_up());
        peer.failed(9);
        assert!(!peer.is_up());
        peer.worked();
        assert!(peer.is_up());
        let report = peer.report();
        assert_eq!((report.connect_failures, report.last_failure), (2, Some(9)));
    }
}
