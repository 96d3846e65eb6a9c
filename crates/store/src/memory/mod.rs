//! The index of the memory cache: shards by hash of the key, each with its own lock, entries and queue
//! of eviction.

mod entries;
mod ghosts;
mod index;
mod queue;
mod rank;
mod shard;

pub(crate) use index::{Eviction, Index};
