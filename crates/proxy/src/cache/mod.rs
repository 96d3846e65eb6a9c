//! The cache's part in a transaction: make the key, look up, join a fill, validate, store, answer
//! from the store. What may be stored and reused is for `rules::caching` to say.

mod answer;
mod background;
mod fill;
mod part;
mod purge;
mod store_id;
pub(crate) mod stored;
mod tags;

use std::sync::Arc;

use http::Method;
use rules::List;
use rules::caching::freshness::Traits;
use rules::caching::invalidate;
use rules::caching::precondition::has_conditions;
use rules::caching::reuse::{Reuse, Wishes, has_wishes};
use rules::caching::tags::invalidated_groups;
use rules::caching::validate::{confirms, make_conditional};
use stats::Counter;
use store::{KeyRef, Slot, Waited, Waiting};
use wire::field::{FieldId, Fields};
use wire::http1::{ResponseHead, kept_coding};
use wire::target::Scheme;
use wire::value::range::{self, ByteRange};

use crate::access;
use crate::context::Context;
use crate::fetch::OriginBody;
use crate::flow::{Content, Head, Lookup, Object, Received, Response, Start};
use crate::record::{Marks, Record, ResultTag};
use crate::reply::{clean, sign};
use stored::StoredResponse;

pub(crate) use answer::answer;
pub(crate) use background::validate as validate_in_background;
pub(crate) use fill::store;
pub(crate) use part::{Hole, Parts, answer_from_parts, fill_hole};
pub(crate) use purge::purge;
pub(crate) use store_id::{StoreId, learn_store_id};

/// Looks a request up. Sets the log's tag to what it found.
pub(crate) fn lookup(cx: &Context, received: &Received<'_>, record: &mut Record) -> Lookup {
    let head = received.head;
    record.tag(ResultTag::Miss);
    if !may_look_up(received) || !access::allows(cx, List::Cache, received) {
        cx.cells.count(Counter::Passes);
        return Lookup::Pass;
    }
    let fields = effective_fields(received);
    let key = KeyRef::new(received.key());
    let mut in_parts = false;
    let found = cx.store.find(key, |meta| {
        in_parts |= meta.part.is_some();
        meta.answers(&head.fields)
    });
    let Some(object) = found else {
        let parts = in_parts.then(|| part::gather(cx, received)).flatten();
        if let Some(parts) = parts
            && (parts.hole().is_none() || !only_if_cached(fields))
        {
            return Lookup::Parts(Box::new(parts));
        }
        return if only_if_cached(fields) {
            Lookup::Unsatisfiable
        } else {
            start(cx, received, key)
        };
    };
    let now = received.now.unix_secs();
    match cx
        .plan
        .rules
        .caching
        .reuse(&object.meta.freshness, fields, now)
    {
        Reuse::Fresh | Reuse::Stale => {
            record.tag(if object.meta.freshness.traits.has(Traits::NEGATIVE) {
                ResultTag::NegativeHit
            } else if cx.plan.config.offline_mode {
                ResultTag::OfflineHit
            } else {
                ResultTag::MemHit
            });
            if !object.is_complete() {
                cx.cells.count(Counter::Joins);
            }
            Lookup::Fresh(object)
        }
        Reuse::StaleWhileRevalidate => {
            record.tag(ResultTag::MemHit);
            Lookup::StaleWhileRevalidate(object)
        }
        Reuse::Validate(_) | Reuse::Reload if only_if_cached(fields) => Lookup::Unsatisfiable,
        Reuse::Validate(_) => Lookup::Stale(object),
        Reuse::Reload => {
            record.tag(ResultTag::ClientRefreshMiss);
            lead(cx, key)
        }
    }
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

/// GET and HEAD of http URLs are looked up.
fn may_look_up(received: &Received<'_>) -> bool {
    let method = &received.head.method;
    let scheme = received.target.scheme();
    (method == Method::GET || method == Method::HEAD)
        && matches!(scheme, Scheme::Http | Scheme::Https | Scheme::Ftp)
        && !received.head.fields.has(FieldId::Upgrade)
}

/// Nothing stored: who may fill?
fn start(cx: &Context, received: &Received<'_>, key: KeyRef<'_>) -> Lookup {
    let fields = &received.head.fields;
    if received.head.method == Method::HEAD {
        return Lookup::Pass; // the response has no content
    }
    if fields.has(FieldId::Range) && !fetches_whole(cx, received) {
        return lead(cx, key);
    }
    // A request that was here before would wait for itself.
    let collapse = cx.plan.collapses(&received.connection.port)
        && !cx.is_loop(received)
        && !has_conditions(fields)
        && !fields.has(FieldId::Authorization)
        && access::allows(cx, List::CollapsedForwarding, received);
    Lookup::Start(
        cx.store
            .begin(key, collapse, |meta| meta.may_be_joined(fields)),
    )
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
    Lookup::Start(cx.store.begin(key, false, |_| false))
}

/// The right to fill, for a request that may turn out to bring what can be stored.
pub(crate) fn may_fill(cx: &Context, received: &Received<'_>) -> Slot<StoredResponse> {
    cx.store.lead(KeyRef::new(received.key()))
}

/// What came of waiting for another's fetch.
#[derive(Debug)]
pub(crate) enum Joined {
    /// Its response, which is arriving.
    Object(Arc<Object>),
    /// It failed: somebody else is to try.
    Again(Start),
    /// Its response is not for others: this request goes on by itself.
    Alone,
}

/// Waits for another's fetch.
pub(crate) async fn join(
    cx: &Context,
    received: &Received<'_>,
    waiting: Waiting<StoredResponse>,
    record: &mut Record,
) -> Joined {
    cx.cells.count(Counter::Collapsed);
    match waiting.wait().await {
        // Somebody has purged what it had asked for: one of those that waited asks again.
        Waited::Object(object) if !cx.store.stands(&object) => again(cx, received),
        Waited::Object(object) if object.meta.answers(&received.head.fields) => {
            record.mark(Marks::COLLAPSED);
            Joined::Object(object)
        }
        Waited::Object(_) | Waited::Released => {
            cx.cells.count(Counter::CollapsedAlone);
            Joined::Alone
        }
        Waited::Failed => again(cx, received),
    }
}

fn again(cx: &Context, received: &Received<'_>) -> Joined {
    let (key, fields) = (KeyRef::new(received.key()), &received.head.fields);
    let start = cx.store.begin(key, true, |meta| meta.may_be_joined(fields));
    Joined::Again(start)
}

/// What is asked of the origin in place of the client's own conditions and ranges.
#[derive(Debug, Clone)]
pub(crate) enum Conditions {
    /// Does it still hold (RFC 9111 §4.3.1)?
    Holds(Arc<Object>),
    /// What is missing, if it belongs to what is stored (RFC 9110 §13.1.5).
    Missing { hole: Hole, validator: Box<[u8]> },
    /// All, though the client asks for a part (`range_offset_limit`).
    Whole,
}

impl Conditions {
    /// Puts our conditions in place of the client's.
    pub(crate) fn apply(&self, cx: &Context, fields: &mut Fields) {
        match self {
            Self::Holds(object) => {
                let stored = stored::build(cx, object, false);
                make_conditional(fields, &stored.fields);
                cx.heads.give(stored);
            }
            Self::Missing { hole, validator } => {
                make_conditional(fields, &Fields::new());
                let mut value = Vec::new();
                range::write(&[hole.asked()], &mut value);
                fields.push_id(FieldId::Range, &value);
                fields.push_id(FieldId::IfRange, validator);
            }
            Self::Whole => {
                make_conditional(fields, &Fields::new());
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
    sign(cx, &mut head, version, &cx.plan.lines.cache_status_miss);
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

/// What a successful unsafe request makes stale goes (RFC 9111 §4.4).
fn invalidate_for(cx: &Context, received: &Received<'_>, head: &ResponseHead) {
    let method = &received.head.method;
    if invalidate::spoils(method, head.status) {
        cx.store.remove(KeyRef::new(received.key()));
    }
    for target in invalidate::spoiled(method, received.target, head.status, &head.fields) {
        cx.store.remove(KeyRef::new(target.url()));
    }
    if invalidate::spoils(method, head.status) {
        // RFC 9875 §3.
        let groups = tags::of_groups(received.target, &invalidated_groups(&head.fields));
        cx.store.remove_tagged(&groups);
    }
}
