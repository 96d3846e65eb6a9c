//! A large body on its way to the disk.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use smallvec::SmallVec;

use crate::disk::add::{Aim, Refused};
use crate::disk::engine::Engine;
use crate::disk::format::{Draft, Extent, ExtentList, Kind, RUN, Stamps};
use crate::disk::geometry::narrow;
use crate::disk::log::Stream;
use crate::usage::count;

/// As many fragments lie in a chunk, when nobody else writes.
const FRAGMENTS_PER_CHUNK: u64 = 4;

/// A response that is being stored, piece by piece. Nothing of it can be found before [`Writing::poll_finish`] is done;
/// dropping it before that breaks it off.
#[derive(Debug)]
pub struct Writing {
    engine: Arc<Engine>,
    key: Bytes,
    hash: u64,
    list: ExtentList,
    /// What doesn't fill a fragment yet.
    pending: Vec<Bytes>,
    pending_bytes: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Finished,
}

impl Engine {
    pub(crate) fn begin(
        self: &Arc<Self>,
        key: &[u8],
        length: Option<u64>,
    ) -> Result<Writing, Refused> {
        let most = self.options.object_bytes_max.min(self.body_bytes_max());
        let refused = if self.is_down() {
            Some(Refused::OutOfService)
        } else if length
            .is_some_and(|length| length > most || length < self.options.object_bytes_min)
        {
            Some(Refused::Size)
        } else {
            None
        };
        if let Some(refused) = refused {
            self.count_refused(refused);
            return Err(refused);
        }
        let id = self.log().number();
        Ok(Writing {
            engine: Arc::clone(self),
            key: Bytes::copy_from_slice(key),
            hash: self.hash(key),
            list: ExtentList::new(id),
            pending: Vec::new(),
            pending_bytes: 0,
            state: State::Open,
        })
    }

    /// Bytes of the largest body: half of the log, or what a list has room for if all of it lies in runs of a chunk's
    /// length.
    fn body_bytes_max(&self) -> u64 {
        let geometry = &self.geometry;
        let run = u64::from(geometry.fragment_bytes()) * FRAGMENTS_PER_CHUNK;
        let listed = (self.list_bytes_max() / RUN) as u64 * run;
        listed.min(geometry.log_bytes() / 2)
    }

    /// Bytes of the longest list: a quarter of a record is left to key and meta.
    pub(super) fn list_bytes_max(&self) -> usize {
        self.geometry.record_bytes_max() / 4 * 3
    }
}

impl Writing {
    /// Takes more of the body out of `bytes`: all of it, once it is ready. Pending while too much waits to be written.
    ///
    /// # Errors
    /// If the body is larger than what is stored, or the disk failed. Then nothing will come of it.
    pub fn poll_append(
        &mut self,
        bytes: &mut Bytes,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Refused>> {
        let full = self.engine.geometry.fragment_bytes();
        loop {
            if self.pending_bytes == full {
                ready!(self.poll_fragment(cx))?;
            }
            if bytes.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let part = bytes.split_to(bytes.len().min((full - self.pending_bytes) as usize));
            self.pending_bytes += narrow(part.len());
            self.pending.push(part);
            let listed = self.list.encoded_bytes() <= self.engine.list_bytes_max();
            if self.bytes() > self.bytes_max() || !listed {
                return Poll::Ready(Err(self.refuse(Refused::Size)));
            }
        }
    }

    /// Bytes that were appended.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.list.body_bytes() + u64::from(self.pending_bytes)
    }

    /// Ends the body, and has the response take the place of what was stored under its key. Pending while too much waits
    /// to be written.
    ///
    /// # Errors
    /// If the body is smaller than what is stored, meta is too large, or the disk failed. Then nothing will come of it.
    pub fn poll_finish(
        &mut self,
        meta: &[u8],
        stamps: Stamps,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Refused>> {
        if self.bytes() < self.engine.options.object_bytes_min {
            return Poll::Ready(Err(self.refuse(Refused::Size)));
        }
        if !self.list.is_empty() && self.pending_bytes > 0 {
            ready!(self.poll_fragment(cx))?;
        }
        match self.store_head(meta, stamps) {
            Ok(()) => {
                count(&self.engine.counters.puts);
                self.state = State::Finished;
                Poll::Ready(Ok(()))
            }
            Err(refused) => self.poll_refused(refused, cx),
        }
    }

    /// Writes the record that is to be found: with the list of the fragments, or with the whole body, if that turned out to
    /// be small.
    fn store_head(&self, meta: &[u8], stamps: Stamps) -> Result<(), Refused> {
        let list = self.list.encode();
        let (kind, body) = if self.list.is_empty() {
            let parts = self.pending.iter().map(AsRef::as_ref);
            (Kind::Whole, parts.collect())
        } else {
            if !self.is_there() {
                return Err(Refused::Gone);
            }
            // The fragments have to be on their way before it.
            self.engine.log().seal_large()?;
            (Kind::Extents, SmallVec::from_slice(&[list.as_slice()]))
        };
        let draft = Draft::new(kind, self.hash, &self.key, meta, body, stamps);
        if draft.bytes() > self.engine.geometry.record_bytes_max() {
            return Err(Refused::Size);
        }
        self.engine.try_store(&draft, Aim::Stored).map(|_| ())
    }

    /// Whether no fragment has made room for others, as it may when the body comes slowly.
    fn is_there(&self) -> bool {
        let engine = &self.engine;
        self.list.iter(&engine.geometry).all(|extent| {
            let located = engine.geometry.locate(extent.granule);
            located.is_some_and(|(segment, _)| engine.segments.born(segment) == extent.born)
        })
    }

    fn poll_fragment(&mut self, cx: &Context<'_>) -> Poll<Result<(), Refused>> {
        match self.store_fragment() {
            Ok(extent) => {
                self.list.push(extent, &self.engine.geometry);
                self.pending.clear();
                self.pending_bytes = 0;
                Poll::Ready(Ok(()))
            }
            Err(refused) => self.poll_refused(refused, cx),
        }
    }

    fn store_fragment(&self) -> Result<Extent, Refused> {
        let parts: SmallVec<[&[u8]; 8]> = self.pending.iter().map(AsRef::as_ref).collect();
        let which = (self.list.id, self.list.len());
        self.engine
            .store_fragment(Stream::Large, self.hash, which, &parts)
    }

    /// Waits, where that helps.
    fn poll_refused(&self, refused: Refused, cx: &Context<'_>) -> Poll<Result<(), Refused>> {
        match refused {
            Refused::Busy | Refused::Full | Refused::Opening => {
                if self.engine.wait_for_room(cx.waker()) {
                    return Poll::Pending;
                }
                Poll::Ready(Err(self.refuse(refused)))
            }
            Refused::Size | Refused::Gone | Refused::OutOfService => {
                Poll::Ready(Err(self.refuse(refused)))
            }
        }
    }

    fn refuse(&self, refused: Refused) -> Refused {
        self.engine.count_refused(refused);
        refused
    }

    fn bytes_max(&self) -> u64 {
        self.engine
            .options
            .object_bytes_max
            .min(self.engine.body_bytes_max())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if self.state == State::Open {
            count(&self.engine.counters.broken_off);
        }
    }
}
