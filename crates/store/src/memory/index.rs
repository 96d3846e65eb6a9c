//! All shards together: routes a key to its shard, and evicts across shards.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use super::rank::{Ages, Rank};
use super::shard::{Removed, Shard, Victim};
use crate::collapse::{Entrance, Lead};
use crate::content::lock;
use crate::invalidate::Tag;
use crate::key::KeyRef;
use crate::object::{Object, Weigh};
use crate::options::Policy;
use crate::usage::Usage;

/// A power of two, more than there are cores that look up at the same time.
const SHARDS: usize = 64;

/// The index of the memory cache.
pub(crate) struct Index<M: Weigh> {
    shards: Box<[Padded<Mutex<Shard<M>>>; SHARDS]>,
    /// The lowest rank of each shard, so that a victim is found without locking all of them.
    lowest: Box<[AtomicU64; SHARDS]>,
    ages: Ages,
}

/// On cache lines of its own: prefetchers take lines by twos.
#[repr(align(128))]
struct Padded<T>(T);

/// What came of an eviction.
pub(crate) enum Eviction<M: Weigh> {
    /// These are out of the index.
    Evicted(Removed<M>),
    /// The victim was in use. It stays, and isn't seen again until [`Index::unpark`].
    Spared(Arc<Object<M>>),
    /// Nothing can be evicted.
    Nothing,
}

impl<M: Weigh> Index<M> {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            shards: Box::new(array::from_fn(|_| Padded(Mutex::new(Shard::default())))),
            lowest: Box::new(array::from_fn(|_| AtomicU64::new(Rank::MAX))),
            ages: Ages::new(policy),
        }
    }

    pub(crate) fn find(
        &self,
        key: KeyRef<'_>,
        matches: impl FnMut(&M) -> bool,
    ) -> Option<(Arc<Object<M>>, u32)> {
        self.shard(shard_of(key)).find(key, &self.ages, matches)
    }

    pub(crate) fn find_all(
        &self,
        key: KeyRef<'_>,
        matches: impl FnMut(&M) -> bool,
    ) -> Vec<Arc<Object<M>>> {
        self.shard(shard_of(key)).find_all(key, &self.ages, matches)
    }

    pub(crate) fn variants(
        &self,
        key: KeyRef<'_>,
        matches: impl FnMut(&M) -> bool,
    ) -> Vec<Arc<Object<M>>> {
        self.shard(shard_of(key)).variants(key, matches)
    }

    /// What is there already, or `object` from now on; in one step.
    pub(crate) fn find_or_link(
        &self,
        key: KeyRef<'_>,
        object: &Arc<Object<M>>,
        matches: impl FnMut(&M) -> bool,
    ) -> Option<Arc<Object<M>>> {
        self.change(key, |shard, ages| {
            let found = shard.find_again(key, ages, matches);
            if found.is_none() {
                shard.link(key.hash(), object, 0, ages);
            }
            found
        })
    }

    /// In one step, so that nobody leads who could have joined.
    pub(crate) fn find_or_lead(
        &self,
        key: KeyRef<'_>,
        variant: &[u8],
        matches: impl FnMut(&M) -> bool,
        waiters_max: usize,
    ) -> Entrance<M> {
        let mut shard = self.shard(shard_of(key));
        match shard.find_again(key, &self.ages, matches) {
            Some(object) => Entrance::Found(object),
            None => shard.leads.enter(key, variant, waiters_max),
        }
    }

    /// The same for who has waited for a slow lead.
    pub(crate) fn find_or_overtake(
        &self,
        slow: &Arc<Lead<M>>,
        matches: impl FnMut(&M) -> bool,
        waiters_max: usize,
    ) -> Entrance<M> {
        let mut shard = self.shard(shard_of(slow.key()));
        match shard.find_again(slow.key(), &self.ages, matches) {
            Some(object) => Entrance::Found(object),
            None => shard.leads.overtake(slow, waiters_max),
        }
    }

    pub(crate) fn end_lead(&self, lead: &Arc<Lead<M>>) {
        self.shard(shard_of(lead.key())).leads.remove(lead);
    }

    /// Puts `object` in front of its key's variants. If it is complete, what it supersedes goes.
    pub(crate) fn link(&self, key: KeyRef<'_>, object: &Arc<Object<M>>) -> Removed<M> {
        self.change(key, |shard, ages| {
            shard.link(key.hash(), object, 0, ages);
            if object.is_complete() {
                return shard.remove_superseded(key, object);
            }
            Removed::new()
        })
    }

    /// Removes the least useful parts, or whole variants, beyond `most`.
    pub(crate) fn limit_variants(&self, key: KeyRef<'_>, parts: bool, most: usize) -> Removed<M> {
        self.change(key, |shard, _| shard.limit_variants(key, parts, most))
    }

    /// An object that was arriving is complete; what it supersedes goes.
    pub(crate) fn completed(&self, object: &Arc<Object<M>>) -> Removed<M> {
        let key = KeyRef::new(object.key());
        self.change(key, |shard, ages| {
            shard.completed(key, object, ages).unwrap_or_default()
        })
    }

    /// Puts `object` in the place of `old`; `None` if that is gone.
    pub(crate) fn renew(
        &self,
        key: KeyRef<'_>,
        old: &Arc<Object<M>>,
        object: &Arc<Object<M>>,
    ) -> Option<Removed<M>> {
        self.change(key, |shard, ages| {
            let mut removed = shard.renew(key, old, object, ages)?;
            removed.extend(shard.remove_superseded(key, object));
            Some(removed)
        })
    }

    /// Puts the part `object` in the place of `cut`, which was arriving. `None` if that is gone, or the part would push
    /// out what is whole or may become so.
    pub(crate) fn shorten(
        &self,
        key: KeyRef<'_>,
        cut: &Arc<Object<M>>,
        object: &Arc<Object<M>>,
    ) -> Option<Removed<M>> {
        self.change(key, |shard, ages| {
            let spoils = shard.under(key).iter().any(|other| {
                let whole = !Arc::ptr_eq(other, cut) && !other.meta.is_part();
                whole && object.meta.supersedes(&other.meta)
            });
            if spoils {
                return None;
            }
            let mut removed = shard.renew(key, cut, object, ages)?;
            removed.extend(shard.remove_superseded(key, object));
            Some(removed)
        })
    }

    /// Links `object`, which is made of these parts; what it supersedes goes. `None` if one of them has gone.
    pub(crate) fn join<'o>(
        &self,
        key: KeyRef<'_>,
        parts: impl Iterator<Item = &'o Arc<Object<M>>>,
        object: &Arc<Object<M>>,
    ) -> Option<Removed<M>> {
        self.change(key, |shard, ages| {
            let there = shard.under(key);
            let mut parts = parts;
            let all = parts.all(|part| there.iter().any(|other| Arc::ptr_eq(other, part)));
            all.then(|| {
                shard.link(key.hash(), object, 0, ages);
                shard.remove_superseded(key, object)
            })
        })
    }

    pub(crate) fn remove_if(
        &self,
        key: KeyRef<'_>,
        gone: impl FnMut(&Arc<Object<M>>) -> bool,
    ) -> Removed<M> {
        self.change(key, |shard, _| shard.remove_if(key, gone))
    }

    /// Removes what `object`, which never came here, supersedes.
    pub(crate) fn remove_superseded(&self, key: KeyRef<'_>, object: &Arc<Object<M>>) -> Removed<M> {
        self.change(key, |shard, _| {
            shard.remove_if(key, |other| object.meta.supersedes(&other.meta))
        })
    }

    /// Removes `object`, which was arriving and isn't kept, and what it supersedes. Nothing if it is gone already.
    pub(crate) fn remove_unkept(&self, object: &Arc<Object<M>>) -> Removed<M> {
        let key = KeyRef::new(object.key());
        self.change(key, |shard, _| {
            let mut past = false;
            shard.remove_if(key, |other| {
                past |= Arc::ptr_eq(other, object);
                past && (Arc::ptr_eq(other, object) || object.meta.supersedes(&other.meta))
            })
        })
    }

    pub(crate) fn clear(&self) -> usize {
        let mut count = 0;
        for (shard, lowest) in self.shards.iter().zip(self.lowest.iter()) {
            let removed = {
                let mut shard = lock(&shard.0);
                let removed = shard.clear();
                lowest.store(Rank::MAX, Relaxed);
                removed
            };
            count += removed.len();
        }
        count
    }

    /// Evicts the object of the lowest rank of all shards.
    pub(crate) fn evict(&self, spare: bool) -> Eviction<M> {
        loop {
            let (index, lowest, next) = self.lowest_shard();
            if lowest == Rank::MAX {
                return Eviction::Nothing;
            }
            let victim = {
                let mut shard = self.shard(index);
                let victim = shard.evict(&self.ages, next, spare);
                self.lowest(index).store(shard.lowest(), Relaxed);
                victim
            };
            match victim {
                Victim::Evicted(rank, removed) => {
                    self.ages.evicted(rank);
                    return Eviction::Evicted(removed);
                }
                Victim::Spared(object) => return Eviction::Spared(object),
                // Its lowest rank is known better now: look again.
                Victim::Higher | Victim::Empty => {}
            }
        }
    }

    /// Makes a spared object a candidate again.
    pub(crate) fn unpark(&self, object: &Arc<Object<M>>) {
        let key = KeyRef::new(object.key());
        self.change(key, |shard, ages| shard.unpark(key, object, ages));
    }

    /// Objects that are `wanted`, no more than `most`.
    pub(crate) fn some(
        &self,
        most: usize,
        mut wanted: impl FnMut(&Arc<Object<M>>) -> bool,
    ) -> Vec<Arc<Object<M>>> {
        let mut some = Vec::new();
        for shard in self.shards.iter() {
            let shard = lock(&shard.0);
            let found = shard.objects().filter(|object| wanted(object));
            some.extend(found.take(most - some.len()).cloned());
        }
        some
    }

    /// Shows all objects, shard by shard.
    pub(crate) fn for_each(&self, mut show: impl FnMut(&Arc<Object<M>>)) {
        self.for_each_shard(|objects| objects.iter().for_each(&mut show));
    }

    /// Shows the objects of one shard after the other, without its lock.
    pub(crate) fn for_each_shard(&self, mut show: impl FnMut(&[Arc<Object<M>>])) {
        for shard in self.shards.iter() {
            let objects: Vec<_> = lock(&shard.0).objects().cloned().collect();
            show(&objects);
        }
    }

    /// As [`Index::for_each_shard`], of those that have any of these tags.
    pub(crate) fn for_each_tagged(&self, tags: &[Tag], mut show: impl FnMut(&[Arc<Object<M>>])) {
        for shard in self.shards.iter() {
            let objects = lock(&shard.0).tagged(tags);
            show(&objects);
        }
    }

    /// All variants of a key, which isn't a use of them.
    pub(crate) fn under(&self, key: KeyRef<'_>) -> Vec<Arc<Object<M>>> {
        self.shard(shard_of(key)).under(key)
    }

    pub(crate) fn add_usage(&self, usage: &mut Usage) {
        for shard in self.shards.iter() {
            let shard = lock(&shard.0);
            usage.objects += shard.len() as u64;
            usage.hits += shard.hits;
            usage.misses += shard.misses;
            usage.inserts += shard.inserts;
        }
    }

    /// The shard of the lowest rank, that rank, and the rank of the next one.
    fn lowest_shard(&self) -> (usize, Rank, Rank) {
        let (mut index, mut lowest, mut next) = (0, Rank::MAX, Rank::MAX);
        for (candidate, rank) in self.lowest.iter().enumerate() {
            let rank = rank.load(Relaxed);
            if rank < lowest {
                (index, next, lowest) = (candidate, lowest, rank);
            } else if rank < next {
                next = rank;
            }
        }
        (index, lowest, next)
    }

    fn change<T>(&self, key: KeyRef<'_>, change: impl FnOnce(&mut Shard<M>, &Ages) -> T) -> T {
        let index = shard_of(key);
        let mut shard = self.shard(index);
        let result = change(&mut shard, &self.ages);
        self.lowest(index).store(shard.lowest(), Relaxed);
        result
    }

    fn shard(&self, index: usize) -> MutexGuard<'_, Shard<M>> {
        let [first, ..] = &*self.shards;
        lock(&self.shards.get(index).unwrap_or(first).0)
    }

    fn lowest(&self, index: usize) -> &AtomicU64 {
        let [first, ..] = &*self.lowest;
        self.lowest.get(index).unwrap_or(first)
    }
}

/// By bits that the hash table of the shard doesn't use: it takes the lowest ones and the highest seven.
fn shard_of(key: KeyRef<'_>) -> usize {
    usize::try_from(key.hash() >> 48).unwrap_or(0) & (SHARDS - 1)
}
