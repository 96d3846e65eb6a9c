//! From a failure to a reply: the error page with its fields, made in one go.

use net::clock::Now;
use wire::Fields;
use wire::field::FieldId;
use wire::http1::{Version, reason_phrase};

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Side};
use crate::flow::{Connection, Content, Head, Received, Response};
use crate::plan::Lines;
use crate::record::{HopName, Record, ResultTag};
use crate::reply::errors::{ErrorPages, PageFacts};

/// The reply to a request that can't go on.
pub(crate) fn failure_response<'c>(
    cx: &Context,
    received: &Received<'_>,
    failure: &Failure,
    record: &mut Record,
) -> Response<'c> {
    let target = received.target;
    let now = received.now;
    let date = cx.date(now);
    let mut facts = PageFacts::new(
        failure,
        received.connection.client.ip(),
        received.connection.local,
    );
    facts.method = received.head.method.as_str().as_bytes();
    facts.url = target.url();
    facts.host = target.host().as_bytes();
    facts.port = target.port();
    facts.path = target.path();
    facts.scheme = target.scheme().name();
    facts.date = &date;
    let mut response = page(cx, now, facts, failure, record);
    // Who has to log in does so over the same connection, if not for another reason.
    response.close = match &failure.challenge {
        Some(challenge) => challenge.close,
        None => {
            !cx.plan.config.persistent_connection_after_error
                && failure.kind != FailureKind::AccessDenied
        }
    };
    response
}

/// The reply to a request that could not be read. The connection ends with it.
pub(crate) fn refusal<'c>(
    cx: &Context,
    connection: &Connection,
    failure: &Failure,
    record: &mut Record,
) -> Response<'c> {
    let now = cx.clock.now();
    let date = cx.date(now);
    let mut facts = PageFacts::new(failure, connection.client.ip(), connection.local);
    facts.date = &date;
    let mut response = page(cx, now, facts, failure, record);
    response.close = true;
    response
}

/// The fields that go with each kind of page, in the order of the kinds: all but Date, and but for
/// an error number.
pub(crate) fn ready_fields(pages: &ErrorPages, lines: &Lines) -> Vec<Fields> {
    let ready = FailureKind::all().map(|kind| {
        let mut fields = Fields::new();
        write_fields(pages, lines, kind, 0, &mut fields);
        fields
    });
    ready.collect()
}

fn write_fields(
    pages: &ErrorPages,
    lines: &Lines,
    kind: FailureKind,
    errno: i32,
    fields: &mut Fields,
) {
    fields.push_id(FieldId::Server, lines.software.as_bytes());
    pages.fields(kind, errno, |name, value| {
        fields.push(name.as_bytes(), value)
    });
    let via = lines.via(Version::H11);
    if !via.is_empty() {
        fields.push_id(FieldId::Via, via);
    }
}

fn page<'c, 'f>(
    cx: &Context,
    now: Now,
    mut facts: PageFacts<'f>,
    failure: &'f Failure,
    record: &mut Record,
) -> Response<'c> {
    // A reply that was refused keeps its own word.
    if let Some(tag) = failure.kind.row().tag
        && record.outcome.tag != ResultTag::DeniedReply
    {
        record.tag(tag);
    }
    record.error = Some(failure.kind);
    if cx.log.has_any() && !failure.detail.is_empty() {
        record.error_detail = failure.detail.as_ref().into();
    }
    let status = failure.status();
    if let Some(challenge) = &failure.challenge {
        let user = challenge.user.as_deref().unwrap_or_default();
        record.set_user(user.as_bytes());
    }
    facts.unix_ms = now.unix_ms;
    facts.server = match &record.hop {
        HopName::Ip(ip) => Some(*ip),
        HopName::None | HopName::Host(_) => None,
    };
    if failure.side != Side::Us {
        facts.message = &failure.detail;
    }
    let mut head = cx.heads.take();
    head.clear();
    head.status = status;
    head.set_reason(reason_phrase(status).as_bytes());
    let plan = &cx.plan;
    match plan.page_fields.get(failure.kind as usize) {
        Some(ready) if facts.errno == 0 => head.fields.clone_from(ready),
        _ => write_fields(
            &plan.errors,
            &plan.lines,
            failure.kind,
            facts.errno,
            &mut head.fields,
        ),
    }
    head.fields.push_id(FieldId::Date, facts.date);
    if let Some(challenge) = &failure.challenge {
        challenge.write(status, &mut head.fields);
    }
    let mut body = cx.buffers.take();
    plan.errors.render(&facts, &mut body);
    record.set_content_type(b"text/html");
    Response {
        head: Head::Built(head),
        length: Some(body.len() as u64),
        content: Content::Page(body),
        close: false,
    }
}
