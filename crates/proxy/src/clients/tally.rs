//! What clients have asked for: one connection's share of it, and sums.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::record::{Record, ResultTag};

const TAGS: usize = ResultTag::ALL.len();

/// What one connection has asked for. Only its worker writes, with a plain load and store; anyone
/// may read.
#[derive(Debug, Default)]
pub(super) struct Tally {
    requests: [AtomicU32; TAGS],
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    hit_bytes_out: AtomicU64,
}

impl Tally {
    pub(super) fn count(&self, record: &Record) {
        let tag = record.outcome.tag;
        if let Some(count) = self.requests.get(tag as usize) {
            count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
        }
        let sent = record.sent_bytes();
        add(&self.bytes_in, record.request_bytes);
        add(&self.bytes_out, sent);
        if tag.is_hit() {
            add(&self.hit_bytes_out, sent);
        }
    }
}

fn add(sum: &AtomicU64, amount: u64) {
    sum.store(sum.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// Sums for one client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    requests: [u64; TAGS],
    /// Bytes of requests.
    pub bytes_in: u64,
    /// Bytes of replies.
    pub bytes_out: u64,
    /// Those of them that were hits.
    pub hit_bytes_out: u64,
}

impl Totals {
    /// Requests that ended so.
    pub fn of(&self, tag: ResultTag) -> u64 {
        self.requests.get(tag as usize).copied().unwrap_or(0)
    }

    /// All requests.
    pub fn all(&self) -> u64 {
        self.requests.iter().sum()
    }

    pub(super) fn count(&mut self, record: &Record) {
        let tally = Tally::default();
        tally.count(record);
        self.add(&tally);
    }

    pub(super) fn add(&mut self, tally: &Tally) {
        for (sum, count) in self.requests.iter_mut().zip(&tally.requests) {
            *sum += u64::from(count.load(Relaxed));
        }
        self.bytes_in += tally.bytes_in.load(Relaxed);
        self.bytes_out += tally.bytes_out.load(Relaxed);
        self.hit_bytes_out += tally.hit_bytes_out.load(Relaxed);
    }
}
