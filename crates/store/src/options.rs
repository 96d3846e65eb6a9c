//! Limits and policy of the store, given by the program at start.

use crate::content::Files;

/// Which stored response goes first when memory is short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Least recently used; Squid's `lru`.
    Lru,
    /// Least recently used; Squid's `heap LRU`. The same order as [`Policy::Lru`].
    HeapLru,
    /// Greedy-dual size frequency: age + uses / size. Best for object hits.
    HeapGdsf,
    /// Least frequently used with dynamic aging: age + uses. Best for byte hits among the heaps.
    HeapLfuda,
    /// age + uses / size^0.75, where uses are remembered for a while after eviction.
    #[default]
    Default,
}

/// Limits of a [`Store`](crate::Store).
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of keys, metadata and bodies, those still arriving included.
    pub memory_bytes_max: u64,
    /// The largest body that is kept after it has been read; larger ones are only shared while they arrive.
    pub object_bytes_max: u64,
    /// Whether what arrives is kept in memory.
    pub keeps_new: bool,
    /// Whether what comes from disk is kept in memory.
    pub keeps_loaded: bool,
    /// The order of eviction.
    pub policy: Policy,
    /// Bytes held of a body that is only shared, before newcomers can't join any more.
    pub join_bytes_max: u64,
    /// How far a body that is only shared may be received ahead of its fastest reader, in bytes.
    pub gap_bytes_max: u64,
    /// The same for a body that will be kept. `u64::MAX`: the origin is never held back.
    pub store_gap_bytes_max: u64,
    /// Where large bodies lie, if not on the heap like all others.
    pub files: Option<Files>,
    /// The smallest body that lies in a file. Never less than 64 KiB and a byte.
    pub file_bytes_min: u64,
    /// Files at a time; further bodies lie on the heap.
    pub files_max: usize,
    /// Responses under one key (Vary); beyond it the least useful one goes.
    pub variants_max: usize,
    /// Parts of responses under one key.
    pub parts_max: usize,
    /// Requests waiting for one leader; those beyond go on by themselves.
    pub waiters_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes_max: 256 << 20,
            object_bytes_max: 512 << 10,
            keeps_new: true,
            keeps_loaded: true,
            policy: Policy::default(),
            join_bytes_max: 32 << 20,
            gap_bytes_max: 1 << 20,
            store_gap_bytes_max: u64::MAX,
            files: None,
            file_bytes_min: 256 << 10,
            files_max: 1024,
            variants_max: 64,
            parts_max: 1024,
            waiters_max: 65_536,
        }
    }
}
