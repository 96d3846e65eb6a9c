//! Variants of a key when none of them is known to answer a request (RFC 9111 §4.1): the origin may pick one of them by its
//! entity tag instead of sending it again (§4.3.1, §4.3.3).

use std::rc::Rc;
use std::sync::Arc;

use http::Method;
use rules::caching::precondition::has_conditions;
use rules::caching::validate::{may_be_picked, picks};
use store::KeyRef;
use wire::field::FieldId;
use wire::http1::{Framing, ResponseHead};

use crate::cache::fill::pick;
use crate::context::Context;
use crate::fetch::OriginBody;
use crate::flow::{Object, Received, Response, Slot};
use crate::record::Record;

/// The variants that the origin may pick from for a request that none of them is known to answer, the newest first.
pub(crate) fn other_variants(
    cx: &Context,
    received: &Received<'_>,
    record: &Record,
) -> Vec<Arc<Object>> {
    let fields = &received.head.fields;
    let asks = !record.cache.is_vary_miss()
        || received.head.method != Method::GET
        || received.framing != Framing::None
        || has_conditions(fields)
        || fields.has(FieldId::Range);
    if asks {
        return Vec::new();
    }
    let mut others = cx.store.variants(KeyRef::new(received.key()), |meta| {
        let Some(tag) = meta.etag() else {
            return false;
        };
        meta.part.is_none() && meta.status == 200 && may_be_picked(tag, meta.coding(), fields)
    });
    others.retain(|object| object.is_complete());
    // One of a tag is enough.
    let mut at = 0;
    while let Some(object) = others.get(at).cloned() {
        let mut place = 0;
        others.retain(|other| {
            place += 1;
            place <= at + 1 || other.meta.etag() != object.meta.etag()
        });
        at += 1;
    }
    others
}

/// Answers with the variant that a 304 picks; `Err` gives the slot back when it picks none.
pub(crate) fn pick_variant<'c>(
    cx: &Rc<Context>,
    received: &Received<'_>,
    others: &[Arc<Object>],
    slot: Slot,
    (head, body): (Box<ResponseHead>, Box<OriginBody<'c>>),
    record: &mut Record,
) -> Result<Response<'c>, Slot> {
    let mut head = head;
    let tagged = |object: &&Arc<Object>| {
        object
            .meta
            .etag()
            .is_some_and(|tag| picks(&head.fields, tag))
    };
    match others.iter().find(tagged) {
        Some(picked) => Ok(pick(cx, received, picked, slot, (&mut head, body), record)),
        None => Err(slot),
    }
}
