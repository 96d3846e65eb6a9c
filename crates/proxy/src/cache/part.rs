//! Answers put together from the parts of a response that are stored (RFC 9111 §3.3, §3.4). What is
//! missing is fetched first, under the condition that it belongs to the same whole, and is stored.

use std::rc::Rc;
use std::sync::Arc;

use http::Method;
use rules::caching::part::{Part, STEPS_MAX, Step, Steps, asked, complete_fields, steps_of};
use rules::caching::precondition::has_conditions;
use rules::caching::range::{RangeAnswer, Span, Spans, evaluate};
use rules::caching::reuse::Reuse;
use rules::caching::storable::Storable;
use smallvec::smallvec;
use stats::Counter;
use store::{Body, Keep, KeyRef, Reader};
use wire::field::{FieldId, Fields};
use wire::http1::{Framing, ProxyAuth, ResponseHead};
use wire::value::content_range::ContentRange;
use wire::value::range::ByteRange;

use crate::cache::answer::{push_content_range, restate};
use crate::cache::assemble::{Assembling, in_sending_order};
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
    /// Which of these has each part that the steps name: what is on disk of a response is one, however many parts there are.
    held: Vec<usize>,
    /// Of each of them, at its first byte that is wanted; `None`: nothing of it is, or it is gone. Here from the
    /// beginning, so that no fill ends for want of readers meanwhile.
    readers: Vec<Option<Reader>>,
    wanted: Wanted,
    steps: Steps,
    /// Number of all bytes.
    complete: u64,
    validator: Option<Box<[u8]>>,
    /// Nothing was fetched.
    hit: bool,
}

/// What was asked for.
#[derive(Debug)]
enum Wanted {
    Whole,
    Range(ContentRange),
    Ranges(Spans),
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

/// The parts for a request, if its response is stored in parts that are of use. `on_disk`: what there is of it.
pub(crate) fn gather(
    cx: &Context,
    received: &Received<'_>,
    on_disk: Option<Arc<Object>>,
) -> Option<Parts> {
    let (method, fields) = (&received.head.method, &received.head.fields);
    if *method != Method::GET || received.framing != Framing::None || has_conditions(fields) {
        return None;
    }
    let now = received.now.unix_secs();
    let caching = &cx.plan.rules.caching;
    let is_of_use = |meta: &StoredResponse| {
        meta.part.is_some()
            && meta.vary.matches(fields)
            && caching.reuse(&meta.freshness, fields, now) == Reuse::Fresh
    };
    let mut objects = cx.store.find_all(KeyRef::new(received.key()), is_of_use);
    objects.extend(on_disk.filter(|object| is_of_use(&object.meta)));
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
    let (wanted, spans) = match answer {
        RangeAnswer::Part(span) => {
            let range = span.content_range(Some(complete));
            (Wanted::Range(range), smallvec![span])
        }
        RangeAnswer::Parts(spans) => (Wanted::Ranges(spans.clone()), spans),
        RangeAnswer::Whole if !fields.has(FieldId::Range) => {
            let (first, last) = (0, complete - 1);
            (Wanted::Whole, smallvec![Span { first, last }])
        }
        RangeAnswer::Whole | RangeAnswer::Unsatisfiable => return None,
    };
    let (held, bounds) = what_is_held(&objects, &spans);
    let steps = steps_of(&bounds, &spans)?;
    let parts = Parts {
        validator: newest_part.validator.clone(),
        readers: readers(&objects, &held, &steps),
        held,
        objects,
        wanted,
        steps,
        complete,
        hit: true,
    };
    let helps = parts.readers.iter().any(Option::is_some);
    let fillable = parts.validator.is_some() || parts.hole().is_none();
    (helps && fillable).then_some(parts)
}

/// The newest part, if it is the answer to this very question.
fn same_question(objects: &[Arc<Object>], request: &Fields) -> Option<Parts> {
    let newest = objects.first()?;
    let part = newest.meta.part.as_deref()?;
    let again = asked(request) == Some(part.asked);
    if !again || request.has(FieldId::IfRange) || is_in_pieces(newest) {
        return None;
    }
    let (objects, held) = (vec![Arc::clone(newest)], vec![0]);
    let steps = smallvec![Step::Held {
        part: 0,
        first: part.first,
        last: part.last,
    }];
    Some(Parts {
        readers: readers(&objects, &held, &steps),
        wanted: Wanted::Range(part.content_range()),
        held,
        objects,
        steps,
        complete: part.complete.unwrap_or(u64::MAX),
        validator: None,
        hit: true,
    })
}

/// The parts that these objects have of what is wanted: which object has each, and its bytes.
fn what_is_held(objects: &[Arc<Object>], wanted: &[Span]) -> (Vec<usize>, Vec<Span>) {
    let mut all = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        if let Body::Pieces(pieces) = object.body() {
            for span in wanted {
                let wanted = span.first..span.last.saturating_add(1);
                let stretches = pieces.stretches(wanted, STEPS_MAX);
                let spans = stretches.iter().map(|stretch| Span {
                    first: stretch.start,
                    last: stretch.end - 1,
                });
                all.extend(spans.map(|span| (number, span)));
            }
        } else if let Some(part) = object.meta.part.as_deref() {
            all.push((number, part.span()));
        }
    }
    all.into_iter().unzip()
}

/// Is it on disk, with holes?
fn is_in_pieces(object: &Arc<Object>) -> bool {
    matches!(object.body(), Body::Pieces(_))
}

impl Parts {
    /// Reads what the answer begins with, if that is on disk. False if it can't be read.
    pub(crate) async fn begin(&mut self) -> bool {
        let Some(Step::Held { part, first, .. }) = self.steps.first() else {
            return true;
        };
        let object = self.held.get(*part).copied();
        let object = object.and_then(|number| Some((number, start(self.objects.get(number)?)?)));
        let Some((number, before)) = object else {
            return true;
        };
        match self.readers.get_mut(number) {
            Some(Some(reader)) => {
                let at = reader.position();
                reader.seek(first.saturating_sub(before));
                let read = reader.begin().await;
                reader.seek(at);
                read
            }
            _ => true,
        }
    }

    /// Is any of it on disk alone?
    fn is_on_disk(&self) -> bool {
        let objects = self.objects.iter().zip(&self.readers);
        let mut read = objects.filter(|(_, reader)| reader.is_some());
        read.any(|(object, _)| is_in_pieces(object))
    }

    /// The object that has this part.
    fn object_of(&self, part: usize) -> Option<&Arc<Object>> {
        self.objects.get(*self.held.get(part)?)
    }

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

    /// What those who miss the same have in common.
    pub(crate) fn name_of(&self, hole: Hole) -> Vec<u8> {
        let Hole { first, last, .. } = hole;
        let mut name = format!("{first}-{last}/{}", self.complete).into_bytes();
        name.extend_from_slice(self.validator());
        name
    }

    /// What the missing parts must share.
    pub(crate) fn validator(&self) -> &[u8] {
        self.validator.as_deref().unwrap_or_default()
    }

    /// Puts a part into its hole.
    fn fill(&mut self, hole: Hole, object: Arc<Object>) {
        let filled = Step::Held {
            part: self.held.len(),
            first: hole.first,
            last: hole.last,
        };
        let missing = Step::Missing {
            first: hole.first,
            last: hole.last,
        };
        self.held.push(self.objects.len());
        self.readers.push(reader(&object, hole.first));
        self.objects.push(object);
        self.hit = false;
        for step in self.steps.iter_mut().filter(|step| **step == missing) {
            *step = filled;
        }
    }

    /// Those that are fetched come last, those that were found begin with the newest.
    fn newest(&self) -> Option<&Arc<Object>> {
        let fetched = self.objects.last().filter(|_| !self.hit);
        fetched.or(self.objects.first())
    }

    /// What the record says when they answer.
    fn note(&self, record: &mut Record) {
        if !self.hit {
            record.cache.stored();
        } else if !record.cache.has_waited() {
            record.tag(match self.is_on_disk() {
                true => ResultTag::Hit,
                false => ResultTag::MemHit,
            });
            record.cache.hit();
        }
    }

    /// The reply with this head; `None` if something of it is gone.
    fn assemble<'c>(self, head: Box<ResponseHead>) -> Option<Response<'c>> {
        let complete = self.objects.iter().all(|object| object.is_complete());
        let (held, objects) = (self.held, self.objects);
        let mut places = Vec::new();
        let mut readers = Vec::new();
        for reader in self.readers {
            places.push(reader.is_some().then_some(readers.len()));
            readers.extend(reader);
        }
        let push = |content: &mut Assembling, step: &Step| -> Option<()> {
            let Step::Held { part, first, .. } = *step else {
                return None;
            };
            let number = *held.get(part)?;
            let place = (*places.get(number)?)?;
            let before = start(objects.get(number)?)?;
            content.push(place, first.checked_sub(before)?, step.length());
            Some(())
        };
        let mut content;
        if let Wanted::Ranges(spans) = self.wanted {
            content = Assembling::several(&head, Some(self.complete));
            for span in in_sending_order(spans, complete) {
                content.begin_part(span);
                let steps = self.steps.iter().filter(|step| step.lies_in(span));
                steps
                    .map(|step| push(&mut content, step))
                    .collect::<Option<()>>()?;
            }
        } else {
            content = Assembling::one();
            let steps = self.steps.iter();
            steps
                .map(|step| push(&mut content, step))
                .collect::<Option<()>>()?;
        }
        Some(content.into_response(head, readers))
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
    (hole, slot): (Hole, Slot),
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
    if let Some(held) = parts.objects.first() {
        let held = stored::build(cx, held, false);
        complete_fields(&mut head.fields, &held.fields);
        cx.heads.give(held);
    }
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
    let slot = match parts.objects.first() {
        Some(held) => slot.since(held),
        None => slot,
    };
    let object = publish(cx, received, Some(slot), meta, body);
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
    let method = received.head.method.clone();
    tokio::task::spawn_local(fill(Rc::clone(cx), method, body, filler));
    object
}

/// The part that a response is of which only so much came.
pub(super) fn of_cut(
    cx: &Context,
    object: &Object,
    length: Option<u64>,
    received: u64,
) -> Option<Part> {
    if let Some(part) = &object.meta.part {
        return part.cut(received);
    }
    let length = length.filter(|_| object.meta.status == 200)?;
    let head = stored::build(cx, object, false);
    let part = Part::of_cut(&head.fields, length, received);
    cx.heads.give(head);
    part
}

/// Makes one response of parts that are all of it, so that later requests are answered as usual.
pub(crate) fn join(cx: &Context, parts: &Parts, record: &mut Record) -> Option<Arc<Object>> {
    let Wanted::Whole = parts.wanted else {
        return None;
    };
    let stretches: Option<Vec<_>> = parts
        .steps
        .iter()
        .map(|step| match *step {
            Step::Held { part, first, .. } => {
                // Not of what is on disk: it would have to be read into memory.
                let object = parts
                    .object_of(part)
                    .filter(|object| !is_in_pieces(object))?;
                let at = first.checked_sub(start(object)?)?;
                object.is_complete().then_some((object, at, step.length()))
            }
            Step::Missing { .. } => None,
        })
        .collect();
    let stretches = stretches?;
    let newest = parts.newest()?;
    let meta = || stored::completed(cx, newest, parts.complete);
    let object = cx.store.join(&stretches, meta)?;
    parts.note(record);
    Some(object)
}

/// Answers from parts without holes.
pub(crate) fn answer_from_parts<'c>(
    cx: &Context,
    parts: Parts,
    record: &mut Record,
) -> Option<Response<'c>> {
    let newest = parts.newest()?;
    let mut head = stored::build(cx, newest, parts.hit);
    match parts.wanted {
        Wanted::Whole => restate(&mut head, 200),
        Wanted::Range(range) => {
            restate(&mut head, 206);
            push_content_range(&mut head, range);
        }
        Wanted::Ranges(_) => restate(&mut head, 206),
    }
    parts.note(record);
    sign(cx, &mut head, newest.meta.version, record, Some(newest));
    parts.assemble(head)
}

/// A reader for each object, at its first byte that these steps want.
fn readers(objects: &[Arc<Object>], held: &[usize], steps: &[Step]) -> Vec<Option<Reader>> {
    let first_of = |wanted: usize| {
        let firsts = steps.iter().filter_map(move |step| match *step {
            Step::Held { part, first, .. } => (held.get(part) == Some(&wanted)).then_some(first),
            Step::Missing { .. } => None,
        });
        firsts.min()
    };
    let numbered = objects.iter().enumerate();
    numbered
        .map(|(number, object)| reader(object, first_of(number)?))
        .collect()
}

/// A reader at this byte of the whole; `None` if it is gone.
fn reader(object: &Arc<Object>, first: u64) -> Option<Reader> {
    let mut reader = object.reader();
    reader.seek(first.checked_sub(start(object)?)?);
    (!reader.is_lost()).then_some(reader)
}

/// The first byte of a part.
fn start(object: &Object) -> Option<u64> {
    object.meta.part.as_deref().map(|part| part.first)
}
