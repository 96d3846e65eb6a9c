//! The body of a response that lies on disk in parts, and those who read it: piece by piece, each found by a key of its own.
//! A piece that has made room for others is a hole, which the index tells before anything is sent.

use std::fmt;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::Volumes;
use super::record::{Parts, Record, piece, pieces_under};
use super::runs::Runs;
use crate::disk::StoredBody;

/// What is on disk of a response of which only parts are stored.
#[derive(Debug)]
pub struct Pieces {
    volumes: Arc<Volumes>,
    /// What the places of its pieces begin with.
    under: Vec<u8>,
    runs: Runs,
    length: u64,
    now_secs: u32,
}

impl Pieces {
    /// Of the head that lies at `place`; `length` is that of the whole.
    pub(super) fn new(
        volumes: Arc<Volumes>,
        place: &[u8],
        parts: &Parts<'_>,
        length: u64,
        now_secs: u32,
    ) -> Arc<Self> {
        Arc::new(Self {
            volumes,
            under: pieces_under(place, parts.number),
            runs: parts.runs.clone(),
            length,
            now_secs,
        })
    }

    /// Bytes of the whole, of which some are missing.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether the whole is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// What is there of these bytes, in order; no more than `most` stretches. It looks into indexes in memory only.
    #[must_use]
    pub fn stretches(&self, wanted: Range<u64>, most: usize) -> Vec<Range<u64>> {
        let wanted = wanted.start..wanted.end.min(self.length);
        self.runs
            .stretches(wanted, most, |first| self.is_there(first))
    }

    fn is_there(&self, first: u64) -> bool {
        self.volumes.has(&piece(&self.under, first))
    }

    /// A reader of its own for whoever wants to read.
    pub(crate) fn reader(self: &Arc<Self>) -> PieceReader {
        PieceReader {
            pieces: Arc::clone(self),
            current: None,
            ahead: None,
        }
    }

    /// Looks for the piece that begins there.
    fn find(self: &Arc<Self>, first: u64) -> Finding {
        let pieces = Arc::clone(self);
        Box::pin(async move {
            let place = piece(&pieces.under, first);
            let stored = pieces
                .volumes
                .find_by_threads(&place, pieces.now_secs)
                .await?;
            match (Record::read(&stored.meta)?, stored.body) {
                (Record::Piece, StoredBody::Whole(bytes)) => Some(bytes),
                _ => None,
            }
        })
    }
}

type Finding = Pin<Box<dyn Future<Output = Option<Bytes>> + Send + Sync>>;

/// Somebody who reads such a body, from wherever they like. Holds up to two pieces, of 128 KiB each.
pub(crate) struct PieceReader {
    pieces: Arc<Pieces>,
    /// A piece, with its first byte.
    current: Option<(u64, Bytes)>,
    /// The one that is waited for, or the one after it.
    ahead: Option<(u64, Ahead)>,
}

enum Ahead {
    Coming(Finding),
    Here(Option<Bytes>),
}

impl PieceReader {
    /// Bytes of the whole from `at` on, as many as lie together; none at its end. What lies before `end` will be asked for
    /// too.
    ///
    /// # Errors
    /// If there is a hole, or the disk fails.
    pub(crate) fn poll_read(
        &mut self,
        at: u64,
        end: u64,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Bytes>> {
        if at >= self.pieces.length {
            return Poll::Ready(Ok(Bytes::new()));
        }
        if let Some(rest) = self.rest_of_current(at) {
            return Poll::Ready(Ok(rest));
        }
        let pieces = Arc::clone(&self.pieces);
        let piece = pieces.runs.piece_at(at, |first| pieces.is_there(first));
        let Some(piece) = piece else {
            return Poll::Ready(Err(io::ErrorKind::NotFound.into()));
        };
        let (found, waited) = ready!(self.poll_piece(piece.start, cx));
        // The next one lies on the disk too, most likely.
        if waited && piece.end < end {
            self.look_ahead(piece.end, cx);
        }
        self.current = found.map(|bytes| (piece.start, bytes));
        let rest = self.rest_of_current(at);
        Poll::Ready(rest.ok_or_else(|| io::ErrorKind::NotFound.into()))
    }

    /// What the current piece has from there on, if anything.
    fn rest_of_current(&self, at: u64) -> Option<Bytes> {
        let (first, bytes) = self.current.as_ref()?;
        let within = usize::try_from(at.checked_sub(*first)?).ok()?;
        (within < bytes.len()).then(|| bytes.slice(within..))
    }

    /// The piece, and whether it had to be waited for.
    fn poll_piece(&mut self, first: u64, cx: &mut Context<'_>) -> Poll<(Option<Bytes>, bool)> {
        let ahead = self.ahead.take().filter(|ahead| ahead.0 == first);
        let (mut finding, waited) = match ahead {
            Some((_, Ahead::Here(found))) => return Poll::Ready((found, true)),
            Some((_, Ahead::Coming(finding))) => (finding, true),
            None => (self.pieces.find(first), false),
        };
        match finding.as_mut().poll(cx) {
            Poll::Ready(found) => Poll::Ready((found, waited)),
            Poll::Pending => {
                self.ahead = Some((first, Ahead::Coming(finding)));
                Poll::Pending
            }
        }
    }

    fn look_ahead(&mut self, first: u64, cx: &mut Context<'_>) {
        let mut finding = self.pieces.find(first);
        let ahead = match finding.as_mut().poll(cx) {
            Poll::Ready(found) => Ahead::Here(found),
            Poll::Pending => Ahead::Coming(finding),
        };
        self.ahead = Some((first, ahead));
    }
}

impl fmt::Debug for PieceReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let current = self.current.as_ref().map(|(first, _)| first);
        f.debug_struct("PieceReader")
            .field("pieces", &self.pieces)
            .field("current", &current)
            .finish_non_exhaustive()
    }
}
