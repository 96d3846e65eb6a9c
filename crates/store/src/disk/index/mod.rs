//! The index of a volume: where records lie, by the hash of their keys. Twelve bytes a slot, 13 to 15.5 an object.
//!
//! It holds no keys: a tag of 23 bits and more tells them apart, and who reads a record compares its key. So what it
//! finds may be wrong, once in a hundred thousand lookups, but what it holds is found.
//!
//! | file | holds |
//! | --- | --- |
//! | [`place`] | what is in a slot |
//! | [`form`] | which line of slots a hash belongs to, and how the table grows |
//! | `table` | the memory: lines of slots, and the words of the head |
//! | `mod` | what reads: lock-free |
//! | `change` | what writes: under one lock |
//! | `recover` | what writes many places at a time, after a start |
//! | `attach` | the index in shared memory, which outlives the process |
//! | `stale` | whose index in shared memory is whose |
//! | `image/` | the index on disk, which comes back after the machine was down |
//!
//! A key has two lines of eight slots, one of memory's cache lines each, and lies in either. Writers hold a lock, for
//! less time than a record takes to be copied. Finders hold none: what moves, because the table grows or makes room,
//! is written to its new slot, then counted in `moves`, then removed from the old one. Who has seen it in neither has
//! seen that count change, and looks again.

mod attach;
mod change;
mod form;
mod image;
#[cfg(all(test, loom))]
mod orders;
mod place;
mod recover;
mod stale;
mod table;
#[cfg(all(test, not(loom)))]
#[expect(clippy::cast_possible_truncation, reason = "keys of tests are small")]
mod tests;

use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use smallvec::SmallVec;

pub use attach::Origin;
pub use change::Inserted;
use form::{Form, Known};
use image::Passage;
pub use image::{ImageReader, ImageWriter, Title};
use place::Word;
pub use place::{Place, SizeCode, Uses};
pub(crate) use recover::Finding;
pub(crate) use stale::{Owner, owner_of};
use table::{Slot, Table};

use crate::sync::of_index::Mutex;

/// Slots in a line. Two are enough for a model checker, which tries all that may come of each.
const WAYS: usize = if cfg!(all(test, loom)) { 2 } else { 8 };
/// The index grows when it is fuller than this, in percent of its slots. See `examples/index_cost.rs`.
const LOAD_MAX_PERCENT: usize = 90;

/// The index of a volume.
#[derive(Debug)]
pub struct Index {
    form: Form,
    table: Table,
    writer: Mutex<()>,
    passage: Passage,
}

/// What [`Index::find`] finds: mostly nothing or one place.
pub type Places = SmallVec<[Place; 2]>;

impl Index {
    /// An empty index of `slots`, which grows by eighths up to `slots_max`. What it may grow to is reserved, but takes
    /// no memory yet.
    ///
    /// # Errors
    /// Those of mmap(2), if so much can't be reserved.
    pub fn new(slots: usize, slots_max: usize) -> io::Result<Self> {
        let form = Form::new(slots.div_ceil(WAYS));
        let last_step = form.last_step(slots_max.div_ceil(WAYS));
        Ok(Self::of_table(Table::private(form, last_step)?))
    }

    /// All places that a key of this hash may have.
    #[must_use]
    pub fn find(&self, hash: u64) -> Places {
        let known = self.form.known(hash);
        self.settled(|| {
            let mut found = Places::new();
            for spot in self.form.spots(known, self.table.shape()) {
                let line = self.table.line(spot.line);
                // All slots at once, without a branch that can't be foreseen for each.
                let mut ways = 0_u32;
                for (way, slot) in line.iter().enumerate() {
                    let word = Word::of_bits(slot.load(Acquire));
                    ways |= u32::from(word.tag() == spot.tag) << way;
                }
                while ways != 0 {
                    let way = ways.trailing_zeros();
                    ways &= ways - 1;
                    let slot = line.get(way as usize);
                    let word = Word::of_bits(slot.map_or(0, |slot| slot.load(Acquire)));
                    let still = word.tag() == spot.tag && !word.is_empty();
                    // What is just moving may be seen twice.
                    if still && !found.contains(&word.place()) {
                        found.push(word.place());
                    }
                }
            }
            found
        })
    }

    /// What the index knows of a hash: mostly no other hash gives the same. See [`ImageReader::step`].
    #[must_use]
    pub fn known_of(&self, hash: u64) -> u64 {
        self.form.known(hash).0[0]
    }

    /// Notes a use of what lies there. All that a hit writes, and not even that while nothing new can be said.
    pub fn used(&self, hash: u64, place: Place, now_secs: u32) {
        self.change_uses(hash, place, |uses| uses.used(now_secs));
    }

    /// How what lies there was used.
    #[must_use]
    pub fn uses(&self, hash: u64, place: Place) -> Option<Uses> {
        let slot = self.slot_of(self.form.known(hash), place)?;
        Some(Uses::of_bits(self.table.uses(slot)?.load(Relaxed)))
    }

    /// Says how what lies there was used, as known from elsewhere.
    pub fn set_uses(&self, hash: u64, place: Place, uses: Uses) {
        self.change_uses(hash, place, |_| uses);
    }

    /// Halves the uses of what lies there.
    pub fn halve_uses(&self, hash: u64, place: Place) {
        self.change_uses(hash, place, Uses::halved);
    }

    /// Shows all places, in the order of their lines. What moves meanwhile may be shown twice, or rarely not at all.
    pub fn for_each(&self, mut show: impl FnMut(Place, Uses)) {
        for line in 0..self.table.lines() {
            for (way, slot) in self.table.line(line).iter().enumerate() {
                let word = Word::of_bits(slot.load(Acquire));
                if word.is_empty() {
                    continue;
                }
                let uses = self.table.uses(Slot { line, way });
                let uses = uses.map_or(0, |uses| uses.load(Relaxed));
                show(word.place(), Uses::of_bits(uses));
            }
        }
    }

    /// Objects.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.table.len().load(Relaxed)).unwrap_or(usize::MAX)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Objects that it has room for at its present size.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots_at(self.table.shape().step)
    }

    /// Memory in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// Places given up because there was no room for them: both lines full, and nothing in them could move.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.table.dropped().load(Relaxed)
    }

    /// Of what is in the log up to this number something may be missing here, as what took its place can't be read; 0 if
    /// nothing is.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.table.forgotten().load(Relaxed)
    }

    /// Says that something is missing of what is in the log up to there.
    pub fn note_forgotten(&self, lsn: u64) {
        self.table.forgotten().fetch_max(lsn, Relaxed);
    }

    /// Whether shared memory has no room for it to grow in: it then drops what was used least.
    #[must_use]
    pub fn is_confined(&self) -> bool {
        self.table.is_confined()
    }

    fn slots_at(&self, step: u32) -> usize {
        self.form.buckets(step) as usize * WAYS
    }

    /// Whether it is so full that it is to grow.
    fn is_crowded(&self) -> bool {
        self.len() > self.slots() / 100 * LOAD_MAX_PERCENT
    }

    fn change_uses(&self, hash: u64, place: Place, change: impl FnOnce(Uses) -> Uses) {
        let slot = self.slot_of(self.form.known(hash), place);
        let Some(word) = slot.and_then(|slot| self.table.uses(slot)) else {
            return;
        };
        let old = word.load(Relaxed);
        let new = change(Uses::of_bits(old)).bits();
        if new != old {
            // Who loses this race has seen the same record used, or the slot change hands: either may go uncounted.
            let _lost = word.compare_exchange(old, new, Relaxed, Relaxed);
        }
    }

    fn slot_of(&self, known: Known, place: Place) -> Option<Slot> {
        self.settled(|| {
            let spots = self.form.spots(known, self.table.shape());
            spots.into_iter().find_map(|spot| {
                let wanted = Word::new(spot.tag, place).bits();
                let line = self.table.line(spot.line);
                let way = line.iter().position(|slot| slot.load(Acquire) == wanted)?;
                Some(Slot {
                    line: spot.line,
                    way,
                })
            })
        })
    }

    /// What was seen while nothing moved.
    fn settled<T>(&self, look: impl Fn() -> T) -> T {
        loop {
            let moves = self.table.moves().load(Acquire);
            let seen = look();
            if self.table.moves().load(Relaxed) == moves {
                return seen;
            }
        }
    }
}
