//! What recovery found in the log is put in many at a time: their lines are fetched from memory together, and the lock is
//! taken and the count written once for all of them. A place costs a third of what it does alone.

use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;

use smallvec::SmallVec;

use super::Index;
use super::change::Inserted;
use super::form::{Known, Shape};
use super::place::{Place, Uses, Word};
use super::table::Slot;
use crate::sync::of_index::lock;

/// Places whose lines are fetched together. As many reads of memory are under way at a time, about.
const TOGETHER: usize = 16;

/// A record that was found in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding {
    pub(crate) hash: u64,
    pub(crate) place: Place,
    pub(crate) uses: Uses,
}

/// What became of one.
enum Came {
    Added,
    /// It took the place of so many others, but for the one whose slot it has.
    Replaced(u64),
    Dropped,
    Passed,
}

impl Index {
    /// Puts in what was found, in the place of what is there under the same hash, unless `stays` says of that that it is to
    /// stay. Returns how many places were driven out for want of room.
    pub(crate) fn recover(
        &self,
        findings: &[Finding],
        stays: impl Fn(Place, &Finding) -> bool,
    ) -> u64 {
        let mut dropped = 0;
        for group in findings.chunks(TOGETHER) {
            if self.is_crowded() {
                // See `insert`.
                let _room = self.table.reserve(self.table.shape().step + 1);
            }
            let _writing = lock(&self.writer);
            for _ in group {
                self.grow();
            }
            let shape = self.table.shape();
            let known: SmallVec<[Known; TOGETHER]> = group
                .iter()
                .map(|finding| self.form.known(finding.hash))
                .collect();
            self.fetch(&known, shape);
            let mut added = 0;
            for (finding, known) in group.iter().zip(known) {
                match self.take(finding, known, shape, &stays) {
                    Came::Added => added += 1,
                    Came::Dropped => dropped += 1,
                    Came::Replaced(others) => {
                        self.table.len().fetch_sub(others, Relaxed);
                    }
                    Came::Passed => {}
                }
            }
            self.table.len().fetch_add(added, Relaxed);
        }
        dropped
    }

    /// Has the lines come from memory.
    fn fetch(&self, known: &[Known], shape: Shape) {
        let mut seen = 0;
        for known in known {
            for spot in self.form.spots(*known, shape) {
                let slot = Slot {
                    line: spot.line,
                    way: 0,
                };
                seen ^= self.word(slot).bits();
            }
        }
        black_box(seen);
    }

    fn take(
        &self,
        finding: &Finding,
        known: Known,
        shape: Shape,
        stays: impl Fn(Place, &Finding) -> bool,
    ) -> Came {
        let mut there: SmallVec<[Slot; 2]> = SmallVec::new();
        for spot in self.form.spots(known, shape) {
            for (way, word) in self.table.line(spot.line).iter().enumerate() {
                let word = Word::of_bits(word.load(Relaxed));
                if word.tag() != spot.tag || word.is_empty() {
                    continue;
                }
                if stays(word.place(), finding) {
                    return Came::Passed;
                }
                there.push(Slot {
                    line: spot.line,
                    way,
                });
            }
        }
        let Some((first, others)) = there.split_first() else {
            return match self.put(known, finding.place, finding.uses) {
                Inserted::Added => Came::Added,
                Inserted::Dropped(_) => Came::Dropped,
            };
        };
        let tag = self.word(*first).tag();
        self.fill(*first, Word::new(tag, finding.place), finding.uses);
        for other in others {
            self.set_word(*other, Word::EMPTY);
        }
        Came::Replaced(others.len() as u64)
    }
}
