//! The cache's part in a transaction: make the key, look up, join a fill, validate, store, answer
//! from the store. What may be stored and reused is for `rules::caching` to say.

mod answer;
mod assemble;
mod background;
mod fill;
pub(crate) mod listing;
mod meet;
mod part;
mod persist;
mod purge;
mod store_id;
pub(crate) mod stored;
pub(crate) mod summary;
mod tags;
mod variants;

use std::sync::Arc;

use http::Method;
use rules::caching::freshness::Traits;
use rules::caching::invalidate;
use rules::caching::reuse::{Reuse, Wishes, has_wishes};
use rules::caching::tags::invalidated_groups;
use rules::caching::validate::{
    confirms, make_conditional, make_conditional_on_any, make_unconditional,
};
use rules::caching::vary::{Selector, Vary};
use rules::{List, ReplyFacts};
use smallvec::SmallVec;
use stats::Counter;
use store::KeyRef;
use wire::field::{FieldId, Fields};
use wire::http1::{ResponseHead, kept_coding};
use wire::target::{Scheme, Target};
use wire::value::range::{self, ByteRange};

use crate::access;
use crate::context::Context;
use crate::fetch::OriginBody;
use crate::flow::{Content, Head, Lookup, Object, Received, Response, Slot};
use crate::record::{Record, ResultTag};
use crate::reply::{Detail, Forward, clean, sign};

pub(crate) use answer::{answer, validated};
pub(crate) use background::validate as validate_in_background;
pub(crate) use fill::store;
pub(crate) use meet::{AtHole, Met, begin_validation, find_whole, meet, meet_at_hole};
use part::gather;
pub(crate) use part::{Hole, Parts, answer_from_parts, fill_hole, join};
pub(crate) use purge::purge;
pub(crate) use store_id::{StoreId, learn_store_id};
pub(crate) use variants::{other_variants, pick_variant};

/// Nothing in memory answers a request: the disk is to be asked.
#[derive(Debug)]
pub(crate) struct OnDisk(Beside);

/// What lies in memory under the key of a request that it doesn't answer.
#[derive(Debug, Default)]
struct Beside {
    /// What the request would be among the variants, by the fields that the newest was selected by.
    newest: Option<Variant>,
    /// Parts.
    in_parts: bool,
}

/// Looks a request up in memory. Sets the log's tag to what it found, and what Cache-Status says.
pub(crate) fn lookup(
    cx: &Context,
    received: &Received<'_>,
    record: &mut Record,
) -> Result<Lookup, Box<OnDisk>> {
    record.tag(ResultTag::Miss);
    if let Some(why) = keeps_out(cx, received) {
        record.cache.forwarded(why);
        cx.cells.count(Counter::Passes);
        return Ok(Lookup::Pass);
    }
    let key = KeyRef::new(received.key());
    let mut beside = Beside::default();
    let mut selector = Selector::of(&received.head.fields);
    let found = cx.store.find(key, |meta| {
        beside.in_parts |= meta.part.is_some();
        let answers = meta.answers(&mut selector);
        if !answers && meta.part.is_none() && beside.newest.is_none() {
            beside.newest = Some(Variant::from_slice(selector.name(&meta.vary)));
        }
        answers
    });
    match found {
        Some(object) => Ok(judge(cx, received, object, ResultTag::MemHit, record)),
        None if cx.store.may_be_on_disk(key) => match in_memory(cx, received, &beside) {
            Some(parts) => {
                record.cache.forwarded(Forward::Partial);
                Ok(Lookup::Parts(parts))
            }
            None => Err(Box::new(OnDisk(beside))),
        },
        None => Ok(absent(cx, received, &beside, None, record)),
    }
}

/// The parts for a request, if none is missing in memory.
fn in_memory(cx: &Context, received: &Received<'_>, beside: &Beside) -> Option<Box<Parts>> {
    let parts = beside.in_parts.then(|| gather(cx, received, None));
    let parts = parts.flatten().filter(|parts| parts.hole().is_none());
    parts.map(Box::new)
}

/// What is on disk for a request, whole or in parts.
async fn load(cx: &Context, received: &Received<'_>) -> Option<Arc<Object>> {
    let fields = &received.head.fields;
    let name = |selector: &[u8]| {
        let vary = Vary::from_bytes(selector);
        Selector::of(fields).name(&vary).to_vec()
    };
    let mut selector = Selector::of(fields);
    let key = KeyRef::new(received.key());
    let now = u32::try_from(received.now.unix_secs()).unwrap_or(0);
    let found = cx.store.load(
        key,
        name,
        |meta| selector.selects(&meta.vary),
        now,
        cx.ring.as_deref(),
    );
    found.await
}

/// The parts for a request, from memory and disk, when others may have brought more of them.
pub(crate) async fn gather_again(cx: &Context, received: &Received<'_>) -> Option<Parts> {
    let on_disk = match cx.store.may_be_on_disk(KeyRef::new(received.key())) {
        true => load(cx, received).await,
        false => None,
    };
    gather(
        cx,
        received,
        on_disk.filter(|object| object.meta.part.is_some()),
    )
}

/// Looks a request up on disk, as [`lookup`] in memory.
pub(crate) async fn lookup_on_disk(
    cx: &Context,
    received: &Received<'_>,
    on_disk: Box<OnDisk>,
    record: &mut Record,
) -> Lookup {
    let OnDisk(beside) = *on_disk;
    let Some(object) = load(cx, received).await else {
        return absent(cx, received, &beside, None, record);
    };
    // What can't be read is a miss, as long as nothing of it was sent.
    if object.meta.part.is_some() {
        let mut found = absent(cx, received, &beside, Some(object), record);
        let readable = match &mut found {
            Lookup::Parts(parts) => parts.begin().await,
            _ => true,
        };
        return match readable {
            true => found,
            false => absent(cx, received, &beside, None, record),
        };
    }
    let readable = match answer::first_byte(received, &object) {
        Some(first) => object.begin_at(first).await,
        None => true,
    };
    match readable {
        true => judge(cx, received, object, ResultTag::Hit, record),
        false => absent(cx, received, &beside, None, record),
    }
}

/// Nothing whole is stored that answers. `on_disk`: what is there in parts.
fn absent(
    cx: &Context,
    received: &Received<'_>,
    beside: &Beside,
    on_disk: Option<Arc<Object>>,
    record: &mut Record,
) -> Lookup {
    let only_stored = only_if_cached(effective_fields(received));
    let in_parts = beside.in_parts || on_disk.is_some();
    let parts = in_parts.then(|| gather(cx, received, on_disk));
    if let Some(parts) = parts.flatten()
        && (parts.hole().is_none() || !only_stored)
    {
        record.cache.forwarded(Forward::Partial);
        return Lookup::Parts(Box::new(parts));
    }
    if only_stored {
        return Lookup::Unsatisfiable;
    }
    record.cache.forwarded(match beside.newest {
        Some(_) => Forward::VaryMiss,
        None => Forward::UriMiss,
    });
    start(cx, received, beside.newest.as_deref().unwrap_or_default())
}

/// May what is stored be used, and how? `tag`: where it was found, for the log.
fn judge(
    cx: &Context,
    received: &Received<'_>,
    object: Arc<Object>,
    tag: ResultTag,
    record: &mut Record,
) -> Lookup {
    let key = KeyRef::new(received.key());
    if !may_send_hit(cx, received, &object, record) {
        record.cache.forwarded(Forward::Bypass);
        record.cache.because(Detail::Kept("send_hit"));
        return lead(cx, key);
    }
    let freshness = &object.meta.freshness;
    let (fields, now) = (effective_fields(received), received.now.unix_secs());
    match cx.plan.rules.caching.reuse(freshness, fields, now) {
        Reuse::Fresh | Reuse::Stale => {
            record.tag(if freshness.traits.has(Traits::NEGATIVE) {
                ResultTag::NegativeHit
            } else if cx.plan.rules.caching.is_offline() {
                ResultTag::OfflineHit
            } else {
                tag
            });
            record.cache.hit();
            if !object.is_complete() {
                cx.cells.count(Counter::Joins);
            }
            Lookup::Fresh(object)
        }
        Reuse::StaleWhileRevalidate => {
            record.tag(tag);
            record.cache.hit();
            Lookup::StaleWhileRevalidate(object)
        }
        Reuse::Validate(_) | Reuse::Reload if only_if_cached(fields) => Lookup::Unsatisfiable,
        asks => {
            record.cache.forwarded(match freshness.is_fresh(now) {
                true => Forward::Request,
                false => Forward::Stale,
            });
            if asks == Reuse::Reload {
                record.tag(ResultTag::ClientRefreshMiss);
                return lead(cx, key);
            }
            Lookup::Stale(object)
        }
    }
}

/// Why the cache has no part in a request, if it has none.
fn keeps_out(cx: &Context, received: &Received<'_>) -> Option<Forward> {
    let method = &received.head.method;
    if method != Method::GET && method != Method::HEAD {
        return Some(Forward::Method);
    }
    let allowed = may_look_up(received) && access::allows(cx, List::Cache, received);
    (!allowed).then_some(Forward::Bypass)
}

/// `send_hit`
fn may_send_hit(cx: &Context, received: &Received<'_>, object: &Object, record: &Record) -> bool {
    if let Some(always) = cx.plan.rules.list(List::SendHit).always() {
        return always;
    }
    let mut head = stored::build(cx, object, false);
    if let Some(length) = object.length() {
        let length = length.to_string();
        head.fields
            .push_id(FieldId::ContentLength, length.as_bytes());
    }
    let reply = ReplyFacts {
        status: head.status,
        fields: &head.fields,
    };
    let allowed = access::allows_reply(cx, List::SendHit, received, reply, record);
    cx.heads.give(head);
    allowed
}

/// What the client says to caches, unless the port says to ignore it (`ignore-cc`).
fn effective_fields<'f>(received: &Received<'f>) -> &'f Fields {
    static NOTHING: Fields = Fields::new();
    let accel = received.connection.port.accel();
    let ignored = accel.is_some_and(|accel| accel.ignore_cc);
    if ignored {
        &NOTHING
    } else {
        &received.head.fields
    }
}

/// RFC 9111 §5.2.1.7.
fn only_if_cached(fields: &Fields) -> bool {
    has_wishes(fields) && Wishes::of(fields).only_if_cached()
}

/// Is it one that is looked up? GET and HEAD are.
fn may_look_up(received: &Received<'_>) -> bool {
    matches!(
        received.target.scheme(),
        Scheme::Http | Scheme::Https | Scheme::Ftp
    ) && !received.head.fields.has(FieldId::Upgrade)
}

/// Names a request among those for the same key: by the fields that the newest variant was selected by. Empty where none is
/// stored.
type Variant = SmallVec<[u8; 128]>;

/// Nothing stored answers: who may fill? Requests for a key of which variants are stored meet those of their own variant.
fn start(cx: &Context, received: &Received<'_>, variant: &[u8]) -> Lookup {
    let fields = &received.head.fields;
    if received.head.method == Method::HEAD {
        return Lookup::Pass; // the response has no content
    }
    if fields.has(FieldId::Range) && !fetches_whole(cx, received) {
        return lead(cx, KeyRef::new(received.key()));
    }
    Lookup::Start(meet::begin(cx, received, variant))
}

/// Is all of it to be fetched although a part is asked for (`range_offset_limit`)? As Squid we go by how far into the
/// whole the ranges begin; of the last bytes nobody knows that.
pub(crate) fn fetches_whole(cx: &Context, received: &Received<'_>) -> bool {
    let ranges = received.head.fields.get(FieldId::Range);
    let Some(ranges) = ranges.and_then(range::parse) else {
        return false;
    };
    let facts = access::facts(received);
    match cx.plan.rules.range_offset_limit(&facts) {
        None => true,
        Some(0) => false,
        Some(most) => ranges.iter().all(|range| match range {
            ByteRange::FromTo(first, _) | ByteRange::From(first) => *first <= most,
            ByteRange::Suffix(_) => false,
        }),
    }
}

/// The right to fill, whatever is stored.
fn lead(cx: &Context, key: KeyRef<'_>) -> Lookup {
    Lookup::Start(cx.store.begin(key, None, |_| false))
}

/// The right to fill, for a request that may turn out to bring what can be stored.
pub(crate) fn may_fill(cx: &Context, received: &Received<'_>) -> Slot {
    cx.store.lead(KeyRef::new(received.key()))
}

/// What is asked of the origin in place of the client's own conditions and ranges.
#[derive(Debug, Clone)]
pub(crate) enum Conditions {
    /// Does it still hold (RFC 9111 §4.3.1)?
    Holds(Arc<Object>),
    /// What is missing, if it belongs to what is stored (RFC 9110 §13.1.5).
    Missing { hole: Hole, validator: Box<[u8]> },
    /// Which of these variants is the answer?
    Which(Vec<Arc<Object>>),
    /// All, though the client asks for a part (`range_offset_limit`).
    Whole,
    /// All, though the client has a copy (`cache_miss_revalidate off`).
    Anew,
}

impl Conditions {
    /// Puts our conditions in place of the client's.
    pub(crate) fn apply(&self, fields: &mut Fields) {
        match self {
            Self::Holds(object) => {
                make_conditional(fields, &object.meta.validators());
            }
            Self::Which(objects) => {
                let tags = objects.iter().filter_map(|object| object.meta.etag());
                make_conditional_on_any(fields, tags);
            }
            Self::Missing { hole, validator } => {
                make_unconditional(fields);
                let mut value = Vec::new();
                range::write(&[hole.asked()], &mut value);
                fields.push_id(FieldId::Range, &value);
                fields.push_id(FieldId::IfRange, validator);
            }
            Self::Whole => make_unconditional(fields),
            Self::Anew => {
                fields.remove(FieldId::IfNoneMatch);
                fields.remove(FieldId::IfModifiedSince);
            }
        }
    }
}

/// Is it a 304 that speaks of nothing we have asked about (RFC 9111 §4.3.4)? It must not be used.
pub(crate) fn is_unfounded(cx: &Context, stale: &Object, head: &ResponseHead) -> bool {
    if head.status != 304 {
        return false;
    }
    let stored = stored::build(cx, stale, false);
    let confirmed = confirms(&head.fields, &stored.fields);
    cx.heads.give(stored);
    !confirmed
}

/// Is it a response to POST that answers GET from now on (RFC 9110 §9.3.3)?
pub(crate) fn answers_get(received: &Received<'_>, head: &ResponseHead) -> bool {
    received.head.method == Method::POST
        && invalidate::is_own_location(received.target, &head.fields)
}

/// May a stale response go out because the origin can't be asked?
pub(crate) fn may_serve_stale(cx: &Context, object: &Object) -> bool {
    object
        .meta
        .freshness
        .may_serve_after_failure(cx.unix_secs())
}

/// Passes a response on that is not stored.
pub(crate) fn pass<'c>(
    cx: &Context,
    received: &Received<'_>,
    mut head: Box<ResponseHead>,
    mut body: Box<OriginBody<'c>>,
    record: &mut Record,
) -> Response<'c> {
    invalidate_for(cx, received, &head);
    if body.whole().is_some_and(<[u8]>::is_empty) {
        body.finish_whole(0); // nothing follows: the hop's connection is free at once
    }
    let version = head.version;
    let coding = kept_coding(&head.fields).map(<[u8]>::to_vec);
    clean(cx, &mut head, body.proxy_auth);
    if let Some(coding) = coding {
        head.fields.push_id(FieldId::TransferEncoding, &coding);
    }
    let length = frame(received, &mut head, &body);
    sign(cx, &mut head, version, record, None);
    Response {
        head: Head::Built(head),
        length,
        content_max: None,
        // An early answer: what is left of the request is not waited for.
        close: body.is_still_asked(),
        content: Content::Origin(body),
    }
}

/// The length that `listen` is to frame by: fields say it only where no content follows.
fn frame(received: &Received<'_>, head: &mut ResponseHead, body: &OriginBody<'_>) -> Option<u64> {
    let bodyless = received.head.method == Method::HEAD || matches!(head.status, 204 | 304);
    if !bodyless {
        head.fields.remove(FieldId::ContentLength);
    }
    body.length()
}

/// What a successful unsafe request makes stale goes (RFC 9111 §4.4), with what shares a group with it (RFC 9875 §2.2.1) or
/// is in a group that the response names (§3).
fn invalidate_for(cx: &Context, received: &Received<'_>, head: &ResponseHead) {
    let method = &received.head.method;
    if !invalidate::spoils(method, head.status) {
        return;
    }
    let spoiled = invalidate::spoiled(method, received.target, head.status, &head.fields);
    let keys = spoiled.iter().map(Target::url);
    let mut groups = invalidated_groups(&head.fields);
    let mut removed = 0;
    for key in keys.chain([received.key()]).map(KeyRef::new) {
        groups.extend(tags::groups_under(cx, key));
        removed += cx.store.remove(key);
    }
    // All of them are of this origin.
    let groups = tags::of_groups(received.target, &groups);
    removed += cx.store.remove_tagged(&groups);
    cx.cells.add(Counter::InvalidatedObjects, removed as u64);
}
