//! A part of a response on its way to disk while it arrives.
//!
//! | phase | moved on by |
//! | --- | --- |
//! | joining: what is on disk of the same response is looked for | whoever comes first, for all who write parts of it |
//! | writing: each piece as it is complete | more of the part; its end |
//! | ended: the head says that it is there, too | |
//!
//! What is there already isn't written again. Whoever stops before the end leaves nothing but dead bytes.

use std::collections::VecDeque;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use smallvec::SmallVec;

use super::Volumes;
use super::record::{PIECE, Record, piece, pieces_under};
use super::runs::{Runs, boundary_after};
use super::sets::{Identity, Set, SharedSet};
use crate::content::lock;
use crate::disk::{Refused, Stamps, Stored, Volume};
use crate::moment::Moment;
use crate::object::{Object, Weigh};
use crate::store::Store;

/// See the module.
pub(crate) struct Parted {
    volumes: Arc<Volumes>,
    volume: Arc<Volume>,
    /// Where the head lies.
    place: Vec<u8>,
    identity: Identity,
    identify: fn(&[u8]) -> Option<Identity>,
    stamps: Stamps,
    set: SharedSet,
    phase: Phase,
    waiting: VecDeque<Bytes>,
    waiting_bytes: u64,
    /// The first byte of what waits.
    at: u64,
    written: Vec<Range<u64>>,
}

enum Phase {
    Joining(Option<Finding>),
    Writing { number: Moment, under: Vec<u8> },
    GivenUp,
}

type Finding = Pin<Box<dyn Future<Output = Option<Stored>> + Send + Sync>>;

impl Parted {
    /// `None`: it isn't for the disk, or there is no place for it.
    pub(super) fn begin<M: Weigh>(
        store: &Store<M>,
        object: &Object<M>,
        volumes: &Arc<Volumes>,
        length: Option<u64>,
    ) -> Option<Self> {
        let part = object.meta.part_of()?;
        let volume = volumes.for_pieces(length)?;
        let place = store.place(object, volumes);
        Some(Self {
            volume,
            identity: Identity {
                complete: part.complete,
                validator: part.validator.into(),
            },
            identify: identity_of::<M>,
            stamps: Volumes::stamps(object),
            set: volumes.join_set(&place),
            volumes: Arc::clone(volumes),
            place,
            phase: Phase::Joining(None),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            at: part.first,
            written: Vec::new(),
        })
    }

    pub(super) fn push(&mut self, bytes: Bytes) {
        if !matches!(self.phase, Phase::GivenUp) {
            self.waiting_bytes += bytes.len() as u64;
            self.waiting.push_back(bytes);
        }
    }

    /// What waits to be written.
    pub(super) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Writes all pieces that are complete; at the end of the part the last one as well. Ready with false: given up.
    pub(super) fn poll_written(&mut self, ended: bool, cx: &mut Context<'_>) -> Poll<bool> {
        if !ready!(self.poll_joined(cx)) {
            self.give_up();
            return Poll::Ready(false);
        }
        loop {
            let end = boundary_after(self.at).min(self.at.saturating_add(self.waiting_bytes));
            let whole = end == boundary_after(self.at);
            if end == self.at || !(whole || ended) {
                return Poll::Ready(true);
            }
            if !self.is_there(end) {
                if let Err(refused) = self.put_piece(end) {
                    return self.poll_refused(refused, cx);
                }
                self.note_written(end);
            }
            self.take(end);
        }
    }

    /// The part has come: ready when the head says so. False if it doesn't.
    pub(super) fn poll_finish<M: Weigh>(
        &mut self,
        object: &Object<M>,
        cx: &mut Context<'_>,
    ) -> Poll<bool> {
        if !ready!(self.poll_written(true, cx)) {
            return Poll::Ready(false);
        }
        let Phase::Writing { number: mine, .. } = self.phase else {
            return Poll::Ready(false);
        };
        let shared = Arc::clone(&self.set);
        let mut set = lock(&shared);
        let Set::Open { number, runs, .. } = &mut *set else {
            return Poll::Ready(false);
        };
        if *number != mine {
            return Poll::Ready(false); // others have come with a newer response
        }
        self.written.drain(..).for_each(|run| runs.add(run));
        let mut meta = Record::parts(mine, runs);
        if !object.meta.write_to(&mut meta) {
            return Poll::Ready(false);
        }
        let stamps = self.stamps_under(mine);
        // Under the lock, so that no head with fewer runs comes after it.
        let put = self
            .volumes
            .put_head(&self.volume, &self.place, &meta, stamps);
        match put {
            Ok(()) => Poll::Ready(true),
            Err(refused) => self.poll_refused(refused, cx),
        }
    }

    /// Ready when it is known under which number pieces are written.
    fn poll_joined(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let Phase::Joining(finding) = &mut self.phase else {
            return Poll::Ready(!matches!(self.phase, Phase::GivenUp));
        };
        let unknown = matches!(*lock(&self.set), Set::Unknown);
        let mut found = None;
        if unknown {
            let finding = finding.get_or_insert_with(|| {
                let (volumes, place) = (Arc::clone(&self.volumes), self.place.clone());
                Box::pin(async move { volumes.find_by_threads(&place, 0).await })
            });
            found = ready!(finding.as_mut().poll(cx));
        }
        let number = self.settle(found.as_ref());
        if let Some(number) = number {
            let under = pieces_under(&self.place, number);
            self.phase = Phase::Writing { number, under };
        }
        Poll::Ready(number.is_some())
    }

    /// Goes in with the others; begins anew where what there is belongs to another response. `found`: what lies on disk,
    /// if nobody knew that.
    fn settle(&self, found: Option<&Stored>) -> Option<Moment> {
        let mut set = lock(&self.set);
        if let Set::Ended = *set {
            return None;
        }
        if let Set::Unknown = *set
            && let Some(Record::Parts(parts)) = found.and_then(|found| Record::read(&found.meta))
            && let Some(identity) = (self.identify)(parts.meta)
            && !self.volumes.distrusts(parts.number)
        {
            *set = Set::Open {
                identity,
                number: parts.number,
                runs: parts.runs,
            };
        }
        if let Set::Open {
            identity, number, ..
        } = &*set
            && *identity == self.identity
        {
            return Some(*number);
        }
        let number = Moment::new();
        *set = Set::Open {
            identity: self.identity.clone(),
            number,
            runs: Runs::default(),
        };
        Some(number)
    }

    /// Is what comes next on disk already, up to `end`?
    fn is_there(&self, end: u64) -> bool {
        let (Phase::Writing { under, .. }, Set::Open { runs, .. }) =
            (&self.phase, &*lock(&self.set))
        else {
            return false;
        };
        let held = runs.piece_at(self.at, |first| self.volumes.has(&piece(under, first)));
        held.is_some_and(|held| end <= held.end)
    }

    fn put_piece(&self, end: u64) -> Result<(), Refused> {
        let Phase::Writing { number, under } = &self.phase else {
            return Err(Refused::Gone);
        };
        let mut left = usize::try_from(end - self.at).unwrap_or(usize::MAX);
        let mut slices: SmallVec<[&[u8]; 8]> = SmallVec::new();
        for slice in &self.waiting {
            let taken = slice.get(..left).unwrap_or(slice);
            slices.push(taken);
            left -= taken.len();
            if left == 0 {
                break;
            }
        }
        let place = piece(under, self.at);
        let stamps = self.stamps_under(*number);
        self.volume.put(&place, &PIECE, &slices, stamps)
    }

    fn note_written(&mut self, end: u64) {
        match self.written.last_mut() {
            Some(last) if last.end == self.at => last.end = end,
            _ => self.written.push(self.at..end),
        }
    }

    /// What comes next, up to `end`, waits no more.
    fn take(&mut self, end: u64) {
        self.waiting_bytes -= end - self.at;
        while self.at < end
            && let Some(mut front) = self.waiting.pop_front()
        {
            let left = usize::try_from(end - self.at).unwrap_or(usize::MAX);
            let taken = front.split_to(left.min(front.len()));
            self.at += taken.len() as u64;
            if !front.is_empty() {
                self.waiting.push_front(front);
            }
        }
    }

    /// What a disk is told: all of a set is judged as if it had been written when that was begun.
    fn stamps_under(&self, number: Moment) -> Stamps {
        Stamps {
            judged: number.0,
            ..self.stamps
        }
    }

    /// Waits, where that helps.
    fn poll_refused(&mut self, refused: Refused, cx: &Context<'_>) -> Poll<bool> {
        let waits = matches!(refused, Refused::Busy | Refused::Full | Refused::Opening);
        if waits && self.volume.wait_for_room(cx.waker()) {
            return Poll::Pending;
        }
        self.give_up();
        Poll::Ready(false)
    }

    fn give_up(&mut self) {
        self.phase = Phase::GivenUp;
        self.waiting.clear();
        self.waiting_bytes = 0;
    }
}

/// Of what an owner has written.
fn identity_of<M: Weigh>(meta: &[u8]) -> Option<Identity> {
    let meta = M::read_from(meta)?;
    let part = meta.part_of()?;
    Some(Identity {
        complete: part.complete,
        validator: part.validator.into(),
    })
}

impl std::fmt::Debug for Parted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parted")
            .field("identity", &self.identity)
            .field("at", &self.at)
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}
