//! How a stored response is found: in the chunks that are still in memory, in the kernel's memory, on the disk. Whatever
//! is read is checked to the last byte, so that a place which the index has too long is only a miss. What has to wait for
//! the disk goes on in `ring`, or in `reads`.

use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;

use super::buffers::Buffer;
use super::device::Cached;
use super::engine::Engine;
use super::format::{Kind, Parsed, Record, Stamps, parse};
use super::index::Place;
use super::large::Extents;
use super::reads::{Promise, Reading};
use super::ring::{Hunt, Ring};
use crate::usage::count;

/// What is stored under a key.
#[derive(Debug)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// This.
    Here(Stored),
    /// The disk has to be waited for.
    Later(Reading),
}

/// A stored response, as it was given.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The key.
    pub key: Bytes,
    /// What the owner keeps with the body.
    pub meta: Bytes,
    /// The body.
    pub body: StoredBody,
    /// What the owner keeps besides.
    pub stamps: Stamps,
}

/// The body of a stored response.
#[derive(Clone, Debug)]
pub enum StoredBody {
    /// All of it.
    Whole(Bytes),
    /// Where it lies; too large to be held in memory.
    Extents(Arc<Extents>),
}

/// A key to be looked for.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) key: Bytes,
    pub(crate) hash: u64,
    pub(crate) now_secs: u32,
}

/// The places of a key that were looked at. Where nothing was found the index is asked again, as the reclaimer may have
/// moved a record between the two.
#[derive(Debug, Default)]
pub(crate) struct Trail(SmallVec<[Place; 4]>);

/// Places that are looked at for one find, at most.
const PLACES_MAX: usize = 8;

impl Trail {
    fn next(&mut self, engine: &Engine, hash: u64) -> Option<Place> {
        if engine.is_down() || self.0.len() >= PLACES_MAX {
            return None;
        }
        let places = engine.index.find(hash);
        let place = places.into_iter().find(|place| !self.0.contains(place))?;
        self.0.push(place);
        Some(place)
    }
}

/// Whether the disk may be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    None,
    Some,
}

/// What bytes of a segment came to.
pub(crate) enum Fetched {
    Bytes(Bytes),
    /// With what it would have been read into.
    Waits(Buffer),
    /// Nothing was ever written there, or no more.
    Gone,
    /// The disk failed.
    Failed,
}

/// What has to be read from the disk to know what lies in a place.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) place: Place,
    /// When its segment was begun, as far as was known before.
    pub(crate) born: u64,
    /// Where that is in the file.
    pub(crate) at: u64,
    /// To be filled.
    pub(crate) buffer: Vec<u8>,
}

/// How far a search has come.
pub(crate) enum Step {
    Here(Place, Stored),
    Nothing,
    Waits(Wanted),
}

/// What lies in a place.
enum Look {
    Here(Stored),
    Other,
    Waits(Wanted),
}

/// What bytes of a place came to.
pub(crate) enum Judged {
    Here(Stored),
    Other,
    /// No record, or not all of one.
    Unsound,
}

impl Engine {
    pub(crate) fn find(self: &Arc<Self>, key: &[u8], now_secs: u32, ring: Option<&Ring>) -> Found {
        self.tell(now_secs);
        let hash = self.hash(key);
        let mut trail = Trail::default();
        let step = self.step(key, hash, &mut trail, Patience::None);
        match step {
            Step::Here(place, stored) => {
                count(&self.counters.hits);
                count(&self.counters.hits_at_once);
                self.index.used(hash, place, now_secs);
                Found::Here(stored)
            }
            Step::Nothing => {
                count(&self.counters.misses);
                Found::Nothing
            }
            Step::Waits(wanted) => {
                let promise = Promise::new();
                let search = Search {
                    key: Bytes::copy_from_slice(key),
                    hash,
                    now_secs,
                };
                let hunt = Hunt::new(self, search, trail, &promise);
                hunt.wait(wanted, ring);
                Found::Later(Reading(promise))
            }
        }
    }

    /// Looks through the places of a key, however long it takes.
    pub(crate) fn search(self: &Arc<Self>, search: &Search) -> Option<Stored> {
        let mut trail = Trail::default();
        let step = self.step(&search.key, search.hash, &mut trail, Patience::Some);
        self.outcome(search, step)
    }

    /// What a search has come to that had to wait.
    pub(crate) fn outcome(&self, search: &Search, step: Step) -> Option<Stored> {
        match step {
            Step::Here(place, stored) => {
                count(&self.counters.hits);
                self.index.used(search.hash, place, search.now_secs);
                Some(stored)
            }
            Step::Nothing | Step::Waits(_) => {
                count(&self.counters.misses);
                None
            }
        }
    }

    /// Looks through the places that are not on the trail yet.
    pub(crate) fn step(
        self: &Arc<Self>,
        key: &[u8],
        hash: u64,
        trail: &mut Trail,
        patience: Patience,
    ) -> Step {
        while let Some(place) = trail.next(self, hash) {
            match self.look(key, hash, place, patience) {
                Look::Here(stored) => return Step::Here(place, stored),
                Look::Other => {}
                Look::Waits(wanted) => return Step::Waits(wanted),
            }
        }
        Step::Nothing
    }

    fn look(self: &Arc<Self>, key: &[u8], hash: u64, place: Place, patience: Patience) -> Look {
        let Some((segment, within)) = self.geometry.locate(place.granule) else {
            self.forget(hash, place);
            return Look::Other;
        };
        // It isn't known yet what is in use, or just being made room of.
        let born = self.segments.born(segment);
        if born == 0 {
            return Look::Other;
        }
        let asked = self.geometry.read_bytes(place, within);
        let waits = |buffer: Buffer| {
            Look::Waits(Wanted {
                place,
                born,
                at: self.geometry.offset(segment, within),
                buffer: buffer.into_vec(),
            })
        };
        let bytes = match self.fetch(segment, within, asked, patience) {
            Fetched::Bytes(bytes) => bytes,
            Fetched::Waits(buffer) => return waits(buffer),
            Fetched::Failed => return Look::Other,
            Fetched::Gone => {
                self.forget(hash, place);
                return Look::Other;
            }
        };
        match self.judge(&bytes, born, key, hash, place) {
            Judged::Here(stored) => Look::Here(stored),
            Judged::Other => Look::Other,
            Judged::Unsound if patience == Patience::None && bytes.len() < asked as usize => {
                waits(Buffer::own(asked as usize))
            }
            Judged::Unsound => {
                self.disown(hash, place);
                Look::Other
            }
        }
    }

    pub(crate) fn judge(
        self: &Arc<Self>,
        bytes: &Bytes,
        born: u64,
        key: &[u8],
        hash: u64,
        place: Place,
    ) -> Judged {
        match parse(bytes, born) {
            Parsed::Record(record) if record.hash == hash => {
                self.take_up(bytes, &record, key, place)
            }
            // Another key with the same tag in the index; or a slot that should have been removed with its record.
            Parsed::Record(record) => {
                if !self.index.find(record.hash).contains(&place) {
                    self.forget(hash, place);
                }
                Judged::Other
            }
            Parsed::Short | Parsed::Wrong | Parsed::Nothing => Judged::Unsound,
        }
    }

    /// What lies there isn't what was written.
    pub(crate) fn disown(&self, hash: u64, place: Place) {
        // What was made room of while it was read is not in the index any more.
        if self.forget(hash, place) {
            count(&self.counters.wrong);
        }
    }

    /// Up to so many bytes of a segment.
    pub(crate) fn fetch(
        &self,
        segment: u32,
        within: u32,
        bytes: u32,
        patience: Patience,
    ) -> Fetched {
        let own = || Buffer::own(bytes as usize);
        self.fetch_into(own, (segment, within), bytes, patience)
    }

    /// The same, into a buffer that is made when it is needed.
    pub(crate) fn fetch_into(
        &self,
        buffer: impl FnOnce() -> Buffer,
        (segment, within): (u32, u32),
        bytes: u32,
        patience: Patience,
    ) -> Fetched {
        if within >= self.segments.written(segment) {
            if let Some(bytes) = self.log().buffered(segment, within, bytes) {
                return Fetched::Bytes(bytes);
            }
            // It may have been written meanwhile.
            if within >= self.segments.written(segment) {
                return Fetched::Gone;
            }
        }
        let at = self.geometry.offset(segment, within);
        let mut buffer = buffer();
        let room = buffer.room(bytes as usize);
        let read = match patience {
            // What the kernel has in memory says nothing of the disk.
            Patience::None => {
                let cached = self.device.read_cached(at, room);
                Some(cached.unwrap_or(Cached::Waits))
            }
            Patience::Some => {
                let read = self.device.read_into(at, room);
                self.note_read(read.map(Cached::Bytes))
            }
        };
        match read {
            None => Fetched::Failed,
            Some(Cached::Waits) => Fetched::Waits(buffer),
            Some(Cached::Bytes(count)) => {
                self.count_read(count);
                Fetched::Bytes(buffer.filled(count))
            }
        }
    }
}

impl Engine {
    /// What a record holds, if it is one of this key.
    fn take_up(
        self: &Arc<Self>,
        bytes: &Bytes,
        record: &Record<'_>,
        key: &[u8],
        place: Place,
    ) -> Judged {
        if record.key != key {
            return Judged::Other;
        }
        let Some(body) = self.body(bytes, record, place) else {
            // Fragments of it have made room for others.
            self.index.remove(record.hash, place);
            return Judged::Other;
        };
        Judged::Here(Stored {
            key: bytes.slice_ref(record.key),
            meta: bytes.slice_ref(record.meta),
            body,
            stamps: record.stamps,
        })
    }

    /// The bytes of a record that may be there.
    pub(crate) fn read_at(&self, place: Place, patience: Patience) -> Option<Bytes> {
        let (segment, within) = self.geometry.locate(place.granule)?;
        let asked = self.geometry.read_bytes(place, within);
        match self.fetch(segment, within, asked, patience) {
            Fetched::Bytes(bytes) => Some(bytes),
            Fetched::Waits(_) | Fetched::Gone | Fetched::Failed => None,
        }
    }

    /// The body of a record, if it has one, and all of it is there.
    pub(crate) fn body(
        self: &Arc<Self>,
        bytes: &Bytes,
        record: &Record<'_>,
        place: Place,
    ) -> Option<StoredBody> {
        match record.kind {
            Kind::Whole => Some(StoredBody::Whole(bytes.slice_ref(record.body))),
            Kind::Extents => {
                let opened = Extents::open(self, record.hash, place, record.body);
                opened.map(StoredBody::Extents)
            }
            Kind::Fragment | Kind::Tombstone => None,
        }
    }
}
