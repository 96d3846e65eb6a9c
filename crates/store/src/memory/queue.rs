//! Who is evicted next: a heap of ranks, which hits leave as it is. Ranks only grow, so one that is old is put right when
//! it comes to the top; see [`rank`](super::rank).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::entries::Place;
use super::rank::Rank;

/// Dead places beyond half of the heap, before they are swept out.
const DEAD_MAX: usize = 64;

/// A place may be here several times, as what is removed from the shard leaves its place behind and others take it: each
/// is under a rank that what is there now had at most, or will be passed by.
#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<Ranked>>,
}

/// Twelve bytes, for each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(Rust, packed(4))]
struct Ranked {
    rank: Rank,
    place: Place,
}

impl Queue {
    pub(super) fn push(&mut self, rank: Rank, place: Place) {
        if self.heap.len() == self.heap.capacity() {
            self.heap.reserve_exact((self.heap.len() / 8).max(8));
        }
        self.heap.push(Reverse(Ranked { rank, place }));
    }

    /// The lowest rank; the real one may be higher.
    pub(super) fn lowest(&self) -> Rank {
        self.heap.peek().map_or(Rank::MAX, |Reverse(top)| top.rank)
    }

    /// The place of the lowest rank, which is real. `rank_of` says the rank of what is at a place, if that is in the queue.
    pub(super) fn first(
        &mut self,
        rank_of: impl Fn(Place) -> Option<Rank>,
    ) -> Option<(Rank, Place)> {
        loop {
            let mut top = self.heap.peek_mut()?;
            let Ranked { rank, place } = top.0;
            match rank_of(place) {
                None => {
                    PeekMut::pop(top);
                }
                Some(real) if real > rank => top.0.rank = real,
                Some(real) => return Some((real, place)),
            }
        }
    }

    pub(super) fn pop(&mut self) {
        self.heap.pop();
    }

    /// Removal leaves its place behind; when there are too many of those, all are put in anew. `alive` are those that are
    /// in the queue, at most `most`.
    pub(super) fn shrink(&mut self, most: usize, alive: impl Iterator<Item = (Rank, Place)>) {
        if self.heap.len() / 2 > most + DEAD_MAX {
            self.heap.clear();
            self.heap
                .extend(alive.map(|(rank, place)| Reverse(Ranked { rank, place })));
        }
    }

    pub(super) fn clear(&mut self) {
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const _: () = assert!(size_of::<Ranked>() == 12, "for each object");

    /// All places in the order in which they leave, with the ranks under which they do.
    fn drained(queue: &mut Queue, ranks: &mut [Option<Rank>]) -> Vec<(Rank, Place)> {
        let mut drained = Vec::new();
        while let Some((rank, place)) = queue.first(|place| ranks[place as usize]) {
            queue.pop();
            ranks[place as usize] = None;
            drained.push((rank, place));
        }
        drained
    }

    #[test]
    fn who_takes_the_place_of_another_leaves_by_its_own_rank() {
        let mut queue = Queue::default();
        for (rank, place) in [(2, 0), (7, 1), (9, 0), (3, 1), (5, 2)] {
            queue.push(rank, place);
        }
        let mut ranks = [Some(9), Some(3), Some(6)];
        assert_eq!(drained(&mut queue, &mut ranks), [(3, 1), (6, 2), (9, 0)]);
    }

    #[test]
    fn what_the_dead_leave_behind_is_swept_out() {
        let mut queue = Queue::default();
        for rank in 0..1000 {
            queue.push(rank, 0);
        }
        queue.shrink(1, std::iter::once((4, 0)));
        assert_eq!(queue.heap.len(), 1);
        assert_eq!(queue.lowest(), 4);
    }
}
