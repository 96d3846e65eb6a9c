//! What can't be done without `unsafe`: memory that the kernel maps, or writes to in its own time, and the allocator. The only
//! crate that may use it.
//!
//! [`Words`] is a slice of atomic words, of the process alone or of a file. Used by `store` for the index of a disk
//! volume, which lies in a file of memory so that it outlives the process.
//! [`Ring`] has the kernel read files while the thread goes on. Used by `store` for what has to wait for the disk.
//! [`begin_writing`] tells the kernel when to write a file to the disk. Used by `store` for its volumes.
//! [`heap`] is what the program tells its allocator.

mod alloc;
mod file;
pub mod heap;
mod ring;
mod words;

pub use alloc::Allocator;
pub use file::begin_writing;
pub use ring::{Done, Read, Ring};
pub use words::{Word, Words};
