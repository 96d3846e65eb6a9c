//! Who is told what becomes of stored responses (`cache_store_log`). Mostly nobody.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::object::{Object, Weigh};

/// What became of a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It came from disk.
    Loaded,
    /// It is with the disk.
    Saved,
    /// It has left the store.
    Released,
}

/// Is told, by whichever thread it happens on: it must not wait.
pub trait Journal<M: Weigh>: Send + Sync {
    /// Something became of `object`.
    fn note(&self, event: Event, object: &Object<M>);
}

/// The journal there may be.
pub(crate) struct JournalSlot<M: Weigh>(ArcSwapOption<Box<dyn Journal<M>>>);

impl<M: Weigh> JournalSlot<M> {
    pub(crate) fn empty() -> Self {
        Self(ArcSwapOption::empty())
    }

    pub(crate) fn set(&self, journal: Option<Box<dyn Journal<M>>>) {
        self.0.store(journal.map(Arc::new));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.load().is_none()
    }

    pub(crate) fn note(&self, event: Event, object: &Object<M>) {
        if let Some(journal) = &*self.0.load() {
            journal.note(event, object);
        }
    }
}
