//! What a volume holds and has done, as plain numbers.

use std::sync::atomic::AtomicU64;

/// How far a volume has come, the best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum VolumeState {
    /// All that is stored can be found.
    Serving,
    /// It isn't known yet what is stored; some of it can be found already.
    #[default]
    Recovering,
    /// The disk failed, or the file is gone. Nothing is found or stored any more.
    OutOfService,
}

/// A snapshot of a volume's figures. Counters count from when it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeUsage {
    /// How far it has come.
    pub state: VolumeState,
    /// Bytes that it may take.
    pub bytes_max: u64,
    /// Bytes of segments that are in use.
    pub bytes: u64,
    /// Records that can be found: responses, and what leads to them or keeps them away. A large response whose fragments have
    /// made room for others counts until it is asked for, or its own record is reached: to know it the disk would have to be
    /// read.
    pub objects: u64,
    /// Bytes of memory that the index takes.
    pub index_bytes: u64,
    /// Segments in all.
    pub segments: u32,
    /// Segments that are free.
    pub segments_free: u32,
    /// Segments given up, as the disk would not take them.
    pub segments_retired: u32,
    /// Segments that recovery has read.
    pub segments_recovered: u64,
    /// Chunks that wait to be written.
    pub chunks_queued: usize,
    /// Reads that wait for a thread, and those that rings have.
    pub reads_queued: usize,
    /// Responses found.
    pub hits: u64,
    /// Hits that needed no wait.
    pub hits_at_once: u64,
    /// Keys looked for in vain.
    pub misses: u64,
    /// Responses stored.
    pub puts: u64,
    /// Large responses that were broken off.
    pub broken_off: u64,
    /// Keys removed.
    pub removes: u64,
    /// Removed keys that a crash may bring back, as too many waited to be written down.
    pub tombstones_lost: u64,
    /// Responses written again rather than lost.
    pub reinserts: u64,
    /// Responses lost when the log came round to them.
    pub evictions: u64,
    /// Responses lost as the index had no slot for them.
    pub index_drops: u64,
    /// Records that were not what had been written.
    pub wrong: u64,
    /// Responses lost as their chunk could not be written.
    pub lost: u64,
    /// Responses not stored for their size.
    pub refused_size: u64,
    /// Responses not stored as too much waited to be written.
    pub refused_busy: u64,
    /// Responses not stored as no segment was free.
    pub refused_full: u64,
    /// Responses not stored as the volume was still opening or is out of service.
    pub refused_closed: u64,
    /// Responses not renewed as they were gone.
    pub refused_gone: u64,
    /// Reads not done as too many waited.
    pub reads_refused: u64,
    /// Reads from the disk that the kernel did while a worker went on.
    pub reads_by_rings: u64,
    /// Reads from the disk that threads did.
    pub reads_by_threads: u64,
    /// Checkpoints taken.
    pub images: u64,
    /// Checkpoints that could not be taken, or not be used.
    pub images_failed: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Writes that failed.
    pub write_errors: u64,
    /// Reads that failed.
    pub read_errors: u64,
}

impl VolumeUsage {
    /// Of both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            state: self.state.max(other.state),
            bytes_max: self.bytes_max + other.bytes_max,
            bytes: self.bytes + other.bytes,
            objects: self.objects + other.objects,
            index_bytes: self.index_bytes + other.index_bytes,
            segments: self.segments + other.segments,
            segments_free: self.segments_free + other.segments_free,
            segments_retired: self.segments_retired + other.segments_retired,
            segments_recovered: self.segments_recovered + other.segments_recovered,
            chunks_queued: self.chunks_queued + other.chunks_queued,
            reads_queued: self.reads_queued + other.reads_queued,
            hits: self.hits + other.hits,
            hits_at_once: self.hits_at_once + other.hits_at_once,
            misses: self.misses + other.misses,
            puts: self.puts + other.puts,
            broken_off: self.broken_off + other.broken_off,
            removes: self.removes + other.removes,
            tombstones_lost: self.tombstones_lost + other.tombstones_lost,
            reinserts: self.reinserts + other.reinserts,
            evictions: self.evictions + other.evictions,
            index_drops: self.index_drops + other.index_drops,
            wrong: self.wrong + other.wrong,
            lost: self.lost + other.lost,
            refused_size: self.refused_size + other.refused_size,
            refused_busy: self.refused_busy + other.refused_busy,
            refused_full: self.refused_full + other.refused_full,
            refused_closed: self.refused_closed + other.refused_closed,
            refused_gone: self.refused_gone + other.refused_gone,
            reads_refused: self.reads_refused + other.reads_refused,
            reads_by_rings: self.reads_by_rings + other.reads_by_rings,
            reads_by_threads: self.reads_by_threads + other.reads_by_threads,
            images: self.images + other.images,
            images_failed: self.images_failed + other.images_failed,
            bytes_written: self.bytes_written + other.bytes_written,
            bytes_read: self.bytes_read + other.bytes_read,
            write_errors: self.write_errors + other.write_errors,
            read_errors: self.read_errors + other.read_errors,
        }
    }
}

/// The counters of a volume.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) segments_recovered: AtomicU64,
    pub(crate) hits: AtomicU64,
    pub(crate) hits_at_once: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) puts: AtomicU64,
    pub(crate) broken_off: AtomicU64,
    pub(crate) removes: AtomicU64,
    pub(crate) tombstones_lost: AtomicU64,
    pub(crate) reinserts: AtomicU64,
    pub(crate) evictions: AtomicU64,
    pub(crate) index_drops: AtomicU64,
    pub(crate) wrong: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) refused_size: AtomicU64,
    pub(crate) refused_busy: AtomicU64,
    pub(crate) refused_full: AtomicU64,
    pub(crate) refused_closed: AtomicU64,
    pub(crate) refused_gone: AtomicU64,
    pub(crate) reads_refused: AtomicU64,
    pub(crate) reads_by_rings: AtomicU64,
    pub(crate) reads_by_threads: AtomicU64,
    pub(crate) images: AtomicU64,
    pub(crate) images_failed: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) write_errors: AtomicU64,
    pub(crate) read_errors: AtomicU64,
}
