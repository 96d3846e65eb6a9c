//! What one worker has seen.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use net::clock::Now;

use super::best::Best;
use super::sketch::{Counted, Share, Sketch, heaviest};
use super::{Transaction, TransactionId, View, Watch};
use crate::flow::Received;
use crate::internal::spelling::is_page;
use crate::record::Record;

/// The latest transactions that are kept.
const RECENT_MAX: usize = 256;
/// Of these, so many are taken each second, and so many failures besides: where there are more, a sample of them.
const RECENT_PER_SEC: u32 = 32;
/// A generation of sketches is counted for so long; this and the one before are shown.
const GENERATION_NS: u64 = 60_000_000_000;

/// A worker's place; see [`Watch::lookout`].
#[derive(Debug)]
pub(crate) struct Lookout {
    worker: u64,
    watch: Watch,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    number: u64,
    recent: VecDeque<Arc<Transaction>>,
    /// Taken in this second: of all, and of failures.
    taken: [u32; 2],
    now: Generation,
    before: Generation,
    began_ns: u64,
}

/// What was counted in a minute.
#[derive(Debug, Default)]
struct Generation {
    hosts: [Sketch<Box<str>>; 2],
    clients: [Sketch<IpKey>; 2],
    slowest: Best,
    largest: Best,
}

/// An address, made from a borrowed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct IpKey(IpAddr);

impl From<&Self> for IpKey {
    fn from(key: &Self) -> Self {
        *key
    }
}

impl Lookout {
    pub(super) fn new(worker: u64, watch: Watch) -> Self {
        Self {
            worker,
            watch,
            seen: Mutex::default(),
        }
    }

    /// Does somebody look?
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_looked_at()
    }

    /// Takes note of a finished transaction; without a request, its head could not be read.
    pub(crate) fn note(
        &self,
        record: &Record,
        received: Option<&Received<'_>>,
        strips_query: bool,
    ) {
        // Our own pages are not what somebody wants to see there.
        if received.is_some_and(|received| is_page(received.target)) {
            return;
        }
        let mut seen = self.seen();
        let bytes = record.sent_bytes();
        let share = Share {
            hit: record.outcome.tag.is_hit(),
            bytes,
        };
        let weights = [1, bytes];
        let generation = &mut seen.now;
        if let Some(host) = received.map(|received| received.target.host()) {
            for (sketch, weight) in generation.hosts.iter_mut().zip(weights) {
                sketch.add(host, weight, share);
            }
        }
        let client = IpKey(record.client.ip());
        for (sketch, weight) in generation.clients.iter_mut().zip(weights) {
            sketch.add(&client, weight, share);
        }
        let elapsed = record.elapsed_ns();
        seen.number += 1;
        let sampled = seen.samples(record.error.is_some());
        let generation = &mut seen.now;
        if !sampled && !generation.slowest.wants(elapsed) && !generation.largest.wants(bytes) {
            return;
        }
        let id = TransactionId {
            worker: self.worker,
            number: seen.number,
        };
        let transaction = Arc::new(Transaction::new(id, record, received, strips_query));
        seen.now.slowest.offer(elapsed, &transaction);
        seen.now.largest.offer(bytes, &transaction);
        if sampled {
            seen.recent.truncate(RECENT_MAX - 1);
            seen.recent.push_front(transaction);
        }
    }

    pub(super) fn tick(&self, now: Now) {
        let mut seen = self.seen();
        seen.taken = [0; 2];
        if seen.began_ns == 0 {
            seen.began_ns = now.mono_ns;
        }
        if now.mono_ns.saturating_sub(seen.began_ns) >= GENERATION_NS {
            seen.began_ns = now.mono_ns;
            seen.before = std::mem::take(&mut seen.now);
        }
    }

    /// Nobody looks any more. Numbers go on, as they are names.
    pub(super) fn forget(&self) {
        let mut seen = self.seen();
        *seen = Seen {
            number: seen.number,
            ..Seen::default()
        };
    }

    pub(super) fn find(&self, id: TransactionId) -> Option<Arc<Transaction>> {
        let seen = self.seen();
        let generations = [&seen.now, &seen.before].into_iter();
        let best = generations.flat_map(|one| one.slowest.iter().chain(one.largest.iter()));
        let mut all = seen.recent.iter().chain(best);
        all.find(|transaction| transaction.id == id).cloned()
    }

    pub(super) fn add_to(&self, all: &mut Sum) {
        let seen = self.seen();
        all.recent.extend(seen.recent.iter().cloned());
        for generation in [&seen.now, &seen.before] {
            for (sum, sketch) in all.hosts.iter_mut().zip(&generation.hosts) {
                sketch.add_to(sum);
            }
            for (sum, sketch) in all.clients.iter_mut().zip(&generation.clients) {
                sketch.add_to(sum);
            }
            all.slowest.add(&generation.slowest);
            all.largest.add(&generation.largest);
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    /// Is this one of the latest that are kept?
    fn samples(&mut self, failed: bool) -> bool {
        let mut quotas = self.taken.iter_mut().take(1 + usize::from(failed));
        let free = quotas.find(|taken| **taken < RECENT_PER_SEC);
        free.map(|taken| *taken += 1).is_some()
    }
}

/// All workers' together.
#[derive(Debug, Default)]
pub(super) struct Sum {
    hosts: [HashMap<Box<str>, Counted<Box<str>>>; 2],
    clients: [HashMap<IpKey, Counted<IpKey>>; 2],
    recent: Vec<Arc<Transaction>>,
    slowest: Best,
    largest: Best,
}

impl Sum {
    pub(super) fn view(self, rows: usize) -> View {
        let mut recent = self.recent;
        recent.sort_by_key(|transaction| std::cmp::Reverse(transaction.finished_unix_ms));
        recent.truncate(rows);
        View {
            hosts: self.hosts.map(|all| heaviest(all, rows)),
            clients: self.clients.map(|all| addresses(all, rows)),
            recent,
            slowest: self.slowest.iter().take(rows).cloned().collect(),
            largest: self.largest.iter().take(rows).cloned().collect(),
        }
    }
}

fn addresses(all: HashMap<IpKey, Counted<IpKey>>, rows: usize) -> Vec<Counted<IpAddr>> {
    let of = |(key, one): (IpKey, Counted<IpKey>)| {
        let counted = Counted {
            key: key.0,
            weight: one.weight,
            doubt: one.doubt,
            requests: one.requests,
            hits: one.hits,
            bytes: one.bytes,
        };
        (key.0, counted)
    };
    heaviest(all.into_iter().map(of).collect(), rows)
}
