//! Coarse timeouts. A timer armed and cancelled per request would cost more than the request's
//! parsing, so each connection has one [`Deadline`], which is set by storing a number, and one
//! task per worker, the [`Ticker`], looks through all of them on each tick.
//!
//! A deadline passes between the asked time and two ticks later, never before.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use slab::Slab;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::Clock;

/// How long a tick is, unless told otherwise.
pub const TICK: Duration = Duration::from_millis(250);

/// The time ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("timed out")]
pub struct Expired;

/// The deadlines of one worker; clones share them.
#[derive(Clone, Debug)]
pub struct Ticker {
    shared: Rc<Shared>,
}

#[derive(Debug)]
struct Shared {
    slots: RefCell<Slab<Slot>>,
    /// Ticks counted so far. Stands still while no deadline is set.
    tick: Cell<u32>,
    /// How many deadlines are set.
    armed: Cell<usize>,
    parked: Cell<bool>,
    unpark: Notify,
    period: Duration,
    clock: Option<Clock>,
}

/// Tick at which to expire, and whom to wake then.
#[derive(Debug)]
struct Slot {
    /// `NEVER` when not set.
    due: Cell<u32>,
    waker: RefCell<Option<Waker>>,
}

const NEVER: u32 = u32::MAX;

impl Ticker {
    /// A ticker whose ticks come every `period`. Spawn [`Ticker::run`] on the worker's runtime.
    /// The wall time of `clock` is looked at on each tick.
    #[must_use]
    pub fn new(period: Duration, clock: Option<Clock>) -> Self {
        Self {
            shared: Rc::new(Shared {
                slots: RefCell::default(),
                tick: Cell::new(0),
                armed: Cell::new(0),
                parked: Cell::new(false),
                unpark: Notify::new(),
                period: period.max(Duration::from_millis(1)),
                clock,
            }),
        }
    }

    /// A deadline that is not set.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        let slot = Slot {
            due: Cell::new(NEVER),
            waker: RefCell::new(None),
        };
        Deadline {
            slot: self.shared.slots.borrow_mut().insert(slot),
            shared: Rc::clone(&self.shared),
        }
    }

    /// How many deadlines exist, set or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.slots.borrow().len()
    }

    /// Whether there is no deadline at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether no deadline is set and the ticker sleeps until one is.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.shared.parked.get()
    }

    /// Makes every deadline that is set expire now: the worker is stopping.
    pub fn expire_all(&self) {
        let mut expired = Vec::new();
        for (_, slot) in self.shared.slots.borrow().iter() {
            if slot.due.get() != NEVER {
                slot.due.set(0);
                expired.extend(slot.waker.borrow_mut().take());
            }
        }
        expired.into_iter().for_each(Waker::wake);
    }

    /// Ticks for ever; sleeps without a timer while no deadline is set.
    pub async fn run(self) {
        let shared = &*self.shared;
        let mut expired = Vec::new();
        loop {
            shared.wait_until_armed().await;
            let mut last = Instant::now();
            while shared.armed.get() > 0 {
                tokio::time::sleep_until(last + shared.period).await;
                last += shared.advance(last.elapsed());
                if let Some(clock) = shared.clock {
                    clock.resync();
                }
                shared.take_expired(&mut expired);
                expired.drain(..).for_each(Waker::wake);
            }
        }
    }
}

impl Shared {
    async fn wait_until_armed(&self) {
        while self.armed.get() == 0 {
            self.parked.set(true);
            self.unpark.notified().await;
        }
        self.parked.set(false);
    }

    /// Counts the whole ticks in `elapsed`; gives back the time that they make up.
    fn advance(&self, elapsed: Duration) -> Duration {
        let ticks = elapsed.as_nanos() / self.period.as_nanos().max(1);
        let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
        self.tick.set(self.tick.get().saturating_add(ticks));
        self.period.saturating_mul(ticks)
    }

    fn take_expired(&self, expired: &mut Vec<Waker>) {
        let now = self.tick.get();
        for (_, slot) in self.slots.borrow().iter() {
            if slot.due.get() <= now {
                expired.extend(slot.waker.borrow_mut().take());
            }
        }
    }

    fn ticks_in(&self, after: Duration) -> u32 {
        let ticks = after.as_nanos().div_ceil(self.period.as_nanos().max(1));
        // One more, since part of the present tick is over.
        u32::try_from(ticks + 1).unwrap_or(NEVER)
    }

    /// A deadline was set where none was.
    fn arm(&self) {
        self.armed.set(self.armed.get() + 1);
        if self.parked.replace(false) {
            // The offset may be old: nobody looked while the ticker was parked.
            if let Some(clock) = self.clock {
                clock.resync();
            }
            self.unpark.notify_one();
        }
    }

    fn disarm(&self) {
        self.armed.set(self.armed.get() - 1);
    }
}

/// One timeout of one connection, set again and again. Belongs to the task that waits on it.
#[derive(Debug)]
pub struct Deadline {
    shared: Rc<Shared>,
    slot: usize,
}

impl Deadline {
    /// Expires `after` from now (see the top of the file for how exactly), whatever was set before.
    pub fn set(&self, after: Duration) {
        let due = self
            .shared
            .tick
            .get()
            .saturating_add(self.shared.ticks_in(after))
            .min(NEVER - 1);
        if self.replace(due) == NEVER {
            self.shared.arm();
        }
    }

    /// Expires no more.
    pub fn clear(&self) {
        if self.replace(NEVER) != NEVER {
            self.shared.disarm();
        }
    }

    /// Whether the set time has passed.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.with(|slot| slot.due.get() <= self.shared.tick.get())
    }

    /// Ready once the set time has passed; else the task is woken then.
    pub fn poll_expired(&self, cx: &Context<'_>) -> Poll<Expired> {
        self.with(|slot| {
            if slot.due.get() <= self.shared.tick.get() {
                return Poll::Ready(Expired);
            }
            let mut waker = slot.waker.borrow_mut();
            match &mut *waker {
                Some(known) => known.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            Poll::Pending
        })
    }

    /// Awaits `work` until the deadline that is set now, or is set meanwhile, expires. Work that
    /// is ready wins over a deadline that has passed. The guard is more than twice as big as the
    /// work: pass `pin!(work)` where that is big.
    ///
    /// # Errors
    /// `Expired`; the work is dropped.
    pub async fn guard<F: Future>(&self, work: F) -> Result<F::Output, Expired> {
        let mut work = pin!(work);
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => self.poll_expired(cx).map(Err),
        })
        .await
    }

    /// Awaits `work`, which gets `timeout` from the moment at which it first has to wait. Work that
    /// is ready at once costs nothing here; afterwards nothing is set.
    ///
    /// # Errors
    /// `Expired`; the work is dropped.
    pub async fn limit<F: Future>(&self, timeout: Duration, work: F) -> Result<F::Output, Expired> {
        let mut work = pin!(work);
        self.limit_poll(timeout, |cx| work.as_mut().poll(cx)).await
    }

    /// The same for work that is a function to be polled, which keeps the future small.
    pub fn limit_poll<T, P>(&self, timeout: Duration, poll: P) -> Limit<'_, P>
    where
        P: FnMut(&mut Context<'_>) -> Poll<T> + Unpin,
    {
        Limit {
            deadline: self,
            timeout,
            waits: false,
            poll,
        }
    }

    fn replace(&self, due: u32) -> u32 {
        self.with(|slot| slot.due.replace(due))
    }

    fn with<T>(&self, act: impl FnOnce(&Slot) -> T) -> T {
        let slots = self.shared.slots.borrow();
        act(slots
            .get(self.slot)
            .expect("the slot lives as long as its deadline"))
    }
}

/// Work in its time: see [`Deadline::limit_poll`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Limit<'d, P> {
    deadline: &'d Deadline,
    timeout: Duration,
    waits: bool,
    poll: P,
}

impl<T, P> Future for Limit<'_, P>
where
    P: FnMut(&mut Context<'_>) -> Poll<T> + Unpin,
{
    type Output = Result<T, Expired>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = match (self.poll)(cx) {
            Poll::Ready(output) => Ok(output),
            Poll::Pending => {
                if !std::mem::replace(&mut self.waits, true) {
                    self.deadline.set(self.timeout);
                }
                match self.deadline.poll_expired(cx) {
                    Poll::Ready(expired) => Err(expired),
                    Poll::Pending => return Poll::Pending,
                }
            }
        };
        if self.waits {
            self.deadline.clear();
        }
        Poll::Ready(outcome)
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.clear();
        let slot = self.shared.slots.borrow_mut().try_remove(self.slot);
        drop(slot);
    }
}

#[cfg(test)]
mod tests;
