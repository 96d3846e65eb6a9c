//! Sends a reply over HTTP/1: head and first content in one write, then piece by piece. The framing
//! toward the client is decided here, once (RFC 9112 §6.1, §6.2).

mod assembled;

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use stats::Counter;
use store::{FileSlice, ReadError, Reader, Slice};
use wire::http1::{LAST_CHUNK, Version, reason_phrase, write_chunk_head, write_status_line};

use crate::context::Context;
use crate::digits::push_number;
use crate::fetch::{OriginBody, Piece};
use crate::flow::{After, Content, Head, Response};
use crate::listen::client::ClientOut;
use crate::record::{Marks, Record};

/// A smaller piece is copied behind the head: cheaper than a second slice for the kernel to look at.
const COPIED_BYTES_MAX: usize = 4096;

/// Slices of a stored body that one call takes: as many bytes as a socket's queue has room for, about.
const GATHERED_BYTES_MAX: usize = 4 << 20;
const GATHERED_PIECES_MAX: usize = 64;
const CHUNK_END: &[u8] = b"\r\n";

/// What the reply must fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyTo {
    /// Version of the request: no chunks to HTTP/1.0.
    pub(crate) version: Version,
    /// The reply to HEAD has no content.
    pub(crate) head_only: bool,
    /// The client would like to go on, and may.
    pub(crate) keep_alive: bool,
    /// When the request came, in seconds since 1970.
    pub(crate) unix_secs: i64,
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// At a message boundary; the connection may live on.
    Whole,
    /// At a message boundary, and the connection was said to close.
    WholeAndClose,
    /// Not complete; the client can tell.
    Cut,
}

impl Sent {
    /// What becomes of the connection.
    pub(crate) fn after(self) -> After {
        match self {
            Self::Whole => After::KeepAlive,
            Self::WholeAndClose | Self::Cut => After::Close,
        }
    }
}

/// How the client finds the end of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framed {
    Bodyless,
    Length,
    Chunked,
    UntilClose,
}

/// Sends `response` and notes status and sizes in `record`. What it borrows, it leaves where it is: a value that is
/// handed from future to future lies in each of them.
pub(crate) async fn send(
    cx: &Context,
    to: ReplyTo,
    out: &mut ClientOut,
    response: &mut Response<'_>,
    record: &mut Record,
) -> Sent {
    let status = match &response.head {
        Head::Stored(object) => object.meta.status,
        Head::Page { status, .. } => *status,
        Head::Built(head) => head.status,
    };
    record.status = status;
    let framed = framing(to, status, response);
    let close = !to.keep_alive || response.close || framed == Framed::UntilClose;
    write_head(cx, to, out, response, framed, close);
    record.head_bytes = out.buf.len() as u64;
    let timeout = cx.plan.timeouts.write;
    let mut sender = Sender {
        cx,
        out,
        framed,
        timeout,
        body_bytes: 0,
        content_left: response.content_max.unwrap_or(u64::MAX),
    };
    if framed == Framed::Bodyless {
        response.content = Content::Empty;
    }
    let outcome = sender.run(&mut response.content).await;
    record.body_bytes = sender.body_bytes;
    match outcome {
        Ok(()) if close => Sent::WholeAndClose,
        Ok(()) => Sent::Whole,
        Err(cut) => {
            record.mark(match cut {
                Cut::ClientTimedOut => Marks::TIMED_OUT,
                Cut::Client | Cut::Source | Cut::TooLong => Marks::ABORTED,
            });
            out.abort();
            Sent::Cut
        }
    }
}

fn framing(to: ReplyTo, status: u16, response: &Response<'_>) -> Framed {
    if to.head_only || status < 200 || status == 204 || status == 304 {
        Framed::Bodyless
    } else if response.length.is_some() {
        Framed::Length
    } else if to.version == Version::H11 && !response.is_coded() {
        Framed::Chunked
    } else {
        Framed::UntilClose
    }
}

/// Makes the head in `out.buf`.
fn write_head(
    cx: &Context,
    to: ReplyTo,
    out: &mut ClientOut,
    response: &Response<'_>,
    framed: Framed,
    close: bool,
) {
    let buf = &mut out.buf;
    buf.clear();
    let has_length = match &response.head {
        Head::Stored(object) => {
            let meta = &object.meta;
            buf.extend_from_slice(&meta.head);
            buf.extend_from_slice(b"Age: ");
            push_number(buf, meta.age(to.unix_secs));
            buf.extend_from_slice(b"\r\n");
            let lines = &cx.plan.lines;
            buf.extend_from_slice(lines.hit(meta.version));
            lines.cache_status.write_hit(object, to.unix_secs, buf);
            meta.has_length
        }
        Head::Page {
            status,
            fields,
            date,
        } => {
            write_status_line(*status, reason_phrase(*status).as_bytes(), buf);
            buf.extend_from_slice(&fields.text);
            buf.extend_from_slice(b"Date: ");
            buf.extend_from_slice(date);
            buf.extend_from_slice(b"\r\n");
            false
        }
        Head::Built(head) => {
            write_status_line(head.status, head.reason(), buf);
            head.fields.write_to(buf);
            false
        }
    };
    match (framed, response.length) {
        (Framed::Length, Some(length)) if !has_length => {
            buf.extend_from_slice(b"Content-Length: ");
            push_number(buf, length);
            buf.extend_from_slice(b"\r\n");
        }
        (Framed::Chunked, _) => buf.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        _ => {}
    }
    buf.extend_from_slice(if close {
        b"Connection: close\r\n\r\n".as_slice()
    } else {
        b"Connection: keep-alive\r\n\r\n".as_slice()
    });
    debug_assert!(to.version == Version::H11 || framed != Framed::Chunked);
}

/// Who broke the reply off.
enum Cut {
    Client,
    ClientTimedOut,
    Source,
    /// There is more content than `reply_body_max_size` allows.
    TooLong,
}

impl From<io::Error> for Cut {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::TimedOut {
            Self::ClientTimedOut
        } else {
            Self::Client
        }
    }
}

struct Sender<'o> {
    cx: &'o Context,
    out: &'o mut ClientOut,
    framed: Framed,
    timeout: Duration,
    body_bytes: u64,
    /// Content that may still go out.
    content_left: u64,
}

impl Sender<'_> {
    /// Sends the head with the first content at hand, then the rest.
    async fn run(&mut self, content: &mut Content<'_>) -> Result<(), Cut> {
        match content {
            Content::Empty => self.flush().await,
            Content::Page(page) => {
                self.piece(page).await?;
                self.end().await
            }
            Content::Stored { reader, left } => {
                let end = left.map(|left| reader.position().saturating_add(left));
                self.stored(reader, end).await?;
                self.end().await
            }
            Content::Parts(assembly) => {
                Box::pin(self.assembled(assembly)).await?;
                self.end().await
            }
            // Apart, as its turns are longer than those of a hit, which this is moved for too.
            Content::Origin(body) => {
                Box::pin(self.origin(body)).await?;
                self.end().await
            }
        }
    }

    /// Sends what a hop gives as it comes.
    async fn origin(&mut self, body: &mut OriginBody<'_>) -> Result<(), Cut> {
        loop {
            if !body.has_ready() {
                self.flush().await?;
            }
            let piece = self.unless_client_leaves(pin!(body.next())).await?;
            match piece.map_err(|_failure| Cut::Source)? {
                Piece::Data(piece) => self.piece(piece).await?,
                Piece::End => return Ok(()),
            }
        }
    }

    /// Awaits more to send, unless the client leaves meanwhile: with nothing to send, nothing else would tell.
    async fn unless_client_leaves<T>(
        &self,
        mut more: Pin<&mut impl Future<Output = T>>,
    ) -> Result<T, Cut> {
        let may_leave = self.cx.plan.config.half_closed_clients;
        poll_fn(|cx| match more.as_mut().poll(cx) {
            Poll::Ready(more) => Poll::Ready(Ok(more)),
            Poll::Pending if may_leave => Poll::Pending,
            Poll::Pending => self.out.poll_gone(cx).map(|()| Err(Cut::Client)),
        })
        .await
    }

    /// Sends what the store has: all that is in memory in one call, what lies in a file from there, and what is read from
    /// disk piece by piece, as each holds a buffer of its own.
    async fn stored(&mut self, reader: &mut Reader, end: Option<u64>) -> Result<(), Cut> {
        reader.stop_at(end.unwrap_or(u64::MAX));
        let mut next = reader.next_now();
        loop {
            let slice = match next {
                Poll::Ready(slice) => slice,
                Poll::Pending => {
                    self.flush().await?;
                    self.unless_client_leaves(pin!(reader.next())).await?
                }
            };
            match slice {
                Some(Ok(Slice::Heap(piece))) if reader.is_from_disk() => {
                    self.piece(&piece).await?;
                    drop(piece);
                    next = reader.next_now();
                }
                Some(Ok(Slice::Heap(piece))) => {
                    next = reader.next_now();
                    if matches!(next, Poll::Ready(Some(Ok(Slice::Heap(_))))) {
                        let mut pieces = vec![piece];
                        next = gather(&mut pieces, reader, next);
                        self.pieces(&pieces).await?;
                    } else {
                        self.piece(&piece).await?;
                    }
                }
                Some(Ok(Slice::File(file))) => {
                    self.file(file).await?;
                    next = reader.next_now();
                }
                Some(Err(cut)) => {
                    tracing::debug!("a reply is cut at byte {}: {cut}", reader.position());
                    return Err(Cut::Source);
                }
                None => break,
            }
        }
        let short = end.is_some_and(|end| reader.position() < end);
        if self.framed == Framed::Length && short {
            return Err(Cut::Source);
        }
        Ok(())
    }

    /// Counts content that is about to go out. What would be too much isn't sent in part: who reads no end knows that
    /// there is more.
    fn spend(&mut self, bytes: u64) -> Result<(), Cut> {
        match self.content_left.checked_sub(bytes) {
            Some(left) => {
                self.content_left = left;
                Ok(())
            }
            None => {
                self.cx.cells.count(Counter::LimitReplyBody);
                Err(Cut::TooLong)
            }
        }
    }

    /// Sends pieces, with what waits in the buffer, in one call if the client's socket takes them.
    async fn pieces(&mut self, pieces: &[Bytes]) -> Result<(), Cut> {
        let waiting = self.out.buf.len();
        let bytes: usize = pieces.iter().map(Bytes::len).sum();
        self.spend(bytes as u64)?;
        let mut after: &[u8] = &[];
        if self.framed == Framed::Chunked {
            write_chunk_head(bytes, &mut self.out.buf);
            after = CHUNK_END;
        }
        self.body_bytes += (self.out.buf.len() - waiting + bytes + after.len()) as u64;
        self.out
            .write_all_with_buf(pieces, after, self.timeout)
            .await?;
        self.out.buf.clear();
        self.out.progress.0.set(self.body_bytes);
        Ok(())
    }

    /// Sends a part of a file, behind what waits in the buffer. What ends a chunk waits for what follows.
    async fn file(&mut self, mut file: FileSlice) -> Result<(), Cut> {
        self.spend(file.len())?;
        let waiting = self.out.buf.len();
        if self.framed == Framed::Chunked {
            let bytes = usize::try_from(file.len()).unwrap_or(usize::MAX);
            write_chunk_head(bytes, &mut self.out.buf);
            self.body_bytes += (self.out.buf.len() - waiting + CHUNK_END.len()) as u64;
        }
        self.out.write_buf_before_more(self.timeout).await?;
        self.out.buf.clear();
        while !file.is_empty() {
            let sent = self.out.send_file(&file, self.timeout).await? as u64;
            file.advance(sent);
            self.body_bytes += sent;
            self.out.progress.0.set(self.body_bytes);
        }
        if self.framed == Framed::Chunked {
            self.out.buf.extend_from_slice(CHUNK_END);
        }
        Ok(())
    }

    /// Sends a piece, with what waits in the buffer, in one call.
    async fn piece(&mut self, piece: &[u8]) -> Result<(), Cut> {
        self.spend(piece.len() as u64)?;
        let waiting = self.out.buf.len();
        let mut after: &[u8] = &[];
        if self.framed == Framed::Chunked && !piece.is_empty() {
            write_chunk_head(piece.len(), &mut self.out.buf);
            after = CHUNK_END;
        }
        self.body_bytes += (self.out.buf.len() - waiting + piece.len() + after.len()) as u64;
        if piece.len() <= COPIED_BYTES_MAX {
            self.out.buf.extend_from_slice(piece);
            self.out.buf.extend_from_slice(after);
            return self.flush().await;
        }
        self.out
            .write_with_buf([piece, after], self.timeout)
            .await?;
        self.out.buf.clear();
        self.out.progress.0.set(self.body_bytes);
        Ok(())
    }

    /// Sends what waits in the buffer.
    async fn flush(&mut self) -> Result<(), Cut> {
        if !self.out.buf.is_empty() {
            self.out.write_buf(self.timeout).await?;
            self.out.buf.clear();
        }
        Ok(())
    }

    /// Ends the content; its head goes out now if there was none.
    async fn end(&mut self) -> Result<(), Cut> {
        if self.framed == Framed::Chunked {
            self.out.buf.extend_from_slice(LAST_CHUNK);
            self.body_bytes += LAST_CHUNK.len() as u64;
        }
        self.flush().await
    }
}

/// What the reader gives next; none of it has been sent.
type NextSlice = Poll<Option<Result<Slice, ReadError>>>;

/// Adds the slices that are here, from `next` on, up to what one call is to take; returns what comes after them.
fn gather(pieces: &mut Vec<Bytes>, reader: &mut Reader, mut next: NextSlice) -> NextSlice {
    let mut bytes: usize = pieces.iter().map(Bytes::len).sum();
    while bytes < GATHERED_BYTES_MAX && pieces.len() < GATHERED_PIECES_MAX {
        match next {
            Poll::Ready(Some(Ok(Slice::Heap(piece)))) => {
                bytes += piece.len();
                pieces.push(piece);
                next = reader.next_now();
            }
            other => return other,
        }
    }
    next
}
