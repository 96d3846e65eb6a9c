//! A look through all that is stored, in the order of the log: to list it, and to see whether it is still what was written.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;

use super::engine::Engine;
use super::find::StoredBody;
use super::format::{Entry, Kind, Parsed, Stamps, parse};
use super::index::{Place, SizeCode};
use super::recover::each_chunk;

/// One stored response.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Where its record begins in the file.
    pub offset: u64,
    /// Bytes of its record; a large body lies elsewhere.
    pub bytes: u32,
    /// Uses since it was stored, as far as they were counted.
    pub uses: u32,
    /// What was found there.
    pub content: ListedContent,
}

/// What was found in the place of a stored response.
#[derive(Clone, Debug)]
pub enum ListedContent {
    /// What was written: every byte has been compared with its checksum.
    Sound {
        /// The key.
        key: Bytes,
        /// What the owner keeps with the body.
        meta: Bytes,
        /// Bytes of the body.
        body_bytes: u64,
        /// What the owner keeps besides.
        stamps: Stamps,
    },
    /// A large body of which something has made room for others: it won't be found any more.
    Outlived,
    /// Something else.
    Damaged,
}

impl Engine {
    /// Shows all that can be found and is in the file, until `show` has enough. What is stored or removed meanwhile may be
    /// shown or not.
    pub(crate) fn list(self: &Arc<Self>, show: &mut dyn FnMut(Listed) -> ControlFlow<()>) {
        let segments = self.log().in_use();
        for (born, number) in segments {
            if !self.segments.pin(number, born) {
                continue;
            }
            let mut flow = ControlFlow::Continue(());
            each_chunk(self, number, |head, entries| {
                for entry in entries {
                    if flow.is_continue()
                        && let Some(listed) = self.listed(number, head.at + entry.at, &entry)
                    {
                        flow = show(listed);
                    }
                }
            });
            self.segments.unpin(number);
            if flow.is_break() {
                return;
            }
        }
    }

    /// What lies there; `None` unless it is what its key leads to.
    fn listed(self: &Arc<Self>, segment: u32, within: u32, entry: &Entry) -> Option<Listed> {
        let place = Place {
            granule: self.geometry.granule_at(segment, within),
            size: SizeCode::of_bytes(entry.bytes),
        };
        let stored = matches!(entry.kind, Kind::Whole | Kind::Extents);
        let uses = self.index.uses(entry.hash, place).filter(|_| stored)?;
        let offset = self.geometry.offset(segment, within);
        let read = self.device.read(offset, entry.bytes as usize);
        let content = self
            .note_read(read)
            .map_or(ListedContent::Damaged, |bytes| {
                self.content(&bytes.into(), entry, place)
            });
        Some(Listed {
            offset,
            bytes: entry.bytes,
            uses: uses.count(),
            content,
        })
    }

    fn content(self: &Arc<Self>, bytes: &Bytes, entry: &Entry, place: Place) -> ListedContent {
        let Parsed::Record(record) = parse(bytes) else {
            return ListedContent::Damaged;
        };
        if record.hash != entry.hash || record.lsn != entry.lsn {
            return ListedContent::Damaged;
        }
        let Some(body) = self.body(bytes, &record, place) else {
            return ListedContent::Outlived;
        };
        let body_bytes = match body {
            StoredBody::Whole(body) => body.len() as u64,
            StoredBody::Extents(extents) if extents.is_sound() => extents.len(),
            StoredBody::Extents(_) => return ListedContent::Damaged,
        };
        ListedContent::Sound {
            key: bytes.slice_ref(record.key),
            meta: bytes.slice_ref(record.meta),
            body_bytes,
            stamps: record.stamps,
        }
    }
}
