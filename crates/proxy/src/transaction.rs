//! One request and all that follows from it. The order of the stations is written here, and what follows a miss in
//! [`miss`]: read [`respond`] first.

mod miss;

use std::rc::Rc;

use http::Method;
use wire::field::FieldId;
use wire::http1::Version;

use crate::adapt::Adapted;
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Side};
use crate::fetch::{self, Fetched, Order};
use crate::flow::{Admitted, After, Connection, Head, Lookup, Received, Response};
use crate::listen::client::{ClientIn, ClientOut};
use crate::listen::write::{ReplyTo, send};
use crate::log::{INVALID_REQUEST, LogFacts, METHOD_NOT_ALLOWED, REQUEST_TOO_LARGE};
use crate::record::{Marks, Record, ResultTag};
use crate::reply::Forward;
use crate::tunnel::Opened;
use crate::{access, adapt, cache, internal, reply, tunnel};

/// Serves a request: from the head that `listen` read to the last byte of the reply, the log line
/// and the counters.
pub(crate) async fn serve(
    cx: &Rc<Context>,
    received: &Received<'_>,
    input: &mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> After {
    let to = ReplyTo {
        version: received.head.version,
        head_only: received.head.method == Method::HEAD,
        keep_alive: cx.may_keep_alive(received),
        unix_secs: received.now.unix_secs(),
    };
    output.pace = cx.plan.delays.of_client(cx, received); // client_delay_pools
    let adapted = Adapted::default();
    let content_bytes = input.content_bytes();
    let outcome = respond(cx, received, &adapted, input, output, record).await;
    let mut reply = settle(cx, received, outcome, output, record);
    let after = match &mut reply {
        Some(response) => {
            pace_reply(cx, &adapted.of(received), output, response, record);
            note_reply(cx, response, output, record);
            send(cx, to, output, response, record).await.after()
        }
        None => After::Close,
    };
    if let Some(response) = reply {
        response.recycle(cx);
    }
    record.request_bytes += content_bytes.get();
    close_record(cx, received.connection, record, Some(&adapted.of(received)));
    after
}

/// What is sent: the response, the page of a failure, or nothing after a tunnel or a reset.
fn settle<'c>(
    cx: &'c Context,
    received: &Received<'_>,
    outcome: Result<Outcome<'c>, Failure>,
    output: &mut ClientOut,
    record: &mut Record,
) -> Option<Response<'c>> {
    let failure = match outcome {
        Ok(Outcome::Reply(response)) => return Some(response),
        Ok(Outcome::Tunnelled) => return None,
        Err(failure) => failure,
    };
    let Some(mut response) = reply::failure_response(cx, received, &failure, record) else {
        output.abort();
        return None;
    };
    // What follows a CONNECT was meant for the tunnel: it must not be read as a request.
    response.close |=
        received.head.method == Method::CONNECT && failure.kind != FailureKind::CacheAccessDenied;
    Some(response)
}

/// Answers a request whose head could not be read.
pub(crate) async fn refuse(
    cx: &Context,
    connection: &Connection,
    failure: &Failure,
    output: &mut ClientOut,
    record: &mut Record,
) {
    record.client = connection.client;
    let to = ReplyTo {
        version: Version::H11,
        head_only: false,
        keep_alive: false,
        unix_secs: cx.unix_secs(),
    };
    let mut response = reply::refusal(cx, connection, failure, record);
    note_reply(cx, &response, output, record);
    let sent = send(cx, to, output, &mut response, record).await;
    debug_assert!(matches!(sent.after(), After::Close));
    close_record(cx, connection, record, None);
}

/// Ends a transaction that took longer than `client_lifetime`.
pub(crate) fn cut_off(cx: &Context, received: &Received<'_>, record: &mut Record) {
    record.mark(Marks::TIMED_OUT);
    record.error = Some(FailureKind::LifetimeExp);
    close_record(cx, received.connection, record, Some(received));
}

/// What the stations made of a request.
enum Outcome<'c> {
    Reply(Response<'c>),
    Tunnelled,
}

/// From request to response. Each line is a station. What is rare is boxed, and a response is held in one place alone: this
/// future is allocated and moved for each request.
async fn respond<'c>(
    cx: &'c Rc<Context>,
    asked: &'c Received<'c>,
    adapted: &'c Adapted,
    input: &'c mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Outcome<'c>, Failure> {
    access::follow(cx, asked, record).await; // follow_x_forwarded_for
    cx.check_size(asked)?; // request_body_max_size
    let admitted = access::admit(cx, asked, record).await?; // http_access
    if internal::owns(&cx.plan, asked) {
        return Box::pin(own_page(cx, &admitted, input, record)).await;
    }
    let redirect = adapt::request(cx, asked, adapted).await?; // url_rewrite_program
    let received = &adapted.of(asked);
    let admitted = access::readmit(cx, received, admitted, record).await?; // adapted_http_access
    cx.plan.marking.client(cx, received, output); // clientside_tos, mark_client_packet
    if let Some(to) = redirect {
        let response = adapt::redirected(cx, &to, record);
        return Box::pin(prepared(cx, received, response, record)).await;
    }
    if let Some(response) = reply::own(cx, received, record) {
        return Ok(Outcome::Reply(response)); // TRACE and OPTIONS that end here
    }
    cache::learn_store_id(cx, received).await; // store_id_program
    if received.head.method.as_str() == "PURGE" && cx.plan.rules.purge {
        let response = Box::pin(cache::purge(cx, received, record)).await;
        return Ok(Outcome::Reply(response));
    }
    if received.head.method == Method::CONNECT {
        return Box::pin(connect(cx, &admitted, input, output, record)).await;
    }
    if cx.may_upgrade(received) {
        return Box::pin(upgrade(cx, &admitted, input, output, record)).await;
    }
    let found = match cache::lookup(cx, received, record) {
        Ok(found) => found,
        Err(on_disk) => Box::pin(cache::lookup_on_disk(cx, received, on_disk, record)).await,
    };
    let mut response = match found {
        Lookup::Fresh(object) => {
            match miss::in_time(cache::answer(cx, received, object, record), record) {
                Some(response) => response,
                None => Box::pin(miss::pass(cx, &admitted, input, output, record)).await?,
            }
        }
        Lookup::StaleWhileRevalidate(stale) => {
            cache::validate_in_background(cx, &admitted, &stale);
            match miss::in_time(cache::answer(cx, received, stale, record), record) {
                Some(response) => response,
                None => Box::pin(miss::pass(cx, &admitted, input, output, record)).await?,
            }
        }
        Lookup::Unsatisfiable => return Err(not_cached()),
        Lookup::Stale(stale) => {
            Box::pin(miss::validate(cx, &admitted, stale, input, output, record)).await?
        }
        Lookup::Parts(parts) => {
            Box::pin(miss::complete(cx, &admitted, parts, input, output, record)).await?
        }
        Lookup::Start(start) => {
            Box::pin(miss::fill(cx, &admitted, start, input, output, record)).await?
        }
        Lookup::Pass => Box::pin(miss::pass(cx, &admitted, input, output, record)).await?,
    };
    finish(cx, received, &mut response, record).await?;
    Ok(Outcome::Reply(response))
}

/// The stations between cache and client.
async fn finish(
    cx: &Context,
    received: &Received<'_>,
    response: &mut Response<'_>,
    record: &mut Record,
) -> Result<(), Failure> {
    adapt::location(cx, received, response, record).await; // location_rewrite_program
    reply::prepare(cx, received, response, record).await
}

/// A response that was made here.
async fn prepared<'c>(
    cx: &Context,
    received: &Received<'_>,
    mut response: Response<'c>,
    record: &mut Record,
) -> Result<Outcome<'c>, Failure> {
    reply::prepare(cx, received, &mut response, record).await?;
    Ok(Outcome::Reply(response))
}

/// A page of our own.
async fn own_page<'c>(
    cx: &'c Context,
    admitted: &Admitted<'_>,
    input: &mut ClientIn,
    record: &mut Record,
) -> Result<Outcome<'c>, Failure> {
    let page = internal::page(cx, admitted, input, record).await?;
    prepared(cx, admitted.received, page, record).await
}

/// A tunnel, or a hop's answer to the client that asked for one.
async fn connect<'c>(
    cx: &'c Rc<Context>,
    admitted: &Admitted<'_>,
    input: &'c mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Outcome<'c>, Failure> {
    match tunnel::connect(cx, admitted, input, output, record).await? {
        Opened::Tunnelled => Ok(Outcome::Tunnelled),
        Opened::Asked(head, body) => {
            record.cache.forwarded(Forward::Method);
            let response = cache::pass(cx, admitted.received, head, body, record);
            prepared(cx, admitted.received, response, record).await
        }
    }
}

/// The client asks to switch protocols: the hop decides (RFC 9110 §7.8).
async fn upgrade<'c>(
    cx: &'c Rc<Context>,
    admitted: &Admitted<'_>,
    input: &mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Outcome<'c>, Failure> {
    let received = admitted.received;
    access::admit_miss(cx, received).await?; // miss_access
    record.tag(ResultTag::Miss);
    let order = Order {
        upgrade: true,
        ..Order::plain()
    };
    match fetch::send(cx, admitted, order, None, Some(output), record).await? {
        Fetched::Upgraded(upgraded) => {
            tunnel::upgraded(cx, *upgraded, input, output, record).await?;
            Ok(Outcome::Tunnelled)
        }
        Fetched::Response(head, body) => {
            record.cache.forwarded(Forward::Bypass);
            let response = cache::pass(cx, received, head, body, record);
            prepared(cx, received, response, record).await
        }
    }
}

fn not_cached() -> Failure {
    Failure::new(FailureKind::OnlyIfCachedMiss, Side::Client)
}

/// `response_delay_pool`, which comes before `client_delay_pools`.
fn pace_reply(
    cx: &Context,
    received: &Received<'_>,
    output: &mut ClientOut,
    response: &Response<'_>,
    record: &Record,
) {
    let pace = cx.plan.delays.of_reply(cx, received, response, record);
    output.pace = pace.or_else(|| output.pace.take());
}

/// What is done with a reply before it goes out: the log keeps its head, and its packets are marked.
fn note_reply(cx: &Context, response: &Response<'_>, output: &mut ClientOut, record: &mut Record) {
    if cx.log.shows_reply()
        && let Head::Built(head) = &response.head
    {
        record.keep_reply(head);
    }
    cx.plan.marking.reply(record, output); // qos_flows
}

/// What only the log shows: `note` lines, and the user whom an external ACL named, where nobody has logged in.
fn annotate(cx: &Context, received: &Received<'_>, record: &mut Record) {
    if !cx.plan.config.note.is_empty() {
        access::annotate(cx, received, record);
    }
    if record.user().is_none() {
        received.learnt.notes(|notes| {
            record.set_user(notes.last("user").unwrap_or_default().as_bytes());
        });
    }
}

/// The last station: counters and log. Without a request, its head could not be read.
fn close_record(
    cx: &Context,
    connection: &Connection,
    record: &mut Record,
    received: Option<&Received<'_>>,
) {
    let now = cx.clock.now();
    record.finish(now.mono_ns, now.unix_ms);
    if received.is_none_or(|received| access::counts(cx, received, record)) {
        cx.count(record); // stats_collection
    }
    if let Some(visit) = &connection.visit {
        visit.count(record, record.started_ns);
    }
    let watched = cx.lookout.is_watched();
    if !watched && !cx.log.has_any() {
        return;
    }
    if let Some(user) = received.and_then(|received| received.learnt.user()) {
        record.set_user(user.as_bytes());
    }
    if watched {
        cx.lookout
            .note(record, received, cx.plan.config.strip_query_terms);
    }
    let Some(received) = received else {
        let url = match (record.error, record.status) {
            (Some(FailureKind::TooBig), _) => REQUEST_TOO_LARGE,
            (_, 405) => METHOD_NOT_ALLOWED,
            _ => INVALID_REQUEST,
        };
        cx.log.write(&LogFacts::unreadable(record, url));
        return;
    };
    annotate(cx, received, record);
    let fields = &received.head.fields;
    let shown = |id| {
        let shows = cx.log.shows_fields();
        shows.then(|| fields.get(id)).flatten().unwrap_or_default()
    };
    let facts = LogFacts {
        record,
        client: record.client,
        method: received.head.method.as_str().as_bytes(),
        url: received.target.url(),
        version: match received.head.version {
            Version::H10 => "1.0",
            Version::H11 => "1.1",
        },
        referer: shown(FieldId::Referer),
        user_agent: shown(FieldId::UserAgent),
        request: Some(received),
    };
    cx.log
        .write_where(&facts, |log| access::logs(cx, log, received, record));
}
