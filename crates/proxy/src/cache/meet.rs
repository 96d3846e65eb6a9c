//! Requests that meet (RFC 9111 §4): one asks the origin, the others wait for what it finds out, if it may answer them too.
//! Only those that are safe to repeat and the same for everyone do.
//!
//! | what comes of waiting | what a request does |
//! | --- | --- |
//! | a response that it may have | answers with it |
//! | one for other requests (`Vary`) | waits again, now among those that are asking for its own variant |
//! | one that isn't shared, or must be validated for each | goes on alone |
//! | nothing for `collapsed_forwarding_timeout` | asks itself, as one of those who wait; then alone |
//! | a failure | tries again: one leads |

use std::sync::Arc;

use http::Method;
use rules::List;
use rules::caching::precondition::has_conditions;
use rules::caching::reuse::Reuse;
use rules::caching::vary::Selector;
use stats::Counter;
use store::{KeyRef, Waited};
use wire::field::FieldId;
use wire::http1::Framing;

use crate::access;
use crate::cache::stored::StoredResponse;
use crate::context::Context;
use crate::flow::{Object, Received, Slot, Start};
use crate::record::{Marks, Record, ResultTag};
use crate::reply::Forward;

/// What came of it.
#[derive(Debug)]
pub(crate) enum Met {
    /// This may answer.
    Object(Arc<Object>),
    /// This request asks; others may wait for it.
    Lead(Slot),
    /// It goes on by itself.
    Alone,
}

/// How often a request waits again because it was for another variant. Once it knows by which fields they differ it meets
/// its like; a second time is for origins that change their mind.
const OTHER_VARIANTS_MAX: u8 = 2;

/// How often a request waits for what is missing of stored parts; then it asks by itself.
const HOLE_WAITS_MAX: u8 = 4;

/// May the request wait for others, and others for it?
pub(super) fn may_meet(cx: &Context, received: &Received<'_>) -> bool {
    // A request that was here before would wait for itself.
    received.head.method == Method::GET
        && received.framing == Framing::None
        && cx.plan.collapses(&received.connection.port)
        && !cx.is_loop(received)
        && !received.head.fields.has(FieldId::Authorization)
        && access::allows(cx, List::CollapsedForwarding, received)
}

/// Nothing is stored for the request: who asks? `variant` names it among requests for the same key.
pub(super) fn begin(cx: &Context, received: &Received<'_>, variant: &[u8]) -> Start {
    let collapse = may_meet(cx, received) && !has_conditions(&received.head.fields);
    let collapse = collapse.then_some(variant);
    let key = KeyRef::new(received.key());
    let mut selector = Selector::of(&received.head.fields);
    cx.store.begin(key, collapse, |meta| {
        serves(cx, received, &mut selector, meta)
    })
}

/// Something stale is stored: who validates it? `None`: each for itself. What was never fresh must be validated for each.
pub(crate) fn begin_validation(
    cx: &Context,
    received: &Received<'_>,
    stale: &Object,
) -> Option<Start> {
    let freshness = &stale.meta.freshness;
    let was_fresh = freshness.fresh_until > freshness.born;
    let is_stale = !freshness.is_fresh(received.now.unix_secs());
    if !was_fresh || !is_stale || !may_meet(cx, received) {
        return None;
    }
    let variant = Some(stale.meta.vary.as_bytes());
    let key = KeyRef::new(received.key());
    let mut selector = Selector::of(&received.head.fields);
    let start = cx.store.begin(key, variant, |meta| {
        serves(cx, received, &mut selector, meta)
    });
    Some(start)
}

/// Waits, if that is what there is to do, and says how the request goes on. `stale` is what it wants validated.
pub(crate) async fn meet(
    cx: &Context,
    received: &Received<'_>,
    mut start: Start,
    stale: Option<&Arc<Object>>,
    record: &mut Record,
) -> Met {
    let key = KeyRef::new(received.key());
    let mut selector = Selector::of(&received.head.fields);
    let mut serves = |meta: &StoredResponse| serves(cx, received, &mut selector, meta);
    let mut variant = stale
        .map_or(&[][..], |stale| stale.meta.vary.as_bytes())
        .to_vec();
    let (mut others, mut overtook) = (0, false);
    loop {
        let mut waiting = match start {
            Start::Lead(slot) => return Met::Lead(slot),
            Start::Found(object) => {
                record.tag(ResultTag::MemHit);
                record.cache.hit();
                return Met::Object(object);
            }
            Start::Join(waiting) => waiting,
        };
        cx.cells.count(Counter::Collapsed);
        let deadline = cx.ticker.deadline();
        let waited = deadline
            .limit(cx.plan.config.collapsed_forwarding_timeout, &mut waiting)
            .await;
        start = match waited {
            // Somebody has purged what it had asked for: one of those that waited asks again.
            Ok(Waited::Object(object)) if !cx.store.stands(&object) => {
                cx.store.begin(key, Some(&variant), &mut serves)
            }
            Ok(Waited::Object(object)) if serves(&object.meta) || is_kept(stale, &object) => {
                record.mark(Marks::COLLAPSED);
                record.cache.waited(true);
                return Met::Object(object);
            }
            Ok(Waited::Object(object))
                if !object
                    .meta
                    .answers(&mut Selector::of(&received.head.fields))
                    && others < OTHER_VARIANTS_MAX =>
            {
                others += 1;
                record.cache.forwarded(Forward::VaryMiss);
                variant.clear();
                let mut selector = Selector::of(&received.head.fields);
                variant.extend_from_slice(selector.name(&object.meta.vary));
                cx.store.begin(key, Some(&variant), &mut serves)
            }
            Ok(Waited::Failed) => cx.store.begin(key, Some(&variant), &mut serves),
            Err(_) if !overtook => {
                overtook = true;
                cx.cells.count(Counter::CollapsedOvertaken);
                cx.store.overtake(waiting, &mut serves)
            }
            Ok(Waited::Object(_) | Waited::Released) | Err(_) => {
                record.cache.waited(false);
                cx.cells.count(Counter::CollapsedAlone);
                return Met::Alone;
            }
        };
    }
}

/// What there is to do about a hole in what is stored.
#[derive(Debug)]
pub(crate) enum AtHole {
    /// This request asks for what is missing; others may wait for it.
    Lead(Slot),
    /// Another has found something out: what is stored now?
    Again,
}

/// Of those who miss the same of what is stored in parts, one asks the origin. `waited`: how often this one has waited.
pub(crate) async fn meet_at_hole(
    cx: &Context,
    received: &Received<'_>,
    name: &[u8],
    waited: u8,
    record: &mut Record,
) -> AtHole {
    let key = KeyRef::new(received.key());
    if waited == HOLE_WAITS_MAX || !may_meet(cx, received) {
        return AtHole::Lead(cx.store.lead(key));
    }
    let waiting = match cx.store.begin(key, Some(name), |_| false) {
        Start::Lead(slot) => return AtHole::Lead(slot),
        Start::Found(_) => return AtHole::Again,
        Start::Join(waiting) => waiting,
    };
    cx.cells.count(Counter::Collapsed);
    let deadline = cx.ticker.deadline();
    let timeout = cx.plan.config.collapsed_forwarding_timeout;
    match deadline.limit(timeout, waiting).await {
        Ok(Waited::Object(_)) => {
            record.mark(Marks::COLLAPSED);
            record.cache.waited(true);
            AtHole::Again
        }
        Ok(Waited::Failed) => AtHole::Again,
        Ok(Waited::Released) | Err(_) => {
            record.cache.waited(false);
            cx.cells.count(Counter::CollapsedAlone);
            AtHole::Lead(cx.store.lead(key))
        }
    }
}

/// May this whole response answer the request, which began with parts of it?
pub(crate) fn find_whole(cx: &Context, received: &Received<'_>) -> Option<Arc<Object>> {
    let key = KeyRef::new(received.key());
    let mut selector = Selector::of(&received.head.fields);
    cx.store
        .find(key, |meta| serves(cx, received, &mut selector, meta))
}

/// The origin could not be asked, and the stale response was kept.
fn is_kept(stale: Option<&Arc<Object>>, object: &Arc<Object>) -> bool {
    stale.is_some_and(|stale| Arc::ptr_eq(stale, object))
}

/// May it answer the request as it is (RFC 9111 §4)?
fn serves(
    cx: &Context,
    received: &Received<'_>,
    selector: &mut Selector<'_>,
    meta: &StoredResponse,
) -> bool {
    let fields = &received.head.fields;
    let now = received.now.unix_secs();
    let caching = &cx.plan.rules.caching;
    meta.may_be_joined(selector)
        && matches!(
            caching.reuse(&meta.freshness, fields, now),
            Reuse::Fresh | Reuse::Stale | Reuse::StaleWhileRevalidate
        )
}
