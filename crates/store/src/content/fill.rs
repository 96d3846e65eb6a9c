//! A body that is arriving: what its filler has brought, where its readers are, and who waits for whom.
//!
//! A lock guards it, for as long as it takes to hand over a slice; bytes are copied outside of it.

mod state;

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use slab::Slab;
use smallvec::SmallVec;

use super::files::BodyFile;
use super::pages::Segment;
use super::{
    Charge, Done, FileSlice, Pages, ReadError, Slice, WHOLE_BYTES_MAX, charged_bytes, lock,
};
use crate::usage::{Counters, count};

/// Wakers to call once the lock is released.
type Wakers = SmallVec<[Waker; 8]>;

/// A body that is arriving. Shared by its filler and its readers.
#[derive(Debug)]
pub struct Fill {
    length: Option<u64>,
    received: AtomicU64,
    /// Set when it is complete and kept: readers then leave the lock alone.
    done: OnceLock<Done>,
    counters: Arc<Counters>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Without gaps from `first` to `end`.
    segments: VecDeque<Segment>,
    first: u64,
    end: u64,
    phase: Phase,
    /// The window, in bytes, once it is closed to newcomers; until then everything is held.
    window: Option<u64>,
    charge: Charge,
    readers: Slab<Place>,
    filler: Option<Waiter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Complete,
    Cut,
}

/// Where a reader is, and how to call it when there is more.
#[derive(Debug)]
struct Place {
    at: u64,
    waker: Option<Waker>,
}

/// What the filler waits for.
#[derive(Debug)]
struct Waiter {
    waker: Waker,
    /// The readers to come near enough to the end; or, without it, for the last reader to go.
    lead: Option<Lead>,
}

/// How far a filler may be ahead of its readers, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lead {
    /// Of the fastest.
    pub(super) fastest: u64,
    /// Of the slowest, who would be lost beyond.
    pub(super) slowest: u64,
}

/// What a reader gets from a fill.
pub(super) enum Next {
    Slice(Slice),
    Wait,
    End,
    Done(Done),
    Broken(ReadError),
}

impl Fill {
    pub(crate) fn new(length: Option<u64>, counters: &Arc<Counters>) -> Arc<Self> {
        Arc::new(Self {
            length,
            received: AtomicU64::new(0),
            done: OnceLock::new(),
            counters: Arc::clone(counters),
            state: Mutex::new(State {
                segments: VecDeque::new(),
                first: 0,
                end: 0,
                phase: Phase::Running,
                window: None,
                charge: Charge::new(counters, 0),
                readers: Slab::new(),
                filler: None,
            }),
        })
    }

    /// Bytes of the whole body, if announced, or known by now.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.length.or_else(|| {
            let complete = lock(&self.state).phase == Phase::Complete;
            complete.then(|| self.received())
        })
    }

    /// Bytes that have arrived.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received.load(Relaxed)
    }

    /// Readers that follow it now.
    #[must_use]
    pub fn readers(&self) -> usize {
        lock(&self.state).readers.len()
    }

    /// Whether a new reader would get it from the first byte.
    #[must_use]
    pub fn is_joinable(&self) -> bool {
        let state = lock(&self.state);
        state.window.is_none() && state.phase != Phase::Cut
    }

    /// Whether byte `at` is gone already.
    pub(super) fn has_dropped(&self, at: u64) -> bool {
        lock(&self.state).first > at
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        match self.done.get() {
            Some(done) => done.body().held_bytes(),
            None => lock(&self.state).charge.bytes(),
        }
    }

    // The filler's side.

    pub(super) fn announced(&self) -> Option<u64> {
        self.length
    }

    pub(super) fn push(&self, bytes: Bytes) {
        let wakers = {
            let mut state = lock(&self.state);
            let start = state.end;
            let data = Slice::Heap(bytes);
            let segment = Segment { start, data };
            state.end = segment.end();
            state.charge.grow(segment.data.len());
            self.received.store(state.end, Relaxed);
            state.segments.push_back(segment);
            state.waiting_readers()
        };
        wake(wakers);
    }

    /// Copies what lies from `start` on into one slice of its own.
    pub(super) fn merge_from(&self, start: u64) {
        let merged = self.parts_from(start).concat();
        self.replace_from(start, Slice::Heap(Bytes::from(merged.into_boxed_slice())));
    }

    /// Moves what lies from `start` on into `file`; returns up to where that is.
    pub(super) fn move_from(&self, start: u64, file: &Arc<BodyFile>) -> io::Result<u64> {
        let bytes = file.write(&self.parts_from(start), start)?;
        let slice = FileSlice::new(file, start, bytes);
        if !slice.is_empty() && !self.replace_from(start, Slice::File(slice)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(start + bytes)
    }

    fn parts_from(&self, start: u64) -> Vec<Bytes> {
        let state = lock(&self.state);
        let from = state.place_of(start);
        let heap = |segment: &Segment| match &segment.data {
            Slice::Heap(bytes) => Some(bytes.clone()),
            Slice::File(_) => None,
        };
        state.segments.range(from..).filter_map(heap).collect()
    }

    /// Puts `data` in the place of the segments from `start` on, whose bytes it has. A window may have dropped some of
    /// them in the meantime; then the rest stays as it is.
    fn replace_from(&self, start: u64, data: Slice) -> bool {
        let mut state = lock(&self.state);
        let from = state.place_of(start);
        let first = state.segments.get(from);
        let same = first.is_some_and(|segment| segment.start == start);
        if !same || start + data.len() != state.end {
            return false;
        }
        let replaced = state.segments.split_off(from);
        let joined = match (state.segments.back_mut(), &data) {
            (
                Some(Segment {
                    data: Slice::File(file),
                    ..
                }),
                Slice::File(later),
            ) => file.join(later),
            _ => false,
        };
        if !joined {
            state.segments.push_back(Segment { start, data });
        }
        drop(state);
        drop(replaced);
        true
    }

    /// Ready when the readers are no further behind than `lead` says, or there are none.
    pub(super) fn poll_ready(&self, lead: Lead, cx: &mut Context<'_>) -> Poll<()> {
        lock(&self.state).poll_filler(Some(lead), cx)
    }

    /// Bytes that the slowest reader still has to read of what is here.
    pub(super) fn span(&self) -> u64 {
        let state = lock(&self.state);
        state
            .slowest()
            .map_or(0, |slowest| state.end.saturating_sub(slowest))
    }

    pub(super) fn poll_no_readers(&self, cx: &mut Context<'_>) -> Poll<()> {
        lock(&self.state).poll_filler(None, cx)
    }

    /// Bytes held; closes the window, or keeps it closed, if they are more than `bytes_max`. True when it closed just now.
    pub(super) fn close_window_beyond(&self, bytes_max: u64) -> bool {
        let mut state = lock(&self.state);
        let closed = state.window.is_some();
        if !closed && state.charge.bytes() <= bytes_max {
            return false;
        }
        state.window = Some(bytes_max);
        state.trim();
        !closed
    }

    /// The end of a body that is kept.
    pub(super) fn complete(&self) -> Option<Done> {
        let (done, wakers) = {
            let mut state = lock(&self.state);
            if state.phase != Phase::Running || state.first != 0 {
                return None;
            }
            let charge = state.charge.take();
            let done = seal(mem::take(&mut state.segments), charge, &self.counters);
            // Under the lock, so that a reader that finds no slice left finds this.
            let first = self.done.set(done.clone()).is_ok();
            debug_assert!(first, "a fill is completed once");
            (done, state.end_as(Phase::Complete))
        };
        wake(wakers);
        Some(done)
    }

    /// What has come so far as a complete body of its own; its readers keep what they still need. `None` if there is
    /// nothing, or its beginning is gone.
    pub(super) fn prefix(&self) -> Option<Done> {
        let segments = {
            let state = lock(&self.state);
            let held = state.first == 0 && state.end > 0;
            held.then(|| state.segments.clone())?
        };
        let bytes = segments.back().map_or(0, Segment::end);
        let charge = Charge::new(&self.counters, bytes);
        Some(seal(segments, charge, &self.counters))
    }

    /// The end of a body that was only shared: what is left goes as its readers go on.
    pub(super) fn complete_unkept(&self) {
        let wakers = {
            let mut state = lock(&self.state);
            state.window.get_or_insert(u64::MAX);
            let wakers = state.end_as(Phase::Complete);
            state.trim();
            wakers
        };
        wake(wakers);
    }

    /// Ends it before its end; false if it had ended already.
    pub(super) fn cut(&self) -> bool {
        let wakers = {
            let mut state = lock(&self.state);
            if state.phase != Phase::Running {
                return false;
            }
            state.end_as(Phase::Cut)
        };
        count(&self.counters.cuts);
        wake(wakers);
        true
    }

    // The readers' side.

    pub(super) fn join(&self) -> usize {
        lock(&self.state)
            .readers
            .insert(Place { at: 0, waker: None })
    }

    pub(super) fn leave(&self, reader: usize) {
        let waker = {
            let mut state = lock(&self.state);
            let place = state.readers.try_remove(reader);
            state.after_progress();
            drop(place);
            state.filler_to_wake()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The next slice for `reader` at `at`, at most up to `end`; it is called when there is more.
    pub(super) fn next(&self, reader: usize, at: u64, end: u64, cx: &mut Context<'_>) -> Next {
        if let Some(done) = self.done.get() {
            return Next::Done(done.clone());
        }
        let (next, waker) = {
            let mut state = lock(&self.state);
            // It may have completed just before the lock was ours.
            if let Some(done) = self.done.get() {
                return Next::Done(done.clone());
            }
            let next = state.next(reader, at, end, cx);
            (next, state.filler_to_wake())
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        if matches!(next, Next::Broken(ReadError::Lost { .. })) {
            count(&self.counters.readers_lost);
        }
        next
    }
}

/// A complete body of these slices: one slice if it is small.
pub(super) fn seal(segments: VecDeque<Segment>, charge: Charge, counters: &Arc<Counters>) -> Done {
    if segments.back().map_or(0, Segment::end) > WHOLE_BYTES_MAX as u64 {
        let segments = segments.into_iter().collect();
        return Done::Pages(Arc::new(Pages::new(segments, charge)));
    }
    // So small a body is never in a file.
    let heap = |segment: Segment| match segment.data {
        Slice::Heap(bytes) => Some(bytes),
        Slice::File(_) => None,
    };
    let slices: Vec<Bytes> = segments.into_iter().filter_map(heap).collect();
    drop(charge);
    Done::Whole(charged_bytes(slices.concat().into_boxed_slice(), counters))
}

fn set_waker(place: &mut Option<Waker>, cx: &Context<'_>) {
    match place {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *place = Some(cx.waker().clone()),
    }
}

fn wake(wakers: Wakers) {
    for waker in wakers {
        waker.wake();
    }
}
