//! What can't be done without `unsafe`: memory that the kernel maps, and the allocator. The only crate that may use it.
//!
//! [`Words`] is a slice of atomic words, of the process alone or of a file. Used by `store` for the index of a disk
//! volume, which lies in a file of memory so that it outlives the process.

mod alloc;
mod words;

pub use alloc::Allocator;
pub use words::{Word, Words};
