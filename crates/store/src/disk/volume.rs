//! A volume as its owner sees it.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Waker;
use std::time::Duration;

use smallvec::SmallVec;

use super::add::{Aim, Refused};
use super::device::Device;
use super::engine::Engine;
use super::find::{Found, Stored, StoredBody};
use super::format::{Draft, Kind, Mark, Stamps, Superblock};
use super::geometry::Geometry;
use super::index::Origin;
use super::large::{Extents, Writing};
use super::log::{Phase, Run};
use super::options::VolumeOptions;
use super::ring::Ring;
use super::usage::{VolumeState, VolumeUsage};
use super::{checkpoint, reads, reclaim, writer};
use crate::sync::mpsc::sync_channel;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Mutex, lock};

/// How long [`Volume::flush`] waits for the disk.
const FLUSH_MAX: Duration = Duration::from_secs(10);
/// How long [`Volume::close`] waits, for an image of the index too; and for a disk that failed. What still waits for the
/// disk then is left to its threads, if it ever comes back.
const CLOSE_MAX: Duration = Duration::from_secs(30);
const CLOSE_FAILED_MAX: Duration = Duration::from_secs(1);

/// A log of stored responses on a disk, with an index in memory.
#[derive(Debug)]
pub struct Volume {
    engine: Arc<Engine>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Volume {
    /// Makes an empty volume; what lay in its place is gone. Makes the directory too, if there is nothing at the path.
    ///
    /// # Errors
    /// If the size is too small for a volume, another process has it open, or the disk fails.
    pub fn create(options: &VolumeOptions) -> io::Result<()> {
        if !options.path.exists() {
            std::fs::create_dir_all(&options.path)?;
        }
        let device = Device::open(&options.log_path(), true)?;
        let bytes = options.bytes.min(device.capacity()?.unwrap_or(u64::MAX));
        let geometry = Geometry::for_bytes(bytes).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the volume is too small")
        })?;
        if let Some(old) = Superblock::read(&device)?
            && let Some(index) = options.index_path(&old.uuid)
        {
            // It may never have been there.
            drop(std::fs::remove_file(index));
        }
        device.empty()?;
        let mut random = [0; 24];
        random_bytes(&mut random)?;
        let (uuid, secret) = random
            .split_last_chunk()
            .map_or(([0; 16], 0), |(first, last)| {
                let uuid = first.first_chunk().copied().unwrap_or_default();
                (uuid, u64::from_le_bytes(*last))
            });
        // Keys that the index can't tell apart are rare, and would fail some test or other now and then.
        #[cfg(test)]
        let secret = secret.min(0x5eed);
        let mut superblock = Superblock {
            sequence: 0,
            geometry,
            uuid,
            secret,
            epoch: 0,
            watermark: 0,
            image: Mark::default(),
        };
        // Both copies, so that nothing of an older volume is left.
        for _ in 0..2 {
            superblock.sequence += 1;
            superblock.write(&device)?;
        }
        Ok(())
    }

    /// Opens a volume. It serves and stores at once; what it holds can be found bit by bit, as recovery comes to it.
    ///
    /// # Errors
    /// `NotFound` where there is none, `InvalidData` where it can't be read as one; if another process has it open; if the
    /// disk fails.
    pub fn open(options: VolumeOptions) -> io::Result<Arc<Self>> {
        let device = Device::open(&options.log_path(), false)?;
        let mut superblock = Superblock::read(&device)?.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "no volume is in the file")
        })?;
        let bytes = options.bytes.min(device.capacity()?.unwrap_or(u64::MAX));
        superblock.geometry = superblock.geometry.resized(bytes);
        superblock.epoch += 1;
        superblock.sequence += 1;
        superblock.write(&device)?;
        let engine = Arc::new(Engine::new(options, device, superblock)?);
        let threads = Mutex::new(start(&engine)?);
        Ok(Arc::new(Self { engine, threads }))
    }

    /// Stores a whole response, in the place of what was stored under `key`. It can be found at once, and is on its way to
    /// the disk within a second.
    ///
    /// # Errors
    /// See [`Refused`]. What was stored under the key before stays then.
    pub fn put<B: AsRef<[u8]>>(
        &self,
        key: &[u8],
        meta: &[u8],
        body: &[B],
        stamps: Stamps,
    ) -> Result<(), Refused> {
        let body: SmallVec<[&[u8]; 4]> = body.iter().map(AsRef::as_ref).collect();
        let hash = self.engine.hash(key);
        let draft = Draft::new(Kind::Whole, hash, key, meta, body, stamps);
        self.put_record(&draft, Aim::Stored)
    }

    fn put_record(&self, draft: &Draft<'_>, aim: Aim) -> Result<(), Refused> {
        if draft.bytes() <= self.engine.geometry.record_bytes_max() {
            return self.engine.store(draft, aim).map(|_| ());
        }
        self.engine.count_refused(Refused::Size);
        Err(Refused::Size)
    }

    /// Begins to store a response that is too large for [`Volume::put`], or whose length isn't known yet.
    ///
    /// # Errors
    /// If its length is one that isn't stored, or the disk failed.
    pub fn begin(&self, key: &[u8], length: Option<u64>) -> Result<Writing, Refused> {
        self.engine.begin(key, length)
    }

    /// Whether a body of so many bytes is one that the volume is for, and its disk works. Whoever stores asks before.
    #[must_use]
    pub fn takes(&self, bytes: Option<u64>) -> bool {
        let options = &self.engine.options;
        let (least, most) = (options.object_bytes_min, options.object_bytes_max);
        let fits = match bytes {
            Some(bytes) => (least..=most).contains(&bytes),
            None => least <= most,
        };
        fits && !self.engine.is_down()
    }

    /// Whether it knows already where it may write.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.engine.log().phase != Phase::Opening
    }

    /// Whether something may be stored under `key`. It looks into the index only, and says yes while that isn't whole.
    #[must_use]
    pub fn may_have(&self, key: &[u8]) -> bool {
        self.engine.may_have(self.engine.hash(key))
    }

    /// Whether something is known to be stored under `key`: as [`Volume::may_have`], but no while the index isn't whole.
    #[must_use]
    pub fn has(&self, key: &[u8]) -> bool {
        !self.engine.is_down() && !self.engine.index.find(self.engine.hash(key)).is_empty()
    }

    /// Has `waker` woken when more may be stored, after [`Refused::Busy`] and the like; false if it may not be soon.
    #[must_use]
    pub fn wait_for_room(&self, waker: &Waker) -> bool {
        self.engine.wait_for_room(waker)
    }

    /// How much waits to be written or read, and then how many thousandths of it are in use: to compare volumes by.
    #[must_use]
    pub fn load(&self) -> (usize, usize) {
        let log = self.engine.log();
        let (sealed, free) = (log.sealed_count(), log.free_count());
        drop(log);
        let segments = self.engine.geometry.segments as usize;
        let used = segments.saturating_sub(free) * 1000 / segments.max(1);
        (sealed + self.engine.reads.queued(), used)
    }

    /// Its path, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.engine.options.path
    }

    /// Bytes of key, meta and body that [`Volume::put`] takes; for more there is [`Volume::begin`].
    #[must_use]
    pub fn whole_bytes_max(&self) -> usize {
        self.engine.geometry.record_bytes_max() - super::format::HEAD
    }

    /// What is stored under `key`; counts as a use of it. `ring`: that of this thread, if it has one, for what has to wait
    /// for the disk.
    #[must_use]
    pub fn find(&self, key: &[u8], now_secs: u32, ring: Option<&Ring>) -> Found {
        self.engine.find(key, now_secs, ring)
    }

    /// Counts a use of what is stored under `key`, which was found elsewhere.
    pub fn used(&self, key: &[u8]) {
        let (hash, now_secs) = (self.engine.hash(key), self.engine.now_secs());
        for place in self.engine.index.find(hash) {
            self.engine.index.used(hash, place, now_secs);
        }
    }

    /// Stores `stored` anew, with another meta and other stamps: after a validation.
    ///
    /// # Errors
    /// [`Refused::Gone`] if it was removed meanwhile; others as with [`Volume::put`]. What is stored stays then.
    pub fn update(&self, stored: &Stored, meta: &[u8], stamps: Stamps) -> Result<(), Refused> {
        let list;
        let (kind, body) = match &stored.body {
            StoredBody::Whole(body) => (Kind::Whole, body.as_ref()),
            StoredBody::Extents(extents) => {
                list = extents.list().encode();
                (Kind::Extents, list.as_slice())
            }
        };
        let (hash, body) = (self.engine.hash(&stored.key), SmallVec::from_slice(&[body]));
        let draft = Draft::new(kind, hash, &stored.key, meta, body, stamps);
        self.put_record(&draft, Aim::Renewed)
    }

    /// Whether it is a body of this volume.
    #[must_use]
    pub fn holds(&self, extents: &Extents) -> bool {
        extents.is_in(&self.engine)
    }

    /// Removes what is stored under `key`, for good: not even a crash brings it back, once the next chunk is written, which
    /// is at once. Returns whether something may have been there.
    pub fn remove(&self, key: &[u8]) -> bool {
        self.engine.remove(self.engine.hash(key))
    }

    /// Removes all there is.
    ///
    /// # Errors
    /// If the disk fails, or takes too long.
    pub fn clear(&self) -> io::Result<()> {
        self.flush()?;
        self.engine.clear()
    }

    /// Waits until all that was stored is in the file. Up to ten seconds.
    ///
    /// # Errors
    /// `TimedOut`.
    pub fn flush(&self) -> io::Result<()> {
        if self.engine.flush(FLUSH_MAX) {
            Ok(())
        } else {
            Err(io::ErrorKind::TimedOut.into())
        }
    }

    /// Writes all there is to write, and ends. The volume finds and stores nothing any more. Waits half a minute at most.
    ///
    /// # Errors
    /// If the disk fails, or takes too long.
    pub fn close(&self) -> io::Result<()> {
        let (engine, threads) = (Arc::clone(&self.engine), self.take_threads());
        // What has failed already isn't waited for.
        let patience = match engine.is_down() {
            true => CLOSE_FAILED_MAX,
            false => CLOSE_MAX,
        };
        let (tell, told) = sync_channel(1);
        // On a thread that a disk which hangs may keep: whoever closes goes on.
        let thread = thread::Builder::new().name("store-close".to_owned());
        thread.spawn(move || {
            let closed = close(&engine, threads);
            // Before anybody is told, and opens the volume again: it holds the lock of the index.
            drop(engine);
            tell.send(closed)
        })?;
        told.recv_timeout(patience).unwrap_or_else(|_| {
            self.engine.take_down();
            self.engine.end(Run::Stop);
            Err(io::ErrorKind::TimedOut.into())
        })
    }

    fn take_threads(&self) -> Vec<JoinHandle<()>> {
        let mut threads = lock(&self.threads);
        std::mem::take(&mut threads)
    }

    /// To be called every second: whoever waits for a disk that takes nothing any more goes on without it.
    pub fn tend(&self) {
        self.engine.wake_starved();
    }

    /// Where the memory of the index comes from: for the log, if it isn't as it should be.
    #[must_use]
    pub fn index_origin(&self) -> &Origin {
        &self.engine.origin
    }

    /// What the volume holds and has done.
    #[must_use]
    pub fn usage(&self) -> VolumeUsage {
        let engine = &self.engine;
        let log = engine.log();
        let segments_free = u32::try_from(log.free_count()).unwrap_or(u32::MAX);
        let state = match log.phase {
            _ if engine.is_down() => VolumeState::OutOfService,
            Phase::Opening | Phase::Recovering => VolumeState::Recovering,
            Phase::Serving => VolumeState::Serving,
        };
        let segments = engine.geometry.segments;
        let used = segments.saturating_sub(segments_free + log.retired_count());
        let usage = VolumeUsage {
            state,
            bytes_max: engine.geometry.log_bytes(),
            bytes: u64::from(used) << engine.geometry.segment_log2,
            segments,
            segments_free,
            segments_retired: log.retired_count(),
            chunks_queued: log.sealed_count(),
            ..VolumeUsage::default()
        };
        drop(log);
        let counters = &engine.counters;
        VolumeUsage {
            objects: engine.index.len() as u64,
            index_bytes: engine.index.bytes() as u64,
            reads_queued: engine.reads.queued(),
            segments_recovered: counters.segments_recovered.load(Relaxed),
            hits: counters.hits.load(Relaxed),
            hits_at_once: counters.hits_at_once.load(Relaxed),
            misses: counters.misses.load(Relaxed),
            puts: counters.puts.load(Relaxed),
            broken_off: counters.broken_off.load(Relaxed),
            removes: counters.removes.load(Relaxed),
            tombstones_lost: counters.tombstones_lost.load(Relaxed),
            reinserts: counters.reinserts.load(Relaxed),
            evictions: counters.evictions.load(Relaxed),
            index_drops: counters.index_drops.load(Relaxed),
            wrong: counters.wrong.load(Relaxed),
            lost: counters.lost.load(Relaxed),
            refused_size: counters.refused_size.load(Relaxed),
            refused_busy: counters.refused_busy.load(Relaxed),
            refused_full: counters.refused_full.load(Relaxed),
            refused_closed: counters.refused_closed.load(Relaxed),
            refused_gone: counters.refused_gone.load(Relaxed),
            reads_refused: counters.reads_refused.load(Relaxed),
            reads_by_rings: counters.reads_by_rings.load(Relaxed),
            reads_by_threads: counters.reads_by_threads.load(Relaxed),
            images: counters.images.load(Relaxed),
            images_failed: counters.images_failed.load(Relaxed),
            bytes_written: counters.bytes_written.load(Relaxed),
            bytes_read: counters.bytes_read.load(Relaxed),
            write_errors: counters.write_errors.load(Relaxed),
            read_errors: counters.read_errors.load(Relaxed),
            ..usage
        }
    }
}

#[cfg(test)]
impl Volume {
    /// Removes, and ends before that can be written.
    pub(super) fn remove_and_crash(&self, key: &[u8]) {
        let hash = self.engine.hash(key);
        self.engine.log().run = Run::Stop;
        self.engine.remove(hash);
    }

    /// Where faults of the disk can be set.
    pub(super) fn faults(&self) -> &super::tests::faults::Faults {
        &self.engine.device.faults
    }
}

impl Engine {
    fn end(&self, run: Run) {
        let mut log = self.log();
        log.run = run;
        // Who waits for room is told that there will be none.
        log.wake();
        drop(log);
        self.work.notify_all();
        self.scarce.notify_all();
        self.progress.notify_all();
    }

    /// Ends the threads, whatever is left to be written.
    fn stop(&self, threads: Vec<JoinHandle<()>>) {
        self.take_down();
        self.end(Run::Stop);
        self.reads.close();
        for thread in threads {
            // A thread that panicked is a bug that its message has told of.
            drop(thread.join());
        }
    }
}

fn close(engine: &Engine, threads: Vec<JoinHandle<()>>) -> io::Result<()> {
    let flush = || match engine.is_down() {
        true => Err(io::Error::other("its disk failed")),
        false if engine.flush(FLUSH_MAX) => Ok(()),
        false => Err(io::ErrorKind::TimedOut.into()),
    };
    // While all threads go on: for a tombstone there may be room only when it is known what is free.
    let flushed = flush();
    engine.end(Run::Closing);
    // What the reclaimer has moved is in the file then too.
    drop(lock(&engine.reclaiming));
    let flushed = flushed.and_then(|()| flush());
    let taken = flushed.and_then(|()| checkpoint::take_last(engine));
    engine.stop(threads);
    if taken.is_ok() && engine.log().is_written() {
        engine.index.set_closed(engine.superblock().epoch);
    }
    engine.device.unlock()?;
    taken
}

impl Drop for Volume {
    /// As a crash would: what wasn't written is lost.
    fn drop(&mut self) {
        self.engine.stop(self.take_threads());
        // If it can't be unlocked, the last reader of a large body does so by closing it.
        drop(self.engine.device.unlock());
    }
}

fn start(engine: &Arc<Engine>) -> io::Result<Vec<JoinHandle<()>>> {
    let mut threads = Vec::new();
    let mut spawn = |name: &str, run: fn(&Arc<Engine>)| {
        let engine = Arc::clone(engine);
        let thread = thread::Builder::new().name(name.to_owned());
        threads.push(thread.spawn(move || run(&engine))?);
        io::Result::Ok(())
    };
    spawn("store-write", |engine| writer::run(engine))?;
    spawn("store-reclaim", reclaim::run)?;
    spawn("store-image", |engine| checkpoint::run(engine))?;
    for _ in 0..engine.options.readers.max(1) {
        spawn("store-read", reads::run)?;
    }
    Ok(threads)
}

fn random_bytes(buf: &mut [u8]) -> io::Result<()> {
    let filled = rustix::rand::getrandom(&mut *buf, rustix::rand::GetRandomFlags::empty())?;
    if filled < buf.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
