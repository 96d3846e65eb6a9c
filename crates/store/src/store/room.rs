//! What the store may hold, and how room is made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::Store;
use crate::key::KeyRef;
use crate::memory::Eviction;
use crate::object::{Object, Weigh};
use crate::options::Options;
use crate::usage::count;

/// Victims in use that are spared in one go.
const SPARED_MAX: usize = 64;
/// Objects in use that are evicted in one go beyond those; then a newcomer is refused.
const IN_USE_EVICTED_MAX: usize = 16;

/// What may change while the store is in use. Begins as the options of the same names.
pub(super) struct Limits {
    memory_bytes_max: AtomicU64,
    object_bytes_max: AtomicU64,
    join_bytes_max: AtomicU64,
    keeps_new: AtomicBool,
    keeps_loaded: AtomicBool,
}

impl Limits {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            memory_bytes_max: AtomicU64::new(options.memory_bytes_max),
            object_bytes_max: AtomicU64::new(options.object_bytes_max),
            join_bytes_max: AtomicU64::new(options.join_bytes_max),
            keeps_new: AtomicBool::new(options.keeps_new),
            keeps_loaded: AtomicBool::new(options.keeps_loaded),
        }
    }
}

impl<M: Weigh> Store<M> {
    /// Takes `memory_bytes_max`, `object_bytes_max`, `join_bytes_max` and what is kept of these options, and evicts
    /// what is then too much. What is larger than newcomers may be stays until its turn comes.
    pub fn set_limits(&self, options: &Options) {
        let limits = &self.limits;
        let set = |limit: &AtomicU64, bytes| limit.store(bytes, Relaxed);
        set(&limits.memory_bytes_max, options.memory_bytes_max);
        set(&limits.object_bytes_max, options.object_bytes_max);
        set(&limits.join_bytes_max, options.join_bytes_max);
        limits.keeps_new.store(options.keeps_new, Relaxed);
        limits.keeps_loaded.store(options.keeps_loaded, Relaxed);
        self.make_room();
    }

    pub(super) fn keeps_new(&self) -> bool {
        self.limits.keeps_new.load(Relaxed)
    }

    pub(crate) fn keeps_loaded(&self) -> bool {
        self.limits.keeps_loaded.load(Relaxed)
    }

    pub(super) fn memory_bytes_max(&self) -> u64 {
        self.limits.memory_bytes_max.load(Relaxed)
    }

    pub(crate) fn object_bytes_max(&self) -> u64 {
        self.limits.object_bytes_max.load(Relaxed)
    }

    pub(crate) fn join_bytes_max(&self) -> u64 {
        self.limits.join_bytes_max.load(Relaxed)
    }

    /// Evicts until the limit is kept; false if that can't be.
    ///
    /// The eviction of an object in use frees nothing yet, and it will likely be asked for again, so some are spared.
    pub(crate) fn make_room(&self) -> bool {
        if self.counters.bytes() <= self.memory_bytes_max() {
            return true;
        }
        let mut spared = Vec::new();
        let mut in_use = 0;
        while self.counters.bytes() > self.memory_bytes_max() && in_use < IN_USE_EVICTED_MAX {
            match self.index.evict(spared.len() < SPARED_MAX) {
                Eviction::Evicted(removed) => {
                    self.counters
                        .evictions
                        .fetch_add(removed.len() as u64, Relaxed);
                    self.evicted(&removed);
                    in_use += removed
                        .iter()
                        .filter(|object| Arc::strong_count(object) > 1)
                        .count();
                }
                Eviction::Spared(object) => spared.push(object),
                Eviction::Nothing => break,
            }
        }
        self.counters.spared.fetch_add(spared.len() as u64, Relaxed);
        for object in &spared {
            self.index.unpark(object);
        }
        self.counters.bytes() <= self.memory_bytes_max()
    }

    /// Indexes what has come from disk, unless something newer is there by now: then that.
    pub(crate) fn link_loaded(
        &self,
        key: KeyRef<'_>,
        object: Arc<Object<M>>,
        matches: impl FnMut(&M) -> bool,
    ) -> Arc<Object<M>> {
        if !self.fits(&object) || !self.make_room() {
            return object;
        }
        let newer = self.index.find_or_link(key, &object, matches);
        self.limit_variants(key, &object);
        newer.unwrap_or(object)
    }

    /// Indexes a complete object, within the limits.
    pub(super) fn link(&self, key: KeyRef<'_>, object: &Arc<Object<M>>) {
        if !self.fits(object) || !self.make_room() {
            count(&self.counters.refusals);
            // What it supersedes is out of date all the same.
            self.released(&self.index.remove_superseded(key, object));
            return;
        }
        self.released(&self.index.link(key, object));
        self.limit_variants(key, object);
    }

    /// As [`Store::link`], if what arrives is kept in memory.
    pub(super) fn link_new(&self, key: KeyRef<'_>, object: &Arc<Object<M>>) {
        if self.keeps_new() {
            self.link(key, object);
        } else {
            self.released(&self.index.remove_superseded(key, object));
        }
    }

    pub(super) fn fits(&self, object: &Object<M>) -> bool {
        let body_bytes = object.length().unwrap_or(u64::MAX);
        body_bytes <= self.object_bytes_max() && object.held_bytes() <= self.memory_bytes_max()
    }

    pub(super) fn limit_variants(&self, key: KeyRef<'_>, newest: &Object<M>) {
        let part = newest.meta.is_part();
        let most = if part {
            self.options.parts_max
        } else {
            self.options.variants_max
        };
        let removed = self.index.limit_variants(key, part, most);
        self.counters
            .variant_evictions
            .fetch_add(removed.len() as u64, Relaxed);
        self.released(&removed);
    }
}
