//! Answers put together from the parts of a response that are stored (RFC 9111 §3.3, §3.4). What is
//! missing is fetched first, under the condition that it belongs to the same whole, and is stored.

use std::rc::Rc;
use std::sync::Arc;

use http::Method;
use rules::caching::part::{Part, Step, asked, steps};
use rules::caching::precondition::has_conditions;
use rules::caching::range::{RangeAnswer, evaluate};
use rules::caching::reuse::Reuse;
use rules::caching::storable::Storable;
use smallvec::{SmallVec, smallvec};
use stats::Counter;
use store::{Keep, KeyRef, Reader};
use wire::field::{FieldId, Fields};
use wire::http1::{Framing, ProxyAuth, ResponseHead, reason_phrase};
use wire::value::content_range::{self, ContentRange};
use wire::value::range::ByteRange;

use crate::cache::fill::{fill, release, storable};
use crate::cache::stored::{self, StoredResponse};
use crate::cache::{self, tags};
use crate::context::Context;
use crate::fetch::OriginBody;
use crate::flow::{Content, Head, Object, Received, Response, Slot};
use crate::record::{Record, ResultTag};
use crate::reply::{clean, sign};

/// A request that parts can answer, with what is missing yet.
#[derive(Debug)]
pub(crate) struct Parts {
    objects: Vec<Arc<Object>>,
    steps: SmallVec<[Step; 4]>,
    /// At the bytes of each step. Here from the beginning, so that no fill ends for want of readers meanwhile.
    readers: SmallVec<[Option<Reader>; 4]>,
    /// Of the bytes that were asked for; `None`: all.
    content_range: Option<ContentRange>,
    /// Number of those bytes.
    length: u64,
    /// Number of all bytes.
    complete: u64,
    validator: Option<Box<[u8]>>,
    /// Nothing was fetched.
    hit: bool,
}

/// A hole: first and last byte, both included, and whether the whole ends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) to_end: bool,
}

impl Hole {
    /// As it is asked for.
    pub(crate) fn asked(self) -> ByteRange {
        if self.to_end {
            ByteRange::From(self.first)
        } else {
            ByteRange::FromTo(self.first, self.last)
        }
    }
}

/// The parts for a request, if its response is stored in parts that are of use.
pub(crate) fn gather(cx: &Context, received: &Received<'_>) -> Option<Parts> {
    let (method, fields) = (&received.head.method, &received.head.fields);
    if *method != Method::GET || received.framing != Framing::None || has_conditions(fields) {
        return None;
    }
    let now = received.now.unix_secs();
    let caching = &cx.plan.rules.caching;
    let mut objects = cx.store.find_all(KeyRef::new(received.key()), |meta| {
        meta.part.is_some()
            && meta.vary.matches(fields)
            && caching.reuse(&meta.freshness, fields, now) == Reuse::Fresh
    });
    let newest = Arc::clone(objects.first()?);
    let newest_part = newest.meta.part.as_deref()?;
    objects.retain(|object| {
        let part = object.meta.part.as_deref();
        Arc::ptr_eq(object, &newest) || part.is_some_and(|part| part.joins(newest_part))
    });
    if let Some(same) = same_question(&objects, fields) {
        return Some(same);
    }
    let complete = newest_part.complete.filter(|complete| *complete > 0)?;
    let head = stored::build(cx, &newest, false);
    let answer = evaluate(method, fields, 200, &head.fields, complete);
    cx.heads.give(head);
    let range = match answer {
        RangeAnswer::Part { first, last } => Some((first, last)),
        RangeAnswer::Whole if !fields.has(FieldId::Range) => None,
        RangeAnswer::Whole | RangeAnswer::Unsatisfiable => return None,
    };
    let (first, last) = range.unwrap_or((0, complete - 1));
    let held = objects
        .iter()
        .filter_map(|object| object.meta.part.as_deref());
    let steps = steps(&held.collect::<Vec<_>>(), first, last)?;
    let content_range = range.map(|(first, last)| ContentRange::Part {
        first,
        last,
        complete: Some(complete),
    });
    let parts = Parts {
        validator: newest_part.validator.clone(),
        readers: steps.iter().map(|step| reader(&objects, *step)).collect(),
        objects,
        steps,
        content_range,
        length: last - first + 1,
        complete,
        hit: true,
    };
    let helps = parts.steps.len() > 1 || parts.hole().is_none();
    let fillable = parts.validator.is_some() || parts.hole().is_none();
    (helps && fillable).then_some(parts)
}

/// The newest part, if it is the answer to this very question.
fn same_question(objects: &[Arc<Object>], request: &Fields) -> Option<Parts> {
    let newest = objects.first()?;
    let part = newest.meta.part.as_deref()?;
    let again = asked(request) == Some(part.asked);
    if !again || request.has(FieldId::IfRange) {
        return None;
    }
    let objects = vec![Arc::clone(newest)];
    let step = Step::Held {
        part: 0,
        first: part.first,
        last: part.last,
    };
    Some(Parts {
        readers: smallvec![reader(&objects, step)],
        objects,
        steps: smallvec![step],
        content_range: Some(part.content_range()),
        length: part.length(),
        complete: part.complete.unwrap_or(u64::MAX),
        validator: None,
        hit: true,
    })
}

impl Parts {
    /// The first hole that is left.
    pub(crate) fn hole(&self) -> Option<Hole> {
        self.steps.iter().find_map(|step| match *step {
            Step::Missing { first, last } => Some(Hole {
                first,
                last,
                to_end: last + 1 == self.complete,
            }),
            Step::Held { .. } => None,
        })
    }

    /// What the missing parts must share.
    pub(crate) fn validator(&self) -> &[u8] {
        self.validator.as_deref().unwrap_or_default()
    }

    /// Puts a part into its hole.
    fn fill(&mut self, hole: Hole, object: Arc<Object>) {
        let filled = Step::Held {
            part: self.objects.len(),
            first: hole.first,
            last: hole.last,
        };
        let missing = Step::Missing {
            first: hole.first,
            last: hole.last,
        };
        self.objects.push(object);
        self.hit = false;
        let steps = self.steps.iter_mut().zip(&mut self.readers);
        for (step, place) in steps.filter(|(step, _)| **step == missing) {
            *step = filled;
            *place = reader(&self.objects, filled);
        }
    }

    /// They turned out to be of another time: they go.
    pub(crate) fn forget(self, cx: &Context) {
        for object in &self.objects {
            cx.store.remove_object(object);
        }
    }
}

/// Takes a hop's response for what is missing. False: it is not the missing part.
pub(crate) fn fill_hole(
    cx: &Rc<Context>,
    received: &Received<'_>,
    parts: &mut Parts,
    hole: Hole,
    head: &mut ResponseHead,
    body: Box<OriginBody<'_>>,
    record: &mut Record,
) -> bool {
    if head.status != 206 || body.proxy_only {
        return false;
    }
    let Some(part) = Part::of(hole.asked(), &head.fields) else {
        return false;
    };
    let same = part.validator == parts.validator && part.complete == Some(parts.complete);
    if !same || part.first != hole.first || part.last < hole.last {
        return false;
    }
    let version = head.version;
    let Some(storable) = judge(cx, received, head, record) else {
        return false;
    };
    let Ok(body) = body.into_owned() else {
        return false;
    };
    let Some(tags) = tags::of(cx, received, head) else {
        return false;
    };
    let meta = StoredResponse::of_part(cx, head, version, storable, tags, part);
    let slot = parts.objects.first();
    let slot = slot.map(|held| cache::may_fill(cx, received).since(held));
    let object = publish(cx, received, slot, meta, body);
    parts.fill(hole, object);
    true
}

/// Stores a 206 that a client has asked for as the part that it is, if it says of what.
pub(crate) fn store<'c>(
    cx: &Rc<Context>,
    received: &Received<'_>,
    slot: Option<Slot>,
    mut head: Box<ResponseHead>,
    body: Box<OriginBody<'c>>,
    record: &mut Record,
) -> Response<'c> {
    let version = head.version;
    let asked = asked(&received.head.fields);
    let part = asked.and_then(|asked| Part::of(asked, &head.fields));
    let storable = judge(cx, received, &mut head, record);
    let tags = tags::of(cx, received, &head);
    let (Some(part), Some(storable), Some(tags)) = (part, storable, tags) else {
        return release(cx, received, slot, head, body, record);
    };
    let body = match body.into_owned() {
        Ok(body) => body,
        Err(body) => return release(cx, received, slot, head, body, record),
    };
    let length = part.length();
    let meta = StoredResponse::of_part(cx, &head, version, storable, tags, part);
    let object = publish(cx, received, slot, meta, body);
    head.fields.remove(FieldId::ContentLength);
    record.cache.stored();
    sign(cx, &mut head, version, record, Some(&object));
    Response {
        head: Head::Built(head),
        content: Content::Stored {
            reader: object.reader(),
            left: Some(length),
        },
        length: Some(length),
        content_max: None,
        close: false,
    }
}

/// Cleans the head of a 206, and says when it may be used.
fn judge(
    cx: &Context,
    received: &Received<'_>,
    head: &mut ResponseHead,
    record: &mut Record,
) -> Option<Storable> {
    clean(cx, head, ProxyAuth::Drop);
    storable(cx, received, head, record)
}

/// Lets a part arrive in the background.
fn publish(
    cx: &Rc<Context>,
    received: &Received<'_>,
    slot: Option<Slot>,
    meta: StoredResponse,
    body: Box<OriginBody<'static>>,
) -> Arc<Object> {
    let slot = slot.unwrap_or_else(|| cache::may_fill(cx, received));
    let length = meta.part.as_deref().map(Part::length);
    cx.cells.count(Counter::Fills);
    let (object, filler) = slot.publish(meta, length, Keep::Store);
    tokio::task::spawn_local(fill(Rc::clone(cx), body, filler));
    object
}

/// Answers from parts without holes.
pub(crate) fn answer_from_parts<'c>(
    cx: &Context,
    parts: Parts,
    record: &mut Record,
) -> Option<Response<'c>> {
    let newest = parts.objects.last().filter(|_| !parts.hit);
    let newest = newest.or(parts.objects.first())?;
    let mut head = stored::build(cx, newest, parts.hit);
    head.status = if parts.content_range.is_some() {
        206
    } else {
        200
    };
    head.set_reason(reason_phrase(head.status).as_bytes());
    if let Some(range) = parts.content_range {
        let mut value = Vec::new();
        content_range::write(range, &mut value);
        head.fields.push_id(FieldId::ContentRange, &value);
    }
    if parts.hit {
        record.tag(ResultTag::MemHit);
        record.cache.hit();
    } else {
        record.cache.stored();
    }
    sign(cx, &mut head, newest.meta.version, record, Some(newest));
    let lengths = parts.steps.iter().map(|step| step.length());
    let readers = parts.readers.into_iter().zip(lengths);
    let readers: Option<Vec<_>> = readers
        .map(|(reader, length)| Some((reader?, length)))
        .collect();
    Some(Response {
        head: Head::Built(head),
        content: Content::Parts(readers?),
        length: Some(parts.length),
        content_max: None,
        close: false,
    })
}

/// A reader at the bytes of a step; `None` while they are missing, or when they are gone.
fn reader(objects: &[Arc<Object>], step: Step) -> Option<Reader> {
    let Step::Held { part, first, .. } = step else {
        return None;
    };
    let object = objects.get(part)?;
    let start = object.meta.part.as_deref()?.first;
    let mut reader = object.reader();
    reader.seek(first - start);
    (!reader.is_lost()).then_some(reader)
}
