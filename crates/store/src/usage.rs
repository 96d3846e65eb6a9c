//! What the store holds and has done, as plain numbers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A snapshot of the store's figures. Counters count from the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of keys, metadata and bodies alive: found by `find`, arriving, or still in use after their removal.
    pub bytes: u64,
    /// The limit for `bytes`.
    pub bytes_max: u64,
    /// Objects that `find` can find, those arriving included.
    pub objects: u64,
    /// Objects alive, those removed but still in use included.
    pub objects_alive: u64,
    /// `find` calls that found an object.
    pub hits: u64,
    /// `find` calls that found none.
    pub misses: u64,
    /// Objects that came into the index.
    pub inserts: u64,
    /// Objects evicted for want of memory.
    pub evictions: u64,
    /// Variants evicted because their key had too many.
    pub variant_evictions: u64,
    /// Victims spared because somebody was reading them.
    pub spared: u64,
    /// Objects not kept: too large, or nothing could be evicted for them.
    pub refusals: u64,
    /// Bodies that were cut before their end.
    pub cuts: u64,
    /// Fills that newcomers could no longer join, as too much of them was held already.
    pub windows_closed: u64,
    /// Readers that fell behind such a window.
    pub readers_lost: u64,
    /// Requests that waited for another's fetch.
    pub waits: u64,
    /// Requests that were not let wait, as too many did.
    pub waits_refused: u64,
    /// Requests that had waited long enough, and took the lead or joined who had taken it.
    pub overtaken: u64,
    /// Bans that are remembered.
    pub bans: u64,
}

/// The counters that aren't kept per shard. Written on misses and at the end of objects' lives, never by a hit.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) bytes: AtomicU64,
    pub(crate) objects_alive: AtomicU64,
    pub(crate) evictions: AtomicU64,
    pub(crate) variant_evictions: AtomicU64,
    pub(crate) spared: AtomicU64,
    pub(crate) refusals: AtomicU64,
    pub(crate) cuts: AtomicU64,
    pub(crate) windows_closed: AtomicU64,
    pub(crate) readers_lost: AtomicU64,
    pub(crate) waits: AtomicU64,
    pub(crate) waits_refused: AtomicU64,
    pub(crate) overtaken: AtomicU64,
}

impl Counters {
    pub(crate) fn charge(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn release(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

/// One more in `counter`.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
