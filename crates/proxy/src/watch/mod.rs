//! What somebody who looks at the proxy sees of single transactions: the busiest hosts and clients, the
//! latest, slowest and largest transactions. The dashboard asks; `transaction` tells.
//!
//! Only kept while somebody looks: otherwise a transaction pays one relaxed load. Each worker writes into
//! a `Lookout` of its own, whose lock nobody else takes but a reader, once a second.

mod best;
mod lookout;
mod sketch;
mod transaction;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use net::clock::Now;

pub(crate) use lookout::Lookout;
pub use sketch::Counted;
pub use transaction::{Transaction, TransactionId};

/// So long is watched after the last look, nanoseconds.
const LOOK_NS: u64 = 60_000_000_000;

/// All that is watched. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Hall>);

#[derive(Debug, Default)]
struct Hall {
    /// Does somebody look?
    looked_at: AtomicBool,
    /// Until when, by the monotonic clock.
    until_ns: AtomicU64,
    lookouts: Mutex<Vec<Weak<Lookout>>>,
}

/// What was seen lately: of the last minute or two.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Hosts with most requests, and hosts with most bytes.
    pub hosts: [Vec<Counted<Box<str>>>; 2],
    /// Clients with most requests, and clients with most bytes.
    pub clients: [Vec<Counted<IpAddr>>; 2],
    /// The latest, newest first; a sample of them where there are many.
    pub recent: Vec<Arc<Transaction>>,
    /// Those that took longest.
    pub slowest: Vec<Arc<Transaction>>,
    /// Those that sent most.
    pub largest: Vec<Arc<Transaction>>,
}

impl Watch {
    /// A place for a worker to write to; gone when the worker lets it go.
    pub(crate) fn lookout(&self, worker: u64) -> Arc<Lookout> {
        let lookout = Arc::new(Lookout::new(worker, self.clone()));
        let mut lookouts = self.lookouts();
        lookouts.retain(|lookout| lookout.strong_count() > 0);
        lookouts.push(Arc::downgrade(&lookout));
        lookout
    }

    /// Does somebody look?
    pub(crate) fn is_looked_at(&self) -> bool {
        self.0.looked_at.load(Relaxed)
    }

    /// Somebody looks: what happens in the next minute is kept.
    pub fn look(&self, now: Now) {
        self.0.until_ns.store(now.mono_ns + LOOK_NS, Relaxed);
        self.0.looked_at.store(true, Relaxed);
    }

    /// Called each second. Forgets everything when nobody has looked for a minute.
    pub fn tick(&self, now: Now) {
        if !self.is_looked_at() {
            return;
        }
        let over = now.mono_ns > self.0.until_ns.load(Relaxed);
        if over {
            self.0.looked_at.store(false, Relaxed);
        }
        for lookout in self.all() {
            if over {
                lookout.forget();
            } else {
                lookout.tick(now);
            }
        }
    }

    /// What was seen, up to so many rows of each kind.
    #[must_use]
    pub fn view(&self, rows: usize) -> View {
        let mut sum = lookout::Sum::default();
        for lookout in self.all() {
            lookout.add_to(&mut sum);
        }
        sum.view(rows)
    }

    /// A transaction that is still remembered.
    #[must_use]
    pub fn find(&self, id: TransactionId) -> Option<Arc<Transaction>> {
        self.all().iter().find_map(|lookout| lookout.find(id))
    }

    fn all(&self) -> Vec<Arc<Lookout>> {
        self.lookouts().iter().filter_map(Weak::upgrade).collect()
    }

    fn lookouts(&self) -> MutexGuard<'_, Vec<Weak<Lookout>>> {
        let lookouts = self.0.lookouts.lock();
        lookouts.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
