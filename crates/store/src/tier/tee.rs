//! A body on its way to disk while it arrives.
//!
//! | phase | moved on by |
//! | --- | --- |
//! | held: too little of it is here to be written piece by piece | more of it; its end, when it is put as a whole |
//! | written: piece by piece, its head last | its end |
//! | given up: no volume takes it, or it is too slow | |

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

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
                if *bytes > SMALL_BYTES_MAX as u64 {
                    *self = std::mem::take(self).begin(store, object, length);
                }
            }
            Self::Written { waiting, bytes, .. } => {
                waiting.push_back(piece.clone());
                *bytes += piece.len() as u64;
            }
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
        }
    }

    /// Ready when nothing waits to be written.
    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<()> {
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
        object: &Object<M>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        ready!(self.poll_written(cx));
        match self {
            // What is there is out of date.
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
                let meta = store.written(object, volumes).map(|(_, meta)| meta);
                let stamps = Volumes::stamps(object);
                let finished = meta.map(|meta| writing.poll_finish(&meta, stamps, cx));
                match finished {
                    Some(Poll::Pending) => return Poll::Pending,
                    Some(Poll::Ready(Ok(()))) => store.note(Event::Saved, object),
                    Some(Poll::Ready(Err(_))) | None => store.remove_from_disk(object),
                }
            }
        }
        *self = Self::Nothing;
        Poll::Ready(())
    }
}
