//! The end of the log where records are added, and which segments are free. All of it under one lock, which is held for
//! as long as it takes to copy a record: what takes longer (checksums, the disk) is done before or after.
//!
//! | a segment is | where it is kept | who moves it on |
//! | --- | --- | --- |
//! | free | `free` | a stream that needs one |
//! | open | its stream | the stream, when no record fits any more |
//! | used | `used`, the oldest first | the reclaimer |
//! | taken | `taken`: no reader finds it, but the superblock still lets recovery find it | the reclaimer, after a sync |
//! | retired | nowhere: the disk would not take it | nobody |
//! | lacking | `lacking`: the disk was full | the writer, when there is room |

mod chunk;
mod space;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::format::{Draft, ENTRY, Filled, HEAD, Mark};
use super::geometry::{Geometry, narrow};
use super::index::{Place, SizeCode};
use super::segments::Segments;

use chunk::OpenChunk;
pub(crate) use chunk::Sealed;
use space::Lacking;

/// Which records lie together: those that will die together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// New records.
    New,
    /// Records that the reclaimer kept, and tombstones.
    Again,
    /// Fragments of large bodies.
    Large,
}

/// Why nothing can be added now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// Which segments are free isn't known yet.
    Opening,
    /// As many chunks as may be wait for the disk.
    Buffers,
    /// No segment is free.
    Segments,
}

/// The numbers of records, by the hashes of their keys.
pub(crate) type Numbers = hashbrown::HashMap<u64, u64>;

/// How far the volume has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It isn't known which segments are in use.
    Opening,
    /// It is being learnt what lies in them.
    Recovering,
    /// All that is stored can be found.
    Serving,
}

/// Whether the volume's threads go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    On,
    /// All end but those that write and read.
    Closing,
    /// All end at once.
    Stop,
}

/// Who waits for room holds a client back: not for longer than this, if nothing moves.
const PATIENCE: Duration = Duration::from_secs(1);
/// Removed keys that wait to be written down.
const OWED_MAX: usize = 64 << 10;

#[derive(Debug, Default)]
struct OpenStream {
    segment: Option<OpenSegment>,
    chunk: Option<OpenChunk>,
}

#[derive(Clone, Copy, Debug)]
struct OpenSegment {
    number: u32,
    born: u64,
    /// Where the next chunk begins.
    next: u32,
}

/// The end of the log.
#[derive(Debug)]
pub(crate) struct Log {
    geometry: Geometry,
    mark: u64,
    lsn: u64,
    new: OpenStream,
    again: OpenStream,
    large: OpenStream,
    sealed: VecDeque<Arc<Sealed>>,
    sealed_max: usize,
    /// Chunks that were ever sealed, and of them those that were written or lost.
    sealed_total: u64,
    written_total: u64,
    free: VecDeque<u32>,
    used: BTreeMap<u64, u32>,
    taken: Vec<(u64, u32)>,
    retired: u32,
    lacking: Option<Lacking>,
    /// What was begun before this number is void.
    void_below: u64,
    waiting: Vec<Waker>,
    /// Since when somebody waits, and nothing was written or became free.
    starved: Option<Instant>,
    /// Whether tombstones must not wait for the next tick.
    hurry: bool,
    /// Removed keys, with the number of their removal, that there was no room to write down. Until there is, a crash
    /// brings back what was stored under them.
    owed: Vec<(u64, u64)>,
    pub(crate) run: Run,
    pub(crate) phase: Phase,
}

impl Log {
    pub(crate) fn new(geometry: Geometry, mark: u64, first_lsn: u64, sealed_max: usize) -> Self {
        Self {
            geometry,
            mark,
            lsn: first_lsn,
            new: OpenStream::default(),
            again: OpenStream::default(),
            large: OpenStream::default(),
            sealed: VecDeque::new(),
            sealed_max: sealed_max.max(1),
            sealed_total: 0,
            written_total: 0,
            free: VecDeque::new(),
            used: BTreeMap::new(),
            taken: Vec::new(),
            retired: 0,
            lacking: None,
            void_below: 0,
            waiting: Vec::new(),
            starved: None,
            hurry: false,
            owed: Vec::new(),
            run: Run::On,
            phase: Phase::Opening,
        }
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> u64 {
        self.lsn += 1;
        self.lsn
    }

    /// Adds a record, which is no larger than a record may be.
    pub(crate) fn append(
        &mut self,
        segments: &Segments,
        stream: Stream,
        draft: &Draft<'_>,
        lsn: u64,
        frequency: u8,
    ) -> Result<Place, NoRoom> {
        let geometry = self.geometry;
        let bytes = draft.bytes();
        let (number, within) = loop {
            if let Some(chunk) = &mut self.stream(stream).chunk
                && chunk.fits(&geometry, bytes)
            {
                let within = chunk.push(&geometry, draft, lsn, frequency);
                break (chunk.segment(), within);
            }
            self.seal(stream)?;
            self.open_chunk(segments, stream, draft)?;
        };
        Ok(Place {
            granule: geometry.granule_at(number, within),
            size: SizeCode::of_bytes(narrow(bytes)),
        })
    }

    fn stream(&mut self, stream: Stream) -> &mut OpenStream {
        match stream {
            Stream::New => &mut self.new,
            Stream::Again => &mut self.again,
            Stream::Large => &mut self.large,
        }
    }

    fn open_chunk(
        &mut self,
        segments: &Segments,
        stream: Stream,
        draft: &Draft<'_>,
    ) -> Result<(), NoRoom> {
        let geometry = self.geometry;
        let needed = geometry.align(HEAD) + draft.bytes() + ENTRY;
        let room = |open: &OpenSegment| (geometry.segment() - open.next) as usize >= needed;
        let segment = match self.stream(stream).segment.filter(room) {
            Some(segment) => segment,
            None => self.open_segment(segments, stream, draft.kind())?,
        };
        let chunk = OpenChunk::new(&geometry, segment.number, segment.born, segment.next);
        let open = self.stream(stream);
        open.segment = Some(segment);
        open.chunk = Some(chunk);
        Ok(())
    }

    /// Seals the open chunk of `stream`, if there is one.
    fn seal(&mut self, stream: Stream) -> Result<(), NoRoom> {
        let mark = self.mark;
        if self.stream(stream).chunk.is_some() && self.is_full() {
            return Err(NoRoom::Buffers);
        }
        let open = self.stream(stream);
        if let Some(chunk) = open.chunk.take() {
            let sealed = chunk.seal(mark);
            if let Some(segment) = &mut open.segment
                && segment.number == sealed.segment
            {
                segment.next = sealed.end();
            }
            self.sealed.push_back(Arc::new(sealed));
            self.sealed_total += 1;
        }
        Ok(())
    }

    /// Seals all open chunks. Returns what [`Log::written_total`] is when they are written.
    pub(crate) fn seal_all(&mut self) -> Result<u64, NoRoom> {
        for stream in [Stream::New, Stream::Again, Stream::Large] {
            self.seal(stream)?;
        }
        Ok(self.sealed_total)
    }

    /// Seals all open chunks, and marks where what is added from now on begins.
    pub(crate) fn mark(&mut self) -> Result<Mark, NoRoom> {
        self.seal_all()?;
        let lsn = self.number();
        let open = [&self.new, &self.again, &self.large].map(|stream| {
            stream
                .segment
                .map_or_else(Filled::default, |segment| Filled {
                    born: segment.born,
                    filled: segment.next,
                })
        });
        Ok(Mark {
            number: 0,
            lsn,
            open,
        })
    }

    /// Has the fragments that were added so far be written before what is added from now on.
    pub(crate) fn seal_large(&mut self) -> Result<(), NoRoom> {
        self.seal(Stream::Large)
    }

    /// The same, of what the reclaimer kept, and tombstones.
    pub(crate) fn seal_again(&mut self) -> Result<(), NoRoom> {
        self.seal(Stream::Again)
    }

    /// Seals the chunks that were open at the last tick already.
    pub(crate) fn tick(&mut self) {
        for stream in [Stream::New, Stream::Again, Stream::Large] {
            let chunk = self.stream(stream).chunk.as_mut();
            let aged = chunk.map(|chunk| std::mem::replace(&mut chunk.aged, true));
            // Where as many wait as may, the next tick tries again.
            if aged == Some(true) && self.seal(stream).is_err() {
                return;
            }
        }
    }

    /// Keeps a removed key until there is room to write it down; `false` if there are too many.
    pub(crate) fn owe(&mut self, hash: u64, lsn: u64) -> bool {
        let room = self.owed.len() < OWED_MAX;
        if room {
            self.owed.push((hash, lsn));
        }
        room
    }

    /// Takes those keys.
    pub(crate) fn owed(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.owed)
    }

    pub(crate) fn owes_nothing(&self) -> bool {
        self.owed.is_empty()
    }

    /// Has tombstones written at once.
    pub(crate) fn hurry(&mut self) {
        self.hurry = true;
    }

    /// The chunk that is to be written next; it stays readable until [`Log::written`].
    pub(crate) fn next_sealed(&mut self) -> Option<Arc<Sealed>> {
        if self.hurry && self.sealed.is_empty() {
            // Nothing waits for the disk, so this can.
            self.hurry = self.seal(Stream::Again).is_err();
        }
        self.sealed.front().cloned()
    }

    /// The chunk that was to be written next is in the file, or lost.
    pub(crate) fn written(&mut self) {
        self.sealed.pop_front();
        self.written_total += 1;
        self.relieve();
    }

    /// Whether as many chunks as may be wait for the disk.
    pub(crate) fn is_full(&self) -> bool {
        self.sealed.len() >= self.sealed_max
    }

    /// Whether all that was added is in the file, or lost.
    pub(crate) fn is_written(&self) -> bool {
        let streams = [&self.new, &self.again, &self.large];
        streams.iter().all(|stream| stream.chunk.is_none())
            && self.sealed.is_empty()
            && self.owed.is_empty()
    }

    /// Whether half of the chunks that may wait for the disk do.
    pub(crate) fn is_far_behind(&self) -> bool {
        2 * self.sealed.len() > self.sealed_max
    }

    /// Chunks that wait for the disk.
    pub(crate) fn sealed_count(&self) -> usize {
        self.sealed.len()
    }

    /// Chunks that were written or lost, since the beginning.
    pub(crate) fn written_total(&self) -> u64 {
        self.written_total
    }

    /// Up to `count` bytes of what isn't in the file yet, from `within` the segment on.
    pub(crate) fn buffered(&self, segment: u32, within: u32, count: u32) -> Option<Bytes> {
        let streams = [&self.new, &self.again, &self.large];
        let open = streams.iter().filter_map(|stream| stream.chunk.as_ref());
        let mut open = open.filter_map(|chunk| chunk.copy(segment, within, count));
        let sealed = self.sealed.iter();
        let mut sealed = sealed.filter_map(|chunk| chunk.slice(segment, within, count));
        open.next().or_else(|| sealed.next())
    }

    /// Wakes `waker` when there may be room again.
    pub(crate) fn wait(&mut self, waker: &Waker) {
        self.starved.get_or_insert_with(Instant::now);
        if !self.waiting.iter().any(|waiting| waiting.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }

    pub(crate) fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    /// There may be room again.
    fn relieve(&mut self) {
        self.starved = None;
        self.wake();
    }

    /// Whether it is in vain to wait, as the disk hangs, or is full.
    pub(crate) fn is_starved(&self) -> bool {
        self.starved
            .is_some_and(|since| since.elapsed() >= PATIENCE)
    }
}
