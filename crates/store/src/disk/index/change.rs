//! What writes to the index: insertion, replacement, removal, and growth, a few buckets with each insertion. All of it
//! under the writer's lock, which is held for as long as a few lines take to come from memory.

use std::ops::Range;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::form::{Known, Shape, Spot};
use super::place::{Place, Uses, Word};
use super::table::Slot;
use super::{Index, LOAD_MAX_PERCENT, WAYS};
use crate::sync::of_index::lock;

/// Buckets that move with an insertion while the index grows: a step is done before an eighth of that is inserted.
const MOVES_PER_INSERTION: u32 = 8;
/// Slots that move beyond the first, each into the place of the next, before something is given up. Without them it was
/// one place in 80,000 while the index grew to 10 million; with one, none.
const DISPLACEMENTS_MAX: u32 = 1;
/// Lines that are swept without a pause for other writers.
const LINES_PER_SWEEP: usize = 1024;

/// What came of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is in.
    Added,
    /// It is in, and has driven out this one.
    Dropped(Place),
}

impl Index {
    /// Puts a place beside those that its key has already.
    pub fn insert(&self, hash: u64, place: Place) -> Inserted {
        let known = self.form.known(hash);
        if self.is_crowded() {
            // Without the lock, as it may take milliseconds. Without it the index stays as large as it is.
            let _room = self.table.reserve(self.table.shape().step + 1);
        }
        let _writing = lock(&self.writer);
        self.grow();
        let inserted = self.put(known, place, Uses::default());
        if inserted == Inserted::Added {
            self.table.len().fetch_add(1, Relaxed);
        }
        inserted
    }

    /// Puts `new` in the place of `old`, with its uses; false if that isn't here.
    pub fn replace(&self, hash: u64, old: Place, new: Place) -> bool {
        let known = self.form.known(hash);
        let _writing = lock(&self.writer);
        let Some(slot) = self.slot_of(known, old) else {
            return false;
        };
        let tag = self.word(slot).tag();
        self.set_word(slot, Word::new(tag, new));
        true
    }

    /// Removes a place; false if it isn't here.
    pub fn remove(&self, hash: u64, place: Place) -> bool {
        let known = self.form.known(hash);
        let _writing = lock(&self.writer);
        let Some(slot) = self.slot_of(known, place) else {
            return false;
        };
        self.set_word(slot, Word::EMPTY);
        self.table.len().fetch_sub(1, Relaxed);
        true
    }

    /// Removes all that lies in these granules; says how many places those were.
    pub fn remove_all_in(&self, granules: Range<u32>) -> usize {
        let mut removed = 0;
        let mut line = 0;
        // What moves meanwhile moves up, as a rule; the few that don't are found wrong when they are read.
        while line < self.table.lines() {
            let _writing = lock(&self.writer);
            for line in line..line + LINES_PER_SWEEP {
                removed += self.sweep(line, &granules);
            }
            line += LINES_PER_SWEEP;
        }
        removed
    }

    /// Makes it large enough for so many objects at once, as far as it may grow.
    pub fn reserve(&self, objects: usize) {
        let fits = |step: &u32| self.slots_at(*step) / 100 * LOAD_MAX_PERCENT >= objects;
        let last = self.table.last_step();
        self.grow_to((0..last).find(fits).unwrap_or(last));
    }

    pub(super) fn grow_to(&self, step: u32) {
        if self.table.reserve(step).is_err() {
            return;
        }
        while self.table.shape().step < step {
            let _writing = lock(&self.writer);
            if self.is_empty() {
                self.table.set_shape(Shape::at(self.form, step));
            } else {
                self.move_buckets(self.table.shape());
            }
        }
    }

    /// Puts back what was at that spot in an index of that shape. Under the lock, like all below.
    pub(super) fn restore(&self, spot: Spot, shape: Shape, place: Place, uses: Uses) {
        self.grow();
        let now = self.table.shape();
        let spots = self.form.spots_of(spot, shape, now);
        let word = Word::new(spots[0].tag, place);
        let mut line = self.table.line(spots[0].line).iter();
        // What moved while the image was taken is in it twice.
        if line.any(|slot| slot.load(Relaxed) == word.bits()) {
            return;
        }
        if self.copy(usize::MAX, spots, place, uses, now) {
            self.table.len().fetch_add(1, Relaxed);
        }
    }

    fn sweep(&self, line: usize, granules: &Range<u32>) -> usize {
        let mut removed = 0;
        for slot in self.table.line(line) {
            let word = Word::of_bits(slot.load(Relaxed));
            if !word.is_empty() && granules.contains(&word.place().granule) {
                slot.store(Word::EMPTY.bits(), Release);
                self.table.len().fetch_sub(1, Relaxed);
                removed += 1;
            }
        }
        removed
    }

    /// Puts a place in. What is added isn't counted yet.
    pub(super) fn put(&self, known: Known, place: Place, uses: Uses) -> Inserted {
        let shape = self.table.shape();
        let spots = self.form.spots(known, shape);
        let free = self
            .free_slot(spots)
            .or_else(|| self.make_room(spots, shape));
        if let Some((slot, tag)) = free {
            self.fill(slot, Word::new(tag, place), uses);
            return Inserted::Added;
        }
        self.table.dropped().fetch_add(1, Relaxed);
        let Some((slot, tag)) = self.least_used(spots) else {
            return Inserted::Dropped(place);
        };
        let victim = self.word(slot).place();
        self.fill(slot, Word::new(tag, place), uses);
        Inserted::Dropped(victim)
    }

    /// A free slot of the emptier of two lines, and the tag there.
    fn free_slot(&self, spots: [Spot; 2]) -> Option<(Slot, u32)> {
        let [first, second] = spots.map(|spot| self.free_in(spot));
        if second.0 > first.0 {
            second.1
        } else {
            first.1
        }
    }

    /// How many free slots there are in a line, and one of them with the tag there.
    fn free_in(&self, spot: Spot) -> (usize, Option<(Slot, u32)>) {
        let line = spot.line;
        let mut free = (0, None);
        for (way, slot) in self.table.line(line).iter().enumerate() {
            if Word::of_bits(slot.load(Relaxed)).is_empty() {
                free = (free.0 + 1, Some((Slot { line, way }, spot.tag)));
            }
        }
        free
    }

    /// Makes a slot free in one of two full lines by moving what lies there to its other line; if that is full as well,
    /// by moving something from there in turn.
    fn make_room(&self, spots: [Spot; 2], shape: Shape) -> Option<(Slot, u32)> {
        (0..=DISPLACEMENTS_MAX).find_map(|depth| self.displace(&spots, shape, depth))
    }

    /// Copies something of these full lines to its other line. Its slot is the caller's now.
    fn displace(&self, spots: &[Spot], shape: Shape, depth: u32) -> Option<(Slot, u32)> {
        for spot in spots {
            for way in 0..WAYS {
                let line = spot.line;
                let slot = Slot { line, way };
                let at = Spot {
                    line,
                    tag: self.word(slot).tag(),
                };
                let [_, other] = self.form.spots_of(at, shape, shape);
                let free = match depth.checked_sub(1) {
                    None => self.free_in(other).1,
                    // In the same line nothing is gained.
                    Some(_) if other.line == line => None,
                    Some(depth) => self.displace(&[other], shape, depth),
                };
                if let Some((to, tag)) = free {
                    let place = self.word(slot).place();
                    self.fill(to, Word::new(tag, place), self.uses_at(slot));
                    self.passage.note_move(line, to.line);
                    self.table.moves().fetch_add(1, Release);
                    return Some((slot, spot.tag));
                }
            }
        }
        None
    }

    /// The slot of two full lines that was used least; of several the one idle for longest, as far as ticks tell.
    fn least_used(&self, spots: [Spot; 2]) -> Option<(Slot, u32)> {
        let ways = spots.into_iter().flat_map(|spot| {
            let slot = move |way| Slot {
                line: spot.line,
                way,
            };
            (0..WAYS).map(move |way| (slot(way), spot.tag))
        });
        ways.min_by_key(|(slot, _)| self.uses_at(*slot).bits())
    }

    /// Begins to grow if the load asks for it; goes on growing if it has begun.
    pub(super) fn grow(&self) {
        let shape = self.table.shape();
        let buckets = self.form.buckets(shape.step);
        let begins = self.is_crowded() && self.table.has(shape.step + 1);
        if shape.frontier == buckets && !begins {
            return;
        }
        self.move_buckets(shape);
    }

    fn move_buckets(&self, shape: Shape) {
        let last = shape.frontier.saturating_sub(MOVES_PER_INSERTION);
        for bucket in (last..shape.frontier).rev() {
            self.move_bucket(bucket, shape.step);
        }
    }

    /// Moves the last bucket of that step that hasn't moved yet.
    fn move_bucket(&self, bucket: u32, step: u32) {
        let before = Shape {
            step,
            frontier: bucket + 1,
        };
        let mut after = Shape {
            step,
            frontier: bucket,
        };
        let line = bucket as usize + step as usize;
        for way in 0..WAYS {
            let slot = Slot { line, way };
            let word = self.word(slot);
            if !word.is_empty() {
                let tag = word.tag();
                let spots = self.form.spots_of(Spot { line, tag }, before, after);
                if !self.copy(line, spots, word.place(), self.uses_at(slot), after) {
                    self.table.len().fetch_sub(1, Relaxed);
                }
            }
        }
        if bucket == 0 {
            after = Shape {
                step: step + 1,
                frontier: self.form.buckets(step + 1),
            };
        }
        self.table.set_shape(after);
        self.table.moves().fetch_add(1, Release);
        for way in 0..WAYS {
            self.set_word(Slot { line, way }, Word::EMPTY);
        }
    }

    /// Writes to a new slot what is about to leave its old one; false if there is none for it.
    ///
    /// It keeps its choice, the first of `spots`, if it can: that line lies near those of its neighbours, the other one
    /// would have to be fetched.
    fn copy(&self, from: usize, spots: [Spot; 2], place: Place, uses: Uses, shape: Shape) -> bool {
        let [same, other] = spots;
        let free = (self.free_in(same).1)
            .or_else(|| self.free_in(other).1)
            .or_else(|| self.make_room(spots, shape));
        match free {
            Some((slot, tag)) => {
                self.fill(slot, Word::new(tag, place), uses);
                self.passage.note_move(from, slot.line);
            }
            None => {
                self.table.dropped().fetch_add(1, Relaxed);
            }
        }
        free.is_some()
    }

    pub(super) fn word(&self, slot: Slot) -> Word {
        let word = self.table.word(slot);
        word.map_or(Word::EMPTY, |word| Word::of_bits(word.load(Relaxed)))
    }

    pub(super) fn set_word(&self, slot: Slot, word: Word) {
        if let Some(old) = self.table.word(slot) {
            old.store(word.bits(), Release);
        }
    }

    fn uses_at(&self, slot: Slot) -> Uses {
        let uses = self.table.uses(slot);
        Uses::of_bits(uses.map_or(0, |uses| uses.load(Relaxed)))
    }

    pub(super) fn fill(&self, slot: Slot, word: Word, uses: Uses) {
        if let Some(old) = self.table.uses(slot) {
            old.store(uses.bits(), Relaxed);
        }
        self.set_word(slot, word);
    }
}
