//! What can't be done without `unsafe`: memory that the kernel maps. The only crate that may use it.
//!
//! [`Words`] is a slice of atomic words, of the process alone or of a file. Used by `store` for the index of a disk
//! volume, which lies in a file of memory so that it outlives the process. [`Blocks`] holds many small bodies; used by
//! the memory cache.

mod blocks;
#[cfg_attr(miri, path = "map_miri.rs")]
mod map;
mod words;

pub use blocks::{Block, Blocks};
pub use words::{Word, Words};
