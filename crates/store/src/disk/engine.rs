//! What all threads of a volume share.

use std::io;
use std::time::Duration;

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

use super::buffers::Buffers;
use super::device::Device;
use super::format::{EPOCH_SHIFT, HEAD, Superblock};
use super::geometry::Geometry;
use super::index::{Index, Origin, Place};
use super::log::{Log, Numbers, Run};
use super::options::VolumeOptions;
use super::reads::Reads;
use super::segments::Segments;
use super::usage::Counters;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, lock, sleep};
use crate::usage::count;

/// So many failures of the disk with no success between them, and the volume goes out of service.
const FAILURES_MAX: u32 = 16;
/// The index begins with room for objects of this size, which is what Squid expects of them (`store_avg_object_size`).
const OBJECT_BYTES_USUAL: u64 = 13 << 10;
/// It never grows beyond what objects of this size need.
const OBJECT_BYTES_SMALL: u64 = 512;

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
    /// What recovery passes over: of keys that were removed, or stored meanwhile, the highest number.
    pub(crate) met: Mutex<Numbers>,
    /// Held while a checkpoint is taken.
    pub(crate) imaging: Mutex<()>,
    /// Held while the reclaimer works.
    pub(crate) reclaiming: Mutex<()>,
    /// There may be something to write.
    pub(crate) work: Condvar,
    /// Something was written, or became free.
    pub(crate) progress: Condvar,
    /// There may be something to reclaim.
    pub(crate) scarce: Condvar,
    pub(crate) reads: Reads,
    /// For fragments of large bodies.
    pub(crate) buffers: Arc<Buffers>,
    pub(crate) counters: Counters,
    now_secs: AtomicU32,
    /// Reads, writes, and waits for the disk to have what was written, that failed since one went well. Each alone: a disk
    /// may take what it can't keep.
    reading: AtomicU32,
    writing: AtomicU32,
    syncing: AtomicU32,
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
        let first_lsn = superblock.epoch << EPOCH_SHIFT;
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
        index.note_log(&options.log_path());
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
            reclaiming: Mutex::new(()),
            work: Condvar::new(),
            progress: Condvar::new(),
            scarce: Condvar::new(),
            reads: Reads::default(),
            buffers: Buffers::new(HEAD + geometry.fragment_bytes() as usize),
            counters: Counters::default(),
            now_secs: AtomicU32::new(0),
            reading: AtomicU32::new(0),
            writing: AtomicU32::new(0),
            syncing: AtomicU32::new(0),
            down: AtomicBool::new(false),
            recovered: AtomicBool::new(false),
        })
    }

    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        rapidhash_v3_seeded(key, &self.secrets)
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        lock(&self.log)
    }

    /// Does nothing for so long, unless the volume ends.
    pub(crate) fn rest(&self, time: Duration) {
        if cfg!(all(test, shuttle)) {
            // No time passes there, so this would last for ever.
            sleep(time);
        } else if !time.is_zero() {
            let on = |log: &mut Log| log.run == Run::On;
            drop(self.progress.wait_timeout_while(self.log(), time, on));
        }
    }

    pub(crate) fn superblock(&self) -> Superblock {
        *lock(&self.superblock)
    }

    /// Changes the superblock, and waits until the disk has it with all that was written before.
    pub(crate) fn write_superblock(&self, change: impl FnOnce(&mut Superblock)) -> io::Result<()> {
        let mut superblock = lock(&self.superblock);
        let mut next = *superblock;
        change(&mut next);
        next.sequence += 1;
        self.device.sync()?;
        next.write(&self.device)?;
        *superblock = next;
        Ok(())
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
        !self.is_down() && (!self.is_recovered() || !self.index.find(hash).is_empty())
    }

    pub(crate) fn is_recovered(&self) -> bool {
        self.recovered.load(Relaxed)
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

    /// Takes note of how the writing of the superblock ended, which waits for the disk.
    pub(crate) fn note_sync<T>(&self, result: io::Result<T>) -> Option<T> {
        if result.is_err() {
            count(&self.counters.write_errors);
        }
        self.note(&self.syncing, result)
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

    /// The number that the segment of a place was begun under.
    pub(crate) fn born(&self, place: Place) -> u64 {
        let located = self.geometry.locate(place.granule);
        located.map_or(0, |(segment, _)| self.segments.born(segment))
    }

    pub(crate) fn count_read(&self, bytes: usize) {
        self.counters.bytes_read.fetch_add(bytes as u64, Relaxed);
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
}
