//! What is known of a pool and its children: for the manager's pages, and among keeper and children.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::question::Question;

/// A pool at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Processes that take questions.
    pub active: usize,
    /// Processes that finish their questions and end.
    pub retiring: usize,
    /// Questions written to children; more than were asked where some were asked anew.
    pub sent: u64,
    /// Answers read.
    pub received: u64,
    /// Questions not answered in time.
    pub timed_out: u64,
    /// Questions refused because too many waited.
    pub refused: u64,
    /// Processes that ended by themselves or had to be killed.
    pub deaths: u64,
    /// Questions that wait.
    pub queue: usize,
    /// The most that ever waited.
    pub queue_max: usize,
    /// Time that an answer took lately.
    pub average: Duration,
    /// Every process, oldest first.
    pub children: Vec<ChildStatus>,
}

/// A child at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildStatus {
    /// Counted from 1 as children are started.
    pub id: u64,
    /// The process.
    pub pid: u32,
    /// Our descriptor of its standard input.
    pub descriptor: i32,
    /// What it does.
    pub phase: Phase,
    /// Questions written to it.
    pub sent: u64,
    /// Answers read from it.
    pub received: u64,
    /// Questions that it didn't answer in time.
    pub timed_out: u64,
    /// Questions that it has now. Their text isn't shown: it may hold passwords.
    pub pending: usize,
    /// Time that its last answer took.
    pub last: Duration,
}

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Takes questions.
    Ready,
    /// Takes the questions of one asker only.
    Reserved,
    /// Finishes what it has and ends.
    Retiring,
}

/// How many answers the average looks back on.
const AVERAGE_OVER: u64 = 10;

/// Where a pool's keeper and its children write what they know, and where they ring for each other.
#[derive(Debug, Default)]
pub(super) struct Board {
    state: Mutex<State>,
    /// Rung when there is something for the keeper to look at.
    pub(super) bell: Notify,
    full: AtomicBool,
    restart: AtomicBool,
    end: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    totals: Status,
    desks: Vec<Arc<Desk>>,
    /// Questions that children gave back.
    returned: Vec<Question>,
}

/// What is known of one child.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) started: Instant,
    status: Mutex<ChildStatus>,
}

impl Desk {
    pub(super) fn new(id: u64, pid: u32, descriptor: i32) -> Self {
        Self {
            started: Instant::now(),
            status: Mutex::new(ChildStatus {
                id,
                pid,
                descriptor,
                phase: Phase::Ready,
                sent: 0,
                received: 0,
                timed_out: 0,
                pending: 0,
                last: Duration::ZERO,
            }),
        }
    }

    pub(super) fn status(&self) -> MutexGuard<'_, ChildStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Board {
    /// Everything, for the manager.
    pub(super) fn status(&self) -> Status {
        let state = self.lock();
        let children: Vec<_> = state.desks.iter().map(|desk| *desk.status()).collect();
        let retiring = |child: &&ChildStatus| child.phase == Phase::Retiring;
        let retiring = children.iter().filter(retiring).count();
        Status {
            active: children.len() - retiring,
            retiring,
            children,
            ..state.totals.clone()
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }

    pub(super) fn order_restart(&self) {
        self.restart.store(true, Relaxed);
        self.bell.notify_one();
    }

    pub(super) fn order_end(&self) {
        self.end.store(true, Relaxed);
        self.bell.notify_one();
    }

    pub(super) fn takes_restart(&self) -> bool {
        self.restart.swap(false, Relaxed)
    }

    pub(super) fn takes_end(&self) -> bool {
        self.end.swap(false, Relaxed)
    }

    pub(super) fn add(&self, desk: Arc<Desk>) {
        self.lock().desks.push(desk);
    }

    pub(super) fn remove(&self, desk: &Arc<Desk>) {
        self.lock().desks.retain(|other| !Arc::ptr_eq(other, desk));
    }

    pub(super) fn show_queue(&self, length: usize, is_full: bool) {
        self.full.store(is_full, Relaxed);
        let totals = &mut self.lock().totals;
        totals.queue = length;
        totals.queue_max = totals.queue_max.max(length);
    }

    /// Does any question wait?
    pub(super) fn has_queue(&self) -> bool {
        self.lock().totals.queue > 0
    }

    pub(super) fn count_sent(&self, desk: &Desk) {
        self.lock().totals.sent += 1;
        desk.status().sent += 1;
    }

    pub(super) fn count_received(&self, desk: &Desk, took: Duration) {
        let totals = &mut self.lock().totals;
        totals.received += 1;
        let over = u32::try_from(totals.received.min(AVERAGE_OVER)).unwrap_or(1);
        totals.average = (totals.average * (over - 1) + took) / over;
        let mut child = desk.status();
        child.received += 1;
        child.last = took;
    }

    pub(super) fn count_timed_out(&self, desk: Option<&Desk>) {
        self.lock().totals.timed_out += 1;
        if let Some(desk) = desk {
            desk.status().timed_out += 1;
        }
    }

    pub(super) fn count_refused(&self) {
        self.lock().totals.refused += 1;
    }

    pub(super) fn count_death(&self) {
        self.lock().totals.deaths += 1;
    }

    /// Gives a question back to be asked of another child.
    pub(super) fn give_back(&self, question: Question) {
        self.lock().returned.push(question);
        self.bell.notify_one();
    }

    pub(super) fn take_returned(&self) -> Vec<Question> {
        std::mem::take(&mut self.lock().returned)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
