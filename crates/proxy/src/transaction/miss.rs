//! What follows when the cache has no fresh answer: fetch, fill, complete, validate.

use std::rc::Rc;
use std::sync::Arc;

use http::Method;
use wire::field::FieldId;
use wire::http1::Framing;

use crate::cache::{AtHole, Conditions, Met, Parts};
use crate::context::Context;
use crate::failure::{Failure, FailureKind, Side};
use crate::fetch::{self, Fetched, Order};
use crate::flow::{Admitted, Object, Received, Response, Slot, Start};
use crate::listen::client::{ClientIn, ClientOut};
use crate::record::{Record, ResultTag};
use crate::reply::Forward;
use crate::{access, cache};

/// Not in the cache, and not to be: fetched for this client alone.
pub(super) async fn pass<'c>(
    cx: &'c Rc<Context>,
    admitted: &Admitted<'_>,
    input: &'c mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Response<'c>, Failure> {
    let received = admitted.received;
    access::admit_miss(cx, received).await?; // miss_access
    let order = Order::plain();
    // Made before the origin is asked: a purge meanwhile is for the answer too.
    let may_answer_get = received.head.method == Method::POST;
    let slot = may_answer_get.then(|| cache::may_fill(cx, received));
    match fetch::send(cx, admitted, order, Some(input), Some(output), record).await? {
        Fetched::Response(head, body) if cache::answers_get(received, &head) => {
            Ok(cache::store(cx, received, None, slot, head, body, record))
        }
        Fetched::Response(head, body) => Ok(cache::pass(cx, received, head, body, record)),
        Fetched::Upgraded(_) => Err(unasked()),
    }
}

/// Not in the cache: one request fetches and stores, the others read along.
pub(super) async fn fill<'c>(
    cx: &'c Rc<Context>,
    admitted: &Admitted<'_>,
    start: Start,
    input: &'c mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Response<'c>, Failure> {
    let received = admitted.received;
    access::admit_miss(cx, received).await?; // miss_access
    let slot = match cache::meet(cx, received, start, None, record).await {
        Met::Lead(slot) => slot,
        Met::Alone => return pass(cx, admitted, input, output, record).await,
        Met::Object(object) => {
            return match in_time(cache::answer(cx, received, object, record), record) {
                Some(response) => Ok(response),
                None => pass(cx, admitted, input, output, record).await,
            };
        }
    };
    let others = cache::other_variants(cx, received, record);
    let order = Order {
        conditions: instead_of_the_clients(cx, received, &others),
        upgrade: false,
        wanted: &|| slot.waiters() > 0,
    };
    match fetch::send(cx, admitted, order, Some(input), Some(output), record).await? {
        Fetched::Response(head, body) if head.status == 304 && !others.is_empty() => {
            let reply = (head, body);
            match cache::pick_variant(cx, received, &others, slot, reply, record) {
                Ok(response) => Ok(response),
                Err(slot) => {
                    Box::pin(refetch(cx, admitted, None, Some(slot), output, record)).await
                }
            }
        }
        Fetched::Response(head, body) => Ok(cache::store(
            cx,
            received,
            None,
            Some(slot),
            head,
            body,
            record,
        )),
        Fetched::Upgraded(_) => Err(unasked()),
    }
}

/// What a miss asks of the origin, if not what the client does.
fn instead_of_the_clients(
    cx: &Context,
    received: &Received<'_>,
    others: &[Arc<Object>],
) -> Option<Conditions> {
    if received.head.fields.has(FieldId::Range) {
        return cache::fetches_whole(cx, received).then_some(Conditions::Whole);
    }
    if !others.is_empty() {
        return Some(Conditions::Which(others.to_vec()));
    }
    (!cx.plan.config.cache_miss_revalidate).then_some(Conditions::Anew)
}

/// Stored in parts: what is missing is fetched, then the client gets what it has asked for.
pub(super) async fn complete<'c>(
    cx: &'c Rc<Context>,
    admitted: &Admitted<'_>,
    mut parts: Box<Parts>,
    input: &'c mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Response<'c>, Failure> {
    let received = admitted.received;
    if parts.hole().is_some() {
        access::admit_miss(cx, received).await?; // miss_access
    }
    let mut waited = 0;
    while let Some(hole) = parts.hole() {
        let name = parts.name_of(hole);
        let slot = match cache::meet_at_hole(cx, received, &name, waited, record).await {
            AtHole::Lead(slot) => slot,
            AtHole::Again => {
                waited += 1;
                if let Some(object) = cache::find_whole(cx, received) {
                    let answer = cache::answer(cx, received, object, record);
                    if let Some(response) = in_time(answer, record) {
                        return Ok(response);
                    }
                } else if let Some(more) = cache::gather_again(cx, received).await {
                    *parts = more;
                    continue;
                }
                return pass(cx, admitted, input, output, record).await;
            }
        };
        let validator = parts.validator().into();
        let order = Order {
            conditions: Some(Conditions::Missing { hole, validator }),
            upgrade: false,
            wanted: &|| slot.waiters() > 0,
        };
        let fetched = fetch::send(cx, admitted, order, None, Some(output), record).await?;
        let Fetched::Response(mut head, body) = fetched else {
            return Err(unasked());
        };
        if head.status == 200 {
            parts.forget(cx);
            let slot = Some(slot);
            return Ok(cache::store(cx, received, None, slot, head, body, record));
        }
        let place = (hole, slot);
        if !cache::fill_hole(cx, received, &mut parts, place, &mut head, body, record) {
            parts.forget(cx);
            return pass(cx, admitted, input, output, record).await;
        }
    }
    if let Some(object) = cache::join(cx, &parts, record) {
        return Ok(cache::answer(cx, received, object, record));
    }
    match cache::answer_from_parts(cx, *parts, record) {
        Some(response) => Ok(response),
        None => pass(cx, admitted, input, output, record).await,
    }
}

/// Stored, but stale: the origin says whether it still holds (RFC 9111 §4.3). One request asks for all who want to know.
pub(super) async fn validate<'c>(
    cx: &'c Rc<Context>,
    admitted: &Admitted<'_>,
    stale: Arc<Object>,
    input: &'c mut ClientIn,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Response<'c>, Failure> {
    let received = admitted.received;
    access::admit_miss(cx, received).await?; // miss_access
    let met = match cache::begin_validation(cx, received, &stale) {
        Some(start) => cache::meet(cx, received, start, Some(&stale), record).await,
        None => Met::Alone,
    };
    let slot = match met {
        Met::Lead(slot) => Some(slot),
        Met::Alone => None,
        Met::Object(object) => {
            let answer = cache::validated(cx, received, &stale, object, record);
            return match in_time(answer, record) {
                Some(response) => Ok(response),
                None => pass(cx, admitted, input, output, record).await,
            };
        }
    };
    let order = Order {
        conditions: Some(Conditions::Holds(Arc::clone(&stale))),
        upgrade: false,
        wanted: &|| slot.as_ref().is_some_and(|slot| slot.waiters() > 0),
    };
    match fetch::send(cx, admitted, order, Some(input), Some(output), record).await {
        Ok(Fetched::Response(head, _)) if cache::is_unfounded(cx, &stale, &head) => {
            Box::pin(refetch(cx, admitted, Some(&stale), slot, output, record)).await
        }
        Ok(Fetched::Response(head, body)) => Ok(cache::store(
            cx,
            received,
            Some(&stale),
            slot,
            head,
            body,
            record,
        )),
        Ok(Fetched::Upgraded(_)) => Err(unasked()),
        // A stale response is better than none, where the rules allow it (RFC 9111 §4.2.4).
        Err(failure) if failure.side == Side::Hop && cache::may_serve_stale(cx, &stale) => {
            if let Some(slot) = slot {
                slot.keep(&stale);
            }
            record.tag(ResultTag::RefreshFailOld);
            record.cache.hit_after_failure();
            Ok(cache::answer(cx, received, stale, record))
        }
        Err(failure) => {
            record.tag(ResultTag::RefreshFailErr);
            Err(failure)
        }
    }
}

/// The origin has confirmed something that we don't have: it is asked again, without conditions.
async fn refetch<'c>(
    cx: &'c Rc<Context>,
    admitted: &Admitted<'_>,
    stale: Option<&Arc<Object>>,
    slot: Option<Slot>,
    output: &mut ClientOut,
    record: &mut Record,
) -> Result<Response<'c>, Failure> {
    let received = admitted.received;
    if received.framing != Framing::None {
        // The request's content is spent.
        return Err(Failure::hop(
            FailureKind::InvalidResp,
            "a 304 for something else",
        ));
    }
    let order = Order {
        wanted: &|| slot.as_ref().is_some_and(|slot| slot.waiters() > 0),
        ..Order::plain()
    };
    match fetch::send(cx, admitted, order, None, Some(output), record).await? {
        Fetched::Response(head, body) => {
            Ok(cache::store(cx, received, stale, slot, head, body, record))
        }
        Fetched::Upgraded(_) => Err(unasked()),
    }
}

/// The response, unless it was only shared and its first bytes are gone: then the request goes on without it.
pub(super) fn in_time<'c>(response: Response<'c>, record: &mut Record) -> Option<Response<'c>> {
    if response.content.came_too_late() {
        record.cache.forwarded(Forward::Miss);
        return None;
    }
    Some(response)
}

pub(super) fn unasked() -> Failure {
    Failure::new(FailureKind::InvalidResp, Side::Hop).with_detail("switched protocols unasked")
}
