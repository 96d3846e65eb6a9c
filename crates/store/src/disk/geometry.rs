//! Sizes and places in a volume: segments of chunks of granules, after the superblocks.
//!
//! | unit | bytes | what happens by it |
//! | --- | --- | --- |
//! | segment | 64 KiB–8 MiB | is given free, all of it at once |
//! | chunk | up to 1 MiB | is written in one go; at most so long, as it ends where its last record does |
//! | block | 4 KiB | chunks begin and end at one |
//! | granule | 16 B, 64 B above 32 GiB, more above 256 GiB | records begin at one; 2³² of them in a volume |

use super::format::HEAD;
use super::index::Place;

/// Chunks begin and end at a multiple of it, as does what the kernel writes.
pub(crate) const BLOCK: u32 = 4096;
/// The superblocks lie before it, the first segment begins there.
pub(crate) const LOG_AT: u64 = 64 << 10;
/// A log of fewer segments could not keep its streams open and some free.
const SEGMENTS_MIN: u64 = 8;
/// As many segments as there should be, before they become larger; and of those that hold more than a chunk: some are always
/// kept free, so the more there are the less that is.
const SEGMENTS_WANTED: u64 = 64;
const LARGE_SEGMENTS_WANTED: u64 = 256;
const SEGMENT_LOG2_MIN: u8 = 16;
const SEGMENT_LOG2_MAX: u8 = 23;
const CHUNK_LOG2_MAX: u8 = 20;
const GRANULE_LOG2_MIN: u8 = 4;
/// Of volumes whose granules are smaller four times as many must do, so that they can grow.
const GRANULE_LOG2_USUAL: u8 = 6;
const GRANULE_LOG2_MAX: u8 = 12;

/// How a volume is divided. Kept in its superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) granule_log2: u8,
    pub(crate) chunk_log2: u8,
    pub(crate) segment_log2: u8,
    pub(crate) segments: u32,
}

impl Geometry {
    /// For a volume of so many bytes; `None` where that is too few for a log.
    pub(crate) fn for_bytes(bytes: u64) -> Option<Self> {
        let log = bytes.saturating_sub(LOG_AT);
        let log2 = |wanted: u64| u8::try_from((log / wanted).max(1).ilog2()).unwrap_or(u8::MAX);
        let small = log2(SEGMENTS_WANTED).clamp(SEGMENT_LOG2_MIN, CHUNK_LOG2_MAX);
        let segment_log2 = log2(LARGE_SEGMENTS_WANTED).clamp(small, SEGMENT_LOG2_MAX);
        let mut granule_log2 = GRANULE_LOG2_MIN;
        let most = |granule_log2: u8| match granule_log2 {
            ..GRANULE_LOG2_USUAL => u64::from(u32::MAX >> 2),
            _ => u64::from(u32::MAX),
        };
        while log >> granule_log2 > most(granule_log2) && granule_log2 < GRANULE_LOG2_MAX {
            granule_log2 += 1;
        }
        let geometry = Self {
            granule_log2,
            chunk_log2: segment_log2.min(CHUNK_LOG2_MAX),
            segment_log2,
            segments: u32::try_from(log >> segment_log2).ok()?,
        };
        geometry.is_sound().then_some(geometry)
    }

    /// The same division, for a volume of so many bytes; as it is where that can't be.
    pub(crate) fn resized(self, bytes: u64) -> Self {
        let segments = bytes.saturating_sub(LOG_AT) >> self.segment_log2;
        let resized = u32::try_from(segments).map(|segments| Self { segments, ..self });
        resized.ok().filter(Self::is_sound).unwrap_or(self)
    }

    /// Whether it could have been made by [`Geometry::for_bytes`]; what a superblock says may be anything.
    pub(crate) fn is_sound(&self) -> bool {
        let logs = (GRANULE_LOG2_MIN..=GRANULE_LOG2_MAX).contains(&self.granule_log2)
            && (SEGMENT_LOG2_MIN..=SEGMENT_LOG2_MAX).contains(&self.segment_log2)
            && self.chunk_log2 == self.segment_log2.min(CHUNK_LOG2_MAX);
        logs && u64::from(self.segments) >= SEGMENTS_MIN
            && self.log_bytes() >> self.granule_log2 <= u64::from(u32::MAX)
    }

    pub(crate) fn granule(&self) -> u32 {
        1 << self.granule_log2
    }

    pub(crate) fn chunk(&self) -> u32 {
        1 << self.chunk_log2
    }

    pub(crate) fn segment(&self) -> u32 {
        1 << self.segment_log2
    }

    /// Bytes of all segments.
    pub(crate) fn log_bytes(&self) -> u64 {
        u64::from(self.segments) << self.segment_log2
    }

    /// Segments to make free in one go, as each go costs a wait for the disk.
    pub(crate) fn segments_batch(&self) -> usize {
        let least = if self.segments < 32 { 1 } else { 2 };
        (self.segments / 100).max(least) as usize
    }

    /// Free segments that are left to what is kept of a batch, which is no more than all of it.
    pub(crate) fn segments_kept(&self) -> usize {
        self.segments_batch() + 1
    }

    /// Segments to keep free: a batch for what is new, while another is made free.
    pub(crate) fn segments_free_min(&self) -> usize {
        self.segments_kept() + self.segments_batch() + 1
    }

    /// Bytes of the largest record, its head included. Two of them fit into a chunk.
    pub(crate) fn record_bytes_max(&self) -> usize {
        (self.chunk() / 2 - BLOCK) as usize
    }

    /// Bytes of a body that one fragment holds, unless it is the last; four of them fit into a chunk.
    pub(crate) fn fragment_bytes(&self) -> u32 {
        self.chunk() / 4 - BLOCK
    }

    /// Granules from a full fragment to the one beside it.
    pub(crate) fn fragment_granules(&self) -> u32 {
        let record = HEAD + self.fragment_bytes() as usize;
        narrow(self.align(record)) >> self.granule_log2
    }

    /// The granule at this offset within a segment.
    pub(crate) fn granule_at(&self, segment: u32, within: u32) -> u32 {
        (segment << (self.segment_log2 - self.granule_log2)) + (within >> self.granule_log2)
    }

    /// The segment of a granule, and the offset within it; `None` beyond the volume.
    pub(crate) fn locate(&self, granule: u32) -> Option<(u32, u32)> {
        let per_segment = self.segment_log2 - self.granule_log2;
        let segment = granule >> per_segment;
        let within = (granule & ((1 << per_segment) - 1)) << self.granule_log2;
        (segment < self.segments).then_some((segment, within))
    }

    /// The offset in the file of an offset within a segment.
    pub(crate) fn offset(&self, segment: u32, within: u32) -> u64 {
        LOG_AT + (u64::from(segment) << self.segment_log2) + u64::from(within)
    }

    /// Bytes that a read of the record at `place` asks for, which begins at `within` of its segment.
    pub(crate) fn read_bytes(&self, place: Place, within: u32) -> u32 {
        place.size.bytes_max().min(self.segment() - within)
    }

    /// `bytes`, up to the next granule.
    pub(crate) fn align(&self, bytes: usize) -> usize {
        bytes.next_multiple_of(self.granule() as usize)
    }
}

/// A count of bytes that is known to be small.
pub(crate) fn narrow(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Geometry, LOG_AT};

    #[test]
    fn a_volume_is_divided_by_its_size() {
        let check = |bytes: u64, segment: u32, chunk: u32, granule: u32| {
            let geometry = Geometry::for_bytes(bytes).unwrap();
            assert_eq!(geometry.segment(), segment, "{bytes}");
            assert_eq!(geometry.chunk(), chunk, "{bytes}");
            assert_eq!(geometry.granule(), granule, "{bytes}");
            let end = LOG_AT + geometry.log_bytes();
            assert!(end <= bytes);
            assert!(end + u64::from(segment) > bytes);
        };
        check(1 << 20, 64 << 10, 64 << 10, 16);
        check(100 << 20, 1 << 20, 1 << 20, 16);
        check(300 << 20, 1 << 20, 1 << 20, 16);
        check(1 << 30, 2 << 20, 1 << 20, 16);
        check(16 << 30, 8 << 20, 1 << 20, 16);
        check(30 << 30, 8 << 20, 1 << 20, 32);
        check(200 << 30, 8 << 20, 1 << 20, 64);
        check(1 << 40, 8 << 20, 1 << 20, 256);
        assert_eq!(Geometry::for_bytes(0), None);
        assert_eq!(Geometry::for_bytes(400 << 10), None);
    }

    #[test]
    fn a_granule_is_found_again() {
        let geometry = Geometry::for_bytes(100 << 20).unwrap();
        for (segment, within) in [(0, 0), (3, 64), (98, (1 << 20) - 64)] {
            let granule = geometry.granule_at(segment, within);
            assert_eq!(geometry.locate(granule), Some((segment, within)));
        }
        assert_eq!(geometry.locate(u32::MAX), None);
        assert_eq!(geometry.offset(2, 128), LOG_AT + (2 << 20) + 128);
    }

    #[test]
    fn records_fit_into_chunks() {
        for bytes in [1 << 20, 100 << 20, 16 << 30] {
            let geometry = Geometry::for_bytes(bytes).unwrap();
            let chunk = geometry.chunk() as usize;
            assert!(2 * geometry.record_bytes_max() + 64 + 2 * 32 <= chunk);
            let fragment = geometry.align(64 + geometry.fragment_bytes() as usize);
            assert!(4 * fragment + 64 + 4 * 32 <= chunk);
        }
    }
}
