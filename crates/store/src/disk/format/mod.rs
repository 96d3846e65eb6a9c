//! What lies on the disk, little-endian, every byte that is used under a checksum. All input is hostile: what doesn't
//! check is as if it weren't there.
//!
//! ```text
//! superblock, superblock, segment, segment, …
//! segment   = chunk, chunk, …                      each from the next block on
//! chunk     = head, record, record, …, table       the table after the records: how long it gets is known last
//! record    = head, key, meta, body
//! ```

mod chunk;
mod extents;
mod record;
mod superblock;

pub(crate) use chunk::{ChunkHead, Entry, entries, write_table};
pub(crate) use extents::{Extent, ExtentList, RUN};
pub use record::Stamps;
pub(crate) use record::{Draft, Kind, Parsed, Record, parse, parse_beginning};
pub(crate) use superblock::{EPOCH_SHIFT, Filled, Mark, Superblock};

/// Bytes of a record's head, and of a chunk's.
pub(crate) const HEAD: usize = 64;
/// Bytes of an entry in a chunk's table.
pub(crate) const ENTRY: usize = 32;
