//! A shard of the index: its objects, the queue of those to be evicted, and who has which tag.
//!
//! A hit writes an entry's uses and rank and leaves the queue as it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use smallvec::SmallVec;

use super::entries::{Entries, Entry, NOWHERE, Name, Place, Uses, short};
use super::ghosts::Ghosts;
use super::queue::Queue;
use super::rank::{Ages, Rank};
use crate::collapse::Leads;
use crate::invalidate::Tag;
use crate::key::KeyRef;
use crate::object::{Object, Weigh};

/// Objects that left the index; dropped by the caller once the lock is released.
pub(crate) type Removed<M> = SmallVec<[Arc<Object<M>>; 2]>;

pub(super) struct Shard<M: Weigh> {
    entries: Entries<M>,
    queue: Queue,
    stamp: u64,
    ghosts: Ghosts,
    /// Who has a tag.
    tagged: BTreeSet<(Tag, Place)>,
    pub(super) leads: Leads<M>,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) inserts: u64,
}

/// What came of looking for a victim.
pub(super) enum Victim<M: Weigh> {
    /// With the rank that it had.
    Evicted(Rank, Removed<M>),
    /// The lowest was in use. It is out of the queue until [`Shard::unpark`].
    Spared(Arc<Object<M>>),
    /// The lowest rank of the shard has grown past what the caller allowed.
    Higher,
    Empty,
}

impl<M: Weigh> Default for Shard<M> {
    fn default() -> Self {
        Self {
            entries: Entries::default(),
            queue: Queue::default(),
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
        self.entries.objects()
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
        let entries = places.iter().filter_map(|place| self.entries.get(*place));
        entries.map(|entry| Arc::clone(&entry.object)).collect()
    }

    /// The variants of a key, the newest first.
    pub(super) fn under(&self, key: KeyRef<'_>) -> Vec<Arc<Object<M>>> {
        let variants = self.entries.variants(key.into());
        variants
            .map(|(_, entry)| Arc::clone(&entry.object))
            .collect()
    }

    /// The lowest rank in the queue; the real one may be higher.
    pub(super) fn lowest(&self) -> Rank {
        self.queue.lowest()
    }

    /// The newest variant that matches, or an older one that is preferred to it; with how often it was used.
    pub(super) fn find(
        &mut self,
        key: KeyRef<'_>,
        ages: &Ages,
        mut matches: impl FnMut(&M) -> bool,
    ) -> Option<(Arc<Object<M>>, u32)> {
        let mut found: Option<(Place, &Entry<M>)> = None;
        for (place, entry) in self.entries.variants(key.into()) {
            let meta = &entry.object.meta;
            let better = found.is_none_or(|(_, found)| meta.preferred_to(&found.object.meta));
            if better && matches(meta) {
                found = Some((place, entry));
            }
        }
        let place = found.map_or(NOWHERE, |(place, _)| place);
        let Some(entry) = self.entries.get_mut(place) else {
            self.misses += 1;
            return None;
        };
        let uses = entry.uses.count_one();
        entry.rank = ages.rank(uses, entry.worth, &mut self.stamp);
        self.hits += 1;
        Some((Arc::clone(&entry.object), uses))
    }

    /// All variants that match, the newest first.
    pub(super) fn find_all(
        &mut self,
        key: KeyRef<'_>,
        ages: &Ages,
        mut matches: impl FnMut(&M) -> bool,
    ) -> Vec<Arc<Object<M>>> {
        let mut found = Vec::new();
        let mut place = self.entries.newest(key.into());
        while let Some(entry) = self.entries.get_mut(place) {
            if matches(&entry.object.meta) {
                let uses = entry.uses.count_one();
                entry.rank = ages.rank(uses, entry.worth, &mut self.stamp);
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
        let variants = self.entries.variants(key.into());
        let found = variants.filter(|(_, entry)| matches(&entry.object.meta));
        found.map(|(_, entry)| Arc::clone(&entry.object)).collect()
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
        found.map(|(object, _)| object)
    }

    /// Puts `object` in front of the variants of its key. Removes nothing.
    pub(super) fn link(&mut self, hash: u64, object: &Arc<Object<M>>, uses: u32, ages: &Ages) {
        let first = u32::from(!object.meta.is_spare());
        let uses = if uses > 0 || first == 0 || !ages.remembers_ghosts() {
            uses.max(first)
        } else {
            1 + self.ghosts.recall(short(hash))
        };
        self.inserts += 1;
        let complete = object.is_complete();
        let worth = ages.worth(object.rank_bytes());
        let rank = ages.rank_of_new(uses, worth, &mut self.stamp);
        let place = self.entries.add(Entry {
            object: Arc::clone(object),
            rank,
            hash: short(hash),
            uses: Uses::new(uses),
            worth,
            older: NOWHERE,
        });
        let Some(place) = place else {
            return;
        };
        for tag in object.meta.tags() {
            self.tagged.insert((*tag, place));
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
        let place = self.entries.place_of(key.into(), object)?;
        let entry = self.entries.get_mut(place)?;
        entry.worth = ages.worth(object.rank_bytes());
        entry.rank = ages.rank_of_new(entry.uses.count(), entry.worth, &mut self.stamp);
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
            let newest = self.entries.newest(key.into());
            let mut count = 0;
            let mut lowest: Option<(Rank, &Entry<M>)> = None;
            for (place, entry) in self.entries.variants(key.into()) {
                if entry.object.meta.is_part() != parts {
                    continue;
                }
                count += 1;
                // In the middle of a tie the older one goes: it comes later in the list.
                let lower = lowest.is_none_or(|(lowest, _)| entry.rank <= lowest);
                if place != newest && entry.uses.is_queued() && lower {
                    lowest = Some((entry.rank, entry));
                }
            }
            let Some((_, victim)) = lowest.filter(|_| count > most.max(1)) else {
                return removed;
            };
            let victim = Arc::clone(&victim.object);
            removed.extend(self.remove_if(key, |object| Arc::ptr_eq(object, &victim)));
        }
    }

    /// Removes the variants of `key` that `gone` names, asked from the newest on.
    pub(super) fn remove_if(
        &mut self,
        key: KeyRef<'_>,
        gone: impl FnMut(&Arc<Object<M>>) -> bool,
    ) -> Removed<M> {
        self.remove_named(key.into(), gone)
    }

    fn remove_named(
        &mut self,
        name: Name<'_>,
        gone: impl FnMut(&Arc<Object<M>>) -> bool,
    ) -> Removed<M> {
        let mut removed = Removed::new();
        self.entries.remove_if(name, gone, |place, object| {
            for tag in object.meta.tags() {
                self.tagged.remove(&(*tag, place));
            }
            removed.push(object);
        });
        let entries = &self.entries;
        self.queue.shrink(entries.len(), entries.queued());
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
        let place = self.entries.place_of(key.into(), old)?;
        let uses = self.entries.get(place)?.uses.count();
        let removed = self.remove_if(key, |other| Arc::ptr_eq(other, old));
        self.link(key.hash(), object, uses, ages);
        Some(removed)
    }

    pub(super) fn clear(&mut self) -> Vec<Arc<Object<M>>> {
        self.queue.clear();
        self.tagged.clear();
        self.entries.clear()
    }

    /// Evicts the object of the lowest rank, if that isn't above `rank_max`.
    pub(super) fn evict(&mut self, ages: &Ages, rank_max: Rank, spare: bool) -> Victim<M> {
        let entries = &self.entries;
        let first = self.queue.first(|place| entries.queued_rank(place));
        let Some((rank, place)) = first else {
            return Victim::Empty;
        };
        if rank > rank_max {
            return Victim::Higher;
        }
        self.queue.pop();
        let entry = self.entries.get_mut(place);
        if let Some(entry) = entry.filter(|entry| spare && Arc::strong_count(&entry.object) > 1) {
            entry.uses.set_queued(false);
            return Victim::Spared(Arc::clone(&entry.object));
        }
        Victim::Evicted(rank, self.evict_at(place, ages))
    }

    /// Puts a spared object back into the queue, ranked as if it had been evicted and had come back with all its uses.
    pub(super) fn unpark(&mut self, key: KeyRef<'_>, object: &Arc<Object<M>>, ages: &Ages) {
        let Some(place) = self.entries.place_of(key.into(), object) else {
            return;
        };
        let Some(entry) = self.entries.get_mut(place) else {
            return;
        };
        if !entry.uses.is_queued() {
            let (rank, uses) = (entry.rank, entry.uses.count());
            entry.rank = ages.rank_of_spared(rank, uses, entry.worth, &mut self.stamp);
            self.push(place);
        }
    }

    fn evict_at(&mut self, place: Place, ages: &Ages) -> Removed<M> {
        let Some(entry) = self.entries.get(place) else {
            return Removed::new();
        };
        let object = Arc::clone(&entry.object);
        let (hash, uses) = (entry.hash, entry.uses.count());
        if ages.remembers_ghosts() && !object.meta.is_spare() {
            self.ghosts.remember(hash, uses, self.entries.len());
        }
        let url = object.key();
        self.remove_named(Name { hash, url }, |other| Arc::ptr_eq(other, &object))
    }

    fn push(&mut self, place: Place) {
        if let Some(entry) = self.entries.get_mut(place) {
            entry.uses.set_queued(true);
            self.queue.push(entry.rank, place);
        }
    }
}
