//! Stored responses on disk: a volume is a log, written in large chunks and found again by an index in memory.
//!
//! The engine knows no HTTP: it keeps what its owner calls meta, and a body, under a key. It has threads of its own (one
//! that writes, one that makes segments free, some that read), and wakes whoever waits.
//!
//! | file or folder | holds |
//! | --- | --- |
//! | `volume` | what its owner calls: create, open, put, find, update, remove, close |
//! | `format/` | what lies on the disk: superblock, chunk, record |
//! | `geometry` | sizes of segments, chunks and granules, and where they lie |
//! | `log/` | the end of the log, where records are added, in memory until they are written |
//! | `segments` | which segments are in use, how far they are written, who reads them |
//! | `index/` | where a record lies, by the hash of its key |
//! | `buffers` | what is read into; for fragments of large bodies they go round |
//! | `find` | reading, at once where the kernel has it in memory |
//! | `ring`, `reads` | else by the kernel while a worker goes on, or by threads that wait |
//! | `large/` | bodies in fragments |
//! | `writer`, `reclaim` with `reinsert`, `recover` with `learnt` | the other threads |
//! | `walk` | the tables of segments, as they lie in the file |
//! | `survey/` | a look at a volume from outside, by its tables; `list`: what is found there |
//! | `checkpoint` | images of the index beside the log |
//! | `sweep` | removes indexes in shared memory whose volumes are gone |
//! | `add` | what adds records to the log and leads the index to them |
//! | `engine`, `device` | what all threads share; the file |

mod add;
mod buffers;
mod checkpoint;
mod device;
mod engine;
mod find;
mod format;
mod geometry;
mod index;
mod large;
mod learnt;
mod list;
mod log;
mod options;
mod reads;
mod reclaim;
mod recover;
mod reinsert;
mod ring;
mod segments;
mod survey;
mod sweep;
mod usage;
mod volume;
mod walk;
mod writer;

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "sizes in tests are small")]
mod tests;

pub use add::Refused;
pub use find::{Found, Stored, StoredBody};
pub use format::Stamps;
pub use index::Origin;
#[doc(hidden)]
pub use index::{
    ImageReader, ImageWriter, Index as VolumeIndex, Inserted, Place, Places, SizeCode, Title, Uses,
};
pub use large::{ExtentReader, Extents, Writing};
pub use list::{Listed, ListedContent};
pub use options::VolumeOptions;
pub use reads::Reading;
pub use ring::Ring;
pub use survey::{Closeness, Survey, SurveyUsage};
pub use sweep::sweep;
pub use usage::{VolumeState, VolumeUsage};
pub use volume::Volume;
