//! The objects of a shard: a hash table of keys, and the variants of each as a list, the newest first.

use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table;
use slab::Slab;

use super::rank::Rank;
use crate::key::KeyRef;
use crate::object::Object;

/// Place of an entry in the slab.
pub(super) type Place = u32;
pub(super) const NOWHERE: Place = Place::MAX;

pub(super) struct Entries<M> {
    /// The newest variant of each key.
    table: HashTable<Place>,
    slab: Slab<Entry<M>>,
}

pub(super) struct Entry<M> {
    pub(super) hash: u64,
    pub(super) rank: Rank,
    pub(super) object: Arc<Object<M>>,
    pub(super) uses: u32,
    /// What a use is worth.
    pub(super) worth: f32,
    /// Number of its place in the queue; 0 while the object is arriving: it can't be evicted.
    pub(super) push: u32,
    /// The next older variant.
    pub(super) older: Place,
}

impl<M> Default for Entries<M> {
    fn default() -> Self {
        Self {
            table: HashTable::new(),
            slab: Slab::new(),
        }
    }
}

impl<M> Entries<M> {
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

    /// What is at that place under that number of the queue.
    pub(super) fn queued(&self, place: Place, push: u32) -> Option<&Entry<M>> {
        self.get(place).filter(|entry| entry.push == push)
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &Arc<Object<M>>> {
        self.slab.iter().map(|(_, entry)| &entry.object)
    }

    /// Place of the newest variant of a key, or nowhere.
    pub(super) fn newest(&self, key: KeyRef<'_>) -> Place {
        let found = self
            .table
            .find(key.hash(), |&place| is_under(&self.slab, place, key));
        found.copied().unwrap_or(NOWHERE)
    }

    /// The variants of a key, the newest first.
    pub(super) fn variants(&self, key: KeyRef<'_>) -> impl Iterator<Item = (Place, &Entry<M>)> {
        let at = move |place| Some((place, self.get(place)?));
        std::iter::successors(at(self.newest(key)), move |(_, entry)| at(entry.older))
    }

    pub(super) fn place_of(&self, key: KeyRef<'_>, object: &Arc<Object<M>>) -> Option<Place> {
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
        let older = self.replace_newest(KeyRef::with_hash(hash, object.key()), place);
        if let Some(entry) = self.get_mut(place) {
            entry.older = older;
        }
        Some(place)
    }

    /// Removes the variants of `key` that `gone` names, asked from the newest on; each is shown to `removed`.
    pub(super) fn remove_if(
        &mut self,
        key: KeyRef<'_>,
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
    fn replace_newest(&mut self, key: KeyRef<'_>, place: Place) -> Place {
        let slab = &self.slab;
        let slot = self.table.entry(
            key.hash(),
            |&other| is_under(slab, other, key),
            |&other| slab.get(other as usize).map_or(0, |entry| entry.hash),
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
        if let Some(entry) = self.get_mut(newer) {
            entry.older = older;
            return;
        }
        let slab = &self.slab;
        if let Ok(mut slot) = self
            .table
            .find_entry(key.hash(), |&place| is_under(slab, place, key))
        {
            if older == NOWHERE {
                slot.remove();
            } else {
                *slot.get_mut() = older;
            }
        }
    }
}

fn is_under<M>(slab: &Slab<Entry<M>>, place: Place, key: KeyRef<'_>) -> bool {
    slab.get(place as usize)
        .is_some_and(|entry| entry.hash == key.hash() && entry.object.key() == key.url())
}
