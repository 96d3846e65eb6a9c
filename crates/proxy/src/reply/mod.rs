//! What goes out to the client: fields of ours, header rules, error pages, and the few replies that
//! we make ourselves.

mod cache_status;
pub mod errors;
mod page;

use http::Method;
use rules::ReplyFacts;
use stats::Counter;
use wire::field::FieldId;
use wire::http1::{ProxyAuth, ResponseHead, Version, remove_hop_by_hop, write_request_head};

use crate::access;
use crate::cache::stored;
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Side};
use crate::fetch;
use crate::flow::{Content, Head, Object, Received, Response};
use crate::format::Scene;
use crate::record::{Record, ResultTag};

pub use cache_status::CacheStatus;
pub(crate) use cache_status::{Detail, Forward, StatusLines};
pub(crate) use page::{ReadyFields, failure_response, ready_fields, refusal};

/// Makes a hop's head fit to be passed on or stored: hop-by-hop fields go (RFC 9110 §7.6.1), Date
/// comes if the hop has none (§6.6.1).
pub(crate) fn clean(cx: &Context, head: &mut ResponseHead, proxy_auth: ProxyAuth) {
    remove_hop_by_hop(&mut head.fields, proxy_auth);
    if !head.fields.has(FieldId::Date) {
        head.fields.push_id(FieldId::Date, &cx.date(cx.clock.now()));
    }
}

/// The last station before the client: `http_reply_access`, `reply_header_access` and the like.
///
/// # Errors
///
/// The reply may not be sent.
pub(crate) async fn prepare(
    cx: &Context,
    received: &Received<'_>,
    response: &mut Response<'_>,
    record: &mut Record,
) -> Result<(), Failure> {
    let rules = &cx.plan.rules;
    let checks = rules.list(rules::List::HttpReplyAccess).always() != Some(true);
    let limits = rules.limits_replies();
    let tells = received.connection.login.has_info();
    if let Head::Stored(object) = &response.head {
        if !checks && !limits && !tells && rules.reply_fields.is_noop() && !cx.log.shows_reply() {
            if cx.log.has_any() {
                record.set_content_type(object.meta.content_type());
            }
            return Ok(());
        }
        response.head = Head::Built(stored_head(cx, object, record));
    }
    if limits {
        limit(cx, received, response, record)?;
    }
    let Head::Built(head) = &mut response.head else {
        return Ok(());
    };
    if let Some(content_type) = head.fields.get(FieldId::ContentType) {
        record.set_content_type(content_type);
    }
    if checks {
        Box::pin(admit(cx, received, head, response.length, record)).await?;
    }
    rewrite(cx, received, head);
    // Not before: rules are about what the parts are.
    if let Content::Parts(assembly) = &response.content
        && let Some(boundary) = &assembly.boundary
    {
        head.fields
            .set(FieldId::ContentType, &boundary.content_type());
    }
    fetch::announce(received, &mut head.fields);
    access::add_login_fields(received, &mut head.fields);
    Ok(())
}

/// `http_reply_access`. Its rules see the length, which is otherwise for `listen` to say.
///
/// # Errors
///
/// The reply may not be sent.
async fn admit(
    cx: &Context,
    received: &Received<'_>,
    head: &mut ResponseHead,
    length: Option<u64>,
    record: &mut Record,
) -> Result<(), Failure> {
    if let Some(length) = length {
        let fields = &mut head.fields;
        fields.set(FieldId::ContentLength, length.to_string().as_bytes());
    }
    access::admit_reply(cx, received, head, record).await?;
    if length.is_some() {
        head.fields.remove(FieldId::ContentLength);
    }
    Ok(())
}

/// `reply_body_max_size`: content that is said to be longer is refused; of unknown length it is cut when it gets there.
///
/// # Errors
///
/// It is longer.
fn limit(
    cx: &Context,
    received: &Received<'_>,
    response: &mut Response<'_>,
    record: &mut Record,
) -> Result<(), Failure> {
    let Head::Built(head) = &response.head else {
        return Ok(());
    };
    let Some(most) = access::reply_content_max(cx, received, head, record) else {
        return Ok(());
    };
    let bodyless = received.head.method == Method::HEAD || matches!(head.status, 204 | 304);
    match response.length {
        _ if bodyless => {}
        Some(length) if length > most => {
            cx.cells.count(Counter::LimitReplyBody);
            record.tag(ResultTag::DeniedReply);
            let failure = Failure::new(FailureKind::TooBig, Side::Hop).with_status(403);
            return Err(failure.with_detail("reply_body_max_size"));
        }
        Some(_) => {}
        None => response.content_max = Some(most),
    }
    Ok(())
}

/// The head of a hit as fields, signed.
pub(crate) fn stored_head(cx: &Context, object: &Object, record: &Record) -> Box<ResponseHead> {
    let mut head = stored::build(cx, object, true);
    sign(cx, &mut head, object.meta.version, record, Some(object));
    head
}

/// Applies `reply_header_access`, `_replace` and `_add`.
fn rewrite(cx: &Context, received: &Received<'_>, head: &mut ResponseHead) {
    let rules = &cx.plan.rules;
    if rules.reply_fields.is_noop() {
        return;
    }
    let mut facts = access::facts(received);
    let status = head.status;
    let before = head.clone();
    facts.reply = Some(ReplyFacts {
        status,
        fields: &before.fields,
    });
    let scene = Scene::of_request(received).with_reply(&before);
    let formats = &cx.plan.formats;
    let expand = |line, out: &mut Vec<u8>| formats.reply_add(line, &scene, out);
    rules
        .reply_fields
        .apply(rules, &facts, &mut head.fields, expand);
}

/// Adds what tells of us and of the cache's part: Via (RFC 9110 §7.6.3), Cache-Status (RFC 9211). `object` is what is
/// stored of the response.
pub(crate) fn sign(
    cx: &Context,
    head: &mut ResponseHead,
    version: Version,
    record: &Record,
    object: Option<&Object>,
) {
    let lines = &cx.plan.lines;
    let via = lines.via(version);
    if !via.is_empty() {
        head.fields.push_id(FieldId::Via, via);
    }
    let statuses = (head.status, record.talk.status);
    let is_hit = record.outcome.tag.is_hit();
    let object = (object, cx.unix_secs());
    let fields = &mut head.fields;
    lines
        .cache_status
        .add(&record.cache, statuses, object, is_hit, fields);
}

/// Replies that we make ourselves: TRACE and OPTIONS that end here (RFC 9110 §7.6.2).
pub(crate) fn own<'c>(
    cx: &Context,
    received: &Received<'_>,
    record: &mut Record,
) -> Option<Response<'c>> {
    let head = received.head;
    let ends_here = (head.method == Method::TRACE || head.method == Method::OPTIONS)
        && head.fields.get(FieldId::MaxForwards) == Some(b"0");
    if !ends_here {
        return None;
    }
    record.tag(ResultTag::None);
    let mut reply = Box::new(ResponseHead::with_status(200));
    let mut body = cx.buffers.take();
    if head.method == Method::TRACE {
        let mut fields = head.fields.clone();
        for secret in [
            FieldId::Authorization,
            FieldId::ProxyAuthorization,
            FieldId::Cookie,
        ] {
            fields.remove(secret);
        }
        write_request_head(&head.method, head.target(), &fields, &mut body);
        reply.fields.push_id(FieldId::ContentType, b"message/http");
    }
    clean(cx, &mut reply, ProxyAuth::Drop);
    Some(Response {
        head: Head::Built(reply),
        length: Some(body.len() as u64),
        content: Content::Page(body),
        content_max: None,
        close: false,
    })
}
