//! Reads that have to wait for the disk, and the threads that do so.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::engine::Engine;
use super::find::{Search, Stored};
use super::large::Extents;
use crate::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, lock};
use crate::usage::count;

/// Reads that wait for a thread; further ones find nothing.
const QUEUED_MAX: usize = 4096;
/// When nothing has come from rings for longer, with reads out, the disk is left to threads: its queue may be full, and
/// whoever gives it more is held up then.
const STALLED_SECS: u32 = 1;

/// A value that a thread is about to give.
#[derive(Debug)]
pub(crate) struct Promise<T>(Mutex<Promised<T>>);

#[derive(Debug)]
enum Promised<T> {
    Waiting(Option<Waker>),
    Kept(T),
    Taken,
}

impl<T> Promise<T> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Promised::Waiting(None))))
    }

    pub(crate) fn keep(&self, value: T) {
        let mut promised = lock(&self.0);
        let before = std::mem::replace(&mut *promised, Promised::Kept(value));
        drop(promised);
        if let Promised::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }

    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<Option<T>> {
        let mut promised = lock(&self.0);
        if let Promised::Waiting(waker) = &mut *promised {
            *waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        match std::mem::replace(&mut *promised, Promised::Taken) {
            Promised::Kept(value) => Poll::Ready(Some(value)),
            Promised::Waiting(_) | Promised::Taken => Poll::Ready(None),
        }
    }
}

/// What a thread is to read.
#[derive(Debug)]
pub(crate) enum Job {
    Search(Search, Arc<Promise<Option<Stored>>>),
    Fragment {
        extents: Arc<Extents>,
        ordinal: usize,
        /// Those that the kernel is to begin with.
        asked: Range<usize>,
        promise: Arc<Promise<io::Result<Bytes>>>,
    },
}

impl Job {
    /// Whether nobody waits for it any more.
    fn is_abandoned(&self) -> bool {
        match self {
            Self::Search(_, promise) => Arc::strong_count(promise) == 1,
            Self::Fragment { promise, .. } => Arc::strong_count(promise) == 1,
        }
    }

    fn refuse(self) {
        match self {
            Self::Search(_, promise) => promise.keep(None),
            Self::Fragment { promise, .. } => promise.keep(Err(io::ErrorKind::ResourceBusy.into())),
        }
    }

    fn run(self, engine: &Arc<Engine>) {
        match self {
            Self::Search(search, promise) => promise.keep(engine.search(&search)),
            Self::Fragment {
                extents,
                ordinal,
                asked,
                promise,
            } => {
                extents.begin_reading(asked);
                promise.keep(extents.read(ordinal));
            }
        }
        count(&engine.counters.reads_by_threads);
    }
}

/// The queue of reads, and how many rings have.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    queue: Mutex<Queue>,
    ready: Condvar,
    in_rings: AtomicUsize,
    /// When one of those has ended, or the first began.
    moved_secs: AtomicU32,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl Reads {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    pub(crate) fn queued(&self) -> usize {
        self.queue().jobs.len() + self.in_rings.load(Relaxed)
    }

    /// Counts a read that a ring is to do, unless the disk seems to hang.
    pub(crate) fn enter_ring(&self, now_secs: u32) -> bool {
        if self.in_rings.load(Relaxed) == 0 {
            self.moved_secs.store(now_secs, Relaxed);
        } else if now_secs.saturating_sub(self.moved_secs.load(Relaxed)) > STALLED_SECS {
            return false;
        }
        self.in_rings.fetch_add(1, Relaxed);
        true
    }

    /// The disk has answered one of those.
    pub(crate) fn note_moved(&self, now_secs: u32) {
        self.moved_secs.store(now_secs, Relaxed);
    }

    /// It has ended, or isn't done by a ring after all.
    pub(crate) fn leave_ring(&self) {
        self.in_rings.fetch_sub(1, Relaxed);
    }

    /// Ends the threads; what still waits is refused.
    pub(crate) fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        let jobs = std::mem::take(&mut queue.jobs);
        drop(queue);
        self.ready.notify_all();
        jobs.into_iter().for_each(Job::refuse);
    }

    fn push(&self, job: Job) -> Result<(), Job> {
        let mut queue = self.queue();
        if queue.closed || queue.jobs.len() >= QUEUED_MAX {
            return Err(job);
        }
        queue.jobs.push_back(job);
        drop(queue);
        self.ready.notify_one();
        Ok(())
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            queue = self
                .ready
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Engine {
    /// Has a thread do `job`.
    pub(crate) fn read_later(&self, job: Job) {
        if let Err(job) = self.reads.push(job) {
            count(&self.counters.reads_refused);
            job.refuse();
        }
    }
}

/// The life of a reading thread.
pub(crate) fn run(engine: &Arc<Engine>) {
    while let Some(job) = engine.reads.next() {
        if !job.is_abandoned() {
            job.run(engine);
        }
    }
}

/// A stored response that is being read from the disk; nothing, if it turns out not to be there. Dropping it stops the
/// read, if it hasn't begun.
#[derive(Debug)]
pub struct Reading(pub(crate) Arc<Promise<Option<Stored>>>);

impl Future for Reading {
    type Output = Option<Stored>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(cx).map(Option::flatten)
    }
}
