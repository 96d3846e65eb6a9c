//! From a hop's response into the store, and to the client at the same time.
//!
//! | the response is | what happens |
//! | --- | --- |
//! | 304 to our question | the stored one is updated and used |
//! | not to be stored | passed on; those who waited go on by themselves |
//! | here as a whole | stored and answered from the store |
//! | still arriving | published; a task fills it, this client and others read along |

use std::rc::Rc;
use std::sync::Arc;

use http::Method;
use rules::caching::freshness::Traits;
use rules::caching::storable::Storable;
use rules::caching::validate::agrees;
use rules::caching::vary::Selector;
use rules::{List, ReplyFacts};
use stats::{Counter, Gauge};
use store::{Filler, Keep, KeyRef};
use wire::field::FieldId;
use wire::http1::{Framing, ProxyAuth, ResponseHead, kept_coding};

use crate::access;
use crate::cache::stored::{self, StoredResponse, exchange};
use crate::cache::{self, answer, is_unfounded, may_serve_stale, part, pass, tags};
use crate::context::Context;
use crate::fetch::{OriginBody, Piece};
use crate::flow::{Head, Object, Received, Response, Slot};
use crate::record::{Record, ResultTag};
use crate::reply::{Detail, clean, stored_head};

/// Stores the response if it may be stored, and answers with it either way.
pub(crate) fn store<'c>(
    cx: &Rc<Context>,
    received: &Received<'_>,
    stale: Option<&Arc<Object>>,
    slot: Option<Slot>,
    mut head: Box<ResponseHead>,
    body: Box<OriginBody<'c>>,
    record: &mut Record,
) -> Response<'c> {
    if let Some(old) = stale {
        if head.status == 304 && !is_unfounded(cx, old, &head) {
            return update(cx, received, old, slot, (&mut head, body), record);
        }
        let failed = head.status >= 500;
        if failed && may_serve_stale(cx, old) {
            if let Some(slot) = slot {
                slot.keep(old);
            }
            record.tag(ResultTag::RefreshFailOld);
            return answer(cx, received, Arc::clone(old), record);
        }
        record.tag(if failed {
            ResultTag::RefreshFailErr
        } else {
            ResultTag::RefreshModified
        });
    }
    if received.head.method == Method::HEAD {
        check_by_head(cx, received, &mut head);
        return release(cx, received, slot, head, body, record);
    }
    if let Some(why) = kept(&head, &body) {
        record.cache.because(Detail::Kept(why));
        return release(cx, received, slot, head, body, record);
    }
    cache::invalidate_for(cx, received, &head);
    if head.status == 206 {
        return part::store(cx, received, slot, head, body, record);
    }
    let version = head.version;
    clean(cx, &mut head, ProxyAuth::Drop);
    let Some(storable) = storable(cx, received, &head, record) else {
        if let Some(old) = stale {
            cx.store.remove_object(old);
        }
        return release(cx, received, slot, head, body, record);
    };
    if is_too_large(cx, &storable, body.length()) {
        record.cache.because(Detail::Kept("too-large"));
        return release(cx, received, slot, head, body, record);
    }
    let Some(tags) = tags::of(cx, received, &head) else {
        record.cache.because(Detail::Kept("too-many-tags"));
        return release(cx, received, slot, head, body, record);
    };
    let slot = slot.unwrap_or_else(|| cache::may_fill(cx, received));
    let slot = match stale {
        Some(old) => slot.since(old),
        None => slot,
    };
    if let Some(old) = stale {
        cx.store.retire(old);
    }
    let length = body.length();
    let whole = body.whole().map(<[u8]>::len);
    let meta = StoredResponse::new(cx, &head, version, storable, tags, length);
    match (whole, body.into_owned()) {
        (Some(length), Ok(mut body)) => {
            let object = slot.insert(meta, body.whole().unwrap_or_default());
            body.finish_whole(length);
            note_stored(cx, Some(length as u64), record);
            let response = answer::fresh(cx, received, object, record);
            let response = with_unstored(cx, response, &head, record);
            cx.heads.give(head);
            response
        }
        (None, Ok(body)) => {
            cx.cells.count(Counter::Fills);
            let (object, filler) = slot.publish(meta, length, Keep::Store);
            note_stored(cx, length, record);
            let response = answer::fresh(cx, received, object, record);
            let response = with_unstored(cx, response, &head, record);
            let method = received.head.method.clone();
            tokio::task::spawn_local(fill(Rc::clone(cx), method, body, filler));
            cx.heads.give(head);
            response
        }
        // The client's content is still on its way: the response is tied to it.
        (_, Err(body)) => {
            slot.release();
            pass(cx, received, head, body, record)
        }
    }
}

/// What isn't stored of the hop's reply goes to the client that caused it.
fn with_unstored<'c>(
    cx: &Context,
    mut response: Response<'c>,
    from: &ResponseHead,
    record: &Record,
) -> Response<'c> {
    let unstored = from.fields.iter();
    let mut unstored = unstored
        .filter(|line| stored::is_for_one(cx, line.id))
        .peekable();
    if unstored.peek().is_none() {
        return response;
    }
    if let Head::Stored(object) = &response.head {
        response.head = Head::Built(stored_head(cx, object, record));
    }
    if let Head::Built(head) = &mut response.head {
        let aged = head.fields.has(FieldId::Age);
        for line in unstored.filter(|line| !aged || line.id != FieldId::Age) {
            head.fields.push_id(line.id, line.value);
        }
    }
    response
}

/// Why a response is not looked at any further, if it isn't.
fn kept(head: &ResponseHead, body: &OriginBody<'_>) -> Option<&'static str> {
    if head.status == 304 {
        Some("not-modified")
    } else if body.proxy_only {
        Some("proxy-only")
    } else if kept_coding(&head.fields).is_some() {
        Some("transfer-coding")
    } else {
        None
    }
}

/// May it be stored, and for how long? If not, `record` is told why.
pub(super) fn storable(
    cx: &Context,
    received: &Received<'_>,
    head: &ResponseHead,
    record: &mut Record,
) -> Option<Storable> {
    let allowed = match cx.plan.rules.list(List::StoreMiss).always() {
        Some(always) => always,
        None => {
            let reply = ReplyFacts {
                status: head.status,
                fields: &head.fields,
            };
            access::allows_reply(cx, List::StoreMiss, received, reply, record)
        }
    };
    if !allowed {
        record.cache.because(Detail::Kept("store_miss"));
        return None;
    }
    // Who asks without that content would get what it brought about.
    let has_content = !matches!(received.framing, Framing::None | Framing::Length(0));
    if has_content && received.head.method == Method::GET {
        record.cache.because(Detail::Kept("request-content"));
        return None;
    }
    let caching = &cx.plan.rules.caching;
    let judged = caching.storable(&exchange(cx, received, head));
    cx.tally.borrow_mut().judged(&judged);
    judged
        .map_err(|why| record.cache.because(Detail::NotStored(why)))
        .ok()
}

/// It is stored, or will be as far as can be told: by its length it may be.
fn note_stored(cx: &Context, length: Option<u64>, record: &mut Record) {
    let for_memory = length.is_none_or(|length| length <= cx.store.options().object_bytes_max);
    if for_memory || for_disk(cx, length) {
        record.cache.stored();
    } else {
        record.cache.because(Detail::Kept("too-large"));
    }
}

/// Neither to be stored, nor small enough to be held for those who read along: each fetches for
/// itself, so that a slow one holds back nobody. A spare is nothing to read along with.
fn is_too_large(cx: &Context, storable: &Storable, length: Option<u64>) -> bool {
    let options = cx.store.options();
    let joined_bytes_max = match storable.freshness.traits.has(Traits::SPARE) {
        true => 0,
        false => options.join_bytes_max,
    };
    let for_memory = options.object_bytes_max.max(joined_bytes_max);
    length.is_some_and(|length| length > for_memory) && !for_disk(cx, length)
}

/// Would a disk take it?
fn for_disk(cx: &Context, length: Option<u64>) -> bool {
    let volumes = cx.store.volumes();
    volumes.is_some_and(|volumes| volumes.takes(length))
}

pub(super) fn release<'c>(
    cx: &Rc<Context>,
    received: &Received<'_>,
    slot: Option<Slot>,
    head: Box<ResponseHead>,
    body: Box<OriginBody<'c>>,
    record: &mut Record,
) -> Response<'c> {
    if let Some(slot) = slot {
        slot.release();
    }
    pass(cx, received, head, body, record)
}

/// A response to HEAD tells of what is stored for GET (RFC 9111 §4.3.5): whether it still holds, and
/// with which fields.
fn check_by_head(cx: &Context, received: &Received<'_>, head: &mut ResponseHead) {
    let key = KeyRef::new(received.key());
    let mut selector = Selector::of(&received.head.fields);
    let Some(old) = cx.store.find(key, |meta| meta.answers(&mut selector)) else {
        return;
    };
    if head.status != old.meta.status || !old.is_complete() {
        return;
    }
    let stored = stored::build(cx, &old, false);
    let same = agrees(&head.fields, &stored.fields, old.length());
    cx.heads.give(stored);
    if !same {
        cx.store.remove_object(&old);
        return;
    }
    clean(cx, head, ProxyAuth::Drop);
    let meta = old.meta.updated(cx, received, head);
    cx.store.update(&old, meta);
}

/// RFC 9111 §4.3.4: the stored response takes the 304's fields and is fresh again.
fn update<'c>(
    cx: &Rc<Context>,
    received: &Received<'_>,
    old: &Arc<Object>,
    slot: Option<Slot>,
    (head, mut body): (&mut ResponseHead, Box<OriginBody<'c>>),
    record: &mut Record,
) -> Response<'c> {
    take_304(cx, head, &mut body, record);
    let meta = old.meta.updated(cx, received, head);
    let object = match slot {
        Some(slot) => slot.update(old, meta),
        None => cx.store.update(old, meta),
    };
    let response = answer(cx, received, object, record);
    with_unstored(cx, response, head, record)
}

/// Makes a 304's fields ready to be stored; its connection is free at once.
fn take_304(cx: &Context, head: &mut ResponseHead, body: &mut OriginBody<'_>, record: &mut Record) {
    body.finish_whole(0);
    clean(cx, head, ProxyAuth::Drop);
    record.tag(ResultTag::RefreshUnmodified);
    record.cache.stored();
}

/// RFC 9111 §4.3.3: a variant that the origin has picked for this request is the answer, and is kept for the like of it.
pub(super) fn pick<'c>(
    cx: &Rc<Context>,
    received: &Received<'_>,
    picked: &Arc<Object>,
    slot: Slot,
    (head, mut body): (&mut ResponseHead, Box<OriginBody<'c>>),
    record: &mut Record,
) -> Response<'c> {
    take_304(cx, head, &mut body, record);
    let meta = picked.meta.picked(cx, received, head);
    let object = slot.add(picked, meta);
    let response = answer(cx, received, object, record);
    with_unstored(cx, response, head, record)
}

/// Fills a published response, which that method has asked for, to its end. Goes on while clients read it; when the last one leaves,
/// `quick_abort_*` says whether the rest is worth fetching.
pub(super) async fn fill(
    cx: Rc<Context>,
    method: Method,
    mut body: Box<OriginBody<'static>>,
    mut filler: Filler<StoredResponse>,
) {
    let cells = Arc::clone(&cx.cells);
    let _open = cells.during(Gauge::FillsOpen);
    // While it has readers, which may be of other workers.
    let mut hold = Some(cx.busy.hold());
    loop {
        let piece = tokio::select! {
            biased;
            piece = body.next() => piece,
            () = filler.all_readers_gone(), if hold.is_some() => {
                if !worth_finishing(&cx, &filler) {
                    break;
                }
                hold = None;
                continue;
            }
        };
        match piece {
            Ok(Piece::Data(data)) => {
                if filler.append(data).is_err() {
                    // Longer than its origin has said: nothing of it is to be believed.
                    cx.cells.count(Counter::FillsFailed);
                    filler.fail();
                    return;
                }
                filler.ready().await;
            }
            Ok(Piece::End) => {
                match filler.end() {
                    Ok(saving) => {
                        hold.get_or_insert_with(|| cx.busy.hold());
                        saving.saved().await;
                    }
                    Err(_short) => cx.cells.count(Counter::FillsFailed),
                }
                return;
            }
            Err(failure) => {
                tracing::debug!("fill failed: {failure}");
                break;
            }
        }
    }
    cx.cells.count(Counter::FillsFailed);
    give_up(&cx, &method, filler);
}

/// Cuts a response. What has come of it is kept as a part, if the rest can be asked for (RFC 9111 §3.3).
fn give_up(cx: &Context, method: &Method, filler: Filler<StoredResponse>) {
    let object = Arc::clone(filler.object());
    let part = part::of_cut(cx, &object, filler.length(), filler.received());
    // Parts are used while they are fresh.
    let is_of_use = *method == Method::GET && object.meta.freshness.is_fresh(cx.unix_secs());
    match part.filter(|_| is_of_use) {
        Some(part) => drop(filler.keep_prefix(object.meta.cut(part))),
        None => filler.fail(),
    }
}

/// `quick_abort_min`, `_max`, `_pct`.
fn worth_finishing(cx: &Context, filler: &Filler<StoredResponse>) -> bool {
    let config = &cx.plan.config;
    let Some(min) = config.quick_abort_min else {
        return true;
    };
    let Some(length) = filler.length() else {
        return false;
    };
    let received = filler.received();
    let left = length.saturating_sub(received);
    if left < min {
        return true;
    }
    if left > config.quick_abort_max {
        return false;
    }
    let done = u128::from(received) * 100;
    done > u128::from(length) * u128::from(config.quick_abort_pct)
}
