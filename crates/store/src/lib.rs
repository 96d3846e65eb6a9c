//! Stored responses: one memory cache shared by all workers, and the disk behind it.
//!
//! The store knows no HTTP. It keeps what its owner calls a response (`M`, see [`Weigh`]) and a body under a key, tells
//! requests for the same key of each other ([`Store::begin`]), and lets any number of readers follow a body while it arrives.
//!
//! | folder | holds |
//! | --- | --- |
//! | [`store`](Store) | what the proxy calls: find, begin, update, remove, usage |
//! | `memory/` | the index: shards, replacement policies, ghosts, eviction |
//! | `content/` | bodies: whole, in pages, or still arriving; their writer and readers |
//! | `disk/` | a log of responses in a file: what a `cache_dir` is |
//! | `tier/` | memory and disk together |
//! | `collapse` | the right to fill a key, and those who wait for it |
//! | `invalidate/` | bans: what is no longer to be given, by key, by tag, by a test of the key |

mod collapse;
mod content;
mod disk;
mod invalidate;
mod journal;
mod key;
mod memory;
mod moment;
mod object;
mod options;
mod store;
mod sync;
mod tier;
mod usage;

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "sizes in tests are small")]
mod tests;

pub use collapse::{Begin, Slot, Waited, Waiting};
pub use content::{
    Body, FileSlice, Files, Fill, Filler, Keep, Overflow, Pages, ReadError, Reader, Saving, Short,
    Slice,
};
pub use disk::{
    Closeness, ExtentReader, Extents, Found, Listed, ListedContent, Origin, Reading, Refused, Ring,
    Stamps, Stored, StoredBody, Survey, SurveyUsage, Volume, VolumeOptions, VolumeState,
    VolumeUsage, Writing, sweep,
};
#[doc(hidden)]
pub use disk::{
    ImageReader, ImageWriter, Inserted, Place, Places, SizeCode, Title, Uses, VolumeIndex,
};
pub use invalidate::{Aim, Ban, KeyTest, Tag, TooManyBans, Way};
pub use journal::{Event, Journal};
pub use key::KeyRef;
pub use object::{Object, PartOf, Weigh};
pub use options::{Options, Policy};
pub use store::Store;
pub use tier::{Choice, Listing, Pieces, Volumes, VolumesUsage};
pub use usage::Usage;
