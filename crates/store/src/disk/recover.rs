//! Recovery: what lies in the log is learnt from the tables of its chunks, while the volume serves and stores already.
//! Of each key the highest number counts, in whatever order they are met; the newest segments are read first, as what lies
//! in them is asked for most.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{MutexGuard, PoisonError};

use super::checkpoint::{Image, restore};
use super::engine::Engine;
use super::format::{ChunkHead, Entry, Kind, entries};
use super::geometry::BLOCK;
use super::index::{Origin, Place, Places, SizeCode, Uses};
use super::log::{Log, Numbers, Phase, Run};
use crate::usage::count;

/// How an entry of a table relates to the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// It may be the first of its key, or the newest.
    All,
    /// It was written after an image was marked with this number. Tombstones of a lower one were carried on; the image
    /// knows of them, and may have what was stored since.
    Tail(u64),
    /// An image was restored in part: what it has is the newest, unless the log after it has said otherwise.
    Gaps,
}

/// Learns what is stored. Ends early when the volume is closed.
pub(crate) fn run(engine: &Engine) {
    let attached = engine.is_attached();
    let image = Image::open(engine).filter(|_| !attached);
    let Some(used) = segments(engine) else {
        return;
    };
    let mut missing = !attached;
    if let Some(image) = image {
        // What came after the image goes first, so that nothing is found that was removed or replaced since.
        let tail = |segment: &u32| image.tail(engine, *segment) < engine.geometry.segment();
        for number in used.iter().copied().rev().filter(tail) {
            let reading = Reading::Tail(image.lsn());
            read(engine, number, image.tail(engine, number), reading);
        }
        missing = !restore(engine, &image);
        if missing {
            count(&engine.counters.images_failed);
            read_all(engine, &used, Reading::Gaps);
        }
    } else if missing {
        read_all(engine, &used, Reading::All);
    }
    if engine.log().run == Run::On {
        serve(engine);
    }
}

fn read_all(engine: &Engine, used: &[u32], reading: Reading) {
    for number in used.iter().rev() {
        read(engine, *number, 0, reading);
    }
}

/// Reads the tables of a segment, of the chunks that begin at `from` or later.
fn read(engine: &Engine, number: u32, from: u32, reading: Reading) {
    if engine.log().run != Run::On {
        return;
    }
    let end = each_chunk(engine, number, |head, entries| {
        let log = engine.log();
        for entry in entries.into_iter().filter(|_| head.at >= from) {
            learn(engine, &log, (number, head), entry, reading);
        }
    });
    let log = engine.log();
    if !log.is_void(engine.segments.born(number)) {
        engine.segments.set_written(number, end);
    }
    drop(log);
    count(&engine.counters.segments_recovered);
}

/// All there is can be found now. The next process may take the index over as it is, whenever this one ends.
fn serve(engine: &Engine) {
    let mut log = engine.log();
    log.phase = Phase::Serving;
    engine.note_recovered();
    *engine.met() = Numbers::new();
    engine.index.set_lsn(engine.superblock().epoch);
}

impl Engine {
    /// Whether all that is stored is in the index already, as the process before this one left it in shared memory. It is
    /// marked with how often the volume had been opened then: had another process opened it since without using that
    /// memory, it would lack what that one stored and removed.
    fn is_attached(&self) -> bool {
        let attached = matches!(self.origin, Origin::Attached);
        let complete = attached && self.index.lsn() + 1 == self.superblock().epoch;
        if attached && !complete {
            self.index.remove_all_in(0..u32::MAX);
        }
        // Not before it is said again is it whole.
        self.index.set_lsn(0);
        complete
    }
}

/// Finds out which segments are in use; returns them, the oldest first.
fn segments(engine: &Engine) -> Option<Vec<u32>> {
    let watermark = engine.superblock().watermark;
    let mut used = BTreeMap::new();
    let mut free = VecDeque::new();
    for number in 0..engine.geometry.segments {
        if engine.log().run != Run::On {
            return None;
        }
        match born(engine, number).filter(|born| *born >= watermark) {
            Some(born) => match used.entry(born) {
                Slot::Vacant(slot) => {
                    engine.segments.begin(number, born);
                    engine
                        .segments
                        .set_written(number, engine.geometry.segment());
                    slot.insert(number);
                }
                // Two segments can't have been begun under one number.
                Slot::Occupied(_) => free.push_back(number),
            },
            None => free.push_back(number),
        }
    }
    let numbers = used.values().copied().collect();
    engine.log().opened(used, free);
    Some(numbers)
}

/// The number under which a segment was begun last.
fn born(engine: &Engine, number: u32) -> Option<u64> {
    let first = block(engine, number, 0)?;
    if first.iter().all(|byte| *byte == 0) {
        return None;
    }
    if let Some(head) = decode(engine, number, 0, &first) {
        return Some(head.born);
    }
    // Its first chunk is damaged; there may be others.
    let blocks = (0..engine.geometry.segment()).step_by(BLOCK as usize);
    let heads = blocks.filter_map(|at| decode(engine, number, at, &block(engine, number, at)?));
    heads.map(|head| head.born).max()
}

/// Gives the chunks of a segment with what their tables say, those of its last use. Where there is none, the next block
/// may begin one again.
pub(crate) fn each_chunk(
    engine: &Engine,
    number: u32,
    mut act: impl FnMut(&ChunkHead, Vec<Entry>),
) -> u32 {
    let born = engine.segments.born(number);
    let (mut at, mut end) = (0, 0);
    let mut next = block(engine, number, 0);
    while at < engine.geometry.segment() {
        let head = next
            .as_deref()
            .and_then(|block| decode(engine, number, at, block));
        let Some(head) = head.filter(|head| head.born == born) else {
            at += BLOCK;
            next = block(engine, number, at);
            continue;
        };
        // The block after the table is the next chunk's first.
        let table_at = engine.geometry.offset(number, at + head.table_at);
        let rest = (head.bytes - head.table_at) as usize;
        let read = engine.device.read(table_at, rest + BLOCK as usize);
        let read = engine.note_read(read).unwrap_or_default();
        let table = read.get(..head.table_bytes());
        if let Some(entries) = table.and_then(|table| entries(table, &head)) {
            act(&head, entries);
        }
        at += head.bytes;
        end = at;
        next = read.get(rest..).map(<[u8]>::to_vec);
    }
    end
}

fn block(engine: &Engine, number: u32, at: u32) -> Option<Vec<u8>> {
    let at = engine.geometry.offset(number, at);
    let read = engine.device.read(at, BLOCK as usize);
    engine.note_read(read).filter(|block| !block.is_empty())
}

fn decode(engine: &Engine, number: u32, at: u32, block: &[u8]) -> Option<ChunkHead> {
    let head = ChunkHead::decode(block, &engine.geometry, engine.mark)?;
    (head.segment == number && head.at == at).then_some(head)
}

/// Takes an entry of a table into the index, if no newer one of its key has been met.
fn learn(engine: &Engine, log: &Log, at: (u32, &ChunkHead), entry: Entry, reading: Reading) {
    let (number, head) = at;
    if entry.kind == Kind::Fragment || log.is_void(head.born) {
        return;
    }
    let known = matches!(reading, Reading::Tail(marked) if entry.lsn < marked);
    if known && entry.kind == Kind::Tombstone {
        return;
    }
    let Some(first) = engine.meet(entry.hash, entry.lsn) else {
        return;
    };
    let found = if first && reading != Reading::Gaps {
        // Nothing can be there.
        Places::new()
    } else {
        engine.index.find(entry.hash)
    };
    if first && !found.is_empty() {
        return;
    }
    if entry.kind == Kind::Tombstone {
        for place in found {
            engine.index.remove(entry.hash, place);
        }
        return;
    }
    let place = Place {
        granule: engine.geometry.granule_at(number, head.at + entry.at),
        size: SizeCode::of_bytes(entry.bytes),
    };
    if found.is_empty() {
        engine.index_new(entry.hash, place);
    } else {
        engine.index_only(entry.hash, place);
    }
    if entry.frequency > 0 {
        let uses = Uses::new(u32::from(entry.frequency), 0);
        engine.index.set_uses(entry.hash, place, uses);
    }
}

impl Engine {
    fn met(&self) -> MutexGuard<'_, Numbers> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has recovery pass over what is older of this key.
    pub(crate) fn pass_over(&self, log: &Log, hash: u64, lsn: u64) {
        if log.phase != Phase::Serving {
            self.met().insert(self.index.known_of(hash), lsn);
        }
    }

    /// Notes a record of this key: whether it is the first, or `None` if a newer one was met.
    fn meet(&self, hash: u64, lsn: u64) -> Option<bool> {
        let mut met = self.met();
        let newest = met.entry(self.index.known_of(hash)).or_insert(0);
        let first = *newest == 0;
        let newer = *newest < lsn;
        *newest = lsn.max(*newest);
        newer.then_some(first)
    }

    /// Whether something newer than the image was met of what the index knows so much of.
    pub(crate) fn has_met(&self, known: u64) -> bool {
        self.met().contains_key(&known)
    }
}
