//! Volumes in a temporary directory.

mod failure;
pub(crate) mod faults;
mod large;
mod model;
mod recovery;
mod reinsert;
mod ring;
#[cfg(shuttle)]
mod schedules;
mod small;
mod survey;
mod threads;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::{
    Found, Ring, Stamps, Stored, StoredBody, Volume, VolumeOptions, VolumeState, VolumeUsage,
};
use crate::sync::{Arc, mpsc, sleep};

/// How long a test waits for a thread of a volume.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it looks whether something has come true that nobody tells of.
const POLL: Duration = Duration::from_micros(50);

/// A new directory, in memory if that can be: waiting for the disk is most of what those tests do that write much.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

fn options(path: &Path, bytes: u64) -> VolumeOptions {
    VolumeOptions {
        path: path.to_owned(),
        bytes,
        readers: 2,
        ..VolumeOptions::default()
    }
}

/// A new volume in `path`.
fn made(path: &Path, bytes: u64) -> Arc<Volume> {
    Volume::create(&options(path, bytes)).unwrap();
    opened(path, bytes)
}

/// The volume in `path`, when it has recovered.
fn opened(path: &Path, bytes: u64) -> Arc<Volume> {
    let volume = Volume::open(options(path, bytes)).unwrap();
    until(|| volume.usage().state == VolumeState::Serving);
    volume
}

fn until(mut done: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "it takes too long");
        sleep(POLL);
    }
}

struct Bell(mpsc::Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // The test may have got what it wanted already.
        let _sent = self.0.send(());
    }
}

thread_local! {
    /// That of a test that asks for one, for all it does.
    static RING: RefCell<Option<Rc<Ring>>> = const { RefCell::new(None) };
}

fn ring() -> Option<Rc<Ring>> {
    RING.with_borrow(Clone::clone)
}

/// Waits for what `poll` gives, and panics if it is not woken.
fn wait<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let (bell, rung) = mpsc::channel();
    let waker = Waker::from(Arc::new(Bell(bell)));
    let mut cx = Context::from_waker(&waker);
    loop {
        match poll(&mut cx) {
            Poll::Ready(value) => return value,
            Poll::Pending => match ring() {
                // What it doesn't bring comes from a thread.
                Some(ring) => until(|| {
                    ring.wait(Duration::from_millis(1));
                    rung.try_recv().is_ok()
                }),
                None => rung.recv_timeout(PATIENCE).unwrap(),
            },
        }
    }
}

/// What is stored under `key`, however long it takes.
fn get(volume: &Volume, key: &[u8]) -> Option<Stored> {
    match volume.find(key, 0, ring().as_deref()) {
        Found::Nothing => None,
        Found::Here(stored) => Some(stored),
        Found::Later(mut reading) => wait(|cx| {
            let reading = std::pin::Pin::new(&mut reading);
            Future::poll(reading, cx)
        }),
    }
}

fn body(stored: &Stored) -> &[u8] {
    match &stored.body {
        StoredBody::Whole(bytes) => bytes,
        StoredBody::Extents(_) => panic!("the body is in fragments"),
    }
}

fn stamps(judged: u64) -> Stamps {
    Stamps {
        date: 1,
        expires: 2,
        last_modified: 3,
        refcount: 4,
        judged,
    }
}

/// Bytes that differ from number to number.
fn noise(number: u64, bytes: usize) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..bytes).map(|_| step()).collect()
}
