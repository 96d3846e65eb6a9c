//! A client connection that speaks HTTP/1: reads requests one after another (RFC 9112), hands each
//! to the transaction, and lives on only while both sides stand at a message boundary.
//!
//! | phase | holds | left by |
//! | --- | --- | --- |
//! | idle | no buffers, one deadline | first byte, close, timeout, drain |
//! | reading a head | buffers from the worker's pool | complete head, bad head, timeout |
//! | serving | one context snapshot | the transaction's `After` |

use std::rc::Rc;
use std::time::Duration;

use net::half::split;
use net::stream::Stream;
use rules::Learnt;
use stats::{Counter, Gauge, Histogram};
use wire::http1::{
    BadRequest, Framing, KnownHost, Parsed, RequestHead, parse_request, request_framing,
    worth_parsing,
};
use wire::target::Target;

use crate::context::Context;
use crate::failure::{Failure, FailureKind};
use crate::flow::{After, Connection, Received};
use crate::input::Input;
use crate::internal::seat::Seat;
use crate::listen::client::{ClientError, ClientIn, ClientOut};
use crate::listen::target::resolve;
use crate::record::Record;
use crate::recycle::Recyclable;
use crate::transaction;
use crate::worker::{OpenConnection, Worker};

/// Buffers of a connection that is serving. Idle connections hold none: these go round in the
/// worker's pool.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    input: Vec<u8>,
    output: Vec<u8>,
    head: RequestHead,
    host: KnownHost,
    target: Target,
    /// Where the seat shows the URL while the request is served.
    shown: Vec<u8>,
}

impl Recyclable for Box<Scratch> {
    /// Each part is emptied by its next user.
    fn empty(&mut self) {}

    fn room_bytes(&self) -> usize {
        let buffers = self.input.capacity() + self.output.capacity();
        let head = self.head.fields.memory_bytes() + URL_COPIES * self.shown.capacity();
        size_of::<Self>() + buffers + head
    }
}

/// A URL lies in the head, in the target, twice, and where it is shown.
const URL_COPIES: usize = 4;

/// Why the connection stopped reading requests.
enum End {
    /// Everything read was served.
    Idle,
    /// It is to be closed; `Linger` if the client may still be sending.
    Close,
    Linger,
}

/// What came of reading a head.
enum HeadRead {
    Complete,
    Idle,
    Closed,
    Bad(BadRequest),
    TimedOut,
}

/// Serves one client connection to its end.
pub(crate) async fn serve_connection(
    worker: Rc<Worker>,
    stream: Stream,
    connection: Connection,
    _open: OpenConnection,
) {
    let (read, write) = split(stream);
    let mut input = ClientIn::new(
        read,
        worker.ticker.deadline(),
        worker.idle_ticker.deadline(),
        Rc::clone(&worker.context().buffers),
    );
    let seat = connection.seat.as_ref();
    let progress = seat.map(Seat::progress).unwrap_or_default();
    let mut output = ClientOut::new(write, worker.ticker.deadline(), progress);
    let mut record = Record::new(connection.client);
    let lifetime = worker.ticker.deadline();
    lifetime.set(worker.context().plan.timeouts.client_lifetime);
    let mut first = true;
    loop {
        let timeouts = &worker.context().plan.timeouts;
        let wait = if first {
            timeouts.request_start
        } else {
            timeouts.client_idle
        };
        if !worker.idle_wait(&mut input, wait).await {
            break;
        }
        first = false;
        let mut scratch = worker.scratch.take();
        input.input = Input::over(std::mem::take(&mut scratch.input));
        output.buf = std::mem::take(&mut scratch.output);
        let mut exchange = Exchange {
            worker: &worker,
            connection: &connection,
            input: &mut input,
            output: &mut output,
            record: &mut record,
        };
        // Apart, so that a connection that waits holds nothing of what serving needs.
        let serving = Box::pin(exchange.requests(&mut scratch));
        let Ok(end) = lifetime.guard(serving).await else {
            worker.cells.count(Counter::TimeoutsLifetime);
            cut_off(&worker, &connection, &scratch, &mut record);
            break;
        };
        if matches!(end, End::Linger) {
            output.shutdown();
            input.linger().await;
        }
        scratch.input = std::mem::take(&mut input.input).into_vec();
        scratch.output = std::mem::take(&mut output.buf);
        worker.scratch.give(scratch);
        if !matches!(end, End::Idle) {
            break;
        }
    }
    if let Some(seat) = &connection.seat {
        worker.cells.record(Histogram::ClientUses, seat.requests());
    }
}

/// `client_lifetime` is over in the middle of a transaction: only the log is left to do.
fn cut_off(worker: &Worker, connection: &Connection, scratch: &Scratch, record: &mut Record) {
    let cx = worker.context();
    let received = Received {
        connection,
        head: &scratch.head,
        target: &scratch.target,
        asked: None,
        framing: Framing::None,
        learnt: &Learnt::default(),
        now: cx.clock.now(),
    };
    transaction::cut_off(&cx, &received, record);
}

/// A connection while it serves.
struct Exchange<'w> {
    worker: &'w Worker,
    connection: &'w Connection,
    input: &'w mut ClientIn,
    output: &'w mut ClientOut,
    record: &'w mut Record,
}

impl Exchange<'_> {
    /// Serves requests until nothing read is left.
    async fn requests(&mut self, scratch: &mut Scratch) -> End {
        loop {
            let cx = self.worker.context();
            let started = cx.clock.now();
            self.record.begin(started.mono_ns);
            match self.read_head(&cx, &mut scratch.head).await {
                HeadRead::Complete => {}
                HeadRead::Idle => return End::Idle,
                HeadRead::Closed => return End::Close,
                HeadRead::Bad(bad) => return self.refuse(&cx, &failure_of(&bad)).await,
                HeadRead::TimedOut => {
                    let kind = FailureKind::RequestParseTimeout;
                    return self
                        .refuse(&cx, &Failure::client(kind, "request head"))
                        .await;
                }
            }
            let framing = match self.check(&cx, scratch) {
                Ok(framing) => framing,
                Err(failure) => return self.refuse(&cx, &failure).await,
            };
            let plan = &cx.plan;
            self.input.begin_body(
                framing,
                &plan.limits,
                plan.config.request_body_max_size,
                plan.timeouts.read,
            );
            let learnt = self.connection.learnt();
            let received = Received {
                connection: self.connection,
                head: &scratch.head,
                target: &scratch.target,
                asked: None,
                framing,
                learnt: &learnt,
                now: started,
            };
            let seat = self.connection.seat.as_ref();
            if let Some(seat) = seat {
                let (method, url) = (&scratch.head.method, scratch.target.url());
                seat.begin(started.mono_ns, method, url, &mut scratch.shown);
            }
            let serving = self.worker.cells.during(Gauge::Transactions);
            let after =
                transaction::serve(&cx, &received, self.input, self.output, self.record).await;
            drop(serving);
            if let Some(seat) = seat {
                seat.end(self.record, &mut scratch.shown);
            }
            self.connection.keep(&learnt);
            match after {
                After::Close if self.input.body_done() && self.input.input.is_empty() => {
                    return End::Close;
                }
                After::Close => return End::Linger,
                After::KeepAlive if !self.input.body_done() => return End::Linger,
                After::KeepAlive => {}
            }
            if self.input.input.is_empty() {
                return if self.input.is_closed() {
                    End::Close
                } else {
                    End::Idle
                };
            }
        }
    }

    /// Reads until a head is complete. `Idle`: nothing but empty lines came.
    async fn read_head(&mut self, cx: &Context, head: &mut RequestHead) -> HeadRead {
        let mut seen = 0;
        loop {
            let unread = self.input.input.unread();
            if worth_parsing(unread, seen, &cx.plan.limits) {
                match parse_request(unread, &cx.plan.limits, head) {
                    Ok(Parsed::Complete(consumed)) => {
                        self.input.input.consume(consumed);
                        self.record.request_bytes = consumed as u64;
                        return HeadRead::Complete;
                    }
                    Ok(Parsed::Partial) => {}
                    Err(bad) => return HeadRead::Bad(bad),
                }
            }
            seen = self.input.input.unread().len();
            let fresh = self.input.input.is_empty();
            let timeout = cx.plan.timeouts.request;
            let left = if fresh {
                timeout
            } else {
                timeout.saturating_sub(self.age(cx))
            };
            match self.input.read(left).await {
                Ok(0) | Err(ClientError::Gone(_)) => return HeadRead::Closed,
                Ok(_) => {}
                Err(_) if fresh => return HeadRead::Idle,
                Err(_) => return HeadRead::TimedOut,
            }
        }
    }

    /// Time since the request began: a head that drips has one time-out, not one per byte.
    fn age(&self, cx: &Context) -> Duration {
        let now_ns = cx.clock.now().mono_ns;
        Duration::from_nanos(now_ns.saturating_sub(self.record.started_ns))
    }

    /// The framing, and in `scratch` the normalised target: fixed once, before anything else looks
    /// at the request.
    fn check(&self, cx: &Context, scratch: &mut Scratch) -> Result<Framing, Failure> {
        let framing = request_framing(&scratch.head).map_err(|bad| failure_of(&bad))?;
        resolve(
            &cx.plan,
            self.connection,
            &scratch.head,
            &mut scratch.host,
            &mut scratch.target,
        )?;
        Ok(framing)
    }

    /// Answers a request that can't be understood, logs it, and gives the connection up: where the
    /// next message would begin is unknown.
    async fn refuse(&mut self, cx: &Context, failure: &Failure) -> End {
        self.record.unreadable();
        let refused = transaction::refuse(cx, self.connection, failure, self.output, self.record);
        // Apart, as it is rare: what the serving of requests takes is allocated and moved for each of them.
        Box::pin(refused).await;
        End::Linger
    }
}

/// What the client and the log are told of a head that can't be read.
fn failure_of(bad: &BadRequest) -> Failure {
    let kind = match bad.status() {
        413 | 414 | 431 => FailureKind::TooBig,
        501 => FailureKind::UnsupReq,
        505 => FailureKind::UnsupHttpVersion,
        _ => FailureKind::InvalidReq,
    };
    Failure::client(kind, bad.to_string()).with_status(bad.status())
}
