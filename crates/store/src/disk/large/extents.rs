//! A large body on the disk, and those who read it.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::disk::engine::Engine;
use crate::disk::find::{Fetched, Patience};
use crate::disk::format::{Extent, ExtentList, HEAD, Kind, Parsed, parse};
use crate::disk::geometry::narrow;
use crate::disk::index::Place;
use crate::disk::reads::{Job, Promise};
use crate::sync::{Arc, Mutex, lock};
use crate::usage::count;

/// Fragments that the kernel is asked for before their reader asks: up to 2 MiB.
const AHEAD: usize = 8;

/// The body of a large response. As long as it is held, its place on the disk isn't given to others.
#[derive(Debug)]
pub struct Extents {
    engine: Arc<Engine>,
    hash: u64,
    /// Where the head lies that led here.
    head: Place,
    list: ExtentList,
    pinned: Vec<u32>,
    /// What was read for the next reader.
    begun: Mutex<Option<(usize, Bytes)>>,
}

impl Extents {
    /// Of the body of a head; `None` if not all of it is there any more.
    pub(crate) fn open(
        engine: &Arc<Engine>,
        hash: u64,
        head: Place,
        body: &[u8],
    ) -> Option<Arc<Self>> {
        let list = ExtentList::decode(body, &engine.geometry)?;
        let mut opened = Self {
            engine: Arc::clone(engine),
            hash,
            head,
            list,
            pinned: Vec::new(),
            begun: Mutex::new(None),
        };
        opened.pin().then(|| Arc::new(opened))
    }

    /// Pins all segments it lies in. What it has pinned is released when it is dropped, also if one was gone.
    fn pin(&mut self) -> bool {
        let mut last = None;
        for extent in self.list.iter(&self.engine.geometry) {
            let Some((segment, within)) = self.engine.geometry.locate(extent.granule) else {
                return false;
            };
            if last != Some((segment, extent.born)) {
                if !self.engine.segments.pin(segment, extent.born) {
                    return false;
                }
                self.pinned.push(segment);
                last = Some((segment, extent.born));
            }
            if !self.engine.is_there(segment, within, extent.bytes) {
                return false;
            }
        }
        true
    }

    /// Bytes of the body.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.list.body_bytes()
    }

    /// Whether the body is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn is_in(&self, engine: &Arc<Engine>) -> bool {
        Arc::ptr_eq(&self.engine, engine)
    }

    /// Reads what lies at byte `at`, for the next reader. False if that can't be: then the body can't be found any more.
    pub async fn begin_at(self: &Arc<Self>, at: u64) -> bool {
        let mut reader = self.reader();
        let read = poll_fn(|cx| reader.poll_read(at, at + 1, cx)).await;
        *lock(&self.begun) = reader.current.take();
        read.is_ok()
    }

    /// A reader of its own for whoever wants to read.
    #[must_use]
    pub fn reader(self: &Arc<Self>) -> ExtentReader {
        ExtentReader {
            extents: Arc::clone(self),
            current: lock(&self.begun).take(),
            ahead: None,
            asked: 0,
        }
    }

    pub(crate) fn list(&self) -> &ExtentList {
        &self.list
    }

    fn fetch(&self, ordinal: usize, patience: Patience) -> Poll<io::Result<Bytes>> {
        let gone = || Poll::Ready(Err(io::ErrorKind::NotFound.into()));
        let Some(extent) = self.list.get(ordinal, &self.engine.geometry) else {
            return gone();
        };
        let Some((segment, within)) = self.engine.geometry.locate(extent.granule) else {
            return gone();
        };
        let asked = narrow(HEAD) + extent.bytes;
        let engine = &self.engine;
        let lent = || engine.buffers.lend();
        match engine.fetch_into(lent, (segment, within), asked, patience) {
            Fetched::Bytes(bytes) if patience == Patience::None && bytes.len() < asked as usize => {
                Poll::Pending
            }
            Fetched::Bytes(bytes) => Poll::Ready(self.check(ordinal, &extent, &bytes)),
            Fetched::Waits(_) => Poll::Pending,
            Fetched::Gone => gone(),
            Fetched::Failed => {
                // Whoever asks next doesn't get as far as this again.
                self.engine.forget(self.hash, self.head);
                Poll::Ready(Err(io::ErrorKind::Other.into()))
            }
        }
    }

    /// The fragment, if that is what was read.
    fn check(&self, ordinal: usize, extent: &Extent, bytes: &Bytes) -> io::Result<Bytes> {
        match parse(bytes, extent.born) {
            Parsed::Record(record)
                if record.kind == Kind::Fragment
                    && record.hash == self.hash
                    && record.stamps.judged == self.list.id
                    && record.stamps.date == narrow(ordinal)
                    && record.body.len() == extent.bytes as usize =>
            {
                Ok(bytes.slice_ref(record.body))
            }
            Parsed::Record(_) | Parsed::Short | Parsed::Nothing | Parsed::Wrong => {
                count(&self.engine.counters.wrong);
                self.engine.forget(self.hash, self.head);
                Err(io::ErrorKind::InvalidData.into())
            }
        }
    }

    /// Has the kernel begin to read fragments.
    pub(crate) fn begin_reading(&self, fragments: Range<usize>) {
        let Engine {
            geometry, device, ..
        } = &*self.engine;
        for extent in fragments.filter_map(|ordinal| self.list.get(ordinal, geometry)) {
            if let Some((segment, within)) = geometry.locate(extent.granule) {
                let bytes = u64::from(narrow(HEAD) + extent.bytes);
                device.begin_reading(geometry.offset(segment, within), bytes);
            }
        }
    }

    /// Reads a fragment, however long it takes.
    pub(crate) fn read(&self, ordinal: usize) -> io::Result<Bytes> {
        match self.fetch(ordinal, Patience::Some) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl Drop for Extents {
    fn drop(&mut self) {
        for segment in &self.pinned {
            self.engine.segments.unpin(*segment);
        }
        self.engine.unpinned();
    }
}

/// Somebody who reads a large body, from wherever they like. Holds up to two fragments, of up to 252 KiB each.
#[derive(Debug)]
pub struct ExtentReader {
    extents: Arc<Extents>,
    current: Option<(usize, Bytes)>,
    /// The fragment that a thread reads: the one that is asked for, or the one after it.
    ahead: Option<(usize, Arc<Promise<io::Result<Bytes>>>)>,
    /// The kernel was asked to read the fragments before this one.
    asked: usize,
}

impl ExtentReader {
    /// The body that is read.
    #[must_use]
    pub fn extents(&self) -> &Arc<Extents> {
        &self.extents
    }

    /// Bytes of the body from `at` on, as many as lie together; none at its end. What lies before `end` will be asked for
    /// too, and may be read ahead.
    ///
    /// # Errors
    /// If the disk fails, or what lies there isn't what was written.
    pub fn poll_read(
        &mut self,
        at: u64,
        end: u64,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Bytes>> {
        if at >= self.extents.len() {
            return Poll::Ready(Ok(Bytes::new()));
        }
        let full = u64::from(self.extents.engine.geometry.fragment_bytes());
        let ordinal = usize::try_from(at / full).unwrap_or(usize::MAX);
        // Less than a fragment.
        let within = usize::try_from(at % full).unwrap_or(usize::MAX);
        if self
            .current
            .as_ref()
            .is_none_or(|current| current.0 != ordinal)
        {
            let wanted = usize::try_from(end.div_ceil(full)).unwrap_or(usize::MAX);
            match self.poll_fragment(ordinal, wanted.min(self.extents.list.len()), cx) {
                Poll::Ready(Ok(bytes)) => self.current = Some((ordinal, bytes)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        let rest = self
            .current
            .as_ref()
            .map(|(_, bytes)| bytes.slice(within.min(bytes.len())..));
        Poll::Ready(Ok(rest.unwrap_or_default()))
    }

    /// `wanted`: the number of fragments up to the last that will be asked for.
    fn poll_fragment(
        &mut self,
        ordinal: usize,
        wanted: usize,
        cx: &Context<'_>,
    ) -> Poll<io::Result<Bytes>> {
        if self.ahead.as_ref().is_none_or(|ahead| ahead.0 != ordinal) {
            if let Poll::Ready(result) = self.extents.fetch(ordinal, Patience::None) {
                return Poll::Ready(result);
            }
            self.begin(ordinal, wanted);
        }
        let Some((_, promise)) = &self.ahead else {
            return Poll::Ready(Err(io::ErrorKind::Other.into()));
        };
        let Poll::Ready(kept) = promise.poll(cx) else {
            return Poll::Pending;
        };
        self.ahead = None;
        // The next one lies on the disk too, most likely.
        if ordinal + 1 < wanted {
            self.begin(ordinal + 1, wanted);
        }
        Poll::Ready(kept.unwrap_or_else(|| Err(io::ErrorKind::Other.into())))
    }

    /// Has a thread read a fragment, and the kernel some of those after it: a disk does most with many reads at hand.
    fn begin(&mut self, ordinal: usize, wanted: usize) {
        if !(ordinal..=ordinal + AHEAD).contains(&self.asked) {
            self.asked = ordinal;
        }
        let far = wanted.min(ordinal + AHEAD);
        // Some at a time.
        let enough = far == wanted || far >= self.asked + AHEAD / 2;
        let asked = self.asked..if enough { far } else { self.asked };
        self.asked = asked.end;
        let promise = Promise::new();
        let job = Job::Fragment {
            extents: Arc::clone(&self.extents),
            ordinal,
            asked,
            promise: Arc::clone(&promise),
        };
        self.extents.engine.read_later(job);
        self.ahead = Some((ordinal, promise));
    }
}
