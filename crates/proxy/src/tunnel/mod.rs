//! Tunnels: CONNECT (RFC 9110 §9.3.6) and switched protocols (§7.8). Bytes go both ways unread;
//! nothing the client sends reaches the hop before the tunnel stands.

mod relay;

use http::Method;
use net::half::split;
use stats::Counter;
use wire::http1::{ResponseHead, write_status_line};

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Retry, Side};
use crate::fetch::{Fetched, Link, OriginBody, Upgraded, connect as connect_hop, send_to};
use crate::flow::Admitted;
use crate::hops::Hop;
use crate::listen::client::{ClientIn, ClientOut};
use crate::record::{Marks, Record, ResultTag};
use relay::{End, Ends, relay};

/// What came of a CONNECT.
pub(crate) enum Opened<'c> {
    /// The tunnel stood, and has ended.
    Tunnelled,
    /// A parent asks the client to log in first: its answer is the client's.
    Asked(Box<ResponseHead>, Box<OriginBody<'c>>),
}

/// Opens the tunnel that a CONNECT asks for, answers 200, and carries bytes until it ends.
///
/// # Errors
///
/// No hop could be reached; nothing has been sent to the client.
pub(crate) async fn connect<'c>(
    cx: &'c Context,
    admitted: &Admitted<'_>,
    input: &mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Opened<'c>, Failure> {
    let received = admitted.received;
    debug_assert!(received.head.method == Method::CONNECT);
    record.tag(ResultTag::Tunnel);
    let mut last = None;
    for hop in cx.choose_hops(received).await? {
        let opened = if hop.is_proxy() {
            through_parent(cx, admitted, &hop, input, output, record).await
        } else {
            straight(cx, admitted, &hop, input, output, record).await
        };
        match opened {
            Ok(opened) => return Ok(opened),
            Err(failure) if record.status == 0 && failure.retry != Retry::Never => {
                last = Some(failure);
            }
            Err(failure) => return Err(failure),
        }
    }
    Err(last.unwrap_or_else(|| Failure::new(FailureKind::CannotForward, Side::Us)))
}

async fn straight<'c>(
    cx: &'c Context,
    admitted: &Admitted<'_>,
    hop: &Hop,
    input: &mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Opened<'c>, Failure> {
    let began = cx.clock.now();
    let Link { stream, open, .. } =
        connect_hop(cx, hop, Some(admitted.received), true, record).await?;
    record.talk.connected(&stream, began);
    hop.worked();
    let (read, write) = split(stream);
    output.buf.clear();
    output
        .buf
        .extend_from_slice(b"HTTP/1.1 200 Connection established\r\n\r\n");
    greet(cx, output, record, 200).await?;
    let delay = cx.plan.delays.of_hop(cx, admitted.received);
    let delay = delay.filter(|_| !hop.is_undelayed());
    let ends = Ends { read, write, delay };
    finish(cx, relay(cx, input, output, ends, &[]).await, record);
    drop(open);
    Ok(Opened::Tunnelled)
}

/// A parent proxy opens the tunnel; its answer becomes ours.
async fn through_parent<'c>(
    cx: &'c Context,
    admitted: &Admitted<'_>,
    hop: &Hop,
    input: &mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Opened<'c>, Failure> {
    let fetched = send_to(cx, admitted.received, hop, output, record).await?;
    match fetched {
        Fetched::Upgraded(upgraded) => {
            output.buf.clear();
            let head = &upgraded.head;
            write_status_line(head.status, head.reason(), &mut output.buf);
            output.buf.extend_from_slice(b"\r\n");
            greet(cx, output, record, head.status).await?;
            carry(cx, *upgraded, input, output, record).await;
            Ok(Opened::Tunnelled)
        }
        Fetched::Response(head, body) if head.status == 407 && hop.passes_proxy_authorization() => {
            Ok(Opened::Asked(head, body))
        }
        Fetched::Response(head, _body) => Err(refused(&head)),
    }
}

fn refused(head: &ResponseHead) -> Failure {
    Failure::hop(
        FailureKind::CannotForward,
        format!("the parent answered CONNECT with {}", head.status),
    )
    .with_status(if head.status >= 400 { head.status } else { 502 })
}

/// Passes a 101 on and carries bytes until the end.
///
/// # Errors
///
/// The client is gone.
pub(crate) async fn upgraded(
    cx: &Context,
    upgraded: Upgraded,
    input: &mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<(), Failure> {
    record.tag(ResultTag::Tunnel);
    output.buf.clear();
    let head = &upgraded.head;
    write_status_line(head.status, head.reason(), &mut output.buf);
    head.fields.write_to(&mut output.buf);
    output.buf.extend_from_slice(b"\r\n");
    greet(cx, output, record, head.status).await?;
    carry(cx, upgraded, input, output, record).await;
    Ok(())
}

async fn carry(
    cx: &Context,
    upgraded: Upgraded,
    input: &mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) {
    let switched = upgraded.switched;
    let ends = Ends {
        read: switched.read,
        write: switched.write,
        delay: switched.delay,
    };
    finish(
        cx,
        relay(cx, input, output, ends, &switched.early).await,
        record,
    );
}

async fn greet(
    cx: &Context,
    output: &mut ClientOut,
    record: &mut Record,
    status: u16,
) -> Result<(), Failure> {
    cx.cells.count(Counter::Tunnels);
    record.status = status;
    record.head_bytes = output.buf.len() as u64;
    let written = output.write_buf(cx.plan.timeouts.write).await;
    written.map_err(|_gone| Failure::new(FailureKind::ClientGone, Side::Client))
}

fn finish(cx: &Context, end: End, record: &mut Record) {
    record.body_bytes = end.to_client;
    record.request_bytes += end.to_hop;
    for (counter, bytes) in [
        (Counter::HopBytesIn, end.to_client),
        (Counter::HopBytesOut, end.to_hop),
        (Counter::TunnelBytesIn, end.to_client),
        (Counter::TunnelBytesOut, end.to_hop),
    ] {
        cx.cells.add(counter, bytes);
    }
    if end.timed_out {
        record.mark(Marks::TIMED_OUT);
    }
}
