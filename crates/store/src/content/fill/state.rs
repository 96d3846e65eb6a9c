//! What the lock of a fill guards, and what is done with it: who gets what, who waits, what is let go.

use std::task::{Context, Poll, Waker};

use super::{Lead, Next, Phase, State, Waiter, Wakers, set_waker};
use crate::content::{ReadError, Slice};

impl State {
    /// Place of the first segment that begins at `start` or after it.
    pub(super) fn place_of(&self, start: u64) -> usize {
        self.segments
            .partition_point(|segment| segment.start < start)
    }

    pub(super) fn next(&mut self, reader: usize, at: u64, end: u64, cx: &mut Context<'_>) -> Next {
        if at < self.first {
            return Next::Broken(ReadError::Lost { at });
        }
        if at >= self.end {
            if let Some(place) = self.readers.get_mut(reader) {
                place.at = at;
            }
            return match self.phase {
                Phase::Running => {
                    self.wait(reader, cx);
                    Next::Wait
                }
                Phase::Complete => Next::End,
                Phase::Cut => Next::Broken(ReadError::Cut),
            };
        }
        let index = self.segments.partition_point(|segment| segment.end() <= at);
        let Some(segment) = self.segments.get(index) else {
            return Next::Broken(ReadError::Lost { at });
        };
        let slice = segment.slice(at, end);
        if let Some(place) = self.readers.get_mut(reader) {
            place.at = at + slice.len();
        }
        self.after_progress();
        Next::Slice(slice)
    }

    pub(super) fn wait(&mut self, reader: usize, cx: &Context<'_>) {
        if let Some(place) = self.readers.get_mut(reader) {
            set_waker(&mut place.waker, cx);
        }
    }

    pub(super) fn fastest(&self) -> Option<u64> {
        self.readers.iter().map(|(_, place)| place.at).max()
    }

    /// The slowest of those that aren't lost.
    pub(super) fn slowest(&self) -> Option<u64> {
        let places = self.readers.iter().map(|(_, place)| place.at);
        places.filter(|&at| at >= self.first).min()
    }

    /// Whether the filler, wanting no more lead than this over its readers, or no reader, has its wish.
    pub(super) fn suits_filler(&self, lead: Option<Lead>) -> bool {
        let Some(fastest) = self.fastest() else {
            return true;
        };
        lead.is_some_and(|lead| {
            let slowest = self.slowest().unwrap_or(self.end);
            self.end.saturating_sub(fastest) <= lead.fastest
                && self.end.saturating_sub(slowest) <= lead.slowest
        })
    }

    pub(super) fn poll_filler(&mut self, lead: Option<Lead>, cx: &mut Context<'_>) -> Poll<()> {
        if self.suits_filler(lead) {
            return Poll::Ready(());
        }
        // A filler that waits for both is woken by whichever comes first: the nearer wish is kept.
        let lead = lead.or_else(|| self.filler.as_ref().and_then(|waiter| waiter.lead));
        let waker = cx.waker().clone();
        self.filler = Some(Waiter { waker, lead });
        Poll::Pending
    }

    pub(super) fn filler_to_wake(&mut self) -> Option<Waker> {
        let lead = self.filler.as_ref()?.lead;
        if self.suits_filler(lead) {
            return self.filler.take().map(|waiter| waiter.waker);
        }
        None
    }

    pub(super) fn waiting_readers(&mut self) -> Wakers {
        self.readers
            .iter_mut()
            .filter_map(|(_, place)| place.waker.take())
            .collect()
    }

    pub(super) fn after_progress(&mut self) {
        if self.window.is_some() {
            self.trim();
        }
    }

    /// Drops what all readers have read, and what exceeds the window: a reader still there is lost.
    pub(super) fn trim(&mut self) {
        let Some(window) = self.window else { return };
        loop {
            // A reader that is lost already holds nothing back.
            let slowest = self.slowest().unwrap_or(self.end);
            let Some(front) = self.segments.front_mut() else {
                return;
            };
            let held = self.charge.bytes();
            if let Slice::File(file) = &mut front.data {
                // Too large to go all at once: what is needed of it stays, though its memory goes only with the last.
                let surplus = held.saturating_sub(window);
                let needless = slowest.saturating_sub(front.start).max(surplus);
                if needless == 0 {
                    return;
                }
                let bytes = needless.min(file.len());
                file.advance(bytes);
                front.start += bytes;
                self.first = front.start;
                self.charge.shrink(bytes);
                if file.is_empty() {
                    self.segments.pop_front();
                }
                continue;
            }
            if front.end() > slowest && held <= window {
                return;
            }
            self.first = front.end();
            let bytes = front.data.len();
            self.charge.shrink(bytes);
            self.segments.pop_front();
        }
    }

    pub(super) fn end_as(&mut self, phase: Phase) -> Wakers {
        self.phase = phase;
        self.waiting_readers()
    }
}
