//! Sends content that is put together from stretches of stored responses: what is here goes out in as few calls as the
//! socket takes, however many stretches it is.

use std::mem;
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use store::{Reader, Slice};

use super::{Cut, GATHERED_BYTES_MAX, GATHERED_PIECES_MAX, Sender};
use crate::flow::{Assembly, Segment};

/// A smaller piece that was read from disk is copied, so that the buffer which it came in doesn't wait with it.
const COPIED_BYTES_MAX: usize = 16 << 10;

/// Pieces that wait to go out together.
#[derive(Default)]
struct Waiting {
    pieces: Vec<Bytes>,
    bytes: usize,
}

impl Sender<'_> {
    /// Sends all of it.
    pub(super) async fn assembled(&mut self, assembly: &mut Assembly) -> Result<(), Cut> {
        let mut waiting = Waiting::default();
        for segment in &assembly.segments {
            match segment {
                Segment::Text(range) => {
                    let text = assembly.text.slice(range.clone());
                    self.add(&mut waiting, text).await?;
                }
                Segment::Stored {
                    reader,
                    first,
                    length,
                } => {
                    let reader = assembly.readers.get_mut(*reader);
                    let reader = reader.ok_or(Cut::Source)?;
                    reader.seek(*first);
                    reader.stop_at(first.saturating_add(*length));
                    self.stretch(&mut waiting, reader).await?;
                    if reader.position() < first.saturating_add(*length) {
                        return Err(Cut::Source);
                    }
                }
            }
        }
        self.send_waiting(&mut waiting).await
    }

    /// Sends what the reader has up to where it stops.
    async fn stretch(&mut self, waiting: &mut Waiting, reader: &mut Reader) -> Result<(), Cut> {
        loop {
            let slice = match reader.next_now() {
                Poll::Ready(slice) => slice,
                Poll::Pending => {
                    self.send_waiting(waiting).await?;
                    self.unless_client_leaves(pin!(reader.next())).await?
                }
            };
            match slice {
                Some(Ok(Slice::Heap(piece))) if reader.is_from_disk() => {
                    let small = piece.len() <= COPIED_BYTES_MAX;
                    let held = match small {
                        true => Bytes::copy_from_slice(&piece),
                        false => piece,
                    };
                    self.add(waiting, held).await?;
                    if !small {
                        self.send_waiting(waiting).await?;
                    }
                }
                Some(Ok(Slice::Heap(piece))) => self.add(waiting, piece).await?,
                Some(Ok(Slice::File(file))) => {
                    self.send_waiting(waiting).await?;
                    self.file(file).await?;
                }
                Some(Err(cut)) => {
                    tracing::debug!("a reply is cut at byte {}: {cut}", reader.position());
                    return Err(Cut::Source);
                }
                None => return Ok(()),
            }
        }
    }

    async fn add(&mut self, waiting: &mut Waiting, piece: Bytes) -> Result<(), Cut> {
        waiting.bytes += piece.len();
        waiting.pieces.push(piece);
        if waiting.bytes < GATHERED_BYTES_MAX && waiting.pieces.len() < GATHERED_PIECES_MAX {
            return Ok(());
        }
        self.send_waiting(waiting).await
    }

    /// Sends what waits, with what is in the buffer.
    async fn send_waiting(&mut self, waiting: &mut Waiting) -> Result<(), Cut> {
        let Waiting { pieces, .. } = mem::take(waiting);
        if pieces.is_empty() {
            return self.flush().await;
        }
        self.pieces(&pieces).await
    }
}
