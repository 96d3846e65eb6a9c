//! A shard of the index: a hash table of keys, the variants of each as a list, and a heap of their ranks.
//!
//! A hit writes an entry's uses and rank and leaves the heap as it is; see [`rank`](super::rank).

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table;
use slab::Slab;
use smallvec::SmallVec;

use super::ghosts::Ghosts;
use super::rank::{Ages, Rank};
use crate::collapse::Leads;
use crate::invalidate::Tag;
use crate::key::KeyRef;
use crate::object::{Object, Weigh};

/// Place of an entry in the slab.
type Place = u32;
const NOWHERE: Place = Place::MAX;
/// Dead places in the heap beyond half of it, before they are swept out.
const DEAD_MAX: usize = 64;

/// Objects that left the index; dropped by the caller once the lock is released.
pub(crate) type Removed<M> = SmallVec<[Arc<Object<M>>; 2]>;

pub(super) struct Shard<M> {
    /// The newest variant of each key.
    table: HashTable<Place>,
    entries: Slab<Entry<M>>,
    heap: BinaryHeap<Reverse<Ranked>>,
    /// Of the latest push into the heap; what lies there under another number is dead.
    pushes: u32,
    stamp: u64,
    ghosts: Ghosts,
    /// Who has a tag.
    tagged: BTreeSet<(Tag, Place)>,
    pub(super) leads: Leads<M>,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) inserts: u64,
}

struct Entry<M> {
    hash: u64,
    rank: Rank,
    object: Arc<Object<M>>,
    uses: u32,
    /// What a use is worth.
    worth: f32,
    /// Number of its place in the heap; 0 while the object is arriving: it can't be evicted.
    push: u32,
    /// The next older variant.
    older: Place,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    rank: Rank,
    push: u32,
    place: Place,
}

/// What came of looking for a victim.
pub(super) enum Victim<M> {
    /// With the rank that it had.
    Evicted(Rank, Removed<M>),
    /// The lowest was in use. It is out of the heap until [`Shard::unpark`].
    Spared(Arc<Object<M>>),
    /// The lowest rank of the shard has grown past what the caller allowed.
    Higher,
    Empty,
}

impl<M> Default for Shard<M> {
    fn default() -> Self {
        Self {
            table: HashTable::new(),
            entries: Slab::new(),
            heap: BinaryHeap::new(),
            pushes: 0,
            stamp: 0,
            ghosts: Ghosts::default(),
            tagged: BTreeSet::new(),
            leads: Leads::default(),
            hits: 0,
            misses: 0,
            inserts: 0,
        }
    }
}

impl<M: Weigh> Shard<M> {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &Arc<Object<M>>> {
        self.entries.iter().map(|(_, entry)| &entry.object)
    }

    /// The objects that have any of these tags, each once.
    pub(super) fn tagged(&self, tags: &[Tag]) -> Vec<Arc<Object<M>>> {
        let all = |tag: Tag| self.tagged.range((tag, 0)..=(tag, NOWHERE));
        let mut places: Vec<Place> = tags
            .iter()
            .flat_map(|tag| all(*tag).map(|(_, place)| *place))
            .collect();
        places.sort_unstable();
        places.dedup();
        let entries = places
            .iter()
            .filter_map(|place| entry_at(&self.entries, *place));
        entries.map(|entry| Arc::clone(&entry.object)).collect()
    }

    /// The variants of a key, the newest first.
    pub(super) fn under(&self, key: KeyRef<'_>) -> Vec<Arc<Object<M>>> {
        let newest = entry_at(&self.entries, self.newest(key));
        std::iter::successors(newest, |entry| entry_at(&self.entries, entry.older))
            .map(|entry| Arc::clone(&entry.object))
            .collect()
    }

    /// The lowest rank in the heap; the real one may be higher.
    pub(super) fn lowest(&self) -> Rank {
        self.heap.peek().map_or(Rank::MAX, |Reverse(top)| top.rank)
    }

    /// The newest variant that matches, or an older one that is preferred to it.
    pub(super) fn find(
        &mut self,
        key: KeyRef<'_>,
        ages: &Ages,
        mut matches: impl FnMut(&M) -> bool,
    ) -> Option<Arc<Object<M>>> {
        let (mut found, mut place) = (NOWHERE, self.newest(key));
        while let Some(entry) = entry_at(&self.entries, place) {
            let meta = &entry.object.meta;
            let better = entry_at(&self.entries, found)
                .is_none_or(|found| meta.preferred_to(&found.object.meta));
            if better && matches(meta) {
                found = place;
            }
            place = entry.older;
        }
        let Some(entry) = entry_mut(&mut self.entries, found) else {
            self.misses += 1;
            return None;
        };
        entry.uses = entry.uses.saturating_add(1);
        entry.rank = ages.rank(entry.uses, entry.worth, &mut self.stamp);
        self.hits += 1;
        Some(Arc::clone(&entry.object))
    }

    /// All variants that match, the newest first.
    pub(super) fn find_all(
        &mut self,
        key: KeyRef<'_>,
        ages: &Ages,
        mut matches: impl FnMut(&M) -> bool,
    ) -> Vec<Arc<Object<M>>> {
        let mut found = Vec::new();
        let mut place = self.newest(key);
        while let Some(entry) = entry_mut(&mut self.entries, place) {
            if matches(&entry.object.meta) {
                entry.uses = entry.uses.saturating_add(1);
                entry.rank = ages.rank(entry.uses, entry.worth, &mut self.stamp);
                found.push(Arc::clone(&entry.object));
            }
            place = entry.older;
        }
        found
    }

    /// All variants that match, the newest first; not as uses of them.
    pub(super) fn variants(
        &self,
        key: KeyRef<'_>,
        mut matches: impl FnMut(&M) -> bool,
    ) -> Vec<Arc<Object<M>>> {
        let mut found = Vec::new();
        let mut place = self.newest(key);
        while let Some(entry) = entry_at(&self.entries, place) {
            if matches(&entry.object.meta) {
                found.push(Arc::clone(&entry.object));
            }
            place = entry.older;
        }
        found
    }

    /// As [`Shard::find`], for a request whose miss is counted already.
    pub(super) fn find_again(
        &mut self,
        key: KeyRef<'_>,
        ages: &Ages,
        matches: impl FnMut(&M) -> bool,
    ) -> Option<Arc<Object<M>>> {
        let found = self.find(key, ages, matches);
        if found.is_none() {
            self.misses -= 1;
        }
        found
    }

    /// Puts `object` in front of the variants of its key. Removes nothing.
    pub(super) fn link(&mut self, hash: u64, object: &Arc<Object<M>>, uses: u32, ages: &Ages) {
        let first = u32::from(!object.meta.is_spare());
        let uses = if uses > 0 || first == 0 || !ages.remembers_ghosts() {
            uses.max(first)
        } else {
            1 + self.ghosts.recall(hash)
        };
        self.inserts += 1;
        let complete = object.is_complete();
        if self.entries.len() == self.entries.capacity() {
            // By an eighth: doubling would leave half of the memory unused.
            self.entries.reserve_exact((self.entries.len() / 8).max(8));
        }
        let slot = self.entries.vacant_entry();
        let Ok(place) = Place::try_from(slot.key()) else {
            return;
        };
        let key = KeyRef::with_hash(hash, object.key());
        let worth = ages.worth(object.rank_bytes());
        let rank = ages.rank_of_new(uses, worth, &mut self.stamp);
        slot.insert(Entry {
            hash,
            rank,
            object: Arc::clone(object),
            uses,
            worth,
            push: 0,
            older: NOWHERE,
        });
        for tag in object.meta.tags() {
            self.tagged.insert((*tag, place));
        }
        let older = self.replace_newest(key, place);
        if let Some(entry) = entry_mut(&mut self.entries, place) {
            entry.older = older;
        }
        if complete {
            self.push(place);
        }
    }

    /// An object that was arriving is complete: it can now be evicted, and older ones that it supersedes go.
    /// `None` if it isn't here any more.
    pub(super) fn completed(
        &mut self,
        key: KeyRef<'_>,
        object: &Arc<Object<M>>,
        ages: &Ages,
    ) -> Option<Removed<M>> {
        let place = self.place_of(key, object)?;
        let entry = entry_mut(&mut self.entries, place)?;
        entry.worth = ages.worth(object.rank_bytes());
        entry.rank = ages.rank_of_new(entry.uses, entry.worth, &mut self.stamp);
        self.push(place);
        Some(self.remove_superseded(key, object))
    }

    /// Removes what is older than `object` and superseded by it.
    pub(super) fn remove_superseded(
        &mut self,
        key: KeyRef<'_>,
        object: &Arc<Object<M>>,
    ) -> Removed<M> {
        let mut past = false;
        self.remove_if(key, |other| {
            if Arc::ptr_eq(other, object) {
                past = true;
                return false;
            }
            past && object.meta.supersedes(&other.meta)
        })
    }

    /// Removes the least useful complete variant while there are more than `most`, of parts or of whole ones; the
    /// newest stays.
    pub(super) fn limit_variants(
        &mut self,
        key: KeyRef<'_>,
        parts: bool,
        most: usize,
    ) -> Removed<M> {
        let mut removed = Removed::new();
        loop {
            let mut count = 0;
            let mut lowest: Option<(Rank, Place)> = None;
            let newest = self.newest(key);
            let mut place = newest;
            while let Some(entry) = entry_at(&self.entries, place) {
                if entry.object.meta.is_part() != parts {
                    place = entry.older;
                    continue;
                }
                count += 1;
                let candidate = (entry.rank, place);
                // In the middle of a tie the older one goes: it comes later in the list.
                if place != newest
                    && entry.push != 0
                    && lowest.is_none_or(|lowest| candidate.0 <= lowest.0)
                {
                    lowest = Some(candidate);
                }
                place = entry.older;
            }
            let Some((_, place)) = lowest.filter(|_| count > most.max(1)) else {
                return removed;
            };
            let Some(victim) =
                entry_at(&self.entries, place).map(|entry| Arc::clone(&entry.object))
            else {
                return removed;
            };
            removed.extend(self.remove_if(key, |object| Arc::ptr_eq(object, &victim)));
        }
    }

    /// Removes the variants of `key` that `gone` names, asked from the newest on.
    pub(super) fn remove_if(
        &mut self,
        key: KeyRef<'_>,
        mut gone: impl FnMut(&Arc<Object<M>>) -> bool,
    ) -> Removed<M> {
        let mut removed = Removed::new();
        let mut kept = NOWHERE;
        let mut place = self.newest(key);
        while let Some(entry) = entry_at(&self.entries, place) {
            let older = entry.older;
            if gone(&entry.object) {
                self.unlink(key, kept, older);
                let object = self.entries.remove(place as usize).object;
                for tag in object.meta.tags() {
                    self.tagged.remove(&(*tag, place));
                }
                removed.push(object);
            } else {
                kept = place;
            }
            place = older;
        }
        self.shrink_heap();
        removed
    }

    /// Puts `object` in the place of `old`, in front; `None` if that isn't here.
    pub(super) fn renew(
        &mut self,
        key: KeyRef<'_>,
        old: &Arc<Object<M>>,
        object: &Arc<Object<M>>,
        ages: &Ages,
    ) -> Option<Removed<M>> {
        let place = self.place_of(key, old)?;
        let uses = entry_at(&self.entries, place)?.uses;
        let removed = self.remove_if(key, |other| Arc::ptr_eq(other, old));
        self.link(key.hash(), object, uses, ages);
        Some(removed)
    }

    pub(super) fn clear(&mut self) -> Vec<Arc<Object<M>>> {
        self.table.clear();
        self.heap.clear();
        self.tagged.clear();
        self.entries.drain().map(|entry| entry.object).collect()
    }

    /// Evicts the object of the lowest rank, if that isn't above `rank_max`.
    pub(super) fn evict(&mut self, ages: &Ages, rank_max: Rank, spare: bool) -> Victim<M> {
        loop {
            let Some(mut top) = self.heap.peek_mut() else {
                return Victim::Empty;
            };
            let Ranked { rank, push, place } = top.0;
            let entry = entry_mut(&mut self.entries, place).filter(|entry| entry.push == push);
            let Some(entry) = entry else {
                PeekMut::pop(top);
                continue;
            };
            if entry.rank > rank {
                top.0.rank = entry.rank;
                continue;
            }
            if rank > rank_max {
                return Victim::Higher;
            }
            PeekMut::pop(top);
            if spare && Arc::strong_count(&entry.object) > 1 {
                entry.push = 0;
                return Victim::Spared(Arc::clone(&entry.object));
            }
            return Victim::Evicted(rank, self.evict_at(place, ages));
        }
    }

    /// Puts a spared object back into the heap, ranked as if it had been evicted and had come back with all its uses.
    pub(super) fn unpark(&mut self, key: KeyRef<'_>, object: &Arc<Object<M>>, ages: &Ages) {
        let Some(place) = self.place_of(key, object) else {
            return;
        };
        let Some(entry) = entry_mut(&mut self.entries, place) else {
            return;
        };
        if entry.push == 0 {
            entry.rank = ages.rank_of_spared(entry.rank, entry.uses, entry.worth, &mut self.stamp);
            self.push(place);
        }
    }

    fn evict_at(&mut self, place: Place, ages: &Ages) -> Removed<M> {
        let Some(entry) = entry_at(&self.entries, place) else {
            return Removed::new();
        };
        let object = Arc::clone(&entry.object);
        let (hash, uses) = (entry.hash, entry.uses);
        if ages.remembers_ghosts() && !object.meta.is_spare() {
            self.ghosts.remember(hash, uses, self.entries.len());
        }
        self.remove_if(KeyRef::with_hash(hash, object.key()), |other| {
            Arc::ptr_eq(other, &object)
        })
    }

    fn newest(&self, key: KeyRef<'_>) -> Place {
        let found = self
            .table
            .find(key.hash(), |&place| is_under(&self.entries, place, key));
        found.copied().unwrap_or(NOWHERE)
    }

    fn place_of(&self, key: KeyRef<'_>, object: &Arc<Object<M>>) -> Option<Place> {
        let mut place = self.newest(key);
        while let Some(entry) = entry_at(&self.entries, place) {
            if Arc::ptr_eq(&entry.object, object) {
                return Some(place);
            }
            place = entry.older;
        }
        None
    }

    /// Makes `place` the newest variant of its key; returns the one that was.
    fn replace_newest(&mut self, key: KeyRef<'_>, place: Place) -> Place {
        let entries = &self.entries;
        let slot = self.table.entry(
            key.hash(),
            |&other| is_under(entries, other, key),
            |&other| entry_at(entries, other).map_or(0, |entry| entry.hash),
        );
        match slot {
            hash_table::Entry::Occupied(mut slot) => std::mem::replace(slot.get_mut(), place),
            hash_table::Entry::Vacant(slot) => {
                slot.insert(place);
                NOWHERE
            }
        }
    }

    /// Takes what lies between `newer` and `older` out of the list of its key.
    fn unlink(&mut self, key: KeyRef<'_>, newer: Place, older: Place) {
        if let Some(entry) = entry_mut(&mut self.entries, newer) {
            entry.older = older;
            return;
        }
        let entries = &self.entries;
        if let Ok(mut slot) = self
            .table
            .find_entry(key.hash(), |&place| is_under(entries, place, key))
        {
            if older == NOWHERE {
                slot.remove();
            } else {
                *slot.get_mut() = older;
            }
        }
    }

    fn push(&mut self, place: Place) {
        let Some(entry) = entry_mut(&mut self.entries, place) else {
            return;
        };
        // Never 0, which means that it isn't in the heap.
        self.pushes = self.pushes.checked_add(1).unwrap_or(1);
        entry.push = self.pushes;
        if self.heap.len() == self.heap.capacity() {
            self.heap.reserve_exact((self.heap.len() / 8).max(8));
        }
        self.heap.push(Reverse(Ranked {
            rank: entry.rank,
            push: entry.push,
            place,
        }));
    }

    /// Removal leaves its place in the heap behind; too many of those are swept out at once.
    fn shrink_heap(&mut self) {
        if self.heap.len() / 2 <= self.entries.len() + DEAD_MAX {
            return;
        }
        let entries = &self.entries;
        self.heap.retain(|Reverse(ranked)| {
            entry_at(entries, ranked.place).is_some_and(|entry| entry.push == ranked.push)
        });
    }
}

fn entry_at<M>(entries: &Slab<Entry<M>>, place: Place) -> Option<&Entry<M>> {
    entries.get(place as usize)
}

fn entry_mut<M>(entries: &mut Slab<Entry<M>>, place: Place) -> Option<&mut Entry<M>> {
    entries.get_mut(place as usize)
}

fn is_under<M>(entries: &Slab<Entry<M>>, place: Place, key: KeyRef<'_>) -> bool {
    entry_at(entries, place)
        .is_some_and(|entry| entry.hash == key.hash() && entry.object.key() == key.url())
}
