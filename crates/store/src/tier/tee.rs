//! A body on its way to disk while it arrives.
//!
//! | phase | moved on by |
//! | --- | --- |
//! | held: too little of it is here to be written piece by piece | more of it; its end, when it is put as a whole |
//! | written: piece by piece, its head last | its end |
//! | parted: it is a part, written by a way of its own | its end |
//! | given up: no volume takes it, or it is too slow | |

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;

use super::parted::Parted;
use super::{SMALL_BYTES_MAX, Volumes};
use crate::disk::Writing;
use crate::journal::Event;
use crate::object::{Object, Weigh};
use crate::store::Store;

/// What may wait to be written; the origin is held back meanwhile.
const WAITING_BYTES_MAX: u64 = 1 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(crate) enum Tee {
    /// Given up, or never begun.
    #[default]
    Nothing,
    Held {
        volumes: Arc<Volumes>,
        pieces: Vec<Bytes>,
        bytes: u64,
    },
    Written {
        volumes: Arc<Volumes>,
        writing: Writing,
        waiting: VecDeque<Bytes>,
        bytes: u64,
    },
    Parted(Box<Parted>),
}

impl Tee {
    /// For a body of that length, if it is known.
    pub(crate) fn new(volumes: Option<Arc<Volumes>>, length: Option<u64>) -> Self {
        match volumes.filter(|volumes| volumes.takes(length)) {
            None => Self::Nothing,
            Some(volumes) => Self::Held {
                volumes,
                pieces: Vec::new(),
                bytes: 0,
            },
        }
    }

    /// More of the body.
    pub(crate) fn push<M: Weigh>(
        &mut self,
        store: &Store<M>,
        object: &Object<M>,
        length: Option<u64>,
        piece: &Bytes,
    ) {
        match self {
            Self::Nothing => {}
            Self::Held { pieces, bytes, .. } => {
                pieces.push(piece.clone());
                *bytes += piece.len() as u64;
                if *bytes > SMALL_BYTES_MAX as u64 || object.meta.part_of().is_some() {
                    *self = std::mem::take(self).begin(store, object, length);
                }
            }
            Self::Written { waiting, bytes, .. } => {
                waiting.push_back(piece.clone());
                *bytes += piece.len() as u64;
            }
            Self::Parted(parted) => parted.push(piece.clone()),
        }
    }

    fn begin<M: Weigh>(self, store: &Store<M>, object: &Object<M>, length: Option<u64>) -> Self {
        let Self::Held {
            volumes,
            pieces,
            bytes,
        } = self
        else {
            return Self::Nothing;
        };
        if object.meta.part_of().is_some() {
            let begun = Parted::begin(store, object, &volumes, length);
            return begun.map_or(Self::Nothing, |mut parted| {
                pieces.into_iter().for_each(|piece| parted.push(piece));
                Self::Parted(Box::new(parted))
            });
        }
        let place = store.written(object, &volumes);
        let writing = place.and_then(|(place, _)| volumes.begin(&place, length));
        match writing {
            None => Self::Nothing,
            Some(writing) => Self::Written {
                volumes,
                writing,
                waiting: pieces.into(),
                bytes,
            },
        }
    }

    /// Ready when more may be received.
    pub(crate) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.poll_written(cx) {
            Poll::Pending if self.waiting_bytes() > WAITING_BYTES_MAX => Poll::Pending,
            Poll::Pending | Poll::Ready(()) => Poll::Ready(()),
        }
    }

    fn waiting_bytes(&self) -> u64 {
        match self {
            Self::Nothing | Self::Held { .. } => 0,
            Self::Written { bytes, .. } => *bytes,
            Self::Parted(parted) => parted.waiting_bytes(),
        }
    }

    /// Ready when nothing waits to be written.
    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Self::Parted(parted) = self {
            return parted.poll_written(false, cx).map(|_goes_on| ());
        }
        let Self::Written {
            writing,
            waiting,
            bytes,
            ..
        } = self
        else {
            return Poll::Ready(());
        };
        while let Some(piece) = waiting.front_mut() {
            let before = piece.len();
            let polled = writing.poll_append(piece, cx);
            *bytes -= (before - piece.len()) as u64;
            if piece.is_empty() {
                waiting.pop_front();
            }
            match polled {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_refused)) => {
                    *self = Self::Nothing;
                    return Poll::Ready(());
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }

    /// The body is complete: ready when all of it is with the volume.
    pub(crate) fn poll_finish<M: Weigh>(
        &mut self,
        store: &Store<M>,
        object: &Arc<Object<M>>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        // What was purged meanwhile must not come back.
        if !store.stands(object) {
            *self = Self::Nothing;
            return Poll::Ready(());
        }
        ready!(self.poll_written(cx));
        match self {
            // What it found on disk stays as it is, if it can't go there.
            Self::Parted(parted) => {
                if ready!(parted.poll_finish(&**object, cx)) {
                    store.note(Event::Saved, object);
                }
            }
            // What is there is out of date.
            Self::Nothing if object.meta.part_of().is_some() => {}
            Self::Nothing => store.remove_from_disk(object),
            Self::Held {
                volumes, pieces, ..
            } => match store.written(object, volumes) {
                Some((place, meta)) => {
                    volumes.put(&place, &meta, pieces, Volumes::stamps(object));
                    store.note(Event::Saved, object);
                }
                None => store.remove_from_disk(object),
            },
            Self::Written {
                volumes, writing, ..
            } => {
                let written = store.written(object, volumes);
                let stamps = Volumes::stamps(object);
                let finished = written
                    .as_ref()
                    .map(|(_, meta)| writing.poll_finish(meta, stamps, cx));
                match finished {
                    Some(Poll::Pending) => return Poll::Pending,
                    Some(Poll::Ready(Ok(()))) => {
                        if let Some((place, _)) = &written {
                            volumes.finished(place);
                        }
                        store.note(Event::Saved, object);
                    }
                    Some(Poll::Ready(Err(_))) | None => store.remove_from_disk(object),
                }
            }
        }
        *self = Self::Nothing;
        Poll::Ready(())
    }

    /// The body is cut: what has come of a part goes to disk, as far as that takes no waiting.
    pub(crate) fn cut<M: Weigh>(&mut self, store: &Store<M>, object: &Arc<Object<M>>) {
        if let Self::Parted(_) = self {
            let _later_is_never =
                self.poll_finish(store, object, &mut Context::from_waker(Waker::noop()));
        }
    }
}
