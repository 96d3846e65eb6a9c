//! A connection to a hop while it serves one exchange: our request goes out, its response comes in.
//! It is reusable only if both ended exactly at a message boundary (RFC 9112 §9.3).
//!
//! | phase | value | left by |
//! | --- | --- | --- |
//! | request head sent | [`Exchange`] | final response head, failure |
//! | content arriving | [`OriginBody`] | its end (pooled), drop or error (closed) |
//! | switched protocols | [`Switched`] | the tunnel |

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task;
use std::time::Duration;

use bytes::BufMut;
use http::Method;
use net::deadline::{Deadline, Expired};
use net::half::{ReadHalf, WriteHalf, reunite};
use stats::{Cells, Counter, Histogram};
use wire::field::FieldId;
use wire::http1::{
    BodyDecoder, Framing, Parsed, ProxyAuth, ResponseHead, Step, may_reuse, parse_response,
    response_framing,
};

use crate::context::{Context, OpenHop};
use crate::delay::Delay;
use crate::failure::{Failure, FailureKind, Retry};
use crate::fetch::pin::Place;
use crate::hops::Pool;
use crate::input::{Input, READ_BYTES, READ_LARGE_BYTES};
use crate::recycle::Recycle;

/// Interim responses taken from a hop before it is told off.
const INTERIM_MAX: usize = 16;

/// The client's content on its way to the hop: gives the writing half back when all is sent.
pub(crate) type Upload<'c> = Pin<Box<dyn Future<Output = Result<WriteHalf, UploadError>> + 'c>>;

/// Why a request's content was not sent whole.
#[derive(Debug)]
pub(crate) enum UploadError {
    /// The client left or sent rubbish.
    Client(Failure),
    /// The hop does not take it. What it says may still be read.
    Hop,
}

/// How far sending has come.
pub(crate) enum Sending<'c> {
    /// All is sent.
    Done(WriteHalf),
    /// Content is under way.
    Content(Upload<'c>),
    /// It failed: the connection ends with this exchange.
    Failed,
}

impl std::fmt::Debug for Sending<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Done(_) => "Done",
            Self::Content(_) => "Content",
            Self::Failed => "Failed",
        })
    }
}

impl Sending<'_> {
    /// Drives the upload for as long as it is awaited; resolves only on a failure of the client.
    async fn drive(&mut self) -> Failure {
        if let Self::Content(upload) = self {
            match upload.await {
                Ok(write) => *self = Self::Done(write),
                Err(UploadError::Hop) => *self = Self::Failed,
                Err(UploadError::Client(failure)) => {
                    *self = Self::Failed;
                    return failure;
                }
            }
        }
        std::future::pending().await
    }
}

/// A hop connection, with the buffers of an exchange.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) read: ReadHalf,
    pub(crate) input: Input,
    pub(crate) deadline: Deadline,
    pub(crate) reused: bool,
    pub(crate) open: OpenHop,
    read_timeout: Duration,
    /// Whose bandwidth it takes.
    delay: Option<Rc<Delay>>,
    buffers: Rc<Recycle<Vec<u8>>>,
    cells: Arc<Cells>,
}

impl Wire {
    /// Around a connection that is ours for one exchange.
    pub(crate) fn new(
        cx: &Context,
        read: ReadHalf,
        reused: bool,
        open: OpenHop,
        delay: Option<Rc<Delay>>,
    ) -> Self {
        Self {
            read,
            input: Input::default(),
            deadline: cx.ticker.deadline(),
            reused,
            open,
            read_timeout: cx.plan.timeouts.read,
            delay,
            buffers: Rc::clone(&cx.buffers),
            cells: Arc::clone(&cx.cells),
        }
    }

    fn count(&self, bytes: usize) {
        let Some(less_one) = bytes.checked_sub(1) else {
            return; // the end
        };
        self.cells.add(Counter::HopBytesIn, bytes as u64);
        self.cells.record(Histogram::HopReadSize, less_one as u64);
    }

    /// Reads once. What comes is held until it is paid for.
    async fn fill(&mut self, room: usize) -> Result<usize, Failure> {
        let Some(delay) = &self.delay else {
            let (input, half, buffers) = (&mut self.input, &mut self.read, &self.buffers);
            let read = |task: &mut task::Context<'_>| input.poll_read(task, half, room, buffers);
            let read = self.deadline.limit_poll(self.read_timeout, read).await;
            let count = in_time(read)?;
            self.count(count);
            return Ok(count);
        };
        // What waits for its turn is held in a buffer no larger than it is.
        let room = room.min(delay.step());
        let mut limited = self.input.room(room).limit(room);
        let read = self.read.read(&mut limited);
        let count = in_time(self.deadline.limit(self.read_timeout, read).await)?;
        self.count(count);
        let paying = delay.pay(count);
        let paid = self.deadline.limit(self.read_timeout, paying).await;
        paid.map_err(|_expired| too_late("its turn in the delay pool doesn't come"))?;
        Ok(count)
    }
}

fn in_time(read: Result<io::Result<usize>, Expired>) -> Result<usize, Failure> {
    match read {
        Ok(Ok(count)) => Ok(count),
        Ok(Err(error)) => Err(Failure::hop_io(FailureKind::ReadError, &error)),
        Err(_expired) => Err(too_late("no bytes in time")),
    }
}

fn too_late(detail: &'static str) -> Failure {
    Failure::hop(FailureKind::ReadTimeout, detail).with_retry(Retry::Never)
}

/// A request that was sent, or is being sent.
#[derive(Debug)]
pub(crate) struct Exchange<'c> {
    pub(crate) wire: Wire,
    pub(crate) sending: Sending<'c>,
}

/// What a hop answered.
#[derive(Debug)]
pub(crate) enum Answer<'c> {
    /// 1xx: to be passed on; the exchange goes on.
    Interim(Exchange<'c>, Box<ResponseHead>),
    /// A final response.
    Final(Box<ResponseHead>, Box<OriginBody<'c>>),
    /// 101, or 2xx to CONNECT: the connection is the client's now.
    Switched(Box<ResponseHead>, Switched),
}

/// A connection that no longer speaks HTTP; what it sent behind its head comes first.
#[derive(Debug)]
pub(crate) struct Switched {
    pub(crate) read: ReadHalf,
    pub(crate) write: WriteHalf,
    pub(crate) early: Vec<u8>,
    /// Whose bandwidth it takes; what came early is paid for.
    pub(crate) delay: Option<Rc<Delay>>,
    #[expect(
        dead_code,
        reason = "counts the connection as open until it is dropped"
    )]
    pub(crate) open: OpenHop,
}

impl<'c> Exchange<'c> {
    /// Reads the next response head.
    pub(crate) async fn answer(
        mut self,
        cx: &Context,
        method: &Method,
        upgrade_asked: bool,
        interims: &mut usize,
    ) -> Result<Answer<'c>, Failure> {
        let mut head = cx.heads.take();
        self.read_head(cx, &mut head).await?;
        let switched = head.status == 101;
        if switched && !upgrade_asked {
            return Err(invalid("101 that nobody asked for"));
        }
        if !switched && (100..200).contains(&head.status) {
            *interims += 1;
            if *interims > INTERIM_MAX {
                cx.cells.count(Counter::LimitInformational);
                return Err(invalid("too many interim responses"));
            }
            return Ok(Answer::Interim(self, head));
        }
        let framing = response_framing(method, &head).map_err(|bad| invalid(bad.to_string()))?;
        if switched || framing == Framing::Tunnel {
            return match self.sending {
                Sending::Done(write) => {
                    let early = self.wire.input.unread().to_vec();
                    cx.buffers.give(self.wire.input.into_vec());
                    let switched = Switched {
                        read: self.wire.read,
                        write,
                        early,
                        delay: self.wire.delay,
                        open: self.wire.open,
                    };
                    Ok(Answer::Switched(head, switched))
                }
                Sending::Content(_) | Sending::Failed => Err(invalid("101 before the content")),
            };
        }
        let body = OriginBody {
            decoder: BodyDecoder::new(framing, &cx.plan.reply_limits),
            then: if may_reuse(head.version, &head.fields)
                && framing != Framing::UntilClose
                && !promises_what_cannot_come(&head)
            {
                Then::Pool(Rc::clone(&cx.pool))
            } else {
                Then::Close
            },
            ended: false,
            handed: 0,
            room: READ_BYTES,
            proxy_only: false,
            proxy_auth: ProxyAuth::Drop,
            framing,
            wire: Some(self.wire),
            sending: self.sending,
        };
        Ok(Answer::Final(head, Box::new(body)))
    }

    async fn read_head(&mut self, cx: &Context, head: &mut ResponseHead) -> Result<(), Failure> {
        let mut any = false;
        loop {
            let unread = self.wire.input.unread();
            match parse_response(unread, &cx.plan.reply_limits, head) {
                Ok(Parsed::Complete(consumed)) => {
                    self.wire.input.consume(consumed);
                    return Ok(());
                }
                Ok(Parsed::Partial) => {}
                Err(bad) => return Err(invalid(bad.to_string())),
            }
            any |= !unread.is_empty();
            let count = tokio::select! {
                biased;
                count = self.wire.fill(READ_BYTES) => count,
                failure = self.sending.drive() => return Err(failure),
            };
            match count {
                Ok(0) if any => return Err(invalid("the head was cut off")),
                Ok(0) => return Err(self.closed(FailureKind::ZeroSizeObject, "closed at once")),
                Ok(_) => {}
                Err(failure) if any => return Err(failure.with_retry(Retry::Never)),
                Err(failure) if failure.kind == FailureKind::ReadError && self.wire.reused => {
                    return Err(failure.with_retry(Retry::FreshConnection));
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// The hop closed before it said anything: on a reused connection that is its right.
    fn closed(&self, kind: FailureKind, detail: &'static str) -> Failure {
        Failure::hop(kind, detail).with_retry(if self.wire.reused {
            Retry::FreshConnection
        } else {
            Retry::OtherHop
        })
    }
}

/// A 204 that speaks of content may have it on the way.
fn promises_what_cannot_come(head: &ResponseHead) -> bool {
    let length = head.fields.get(FieldId::ContentLength);
    head.status == 204
        && (head.fields.has(FieldId::TransferEncoding)
            || length.is_some_and(|length| length != b"0"))
}

/// The hop said something that makes no sense; nobody else is asked.
pub(crate) fn invalid(detail: impl Into<std::borrow::Cow<'static, str>>) -> Failure {
    Failure::hop(FailureKind::InvalidResp, detail).with_retry(Retry::Never)
}

/// A piece of content.
#[derive(Debug)]
pub(crate) enum Piece<'p> {
    /// Some bytes.
    Data(&'p [u8]),
    /// The end, at a message boundary.
    End,
}

/// What becomes of the connection at the end of the response.
#[derive(Debug)]
enum Then {
    Close,
    Pool(Rc<Pool>),
    /// It stays the client's.
    Pin(Place),
}

/// A response's content as it arrives. At its end the connection goes back to the pool; dropped
/// before, it is closed.
#[derive(Debug)]
pub(crate) struct OriginBody<'c> {
    wire: Option<Wire>,
    sending: Sending<'c>,
    decoder: BodyDecoder,
    framing: Framing,
    then: Then,
    ended: bool,
    handed: usize,
    room: usize,
    /// Not to be stored, whatever it says (`proxy-only`).
    pub(crate) proxy_only: bool,
    /// Is what its head says of logins to the hop for the client?
    pub(crate) proxy_auth: ProxyAuth,
}

impl<'c> OriginBody<'c> {
    /// The same, tied to nothing: possible once the request has been sent whole.
    ///
    /// # Errors
    ///
    /// Gives it back when it has not.
    pub(crate) fn into_owned(self: Box<Self>) -> Result<Box<OriginBody<'static>>, Box<Self>> {
        if matches!(self.sending, Sending::Content(_)) {
            return Err(self);
        }
        let body = *self;
        let sending = match body.sending {
            Sending::Done(write) => Sending::Done(write),
            Sending::Content(_) | Sending::Failed => Sending::Failed,
        };
        Ok(Box::new(OriginBody {
            wire: body.wire,
            sending,
            decoder: body.decoder,
            framing: body.framing,
            then: body.then,
            ended: body.ended,
            handed: body.handed,
            room: body.room,
            proxy_only: body.proxy_only,
            proxy_auth: body.proxy_auth,
        }))
    }
}

impl OriginBody<'_> {
    /// Can the connection be used again afterwards?
    pub(super) const fn stays_open(&self) -> bool {
        !matches!(self.then, Then::Close)
    }

    /// The connection ends with this exchange: it is a user's.
    pub(crate) fn keep_from_others(&mut self) {
        self.then = Then::Close;
    }

    /// The connection stays the client's, if it can be used again. What came over it isn't stored: the end of the
    /// response must be there before the client's next request.
    pub(super) fn keep_at(&mut self, place: Place) {
        self.proxy_only = true;
        if let Then::Pool(_) = self.then {
            self.then = Then::Pin(place);
        }
    }

    /// Length, where the head said it.
    pub(crate) fn length(&self) -> Option<u64> {
        match self.framing {
            Framing::None => Some(0),
            Framing::Length(length) => Some(length),
            Framing::Chunked | Framing::UntilClose | Framing::Tunnel => None,
        }
    }

    /// Was the request's content not sent whole before the answer came?
    pub(crate) fn is_still_asked(&self) -> bool {
        !self.ended && !matches!(self.sending, Sending::Done(_))
    }

    /// Content that is here already, if it is all of it: small responses come with their head.
    pub(crate) fn whole(&self) -> Option<&[u8]> {
        let wire = self.wire.as_ref()?;
        match self.framing {
            Framing::Length(length) => {
                let length = usize::try_from(length).ok()?;
                wire.input.unread().get(..length)
            }
            Framing::None => Some(&[]),
            Framing::Chunked | Framing::UntilClose | Framing::Tunnel => None,
        }
    }

    /// Takes content that was used as a [`Self::whole`] as read.
    pub(crate) fn finish_whole(&mut self, length: usize) {
        if let Some(wire) = &mut self.wire {
            wire.input.consume(length);
        }
        self.finish();
    }

    /// Can [`Self::next`] give something without waiting?
    pub(crate) fn has_ready(&self) -> bool {
        match &self.wire {
            Some(wire) => wire.input.unread().len() > self.handed || self.length() == Some(0),
            None => true,
        }
    }

    /// The next piece. The piece before is done with.
    pub(crate) async fn next(&mut self) -> Result<Piece<'_>, Failure> {
        let Some(wire) = &mut self.wire else {
            return if self.ended {
                Ok(Piece::End)
            } else {
                Err(Failure::hop(FailureKind::ReadError, "broken off"))
            };
        };
        wire.input.consume(self.handed);
        self.handed = 0;
        loop {
            let step = self.decoder.step(wire.input.unread());
            match step.map_err(|bad| invalid(bad.to_string()))? {
                Step::Data { skip, len } => {
                    wire.input.consume(skip);
                    self.handed = len;
                    break;
                }
                Step::End { consumed } => {
                    wire.input.consume(consumed);
                    self.finish();
                    return Ok(Piece::End);
                }
                Step::NeedMore { consumed } => {
                    wire.input.consume(consumed);
                    let count = tokio::select! {
                        biased;
                        count = wire.fill(self.room) => count?,
                        failure = self.sending.drive() => return Err(failure),
                    };
                    if count >= self.room {
                        self.room = READ_LARGE_BYTES;
                    }
                    if count == 0 {
                        self.decoder
                            .at_eof()
                            .map_err(|bad| invalid(bad.to_string()))?;
                        self.ended = true;
                        self.wire = None;
                        return Ok(Piece::End);
                    }
                }
            }
        }
        let unread = self.wire.as_ref().map(|wire| wire.input.unread());
        let piece = unread.and_then(|unread| unread.get(..self.handed));
        Ok(Piece::Data(piece.unwrap_or_default()))
    }

    /// The end of the response: the connection is kept if nothing speaks against it.
    fn finish(&mut self) {
        self.ended = true;
        let Some(wire) = self.wire.take() else {
            return;
        };
        let surplus = !wire.input.is_empty();
        let sending = std::mem::replace(&mut self.sending, Sending::Failed);
        wire.buffers.give(wire.input.into_vec());
        if let (false, Sending::Done(write)) = (surplus, sending)
            && let Some(stream) = reunite(wire.read, write)
        {
            match std::mem::replace(&mut self.then, Then::Close) {
                Then::Close => {}
                Then::Pool(pool) => pool.put(wire.open.permit.with(stream)),
                Then::Pin(place) => place.keep(stream, wire.open),
            }
        }
    }
}
