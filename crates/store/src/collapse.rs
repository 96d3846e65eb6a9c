//! Requests that meet: the first one for a key fetches it, those that come meanwhile wait for what it finds out.
//!
//! | end of a lead | what the waiting get |
//! | --- | --- |
//! | [`Slot::insert`], [`Slot::publish`], [`Slot::update`], [`Slot::add`], [`Slot::keep`] | the object, maybe still arriving |
//! | [`Slot::release`] | [`Waited::Released`]: each goes on alone |
//! | its drop | [`Waited::Failed`]: one of them may lead |
//!
//! Who has waited too long takes the lead ([`Store::overtake`]): those who come later wait for that one, and so may those
//! whose time is up next. Requests of different variants don't wait for each other, as far as it is known which is whose.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use hashbrown::HashTable;
use slab::Slab;

use crate::content::{Filler, Keep, lock};
use crate::key::KeyRef;
use crate::object::{Object, Weigh};
use crate::store::Store;

/// How a request may go on.
#[derive(Debug)]
pub enum Begin<M: Weigh> {
    /// It is stored, or arriving, by now.
    Found(Arc<Object<M>>),
    /// Fetch it, and tell what became of it.
    Lead(Slot<M>),
    /// Somebody fetches it: wait for what they find out.
    Join(Waiting<M>),
}

/// [`Begin`], as the index sees it.
pub(crate) enum Entrance<M: Weigh> {
    Found(Arc<Object<M>>),
    Lead(Arc<Lead<M>>),
    Wait(Arc<Lead<M>>, usize),
    /// Too many wait already.
    Alone,
}

/// A fetch that others may wait for.
pub(crate) struct Lead<M: Weigh> {
    hash: u64,
    key: Box<[u8]>,
    /// Tells apart requests of different variants.
    variant: Box<[u8]>,
    state: Mutex<State<M>>,
}

enum State<M: Weigh> {
    Open(Slab<Option<Waker>>),
    Ended(Waited<M>),
}

/// What came of waiting for another's lead.
#[derive(Debug)]
pub enum Waited<M: Weigh> {
    /// It found this, which may still be arriving.
    Object(Arc<Object<M>>),
    /// What it found isn't to be shared: each goes on alone.
    Released,
    /// It failed: somebody else may lead.
    Failed,
}

impl<M: Weigh> Clone for Waited<M> {
    fn clone(&self) -> Self {
        match self {
            Self::Object(object) => Self::Object(Arc::clone(object)),
            Self::Released => Self::Released,
            Self::Failed => Self::Failed,
        }
    }
}

impl<M: Weigh> Lead<M> {
    fn new(key: KeyRef<'_>, variant: &[u8]) -> Arc<Self> {
        Arc::new(Self {
            hash: key.hash(),
            key: key.url().into(),
            variant: variant.into(),
            state: Mutex::new(State::Open(Slab::new())),
        })
    }

    pub(crate) fn key(&self) -> KeyRef<'_> {
        KeyRef::with_hash(self.hash, &self.key)
    }

    fn join(&self, waiters_max: usize) -> Option<usize> {
        match &mut *lock(&self.state) {
            State::Open(waiters) if waiters.len() < waiters_max => Some(waiters.insert(None)),
            State::Open(_) | State::Ended(_) => None,
        }
    }

    fn end(&self, outcome: Waited<M>) {
        let before = std::mem::replace(&mut *lock(&self.state), State::Ended(outcome));
        if let State::Open(waiters) = before {
            waiters
                .into_iter()
                .filter_map(|(_, waker)| waker)
                .for_each(Waker::wake);
        }
    }
}

/// The fetches of a shard that others may wait for.
pub(crate) struct Leads<M: Weigh>(HashTable<Arc<Lead<M>>>);

impl<M: Weigh> Default for Leads<M> {
    fn default() -> Self {
        Self(HashTable::new())
    }
}

impl<M: Weigh> Leads<M> {
    /// Joins the fetch of `key` for that variant, or begins one.
    pub(crate) fn enter(
        &mut self,
        key: KeyRef<'_>,
        variant: &[u8],
        waiters_max: usize,
    ) -> Entrance<M> {
        if let Some(lead) = self.find(key, variant) {
            return match lead.join(waiters_max) {
                Some(id) => Entrance::Wait(Arc::clone(lead), id),
                None => Entrance::Alone,
            };
        }
        let lead = Lead::new(key, variant);
        self.0
            .insert_unique(key.hash(), Arc::clone(&lead), |lead| lead.hash);
        Entrance::Lead(lead)
    }

    /// Takes the place of `slow`, or joins who has done so.
    pub(crate) fn overtake(&mut self, slow: &Arc<Lead<M>>, waiters_max: usize) -> Entrance<M> {
        self.remove(slow);
        self.enter(slow.key(), &slow.variant, waiters_max)
    }

    fn find(&self, key: KeyRef<'_>, variant: &[u8]) -> Option<&Arc<Lead<M>>> {
        self.0.find(key.hash(), |lead| {
            *lead.key == *key.url() && *lead.variant == *variant
        })
    }

    pub(crate) fn remove(&mut self, lead: &Arc<Lead<M>>) {
        if let Ok(entry) = self
            .0
            .find_entry(lead.hash, |other| Arc::ptr_eq(other, lead))
        {
            entry.remove();
        }
    }
}

/// The right to fill a key. Others may be waiting for it: dropping it sends them on their own way.
pub struct Slot<M: Weigh> {
    store: Arc<Store<M>>,
    lead: Arc<Lead<M>>,
    /// Whether others can find it, to wait for it.
    shared: bool,
    /// Number of the newest ban when it was made: what it brings is judged by those that come after.
    asked: u64,
}

impl<M: Weigh> Slot<M> {
    pub(crate) fn shared(store: &Arc<Store<M>>, lead: Arc<Lead<M>>) -> Self {
        Self {
            store: Arc::clone(store),
            lead,
            shared: true,
            asked: store.ledger().newest(),
        }
    }

    pub(crate) fn alone(store: &Arc<Store<M>>, key: KeyRef<'_>) -> Self {
        Self {
            store: Arc::clone(store),
            lead: Lead::new(key, b""),
            shared: false,
            asked: store.ledger().newest(),
        }
    }

    /// The bytes of the key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.lead.key
    }

    /// What it brings was asked for when `old` had been found: bans since then are for it too.
    #[must_use]
    pub fn since(self, old: &Object<M>) -> Self {
        let mut slot = self;
        slot.asked = slot.asked.min(old.judged());
        slot
    }

    /// Stores a complete response; `body` is copied. The object is good for its readers even if the limits forbid storing it.
    pub fn insert(self, meta: M, body: &[u8]) -> Arc<Object<M>> {
        let object = self.store.insert(self.lead.key(), meta, body, self.asked);
        self.end(Waited::Object(Arc::clone(&object)));
        object
    }

    /// Stores a response whose body is arriving. `length`: bytes of the body, if announced.
    pub fn publish(self, meta: M, length: Option<u64>, keep: Keep) -> (Arc<Object<M>>, Filler<M>) {
        let key = self.lead.key();
        let object = self.store.publish(key, meta, length, keep, self.asked);
        self.end(Waited::Object(Arc::clone(&object.0)));
        object
    }

    /// Gives a stored response new metadata (a 304 arrived).
    pub fn update(self, old: &Arc<Object<M>>, meta: M) -> Arc<Object<M>> {
        let object = self.store.update(old, meta);
        self.end(Waited::Object(Arc::clone(&object)));
        object
    }

    /// Lets the body of `old` answer other requests as well: a new object under new metadata, beside it.
    pub fn add(self, old: &Arc<Object<M>>, meta: M) -> Arc<Object<M>> {
        let object = self.store.add(old, meta);
        self.end(Waited::Object(Arc::clone(&object)));
        object
    }

    /// What is stored stays as it is, and is the answer.
    pub fn keep(self, old: &Arc<Object<M>>) {
        self.end(Waited::Object(Arc::clone(old)));
    }

    /// What arrived isn't to be shared.
    pub fn release(self) {
        self.end(Waited::Released);
    }

    /// Requests that wait for it now.
    #[must_use]
    pub fn waiters(&self) -> usize {
        match &*lock(&self.lead.state) {
            State::Open(waiters) => waiters.len(),
            State::Ended(_) => 0,
        }
    }

    /// Out of the index first: who comes later finds the object, or leads.
    fn end(&self, outcome: Waited<M>) {
        if self.shared {
            self.store.end_lead(&self.lead);
        }
        self.lead.end(outcome);
    }
}

impl<M: Weigh> Drop for Slot<M> {
    fn drop(&mut self) {
        let ended = matches!(&*lock(&self.lead.state), State::Ended(_));
        if !ended {
            self.end(Waited::Failed);
        }
    }
}

/// Waits for the end of another's lead: what it found, as soon as that is known.
#[must_use = "it waits when it is awaited"]
pub struct Waiting<M: Weigh> {
    lead: Arc<Lead<M>>,
    id: usize,
}

impl<M: Weigh> Waiting<M> {
    pub(crate) fn new(lead: Arc<Lead<M>>, id: usize) -> Self {
        Self { lead, id }
    }

    pub(crate) fn lead(&self) -> &Arc<Lead<M>> {
        &self.lead
    }
}

impl<M: Weigh> Future for Waiting<M> {
    type Output = Waited<M>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *lock(&self.lead.state) {
            State::Ended(outcome) => Poll::Ready(outcome.clone()),
            State::Open(waiters) => {
                if let Some(waker) = waiters.get_mut(self.id) {
                    *waker = Some(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}

impl<M: Weigh> Drop for Waiting<M> {
    fn drop(&mut self) {
        let waker = match &mut *lock(&self.lead.state) {
            State::Open(waiters) => waiters.try_remove(self.id).flatten(),
            State::Ended(_) => None,
        };
        drop(waker);
    }
}

impl<M: Weigh> fmt::Debug for Slot<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("key", &String::from_utf8_lossy(self.key()))
            .finish_non_exhaustive()
    }
}

impl<M: Weigh> fmt::Debug for Waiting<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting")
            .field("key", &String::from_utf8_lossy(&self.lead.key))
            .finish_non_exhaustive()
    }
}
