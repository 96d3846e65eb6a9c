//! Recovery: what lies in the log is learnt from the tables of its chunks, while the volume serves and stores already.
//! Some threads read tables, one takes what they say into the index; the newest segments are read first, as what lies in
//! them is asked for most.
//!
//! Of each key the highest number counts, in whatever order they are met. So three things are kept until all is read:
//!
//! | kept | of | as |
//! | --- | --- | --- |
//! | [`Learnt`] | each record that was taken into the index | its number, by where it lies: ten bytes |
//! | `met` | what was removed, or stored meanwhile; what came after an image | the highest number of its key |
//! | the index | all others | the record that counts so far |

use std::cell::RefCell;
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, VecDeque};

use super::checkpoint::{Image, restore};
use super::engine::Engine;
use super::format::{ChunkHead, Entry, Kind};
use super::index::{Finding, Origin, Place, SizeCode, Uses};
use super::learnt::Learnt;
use super::log::{Log, Numbers, Phase, Run};
use super::walk::Met;
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::sync::mpsc::{SyncSender, sync_channel};
use crate::sync::{MutexGuard, lock, thread};
use crate::usage::count;

/// Threads that read tables. They wait for the disk more than they compute.
const READERS: usize = 4;
/// Segments whose tables wait to be learnt, at most.
const READ_AHEAD: usize = 4;
/// Segments by which it is judged how much there is.
const SAMPLES: usize = 16;

/// Which part of the log is learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// All there is.
    All,
    /// What was written after an image was marked with this number. Tombstones of a lower one were carried on; the image
    /// knows of them, and may have what was stored since.
    Tail(u64),
}

/// The tables of a segment.
struct Tables {
    number: u32,
    born: u64,
    chunks: Vec<(ChunkHead, Vec<Entry>)>,
    /// Where in the segment the last chunk ends.
    end: u32,
}

impl Tables {
    /// Those of the chunks that begin at `from` or later.
    fn read(engine: &Engine, number: u32, from: u32) -> Self {
        let born = engine.segments.born(number);
        let mut chunks = Vec::new();
        let end = engine.walk().each_chunk(number, born, |met| match met {
            Met::Chunk(head, entries) if head.at >= from => chunks.push((head, entries)),
            Met::Chunk(..) | Met::Damaged(_) => {}
        });
        Self {
            number,
            born,
            chunks,
            end,
        }
    }
}

/// Learns what is stored. Ends early when the volume is closed.
pub(crate) fn run(engine: &Engine) {
    let attached = engine.is_attached();
    let image = Image::open(engine).filter(|_| !attached);
    let Some(used) = segments(engine) else {
        return;
    };
    let newest_first = || used.iter().rev().map(|number| (*number, 0));
    let mut learnt = Learnt::default();
    if let Some(image) = image {
        // What came after the image goes first, so that nothing is found that was removed or replaced since.
        let tail = newest_first().map(|(number, _)| (number, image.tail(engine, number)));
        let tail = tail.filter(|(_, from)| *from < engine.geometry.segment());
        learn(
            engine,
            &mut learnt,
            &tail.collect::<Vec<_>>(),
            Reading::Tail(image.lsn()),
        );
        if !restore(engine, &image) {
            count(&engine.counters.images_failed);
            learn(
                engine,
                &mut learnt,
                &newest_first().collect::<Vec<_>>(),
                Reading::All,
            );
        }
    } else if !attached {
        learn(
            engine,
            &mut learnt,
            &newest_first().collect::<Vec<_>>(),
            Reading::All,
        );
    }
    if engine.log().run == Run::On {
        serve(engine);
    }
}

/// Reads the tables of these segments, of the chunks that begin at the offset or later, and takes them into the index.
fn learn(engine: &Engine, learnt: &mut Learnt, segments: &[(u32, u32)], reading: Reading) {
    if reading == Reading::All {
        reserve(engine, segments);
    }
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (send, tables) = sync_channel(READ_AHEAD);
        for _ in 0..READERS.min(segments.len()) {
            let (next, send) = (&next, send.clone());
            scope.spawn(move || read(engine, segments, next, &send));
        }
        drop(send);
        for tables in tables {
            if engine.log().run != Run::On {
                return;
            }
            take(engine, learnt, &tables, reading);
        }
    });
}

/// What a reading thread does.
fn read(engine: &Engine, segments: &[(u32, u32)], next: &AtomicUsize, send: &SyncSender<Tables>) {
    while let Some((number, from)) = segments.get(next.fetch_add(1, Relaxed)) {
        // Nobody takes them where the volume is being closed.
        if send.send(Tables::read(engine, *number, *from)).is_err() {
            return;
        }
    }
}

/// Makes the index large enough at once for what these segments hold, as far as some of them tell: grown step by step it
/// moves each place nine times, which is most of what recovery would cost.
fn reserve(engine: &Engine, segments: &[(u32, u32)]) {
    let some = segments
        .iter()
        .step_by(segments.len().div_ceil(SAMPLES).max(1));
    let (mut records, mut sampled) = (0, 0);
    for (number, from) in some {
        let tables = Tables::read(engine, *number, *from);
        let entries = tables.chunks.iter().flat_map(|(_, entries)| entries);
        records += entries.filter(|entry| is_record(entry)).count();
        sampled += 1;
    }
    let expected = records.saturating_mul(segments.len()) / sampled.max(1);
    engine.index.reserve(expected);
}

fn is_record(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::Whole | Kind::Extents)
}

/// Takes what the tables of a segment say into the index.
fn take(engine: &Engine, learnt: &mut Learnt, tables: &Tables, reading: Reading) {
    for (head, entries) in &tables.chunks {
        let mut log = engine.log();
        if !log.is_void(tables.born) {
            take_chunk(
                engine,
                &mut log,
                learnt,
                (tables.number, head),
                entries,
                reading,
            );
        }
    }
    let log = engine.log();
    if !log.is_void(tables.born) {
        engine.segments.set_written(tables.number, tables.end);
    }
    drop(log);
    count(&engine.counters.segments_recovered);
}

/// Under the lock of the log, as nothing is to be stored or removed meanwhile.
fn take_chunk(
    engine: &Engine,
    log: &mut Log,
    learnt: &mut Learnt,
    (number, head): (u32, &ChunkHead),
    entries: &[Entry],
    reading: Reading,
) {
    let index = &engine.index;
    let mut met = engine.met();
    let counts = |entry: &&Entry| {
        entry.kind == Kind::Tombstone
            && !matches!(reading, Reading::Tail(marked) if entry.lsn < marked)
    };
    for entry in entries.iter().filter(counts) {
        meet(&mut met, index.known_of(entry.hash), entry.lsn);
    }
    let records = || entries.iter().filter(|entry| is_record(entry));
    learnt.add((number, head.at), records(), &engine.geometry);
    let mut findings = Vec::with_capacity(entries.len());
    for entry in records() {
        // Most volumes have next to no tombstones.
        if !met.is_empty() {
            let known = index.known_of(entry.hash);
            if met.get(&known).is_some_and(|newest| *newest >= entry.lsn) {
                continue;
            }
        }
        if reading != Reading::All {
            meet(&mut met, index.known_of(entry.hash), entry.lsn);
        }
        findings.push(Finding {
            hash: entry.hash,
            place: Place {
                granule: engine.geometry.granule_at(number, head.at + entry.at),
                size: SizeCode::of_bytes(entry.bytes),
            },
            uses: match entry.frequency {
                0 => Uses::default(),
                frequency => Uses::new(u32::from(frequency), 0),
            },
        });
    }
    let number_of = |place| learnt.number_of(place, &engine.geometry);
    let outlived = RefCell::new(Vec::new());
    // What has no number was stored meanwhile, or an image says that it is the newest.
    let dropped = index.recover(&findings, |there, finding| {
        let stays = number_of(there).is_none_or(|there| Some(there) >= number_of(finding.place));
        let (newest, other) = match stays {
            true => (there, finding.place),
            false => (finding.place, there),
        };
        if let Some(number) = number_of(newest)
            && number_of(other) < Some(number)
            && engine.born(other) > engine.born(newest)
        {
            outlived.borrow_mut().push((finding.hash, number - 1));
        }
        stays
    });
    // See `Replaced::Younger`; the tombstones of these may be lost.
    for (hash, number) in outlived.take() {
        engine.bury(log, hash, number);
    }
    engine.counters.index_drops.fetch_add(dropped, Relaxed);
    for entry in entries.iter().filter(counts) {
        for place in index.find(entry.hash) {
            if number_of(place).is_some_and(|number| number <= entry.lsn) {
                index.remove(entry.hash, place);
            }
        }
    }
}

fn meet(met: &mut Numbers, known: u64, lsn: u64) {
    let newest = met.entry(known).or_insert(lsn);
    *newest = lsn.max(*newest);
}

/// All there is can be found now. The next process may take the index over as it is, whenever this one ends.
fn serve(engine: &Engine) {
    let mut log = engine.log();
    log.phase = Phase::Serving;
    engine.note_recovered();
    *engine.met() = Numbers::default();
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
        // What was not written when a process was killed is in the index: what it removed or replaced may come back.
        if complete && self.index.closed() != self.index.lsn() {
            self.index.note_forgotten(self.log().number());
        }
        // Not before it is said again is it whole.
        self.index.set_lsn(0);
        complete
    }

    fn met(&self) -> MutexGuard<'_, Numbers> {
        lock(&self.met)
    }

    /// Has recovery pass over what is older of this key.
    pub(crate) fn pass_over(&self, log: &Log, hash: u64, lsn: u64) {
        if log.phase != Phase::Serving {
            self.met().insert(self.index.known_of(hash), lsn);
        }
    }

    /// Whether something newer than the image was met of what the index knows so much of.
    pub(crate) fn has_met(&self, known: u64) -> bool {
        self.met().contains_key(&known)
    }
}

/// Finds out which segments are in use; returns them, the oldest first.
fn segments(engine: &Engine) -> Option<Vec<u32>> {
    let watermark = engine.superblock().watermark;
    let mut used = BTreeMap::new();
    let mut free = VecDeque::new();
    for (number, born) in (0..).zip(births(engine)?) {
        match born.filter(|born| *born >= watermark) {
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

/// The number under which each segment was begun last; `None` if the volume is closed meanwhile.
fn births(engine: &Engine) -> Option<Vec<Option<u64>>> {
    let segments = engine.geometry.segments;
    let share = segments.div_ceil(u32::try_from(READERS).unwrap_or(1));
    let births = thread::scope(|scope| {
        let readers: Vec<_> = (0..segments)
            .step_by(share as usize)
            .map(|from| {
                scope.spawn(move || {
                    let on = |_: &u32| engine.log().run == Run::On;
                    let numbers = (from..segments.min(from + share)).take_while(on);
                    let walk = engine.walk();
                    numbers.map(|number| walk.born(number)).collect::<Vec<_>>()
                })
            })
            .collect();
        let read = readers.into_iter().map(|reader| reader.join());
        // A thread that panicked is a bug that its message has told of; nothing is known then.
        read.collect::<Result<Vec<_>, _>>().ok()
    })?;
    let births = births.concat();
    (births.len() == segments as usize).then_some(births)
}
