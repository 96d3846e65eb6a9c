//! What all threads of a volume share, and what puts records into it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

use super::device::Device;
use super::format::{Draft, HEAD, Superblock};
use super::geometry::Geometry;
use super::index::{Index, Inserted, Origin, Place};
use super::log::{Log, NoRoom, Numbers, Run, Stream};
use super::options::VolumeOptions;
use super::reads::Reads;
use super::segments::Segments;
use super::usage::Counters;
use crate::usage::count;

/// So many failures of the disk with no success between them, and the volume goes out of service.
const FAILURES_MAX: u32 = 16;
/// The index begins with room for objects of this size, which is what Squid expects of them (`store_avg_object_size`).
const OBJECT_BYTES_USUAL: u64 = 13 << 10;
/// It never grows beyond what objects of this size need.
const OBJECT_BYTES_SMALL: u64 = 512;

/// Why something wasn't stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is larger or smaller than what the volume takes.
    #[error("its size is not one that the volume takes")]
    Size,
    /// As much as may be waits to be written.
    #[error("too much waits to be written")]
    Busy,
    /// No segment is free: the reclaimer doesn't keep up, or all are being read.
    #[error("no segment is free")]
    Full,
    /// The volume has only just been opened, and doesn't know yet where it may write.
    #[error("the volume is being opened")]
    Opening,
    /// What was to be renewed has been removed, or has made room for others.
    #[error("it is not stored any more")]
    Gone,
    /// The disk failed.
    #[error("the volume is out of service")]
    OutOfService,
}

/// What a record is stored for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// To be found from now on.
    Stored,
    /// To take the place of what is stored already.
    Renewed,
}

impl From<NoRoom> for Refused {
    fn from(no_room: NoRoom) -> Self {
        match no_room {
            NoRoom::Opening => Self::Opening,
            NoRoom::Buffers => Self::Busy,
            NoRoom::Segments => Self::Full,
        }
    }
}

/// What all threads of a volume share.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) options: VolumeOptions,
    pub(crate) device: Device,
    pub(crate) geometry: Geometry,
    pub(crate) mark: u64,
    secrets: RapidSecrets,
    superblock: Mutex<Superblock>,
    pub(crate) index: Index,
    pub(crate) origin: Origin,
    pub(crate) segments: Segments,
    log: Mutex<Log>,
    /// What recovery passes over: of each key that it met in the log, or that was stored or removed meanwhile, the
    /// highest number.
    pub(crate) met: Mutex<Numbers>,
    /// Held while a checkpoint is taken.
    pub(crate) imaging: Mutex<()>,
    /// There may be something to write.
    pub(crate) work: Condvar,
    /// Something was written, or became free.
    pub(crate) progress: Condvar,
    /// There may be something to reclaim.
    pub(crate) scarce: Condvar,
    pub(crate) reads: Reads,
    pub(crate) counters: Counters,
    now_secs: AtomicU32,
    /// Reads, and writes, that failed since one went well.
    reading: AtomicU32,
    writing: AtomicU32,
    down: AtomicBool,
    /// Recovery has come to its end.
    recovered: AtomicBool,
}

impl Engine {
    pub(crate) fn new(
        options: VolumeOptions,
        device: Device,
        superblock: Superblock,
    ) -> io::Result<Self> {
        let geometry = superblock.geometry;
        let first_lsn = superblock.epoch << 40;
        let mark = superblock.chunk_mark();
        let slots = |object_bytes| {
            usize::try_from(geometry.log_bytes() / object_bytes).unwrap_or(usize::MAX)
        };
        let (index, origin) = Index::open(
            options.index_path(&superblock.uuid).as_deref(),
            &superblock.uuid,
            slots(OBJECT_BYTES_USUAL),
            slots(OBJECT_BYTES_SMALL),
        )?;
        Ok(Self {
            log: Mutex::new(Log::new(
                geometry,
                mark,
                first_lsn,
                options.full_buffers_max,
            )),
            options,
            device,
            geometry,
            mark,
            secrets: RapidSecrets::seed(superblock.secret),
            superblock: Mutex::new(superblock),
            index,
            origin,
            segments: Segments::new(geometry.segments),
            met: Mutex::default(),
            imaging: Mutex::new(()),
            work: Condvar::new(),
            progress: Condvar::new(),
            scarce: Condvar::new(),
            reads: Reads::default(),
            counters: Counters::default(),
            now_secs: AtomicU32::new(0),
            reading: AtomicU32::new(0),
            writing: AtomicU32::new(0),
            down: AtomicBool::new(false),
            recovered: AtomicBool::new(false),
        })
    }

    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        rapidhash_v3_seeded(key, &self.secrets)
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn superblock(&self) -> Superblock {
        *self
            .superblock
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the superblock, and waits until the disk has it with all that was written before.
    pub(crate) fn write_superblock(&self, change: impl FnOnce(&mut Superblock)) -> io::Result<()> {
        let mut superblock = self
            .superblock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut next = *superblock;
        change(&mut next);
        next.sequence += 1;
        self.device.sync()?;
        next.write(&self.device)?;
        *superblock = next;
        Ok(())
    }

    /// The log, once there is room for a chunk to be sealed in; or at its end.
    pub(crate) fn log_with_room(&self) -> MutexGuard<'_, Log> {
        let waited = self
            .progress
            .wait_while(self.log(), |log| log.is_full() && log.run != Run::Stop);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest time that anybody has told of.
    pub(crate) fn now_secs(&self) -> u32 {
        self.now_secs.load(Relaxed)
    }

    /// Tells the time. Written once a second, not with every hit.
    pub(crate) fn tell(&self, now_secs: u32) {
        if self.now_secs.load(Relaxed) < now_secs {
            self.now_secs.store(now_secs, Relaxed);
        }
    }

    pub(crate) fn is_down(&self) -> bool {
        self.down.load(Relaxed)
    }

    /// Could something be found under this hash?
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        let known = self.recovered.load(Relaxed);
        !self.is_down() && (!known || !self.index.find(hash).is_empty())
    }

    pub(crate) fn note_recovered(&self) {
        self.recovered.store(true, Relaxed);
    }

    pub(crate) fn take_down(&self) {
        self.down.store(true, Relaxed);
    }

    /// Takes note of how a read ended.
    pub(crate) fn note_read<T>(&self, result: io::Result<T>) -> Option<T> {
        if result.is_err() {
            count(&self.counters.read_errors);
        }
        self.note(&self.reading, result)
    }

    /// Takes note of how a write ended.
    pub(crate) fn note_write<T>(&self, result: io::Result<T>) -> Option<T> {
        if result.is_err() {
            count(&self.counters.write_errors);
        }
        self.note(&self.writing, result)
    }

    fn note<T>(&self, failures: &AtomicU32, result: io::Result<T>) -> Option<T> {
        match result {
            Ok(value) => {
                if failures.load(Relaxed) > 0 {
                    failures.store(0, Relaxed);
                }
                Some(value)
            }
            // A full disk is no failure of it: the volume becomes smaller.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => None,
            Err(_) => {
                if failures.fetch_add(1, Relaxed) + 1 >= FAILURES_MAX {
                    self.take_down();
                }
                None
            }
        }
    }

    pub(crate) fn count_read(&self, bytes: usize) {
        self.counters.bytes_read.fetch_add(bytes as u64, Relaxed);
    }

    /// Adds a record that is to be found under its hash, in the place of what was there.
    pub(crate) fn store(&self, draft: &Draft<'_>, aim: Aim) -> Result<Place, Refused> {
        let result = self.try_store(draft, aim);
        match result {
            Ok(_) => count(&self.counters.puts),
            Err(refused) => self.count_refused(refused),
        }
        result
    }

    pub(crate) fn count_refused(&self, refused: Refused) {
        count(match refused {
            Refused::Size => &self.counters.refused_size,
            Refused::Busy => &self.counters.refused_busy,
            Refused::Full => &self.counters.refused_full,
            Refused::Gone => &self.counters.refused_gone,
            Refused::Opening | Refused::OutOfService => &self.counters.refused_closed,
        });
    }

    pub(crate) fn try_store(&self, draft: &Draft<'_>, aim: Aim) -> Result<Place, Refused> {
        if self.is_down() {
            return Err(Refused::OutOfService);
        }
        let mut log = self.log();
        // Under the lock: what was removed before doesn't come back.
        if aim == Aim::Renewed && self.index.find(draft.hash()).is_empty() {
            return Err(Refused::Gone);
        }
        let lsn = log.number();
        let place = self.append(&mut log, Stream::New, draft, lsn, 0)?;
        self.pass_over(&log, draft.hash(), lsn);
        self.index_only(draft.hash(), place);
        Ok(place)
    }

    /// Appends a record; if there is no room, has some made.
    pub(crate) fn append(
        &self,
        log: &mut Log,
        stream: Stream,
        draft: &Draft<'_>,
        lsn: u64,
        frequency: u8,
    ) -> Result<Place, Refused> {
        let sealed = log.sealed_count();
        let free = log.free_count();
        let result = log.append(&self.segments, stream, draft, lsn, frequency);
        if log.sealed_count() > sealed {
            self.work.notify_one();
        }
        if log.free_count() < free || result == Err(NoRoom::Segments) {
            self.scarce.notify_one();
        }
        Ok(result?)
    }

    /// Makes `place` the only one of this hash. Two keys share one once in a million; then the older is lost.
    pub(crate) fn index_only(&self, hash: u64, place: Place) {
        let mut replaced = false;
        for old in self.index.find(hash) {
            if replaced {
                self.index.remove(hash, old);
            } else {
                replaced = self.index.replace(hash, old, place);
            }
        }
        if !replaced {
            self.index_new(hash, place);
        }
    }

    /// Adds `place`, where nothing is known of this hash.
    pub(crate) fn index_new(&self, hash: u64, place: Place) {
        if let Inserted::Dropped(_) = self.index.insert(hash, place) {
            count(&self.counters.index_drops);
        }
    }

    /// Makes sure that nothing is found under this hash, now or after a crash.
    pub(crate) fn remove(&self, hash: u64) -> bool {
        let mut log = self.log();
        let lsn = log.number();
        self.pass_over(&log, hash, lsn);
        let mut removed = false;
        for place in self.index.find(hash) {
            removed |= self.index.remove(hash, place);
        }
        // What the index doesn't know can't come back, unless it had to drop some that are still in the log.
        let all_known =
            self.recovered.load(Relaxed) && self.counters.index_drops.load(Relaxed) == 0;
        if !removed && all_known {
            return false;
        }
        self.bury(&mut log, hash, lsn);
        log.hurry();
        self.work.notify_one();
        drop(log);
        count(&self.counters.removes);
        removed
    }

    /// Writes down that nothing below this number is to be found under a hash; when there is room, if there is none.
    pub(crate) fn bury(&self, log: &mut Log, hash: u64, lsn: u64) {
        let tombstone = Draft::tombstone(hash);
        let written = self.append(log, Stream::Again, &tombstone, lsn, 0).is_ok();
        if !written && !log.owe(hash, lsn) {
            count(&self.counters.tombstones_lost);
        }
    }

    /// Has `waker` woken when there may be room; `false` if there never will be.
    pub(crate) fn wait_for_room(&self, waker: &Waker) -> bool {
        let mut log = self.log();
        let ever = log.run != Run::Stop && !self.is_down();
        if ever && log.has_room() {
            // It came since the caller was refused, and may be the last that comes.
            waker.wake_by_ref();
        } else if ever {
            log.wait(waker);
        }
        ever
    }

    /// Whether a record of a fragment of so many bytes can be read, in memory or in the file.
    pub(crate) fn is_there(&self, segment: u32, within: u32, bytes: u32) -> bool {
        let written = self.segments.written(segment);
        let end = u64::from(within) + HEAD as u64 + u64::from(bytes);
        end <= u64::from(written)
            || self.log().buffered(segment, within, 1).is_some()
            || end <= u64::from(self.segments.written(segment))
    }

    /// Somebody has read a large body to its end: its segments may be what the reclaimer waits for.
    pub(crate) fn unpinned(&self) {
        self.scarce.notify_one();
    }

    /// Writes the tombstones for which there was no room; `false` if there still is none.
    pub(crate) fn pay(&self, log: &mut Log) -> bool {
        let owed = log.owed();
        for (hash, lsn) in owed {
            self.bury(log, hash, lsn);
        }
        log.owes_nothing()
    }

    /// Waits until all that was added before is in the file, or lost. `false` if that takes longer than `most`.
    pub(crate) fn flush(&self, most: Duration) -> bool {
        let log = self.log();
        let unpaid = |log: &mut Log| log.run != Run::Stop && !self.pay(log);
        let waited = self.progress.wait_timeout_while(log, most, unpaid);
        let (log, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(log);
        !timeout.timed_out() && self.write_out(most)
    }

    /// The same, but for the tombstones for which there is no room.
    pub(crate) fn write_out(&self, most: Duration) -> bool {
        let log = self.log();
        let mut target = None;
        let waited = self.progress.wait_timeout_while(log, most, |log| {
            if target.is_none() {
                target = log.seal_all().ok();
                self.work.notify_one();
            }
            target.is_none_or(|target| log.written_total() < target) && log.run != Run::Stop
        });
        let (log, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        log.run != Run::Stop && !timeout.timed_out()
    }
}
