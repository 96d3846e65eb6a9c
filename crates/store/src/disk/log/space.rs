//! Which segments are free, open, in use or taken.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::{Log, NoRoom, OpenSegment, Phase, Stream};
use crate::disk::format::Kind;
use crate::disk::geometry::narrow;
use crate::disk::segments::Segments;

/// How long after a disk was full it is tried again.
const FULL: Duration = Duration::from_secs(5);

/// What a full disk had no room for.
#[derive(Debug)]
pub(super) struct Lacking {
    since: Instant,
    /// Segments that nothing was written to.
    free: Vec<u32>,
    /// Those that were begun, by the number they were begun under.
    begun: Vec<(u64, u32)>,
}

impl Log {
    /// Says which segments hold something, by the numbers they were begun under, and which don't.
    pub(crate) fn opened(&mut self, mut used: BTreeMap<u64, u32>, mut free: VecDeque<u32>) {
        // Those may have become void since they were looked at.
        let void = used.extract_if(..self.void_below, |_, _| true);
        free.extend(void.map(|(_, number)| number));
        self.used = used;
        self.free = free;
        self.phase = Phase::Recovering;
        self.relieve();
    }

    /// Whether what was begun under this number is void.
    pub(crate) fn is_void(&self, born: u64) -> bool {
        born < self.void_below
    }

    pub(super) fn open_segment(
        &mut self,
        segments: &Segments,
        stream: Stream,
        kind: Kind,
    ) -> Result<OpenSegment, NoRoom> {
        if self.phase == Phase::Opening {
            return Err(NoRoom::Opening);
        }
        // The reclaimer makes others free only after it has written what it keeps of them.
        let kept = match (stream, kind) {
            // They can't be given up.
            (Stream::Again, Kind::Tombstone) => 0,
            (Stream::Again, _) => 1,
            (Stream::New | Stream::Large, _) => self.geometry.segments_kept(),
        };
        if self.free.len() <= kept {
            return Err(NoRoom::Segments);
        }
        let number = self.free.pop_front().ok_or(NoRoom::Segments)?;
        let born = self.number();
        segments.begin(number, born);
        if let Some(full) = self.stream(stream).segment.take() {
            self.used.insert(full.born, full.number);
        }
        Ok(OpenSegment {
            number,
            born,
            next: 0,
        })
    }

    /// Whether a chunk could be sealed and another one opened.
    pub(crate) fn has_room(&self) -> bool {
        self.phase != Phase::Opening
            && !self.is_full()
            && self.free.len() > self.geometry.segments_kept()
    }

    pub(crate) fn free_count(&self) -> usize {
        self.free.len()
    }

    pub(crate) fn retired_count(&self) -> u32 {
        let lacking = self.lacking.as_ref();
        let lacking = lacking.map_or(0, |lacking| lacking.free.len() + lacking.begun.len());
        self.retired + narrow(lacking)
    }

    /// The segments that hold something, the oldest first, with the numbers they were begun under.
    pub(crate) fn used(&self) -> impl DoubleEndedIterator<Item = (u64, u32)> {
        self.used.iter().map(|(born, number)| (*born, *number))
    }

    /// Whether something in use was begun up to this number, other than the segment begun under `but`.
    pub(crate) fn has_older(&self, lsn: u64, but: u64) -> bool {
        let open = [&self.new, &self.again, &self.large].map(|stream| stream.segment);
        let open = open.iter().flatten().map(|segment| segment.born);
        let used = self.used.keys().copied().take(2);
        open.chain(used).any(|born| born <= lsn && born != but)
    }

    /// Closes the segments of streams that were begun before this number, as far as there is room for what isn't sealed. Says
    /// whether there was any: it is in use then, and comes before what was begun later.
    pub(crate) fn close_older(&mut self, born: u64) -> bool {
        let mut any = false;
        for stream in [Stream::New, Stream::Again, Stream::Large] {
            let open = self.stream(stream).segment;
            let Some(segment) = open.filter(|segment| segment.born < born) else {
                continue;
            };
            any = true;
            if self.seal(stream).is_ok() {
                self.stream(stream).segment = None;
                self.used.insert(segment.born, segment.number);
            }
        }
        any
    }

    /// Whether all that will ever be in a segment that is in use is in the file.
    pub(crate) fn is_settled(&self, number: u32) -> bool {
        let streams = [&self.new, &self.again, &self.large];
        let mut open = streams.iter().filter_map(|stream| stream.chunk.as_ref());
        self.sealed.iter().all(|chunk| chunk.segment != number)
            && open.all(|chunk| chunk.segment() != number)
    }

    /// Takes a segment from those in use; it is free after [`Log::release`].
    pub(crate) fn take(&mut self, born: u64) {
        self.taken.extend(self.used.remove_entry(&born));
    }

    /// Whether a crash would bring back what is not in the index any more.
    pub(crate) fn is_taking(&self) -> bool {
        !self.taken.is_empty()
    }

    pub(crate) fn taken(&self) -> Vec<(u64, u32)> {
        self.taken.clone()
    }

    /// Makes what was taken free: nothing finds it any more, whatever happens.
    pub(crate) fn release(&mut self, segments: &[(u64, u32)]) {
        // Another may have made some of them free meanwhile.
        let taken = &mut self.taken;
        let released = taken.extract_if(.., |taken| segments.contains(taken));
        self.free.extend(released.map(|(_, number)| number));
        self.relieve();
    }

    /// Uses a segment no more that the disk would not take. What lies in it already stays readable.
    pub(crate) fn retire(&mut self, number: u32) {
        self.retired += narrow(self.leave(number).len());
    }

    /// The same where the disk is full, and of the free ones those from `beyond` on; until there is room again.
    pub(crate) fn lack(&mut self, number: u32, beyond: u32) {
        let begun = self.leave(number);
        let (free, lacking) = self.free.iter().partition(|free| **free < beyond);
        self.free = free;
        let all = self.lacking.get_or_insert_with(|| Lacking {
            since: Instant::now(),
            free: Vec::new(),
            begun: Vec::new(),
        });
        all.since = Instant::now();
        all.begun.extend(begun);
        all.free.extend::<VecDeque<u32>>(lacking);
    }

    /// Has no stream go on in a segment.
    fn leave(&mut self, number: u32) -> Vec<(u64, u32)> {
        let mut left = Vec::new();
        for stream in [Stream::New, Stream::Again, Stream::Large] {
            let open = self.stream(stream);
            let segment = open.segment.take_if(|segment| segment.number == number);
            left.extend(segment.map(|segment| (segment.born, segment.number)));
        }
        left
    }

    /// Whether it is time to see if a disk that was full is so still.
    pub(crate) fn may_have_room(&self) -> bool {
        let lacking = self.lacking.as_ref();
        lacking.is_some_and(|lacking| lacking.since.elapsed() >= FULL)
    }

    /// The disk has room again.
    pub(crate) fn has_got_room(&mut self) {
        let Some(lacking) = self.lacking.take() else {
            return;
        };
        self.free.extend(lacking.free);
        self.used.extend(lacking.begun);
        self.relieve();
    }

    /// Forgets all segments but those that are being read; they are free after [`Log::release`]. What was begun before the
    /// number returned is void.
    pub(crate) fn clear(&mut self, segments: &Segments) -> u64 {
        for stream in [Stream::New, Stream::Again, Stream::Large] {
            let open = std::mem::take(self.stream(stream)).segment;
            self.used
                .extend(open.map(|segment| (segment.born, segment.number)));
        }
        let idle = self.used.extract_if(.., |_, number| segments.take(*number));
        self.taken.extend(idle);
        self.void_below = self.number();
        self.void_below
    }
}
