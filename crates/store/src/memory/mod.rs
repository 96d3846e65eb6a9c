//! The index of the memory cache: shards by hash of the key, each with its own lock, hash table and eviction heap.

mod ghosts;
mod index;
mod rank;
mod shard;

pub(crate) use index::{Eviction, Index};
