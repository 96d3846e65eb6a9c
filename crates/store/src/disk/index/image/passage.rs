//! How far an image has come that is being taken, and which lines it must take again, as something moved there that it
//! has not met yet. Written under the writer's lock.

use std::sync::atomic::Ordering::Relaxed;

use crate::sync::of_index::{AtomicBool, Mutex, lock};

const BITS: usize = u64::BITS as usize;

/// What is still to be taken.
#[derive(Debug, Default)]
pub(in super::super) struct Passage {
    /// Whether an image is being taken at all.
    active: AtomicBool,
    pending: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    /// All lines from this one on.
    from: usize,
    /// A bit for each of those before it.
    again: Vec<u64>,
}

impl Passage {
    /// Something moved from one line to the other. If it was still to be taken, it still is.
    pub(in super::super) fn note_move(&self, from: usize, to: usize) {
        if self.active.load(Relaxed) {
            self.with(|pending| {
                if pending.has(from) && !pending.has(to) {
                    pending.add(to);
                }
            });
        }
    }

    pub(super) fn begin(&self) {
        self.with(|pending| *pending = Pending::default());
        self.active.store(true, Relaxed);
    }

    pub(super) fn end(&self) {
        self.active.store(false, Relaxed);
        self.with(|pending| *pending = Pending::default());
    }

    /// Gives the next lines to take, at most so many, of a table that has `lines`; none if all is taken.
    pub(super) fn advance(&self, lines: usize, most: usize) -> Vec<usize> {
        self.with(|pending| {
            if pending.from < lines {
                let range = pending.from..lines.min(pending.from.saturating_add(most));
                pending.from = range.end;
                return range.collect();
            }
            // Whatever else there will be comes from lines that are taken.
            pending.from = usize::MAX;
            pending.take_again(most)
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Pending) -> T) -> T {
        act(&mut lock(&self.pending))
    }
}

impl Pending {
    fn has(&self, line: usize) -> bool {
        let bits = self.again.get(line / BITS);
        line >= self.from || bits.is_some_and(|bits| bits >> (line % BITS) & 1 == 1)
    }

    fn add(&mut self, line: usize) {
        if self.again.len() <= line / BITS {
            self.again.resize(line / BITS + 1, 0);
        }
        if let Some(bits) = self.again.get_mut(line / BITS) {
            *bits |= 1 << (line % BITS);
        }
    }

    fn take_again(&mut self, most: usize) -> Vec<usize> {
        let mut lines = Vec::new();
        for (at, bits) in self.again.iter_mut().enumerate() {
            while *bits != 0 && lines.len() < most {
                lines.push(at * BITS + bits.trailing_zeros() as usize);
                *bits &= *bits - 1;
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_falls_back_is_taken_again_wherever_it_goes() {
        let passage = Passage::default();
        passage.note_move(9, 0);
        passage.begin();
        assert_eq!(passage.advance(10, 4), [0, 1, 2, 3]);
        passage.note_move(2, 3);
        passage.note_move(5, 1);
        passage.note_move(6, 8);
        assert_eq!(passage.advance(10, 6), [4, 5, 6, 7, 8, 9]);
        passage.note_move(1, 7);
        assert_eq!(passage.advance(10, 1), [1]);
        // Beyond the end there was by now, as the table grows.
        passage.note_move(7, 130);
        passage.note_move(5, 6);
        assert_eq!(passage.advance(200, 9), [7, 130]);
        passage.note_move(130, 5);
        assert!(passage.advance(200, 9).is_empty());
    }
}
