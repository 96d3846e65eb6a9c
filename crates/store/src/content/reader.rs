//! A reader of a body: takes its slices without copying, waits where it is still arriving.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::fill::Next;
use super::{Body, Fill, Pages, Slice};
use crate::disk::ExtentReader;
use crate::tier::PieceReader;

/// Why a reader gets no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The body ended before its end: its filler gave up, or its disk did.
    #[error("the body was cut")]
    Cut,
    /// The reader fell behind what is held of a body that is only shared. The rest, from `at` on, is to be had elsewhere.
    #[error("fell behind a shared body, at byte {at}")]
    Lost {
        /// Offset of the first byte that the reader didn't get.
        at: u64,
    },
}

/// A reader of a body, from its first byte to its last unless told otherwise.
#[derive(Debug)]
pub struct Reader {
    source: Source,
    at: u64,
    end: u64,
}

#[derive(Debug)]
enum Source {
    Whole(Bytes),
    Pages {
        pages: Arc<Pages>,
        guess: usize,
    },
    Disk(ExtentReader),
    /// Apart: readers are moved with every response.
    Pieces(Box<PieceReader>),
    Filling(Place),
    Broken(ReadError),
}

/// A place among the readers of a fill, given up on drop.
#[derive(Debug)]
struct Place {
    fill: Arc<Fill>,
    id: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.fill.leave(self.id);
    }
}

impl Source {
    fn new(body: Body) -> Self {
        match body {
            Body::Whole(bytes) => Self::Whole(bytes),
            Body::Pages(pages) => Self::Pages { pages, guess: 0 },
            Body::Disk(extents) => Self::Disk(extents.reader()),
            Body::Pieces(pieces) => Self::Pieces(Box::new(pieces.reader())),
            Body::Filling(fill) => Self::Filling(Place {
                id: fill.join(),
                fill,
            }),
        }
    }
}

impl Reader {
    pub(crate) fn new(body: Body) -> Self {
        Self {
            source: Source::new(body),
            at: 0,
            end: u64::MAX,
        }
    }

    /// Offset of the next byte that it will give.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Whether what it would give next is gone: it came too late to a body that is only shared.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        match &self.source {
            Source::Filling(place) => place.fill.has_dropped(self.at),
            Source::Broken(_) => true,
            Source::Whole(_) | Source::Pages { .. } | Source::Disk(_) | Source::Pieces(_) => false,
        }
    }

    /// Whether what it gives is read from disk for it alone: each slice holds a buffer of up to 256 KiB for as long as it
    /// lives, however short it is.
    #[must_use]
    pub fn is_from_disk(&self) -> bool {
        matches!(self.source, Source::Disk(_) | Source::Pieces(_))
    }

    /// Reads what it gives next, if that lies on disk. False if it can't be read.
    pub async fn begin(&mut self) -> bool {
        match &self.source {
            Source::Disk(_) | Source::Pieces(_) => {
                let end = self.at.saturating_add(1);
                let read = poll_fn(|cx| self.poll_disk(end, cx)).await;
                read.is_ok_and(|bytes| !bytes.is_empty())
            }
            Source::Whole(_) | Source::Pages { .. } | Source::Filling(_) => true,
            Source::Broken(_) => false,
        }
    }

    /// Goes on at byte `at`; past what has arrived, it waits for that byte.
    pub fn seek(&mut self, at: u64) {
        self.at = at;
    }

    /// Ends before byte `end`.
    pub fn stop_at(&mut self, end: u64) {
        self.end = end;
    }

    /// The next slice, `None` at the end of the body or at the byte to stop at. Slices are never empty.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Slice, ReadError>>> {
        if self.at >= self.end {
            return Poll::Ready(None);
        }
        loop {
            let next = match &mut self.source {
                Source::Whole(bytes) => rest_of(bytes, self.at, self.end),
                Source::Pages { pages, guess } => pages.slice(guess, self.at, self.end),
                Source::Filling(place) => match place.fill.next(place.id, self.at, self.end, cx) {
                    Next::Slice(slice) => Some(slice),
                    Next::Wait => return Poll::Pending,
                    Next::End => None,
                    Next::Done(done) => {
                        self.source = Source::new(done.body());
                        continue;
                    }
                    Next::Broken(error) => {
                        self.source = Source::Broken(error);
                        continue;
                    }
                },
                Source::Disk(_) | Source::Pieces(_) => match self.poll_disk(self.end, cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(bytes)) if bytes.is_empty() => None,
                    Poll::Ready(Ok(bytes)) => rest_of(&bytes, 0, self.end - self.at),
                    Poll::Ready(Err(_said_by_the_volume)) => {
                        self.source = Source::Broken(ReadError::Cut);
                        continue;
                    }
                },
                Source::Broken(error) => return Poll::Ready(Some(Err(*error))),
            };
            if let Some(slice) = &next {
                self.at += slice.len();
            }
            return Poll::Ready(next.map(Ok));
        }
    }

    fn poll_disk(&mut self, end: u64, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        match &mut self.source {
            Source::Disk(reader) => reader.poll_read(self.at, end, cx),
            Source::Pieces(reader) => reader.poll_read(self.at, end, cx),
            Source::Whole(_) | Source::Pages { .. } | Source::Filling(_) | Source::Broken(_) => {
                Poll::Ready(Ok(Bytes::new()))
            }
        }
    }

    /// The next slice if it is here by now; `Pending` leaves nobody to be woken.
    pub fn next_now(&mut self) -> Poll<Option<Result<Slice, ReadError>>> {
        self.poll_next(&mut Context::from_waker(Waker::noop()))
    }

    /// The next slice, as [`Reader::poll_next`].
    ///
    /// # Errors
    /// When the body was cut, or this reader fell behind a window.
    pub async fn next(&mut self) -> Option<Result<Slice, ReadError>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }
}

fn rest_of(bytes: &Bytes, at: u64, end: u64) -> Option<Slice> {
    let from = usize::try_from(at)
        .ok()
        .filter(|&from| from < bytes.len())?;
    let to = usize::try_from(end).unwrap_or(usize::MAX).min(bytes.len());
    Some(Slice::Heap(bytes.slice(from..to)))
}
