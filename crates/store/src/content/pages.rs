//! The slices of a body in order, each with its place; held by a complete body and by a fill.

use bytes::Bytes;

use super::{Charge, Slice};

/// A slice of a body.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Offset of its first byte in the body.
    pub(crate) start: u64,
    pub(crate) data: Slice,
}

impl Segment {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.data.len()
    }

    /// What lies at and after `at`, up to `end`. Empty if nothing does.
    pub(crate) fn slice(&self, at: u64, end: u64) -> Slice {
        let from = at.clamp(self.start, self.end()) - self.start;
        let to = end.clamp(self.start + from, self.end()) - self.start;
        self.data.part(from, to)
    }
}

/// A complete body in several slices, mostly of 64–256 KiB; or in one, in a file.
#[derive(Debug)]
pub struct Pages {
    segments: Box<[Segment]>,
    length: u64,
    _charge: Charge,
}

impl Pages {
    pub(crate) fn new(segments: Box<[Segment]>, charge: Charge) -> Self {
        let length = segments.last().map_or(0, Segment::end);
        Self {
            segments,
            length,
            _charge: charge,
        }
    }

    /// A body that came as a whole.
    pub(crate) fn of(body: Bytes, charge: Charge) -> Self {
        let segment = Segment {
            start: 0,
            data: Slice::Heap(body),
        };
        Self::new([segment].into(), charge)
    }

    /// Bytes of the body.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The slices in order.
    pub fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.segments.iter().map(|segment| &segment.data)
    }

    /// The rest of the slice in which `at` lies, up to `end`; nothing past the end of the body.
    /// `guess` is the place of that slice, if the caller remembers it, and is moved on.
    pub(crate) fn slice(&self, guess: &mut usize, at: u64, end: u64) -> Option<Slice> {
        if at >= end.min(self.length) {
            return None;
        }
        let fits = |segment: &&Segment| segment.start <= at && at < segment.end();
        let segment = match self.segments.get(*guess).filter(fits) {
            Some(segment) => segment,
            None => {
                *guess = self.segments.partition_point(|segment| segment.end() <= at);
                self.segments.get(*guess)?
            }
        };
        if end >= segment.end() {
            *guess += 1;
        }
        Some(segment.slice(at, end))
    }
}
