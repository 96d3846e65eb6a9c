//! What is known and who waits for what is being asked: a [`Book`] for the addresses of names, and
//! one for the names of addresses.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quick_cache::sync::Cache;
use stats::{Cells, Counter};
use tokio::sync::oneshot;

use super::{DnsError, QUERIES_MAX, nanos};

/// Expired answers may be used for so long where name servers fail.
const STALE_MAX: Duration = Duration::from_secs(3600);

type Outcome<V> = Result<V, DnsError>;

/// See the module.
#[derive(Debug)]
pub(super) struct Book<K, V> {
    known: Cache<K, Arc<Known<V>>>,
    in_flight: Mutex<HashMap<K, Waiting<V>>>,
}

/// An answer and until when it holds.
#[derive(Debug)]
pub(super) struct Known<V> {
    pub(super) answer: Outcome<V>,
    pub(super) expires_ns: u64,
    /// When it was last asked for.
    used_ns: AtomicU64,
}

impl<V> Known<V> {
    pub(super) fn used_ns(&self) -> u64 {
        self.used_ns.load(Relaxed)
    }
}

/// A query under way.
#[derive(Debug)]
struct Waiting<V> {
    since_ns: u64,
    askers: Vec<oneshot::Sender<Outcome<V>>>,
}

impl<K: Clone + Eq + Hash, V: Clone> Book<K, V> {
    /// Remembers at most `known_max` answers.
    pub(super) fn new(known_max: usize) -> Self {
        Self {
            known: Cache::new(known_max.max(1)),
            in_flight: Mutex::default(),
        }
    }

    /// The answer, if it holds still.
    pub(super) fn known<Q>(&self, key: &Q, now_ns: u64) -> Option<Outcome<V>>
    where
        Q: ?Sized + Eq + Hash,
        K: Borrow<Q>,
    {
        let known = self.known.get(key)?;
        known.used_ns.store(now_ns, Relaxed);
        (known.expires_ns > now_ns).then(|| known.answer.clone())
    }

    /// The answer, if it holds still. It isn't a use of it.
    pub(super) fn peek(&self, key: &K, now_ns: u64) -> Option<Outcome<V>> {
        let known = self.known.peek(key)?;
        (known.expires_ns > now_ns).then(|| known.answer.clone())
    }

    /// Joins the query for `key`; where there is none yet, `begin` puts it into the queue.
    pub(super) fn ask(
        &self,
        key: K,
        now_ns: u64,
        cells: &Cells,
        begin: impl FnOnce() -> Result<(), DnsError>,
    ) -> oneshot::Receiver<Outcome<V>> {
        let (sender, receiver) = oneshot::channel();
        let mut in_flight = self.lock();
        if let Some(waiting) = in_flight.get_mut(&key) {
            waiting.askers.push(sender);
            cells.count(Counter::DnsShared);
            return receiver;
        }
        let begun = if in_flight.len() >= QUERIES_MAX {
            cells.count(Counter::LimitDnsQueries);
            Err(DnsError::Overloaded)
        } else {
            begin()
        };
        match begun {
            // The receiver is there: it gets the answer even if it is dropped meanwhile.
            Err(refusal) => drop(sender.send(Err(refusal))),
            Ok(()) => {
                let waiting = Waiting {
                    since_ns: now_ns,
                    askers: vec![sender],
                };
                drop(in_flight.insert(key, waiting));
            }
        }
        receiver
    }

    /// Remembers an answer and gives it to all who wait. A failure to answer gives way to one
    /// that was right not long ago.
    pub(super) fn settle(
        &self,
        key: &K,
        answer: Outcome<V>,
        ttl: Duration,
        now_ns: u64,
        cells: &Cells,
    ) {
        let mut answer = answer;
        if answer.as_ref().is_err_and(|error| !error.is_definite())
            && let Some(old) = self.stale(key, now_ns)
        {
            cells.count(Counter::DnsStale);
            answer = Ok(old);
        }
        let known = Known {
            answer: answer.clone(),
            expires_ns: now_ns.saturating_add(nanos(ttl)),
            used_ns: AtomicU64::new(now_ns),
        };
        self.known.insert(key.clone(), Arc::new(known));
        self.tell(key, &answer);
    }

    fn stale(&self, key: &K, now_ns: u64) -> Option<V> {
        let old = self.known.peek(key)?;
        let recent = old.expires_ns.saturating_add(nanos(STALE_MAX)) > now_ns;
        old.answer.clone().ok().filter(|_| recent)
    }

    /// Gives an answer to all who wait, and remembers nothing.
    pub(super) fn tell(&self, key: &K, answer: &Outcome<V>) {
        let waiting = self.lock().remove(key);
        for sender in waiting.into_iter().flat_map(|waiting| waiting.askers) {
            // Who no longer waits needs no answer.
            drop(sender.send(answer.clone()));
        }
    }

    pub(super) fn clear(&self) {
        self.known.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// What is known, no more than `most` of it.
    pub(super) fn some(&self, most: usize) -> Vec<(K, Arc<Known<V>>)> {
        self.known.iter().take(most).collect()
    }

    /// What is being asked, and since when; no more than `most` of it.
    pub(super) fn asking(&self, most: usize) -> Vec<(K, u64)> {
        let in_flight = self.lock();
        let asking = in_flight.iter().take(most);
        asking
            .map(|(key, waiting)| (key.clone(), waiting.since_ns))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Waiting<V>>> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// When the answer for `key` ends to hold.
    #[cfg(test)]
    pub(super) fn expires_ns<Q>(&self, key: &Q) -> u64
    where
        Q: ?Sized + Eq + Hash,
        K: Borrow<Q>,
    {
        self.known.peek(key).map_or(0, |known| known.expires_ns)
    }

    /// Queries under way.
    #[cfg(test)]
    pub(super) fn in_flight(&self) -> usize {
        self.lock().len()
    }
}
