//! What the proxy calls. One store is shared by all workers. `room`: the limits, and what is evicted to keep them.

mod room;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arc_swap::ArcSwapOption;

use crate::collapse::{Begin, Entrance, Lead, Slot, Waiting};
use crate::content::{Done, Fill, Filler, Keep, joined};
use crate::invalidate::Ledger;
use crate::journal::{Event, Journal, JournalSlot};
use crate::key::KeyRef;
use crate::memory::Index;
use crate::object::{Object, Weigh};
use crate::options::Options;
use crate::tier::{Tee, Volumes};
use crate::usage::{Counters, Usage, count};
use room::Limits;

/// The store: responses by key, in memory and on disk.
pub struct Store<M: Weigh> {
    index: Index<M>,
    ledger: Ledger,
    options: Options,
    limits: Limits,
    counters: Arc<Counters>,
    volumes: ArcSwapOption<Volumes>,
    journal: JournalSlot<M>,
}

/// Of the uses of an object in memory, those that the disk is told: each is a look into another index.
const fn is_told(uses: u32) -> bool {
    uses.is_power_of_two() || uses.is_multiple_of(16)
}

impl<M: Weigh> Store<M> {
    /// An empty store.
    #[must_use]
    pub fn new(options: Options) -> Arc<Self> {
        Arc::new(Self {
            index: Index::new(options.policy),
            ledger: Ledger::default(),
            limits: Limits::new(&options),
            options,
            counters: Arc::default(),
            volumes: ArcSwapOption::empty(),
            journal: JournalSlot::empty(),
        })
    }

    /// The variant of `key` that `matches`; counts as a use of it. It may still be arriving. Of several it is the newest,
    /// unless an older one is preferred ([`Weigh::preferred_to`]).
    ///
    /// `matches` is called under the lock of a shard: it only compares.
    pub fn find(
        &self,
        key: KeyRef<'_>,
        mut matches: impl FnMut(&M) -> bool,
    ) -> Option<Arc<Object<M>>> {
        loop {
            let (found, uses) = self.index.find(key, &mut matches)?;
            // What doesn't stand has left the index, so this ends.
            if self.stands(&found) {
                if is_told(uses) {
                    self.tell_disk(&found);
                }
                return Some(found);
            }
        }
    }

    /// All variants of `key` that `matches`, the newest first, as uses of them. As with [`Store::find`], it only compares.
    pub fn find_all(
        &self,
        key: KeyRef<'_>,
        matches: impl FnMut(&M) -> bool,
    ) -> Vec<Arc<Object<M>>> {
        let mut found = self.index.find_all(key, matches);
        found.retain(|object| self.stands(object));
        found
    }

    /// All variants of `key` that `matches`, the newest first. Not as uses of them.
    pub fn variants(
        &self,
        key: KeyRef<'_>,
        matches: impl FnMut(&M) -> bool,
    ) -> Vec<Arc<Object<M>>> {
        let mut found = self.index.variants(key, matches);
        found.retain(|object| self.stands(object));
        found
    }

    /// After a miss: who leads, who joins. Of those who `collapse` under the same name of a variant (empty where it isn't
    /// known yet), one at a time leads, and `matches` is asked again, in one step with it, so that nobody leads who could
    /// have joined. With `None` the request always leads, alone.
    pub fn begin(
        self: &Arc<Self>,
        key: KeyRef<'_>,
        collapse: Option<&[u8]>,
        mut matches: impl FnMut(&M) -> bool,
    ) -> Begin<M> {
        let Some(variant) = collapse else {
            return Begin::Lead(self.lead(key));
        };
        let most = self.options.waiters_max;
        loop {
            let entrance = self.index.find_or_lead(key, variant, &mut matches, most);
            if let Some(begin) = self.enter(key, entrance) {
                return begin;
            }
        }
    }

    /// For a request that has waited long enough: it leads, or joins who has overtaken before it. The slow one goes on;
    /// who still waits for it isn't disturbed.
    pub fn overtake(
        self: &Arc<Self>,
        waiting: Waiting<M>,
        mut matches: impl FnMut(&M) -> bool,
    ) -> Begin<M> {
        let most = self.options.waiters_max;
        let slow = Arc::clone(waiting.lead());
        drop(waiting);
        count(&self.counters.overtaken);
        loop {
            let entrance = self.index.find_or_overtake(&slow, &mut matches, most);
            if let Some(begin) = self.enter(slow.key(), entrance) {
                return begin;
            }
        }
    }

    /// `None`: what was found doesn't stand, and has left the index.
    fn enter(self: &Arc<Self>, key: KeyRef<'_>, entrance: Entrance<M>) -> Option<Begin<M>> {
        Some(match entrance {
            Entrance::Found(object) if !self.stands(&object) => return None,
            Entrance::Found(object) => Begin::Found(object),
            Entrance::Lead(lead) => Begin::Lead(Slot::shared(self, lead)),
            Entrance::Wait(lead, id) => {
                count(&self.counters.waits);
                Begin::Join(Waiting::new(lead, id))
            }
            Entrance::Alone => {
                count(&self.counters.waits_refused);
                Begin::Lead(Slot::alone(self, key))
            }
        })
    }

    /// The right to fill, alone.
    pub fn lead(self: &Arc<Self>, key: KeyRef<'_>) -> Slot<M> {
        Slot::alone(self, key)
    }

    /// Gives `old` new metadata: a new object with the same body, in its place. If `old` was evicted meanwhile, it comes back.
    pub fn update(&self, old: &Arc<Object<M>>, meta: M) -> Arc<Object<M>> {
        let object = old.renewed(meta, old.judged());
        let key = KeyRef::new(object.key());
        if !object.is_complete() {
            return object;
        }
        let renewed = self.index.renew(key, old, &object);
        if renewed.is_none() {
            self.link(key, &object);
        }
        drop(renewed);
        self.save(&object);
        self.stands(&object);
        self.make_room();
        object
    }

    /// A new object with the body of `old`, beside it among the variants of its key.
    pub(crate) fn add(&self, old: &Arc<Object<M>>, meta: M) -> Arc<Object<M>> {
        let object = old.renewed(meta, old.judged());
        if object.is_complete() {
            self.link(KeyRef::new(object.key()), &object);
            self.save(&object);
            self.stands(&object);
            self.make_room();
        }
        object
    }

    /// Puts a whole response in the place of its stored parts. Its body is these stretches of theirs, one after another:
    /// first byte and length of each. `None` if one of them has gone, or isn't here as a whole, or the limits forbid it.
    pub fn join(
        &self,
        stretches: &[(&Arc<Object<M>>, u64, u64)],
        meta: impl FnOnce() -> M,
    ) -> Option<Arc<Object<M>>> {
        let parts = stretches.iter().map(|(part, ..)| *part);
        let key = KeyRef::new(parts.clone().next()?.key());
        let judged = parts.clone().map(|part| part.judged()).min()?;
        if stretches.iter().map(|(.., length)| length).sum::<u64>() > self.object_bytes_max() {
            return None;
        }
        let readers = stretches
            .iter()
            .map(|(part, first, length)| (part.reader(), *first, *length));
        let body = joined(readers, &self.counters)?;
        let object = Object::done(key, meta(), body, judged, &self.counters);
        self.released(&self.index.join(key, parts, &object)?);
        self.save(&object);
        self.stands(&object).then_some(object)
    }

    /// Removes all variants of `key`; returns how many there were. Who reads them, goes on.
    pub fn remove(&self, key: KeyRef<'_>) -> usize {
        let on_disk = self
            .volumes()
            .is_some_and(|volumes| volumes.remove(key.url()));
        let in_memory = self.index.remove_if(key, |_| true);
        self.released(&in_memory);
        in_memory.len().max(usize::from(on_disk))
    }

    /// Removes this object; false if it wasn't in memory.
    pub fn remove_object(&self, object: &Arc<Object<M>>) -> bool {
        self.remove_from_disk(object);
        self.remove_from_memory(object)
    }

    /// Removes this object from memory: what is about to be stored takes its place there, and on disk by itself.
    pub fn retire(&self, object: &Arc<Object<M>>) {
        self.remove_from_memory(object);
    }

    pub(crate) fn remove_from_memory(&self, object: &Arc<Object<M>>) -> bool {
        let key = KeyRef::new(object.key());
        let removed = self
            .index
            .remove_if(key, |other| Arc::ptr_eq(other, object));
        self.released(&removed);
        !removed.is_empty()
    }

    /// Removes everything; returns how many objects there were in memory.
    pub fn purge(&self) -> usize {
        if let Some(volumes) = self.volumes() {
            volumes.clear();
        }
        self.index.clear()
    }

    /// Shows every object, those arriving included, in no order. Objects that come or go meanwhile may be missed.
    pub fn for_each(&self, show: impl FnMut(&Arc<Object<M>>)) {
        self.index.for_each(show);
    }

    /// Objects in memory that are `wanted`, those arriving included, in no order and no more than `most`. It isn't a use
    /// of them.
    ///
    /// `wanted` is called under the lock of a shard: it only compares.
    pub fn some(
        &self,
        most: usize,
        wanted: impl FnMut(&Arc<Object<M>>) -> bool,
    ) -> Vec<Arc<Object<M>>> {
        self.index.some(most, wanted)
    }

    /// The figures of the store. Locks each shard for a moment.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let counters = &self.counters;
        let mut usage = Usage {
            bytes: counters.bytes(),
            bytes_max: self.memory_bytes_max(),
            objects_alive: counters.objects_alive.load(Relaxed),
            evictions: counters.evictions.load(Relaxed),
            variant_evictions: counters.variant_evictions.load(Relaxed),
            spared: counters.spared.load(Relaxed),
            refusals: counters.refusals.load(Relaxed),
            cuts: counters.cuts.load(Relaxed),
            windows_closed: counters.windows_closed.load(Relaxed),
            readers_lost: counters.readers_lost.load(Relaxed),
            waits: counters.waits.load(Relaxed),
            waits_refused: counters.waits_refused.load(Relaxed),
            overtaken: counters.overtaken.load(Relaxed),
            bans: self.ledger.len(),
            ..Usage::default()
        };
        self.index.add_usage(&mut usage);
        usage
    }

    /// The options it was made with; [`Store::set_limits`] may have changed some since.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What is behind the memory from now on. What those had that were there before is out of reach.
    pub fn set_volumes(&self, volumes: Option<Arc<Volumes>>) {
        self.ledger.remember_long(volumes.is_some());
        self.volumes.store(volumes);
    }

    /// What is behind the memory, if anything is.
    #[must_use]
    pub fn volumes(&self) -> Option<Arc<Volumes>> {
        self.volumes.load_full()
    }

    pub(crate) fn shared_counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn index(&self) -> &Index<M> {
        &self.index
    }

    pub(crate) fn end_lead(&self, lead: &Arc<Lead<M>>) {
        self.index.end_lead(lead);
    }

    /// `asked`: number of the newest ban when it was asked for.
    pub(crate) fn insert(
        &self,
        key: KeyRef<'_>,
        meta: M,
        body: &[u8],
        asked: u64,
    ) -> Arc<Object<M>> {
        let object = Object::whole(key, meta, body, asked, &self.counters);
        self.link_new(key, &object);
        self.save(&object);
        self.stands(&object);
        object
    }

    pub(crate) fn publish(
        self: &Arc<Self>,
        key: KeyRef<'_>,
        meta: M,
        length: Option<u64>,
        keep: Keep,
        asked: u64,
    ) -> (Arc<Object<M>>, Filler<M>) {
        let too_large = length.is_some_and(|length| length > self.object_bytes_max());
        let for_memory = !too_large && self.keeps_new();
        let tee = match keep {
            Keep::Store => Tee::new(self.volumes(), length),
            Keep::ShareOnly => Tee::Nothing,
        };
        let keep = if for_memory { keep } else { Keep::ShareOnly };
        let fill = Fill::new(length, &self.counters);
        let object = Object::filling(key, meta, Arc::clone(&fill), asked, &self.counters);
        self.released(&self.index.link(key, &object));
        self.limit_variants(key, &object);
        self.stands(&object);
        self.make_room();
        let mut filler = Filler::new(Arc::clone(self), Arc::clone(&object), fill, keep, tee);
        if length.is_some_and(|length| length > self.join_bytes_max()) {
            filler.hold_little();
        }
        (object, filler)
    }

    pub(crate) fn completed(&self, object: &Arc<Object<M>>) {
        self.released(&self.index.completed(object));
        if !self.make_room() {
            count(&self.counters.refusals);
            self.unlink(object);
        }
    }

    /// The end of a fill that is cut: what has come takes its place, if it may.
    pub(crate) fn shorten(
        &self,
        cut: &Arc<Object<M>>,
        meta: M,
        prefix: Done,
    ) -> Option<Arc<Object<M>>> {
        let key = KeyRef::new(cut.key());
        let object = Object::done(key, meta, prefix, cut.judged(), &self.counters);
        self.released(&self.index.shorten(key, cut, &object)?);
        self.limit_variants(key, &object);
        if !self.make_room() {
            count(&self.counters.refusals);
            self.unlink(&object);
        }
        self.stands(&object).then_some(object)
    }

    /// The end of a fill that isn't kept: it goes, and so does what it supersedes.
    pub(crate) fn unkept(&self, object: &Arc<Object<M>>) {
        self.released(&self.index.remove_unkept(object));
    }

    pub(crate) fn unlink(&self, object: &Arc<Object<M>>) {
        self.remove_from_memory(object);
    }

    /// Who is told from now on what becomes of stored responses.
    pub fn set_journal(&self, journal: Option<Box<dyn Journal<M>>>) {
        self.journal.set(journal);
    }

    pub(crate) fn note(&self, event: Event, object: &Object<M>) {
        self.journal.note(event, object);
    }

    fn released(&self, removed: &[Arc<Object<M>>]) {
        for object in removed {
            self.note(Event::Released, object);
        }
    }

    /// What is on disk too has not left the store.
    fn evicted(&self, removed: &[Arc<Object<M>>]) {
        if self.journal.is_empty() {
            return;
        }
        for object in removed {
            if !self.may_be_on_disk(KeyRef::new(object.key())) {
                self.note(Event::Released, object);
            }
        }
    }
}

impl<M: Weigh> fmt::Debug for Store<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("usage", &self.usage())
            .finish_non_exhaustive()
    }
}
