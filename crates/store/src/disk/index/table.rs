//! The memory of an index: a head of a few words, lines of slots, and their uses. Of this process alone, or in a file of
//! memory that the next process attaches to.

use std::fs::File;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use rustix::fs::{FallocateFlags, fallocate};

use super::WAYS;
use super::form::{Form, Shape};
use crate::sync::of_index::{AtomicBool, AtomicU32, AtomicU64, Mutex, Words};

pub(super) const PAGE: u64 = 4096;
/// Words of the head: a page of them.
pub(super) const HEAD_WORDS: usize = if cfg!(all(test, loom)) { 40 } else { 512 };

const WORD_BYTES: usize = size_of::<AtomicU64>();
const USES_BYTES: usize = size_of::<AtomicU32>();

/// What the words of the head are. Those that writers write often are in a cache line that finders don't read.
pub(super) mod head {
    pub(in super::super) const SHAPE: usize = 0;
    /// Slots that have moved since the index was made.
    pub(in super::super) const MOVES: usize = 1;
    /// Slots in use.
    pub(in super::super) const LEN: usize = 8;
    /// Places given up for want of room.
    pub(in super::super) const DROPPED: usize = 9;
    /// Up to where the log is in the index.
    pub(in super::super) const LSN: usize = 10;
    /// See [`super::super::Index::forgotten`].
    pub(in super::super) const FORGOTTEN: usize = 11;
    /// See [`super::super::Index::closed`].
    pub(in super::super) const CLOSED: usize = 12;
    /// Written last when a file is made.
    pub(in super::super) const MAGIC: usize = 16;
    /// The volume that it belongs to: two words.
    pub(in super::super) const VOLUME: usize = 17;
    /// See [`super::Form::eighth`].
    pub(in super::super) const EIGHTH: usize = 19;
    pub(in super::super) const LAST_STEP: usize = 20;
    /// Bytes of the path of the volume's log, and from where on they lie; 0 where it isn't known.
    pub(in super::super) const PATH_BYTES: usize = 21;
    pub(in super::super) const PATH: usize = 32;
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) form: Form,
    /// The last step that there are addresses for.
    last_step: u32,
    /// How many steps there is memory for.
    reserved_steps: AtomicU32,
    /// Where the words are, if not in memory of this process alone; and who is making it larger.
    file: Mutex<Option<File>>,
    /// The file can't become larger: there is no room for it.
    confined: AtomicBool,
    head: Words<AtomicU64>,
    words: Words<AtomicU64>,
    uses: Words<AtomicU32>,
}

/// A place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) line: usize,
    pub(super) way: usize,
}

/// Where the parts of a file begin, and where it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) words_at: u64,
    pub(super) uses_at: u64,
    pub(super) end: u64,
}

impl Layout {
    pub(super) fn of(lines: usize) -> Self {
        let words_at = HEAD_WORDS as u64 * WORD_BYTES as u64;
        let uses_at = words_at + (lines * WAYS * WORD_BYTES) as u64;
        let uses_at = uses_at.next_multiple_of(PAGE);
        let end = uses_at + (lines * WAYS * USES_BYTES) as u64;
        Self {
            words_at,
            uses_at,
            end: end.next_multiple_of(PAGE),
        }
    }
}

impl Table {
    /// Of this process alone; empty.
    pub(super) fn private(form: Form, last_step: u32) -> io::Result<Self> {
        let slots = form.lines(last_step) * WAYS;
        let table = Self {
            form,
            last_step,
            reserved_steps: AtomicU32::new(last_step + 1),
            file: Mutex::new(None),
            confined: AtomicBool::new(false),
            head: Words::anonymous(HEAD_WORDS)?,
            words: Words::anonymous(slots)?,
            uses: Words::anonymous(slots)?,
        };
        table.words.prefer_large_pages();
        table.uses.prefer_large_pages();
        table.set_shape(Shape::at(form, 0));
        Ok(table)
    }

    /// In a file that has the length of its layout. What it holds is as it was; it has no memory reserved yet.
    pub(super) fn of_file(form: Form, last_step: u32, file: File) -> io::Result<Self> {
        let lines = form.lines(last_step);
        let layout = Layout::of(lines);
        fallocate(&file, FallocateFlags::empty(), 0, layout.words_at)?;
        Ok(Self {
            form,
            last_step,
            reserved_steps: AtomicU32::new(0),
            confined: AtomicBool::new(false),
            head: Words::of_file(&file, 0, HEAD_WORDS)?,
            words: Words::of_file(&file, layout.words_at, lines * WAYS)?,
            uses: Words::of_file(&file, layout.uses_at, lines * WAYS)?,
            file: Mutex::new(Some(file)),
        })
    }

    pub(super) fn last_step(&self) -> u32 {
        self.last_step
    }

    /// Whether there is memory for that step.
    pub(super) fn has(&self, step: u32) -> bool {
        step < self.reserved_steps.load(Acquire)
    }

    /// Gets memory for that step, if it can be had and nobody else is at it.
    ///
    /// Beyond what is reserved nothing is touched: there the file has no blocks, and if its file system had none left
    /// either, the kernel would end the process.
    pub(super) fn reserve(&self, step: u32) -> io::Result<()> {
        if self.has(step) {
            return Ok(());
        }
        if step > self.last_step || self.confined.load(Relaxed) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let Ok(file) = self.file.try_lock() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        if let Some(file) = file.as_ref() {
            let layout = Layout::of(self.form.lines(self.last_step));
            let slots = (self.form.lines(step) * WAYS) as u64;
            let flags = FallocateFlags::empty();
            let words = fallocate(file, flags, layout.words_at, slots * WORD_BYTES as u64);
            let all = words
                .and_then(|()| fallocate(file, flags, layout.uses_at, slots * USES_BYTES as u64));
            if let Err(error) = all {
                self.confined.store(true, Relaxed);
                return Err(error.into());
            }
        }
        self.reserved_steps.store(step + 1, Release);
        Ok(())
    }

    pub(super) fn is_confined(&self) -> bool {
        self.confined.load(Relaxed)
    }

    fn head(&self) -> &[AtomicU64; HEAD_WORDS] {
        self.head.first_chunk().expect("made with so many words")
    }

    /// A word of the head, by its name in [`head`].
    #[inline]
    pub(super) fn head_word(&self, name: usize) -> &AtomicU64 {
        let [first, ..] = self.head();
        self.head().get(name).unwrap_or(first)
    }

    #[inline]
    pub(super) fn shape(&self) -> Shape {
        Shape::of_bits(self.head_word(head::SHAPE).load(Acquire))
    }

    pub(super) fn set_shape(&self, shape: Shape) {
        self.head_word(head::SHAPE).store(shape.bits(), Release);
    }

    #[inline]
    pub(super) fn moves(&self) -> &AtomicU64 {
        self.head_word(head::MOVES)
    }

    pub(super) fn len(&self) -> &AtomicU64 {
        self.head_word(head::LEN)
    }

    pub(super) fn dropped(&self) -> &AtomicU64 {
        self.head_word(head::DROPPED)
    }

    pub(super) fn forgotten(&self) -> &AtomicU64 {
        self.head_word(head::FORGOTTEN)
    }

    /// The words of a line; none if there is no such line.
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

    /// Lines in use.
    pub(super) fn lines(&self) -> usize {
        let shape = self.shape();
        let growing = shape.frontier < self.form.buckets(shape.step);
        self.form.lines(shape.step + u32::from(growing))
    }

    pub(super) fn bytes(&self) -> usize {
        self.lines() * WAYS * (WORD_BYTES + USES_BYTES) + HEAD_WORDS * WORD_BYTES
    }
}
