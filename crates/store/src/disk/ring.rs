//! A worker's ring: reads that have to wait for the disk are done by the kernel while the worker goes on, and no other
//! thread has to be woken, nor the worker by it.
//!
//! | state of a search | moved on by |
//! | --- | --- |
//! | stepping: looks at what is in memory | the first place that isn't: pushed |
//! | pushed, with a buffer for that place | the worker's next [`Ring::turn`]: out |
//! | out | the end of the read: ended, or stepping, if there lies another key |
//! | left to threads: the ring is full, the disk hangs, or the ring fails | a thread, which begins anew |
//! | ended | |

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use sys::Done;
use tokio::io::unix::AsyncFd;

use super::engine::Engine;
use super::find::{Judged, Patience, Search, Step, Stored, Trail, Wanted};
use super::index::Place;
use super::reads::{Job, Promise};
use crate::usage::count;

/// Reads of a worker that the kernel has at a time; further ones are for threads.
const READS_MAX: u32 = 128;

/// See the module. It belongs to one thread, which has to drive it.
#[derive(Debug)]
pub struct Ring {
    ring: RefCell<sys::Ring<Out>>,
    /// What a turn has brought, kept for its room.
    ended: RefCell<Vec<Done<Out>>>,
    pushed: Cell<bool>,
    /// Nobody drives it any more.
    closed: Cell<bool>,
    driver: RefCell<Option<Waker>>,
}

impl Ring {
    /// The calling thread's.
    ///
    /// # Errors
    /// If the kernel has no rings, is older than 6.1, or doesn't allow them.
    pub fn new() -> io::Result<Self> {
        Self::with_room(READS_MAX)
    }

    pub(super) fn with_room(reads_max: u32) -> io::Result<Self> {
        Ok(Self {
            ring: RefCell::new(sys::Ring::new(reads_max)?),
            ended: RefCell::default(),
            pushed: Cell::new(false),
            closed: Cell::new(false),
            driver: RefCell::default(),
        })
    }

    /// What drives it, to be run on the runtime of this thread as long as the ring is used. As it runs after the tasks that
    /// are ready, all their reads cost one system call.
    ///
    /// # Errors
    /// If there are no more descriptors.
    pub fn driver(self: &Rc<Self>) -> io::Result<impl Future<Output = ()> + use<>> {
        let (ring, readable) = (Driven(Rc::clone(self)), self.ring.borrow().readable()?);
        Ok(async move {
            // It fails with the runtime only.
            while poll_fn(|cx| ring.0.poll_work(&readable, cx)).await.is_ok() {
                ring.0.turn();
            }
        })
    }

    /// Ready when something was pushed since the last turn, or may be done.
    fn poll_work(&self, readable: &AsyncFd<OwnedFd>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(ready) = readable.poll_read_ready(cx) {
            // The next end makes it readable anew.
            ready?.clear_ready();
            return Poll::Ready(Ok(()));
        }
        if self.pushed.get() {
            return Poll::Ready(Ok(()));
        }
        self.driver.replace(Some(cx.waker().clone()));
        Poll::Pending
    }

    /// Gives the kernel what was pushed, and whoever waits what it has read. Doesn't wait.
    fn turn(&self) {
        self.drive(|ring, ended| ring.turn(|done| ended.push(done)));
    }

    /// The same, and waits until something is read, if anything is to be; for threads that have no runtime.
    pub fn wait(&self, most: Duration) {
        self.drive(|ring, ended| ring.wait(most, |done| ended.push(done)));
    }

    fn drive(&self, act: impl FnOnce(&mut sys::Ring<Out>, &mut Vec<Done<Out>>) -> io::Result<()>) {
        self.pushed.set(false);
        let mut ended = self.ended.take();
        let acted = act(&mut self.ring.borrow_mut(), &mut ended);
        if acted.is_err() {
            self.withdraw();
        }
        for done in ended.drain(..) {
            if let Some(out) = done.tag {
                out.end(done.buffer, done.result, self);
            }
        }
        self.ended.replace(ended);
    }

    /// Leaves everything to threads.
    fn withdraw(&self) {
        let outs = self.ring.borrow_mut().withdraw();
        outs.into_iter().for_each(|out| out.hunt.leave());
    }

    fn push(&self, hunt: Hunt, wanted: Wanted) -> Result<(), Hunt> {
        if self.closed.get() {
            return Err(hunt);
        }
        let read = sys::Read {
            file: hunt.engine.device.file(),
            at: wanted.at,
            buffer: wanted.buffer,
            tag: Out {
                hunt,
                place: wanted.place,
                born: wanted.born,
                #[cfg(test)]
                at: wanted.at,
            },
        };
        let pushed = self.ring.borrow_mut().push(read);
        pushed.map_err(|read| read.tag.hunt)?;
        if !self.pushed.replace(true)
            && let Some(driver) = self.driver.take()
        {
            driver.wake();
        }
        Ok(())
    }
}

/// A ring as long as it is driven: when that ends, be it by a panic, threads take over.
struct Driven(Rc<Ring>);

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.closed.set(true);
        self.0.withdraw();
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// A read that the ring has.
#[derive(Debug)]
struct Out {
    hunt: Hunt,
    place: Place,
    /// See [`Wanted::born`].
    born: u64,
    /// In the file.
    #[cfg(test)]
    at: u64,
}

impl Out {
    fn end(self, mut buffer: Vec<u8>, read: io::Result<usize>, ring: &Ring) {
        let Self {
            hunt, place, born, ..
        } = self;
        let engine = Arc::clone(&hunt.engine);
        engine.reads.note_moved(engine.now_secs());
        engine.reads.leave_ring();
        count(&engine.counters.reads_by_rings);
        if hunt.is_abandoned() {
            return;
        }
        #[cfg(test)]
        let read = engine.device.faulty(self.at, &mut buffer, read);
        let Some(filled) = engine.note_read(read) else {
            return hunt.step(ring);
        };
        engine.count_read(filled);
        let asked = buffer.len();
        buffer.truncate(filled);
        let bytes = Bytes::from(buffer);
        match engine.judge(&bytes, born, &hunt.search.key, hunt.search.hash, place) {
            Judged::Here(stored) => hunt.keep(Step::Here(place, stored)),
            Judged::Other => hunt.step(ring),
            // The file ends there, or the kernel stopped early: a thread reads on.
            Judged::Unsound if filled < asked => hunt.search_anew(),
            Judged::Unsound => {
                engine.disown(hunt.search.hash, place);
                hunt.step(ring);
            }
        }
    }
}

/// A search that waits for the disk.
#[derive(Debug)]
pub(crate) struct Hunt {
    engine: Arc<Engine>,
    search: Search,
    trail: Trail,
    promise: Arc<Promise<Option<Stored>>>,
}

impl Hunt {
    pub(crate) fn new(
        engine: &Arc<Engine>,
        search: Search,
        trail: Trail,
        promise: &Arc<Promise<Option<Stored>>>,
    ) -> Self {
        Self {
            engine: Arc::clone(engine),
            search,
            trail,
            promise: Arc::clone(promise),
        }
    }

    /// Has `wanted` read: by the ring, if there is one that works.
    pub(crate) fn wait(self, wanted: Wanted, ring: Option<&Ring>) {
        let (engine, now_secs) = (Arc::clone(&self.engine), self.engine.now_secs());
        let Some(ring) = ring.filter(|_| engine.reads.enter_ring(now_secs)) else {
            return self.search_anew();
        };
        if let Err(hunt) = ring.push(self, wanted) {
            hunt.leave();
        }
    }

    /// Goes on to the next place.
    fn step(mut self, ring: &Ring) {
        let Search { key, hash, .. } = &self.search;
        let step = self
            .engine
            .step(key, *hash, &mut self.trail, Patience::None);
        match step {
            Step::Waits(wanted) => self.wait(wanted, Some(ring)),
            Step::Here(..) | Step::Nothing => self.keep(step),
        }
    }

    fn keep(self, step: Step) {
        self.promise.keep(self.engine.outcome(&self.search, step));
    }

    /// Whether nobody waits for it any more.
    fn is_abandoned(&self) -> bool {
        Arc::strong_count(&self.promise) == 1
    }

    /// The ring doesn't do it after all.
    fn leave(self) {
        self.engine.reads.leave_ring();
        self.search_anew();
    }

    fn search_anew(self) {
        self.engine
            .read_later(Job::Search(self.search, self.promise));
    }
}
