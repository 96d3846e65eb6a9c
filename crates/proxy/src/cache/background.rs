//! `stale-while-revalidate` (RFC 5861 §3): the client gets the stale response at once, and the origin
//! is asked meanwhile. One question at a time for each stored response.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use http::Method;
use rules::Learnt;
use wire::http1::{Framing, RequestHead};
use wire::target::Target;

use crate::access;
use crate::cache::{self, Conditions};
use crate::context::Context;
use crate::fetch::{self, Fetched, Order};
use crate::flow::{Admitted, Connection, Content, Object, Permit, Received};
use crate::record::Record;

/// Questions under way in a worker; beyond that, the next request for a response asks.
const UNDER_WAY_MAX: usize = 256;

/// What is kept of a request when its client has been served.
struct Kept {
    connection: Connection,
    head: RequestHead,
    target: Target,
    asked: Option<Target>,
    learnt: Learnt,
    permit: Permit,
}

impl Kept {
    fn of(admitted: &Admitted<'_>) -> Self {
        let received = admitted.received;
        let learnt = Learnt::default();
        if let Some(id) = received.learnt.store_id() {
            learnt.learn_store_id(id);
        }
        let mut head = received.head.clone();
        head.method = Method::GET;
        Self {
            connection: received.connection.for_the_proxy(),
            head,
            target: received.target.clone(),
            asked: received.asked.cloned(),
            learnt,
            permit: admitted.permit.clone(),
        }
    }
}

/// Asks the origin whether a stale response still holds, while the client gets it.
pub(crate) fn validate(cx: &Rc<Context>, admitted: &Admitted<'_>, stale: &Arc<Object>) {
    let whole = admitted.received.framing == Framing::None;
    let room = Rc::strong_count(&cx.background) <= UNDER_WAY_MAX;
    if !whole || !room || stale.meta.validating.swap(true, Relaxed) {
        return;
    }
    let (cx, stale) = (Rc::clone(cx), Arc::clone(stale));
    let kept = Kept::of(admitted);
    let under_way = Rc::clone(&cx.background);
    tokio::task::spawn_local(async move {
        ask(&cx, kept, &stale).await;
        stale.meta.validating.store(false, Relaxed);
        drop(under_way);
    });
}

async fn ask(cx: &Rc<Context>, kept: Kept, stale: &Arc<Object>) {
    let received = &Received {
        connection: &kept.connection,
        head: &kept.head,
        target: &kept.target,
        asked: kept.asked.as_ref(),
        framing: Framing::None,
        learnt: &kept.learnt,
        now: cx.clock.now(),
    };
    if access::admit_miss(cx, received).await.is_err() {
        return;
    }
    let admitted = Admitted {
        received,
        permit: kept.permit,
    };
    let order = Order {
        conditions: Some(Conditions::Holds(Arc::clone(stale))),
        ..Order::plain()
    };
    let record = &mut Record::default();
    match fetch::send(cx, &admitted, order, None, None, record).await {
        Ok(Fetched::Response(head, _)) if cache::is_unfounded(cx, stale, &head) => {
            cx.store.remove_object(stale);
        }
        Ok(Fetched::Response(head, body)) => {
            let response = cache::store(cx, received, Some(stale), None, head, body, record);
            read_along(response.content).await;
        }
        Ok(Fetched::Upgraded(_)) => {}
        Err(failure) => tracing::debug!("background validation failed: {failure}"),
    }
}

/// To the end, so that what arrives is not given up for want of readers.
async fn read_along(content: Content<'_>) {
    let readers = match content {
        Content::Stored { reader, .. } => vec![reader],
        Content::Parts(assembly) => assembly.readers,
        Content::Empty | Content::Page(_) | Content::Origin(_) => return,
    };
    for mut reader in readers {
        while let Some(Ok(_)) = reader.next().await {}
    }
}
