//! Who is evicted next: a heap of ranks, which hits leave as it is. Ranks only grow, so one that is old is put right when
//! it comes to the top; see [`rank`](super::rank).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::entries::Place;
use super::rank::Rank;

/// Dead places beyond half of the heap, before they are swept out.
const DEAD_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<Ranked>>,
    /// Of the latest push; what lies here under another number than its entry's is dead.
    pushes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    rank: Rank,
    push: u32,
    place: Place,
}

impl Queue {
    /// Puts a place in; gives the number under which it is there, never 0.
    pub(super) fn push(&mut self, rank: Rank, place: Place) -> u32 {
        self.pushes = self.pushes.checked_add(1).unwrap_or(1);
        if self.heap.len() == self.heap.capacity() {
            self.heap.reserve_exact((self.heap.len() / 8).max(8));
        }
        let push = self.pushes;
        self.heap.push(Reverse(Ranked { rank, push, place }));
        push
    }

    /// The lowest rank; the real one may be higher.
    pub(super) fn lowest(&self) -> Rank {
        self.heap.peek().map_or(Rank::MAX, |Reverse(top)| top.rank)
    }

    /// The place of the lowest rank, which is real. `rank_of` says the rank of what is at a place under that number.
    pub(super) fn first(
        &mut self,
        rank_of: impl Fn(Place, u32) -> Option<Rank>,
    ) -> Option<(Rank, Place)> {
        loop {
            let mut top = self.heap.peek_mut()?;
            let Ranked { rank, push, place } = top.0;
            match rank_of(place, push) {
                None => {
                    PeekMut::pop(top);
                }
                Some(real) if real > rank => top.0.rank = real,
                Some(_) => return Some((rank, place)),
            }
        }
    }

    pub(super) fn pop(&mut self) {
        self.heap.pop();
    }

    /// Removal leaves its place behind; too many of those are swept out at once.
    pub(super) fn shrink(&mut self, alive: usize, is_alive: impl Fn(Place, u32) -> bool) {
        if self.heap.len() / 2 > alive + DEAD_MAX {
            self.heap
                .retain(|Reverse(ranked)| is_alive(ranked.place, ranked.push));
        }
    }

    pub(super) fn clear(&mut self) {
        self.heap.clear();
    }
}
