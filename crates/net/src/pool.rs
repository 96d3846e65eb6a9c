//! Connections to next hops that wait for their next request, on one worker. The one used last is
//! taken first, so that the others can grow old and go. Also counts the open connections per hop.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use stats::{Cells, Counter, Gauge, Histogram};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::stream::{Idle, Stream};

/// Limits of the idle connections.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Idle connections kept per hop.
    pub idle_per_hop_max: usize,
    /// Idle connections kept in all.
    pub idle_max: usize,
    /// How long an idle connection is kept (`server_idle_pconn_timeout`).
    pub idle: Duration,
    /// How often dead and old connections are looked for.
    pub sweep: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            idle_per_hop_max: 256,
            idle_max: 4096,
            idle: Duration::from_secs(60),
            sweep: Duration::from_secs(1),
        }
    }
}

/// The pool of one worker; clones share it.
#[derive(Debug)]
pub struct Pool<K> {
    shared: Rc<Shared<K>>,
}

#[derive(Debug)]
struct Shared<K> {
    options: Options,
    /// `options.idle`, as it is now.
    idle: Cell<Duration>,
    hops: RefCell<HashMap<K, Rc<Hop>>>,
    totals: Rc<Totals>,
}

#[derive(Debug)]
struct Totals {
    idle: Cell<usize>,
    /// Wakes the sweeper when there is something to sweep again.
    filled: Notify,
    cells: Arc<Cells>,
}

/// What is known of one hop.
#[derive(Debug)]
struct Hop {
    open: Cell<usize>,
    idle: RefCell<VecDeque<Resting>>,
    totals: Rc<Totals>,
}

/// An idle connection; the front of a hop's queue has waited longest.
#[derive(Debug)]
struct Resting {
    stream: Stream,
    since: Instant,
    uses: u32,
}

/// The right to have one more connection open to a hop; given back on drop.
#[derive(Debug)]
pub struct Permit {
    hop: Rc<Hop>,
    /// How often its connection was put back.
    uses: u32,
    /// The connection is in the pool, and goes on to count as open.
    lent: bool,
}

/// A connection to a hop that is in use. Dropped, it is closed; [`Pool::put`] keeps it for later.
#[derive(Debug)]
pub struct Pooled {
    /// The connection itself.
    pub stream: Stream,
    permit: Permit,
}

impl<K> Clone for Pool<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Rc::clone(&self.shared),
        }
    }
}

impl<K: Eq + Hash + Clone> Pool<K> {
    /// An empty pool. Spawn [`Pool::tend`] on the worker's runtime.
    #[must_use]
    pub fn new(options: Options, cells: &Arc<Cells>) -> Self {
        Self {
            shared: Rc::new(Shared {
                idle: Cell::new(options.idle),
                options,
                hops: RefCell::default(),
                totals: Rc::new(Totals {
                    idle: Cell::new(0),
                    filled: Notify::new(),
                    cells: Arc::clone(cells),
                }),
            }),
        }
    }

    /// How long idle connections are kept from now on, those that rest already included.
    pub fn set_idle(&self, idle: Duration) {
        self.shared.idle.set(idle);
    }

    /// The idle connection used last, if there is a good one: neither closed by the hop nor with
    /// bytes that nobody asked for.
    #[must_use]
    pub fn take(&self, key: &K) -> Option<Pooled> {
        let hop = self.shared.hops.borrow().get(key).map(Rc::clone)?;
        while let Some(resting) = hop.pop() {
            let expired = resting.since.elapsed() >= self.shared.idle.get();
            if expired || !hop.totals.is_good(resting.stream.idle_state()) {
                hop.closed(resting.uses);
                continue;
            }
            hop.totals.cells.count(Counter::HopReuses);
            return Some(Pooled {
                permit: Permit::adopt(&hop, resting.uses),
                stream: resting.stream,
            });
        }
        None
    }

    /// The right to open one more connection; `None` where `max` are open, idle ones included.
    #[must_use]
    pub fn permit(&self, key: &K, max: Option<usize>) -> Option<Permit> {
        let hop = self.hop(key);
        if max.is_some_and(|max| hop.open.get() >= max) {
            hop.totals.cells.count(Counter::LimitHopConnections);
            return None;
        }
        Some(Permit::new(&hop))
    }

    /// Keeps a connection whose last reply ended exactly at its end, for the next request. Closes
    /// another one, or this, where there are too many.
    pub fn put(&self, pooled: Pooled) {
        let Pooled { stream, permit } = pooled;
        let hop = Rc::clone(&permit.hop);
        let (options, totals) = (&self.shared.options, &hop.totals);
        let full = if hop.idle.borrow().len() >= options.idle_per_hop_max {
            Some(Counter::LimitIdleHop)
        } else {
            (totals.idle.get() >= options.idle_max).then_some(Counter::LimitIdleTotal)
        };
        if let Some(limit) = full {
            totals.cells.count(limit);
            match hop.pop_oldest() {
                Some(oldest) => hop.closed(oldest.uses),
                None => return,
            }
        }
        hop.push(Resting {
            stream,
            since: Instant::now(),
            uses: permit.lend().saturating_add(1),
        });
    }

    /// Open connections to a hop, idle ones included.
    #[must_use]
    pub fn open(&self, key: &K) -> usize {
        let hops = self.shared.hops.borrow();
        hops.get(key).map_or(0, |hop| hop.open.get())
    }

    /// Idle connections to a hop.
    #[must_use]
    pub fn idle(&self, key: &K) -> usize {
        let hops = self.shared.hops.borrow();
        hops.get(key).map_or(0, |hop| hop.idle.borrow().len())
    }

    /// Shows each hop with its connections: those that are open, and those of them that are idle.
    pub fn each(&self, mut show: impl FnMut(&K, usize, usize)) {
        for (key, hop) in self.shared.hops.borrow().iter() {
            show(key, hop.open.get(), hop.idle.borrow().len());
        }
    }

    /// Idle connections to all hops.
    #[must_use]
    pub fn idle_total(&self) -> usize {
        self.shared.totals.idle.get()
    }

    /// Closes all idle connections.
    pub fn clear(&self) {
        self.keep(|_| false);
    }

    /// Closes the idle connections of one hop, for example when it is found dead.
    pub fn clear_hop(&self, key: &K) {
        let hop = self.shared.hops.borrow().get(key).map(Rc::clone);
        if let Some(hop) = hop {
            hop.keep(|_| false);
        }
    }

    /// Closes the idle connections that are too old, that their hop has closed, or that have
    /// surplus bytes, and forgets hops without connections. Takes no system call per connection.
    pub fn sweep(&self) {
        let (now, limit) = (Instant::now(), self.shared.idle.get());
        let totals = &self.shared.totals;
        self.keep(|resting| {
            let young = now.duration_since(resting.since) < limit;
            if !young {
                totals.cells.count(Counter::IdleExpired);
            }
            young && totals.is_good(resting.stream.idle_state_by_events())
        });
        let unused = |hop: &Hop| hop.open.get() == 0;
        self.shared.hops.borrow_mut().retain(|_, hop| !unused(hop));
    }

    /// Sweeps for ever; sleeps without a timer while nothing is idle.
    pub async fn tend(self) {
        loop {
            while self.idle_total() == 0 {
                self.shared.totals.filled.notified().await;
            }
            tokio::time::sleep(self.shared.options.sweep).await;
            self.sweep();
        }
    }

    fn hop(&self, key: &K) -> Rc<Hop> {
        let mut hops = self.shared.hops.borrow_mut();
        if let Some(hop) = hops.get(key) {
            return Rc::clone(hop);
        }
        let hop = Rc::new(Hop {
            open: Cell::new(0),
            idle: RefCell::default(),
            totals: Rc::clone(&self.shared.totals),
        });
        hops.insert(key.clone(), Rc::clone(&hop));
        hop
    }

    fn keep(&self, mut good: impl FnMut(&Resting) -> bool) {
        for hop in self.shared.hops.borrow().values() {
            hop.keep(&mut good);
        }
    }
}

impl Hop {
    fn push(&self, resting: Resting) {
        self.idle.borrow_mut().push_back(resting);
        self.totals.shift_idle(1);
    }

    fn pop(&self) -> Option<Resting> {
        let resting = self.idle.borrow_mut().pop_back()?;
        self.totals.shift_idle(-1);
        Some(resting)
    }

    fn pop_oldest(&self) -> Option<Resting> {
        let resting = self.idle.borrow_mut().pop_front()?;
        self.totals.shift_idle(-1);
        Some(resting)
    }

    fn keep(&self, mut good: impl FnMut(&Resting) -> bool) {
        self.idle.borrow_mut().retain(|resting| {
            let stays = good(resting);
            if !stays {
                self.totals.shift_idle(-1);
                self.closed(resting.uses);
            }
            stays
        });
    }

    /// A connection that carried so many requests is no more.
    fn closed(&self, requests: u32) {
        self.shift_open(-1);
        self.totals
            .cells
            .record(Histogram::HopUses, requests.into());
    }

    fn shift_open(&self, change: isize) {
        self.open.set(self.open.get().saturating_add_signed(change));
        self.totals
            .cells
            .shift(Gauge::HopConnections, change as i64);
    }
}

impl Totals {
    fn shift_idle(&self, change: isize) {
        if self.idle.get() == 0 {
            self.filled.notify_one();
        }
        self.idle.set(self.idle.get().saturating_add_signed(change));
        self.cells.shift(Gauge::HopConnectionsIdle, change as i64);
    }

    fn is_good(&self, state: Idle) -> bool {
        match state {
            Idle::Quiet => return true,
            Idle::Closed => self.cells.count(Counter::IdleClosedByPeer),
            Idle::Surplus => self.cells.count(Counter::IdleSurplus),
        }
        false
    }
}

impl Permit {
    fn new(hop: &Rc<Hop>) -> Self {
        hop.shift_open(1);
        Self::adopt(hop, 0)
    }

    /// For a connection that counts as open already.
    fn adopt(hop: &Rc<Hop>, uses: u32) -> Self {
        Self {
            hop: Rc::clone(hop),
            uses,
            lent: false,
        }
    }

    /// The connection goes on to count as open, without a permit. Gives its uses.
    fn lend(mut self) -> u32 {
        self.lent = true;
        self.uses
    }

    /// Ties a connection to the permit: a fresh one, or the one of [`Pooled::into_parts`].
    #[must_use]
    pub const fn with(self, stream: Stream) -> Pooled {
        Pooled {
            stream,
            permit: self,
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.lent {
            self.hop.closed(self.uses.saturating_add(1));
        }
    }
}

impl Pooled {
    /// How often the connection was put back before: 0 for a fresh one.
    #[must_use]
    pub const fn uses(&self) -> u32 {
        self.permit.uses
    }

    /// Whether it has carried a request before, so that its failure may only mean that the hop
    /// had closed it (RFC 9110 §9.2.2 says when to retry).
    #[must_use]
    pub const fn is_reused(&self) -> bool {
        self.permit.uses > 0
    }

    /// The connection by itself, to be split or for a tunnel; the permit goes along with it.
    #[must_use]
    pub fn into_parts(self) -> (Stream, Permit) {
        (self.stream, self.permit)
    }
}

#[cfg(test)]
mod tests;
