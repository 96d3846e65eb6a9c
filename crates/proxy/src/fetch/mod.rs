//! Sends a request to the hop chosen for it, retries where that is allowed (RFC 9110 §9.2.2), and
//! reads the response.

mod connect;
mod guard;
mod login;
mod origin;
mod pin;
mod request;
mod upload;

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;

use net::half::split;
use rules::List;
use stats::Counter;
use wire::field::FieldId;
use wire::http1::{Framing, ProxyAuth, ResponseHead, Version, kept_coding, remove_hop_by_hop};

use crate::access;
use crate::cache::Conditions;
use crate::context::Context;
use crate::delay::Delay;
use crate::failure::{Failure, FailureKind, Retry, Side};
use crate::flow::{Admitted, Received};
use crate::hops::{Hop, Peer};
use crate::listen::client::{ClientIn, ClientOut};
use crate::record::{Hierarchy, HopName, Record};

pub(crate) use connect::{Link, connect};
pub(crate) use guard::Guard;
pub(crate) use login::announce;
pub(crate) use origin::{
    Answer, Exchange, OriginBody, Piece, Sending, Switched, UploadError, Wire,
};
pub(crate) use pin::Pinned;
use pin::Resting;
use request::Wish;

/// What a hop gave.
#[derive(Debug)]
pub(crate) enum Fetched<'c> {
    /// A response.
    Response(Box<ResponseHead>, Box<OriginBody<'c>>),
    /// The connection switched protocols (RFC 9110 §7.8).
    Upgraded(Box<Upgraded>),
}

/// A hop connection that now belongs to the client, and the 101 that says so.
#[derive(Debug)]
pub(crate) struct Upgraded {
    pub(crate) head: Box<ResponseHead>,
    pub(crate) switched: Switched,
}

/// Where the connection to a hop comes from.
enum Source {
    /// An idle one of the pool, or a new one.
    Any,
    New,
    /// The client's own.
    Pin(Box<Resting>),
}

/// What all tries of one request have in common.
struct Job<'a, 'c> {
    cx: &'c Context,
    received: &'a Received<'a>,
    order: Order<'a>,
    /// Whose bandwidth the response takes.
    delay: Option<Rc<Delay>>,
}

/// What is special about a fetch.
pub(crate) struct Order<'a> {
    /// Ask whether this stored response still holds.
    pub(crate) conditions: Option<Conditions>,
    /// Pass the client's Upgrade on.
    pub(crate) upgrade: bool,
    /// Does anybody wait for the response besides this client?
    pub(crate) wanted: &'a dyn Fn() -> bool,
}

impl Order<'_> {
    /// Nothing special.
    pub(crate) fn plain() -> Self {
        Self {
            conditions: None,
            upgrade: false,
            wanted: &|| false,
        }
    }
}

/// Sends a CONNECT to a parent proxy, over a connection of its own, or the client's.
///
/// # Errors
///
/// It can't be reached, or makes no sense.
pub(crate) async fn send_to<'c>(
    cx: &'c Context,
    received: &Received<'_>,
    hop: &Hop,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Fetched<'c>, Failure> {
    let job = Job {
        cx,
        received,
        order: Order::plain(),
        delay: cx.plan.delays.of_hop(cx, received),
    };
    let pinned = &received.connection.pinned;
    let (hop, source) = match pinned.take(received, std::slice::from_ref(hop)) {
        Some((hop, own)) => (hop, Source::Pin(own)),
        None => (hop.clone(), Source::New),
    };
    job.attempt(&hop, source, &mut None, Some(output), record)
        .await
}

/// Can the peer be connected to? For the health of dead ones.
pub(crate) async fn can_connect(cx: &Context, peer: &Arc<Peer>) -> bool {
    let hop = Hop {
        peer: Some(Arc::clone(peer)),
        hierarchy: Hierarchy::None,
    };
    let mut unused = Record::default();
    connect(cx, &hop, None, true, &mut unused).await.is_ok()
}

/// Sends the request to one hop after another until one answers.
///
/// # Errors
///
/// The last hop's failure, when no hop is left or another try is not allowed.
pub(crate) async fn send<'c>(
    cx: &'c Context,
    admitted: &Admitted<'_>,
    order: Order<'_>,
    mut input: Option<&'c mut ClientIn>,
    mut output: Option<&mut ClientOut>,
    record: &mut Record,
) -> Result<Fetched<'c>, Failure> {
    let received = admitted.received;
    let job = Job {
        cx,
        received,
        order,
        delay: cx.plan.delays.of_hop(cx, received),
    };
    let mut hops = cx.choose_hops(received).await?;
    let give_up_ns = cx.clock.now().mono_ns
        + u64::try_from(cx.plan.timeouts.forward.as_nanos()).unwrap_or(u64::MAX / 2);
    let tries_max = cx.plan.config.forward_max_tries.max(1);
    let mut tries = 0;
    let mut last = None;
    let pinned = &received.connection.pinned;
    let mut own = None;
    if let Some((hop, resting)) = pinned.take(received, &hops) {
        hops.insert(0, hop);
        own = Some(Source::Pin(resting));
    }
    for hop in &hops {
        let mut fresh_only = own.is_some() || !may_reuse_for(received);
        loop {
            if tries >= tries_max || cx.clock.now().mono_ns > give_up_ns {
                cx.cells.count(Counter::LimitForwardTries);
                return Err(last.unwrap_or_else(nowhere));
            }
            tries += 1;
            let source = match own.take() {
                Some(own) => own,
                None if fresh_only => Source::New,
                None => Source::Any,
            };
            let failure = match job
                .attempt(hop, source, &mut input, output.as_deref_mut(), record)
                .await
            {
                Ok(fetched) => {
                    cx.tally
                        .borrow_mut()
                        .answered(tries.into(), record.talk.status);
                    return Ok(fetched);
                }
                Err(failure) => failure,
            };
            cx.tally.borrow_mut().answered(tries.into(), 0);
            if failure.side == Side::Hop {
                cx.cells.count(Counter::HopErrors);
            }
            let may_repeat = (input.is_some() || received.framing == Framing::None)
                && (received.head.method.is_idempotent()
                    || failure.kind == FailureKind::ConnectFail
                    || failure.kind == FailureKind::DnsFail);
            if !may_repeat || failure.retry == Retry::Never {
                return Err(failure);
            }
            cx.cells.count(Counter::HopRetries);
            let again = failure.retry == Retry::FreshConnection && !fresh_only;
            last = Some(failure);
            if !again {
                break;
            }
            fresh_only = true;
        }
    }
    Err(last.unwrap_or_else(nowhere))
}

fn nowhere() -> Failure {
    Failure::new(FailureKind::CannotForward, Side::Us).with_detail("no next hop")
}

/// A request that can't be sent again is not risked on a connection that may be closing
/// (RFC 9112 §9.3.1).
fn may_reuse_for(received: &Received<'_>) -> bool {
    received.head.method.is_idempotent() && received.framing == Framing::None
}

impl<'c> Job<'_, 'c> {
    /// One try at one hop.
    async fn attempt(
        &self,
        hop: &Hop,
        source: Source,
        input: &mut Option<&'c mut ClientIn>,
        mut output: Option<&mut ClientOut>,
        record: &mut Record,
    ) -> Result<Fetched<'c>, Failure> {
        let cx = self.cx;
        let began = cx.clock.now();
        let bond = login::bond(self.received, hop);
        let (link, bond, is_pinned) = match source {
            Source::Pin(resting) => {
                let (link, before) = resting.wake();
                record.went(hop.hierarchy, HopName::Ip(link.stream.peer_addr().ip()));
                record.peer.clone_from(&hop.peer);
                (link, Some(before.or_wider(bond)), true)
            }
            Source::Any | Source::New => {
                let fresh_only = matches!(source, Source::New) || bond.is_some();
                let connecting = connect(cx, hop, Some(self.received), fresh_only, record);
                let link = self.unless_client_leaves(input, pin!(connecting)).await?;
                (link, bond, false)
            }
        };
        let wish = match &bond {
            _ if self.order.upgrade => Wish::Upgrade,
            Some(_) => Wish::Keep,
            None => Wish::Usual,
        };
        record.talk.connected(&link.stream, began);
        cx.tally.borrow_mut().sent(&self.received.head.fields);
        if let Some(peer) = &hop.peer {
            peer.asked();
        }
        let mut exchange = self.send_head(hop, link, wish, input).await?;
        let mut interims = 0;
        let method = self.received.head.method.clone();
        loop {
            let answering = exchange.answer(cx, &method, self.order.upgrade, &mut interims);
            let answer = self.unless_client_leaves(input, pin!(answering)).await;
            let answer = answer.inspect_err(|failure| hop.failed(failure, cx.unix_secs()))?;
            match answer {
                Answer::Interim(rest, head) => {
                    self.pass_interim(head, output.as_deref_mut()).await?;
                    exchange = rest;
                }
                Answer::Final(mut head, mut body) => {
                    let old = self.received.head.version == Version::H10;
                    if old && kept_coding(&head.fields).is_some() {
                        return Err(origin::invalid("a coding that HTTP/1.0 doesn't have"));
                    }
                    hop.worked();
                    record.talk.answered(head.status, cx.clock.now());
                    cx.tally.borrow_mut().replies.count(&head.fields);
                    if let Some(peer) = hop.peer.as_ref().filter(|_| body.stays_open()) {
                        peer.kept_alive();
                    }
                    body.proxy_auth = hop.proxy_auth();
                    body.proxy_only = hop.is_proxy_only() || login::is_about(hop, &head.fields);
                    let may_pin = login::may_pin(self.received, hop, &head, is_pinned);
                    if !may_pin {
                        login::drop_offers(&mut head.fields);
                    }
                    match bond {
                        Some(bond) if may_pin => {
                            body.keep_at(self.received.connection.pinned.place(bond));
                        }
                        Some(_) => body.keep_from_others(),
                        None => {}
                    }
                    return Ok(Fetched::Response(head, body));
                }
                Answer::Switched(head, switched) => {
                    hop.worked();
                    return Ok(Fetched::Upgraded(Box::new(Upgraded { head, switched })));
                }
            }
        }
    }

    /// Writes our head and starts sending the content.
    async fn send_head(
        &self,
        hop: &Hop,
        link: Link,
        wish: Wish,
        input: &mut Option<&'c mut ClientIn>,
    ) -> Result<Exchange<'c>, Failure> {
        let cx = self.cx;
        let (read, mut write) = split(link.stream);
        let delay = self.delay.as_ref().filter(|_| !hop.is_undelayed());
        let wire = Wire::new(cx, read, link.reused, link.open, delay.cloned());
        let mut fields = cx.heads.take();
        let mut out = cx.buffers.take();
        request::write_head(
            cx,
            self.received,
            hop,
            self.order.conditions.as_ref(),
            wish,
            &mut fields.fields,
            &mut out,
        );
        cx.heads.give(fields);
        let sending = write.write_all(&out);
        let outcome = wire.deadline.limit(cx.plan.timeouts.write, sending).await;
        let bytes = out.len() as u64;
        cx.buffers.give(out);
        match outcome {
            Ok(Ok(())) => {
                cx.cells.count(Counter::HopRequests);
                cx.cells.add(Counter::HopBytesOut, bytes);
            }
            Ok(Err(error)) => {
                let retry = if wire.reused {
                    Retry::FreshConnection
                } else {
                    Retry::OtherHop
                };
                return Err(Failure::hop_io(FailureKind::WriteError, &error).with_retry(retry));
            }
            Err(_expired) => return Err(Failure::hop(FailureKind::WriteError, "timed out")),
        }
        let sending = match self.received.framing {
            Framing::None | Framing::Length(0) | Framing::UntilClose | Framing::Tunnel => {
                Sending::Done(write)
            }
            Framing::Length(_) | Framing::Chunked => match input.take() {
                Some(client) => {
                    let chunked = self.received.framing == Framing::Chunked;
                    let deadline = cx.ticker.deadline();
                    let timeout = cx.plan.timeouts.write;
                    let after = self.after_content();
                    let to = upload::To {
                        write,
                        deadline,
                        timeout,
                        cells: &cx.cells,
                    };
                    let upload = upload::run(client, to, (chunked, after));
                    Sending::Content(Box::pin(upload))
                }
                None => return Err(nowhere()),
            },
        };
        Ok(Exchange { wire, sending })
    }

    /// What is sent behind the content, for servers that wait for a line's end there (`broken_posts`).
    fn after_content(&self) -> &'static [u8] {
        let is_post = self.received.head.method == http::Method::POST;
        if is_post && access::allows(self.cx, List::BrokenPosts, self.received) {
            b"\r\n"
        } else {
            b""
        }
    }

    /// Awaits `work`, unless the client leaves and nobody else waits for the response.
    async fn unless_client_leaves<T>(
        &self,
        input: &mut Option<&'c mut ClientIn>,
        mut work: Pin<&mut impl Future<Output = Result<T, Failure>>>,
    ) -> Result<T, Failure> {
        let Some(client) = input else {
            return work.await;
        };
        if self.received.framing != Framing::None || self.cx.plan.config.half_closed_clients {
            return work.await;
        }
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = client.gone() => {}
        }
        if (self.order.wanted)() {
            return work.await;
        }
        Err(Failure::new(FailureKind::ClientGone, Side::Client))
    }

    /// Passes a 1xx on to a client that knows them (RFC 9110 §15.2).
    async fn pass_interim(
        &self,
        mut head: Box<ResponseHead>,
        output: Option<&mut ClientOut>,
    ) -> Result<(), Failure> {
        let client = self.received.head;
        let awaited =
            head.status != 100 || client.fields.has_token(FieldId::Expect, b"100-continue");
        if client.version == Version::H11
            && awaited
            && let Some(output) = output
        {
            output.buf.clear();
            wire::http1::write_status_line(head.status, head.reason(), &mut output.buf);
            if head.status != 100 {
                remove_hop_by_hop(&mut head.fields, ProxyAuth::Drop);
                head.fields.remove(FieldId::ContentLength);
                head.fields.write_to(&mut output.buf);
            }
            output.buf.extend_from_slice(b"\r\n");
            let written = output.write_buf(self.cx.plan.timeouts.write).await;
            written.map_err(|_gone| Failure::new(FailureKind::ClientGone, Side::Client))?;
        }
        self.cx.heads.give(head);
        Ok(())
    }
}
