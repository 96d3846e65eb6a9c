//! The volumes of a configuration: which of them gets a response, and all of them asked for one.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::detached::Detached;
use super::history::History;
use super::record::{Fork, Record, grave};
use super::runs::PIECE_BYTES;
use super::sets::{Sets, SharedSet};
use crate::disk::{
    Extents, Found, Refused, Ring, Stamps, Stored, StoredBody, Volume, VolumeUsage, Writing,
};
use crate::invalidate::Tag;
use crate::moment::Moment;
use crate::object::{Object, Weigh};

/// Bytes of a piece's place and metadata at most; a longer key has no parts on disk.
const BESIDE_PIECE_MAX: usize = 64 << 10;

/// Which of the volumes that a response fits in gets it; Squid's `store_dir_select_algorithm`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The one with the least to do; of several the emptiest.
    #[default]
    LeastLoad,
    /// Each in its turn.
    RoundRobin,
}

/// See the module.
#[derive(Debug)]
pub struct Volumes {
    all: Box<[Arc<Volume>]>,
    choice: Choice,
    turn: AtomicUsize,
    history: History,
    sets: Sets,
}

/// What the volumes hold and have done.
#[derive(Clone, Debug, Default)]
pub struct VolumesUsage {
    /// All together; the state is that of the one that is farthest from serving.
    pub total: VolumeUsage,
    /// Each with its path, in the order of the configuration.
    pub each: Vec<(PathBuf, VolumeUsage)>,
}

impl Volumes {
    /// In the order of the configuration. `before`: those that they take the place of.
    #[must_use]
    pub fn new(all: Vec<Arc<Volume>>, choice: Choice, before: Option<&Self>) -> Self {
        let paths: Vec<PathBuf> = all.iter().map(|volume| volume.path().to_owned()).collect();
        let before = before.map(|before| &before.history);
        Self {
            history: History::new(&paths).of_the_same_life(before),
            all: all.into(),
            choice,
            turn: AtomicUsize::new(0),
            sets: Sets::default(),
        }
    }

    /// Each of them.
    #[must_use]
    pub fn all(&self) -> &[Arc<Volume>] {
        &self.all
    }

    /// What they hold and have done.
    #[must_use]
    pub fn usage(&self) -> VolumesUsage {
        let each = self.all.iter();
        let each: Vec<_> = each
            .map(|volume| (volume.path().to_owned(), volume.usage()))
            .collect();
        let total = each.iter().map(|(_, usage)| *usage);
        VolumesUsage {
            total: total.reduce(VolumeUsage::plus).unwrap_or_default(),
            each,
        }
    }

    /// Would one of them take a body of that length; `None`: not known yet?
    #[must_use]
    pub fn takes(&self, bytes: Option<u64>) -> bool {
        self.all.iter().any(|volume| volume.takes(bytes))
    }

    /// A ban that is neither by key nor by tag: what is stored already is judged when it is read.
    pub(crate) fn note_ban(&self, banned: Moment) {
        self.history.note(banned);
    }

    /// May what was written then have been banned by what nothing else tells of?
    pub(super) fn distrusts(&self, written: Moment) -> bool {
        self.history.distrusts(written)
    }

    /// What has any of these tags and is there now, is gone: at once, and after a crash. False where a volume couldn't
    /// write that down.
    pub(crate) fn bury(&self, tags: &[Tag]) -> bool {
        let stamps = stamps_of(Moment::new());
        let dig = |volume: &Arc<Volume>, tag: &Tag| {
            let nothing: &[&[u8]] = &[];
            volume.put(&grave(*tag), &[], nothing, stamps).is_ok()
        };
        let all = self.all.iter();
        all.fold(true, |buried, volume| {
            tags.iter()
                .fold(buried, |buried, tag| dig(volume, tag) && buried)
        })
    }

    /// Has any of these tags a grave that was dug since?
    pub(super) async fn are_buried(
        &self,
        tags: &[Tag],
        written: Moment,
        now_secs: u32,
        ring: Option<&Ring>,
    ) -> bool {
        for tag in tags {
            let place = grave(*tag);
            for volume in self.all.iter().filter(|volume| volume.may_have(&place)) {
                let found = found(volume.find(&place, now_secs, ring)).await;
                if found.is_some_and(|grave| Moment(grave.stamps.judged) > written) {
                    return true;
                }
            }
        }
        false
    }

    /// What a disk is told of a response.
    pub(super) fn stamps<M: Weigh>(object: &Object<M>) -> Stamps {
        let [date, expires, last_modified] = object.meta.times();
        Stamps {
            date,
            expires,
            last_modified,
            ..stamps_of(Moment::new())
        }
    }

    pub(super) fn may_have(&self, key: &[u8]) -> bool {
        self.all.iter().any(|volume| volume.may_have(key))
    }

    pub(super) async fn find(
        &self,
        key: &[u8],
        now_secs: u32,
        ring: Option<&Ring>,
    ) -> Option<Stored> {
        for volume in &self.all {
            let found = found(volume.find(key, now_secs, ring)).await;
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The same, by threads alone: for what isn't bound to the thread of a ring.
    pub(super) async fn find_by_threads(&self, key: &[u8], now_secs: u32) -> Option<Stored> {
        for volume in &self.all {
            let found = found(volume.find(key, now_secs, None)).await;
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Counts a use of what lies there.
    pub(super) fn used(&self, place: &[u8]) {
        self.all.iter().for_each(|volume| volume.used(place));
    }

    /// The fork under `key`, if it can be told without waiting.
    pub(super) fn fork_at(&self, key: &[u8]) -> Option<Fork<Vec<u8>>> {
        self.all
            .iter()
            .find_map(|volume| match volume.find(key, 0, None) {
                Found::Here(stored) => match Record::read(&stored.meta)? {
                    Record::Fork(fork) => Some(fork.to_owned()),
                    Record::Response(_) | Record::Parts(_) | Record::Piece => None,
                },
                Found::Nothing | Found::Later(_) => None,
            })
    }

    /// Stores it in one of them; what another has under the same key goes.
    pub(super) fn put(&self, key: &[u8], meta: &[u8], body: &[Bytes], stamps: Stamps) {
        let bytes: usize = body.iter().map(Bytes::len).sum();
        let chosen = self.choose(Some(bytes as u64));
        self.remove_from_all_but(chosen, key);
        let Some(volume) = chosen else { return };
        let put = match key.len() + meta.len() + bytes <= volume.whole_bytes_max() {
            true => volume.put(key, meta, body, stamps),
            false => put_in_pieces(volume, key, meta, body, stamps),
        };
        if put.is_err() {
            volume.remove(key); // what it has is out of date
        }
    }

    /// Gives a large body that is on disk already other metadata.
    pub(super) fn renew(&self, key: &[u8], body: &Arc<Extents>, meta: &[u8], stamps: Stamps) {
        let volume = self.all.iter().find(|volume| volume.holds(body));
        self.remove_from_all_but(volume, key);
        let Some(volume) = volume else { return };
        let stored = Stored {
            key: Bytes::copy_from_slice(key),
            meta: Bytes::new(),
            body: StoredBody::Extents(Arc::clone(body)),
            stamps,
        };
        if volume.update(&stored, meta, stamps).is_err() {
            volume.remove(key); // what it has is out of date
        }
    }

    /// As [`Volumes::renew`], of the large body that lies under `key`, if it has so many bytes and is the same by what
    /// lies beside it: that of `same`, of two owners' metadata. Happens when the disk has said what is there.
    pub(super) fn renew_later(
        self: &Arc<Self>,
        key: Vec<u8>,
        bytes: u64,
        meta: Vec<u8>,
        stamps: Stamps,
        same: fn(&[u8], &[u8]) -> bool,
    ) {
        let volumes = Arc::clone(self);
        Detached::run(async move {
            let stored = volumes.find_by_threads(&key, 0).await;
            let Some((StoredBody::Extents(body), before)) =
                stored.map(|stored| (stored.body, stored.meta))
            else {
                return;
            };
            let is_it = match (Record::read(&before), Record::read(&meta)) {
                (Some(Record::Response(before)), Some(Record::Response(now))) => same(before, now),
                _ => false,
            };
            if is_it && body.len() == bytes {
                volumes.renew(&key, &body, &meta, stamps);
            }
        });
    }

    /// The right to write a large body piece by piece. What is under the same key stays until it is finished.
    pub(super) fn begin(&self, key: &[u8], length: Option<u64>) -> Option<Writing> {
        let chosen = self.choose(length)?;
        let writing = chosen.begin(key, length).ok()?;
        self.remove_from_all_but(Some(chosen), key);
        Some(writing)
    }

    /// A large body was written under `key`.
    pub(super) fn finished(&self, key: &[u8]) {
        self.sets.end(key);
    }

    /// A volume for the pieces of a part of that length.
    pub(super) fn for_pieces(&self, length: Option<u64>) -> Option<Arc<Volume>> {
        let chosen = self.choose(length)?;
        let room = usize::try_from(PIECE_BYTES).ok()? + BESIDE_PIECE_MAX;
        (chosen.whole_bytes_max() >= room).then(|| Arc::clone(chosen))
    }

    /// What those agree on who write parts under the head at `place`.
    pub(super) fn join_set(&self, place: &[u8]) -> SharedSet {
        self.sets.join(place)
    }

    /// Is anything known to be under `key`?
    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.all.iter().any(|volume| volume.has(key))
    }

    /// Stores the head of parts, where the one before it lies, or else in that volume. Nobody but a set may do that.
    pub(super) fn put_head(
        &self,
        volume: &Arc<Volume>,
        place: &[u8],
        meta: &[u8],
        stamps: Stamps,
    ) -> Result<(), Refused> {
        let before = self.all.iter().find(|volume| volume.has(place));
        let volume = before.unwrap_or(volume);
        let nothing: &[&[u8]] = &[];
        volume.put(place, meta, nothing, stamps)?;
        self.remove_from_others(Some(volume), place);
        Ok(())
    }

    /// Removes what lies under `key`; false if there was nothing.
    pub(crate) fn remove(&self, key: &[u8]) -> bool {
        self.remove_from_all_but(None, key)
    }

    /// Removes everything.
    pub(crate) fn clear(&self) {
        self.sets.end_all();
        for volume in &self.all {
            let _said_by_its_state = volume.clear();
        }
    }

    fn remove_from_all_but(&self, kept: Option<&Arc<Volume>>, key: &[u8]) -> bool {
        self.sets.end(key);
        self.remove_from_others(kept, key)
    }

    fn remove_from_others(&self, kept: Option<&Arc<Volume>>, key: &[u8]) -> bool {
        let others = self.all.iter();
        let others = others.filter(|volume| kept.is_none_or(|kept| !Arc::ptr_eq(kept, volume)));
        // All are asked, whatever the first says.
        let having = others.filter(|volume| kept.is_none() || volume.may_have(key));
        having.filter(|volume| volume.remove(key)).count() > 0
    }

    fn choose(&self, bytes: Option<u64>) -> Option<&Arc<Volume>> {
        let fits = |volume: &&Arc<Volume>| volume.takes(bytes) && volume.is_open();
        match self.choice {
            Choice::LeastLoad => {
                // Of those that are alike, each in its turn: else the first would get all as long as nobody is in a hurry.
                let turn = self.turn.fetch_add(1, Relaxed) % self.all.len().max(1);
                let (first, rest) = self.all.split_at(turn);
                let all = rest.iter().chain(first).filter(fits);
                all.min_by_key(|volume| volume.load())
            }
            Choice::RoundRobin => {
                let fitting = || self.all.iter().filter(fits);
                let turn = self.turn.fetch_add(1, Relaxed);
                fitting().nth(turn % fitting().count().max(1))
            }
        }
    }
}

/// Of what is small elsewhere, in a volume whose records are smaller. Nobody waits for room.
fn put_in_pieces(
    volume: &Volume,
    key: &[u8],
    meta: &[u8],
    body: &[Bytes],
    stamps: Stamps,
) -> Result<(), Refused> {
    let bytes = body.iter().map(|slice| slice.len() as u64).sum();
    let mut writing = volume.begin(key, Some(bytes))?;
    let mut cx = Context::from_waker(Waker::noop());
    let at_once = |polled| match polled {
        Poll::Ready(result) => result,
        Poll::Pending => Err(Refused::Busy),
    };
    for slice in body {
        at_once(writing.poll_append(&mut slice.clone(), &mut cx))?;
    }
    at_once(writing.poll_finish(meta, stamps, &mut cx))
}

async fn found(found: Found) -> Option<Stored> {
    match found {
        Found::Nothing => None,
        Found::Here(stored) => Some(stored),
        Found::Later(reading) => reading.await,
    }
}

fn stamps_of(written: Moment) -> Stamps {
    Stamps {
        judged: written.0,
        ..Stamps::default()
    }
}
