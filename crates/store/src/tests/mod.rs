//! Tests of the store as a whole, and what they share.

mod collapse;
mod cut;
mod eviction;
mod files;
mod fills;
mod index;
mod invalidate;
mod model;
mod threads;
mod window;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::{
    Begin, Filler, Keep, KeyRef, Object, Options, ReadError, Reader, Slot, Store, Waited, Waiting,
    Weigh,
};

/// A response: what it varies on, and which of its versions it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meta {
    vary: u8,
    version: u32,
}

const META_BYTES: u64 = 10;
/// The version of what goes first.
const SPARE: u32 = u32::MAX;

impl Weigh for Meta {
    fn weight_bytes(&self) -> usize {
        META_BYTES as usize
    }

    fn supersedes(&self, older: &Self) -> bool {
        self.vary == older.vary
    }

    fn preferred_to(&self, newer: &Self) -> bool {
        self.vary != newer.vary && self.version > newer.version
    }

    fn is_spare(&self) -> bool {
        self.version == SPARE
    }
}

fn meta(version: u32) -> Meta {
    Meta { vary: 0, version }
}

fn variant(vary: u8) -> Meta {
    Meta { vary, version: 0 }
}

type TestStore = Arc<Store<Meta>>;

fn store() -> TestStore {
    Store::new(Options {
        object_bytes_max: 64 << 20,
        ..Options::default()
    })
}

fn key(url: &str) -> KeyRef<'_> {
    KeyRef::new(url.as_bytes())
}

fn lead(store: &TestStore, url: &str) -> Slot<Meta> {
    match store.begin(key(url), Some(b""), |_| false) {
        Begin::Lead(slot) => slot,
        other => panic!("expected to lead: {other:?}"),
    }
}

fn insert(store: &TestStore, url: &str, meta: Meta, body: &[u8]) -> Arc<Object<Meta>> {
    lead(store, url).insert(meta, body)
}

fn publish(
    store: &TestStore,
    url: &str,
    length: Option<u64>,
    keep: Keep,
) -> (Arc<Object<Meta>>, Filler<Meta>) {
    lead(store, url).publish(meta(0), length, keep)
}

fn find(store: &TestStore, url: &str) -> Option<Arc<Object<Meta>>> {
    store.find(key(url), |_| true)
}

/// Bytes from a pattern that shows any shift.
fn pattern(from: u64, len: usize) -> Vec<u8> {
    (from..)
        .take(len)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect()
}

/// Counts how often it was woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Bell {
    fn rings(&self) -> usize {
        self.0.load(SeqCst)
    }
}

fn poll_with<T>(bell: &Arc<Bell>, poll: impl FnOnce(&mut Context<'_>) -> T) -> T {
    poll(&mut Context::from_waker(&Waker::from(Arc::clone(bell))))
}

/// Polls once, without caring for the waker.
fn poll<T>(poll: impl FnOnce(&mut Context<'_>) -> T) -> T {
    poll(&mut Context::from_waker(Waker::noop()))
}

/// Everything that can be read without waiting, and how it ended: `None` when there may be more later.
fn drain(reader: &mut Reader) -> (Vec<u8>, Option<Result<(), ReadError>>) {
    let mut bytes = Vec::new();
    loop {
        match poll(|cx| reader.poll_next(cx)) {
            Poll::Ready(Some(Ok(slice))) => {
                assert!(!slice.is_empty());
                bytes.extend_from_slice(&slice.to_bytes().unwrap());
            }
            Poll::Ready(Some(Err(error))) => return (bytes, Some(Err(error))),
            Poll::Ready(None) => return (bytes, Some(Ok(()))),
            Poll::Pending => return (bytes, None),
        }
    }
}

fn body(object: &Arc<Object<Meta>>) -> Vec<u8> {
    let (bytes, end) = drain(&mut object.reader());
    assert_eq!(end, Some(Ok(())));
    bytes
}

/// The object that somebody else's lead found.
fn shared(waiting: Waiting<Meta>) -> Arc<Object<Meta>> {
    match block_on(waiting) {
        Waited::Object(object) => object,
        other => panic!("nothing was shared: {other:?}"),
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn what_is_shared_by_workers_is_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<Store<Meta>>();
    check::<Object<Meta>>();
    check::<Filler<Meta>>();
    check::<Reader>();
    check::<Slot<Meta>>();
    check::<Waiting<Meta>>();
}
