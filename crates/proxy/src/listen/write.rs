//! Sends a reply over HTTP/1: head and first content in one write, then piece by piece. The framing
//! toward the client is decided here, once (RFC 9112 §6.1, §6.2).

use std::io;
use std::io::Write as _;
use std::task::Poll;
use std::time::Duration;

use wire::http1::{LAST_CHUNK, Version, write_chunk_head, write_status_line};

use crate::context::Context;
use crate::fetch::Piece;
use crate::flow::{Content, Head, Response};
use crate::listen::client::ClientOut;
use crate::record::{Marks, Record};

/// A smaller piece is copied behind the head: cheaper than a second slice for the kernel to look at.
const COPIED_BYTES_MAX: usize = 4096;

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

/// How the client finds the end of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framed {
    Bodyless,
    Length,
    Chunked,
    UntilClose,
}

/// Sends `response` and notes status and sizes in `record`.
pub(crate) async fn send(
    cx: &Context,
    to: ReplyTo,
    out: &mut ClientOut,
    response: Response<'_>,
    record: &mut Record,
) -> Sent {
    let status = match &response.head {
        Head::Stored(object) => object.meta.status,
        Head::Built(head) => head.status,
    };
    record.status = status;
    let framed = framing(to, status, &response);
    let close = !to.keep_alive || response.close || framed == Framed::UntilClose;
    write_head(cx, to, out, &response, framed, close);
    record.head_bytes = out.buf.len() as u64;
    let timeout = cx.plan.timeouts.write;
    let mut sender = Sender {
        out,
        framed,
        timeout,
        body_bytes: 0,
    };
    let content = if framed == Framed::Bodyless {
        Content::Empty
    } else {
        response.content
    };
    let outcome = sender.run(content).await;
    record.body_bytes = sender.body_bytes;
    match outcome {
        Ok(()) if close => Sent::WholeAndClose,
        Ok(()) => Sent::Whole,
        Err(cut) => {
            record.mark(match cut {
                Cut::ClientTimedOut => Marks::TIMED_OUT,
                Cut::Client | Cut::Source => Marks::ABORTED,
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
    } else if to.version == Version::H11 {
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
            buf.extend_from_slice(cx.plan.lines.hit(meta.version));
            meta.has_length
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

/// Appends `number` in decimal.
pub(crate) fn push_number(buf: &mut Vec<u8>, number: u64) {
    let mut digits = [0u8; 20];
    let mut cursor = io::Cursor::new(digits.as_mut_slice());
    if write!(cursor, "{number}").is_ok() {
        let end = usize::try_from(cursor.position()).unwrap_or(0);
        buf.extend_from_slice(digits.get(..end).unwrap_or_default());
    }
}

/// Who broke the reply off.
enum Cut {
    Client,
    ClientTimedOut,
    Source,
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
    out: &'o mut ClientOut,
    framed: Framed,
    timeout: Duration,
    body_bytes: u64,
}

impl Sender<'_> {
    /// Sends the head with the first content at hand, then the rest.
    async fn run(&mut self, content: Content<'_>) -> Result<(), Cut> {
        match content {
            Content::Empty => self.flush().await,
            Content::Bytes(bytes) => {
                self.piece(&bytes).await?;
                self.end().await
            }
            Content::Stored { mut reader, left } => {
                let mut left = left.unwrap_or(u64::MAX);
                while left > 0 {
                    let piece = match reader.next_now() {
                        Poll::Ready(piece) => piece,
                        Poll::Pending => {
                            self.flush().await?;
                            reader.next().await
                        }
                    };
                    let piece = match piece {
                        Some(Ok(piece)) => piece,
                        Some(Err(_cut)) => return Err(Cut::Source),
                        None => break,
                    };
                    let wanted = usize::try_from(left).unwrap_or(usize::MAX);
                    let piece = piece.get(..wanted).unwrap_or(&piece);
                    left -= piece.len() as u64;
                    self.piece(piece).await?;
                }
                if self.framed == Framed::Length && left > 0 && left != u64::MAX {
                    return Err(Cut::Source);
                }
                self.end().await
            }
            Content::Origin(mut body) => {
                loop {
                    if !body.has_ready() {
                        self.flush().await?;
                    }
                    match body.next().await.map_err(|_failure| Cut::Source)? {
                        Piece::Data(piece) => self.piece(piece).await?,
                        Piece::End => break,
                    }
                }
                self.end().await
            }
        }
    }

    /// Sends a piece, with what waits in the buffer, in one call.
    async fn piece(&mut self, piece: &[u8]) -> Result<(), Cut> {
        let waiting = self.out.buf.len();
        let mut after: &[u8] = &[];
        if self.framed == Framed::Chunked && !piece.is_empty() {
            write_chunk_head(piece.len(), &mut self.out.buf);
            after = b"\r\n";
        }
        self.body_bytes += (self.out.buf.len() - waiting + piece.len() + after.len()) as u64;
        if piece.len() <= COPIED_BYTES_MAX {
            self.out.buf.extend_from_slice(piece);
            self.out.buf.extend_from_slice(after);
            return self.flush().await;
        }
        self.out.write_with_buf([piece, after], self.timeout).await?;
        self.out.buf.clear();
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
