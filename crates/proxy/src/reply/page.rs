//! From a failure to a reply: the error page with its fields, made in one go; or what `deny_info` says in its place.

use net::clock::Now;
use wire::Fields;
use wire::field::FieldId;
use wire::http1::{ResponseHead, Version, reason_phrase};

use crate::context::Context;
use crate::failure::{Failure, FailureKind, Side};
use crate::flow::{Connection, Content, Head, Received, Response};
use crate::plan::Lines;
use crate::record::{HopName, Record, ResultTag};
use crate::reply::errors::{Answer, ErrorPages, Form, PageFacts, Redirect};

/// The reply to a request that can't go on; `None` when there is none to be, and the connection is to be reset
/// (`deny_info TCP_RESET`).
pub(crate) fn failure_response<'c>(
    cx: &'c Context,
    received: &Received<'_>,
    failure: &Failure,
    record: &mut Record,
) -> Option<Response<'c>> {
    let target = received.target;
    let learnt = received.learnt;
    let now = received.now;
    let date = cx.date(now);
    let said = learnt.notes(|notes| notes.last("message").map(Box::<str>::from));
    let said = said.flatten();
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
    facts.scheme = target.scheme_name();
    facts.user = learnt.user().map_or(b"", |user| user.as_bytes());
    facts.helper_message = said.as_deref().unwrap_or_default();
    facts.date = &date;
    complete(&mut facts, now, record);
    note(cx, failure, record);
    let mut response = match cx.plan.errors.answer(failure) {
        Answer::Page(number) => {
            let form = cx.plan.errors.form(Some(&received.head.fields));
            page(cx, &facts, (number, form), now, record)
        }
        Answer::Redirect(redirect) => elsewhere(cx, &facts, redirect, record),
        Answer::Reset => return None,
    };
    // Who has to log in does so over the same connection, if not for another reason.
    response.close = match &failure.challenge {
        Some(challenge) => challenge.close,
        None => {
            !cx.plan.config.persistent_connection_after_error
                && failure.kind != FailureKind::AccessDenied
        }
    };
    Some(response)
}

/// The reply to a request that could not be read. The connection ends with it.
pub(crate) fn refusal<'c>(
    cx: &'c Context,
    connection: &Connection,
    failure: &Failure,
    record: &mut Record,
) -> Response<'c> {
    let now = cx.clock.now();
    let date = cx.date(now);
    let mut facts = PageFacts::new(failure, connection.client.ip(), connection.local);
    facts.date = &date;
    complete(&mut facts, now, record);
    note(cx, failure, record);
    let page_and_form = (failure.kind as usize, cx.plan.errors.form(None));
    let mut response = page(cx, &facts, page_and_form, now, record);
    response.close = true;
    response
}

/// Adds what is known of every failure.
fn complete(facts: &mut PageFacts<'_>, now: Now, record: &Record) {
    facts.unix_ms = now.unix_ms;
    facts.server = match &record.hop {
        HopName::Ip(ip) => Some(*ip),
        HopName::None | HopName::Host(_) => None,
    };
    if facts.failure.side != Side::Us {
        facts.message = &facts.failure.detail;
    }
}

/// Tells the log.
fn note(cx: &Context, failure: &Failure, record: &mut Record) {
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
    if let Some(challenge) = &failure.challenge {
        let user = challenge.user.as_deref().unwrap_or_default();
        record.set_user(user.as_bytes());
    }
}

/// Fields that are the same for many replies.
#[derive(Debug)]
pub(crate) struct ReadyFields {
    pub(crate) fields: Fields,
    /// As they are sent.
    pub(crate) text: Box<[u8]>,
}

/// The fields that go with each page in its plain form for its usual failure, by its number: all but Date.
pub(crate) fn ready_fields(pages: &ErrorPages, lines: &Lines) -> Vec<ReadyFields> {
    let ready = pages.usual().enumerate().map(|(page, failure)| {
        let mut fields = Fields::new();
        write_fields(pages, lines, (page, Form::Plain), &failure, &mut fields);
        let mut text = Vec::new();
        fields.write_to(&mut text);
        let text = text.into();
        ReadyFields { fields, text }
    });
    ready.collect()
}

fn write_fields(
    pages: &ErrorPages,
    lines: &Lines,
    (page, form): (usize, Form),
    failure: &Failure,
    fields: &mut Fields,
) {
    fields.push_id(FieldId::Server, lines.software.as_bytes());
    pages.fields(page, form, failure, |name, value| {
        fields.push(name.as_bytes(), value)
    });
    let via = lines.via(Version::H11);
    if !via.is_empty() {
        fields.push_id(FieldId::Via, via);
    }
    lines.cache_status.add_to_page(fields);
}

/// A head with that status, and no fields yet.
fn blank(cx: &Context, status: u16) -> Box<ResponseHead> {
    let mut head = cx.heads.take();
    head.clear();
    head.status = status;
    head.set_reason(reason_phrase(status).as_bytes());
    head
}

fn page<'c>(
    cx: &'c Context,
    facts: &PageFacts<'_>,
    (number, form): (usize, Form),
    now: Now,
    record: &mut Record,
) -> Response<'c> {
    let plan = &cx.plan;
    let failure = facts.failure;
    let status = plan.errors.status(number, failure);
    let usual = form == Form::Plain
        && plan.errors.is_usual(failure)
        && failure.challenge.is_none()
        && !cx.log.shows_reply();
    let head = match plan.page_fields.get(number).filter(|_| usual) {
        Some(fields) => {
            set_media_type(cx, &fields.fields, record);
            Head::Page {
                status,
                fields,
                date: cx.date(now),
            }
        }
        None => {
            let mut head = blank(cx, status);
            let which = (number, form);
            write_fields(&plan.errors, &plan.lines, which, failure, &mut head.fields);
            head.fields.push_id(FieldId::Date, facts.date);
            if let Some(challenge) = &failure.challenge {
                challenge.write(head.status, &mut head.fields);
            }
            set_media_type(cx, &head.fields, record);
            Head::Built(head)
        }
    };
    let mut body = cx.buffers.take();
    plan.errors.render(number, form, facts, &mut body);
    Response {
        head,
        length: Some(body.len() as u64),
        content: Content::Page(body),
        content_max: None,
        close: false,
    }
}

fn set_media_type(cx: &Context, fields: &Fields, record: &mut Record) {
    if cx.log.has_any() {
        let content_type = fields.get(FieldId::ContentType).unwrap_or_default();
        let media_type = content_type.split(|&byte| byte == b';').next();
        record.set_content_type(media_type.unwrap_or_default());
    }
}

/// Sends the client elsewhere (`deny_info` with a URL).
fn elsewhere<'c>(
    cx: &Context,
    facts: &PageFacts<'_>,
    redirect: &Redirect,
    record: &mut Record,
) -> Response<'c> {
    let mut head = blank(cx, redirect.status(facts.method));
    let fields = &mut head.fields;
    fields.push_id(FieldId::Server, cx.plan.lines.software.as_bytes());
    fields.push_id(FieldId::ContentType, b"text/html;charset=utf-8");
    let mut location = cx.buffers.take();
    cx.plan.errors.location(redirect, facts, &mut location);
    fields.push_id(FieldId::Location, &location);
    cx.buffers.give(location);
    fields.push(b"X-Squid-Error", redirect.squid_error().as_bytes());
    let via = cx.plan.lines.via(Version::H11);
    if !via.is_empty() {
        fields.push_id(FieldId::Via, via);
    }
    let status = cx.plan.errors.proxy_status(facts.failure);
    head.fields.push(b"Proxy-Status", status);
    head.fields.push_id(FieldId::Date, facts.date);
    record.set_content_type(b"text/html");
    Response {
        head: Head::Built(head),
        length: Some(0),
        content: Content::Empty,
        content_max: None,
        close: false,
    }
}
