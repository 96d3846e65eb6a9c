//! The objects of a shard: a hash table of keys, and the variants of each as a list, the newest first.

use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table;
use slab::Slab;

use super::rank::Rank;
use crate::key::KeyRef;
use crate::object::{Object, Weigh};

/// Place of an entry in the slab.
pub(super) type Place = u32;
pub(super) const NOWHERE: Place = Place::MAX;

pub(super) struct Entries<M: Weigh> {
    /// The newest variant of each key.
    table: HashTable<Place>,
    slab: Slab<Entry<M>>,
}

/// Thirty-two bytes, for each object.
pub(super) struct Entry<M: Weigh> {
    pub(super) object: Arc<Object<M>>,
    pub(super) rank: Rank,
    pub(super) hash: Hash,
    pub(super) uses: Uses,
    /// What a use is worth.
    pub(super) worth: f32,
    /// The next older variant.
    pub(super) older: Place,
}

/// As much of a key's hash as a shard knows.
pub(super) type Hash = u32;

/// A key as a shard knows it.
#[derive(Clone, Copy)]
pub(super) struct Name<'k> {
    pub(super) hash: Hash,
    pub(super) url: &'k [u8],
}

impl<'k> From<KeyRef<'k>> for Name<'k> {
    fn from(key: KeyRef<'k>) -> Self {
        Self {
            hash: short(key.hash()),
            url: key.url(),
        }
    }
}

/// The bits of a hash that a shard goes by.
pub(super) fn short(hash: u64) -> Hash {
    Hash::try_from((hash >> 16) & u64::from(Hash::MAX)).unwrap_or_default()
}

/// For the table, which wants bits at both ends of a word.
fn spread(hash: Hash) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// How often an object was used, and whether it is in the queue: what isn't, because it is arriving or spared, can't be
/// evicted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uses(u32);

const QUEUED: u32 = 1 << 31;

impl Uses {
    /// Not in the queue.
    pub(super) fn new(count: u32) -> Self {
        Self(count.min(!QUEUED))
    }

    pub(super) fn count(self) -> u32 {
        self.0 & !QUEUED
    }

    /// Counts one more; returns how many it were.
    pub(super) fn count_one(&mut self) -> u32 {
        if self.count() < !QUEUED {
            self.0 += 1;
        }
        self.count()
    }

    pub(super) fn is_queued(self) -> bool {
        self.0 & QUEUED != 0
    }

    pub(super) fn set_queued(&mut self, queued: bool) {
        self.0 = self.count() | if queued { QUEUED } else { 0 };
    }
}

impl<M: Weigh> Default for Entries<M> {
    fn default() -> Self {
        Self {
            table: HashTable::new(),
            slab: Slab::new(),
        }
    }
}

impl<M: Weigh> Entries<M> {
    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    #[inline]
    pub(super) fn get(&self, place: Place) -> Option<&Entry<M>> {
        self.slab.get(place as usize)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, place: Place) -> Option<&mut Entry<M>> {
        self.slab.get_mut(place as usize)
    }

    /// The rank of what is at that place, if it is in the queue.
    pub(super) fn queued_rank(&self, place: Place) -> Option<Rank> {
        let entry = self.get(place)?;
        entry.uses.is_queued().then_some(entry.rank)
    }

    /// All that are in the queue.
    pub(super) fn queued(&self) -> impl Iterator<Item = (Rank, Place)> {
        let queued = self.slab.iter().filter(|(_, entry)| entry.uses.is_queued());
        queued.map(|(place, entry)| (entry.rank, Place::try_from(place).unwrap_or(NOWHERE)))
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &Arc<Object<M>>> {
        self.slab.iter().map(|(_, entry)| &entry.object)
    }

    /// Place of the newest variant of a key, or nowhere.
    pub(super) fn newest(&self, key: Name<'_>) -> Place {
        let found = self
            .table
            .find(spread(key.hash), |&place| is_under(&self.slab, place, key));
        found.copied().unwrap_or(NOWHERE)
    }

    /// The variants of a key, the newest first.
    pub(super) fn variants(&self, key: Name<'_>) -> impl Iterator<Item = (Place, &Entry<M>)> {
        let at = move |place| Some((place, self.get(place)?));
        std::iter::successors(at(self.newest(key)), move |(_, entry)| at(entry.older))
    }

    pub(super) fn place_of(&self, key: Name<'_>, object: &Arc<Object<M>>) -> Option<Place> {
        self.variants(key)
            .find(|(_, entry)| Arc::ptr_eq(&entry.object, object))
            .map(|(place, _)| place)
    }

    /// Puts an entry in front of the variants of its key.
    pub(super) fn add(&mut self, entry: Entry<M>) -> Option<Place> {
        if self.slab.len() == self.slab.capacity() {
            // By an eighth: doubling would leave half of the memory unused.
            self.slab.reserve_exact((self.slab.len() / 8).max(8));
        }
        let slot = self.slab.vacant_entry();
        let place = Place::try_from(slot.key()).ok()?;
        let hash = entry.hash;
        let object = Arc::clone(&entry.object);
        slot.insert(entry);
        let url = object.key();
        let older = self.replace_newest(Name { hash, url }, place);
        if let Some(entry) = self.get_mut(place) {
            entry.older = older;
        }
        Some(place)
    }

    /// Removes the variants of `key` that `gone` names, asked from the newest on; each is shown to `removed`.
    pub(super) fn remove_if(
        &mut self,
        key: Name<'_>,
        mut gone: impl FnMut(&Arc<Object<M>>) -> bool,
        mut removed: impl FnMut(Place, Arc<Object<M>>),
    ) {
        let mut kept = NOWHERE;
        let mut place = self.newest(key);
        while let Some(entry) = self.get(place) {
            let older = entry.older;
            if gone(&entry.object) {
                self.unlink(key, kept, older);
                removed(place, self.slab.remove(place as usize).object);
            } else {
                kept = place;
            }
            place = older;
        }
    }

    pub(super) fn clear(&mut self) -> Vec<Arc<Object<M>>> {
        self.table.clear();
        self.slab.drain().map(|entry| entry.object).collect()
    }

    /// Makes `place` the newest variant of its key; returns the one that was.
    fn replace_newest(&mut self, key: Name<'_>, place: Place) -> Place {
        let slab = &self.slab;
        let slot = self.table.entry(
            spread(key.hash),
            |&other| is_under(slab, other, key),
            |&other| {
                let entry = slab.get(other as usize);
                entry.map_or(0, |entry| spread(entry.hash))
            },
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
    fn unlink(&mut self, key: Name<'_>, newer: Place, older: Place) {
        if let Some(entry) = self.get_mut(newer) {
            entry.older = older;
            return;
        }
        let slab = &self.slab;
        if let Ok(mut slot) = self
            .table
            .find_entry(spread(key.hash), |&place| is_under(slab, place, key))
        {
            if older == NOWHERE {
                slot.remove();
            } else {
                *slot.get_mut() = older;
            }
        }
    }
}

fn is_under<M: Weigh>(slab: &Slab<Entry<M>>, place: Place, key: Name<'_>) -> bool {
    slab.get(place as usize)
        .is_some_and(|entry| entry.hash == key.hash && entry.object.key() == key.url)
}
