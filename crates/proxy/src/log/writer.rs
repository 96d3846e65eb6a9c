//! One thread that writes the access logs of all workers.
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

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;

use super::LogFacts;
use super::bell::Bell;
use super::handle::Options;
use super::line::Format;
use super::output::Output;
use crate::format::LocalTime;

/// How long the thread lets lines gather before it writes them.
const GATHER: Duration = Duration::from_millis(20);
/// A buffer that grew beyond this is given back after it was written.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// How files are opened anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renewal {
    /// After the old ones were renamed away.
    Rotate,
    /// As they are.
    Reopen,
}

#[derive(Clone, Debug)]
pub(super) struct Log {
    pub(super) format: Format,
    /// `None`: `access_log none`.
    pub(super) output: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) logs: Vec<Log>,
    pub(super) workers: usize,
    outputs: usize,
    /// One per worker and output: `worker * outputs + output`.
    buffers: Vec<Buffer>,
    /// Some log shows fields of the reply.
    pub(super) shows_reply: bool,
    strip_query: bool,
    buffer_bytes_max: usize,
    bell: Bell,
    orders: Mutex<Orders>,
    obeyed: Condvar,
    pub(super) dropped: AtomicU64,
}

/// Its own cache lines: neighbours belong to other cores.
#[derive(Debug)]
#[repr(align(128))]
struct Buffer(Mutex<Lines>);

#[derive(Debug)]
struct Lines {
    bytes: Vec<u8>,
    dropped: u64,
    clock: LocalTime,
}

#[derive(Debug, Default)]
pub(super) struct Orders {
    pub(super) renewal: Option<Renewal>,
    pub(super) stop: bool,
    pub(super) ended: bool,
    pub(super) flush_wanted: u64,
    pub(super) flush_done: u64,
}

impl Orders {
    const fn any(&self) -> bool {
        self.renewal.is_some() || self.stop || self.flush_wanted > self.flush_done
    }
}

impl Shared {
    pub(super) fn new(logs: Vec<Log>, outputs: usize, options: &Options) -> Self {
        let zone = TimeZone::system();
        let buffer = || {
            Buffer(Mutex::new(Lines {
                bytes: Vec::new(),
                dropped: 0,
                clock: LocalTime::new(zone.clone()),
            }))
        };
        let workers = options.workers.max(1);
        let count = workers * outputs;
        Self {
            shows_reply: logs.iter().any(|log| log.format.shows_reply()),
            logs,
            workers,
            outputs,
            buffers: std::iter::repeat_with(buffer).take(count).collect(),
            strip_query: options.strip_query_terms,
            buffer_bytes_max: options.buffer_bytes_max,
            bell: Bell::default(),
            orders: Mutex::default(),
            obeyed: Condvar::new(),
            dropped: AtomicU64::new(0),
        }
    }

    pub(super) fn append(
        &self,
        worker: usize,
        output: usize,
        format: &Format,
        facts: &LogFacts<'_>,
    ) {
        let Some(buffer) = self.buffers.get(worker * self.outputs + output) else {
            return;
        };
        let mut guard = locked(&buffer.0);
        let lines = &mut *guard;
        if lines.bytes.len() >= self.buffer_bytes_max {
            lines.dropped += 1;
            return;
        }
        let first = lines.bytes.is_empty();
        format.write(&mut lines.bytes, facts, self.strip_query, &mut lines.clock);
        // Rung under the lock: the thread silences the bell before it takes this lock, so either
        // it takes this line or it hears the bell.
        let sleeping = first && self.bell.ring();
        drop(guard);
        if sleeping {
            self.bell.wake();
        }
    }

    /// Gives an order to the thread and wakes it.
    pub(super) fn order<T>(&self, give: impl FnOnce(&mut Orders) -> T) -> T {
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
    fn run(&self, outputs: Vec<Output>) {
        let mut lanes: Vec<Lane> = outputs.into_iter().map(Lane::new).collect();
        let mut spare = Vec::new();
        loop {
            self.bell.wait();
            self.gather();
            self.bell.silence();
            let (renewal, stop, flush) = {
                let mut orders = locked(&self.orders);
                (orders.renewal.take(), orders.stop, orders.flush_wanted)
            };
            self.sweep(&mut lanes, &mut spare);
            for lane in &mut lanes {
                match renewal {
                    Some(Renewal::Rotate) => lane.output.rotate(),
                    Some(Renewal::Reopen) => lane.output.reopen(),
                    None => {}
                }
            }
            let mut orders = locked(&self.orders);
            orders.flush_done = flush;
            orders.ended = stop;
            drop(orders);
            self.obeyed.notify_all();
            if stop {
                return;
            }
        }
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
    fn sweep(&self, lanes: &mut [Lane], spare: &mut Vec<u8>) {
        for worker in self.buffers.chunks(self.outputs) {
            for (buffer, lane) in worker.iter().zip(lanes.iter_mut()) {
                let mut lines = locked(&buffer.0);
                std::mem::swap(&mut lines.bytes, spare);
                lane.dropped += std::mem::take(&mut lines.dropped);
                drop(lines);
                if !spare.is_empty() {
                    lane.output.append(spare);
                    spare.clear();
                }
                if spare.capacity() > KEPT_BYTES_MAX {
                    *spare = Vec::new();
                }
            }
        }
        for lane in lanes {
            let dropped = lane.tell_dropped();
            self.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }
}

/// An output with what the thread remembers of it.
struct Lane {
    output: Output,
    dropped: u64,
    told: bool,
}

impl Lane {
    const fn new(output: Output) -> Self {
        Self {
            output,
            dropped: 0,
            told: false,
        }
    }

    /// Says once per outage that lines were dropped; returns how many since the last time.
    fn tell_dropped(&mut self) -> u64 {
        let dropped = std::mem::take(&mut self.dropped);
        let dropping = dropped > 0;
        if dropping && !self.told {
            let place = self.output.place();
            tracing::warn!("access log {place}: too slow; {dropped} lines dropped so far");
        }
        self.told = dropping;
        dropped
    }
}

pub(super) fn start(shared: &Arc<Shared>, outputs: Vec<Output>) -> std::io::Result<()> {
    let for_thread = Arc::clone(shared);
    let thread = thread::Builder::new()
        .name("access-log".into())
        .spawn(move || for_thread.run(outputs))?;
    shared.bell.belongs_to(thread.thread());
    Ok(())
}

/// A lock whose holder panicked is as good as any: lines are appended whole or not at all.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
