//! Answers from a stored response: whole, a part of it (RFC 9110 §14), or only that the client's
//! copy still holds (§13).

use std::sync::Arc;

use http::Method;
use rules::caching::precondition::{self, By, Precondition, belongs_in_304, has_conditions};
use rules::caching::range::{self, RangeAnswer, Span, Spans};
use wire::field::{FieldId, Fields};
use wire::http1::{ResponseHead, reason_phrase};
use wire::value::content_range::{self, ContentRange};

use crate::cache::assemble::{Assembling, in_sending_order};
use crate::cache::stored;
use crate::context::Context;
use crate::flow::{Content, Head, Object, Received, Response};
use crate::record::{Record, ResultTag};
use crate::reply::{sign, stored_head};

/// Answers with a response that the cache holds.
pub(crate) fn answer<'c>(
    cx: &Context,
    received: &Received<'_>,
    object: Arc<Object>,
    record: &mut Record,
) -> Response<'c> {
    if asks_conditions(received) {
        return conditional(cx, received, object, record, true);
    }
    if record.cache.is_plain_hit() {
        return whole(object);
    }
    Response {
        head: Head::Built(stored_head(cx, &object, record)),
        ..whole(object)
    }
}

/// Answers with what came of another's question whether `stale` still holds.
pub(crate) fn validated<'c>(
    cx: &Context,
    received: &Received<'_>,
    stale: &Arc<Object>,
    object: Arc<Object>,
    record: &mut Record,
) -> Response<'c> {
    if !record.cache.is_hit() {
        record.tag(if Arc::ptr_eq(stale, &object) {
            ResultTag::RefreshFailOld
        } else if stale.meta.is_like(&object.meta) {
            ResultTag::RefreshUnmodified
        } else {
            ResultTag::RefreshModified
        });
    }
    answer(cx, received, object, record)
}

/// Answers with a response that has just been stored: as [`answer`], but it is as old as it came.
pub(crate) fn fresh<'c>(
    cx: &Context,
    received: &Received<'_>,
    object: Arc<Object>,
    record: &mut Record,
) -> Response<'c> {
    if asks_conditions(received) {
        return conditional(cx, received, object, record, false);
    }
    let mut head = stored::build(cx, &object, false);
    sign(cx, &mut head, object.meta.version, record, Some(&object));
    Response {
        head: Head::Built(head),
        ..whole(object)
    }
}

fn whole<'c>(object: Arc<Object>) -> Response<'c> {
    let length = object.length();
    Response {
        content: Content::Stored {
            reader: object.reader(),
            left: length,
        },
        length,
        head: Head::Stored(object),
        content_max: None,
        close: false,
    }
}

fn asks_conditions(received: &Received<'_>) -> bool {
    let fields = &received.head.fields;
    has_conditions(fields) || fields.has(FieldId::Range) && received.head.method == Method::GET
}

fn conditional<'c>(
    cx: &Context,
    received: &Received<'_>,
    object: Arc<Object>,
    record: &mut Record,
    aged: bool,
) -> Response<'c> {
    let (method, request) = (&received.head.method, &received.head.fields);
    let mut head = stored::build(cx, &object, aged);
    let precondition = precondition::evaluate(method, request, head.status, &head.fields);
    match precondition {
        Precondition::Holds => return ranged(cx, received, head, object, record),
        Precondition::Failed => restate(&mut head, 412),
        Precondition::NotModified(by) => {
            if matches!(record.outcome.tag, ResultTag::Hit | ResultTag::MemHit) {
                record.tag(match by {
                    By::Tag => ResultTag::InmHit,
                    By::Date => ResultTag::ImsHit,
                });
            }
            not_modified(&mut head);
        }
    }
    sign(cx, &mut head, object.meta.version, record, Some(&object));
    bodyless(head)
}

/// What Range asks for, if it does (RFC 9110 §14.2).
fn ranged<'c>(
    cx: &Context,
    received: &Received<'_>,
    mut head: Box<ResponseHead>,
    object: Arc<Object>,
    record: &Record,
) -> Response<'c> {
    let (method, request) = (&received.head.method, &received.head.fields);
    let wanted = object.length().map_or(RangeAnswer::Whole, |length| {
        range::evaluate(method, request, head.status, &head.fields, length)
    });
    match &wanted {
        RangeAnswer::Whole => {}
        RangeAnswer::Part(span) => {
            restate(&mut head, 206);
            push_content_range(&mut head, span.content_range(object.length()));
        }
        RangeAnswer::Parts(_) => restate(&mut head, 206),
        RangeAnswer::Unsatisfiable => {
            restate(&mut head, 416);
            let complete = object.length().unwrap_or(0);
            push_content_range(&mut head, ContentRange::Unsatisfied { complete });
        }
    }
    sign(cx, &mut head, object.meta.version, record, Some(&object));
    match wanted {
        RangeAnswer::Whole => Response {
            head: Head::Built(head),
            ..whole(object)
        },
        RangeAnswer::Part(span) => partial(head, &object, span),
        RangeAnswer::Parts(spans) => several(head, &object, spans),
        RangeAnswer::Unsatisfiable => bodyless(head),
    }
}

/// The first byte of a stored response that the answer will have, if it is sure to have any.
pub(super) fn first_byte(received: &Received<'_>, object: &Object) -> Option<u64> {
    let (method, request) = (&received.head.method, &received.head.fields);
    if method != Method::GET || has_conditions(request) {
        return None;
    }
    if !request.has(FieldId::Range) {
        return Some(0);
    }
    // All that If-Range compares with: the head is built once, when it is sent.
    let mut fields = Fields::new();
    for name in [&b"etag"[..], b"last-modified", b"date"] {
        if let Some(value) = object.meta.field(name) {
            fields.push(name, value);
        }
    }
    let length = object.length()?;
    match range::evaluate(method, request, object.meta.status, &fields, length) {
        RangeAnswer::Whole => Some(0),
        RangeAnswer::Part(span) => Some(span.first),
        RangeAnswer::Parts(spans) => spans.first().map(|span| span.first),
        RangeAnswer::Unsatisfiable => None,
    }
}

/// One range (RFC 9110 §15.3.7.1).
fn partial<'c>(head: Box<ResponseHead>, object: &Arc<Object>, span: Span) -> Response<'c> {
    let mut reader = object.reader();
    reader.seek(span.first);
    reader.stop_at(span.last.saturating_add(1));
    let left = span.length();
    Response {
        head: Head::Built(head),
        content: Content::Stored {
            reader,
            left: Some(left),
        },
        length: Some(left),
        content_max: None,
        close: false,
    }
}

/// Several ranges (RFC 9110 §15.3.7.2).
fn several<'c>(head: Box<ResponseHead>, object: &Arc<Object>, spans: Spans) -> Response<'c> {
    let mut content = Assembling::several(&head, object.length());
    let spans = in_sending_order(spans, object.is_complete());
    let mut reader = object.reader();
    reader.seek(spans.first().map_or(0, |span| span.first));
    for span in &spans {
        content.begin_part(*span);
        content.push(0, span.first, span.length());
    }
    content.into_response(head, vec![reader])
}

pub(super) fn push_content_range(head: &mut ResponseHead, range: ContentRange) {
    let mut value = Vec::new();
    content_range::write(range, &mut value);
    head.fields.push_id(FieldId::ContentRange, &value);
}

pub(super) fn restate(head: &mut ResponseHead, status: u16) {
    head.status = status;
    head.set_reason(reason_phrase(status).as_bytes());
}

/// RFC 9110 §15.4.5: what the client's copy needs to know, and no more.
fn not_modified(head: &mut ResponseHead) {
    restate(head, 304);
    head.fields.retain(|line| belongs_in_304(line.id));
}

fn bodyless<'c>(head: Box<ResponseHead>) -> Response<'c> {
    let empty = matches!(head.status, 204 | 304);
    Response {
        head: Head::Built(head),
        content: Content::Empty,
        length: (!empty).then_some(0),
        content_max: None,
        close: false,
    }
}
