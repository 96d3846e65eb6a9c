//! The writer of a body that is arriving: copies what it gets into pages, so that a small slice never keeps a large
//! receive buffer alive, or lets the owner receive right into a page.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::buf::Limit;
use bytes::{BufMut, BytesMut};

use super::files::BodyFile;
use super::fill::Lead;
use super::{Fill, WHOLE_BYTES_MAX};
use crate::object::{Object, Weigh};
use crate::store::Store;
use crate::tier::Tee;
use crate::usage::count;

/// The largest page; the first ones of a body of unknown length are smaller.
const PAGE_BYTES_MAX: usize = 256 << 10;
/// The first page of a body of unknown length.
const PAGE_BYTES_MIN: usize = 8 << 10;
/// A page that came in more slices than this is copied into one when it is full.
const PAGE_SLICES_MAX: usize = 8;

/// What becomes of a body once it has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It is stored, if it turns out to be within the limits.
    Store,
    /// It is only shared with those who ask while it arrives.
    ShareOnly,
}

/// More bytes than announced. None of those given with it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body is longer than the {announced} bytes announced")]
pub struct Overflow {
    /// Bytes announced.
    pub announced: u64,
}

/// Fewer bytes than announced; the fill counts as cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body ended after {received} of {announced} bytes")]
pub struct Short {
    /// Bytes received.
    pub received: u64,
    /// Bytes announced.
    pub announced: u64,
}

/// The writer of a body. Dropping it before [`Filler::finish`] cuts the body.
#[derive(Debug)]
pub struct Filler<M: Weigh> {
    store: Arc<Store<M>>,
    object: Arc<Object<M>>,
    fill: Arc<Fill>,
    keep: Keep,
    tee: Tee,
    page: BytesMut,
    /// Offset of the page's first byte in the body, and the slices that it came in so far.
    page_start: u64,
    page_slices: usize,
    filing: Filing,
    /// Bytes that the slowest reader still needed when memory ran short, if it did.
    pressed: Option<u64>,
}

/// A complete body that may not be on disk yet. It will never be there if this is dropped before.
#[derive(Debug)]
#[must_use = "it is saved when that is awaited"]
pub struct Saving<M: Weigh> {
    store: Arc<Store<M>>,
    object: Arc<Object<M>>,
    tee: Tee,
}

impl<M: Weigh> Saving<M> {
    /// Waits until the disk has it, or will not have it.
    pub async fn saved(mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.store.volumes() {
            None => Poll::Ready(()),
            Some(_) => self.tee.poll_finish(&self.store, &self.object, cx),
        }
    }
}

/// How far a body is in a file.
#[derive(Debug)]
enum Filing {
    /// Too little of it is known to need one.
    NotYet,
    /// Up to this byte.
    Upto(u64, Arc<BodyFile>),
    /// No further.
    Ended,
}

impl<M: Weigh> Filler<M> {
    pub(crate) fn new(
        store: Arc<Store<M>>,
        object: Arc<Object<M>>,
        fill: Arc<Fill>,
        keep: Keep,
        tee: Tee,
    ) -> Self {
        Self {
            store,
            object,
            fill,
            keep,
            tee,
            page: BytesMut::new(),
            page_start: 0,
            page_slices: 0,
            filing: Filing::NotYet,
            pressed: None,
        }
    }

    /// It can't be held whole, so no more of it is held than its readers need.
    pub(crate) fn hold_little(&mut self) {
        self.pressed = Some(0);
    }

    /// The object being filled.
    #[must_use]
    pub fn object(&self) -> &Arc<Object<M>> {
        &self.object
    }

    /// Bytes received so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.fill.received()
    }

    /// Bytes announced.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.fill.announced()
    }

    /// Readers that follow it now.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.fill.readers()
    }

    /// What will become of it. A body that outgrows the limits changes to [`Keep::ShareOnly`] by itself.
    #[must_use]
    pub fn keep(&self) -> Keep {
        self.keep
    }

    /// Adds `data`.
    ///
    /// # Errors
    /// When it is more than announced; nothing is added then.
    pub fn append(&mut self, data: &[u8]) -> Result<(), Overflow> {
        let left = self.left();
        if data.len() as u64 > left {
            let announced = self.fill.announced().unwrap_or(u64::MAX);
            return Err(Overflow { announced });
        }
        let mut data = data;
        while !data.is_empty() {
            let room = self.room_for(data.len());
            let (now, later) = data.split_at(room.min(data.len()));
            self.page.extend_from_slice(now);
            self.commit();
            data = later;
        }
        Ok(())
    }

    /// Room in the current page to receive into, never more than is still announced; empty when nothing is.
    /// What was put there counts once [`Filler::commit`] is called.
    pub fn room(&mut self) -> Limit<&mut BytesMut> {
        let room = if self.left() == 0 {
            0
        } else {
            self.room_for(PAGE_BYTES_MIN)
        };
        (&mut self.page).limit(room)
    }

    /// Shows the readers what was put into [`Filler::room`]; returns how many bytes that were.
    pub fn commit(&mut self) -> usize {
        let slice = self.page.split().freeze();
        let bytes = slice.len();
        if bytes == 0 {
            return 0;
        }
        self.tee
            .push(&self.store, &self.object, self.fill.announced(), &slice);
        self.fill.push(slice);
        self.page_slices += 1;
        if self.page_room() == 0 {
            self.end_page();
        }
        self.settle();
        bytes
    }

    /// Ready when more may be received: the readers are near enough, or there is none.
    /// A body that will be stored waits only if a gap is configured for that.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.tee.poll_ready(cx).is_pending() {
            return Poll::Pending;
        }
        let options = self.store.options();
        let lead = match self.keep {
            Keep::Store => Lead {
                fastest: options.store_gap_bytes_max,
                slowest: u64::MAX,
            },
            // Waiting for the slowest before it falls out of the window: nobody's reply is cut for
            // being slow.
            Keep::ShareOnly => Lead {
                fastest: options.gap_bytes_max,
                slowest: self.window().saturating_sub(options.gap_bytes_max),
            },
        };
        if lead.fastest == u64::MAX {
            return Poll::Ready(());
        }
        self.fill.poll_ready(lead, cx)
    }

    /// Waits until more may be received, as [`Filler::poll_ready`].
    pub async fn ready(&mut self) {
        poll_fn(|cx| self.poll_ready(cx)).await;
    }

    /// Ready when nobody reads it; also before the first reader came.
    pub fn poll_all_readers_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.fill.poll_no_readers(cx)
    }

    /// Waits until nobody reads it.
    pub async fn all_readers_gone(&mut self) {
        poll_fn(|cx| self.poll_all_readers_gone(cx)).await;
    }

    /// The body is complete. It is now stored, if it is to be kept; on disk as far as that takes no waiting.
    ///
    /// # Errors
    /// When it is shorter than announced; it is cut then.
    pub fn finish(self) -> Result<Arc<Object<M>>, Short> {
        let mut saving = self.end()?;
        let _later_is_never = saving.poll(&mut Context::from_waker(Waker::noop()));
        Ok(saving.object)
    }

    /// As [`Filler::finish`]; what comes of it is for the disk to be waited for.
    ///
    /// # Errors
    /// When it is shorter than announced; it is cut then.
    pub fn end(mut self) -> Result<Saving<M>, Short> {
        let received = self.received();
        if let Some(announced) = self
            .fill
            .announced()
            .filter(|&announced| announced > received)
        {
            return Err(Short {
                received,
                announced,
            });
        }
        match self.keep {
            Keep::Store => self.finish_stored(),
            Keep::ShareOnly => {
                self.fill.complete_unkept();
                self.store.unkept(&self.object);
            }
        }
        Ok(Saving {
            store: Arc::clone(&self.store),
            object: Arc::clone(&self.object),
            tee: std::mem::take(&mut self.tee),
        })
    }

    /// Cuts the body: its readers get an error after the last byte.
    pub fn fail(self) {
        drop(self);
    }

    /// Cuts the body, and stores what has come of it as a response of its own, described by `meta`. Not if it was only
    /// shared, has been removed meanwhile, or there is a whole response that the part would push out.
    /// A part may be kept on disk all the same.
    pub fn keep_prefix(mut self, meta: M) -> Option<Arc<Object<M>>> {
        self.tee.cut(&self.store, &self.object);
        if self.keep == Keep::ShareOnly {
            return None;
        }
        if let Filing::NotYet = self.filing {
            self.filing = Filing::Ended; // too short for one
        }
        self.end_last_page();
        let prefix = self.fill.prefix()?;
        self.store.shorten(&self.object, meta, prefix)
    }

    /// The unused rest of the last page would be held as long as the body.
    fn end_last_page(&mut self) {
        let used = self.received() - self.page_start;
        let wasteful = self.page_room() as u64 > used / 8;
        if !self.file() && used > 0 && (wasteful || self.page_slices > PAGE_SLICES_MAX) {
            self.fill.merge_from(self.page_start);
        }
    }

    fn finish_stored(&mut self) {
        self.end_last_page();
        if let Some(done) = self.fill.complete() {
            self.object.complete(done);
            self.store.completed(&self.object);
        }
    }

    fn left(&self) -> u64 {
        match self.fill.announced() {
            Some(announced) => announced.saturating_sub(self.received()),
            None => u64::MAX,
        }
    }

    fn page_room(&self) -> usize {
        self.page.capacity() - self.page.len()
    }

    /// Room in the page, a new one if it is full.
    fn room_for(&mut self, wanted: usize) -> usize {
        if self.page_room() == 0 {
            self.page = BytesMut::with_capacity(self.next_page_bytes(wanted));
        }
        let left = usize::try_from(self.left()).unwrap_or(usize::MAX);
        self.page_room().min(left)
    }

    /// As large as what is announced still needs; else as much again as has arrived.
    fn next_page_bytes(&self, wanted: usize) -> usize {
        let bytes = match self.fill.announced() {
            Some(_) => usize::try_from(self.left()).unwrap_or(usize::MAX),
            None => {
                let received = usize::try_from(self.received()).unwrap_or(usize::MAX);
                received.max(wanted).max(PAGE_BYTES_MIN)
            }
        };
        bytes.min(PAGE_BYTES_MAX)
    }

    fn end_page(&mut self) {
        if !self.file() && self.page_slices > PAGE_SLICES_MAX {
            self.fill.merge_from(self.page_start);
        }
        self.page = BytesMut::new();
        self.page_start = self.received();
        self.page_slices = 0;
    }

    /// Moves what has arrived into a file, if the body is to lie in one. Where that fails it goes on in pages.
    fn file(&mut self) -> bool {
        if self.keep == Keep::ShareOnly {
            return false;
        }
        if let Filing::NotYet = self.filing {
            self.filing = self.open_file();
        }
        let Filing::Upto(at, file) = &self.filing else {
            return false;
        };
        match self.fill.move_from(*at, file) {
            Ok(end) => {
                self.filing = Filing::Upto(end, Arc::clone(file));
                true
            }
            Err(_no_memory) => {
                self.filing = Filing::Ended;
                false
            }
        }
    }

    fn open_file(&self) -> Filing {
        let options = self.store.options();
        let announced = self.fill.announced();
        let bytes = announced.unwrap_or(self.received());
        if bytes < options.file_bytes_min.max(WHOLE_BYTES_MAX as u64 + 1) {
            return Filing::NotYet;
        }
        let files = options.files.as_ref();
        let file = files.and_then(|files| files.open(options.files_max));
        match file.filter(|file| file.expect(bytes).is_ok()) {
            Some(file) => Filing::Upto(0, file),
            None => Filing::Ended,
        }
    }

    /// Keeps the limits after growth.
    fn settle(&mut self) {
        let roomy = self.store.make_room();
        let too_large = self.received() > self.store.object_bytes_max();
        if self.keep == Keep::Store && (!roomy || too_large) {
            self.keep = Keep::ShareOnly;
            count(&self.store.counters().refusals);
        }
        if self.keep == Keep::Store {
            return;
        }
        if !roomy && self.pressed.is_none() {
            self.pressed = Some(self.fill.span());
        }
        if self.fill.close_window_beyond(self.window()) {
            count(&self.store.counters().windows_closed);
            self.store.unkept(&self.object);
        }
    }
}

impl<M: Weigh> Filler<M> {
    /// Bytes held of a body that is only shared: two gaps at least, so that the fastest reader, at
    /// most one behind, is never lost, nor is what its page begins with; and when memory is short,
    /// no more than that and what present readers need.
    fn window(&self) -> u64 {
        let options = self.store.options();
        let narrow = options.gap_bytes_max.saturating_mul(2);
        match self.pressed {
            Some(span) => span.saturating_add(narrow),
            None => self.store.join_bytes_max().max(narrow),
        }
    }
}

impl<M: Weigh> Drop for Filler<M> {
    fn drop(&mut self) {
        if self.fill.cut() {
            self.store.unlink(&self.object);
        }
    }
}
