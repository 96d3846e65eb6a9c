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

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;

use super::LogFacts;
use super::line::Format;
use super::output::{OpenError, Output, Place};
use crate::format::LocalTime;

/// How long the thread lets lines gather before it writes them.
const GATHER: Duration = Duration::from_millis(20);
/// A buffer that grew beyond this is given back after it was written.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// One access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Where to; `None` for `access_log none`: what it matches goes to no log after it.
    pub place: Option<Place>,
    /// What a line looks like.
    pub format: Format,
    /// Old files kept on rotation, where the log has its own number.
    pub rotate: Option<u32>,
}

/// What all access logs share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Worker threads; each gets its own buffers. Should there be more one day, they share them.
    pub workers: usize,
    /// Old files kept on rotation (`logfile_rotate`); 0 only opens the file anew.
    pub rotate: u32,
    /// Cut URLs after their `?` (`strip_query_terms`).
    pub strip_query_terms: bool,
    /// Bytes that a worker's buffer holds at most while the disk is slow.
    pub buffer_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            workers: 1,
            rotate: 10,
            strip_query_terms: true,
            buffer_bytes_max: 4 << 20,
        }
    }
}

/// The access logs: given to the workers as [`LogHandle`]s.
#[derive(Clone, Debug, Default)]
pub struct AccessLog(Option<Arc<Door>>);

impl AccessLog {
    /// Opens all logs and starts their thread; with no log there is none. Logs to the same
    /// place share it.
    ///
    /// # Errors
    /// The first place that can't be opened, or the thread that can't be started.
    pub fn open(specs: &[Spec], options: &Options) -> Result<Self, OpenError> {
        let mut outputs: Vec<Output> = Vec::new();
        let mut logs = Vec::with_capacity(specs.len());
        for spec in specs {
            let output = match &spec.place {
                Some(place) => {
                    let rotate = spec.rotate.unwrap_or(options.rotate);
                    Some(shared_output(&mut outputs, place, rotate)?)
                }
                None => None,
            };
            logs.push(Log {
                format: spec.format.clone(),
                output,
            });
        }
        let Some(first) = outputs.first().map(|output| output.place().clone()) else {
            return Ok(Self(None));
        };
        let shared = Arc::new(Shared::new(logs, outputs.len(), options));
        start(&shared, outputs).map_err(|reason| OpenError {
            place: first,
            reason,
        })?;
        Ok(Self(Some(Arc::new(Door(shared)))))
    }

    /// The handle of a worker, counted from 0.
    pub fn handle(&self, worker: usize) -> LogHandle {
        LogHandle(self.0.clone().map(|door| Desk {
            worker: worker % door.0.workers,
            door,
        }))
    }

    /// Becomes a log that others have taken the place of: it is held only by the transactions that
    /// still run, and ends with the last of them.
    pub fn retire(self) -> RetiredLog {
        RetiredLog(self.0.as_ref().map(Arc::downgrade).unwrap_or_default())
    }

    /// Is there a log at all?
    pub const fn has_any(&self) -> bool {
        self.0.is_some()
    }

    /// Rotates all logs, after what was logged so far; doesn't wait for it.
    pub fn rotate(&self) {
        self.renew(Renewal::Rotate);
    }

    fn renew(&self, renewal: Renewal) {
        if let Some(door) = &self.0 {
            door.0.order(|orders| orders.renewal = Some(renewal));
        }
    }

    /// Waits until all that was logged so far is written, or `grace` is over. Was it written?
    pub fn flush(&self, grace: Duration) -> bool {
        let Some(door) = &self.0 else { return true };
        let wanted = door.0.order(|orders| {
            orders.flush_wanted += 1;
            orders.flush_wanted
        });
        door.0
            .wait_for(grace, |orders| orders.ended || orders.flush_done >= wanted)
    }

    /// Writes what was logged and ends the thread; what is logged later is lost.
    /// Waits `grace` at most: a pipe that nobody reads must not keep the program alive.
    pub fn close(&self, grace: Duration) -> bool {
        let Some(door) = &self.0 else { return true };
        door.0.order(|orders| orders.stop = true);
        door.0.wait_for(grace, |orders| orders.ended)
    }

    /// Lines lost because a buffer was full.
    pub fn dropped_lines(&self) -> u64 {
        self.0
            .as_ref()
            .map_or(0, |door| door.0.dropped.load(Ordering::Relaxed))
    }
}

/// See [`AccessLog::retire`].
#[derive(Debug)]
pub struct RetiredLog(Weak<Door>);

impl RetiredLog {
    /// Opens its files anew, since another log has renamed them. `false`: it has ended.
    pub fn reopen(&self) -> bool {
        let log = self.0.upgrade();
        let lives = log.is_some();
        AccessLog(log).renew(Renewal::Reopen);
        lives
    }

    /// As [`AccessLog::close`].
    pub fn close(&self, grace: Duration) -> bool {
        AccessLog(self.0.upgrade()).close(grace)
    }
}

/// How files are opened anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Renewal {
    /// After the old ones were renamed away.
    Rotate,
    /// As they are.
    Reopen,
}

/// A worker's way to the access logs.
#[derive(Clone, Debug, Default)]
pub struct LogHandle(Option<Desk>);

#[derive(Clone, Debug)]
struct Desk {
    door: Arc<Door>,
    worker: usize,
}

impl LogHandle {
    /// A handle that logs nothing.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Is there a log at all?
    pub const fn has_any(&self) -> bool {
        self.0.is_some()
    }

    /// Does any log show the request's `Referer` or `User-Agent`? If not, they needn't be looked up.
    pub fn shows_fields(&self) -> bool {
        self.0.as_ref().is_some_and(|desk| {
            let mut logs = desk.door.0.logs.iter();
            logs.any(|log| log.format.shows_fields())
        })
    }

    /// Does any log show fields of the reply? If so, its head is to be kept.
    pub(crate) fn shows_reply(&self) -> bool {
        let desk = self.0.as_ref();
        desk.is_some_and(|desk| desk.door.0.shows_reply)
    }

    /// Writes the transaction's line to each log.
    pub fn write(&self, facts: &LogFacts<'_>) {
        self.write_where(facts, |_| true);
    }

    /// Writes the transaction's line to each log that `wanted` chooses by its place in the
    /// configuration. An `access_log none` that is chosen ends the matter.
    pub fn write_where(&self, facts: &LogFacts<'_>, mut wanted: impl FnMut(usize) -> bool) {
        let Some(Desk { door, worker }) = &self.0 else {
            return;
        };
        for (number, log) in door.0.logs.iter().enumerate() {
            if wanted(number) {
                let Some(output) = log.output else { return };
                door.0.append(*worker, output, &log.format, facts);
            }
        }
    }
}

/// Held by all who can log; when the last one goes, the thread ends.
#[derive(Debug)]
struct Door(Arc<Shared>);

impl Drop for Door {
    fn drop(&mut self) {
        self.0.order(|orders| orders.stop = true);
    }
}

#[derive(Clone, Debug)]
struct Log {
    format: Format,
    /// `None`: `access_log none`.
    output: Option<usize>,
}

#[derive(Debug)]
struct Shared {
    logs: Vec<Log>,
    workers: usize,
    outputs: usize,
    /// One per worker and output: `worker * outputs + output`.
    buffers: Vec<Buffer>,
    /// Some log shows fields of the reply.
    shows_reply: bool,
    strip_query: bool,
    buffer_bytes_max: usize,
    bell: Bell,
    orders: Mutex<Orders>,
    obeyed: Condvar,
    dropped: AtomicU64,
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
struct Orders {
    renewal: Option<Renewal>,
    stop: bool,
    ended: bool,
    flush_wanted: u64,
    flush_done: u64,
}

impl Orders {
    const fn any(&self) -> bool {
        self.renewal.is_some() || self.stop || self.flush_wanted > self.flush_done
    }
}

impl Shared {
    fn new(logs: Vec<Log>, outputs: usize, options: &Options) -> Self {
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

    fn append(&self, worker: usize, output: usize, format: &Format, facts: &LogFacts<'_>) {
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
    fn order<T>(&self, give: impl FnOnce(&mut Orders) -> T) -> T {
        let given = give(&mut locked(&self.orders));
        self.bell.ring();
        self.bell.wake();
        given
    }

    fn wait_for(&self, grace: Duration, met: impl Fn(&Orders) -> bool) -> bool {
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

/// Wakes the thread, with at most one system call per gathering.
#[derive(Debug, Default)]
struct Bell {
    rung: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Bell {
    /// Must the thread be woken?
    fn ring(&self) -> bool {
        !self.rung.swap(true, Ordering::SeqCst)
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    fn wait(&self) {
        while !self.rung.load(Ordering::SeqCst) {
            thread::park();
        }
    }

    fn silence(&self) {
        self.rung.store(false, Ordering::SeqCst);
    }
}

/// The output of that place, opened if it isn't yet.
fn shared_output(
    outputs: &mut Vec<Output>,
    place: &Place,
    rotate: u32,
) -> Result<usize, OpenError> {
    if let Some(known) = outputs.iter().position(|open| open.place() == place) {
        return Ok(known);
    }
    outputs.push(Output::open(place.clone(), rotate)?);
    Ok(outputs.len() - 1)
}

fn start(shared: &Arc<Shared>, outputs: Vec<Output>) -> std::io::Result<()> {
    let for_thread = Arc::clone(shared);
    let thread = thread::Builder::new()
        .name("access-log".into())
        .spawn(move || for_thread.run(outputs))?;
    shared.bell.thread.get_or_init(|| thread.thread().clone());
    Ok(())
}

/// A lock whose holder panicked is as good as any: lines are appended whole or not at all.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
