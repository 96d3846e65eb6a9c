//! The client's side of a connection: what was read from it and what is written to it. The two
//! halves are apart, so that a reply may go out while the request's content still comes in.

use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::iter;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use net::deadline::{Deadline, Expired};
use net::half::{ReadHalf, WriteHalf};
use net::mark::Marks;
use store::FileSlice;
use wire::http1::{BadBody, BodyDecoder, Framing, Limits, Step};

use crate::delay::Delay;
use crate::input::{Input, READ_BYTES, READ_LARGE_BYTES};
use crate::internal::seat::Progress;
use crate::recycle::Recycle;

/// Content left unread after a reply is still read, so that the client sees the reply, up to this.
const LINGER_BYTES_MAX: usize = 1024 * 1024;
/// … and for this long.
const LINGER: Duration = Duration::from_secs(2);
/// Bytes of pipelined requests that are read ahead while a reply is made.
const PIPELINE_BYTES_MAX: usize = 64 * 1024;

/// Why no more comes from the client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// It closed, or its connection broke.
    #[error("client closed: {0}")]
    Gone(io::Error),
    /// It sent nothing for `request_timeout` or `read_timeout`.
    #[error("client sent nothing for too long")]
    TimedOut,
    /// The content's framing is wrong (RFC 9112 §7).
    #[error("request content: {0}")]
    Bad(BadBody),
    /// More content than `request_body_max_size`.
    #[error("request content is larger than allowed")]
    TooBig,
}

/// The reading half, with the framing of the request that is being read.
#[derive(Debug)]
pub(crate) struct ClientIn {
    read: ReadHalf,
    deadline: Deadline,
    /// For the wait between requests: the worker ends it when it drains.
    idle: Deadline,
    pub(crate) input: Input,
    buffers: Rc<Recycle<Vec<u8>>>,
    body: Option<BodyDecoder>,
    body_bytes_left: u64,
    /// Content of the request that has been read, for who can't ask us while we are lent.
    content_bytes: Rc<Cell<u64>>,
    handed: usize,
    body_timeout: Duration,
    closed: bool,
}

impl ClientIn {
    pub(crate) fn new(
        read: ReadHalf,
        deadline: Deadline,
        idle: Deadline,
        buffers: Rc<Recycle<Vec<u8>>>,
    ) -> Self {
        Self {
            read,
            deadline,
            idle,
            input: Input::default(),
            buffers,
            body: None,
            body_bytes_left: 0,
            content_bytes: Rc::default(),
            handed: 0,
            body_timeout: Duration::ZERO,
            closed: false,
        }
    }

    /// Waits until something comes. Holds no buffer meanwhile. `false`: it closed or took too long.
    pub(crate) async fn ready(&mut self, timeout: Duration) -> bool {
        let ready = |cx: &mut Context<'_>| self.read.poll_ready(cx);
        let ready = self.idle.limit_poll(timeout, ready).await;
        matches!(ready, Ok(Ok(())))
    }

    /// Reads once, which is known to be possible at the start of a head. Zero: the client closed its side.
    pub(crate) async fn read(&mut self, timeout: Duration) -> Result<usize, ClientError> {
        self.input.borrow_from(&self.buffers);
        let (read, room) = (&mut self.read, self.input.room(READ_BYTES));
        let read = |cx: &mut Context<'_>| read.poll_read(cx, room);
        let outcome = self.deadline.limit_poll(timeout, read).await;
        self.note_read(outcome)
    }

    /// Reads once, with no buffer held while it waits.
    async fn read_room(&mut self, timeout: Duration, room: usize) -> Result<usize, ClientError> {
        let (input, half, buffers) = (&mut self.input, &mut self.read, &self.buffers);
        let read = |cx: &mut Context<'_>| input.poll_read(cx, half, room, buffers);
        let outcome = self.deadline.limit_poll(timeout, read).await;
        self.note_read(outcome)
    }

    fn note_read(
        &mut self,
        outcome: Result<io::Result<usize>, Expired>,
    ) -> Result<usize, ClientError> {
        match outcome {
            Ok(Ok(count)) => {
                self.closed |= count == 0;
                Ok(count)
            }
            Ok(Err(error)) => Err(ClientError::Gone(error)),
            Err(_expired) => Err(ClientError::TimedOut),
        }
    }

    /// As [`Self::read_room`], for as long as it takes.
    async fn read_pooled(&mut self) -> io::Result<usize> {
        let (input, half, buffers) = (&mut self.input, &mut self.read, &self.buffers);
        poll_fn(|cx| input.poll_read(cx, half, READ_BYTES, buffers)).await
    }

    /// Begins the content of the request whose head was just consumed. `bytes_max` is
    /// `request_body_max_size`.
    pub(crate) fn begin_body(
        &mut self,
        framing: Framing,
        limits: &Limits,
        bytes_max: Option<u64>,
        timeout: Duration,
    ) {
        self.handed = 0;
        self.content_bytes.set(0);
        self.body_timeout = timeout;
        self.body_bytes_left = bytes_max.unwrap_or(u64::MAX);
        self.body = match framing {
            Framing::None | Framing::Length(0) => None,
            framing => Some(BodyDecoder::new(framing, limits)),
        };
    }

    /// How much of the request's content has been read, without its framing.
    pub(crate) fn content_bytes(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.content_bytes)
    }

    /// Has all content been read?
    pub(crate) fn body_done(&self) -> bool {
        self.body.is_none()
    }

    /// The next piece of the request's content; `None` at its end.
    pub(crate) async fn next(&mut self) -> Result<Option<&[u8]>, ClientError> {
        self.input.consume(self.handed);
        self.handed = 0;
        let mut room = READ_BYTES;
        loop {
            let Some(body) = &mut self.body else {
                return Ok(None);
            };
            match body.step(self.input.unread()).map_err(ClientError::Bad)? {
                Step::Data { skip, len } => {
                    self.input.consume(skip);
                    let taken = u64::try_from(len).unwrap_or(u64::MAX);
                    self.body_bytes_left = self
                        .body_bytes_left
                        .checked_sub(taken)
                        .ok_or(ClientError::TooBig)?;
                    self.handed = len;
                    self.content_bytes.update(|bytes| bytes + taken);
                    return Ok(self.input.unread().get(..len));
                }
                Step::End { consumed } => {
                    self.input.consume(consumed);
                    self.body = None;
                    return Ok(None);
                }
                Step::NeedMore { consumed } => {
                    self.input.consume(consumed);
                    if self.read_room(self.body_timeout, room).await? == 0 {
                        return Err(ClientError::Gone(io::ErrorKind::UnexpectedEof.into()));
                    }
                    room = READ_LARGE_BYTES;
                }
            }
        }
    }

    /// Waits until the client closes; pipelined requests that come meanwhile are kept, up to a
    /// bound past which the wait never ends.
    pub(crate) async fn gone(&mut self) {
        while !self.closed {
            if self.input.unread().len() >= PIPELINE_BYTES_MAX {
                return std::future::pending().await;
            }
            match self.read_pooled().await {
                Ok(0) | Err(_) => self.closed = true,
                Ok(_) => {}
            }
        }
    }

    /// Reads and discards what the client still sends, so that closing doesn't take the reply from
    /// it by a reset (RFC 9112 §9.6). Bounded in bytes and time.
    pub(crate) async fn linger(&mut self) {
        let mut total = 0;
        // One limit for all reads: a client that drips doesn't hold us.
        self.deadline.set(LINGER);
        while total < LINGER_BYTES_MAX && !self.closed {
            self.input.consume(usize::MAX);
            let (input, half, buffers) = (&mut self.input, &mut self.read, &self.buffers);
            let read = poll_fn(|cx| input.poll_read(cx, half, READ_BYTES, buffers));
            match self.deadline.guard(read).await {
                Ok(Ok(count)) if count > 0 => total += count,
                Ok(_) | Err(_) => break,
            }
        }
        self.deadline.clear();
    }

    /// Did the client close its side?
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// What was read and is not part of the request, for a tunnel.
    pub(crate) fn take_unread(&mut self) -> Vec<u8> {
        let unread = self.input.unread().to_vec();
        self.input.consume(unread.len());
        unread
    }

    /// The half itself, for a tunnel.
    pub(crate) fn half(&mut self) -> &mut ReadHalf {
        &mut self.read
    }
}

/// The writing half, with the buffer in which heads are made.
#[derive(Debug)]
pub(crate) struct ClientOut {
    pub(super) write: WriteHalf,
    pub(super) deadline: Deadline,
    pub(crate) buf: Vec<u8>,
    /// Whose bandwidth the reply takes.
    pub(crate) pace: Option<Rc<Delay>>,
    /// Where others see how far the reply has come.
    pub(crate) progress: Progress,
}

impl ClientOut {
    pub(crate) fn new(write: WriteHalf, deadline: Deadline, progress: Progress) -> Self {
        Self {
            write,
            deadline,
            buf: Vec::new(),
            pace: None,
            progress,
        }
    }

    /// Marks the packets that are sent from now on.
    pub(crate) fn set_marks(&self, marks: Marks) -> io::Result<()> {
        self.write.set_marks(marks)
    }

    /// Writes what is in `buf`.
    pub(crate) async fn write_buf(&mut self, timeout: Duration) -> io::Result<()> {
        if let Some(pace) = self.pace.clone() {
            return Box::pin(self.write_paced(&pace, &[], timeout)).await;
        }
        let (write, buf, mut done) = (&mut self.write, &self.buf, 0);
        let written = |cx: &mut Context<'_>| write.poll_write_all(cx, buf, &mut done);
        in_time(self.deadline.limit_poll(timeout, written).await)
    }

    /// Writes what is in `buf`, then `parts`, in one system call if the socket takes them.
    pub(crate) async fn write_with_buf(
        &mut self,
        parts: [&[u8]; 2],
        timeout: Duration,
    ) -> io::Result<()> {
        if let Some(pace) = self.pace.clone() {
            return Box::pin(self.write_paced(&pace, &parts, timeout)).await;
        }
        let (write, buf, mut done) = (&mut self.write, &self.buf, 0);
        let [first, second] = parts;
        let written =
            |cx: &mut Context<'_>| write.poll_write_parts(cx, &[buf, first, second], &mut done);
        in_time(self.deadline.limit_poll(timeout, written).await)
    }

    /// Writes what is in `buf`, then `pieces` and `after`, in as few system calls as the socket allows.
    pub(crate) async fn write_all_with_buf(
        &mut self,
        pieces: &[Bytes],
        after: &[u8],
        timeout: Duration,
    ) -> io::Result<()> {
        let parts = pieces.iter().map(Bytes::as_ref);
        if let Some(pace) = self.pace.clone() {
            let parts: Vec<&[u8]> = parts.chain([after]).collect();
            return Box::pin(self.write_paced(&pace, &parts, timeout)).await;
        }
        let parts = iter::once(self.buf.as_slice()).chain(parts).chain([after]);
        let mut slices: Vec<IoSlice<'_>> = parts.map(IoSlice::new).collect();
        let mut left = slices.as_mut_slice();
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let write = &mut self.write;
            let written = |cx: &mut Context<'_>| write.poll_write_some(cx, left, false);
            let written = in_time(self.deadline.limit_poll(timeout, written).await)?;
            IoSlice::advance_slices(&mut left, written);
        }
        Ok(())
    }

    /// Writes what is in `buf`, which more follows at once.
    pub(crate) async fn write_buf_before_more(&mut self, timeout: Duration) -> io::Result<()> {
        if let Some(pace) = self.pace.clone() {
            return Box::pin(self.write_paced(&pace, &[], timeout)).await;
        }
        let mut left = self.buf.as_slice();
        while !left.is_empty() {
            let write = &mut self.write;
            let written =
                |cx: &mut Context<'_>| write.poll_write_some(cx, &[IoSlice::new(left)], true);
            let written = in_time(self.deadline.limit_poll(timeout, written).await)?;
            left = left.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Sends what the socket takes now of a part of a file; returns how much.
    pub(crate) async fn send_file(
        &mut self,
        file: &FileSlice,
        timeout: Duration,
    ) -> io::Result<usize> {
        if let Some(pace) = self.pace.clone() {
            return Box::pin(self.send_file_paced(&pace, file, timeout)).await;
        }
        let write = &mut self.write;
        let sent = |cx: &mut Context<'_>| {
            write.poll_send_file(cx, file.as_fd(), file.offset(), file.len())
        };
        in_time(self.deadline.limit_poll(timeout, sent).await)
    }

    /// Ends our side of the connection.
    pub(crate) fn shutdown(&mut self) {
        drop(self.write.shutdown()); // the client may be gone already
    }

    /// Ready once the client has closed its side.
    pub(crate) fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.write.poll_peer_gone(cx)
    }

    /// Makes the end visible as an error: the reply is not complete.
    pub(crate) fn abort(&mut self) {
        self.write.reset_on_close();
    }

    /// The half itself, for a tunnel.
    pub(crate) fn half(&mut self) -> &mut WriteHalf {
        &mut self.write
    }
}

pub(super) fn in_time<T>(outcome: Result<io::Result<T>, Expired>) -> io::Result<T> {
    match outcome {
        Ok(result) => result,
        Err(Expired) => Err(io::ErrorKind::TimedOut.into()),
    }
}
