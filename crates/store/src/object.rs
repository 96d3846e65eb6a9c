//! A stored response: the owner's metadata, the key, and the body in whatever state it is.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;

use crate::content::{Body, Charge, Done, Fill, Pages, Reader, lock};
use crate::disk::Extents;
use crate::invalidate::Tag;
use crate::key::KeyRef;
use crate::tier::Pieces;
use crate::usage::{Counters, count};

/// What a part is of. Parts of the same response have the last two in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartOf<'m> {
    /// First byte of the part.
    pub first: u64,
    /// Bytes of the whole.
    pub complete: u64,
    /// What tells the whole from another one.
    pub validator: &'m [u8],
}

/// What the store must know of the owner's metadata.
pub trait Weigh: Send + Sync + 'static {
    /// Bytes of memory beside the body and the key: head, fields, their allocations. Always the same for the same value.
    fn weight_bytes(&self) -> usize;

    /// Whether this response, when it has arrived under the same key, takes the place of `older`.
    /// The default fits responses without variants.
    fn supersedes(&self, _older: &Self) -> bool {
        true
    }

    /// Whether it is to be used rather than a newer variant that answers the same request.
    fn preferred_to(&self, _newer: &Self) -> bool {
        false
    }

    /// Whether it holds only a part of a response. Parts have a limit of their own among the variants of a key.
    fn is_part(&self) -> bool {
        false
    }

    /// What the part is of, if it may be joined with others: then it may lie on disk with them. What is read from there
    /// says the same, but for the first byte, which is that of the whole.
    fn part_of(&self) -> Option<PartOf<'_>> {
        None
    }

    /// Whether it goes before all that isn't: as long as nobody has used it, it takes only memory that nothing else needs.
    fn is_spare(&self) -> bool {
        false
    }

    /// Whether its body is that of another with as many bytes, as far as can be told.
    fn is_like(&self, _other: &Self) -> bool {
        false
    }

    /// What it can be invalidated by, beside its key. They are part of its weight: [`Tag::WEIGHT_BYTES`].
    fn tags(&self) -> &[Tag] {
        &[]
    }

    /// The same response, stale from that moment on (Unix seconds); `None` for one that is of no use then.
    fn stale_since(&self, _since: i64) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// The names of the request fields that it was selected by, in a form of the owner's. Empty: it has no variants.
    fn selector(&self) -> &[u8] {
        &[]
    }

    /// The values of those fields. Empty: it has no variants.
    fn variant(&self) -> &[u8] {
        &[]
    }

    /// Appends what [`Weigh::read_from`] needs; false for what isn't for the disk.
    fn write_to(&self, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// From what lies on disk; `None` when it can't be used.
    fn read_from(_bytes: &[u8]) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// The times that disks are told of: Date, when it is stale, Last-Modified, in Unix seconds.
    fn times(&self) -> [u32; 3] {
        [0; 3]
    }
}

/// A stored response. Whoever uses its bytes keeps the `Arc`: that is how the bytes are counted.
pub struct Object<M: Weigh> {
    /// What the owner knows of the response.
    pub meta: M,
    content: Content,
    counters: Arc<Counters>,
    /// Number of the last ban that it stood against, above the bytes of the key, which don't change: one word for both, as
    /// there are millions of objects.
    judged: AtomicU64,
}

/// Bits for the bytes of a key that lies with its body. The others do for a ban each millisecond, for thirty years.
const KEY_BITS: u32 = 24;
const KEY_BYTES_MAX: u64 = (1 << KEY_BITS) - 1;

/// The usual small object pays for its bytes only; what changes while it arrives lies aside.
enum Content {
    /// The key and the body in one block: a lookup compares the key, and its reader goes on to the body. Who has a slice of
    /// it keeps the object ([`Kept`]), so that the block needs no count of its own.
    Whole(Box<[u8]>),
    Late(Box<Late>),
}

/// A body that arrived piece by piece.
struct Late {
    key: Box<[u8]>,
    /// Set once, when the body is complete; the fill is then let go.
    done: OnceLock<Done>,
    fill: Mutex<Option<Arc<Fill>>>,
}

impl<M: Weigh> Object<M> {
    pub(crate) fn whole(
        key: KeyRef<'_>,
        meta: M,
        body: &[u8],
        judged: u64,
        counters: &Arc<Counters>,
    ) -> Arc<Self> {
        if key.url().len() as u64 > KEY_BYTES_MAX {
            return Self::loaded(key, meta, &Bytes::copy_from_slice(body), judged, counters);
        }
        let block = [key.url(), body].concat().into_boxed_slice();
        let content = Content::Whole(block);
        Self::new(meta, content, key.url().len(), judged, counters)
    }

    pub(crate) fn filling(
        key: KeyRef<'_>,
        meta: M,
        fill: Arc<Fill>,
        judged: u64,
        counters: &Arc<Counters>,
    ) -> Arc<Self> {
        let late = Late {
            key: key.url().into(),
            done: OnceLock::new(),
            fill: Mutex::new(Some(fill)),
        };
        Self::new(
            meta,
            Content::Late(Box::new(late)),
            key.url().len(),
            judged,
            counters,
        )
    }

    /// From disk, with a body of more than one slice's size.
    pub(crate) fn loaded(
        key: KeyRef<'_>,
        meta: M,
        body: &Bytes,
        judged: u64,
        counters: &Arc<Counters>,
    ) -> Arc<Self> {
        let charge = Charge::new(counters, body.len() as u64);
        let done = Done::Pages(Arc::new(Pages::of(body.clone(), charge)));
        Self::done(key, meta, done, judged, counters)
    }

    /// With a body that stays on disk.
    pub(crate) fn on_disk(
        key: KeyRef<'_>,
        meta: M,
        body: &Arc<Extents>,
        judged: u64,
        counters: &Arc<Counters>,
    ) -> Arc<Self> {
        Self::done(key, meta, Done::Disk(Arc::clone(body)), judged, counters)
    }

    /// Of which parts are on disk, and stay there.
    pub(crate) fn in_pieces(
        key: KeyRef<'_>,
        meta: M,
        body: &Arc<Pieces>,
        judged: u64,
        counters: &Arc<Counters>,
    ) -> Arc<Self> {
        Self::done(key, meta, Done::Pieces(Arc::clone(body)), judged, counters)
    }

    pub(crate) fn done(
        key: KeyRef<'_>,
        meta: M,
        done: Done,
        judged: u64,
        counters: &Arc<Counters>,
    ) -> Arc<Self> {
        let late = Late {
            key: key.url().into(),
            done: OnceLock::from(done),
            fill: Mutex::new(None),
        };
        Self::new(
            meta,
            Content::Late(Box::new(late)),
            key.url().len(),
            judged,
            counters,
        )
    }

    /// The same body under new metadata, judged up to that ban. A small one is copied.
    pub(crate) fn renewed(&self, meta: M, judged: u64) -> Arc<Self> {
        let content = match &self.content {
            Content::Whole(block) => Content::Whole(block.clone()),
            Content::Late(late) => Content::Late(Box::new(late.share())),
        };
        Self::new(meta, content, self.key().len(), judged, &self.counters)
    }

    fn new(
        meta: M,
        content: Content,
        key_bytes: usize,
        judged: u64,
        counters: &Arc<Counters>,
    ) -> Arc<Self> {
        count(&counters.objects_alive);
        let object = Self {
            meta,
            content,
            counters: Arc::clone(counters),
            judged: AtomicU64::new(judged << KEY_BITS | (key_bytes as u64).min(KEY_BYTES_MAX)),
        };
        counters.charge(object.charged_bytes());
        Arc::new(object)
    }

    /// The body as it is now. Takes no lock once the body is complete.
    #[must_use]
    pub fn body(self: &Arc<Self>) -> Body {
        match &self.content {
            Content::Whole(_) if self.whole_body().is_empty() => Body::Whole(Bytes::new()),
            Content::Whole(_) => Body::Whole(Bytes::from_owner(Kept(Arc::clone(self)))),
            Content::Late(late) => late.body(),
        }
    }

    /// Reads what its next reader will ask for first, at byte `first`, if the body lies on disk. False if that can't be read:
    /// then it can't be found any more.
    pub async fn begin_at(self: &Arc<Self>, first: u64) -> bool {
        match self.body() {
            Body::Disk(extents) => extents.begin_at(first).await,
            Body::Whole(_) | Body::Pages(_) | Body::Pieces(_) | Body::Filling(_) => true,
        }
    }

    /// A reader from the first byte, which follows the body if it is still arriving.
    #[must_use]
    pub fn reader(self: &Arc<Self>) -> Reader {
        self.body().reader()
    }
}

/// Whoever has a slice of a body that lies with its key.
struct Kept<M: Weigh>(Arc<Object<M>>);

impl<M: Weigh> AsRef<[u8]> for Kept<M> {
    fn as_ref(&self) -> &[u8] {
        self.0.whole_body()
    }
}

impl<M: Weigh> Object<M> {
    /// The bytes of the key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        match &self.content {
            Content::Whole(block) => block.get(..self.key_bytes()).unwrap_or_default(),
            Content::Late(late) => &late.key,
        }
    }

    /// Bytes of a key that lies with its body.
    fn key_bytes(&self) -> usize {
        usize::try_from(self.judged.load(Relaxed) & KEY_BYTES_MAX).unwrap_or(usize::MAX)
    }

    /// Bytes of metadata, and of the key if it lies apart.
    fn own_bytes(&self) -> u64 {
        let apart = match &self.content {
            Content::Whole(_) => 0,
            Content::Late(late) => late.key.len(),
        };
        (self.meta.weight_bytes() + apart) as u64
    }

    /// What lies behind the key in its block; nothing, if the body lies apart.
    fn whole_body(&self) -> &[u8] {
        match &self.content {
            Content::Whole(block) => block.get(self.key_bytes()..).unwrap_or_default(),
            Content::Late(_) => &[],
        }
    }

    /// Bytes that are on the account as long as the object lives. A body that came piece by piece has a charge of its own.
    fn charged_bytes(&self) -> u64 {
        let block = match &self.content {
            Content::Whole(block) => block.len() as u64,
            Content::Late(_) => 0,
        };
        self.own_bytes() + block
    }

    /// Bytes of the body, if known: always once it is complete.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        match &self.content {
            Content::Whole(block) => Some((block.len() - self.key_bytes()) as u64),
            Content::Late(late) => late.body().length(),
        }
    }

    /// Whether all of the body is here.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match &self.content {
            Content::Whole(_) => true,
            Content::Late(late) => late.done.get().is_some(),
        }
    }

    /// Bytes that this object accounts for: key, metadata and the body as far as it is here.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let body = match &self.content {
            Content::Whole(block) => block.len() as u64,
            Content::Late(late) => late.body().held_bytes(),
        };
        self.own_bytes() + body
    }

    /// Number of the last ban that it stood against.
    #[inline]
    pub(crate) fn judged(&self) -> u64 {
        self.judged.load(Relaxed) >> KEY_BITS
    }

    pub(crate) fn set_judged(&self, number: u64) {
        let key_bytes = self.key_bytes() as u64;
        self.judged
            .fetch_max(number << KEY_BITS | key_bytes, Relaxed);
    }

    /// The size that counts for its rank.
    pub(crate) fn rank_bytes(&self) -> u64 {
        let bytes = match &self.content {
            Content::Whole(block) => block.len() as u64,
            Content::Late(late) => late.body().length().unwrap_or(0),
        };
        self.own_bytes() + bytes
    }

    pub(crate) fn complete(&self, done: Done) {
        if let Content::Late(late) = &self.content {
            // Set before the fill is let go: a reader finds one or the other.
            let first = late.done.set(done).is_ok();
            debug_assert!(first, "a body is completed once");
            let fill = lock(&late.fill).take();
            drop(fill);
        }
    }
}

impl Late {
    fn share(&self) -> Self {
        let fill = lock(&self.fill).clone();
        Self {
            key: self.key.clone(),
            done: self.done.clone(),
            fill: Mutex::new(fill),
        }
    }

    fn body(&self) -> Body {
        if let Some(done) = self.done.get() {
            return done.body();
        }
        let fill = lock(&self.fill).clone();
        match (fill, self.done.get()) {
            (Some(fill), _) => Body::Filling(fill),
            (None, Some(done)) => done.body(),
            (None, None) => Body::Whole(Bytes::new()),
        }
    }
}

impl<M: Weigh> Drop for Object<M> {
    fn drop(&mut self) {
        self.counters.release(self.charged_bytes());
        self.counters.objects_alive.fetch_sub(1, Relaxed);
    }
}

impl<M: Weigh + fmt::Debug> fmt::Debug for Object<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("key", &String::from_utf8_lossy(self.key()))
            .field("meta", &self.meta)
            .field("complete", &self.is_complete())
            .finish_non_exhaustive()
    }
}
