//! The way out of a log, of requests or of the store: a buffer for each worker, and the thread that writes them. A log that is slow, or dead, is in
//! the way of no worker and of no other log.
//!
//! | step | who |
//! | --- | --- |
//! | a line goes into the worker's own buffer | the worker; its lock is contended only while the thread swaps |
//! | the first line into an empty buffer rings the bell | the worker |
//! | the thread wakes, lets lines gather for 20 ms, swaps the buffers out, writes them | the thread |
//! | nothing came meanwhile: it parks | the thread |
//! | the last handle goes, or `close`: a last sweep, and it ends | the owner |
//!
//! A buffer is bounded: beyond that, lines are dropped and counted, and no worker waits.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use stats::Cells;

use super::LogFacts;
use super::bell::Bell;
use super::line::{Clocks, Format};
use super::output::{Output, Place};
use super::show::Show;
use super::tally::Tally;

/// How long the thread lets lines gather before it writes them.
const GATHER: Duration = Duration::from_millis(20);
/// A buffer that grew beyond this is given back after it was written.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// How long a log that must end may take for what it holds.
const LAST_WAIT: Duration = Duration::from_millis(1500);

/// How files are opened anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renewal {
    /// After the old ones were renamed away.
    Rotate,
    /// As they are.
    Reopen,
}

/// What an outlet is made from.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) place: Place,
    /// Old files kept on rotation.
    pub(super) rotate: u32,
    /// Bytes that each worker's buffer holds at most.
    pub(super) buffer_bytes_max: usize,
    /// A line that can't be written is the end of the proxy.
    pub(super) dies_on_error: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Outlet {
    draft: Draft,
    show: Arc<Show>,
    /// One per worker.
    buffers: Vec<Buffer>,
    bell: Bell,
    orders: Mutex<Orders>,
    obeyed: Condvar,
    /// Why the proxy must end.
    fatal: OnceLock<String>,
}

/// Its own cache lines: neighbours belong to other cores.
#[derive(Debug)]
#[repr(align(128))]
struct Buffer(Mutex<Lines>);

#[derive(Debug)]
struct Lines {
    bytes: Vec<u8>,
    /// Lines taken since the last look, those dropped included.
    count: u64,
    dropped: u64,
    clocks: Clocks,
}

#[derive(Debug, Default)]
pub(super) struct Orders {
    renewal: Option<Renewal>,
    /// Since when it is to end.
    pub(super) stop: Option<Instant>,
    pub(super) ended: bool,
    pub(super) flush_wanted: u64,
    pub(super) flush_done: u64,
}

impl Orders {
    const fn any(&self) -> bool {
        self.renewal.is_some() || self.stop.is_some() || self.flush_wanted > self.flush_done
    }
}

impl Outlet {
    pub(super) fn new(draft: Draft, workers: usize, show: Arc<Show>) -> Self {
        let buffer = || {
            Buffer(Mutex::new(Lines {
                bytes: Vec::new(),
                count: 0,
                dropped: 0,
                clocks: Clocks::new(),
            }))
        };
        Self {
            draft,
            show,
            buffers: std::iter::repeat_with(buffer).take(workers).collect(),
            bell: Bell::default(),
            orders: Mutex::default(),
            obeyed: Condvar::new(),
            fatal: OnceLock::new(),
        }
    }

    /// Opens the log and starts its thread.
    pub(super) fn start(self: &Arc<Self>, cells: Arc<Cells>) -> std::io::Result<()> {
        let output = Output::open(&self.draft.place, self.draft.rotate)?;
        let for_thread = Arc::clone(self);
        let thread = thread::Builder::new()
            .name("log".into())
            .spawn(move || for_thread.run(output, cells))?;
        self.bell.belongs_to(thread.thread());
        Ok(())
    }

    /// Why the proxy must end (`on-error=die`).
    pub(super) fn fatal(&self) -> Option<&str> {
        self.fatal.get().map(String::as_str)
    }

    /// Appends a transaction's line.
    pub(super) fn append(&self, worker: usize, format: &Format, facts: &LogFacts<'_>) {
        self.append_with(worker, |out, clocks| {
            format.write(out, facts, &self.show, clocks)
        });
    }

    /// Appends what `write` writes: a whole line.
    pub(super) fn append_with(&self, worker: usize, write: impl FnOnce(&mut Vec<u8>, &mut Clocks)) {
        let Some(buffer) = self.buffers.get(worker) else {
            return;
        };
        let mut guard = locked(&buffer.0);
        let lines = &mut *guard;
        lines.count += 1;
        if lines.bytes.len() >= self.draft.buffer_bytes_max {
            lines.dropped += 1;
            return;
        }
        let first = lines.bytes.is_empty();
        write(&mut lines.bytes, &mut lines.clocks);
        // Rung under the lock: the thread silences the bell before it takes this lock, so either
        // it takes this line or it hears the bell.
        let sleeping = first && self.bell.ring();
        drop(guard);
        if sleeping {
            self.bell.wake();
        }
    }

    /// Has old files renamed away, or files opened anew; doesn't wait for it.
    pub(super) fn renew(&self, renewal: Renewal) {
        self.order(|orders| orders.renewal = Some(renewal));
    }

    /// Tells the thread to end when all is written.
    pub(super) fn stop(&self) {
        self.order(|orders| {
            orders.stop.get_or_insert_with(Instant::now);
        });
    }

    /// Has written what was logged so far. What to wait for.
    pub(super) fn flush(&self) -> u64 {
        self.order(|orders| {
            orders.flush_wanted += 1;
            orders.flush_wanted
        })
    }

    /// Gives an order to the thread and wakes it.
    fn order<T>(&self, give: impl FnOnce(&mut Orders) -> T) -> T {
        let given = give(&mut locked(&self.orders));
        self.bell.ring();
        self.bell.wake();
        given
    }

    pub(super) fn wait_for(&self, grace: Duration, met: impl Fn(&Orders) -> bool) -> bool {
        let guard = locked(&self.orders);
        let (guard, _) = self
            .obeyed
            .wait_timeout_while(guard, grace, |orders| !met(orders))
            .unwrap_or_else(PoisonError::into_inner);
        met(&guard)
    }

    /// The thread's work: ends when it is told to stop.
    fn run(&self, mut output: Output, cells: Arc<Cells>) {
        let mut tally = Tally::new(&self.draft.place, cells);
        let mut spare = Vec::new();
        loop {
            self.bell.wait();
            self.gather();
            self.bell.silence();
            let (renewal, stop, flush) = {
                let mut orders = locked(&self.orders);
                let stop = orders.stop.is_some();
                (orders.renewal.take(), stop, orders.flush_wanted)
            };
            self.sweep(&mut output, &mut tally, &mut spare);
            self.obey(renewal, &mut output, &mut tally);
            if stop {
                drop(output);
                tally.end();
                self.tell(|orders| (orders.flush_done, orders.ended) = (flush, true));
                return;
            }
            self.tell(|orders| orders.flush_done = flush);
        }
    }

    fn tell(&self, news: impl FnOnce(&mut Orders)) {
        news(&mut locked(&self.orders));
        self.obeyed.notify_all();
    }

    /// Lets lines gather, unless there is an order to obey.
    fn gather(&self) {
        let until = Instant::now() + GATHER;
        while !locked(&self.orders).any() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::park_timeout(left);
        }
    }

    /// Swaps out each buffer and writes it.
    fn sweep(&self, output: &mut Output, tally: &mut Tally, spare: &mut Vec<u8>) {
        let (mut well, mut any) = (true, false);
        for buffer in &self.buffers {
            let mut lines = locked(&buffer.0);
            std::mem::swap(&mut lines.bytes, spare);
            well &= lines.dropped == 0;
            lines.count_in(tally);
            drop(lines);
            if !spare.is_empty() {
                any = true;
                let outcome = output.write(spare, &mut || self.may_wait(tally));
                well &= outcome.lost == 0;
                if let (1.., Some(error)) = (outcome.lost, &outcome.error) {
                    tally.lost(outcome.lost, &error.to_string());
                }
                spare.clear();
            }
            if spare.capacity() > KEPT_BYTES_MAX {
                *spare = Vec::new();
            }
        }
        match (well, any) {
            (true, true) => tally.well(),
            (true, false) => {} // nothing was tried
            (false, _) => self.die(tally),
        }
    }

    fn obey(&self, renewal: Option<Renewal>, output: &mut Output, tally: &mut Tally) {
        let Some(renewal) = renewal else { return };
        let may_wait = &mut || self.may_wait(tally);
        let renewed = match renewal {
            Renewal::Rotate => output.rotate(may_wait),
            Renewal::Reopen => output.reopen(may_wait),
        };
        if let Err(error) = renewed {
            let place = &self.draft.place;
            tracing::error!("log {place}: {error}; kept as it was");
        }
    }

    /// May the log be waited for? Looks after the buffers meanwhile.
    fn may_wait(&self, tally: &mut Tally) -> bool {
        for buffer in &self.buffers {
            locked(&buffer.0).count_in(tally);
        }
        self.die(tally);
        let stop = locked(&self.orders).stop;
        stop.is_none_or(|since| since.elapsed() < LAST_WAIT)
    }

    fn die(&self, tally: &Tally) {
        if self.draft.dies_on_error && tally.is_losing() {
            let place = &self.draft.place;
            let why = || format!("Cannot write log file: {place} (on-error=die)");
            self.fatal.get_or_init(why);
        }
    }
}

impl Lines {
    fn count_in(&mut self, tally: &mut Tally) {
        tally.taken(std::mem::take(&mut self.count));
        match std::mem::take(&mut self.dropped) {
            0 => {}
            dropped => tally.lost(dropped, "too slow"),
        }
    }
}

/// A lock whose holder panicked is as good as any: lines are appended whole or not at all.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "outlet_tests.rs"]
mod tests;
