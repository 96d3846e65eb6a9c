//! What a worker waits for before it ends: its connections, and responses that arrive through it, which clients of other
//! workers read or the disk has yet to take.

use std::cell::Cell;
use std::rc::Rc;

use tokio::sync::Notify;

/// How much of it there is.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    holds: Cell<usize>,
    over: Notify,
}

/// Keeps the worker until it is dropped.
#[derive(Debug)]
pub(crate) struct Hold(Rc<Busy>);

impl Busy {
    pub(crate) fn hold(self: &Rc<Self>) -> Hold {
        self.holds.set(self.holds.get() + 1);
        Hold(Rc::clone(self))
    }

    /// Waits until there is nothing of it.
    pub(crate) async fn over(&self) {
        while self.holds.get() > 0 {
            self.over.notified().await;
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Self(busy) = self;
        busy.holds.set(busy.holds.get() - 1);
        if busy.holds.get() == 0 {
            busy.over.notify_one();
        }
    }
}
