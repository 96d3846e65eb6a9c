//! The order of eviction: a rank per object, lowest first.
//!
//! A rank only grows: with use, and with the age of the cache, which is the rank of the last victim. So a heap that
//! holds old ranks still finds the lowest: a victim whose rank has grown since is put back under its new one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::options::Policy;

/// A rank as bits that order like the number: a use stamp, or a floating point number that isn't negative, of which the
/// last bits are those of a stamp: of two that are worth the same, what was used last stays.
pub(super) type Rank = u64;

/// Bits for the stamp. So many less are left for what a use is worth: a use of the largest object still counts when the
/// cache has been through a million times.
const TIE_BITS: u64 = (1 << 20) - 1;

/// Stamps within a shard between two insertions anywhere.
const STAMPS_PER_TICK_LOG2: u32 = 20;

/// What ranks depend on across shards. Read by every hit, so written by insertions and evictions only.
#[derive(Debug)]
pub(super) struct Ages {
    policy: Policy,
    /// Insertions so far; the clock of LRU.
    tick: AtomicU64,
    /// The highest rank evicted so far.
    age: AtomicU64,
}

impl Ages {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            policy,
            tick: AtomicU64::new(0),
            age: AtomicU64::new(0f64.to_bits()),
        }
    }

    pub(super) fn remembers_ghosts(&self) -> bool {
        self.policy == Policy::Default
    }

    pub(super) fn evicted(&self, rank: Rank) {
        self.age.fetch_max(rank, Relaxed);
    }

    /// What a use of an object of this size adds to its rank.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a weight: seven digits of it do"
    )]
    pub(super) fn worth(&self, bytes: u64) -> f32 {
        let bytes = bytes.max(1) as f64;
        let worth = match self.policy {
            Policy::Lru | Policy::HeapLru | Policy::HeapLfuda => 1.0,
            Policy::HeapGdsf => 1.0 / bytes,
            Policy::Default => 1.0 / bytes.powf(0.75),
        };
        worth as f32
    }

    /// The rank of an object used just now for the `uses`th time. `stamp` is the last one of its shard.
    ///
    /// LRU is exact within a shard, and between shards as far as an insertion lies between two uses: one clock for
    /// all uses would be a line of memory that all workers write with each hit.
    pub(super) fn rank(&self, uses: u32, worth: f32, stamp: &mut u64) -> Rank {
        // Above the object inserted last, which has the first stamp of this tick.
        self.rank_from(
            (self.tick.load(Relaxed) << STAMPS_PER_TICK_LOG2) + 1,
            uses,
            worth,
            stamp,
        )
    }

    /// The rank of an object that comes into the index now.
    pub(super) fn rank_of_new(&self, uses: u32, worth: f32, stamp: &mut u64) -> Rank {
        let tick = self.tick.fetch_add(1, Relaxed) + 1;
        self.rank_from(tick << STAMPS_PER_TICK_LOG2, uses, worth, stamp)
    }

    /// The rank of a victim that was spared: as used just now, in a cache as old as it was.
    pub(super) fn rank_of_spared(
        &self,
        rank: Rank,
        uses: u32,
        worth: f32,
        stamp: &mut u64,
    ) -> Rank {
        match self.policy {
            Policy::Lru | Policy::HeapLru => self.rank(uses, worth, stamp),
            Policy::HeapLfuda | Policy::HeapGdsf | Policy::Default => {
                let rank = f64::from_bits(rank & !TIE_BITS) + f64::from(uses) * f64::from(worth);
                with_tie(rank, stamp)
            }
        }
    }

    fn rank_from(&self, stamp_min: u64, uses: u32, worth: f32, stamp: &mut u64) -> Rank {
        match self.policy {
            // A spare that nobody has used.
            Policy::Lru | Policy::HeapLru if uses == 0 => 0,
            Policy::Lru | Policy::HeapLru => {
                *stamp = (*stamp + 1).max(stamp_min);
                *stamp
            }
            Policy::HeapLfuda | Policy::HeapGdsf | Policy::Default => {
                let age = f64::from_bits(self.age.load(Relaxed) & !TIE_BITS);
                with_tie(age + f64::from(uses) * f64::from(worth), stamp)
            }
        }
    }
}

fn with_tie(rank: f64, stamp: &mut u64) -> Rank {
    *stamp += 1;
    rank.to_bits() & !TIE_BITS | *stamp & TIE_BITS
}
