//! The memory of an index: lines of slots, their uses, and a head of a few words.

use std::io;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use sys::Words;

use super::WAYS;
use super::form::{Form, Shape};

/// Words of the head, a page of them.
pub(super) const HEAD_WORDS: usize = 512;

/// What the words of the head are.
pub(super) mod head {
    /// See [`super::Shape`].
    pub(in super::super) const SHAPE: usize = 0;
    /// Slots that have moved since the index was made.
    pub(in super::super) const MOVES: usize = 1;
    /// Slots in use.
    pub(in super::super) const LEN: usize = 8;
    /// Places given up for want of room.
    pub(in super::super) const DROPPED: usize = 9;
}

/// The memory of an index. Other than by its reader and writer it is never interpreted.
#[derive(Debug)]
pub(super) struct Table {
    head: Words<AtomicU64>,
    words: Words<AtomicU64>,
    uses: Words<AtomicU32>,
    /// The last step that there is room for.
    last_step: u32,
    form: Form,
}

/// A place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) line: usize,
    pub(super) way: usize,
}

impl Table {
    pub(super) fn anonymous(form: Form, buckets_max: usize) -> io::Result<Self> {
        let last_step = form.last_step(buckets_max);
        let slots = form.lines(last_step) * WAYS;
        let table = Self {
            head: Words::anonymous(HEAD_WORDS)?,
            words: Words::anonymous(slots)?,
            uses: Words::anonymous(slots)?,
            last_step,
            form,
        };
        table.words.prefer_large_pages();
        table.uses.prefer_large_pages();
        let shape = Shape {
            step: 0,
            frontier: form.buckets(0),
        };
        table.set_shape(shape);
        Ok(table)
    }

    fn head(&self) -> &[AtomicU64; HEAD_WORDS] {
        self.head.first_chunk().expect("made with so many words")
    }

    #[inline]
    pub(super) fn shape(&self) -> Shape {
        Shape::of_bits(self.head()[head::SHAPE].load(Acquire))
    }

    pub(super) fn set_shape(&self, shape: Shape) {
        self.head()[head::SHAPE].store(shape.bits(), Release);
    }

    #[inline]
    pub(super) fn moves(&self) -> &AtomicU64 {
        &self.head()[head::MOVES]
    }

    pub(super) fn len(&self) -> &AtomicU64 {
        &self.head()[head::LEN]
    }

    pub(super) fn dropped(&self) -> &AtomicU64 {
        &self.head()[head::DROPPED]
    }

    /// The words of a line; empty if there is no such line.
    #[inline]
    pub(super) fn line(&self, line: usize) -> &[AtomicU64] {
        let lines = self.words.as_chunks::<WAYS>().0;
        lines.get(line).map_or(&[], |line| line)
    }

    #[inline]
    pub(super) fn word(&self, slot: Slot) -> Option<&AtomicU64> {
        self.line(slot.line).get(slot.way)
    }

    #[inline]
    pub(super) fn uses(&self, slot: Slot) -> Option<&AtomicU32> {
        self.uses.get(slot.line * WAYS + slot.way)
    }

    pub(super) fn has_room_for(&self, step: u32) -> bool {
        step <= self.last_step
    }

    /// Lines in use.
    pub(super) fn lines(&self) -> usize {
        let shape = self.shape();
        let growing = shape.frontier < self.form.buckets(shape.step);
        self.form.lines(shape.step + u32::from(growing))
    }

    pub(super) fn bytes(&self) -> usize {
        let slot_bytes = size_of::<AtomicU64>() + size_of::<AtomicU32>();
        self.lines() * WAYS * slot_bytes + HEAD_WORDS * size_of::<AtomicU64>()
    }
}
