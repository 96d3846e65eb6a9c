//! What all threads of a volume share, and what puts records into it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

use super::device::Device;
use super::format::{Draft, Superblock};
use super::geometry::Geometry;
use super::index::{Index, Inserted, Place};
use super::log::{Log, NoRoom, Phase, Run, Stream};
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
    /// The disk failed.
    #[error("the volume is out of service")]
    OutOfService,
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
    pub(crate) segments: Segments,
    log: Mutex<Log>,
    /// There may be something to write.
    pub(crate) work: Condvar,
    /// Something was written, or became free.
    pub(crate) progress: Condvar,
    /// There may be something to reclaim.
    pub(crate) scarce: Condvar,
    pub(crate) reads: Reads,
    pub(crate) counters: Counters,
    failures: AtomicU32,
    down: AtomicBool,
}

impl Engine {
    pub(crate) fn new(
        options: VolumeOptions,
        device: Device,
        superblock: Superblock,
    ) -> io::Result<Self> {
        let geometry = superblock.geometry;
        let first_lsn = superblock.epoch << 40;
        let mark = superblock.mark();
        let slots = |object_bytes| {
            usize::try_from(geometry.log_bytes() / object_bytes).unwrap_or(usize::MAX)
        };
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
            index: Index::new(slots(OBJECT_BYTES_USUAL), slots(OBJECT_BYTES_SMALL))?,
            segments: Segments::new(geometry.segments),
            work: Condvar::new(),
            progress: Condvar::new(),
            scarce: Condvar::new(),
            reads: Reads::default(),
            counters: Counters::default(),
            failures: AtomicU32::new(0),
            down: AtomicBool::new(false),
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

    pub(crate) fn is_down(&self) -> bool {
        self.down.load(Relaxed)
    }

    pub(crate) fn take_down(&self) {
        self.down.store(true, Relaxed);
    }

    /// Takes note of how an access to the disk ended.
    pub(crate) fn note<T>(&self, result: io::Result<T>) -> Option<T> {
        match result {
            Ok(value) => {
                if self.failures.load(Relaxed) > 0 {
                    self.failures.store(0, Relaxed);
                }
                Some(value)
            }
            // A full disk is no failure of it: the volume becomes smaller.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => None,
            Err(_) => {
                if self.failures.fetch_add(1, Relaxed) + 1 >= FAILURES_MAX {
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
    pub(crate) fn store(&self, draft: &Draft<'_>) -> Result<Place, Refused> {
        let result = self.try_store(draft);
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
            Refused::Opening | Refused::OutOfService => &self.counters.refused_closed,
        });
    }

    fn try_store(&self, draft: &Draft<'_>) -> Result<Place, Refused> {
        if self.is_down() {
            return Err(Refused::OutOfService);
        }
        let mut log = self.log();
        let lsn = log.number();
        let place = self.append(&mut log, Stream::New, draft, lsn)?;
        self.meet(&mut log, draft.hash(), lsn);
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
    ) -> Result<Place, Refused> {
        let sealed = log.sealed_count();
        let free = log.free_count();
        let result = log.append(&self.segments, stream, draft, lsn, 0);
        if log.sealed_count() > sealed {
            self.work.notify_one();
        }
        if log.free_count() < free || result == Err(NoRoom::Segments) {
            self.scarce.notify_one();
        }
        Ok(result?)
    }

    /// Has recovery pass over what is older of this key.
    fn meet(&self, log: &mut Log, hash: u64, lsn: u64) {
        if log.phase != Phase::Serving {
            log.seen.insert(hash, lsn);
        }
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
        if !replaced && let Inserted::Dropped(_) = self.index.insert(hash, place) {
            count(&self.counters.index_drops);
        }
    }

    /// Makes sure that nothing is found under this hash, now or after a crash.
    pub(crate) fn remove(&self, hash: u64) -> bool {
        let mut log = self.log();
        let mut removed = false;
        for place in self.index.find(hash) {
            removed |= self.index.remove(hash, place);
        }
        // What the index doesn't know can't come back, unless it had to drop some that are still in the log.
        let all_known = log.phase == Phase::Serving && self.counters.index_drops.load(Relaxed) == 0;
        if !removed && all_known {
            return false;
        }
        let lsn = log.number();
        self.meet(&mut log, hash, lsn);
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
        let written = self.append(log, Stream::Again, &tombstone, lsn).is_ok();
        if !written && !log.owe(hash, lsn) {
            count(&self.counters.tombstones_lost);
        }
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
        let unpaid = |log: &mut Log| log.run == Run::On && !self.pay(log);
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
            target.is_none_or(|target| log.written_total() < target) && log.run == Run::On
        });
        let (log, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        log.run == Run::On && !timeout.timed_out()
    }
}
