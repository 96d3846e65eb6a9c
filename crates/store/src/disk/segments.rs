//! What all threads see of the segments, without a lock.
//!
//! | state | `born` | who moves it on |
//! | --- | --- | --- |
//! | free | 0 | the log, when a stream needs a segment |
//! | in use | number it was begun under | the reclaimer, when it is the oldest |
//!
//! Readers of large bodies pin the segments they lie in: they count themselves first and look at `born` then, the
//! reclaimer does it the other way round, so one of them sees the other.

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// One segment.
#[derive(Debug, Default)]
struct Segment {
    born: AtomicU64,
    /// Bytes of it that can be read from the file.
    written: AtomicU32,
    pins: AtomicU32,
}

/// All segments of a volume.
#[derive(Debug)]
pub(crate) struct Segments(Box<[Segment]>);

impl Segments {
    pub(crate) fn new(count: u32) -> Self {
        Self((0..count).map(|_| Segment::default()).collect())
    }

    fn of(&self, number: u32) -> Option<&Segment> {
        self.0.get(number as usize)
    }

    /// Takes a segment into use.
    pub(crate) fn begin(&self, number: u32, born: u64) {
        if let Some(segment) = self.of(number) {
            segment.written.store(0, Ordering::Release);
            segment.born.store(born, Ordering::SeqCst);
        }
    }

    /// Says that its first `bytes` are in the file.
    pub(crate) fn set_written(&self, number: u32, bytes: u32) {
        if let Some(segment) = self.of(number) {
            segment.written.store(bytes, Ordering::Release);
        }
    }

    /// Bytes of it that are in the file.
    pub(crate) fn written(&self, number: u32) -> u32 {
        self.of(number)
            .map_or(0, |segment| segment.written.load(Ordering::Acquire))
    }

    /// The number it was begun under; 0 if it is free.
    pub(crate) fn born(&self, number: u32) -> u64 {
        self.of(number)
            .map_or(0, |segment| segment.born.load(Ordering::SeqCst))
    }

    /// Keeps the segment from being taken, if it is still the one that was begun under that number.
    pub(crate) fn pin(&self, number: u32, born: u64) -> bool {
        let Some(segment) = self.of(number) else {
            return false;
        };
        segment.pins.fetch_add(1, Ordering::SeqCst);
        let same = segment.born.load(Ordering::SeqCst) == born;
        if !same {
            self.unpin(number);
        }
        same
    }

    pub(crate) fn unpin(&self, number: u32) {
        if let Some(segment) = self.of(number) {
            segment.pins.fetch_sub(1, Ordering::SeqCst);
        }
    }

    pub(crate) fn is_pinned(&self, number: u32) -> bool {
        self.of(number)
            .is_some_and(|segment| segment.pins.load(Ordering::SeqCst) > 0)
    }

    /// Takes a segment out of use; `false` if somebody reads it, who then goes on undisturbed.
    pub(crate) fn take(&self, number: u32) -> bool {
        let Some(segment) = self.of(number) else {
            return false;
        };
        let born = segment.born.swap(0, Ordering::SeqCst);
        let free = segment.pins.load(Ordering::SeqCst) == 0;
        if !free {
            segment.born.store(born, Ordering::SeqCst);
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::Segments;

    #[test]
    fn a_pinned_segment_is_not_taken() {
        let segments = Segments::new(2);
        segments.begin(1, 9);
        assert!(!segments.pin(1, 8));
        assert!(segments.pin(1, 9));
        assert!(!segments.take(1));
        assert_eq!(segments.born(1), 9);
        segments.unpin(1);
        assert!(segments.take(1));
        assert!(!segments.pin(1, 9));
        assert!(!segments.pin(7, 9));
    }
}
