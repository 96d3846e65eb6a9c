//! PURGE: what is stored goes, or becomes stale, and whoever asked gets a receipt. An ACL that names the method turns it on;
//! who may use it is for `http_access` to say.

use std::sync::Arc;

use rules::caching::purge::{By, Purge};
use rules::caching::tags::origin;
use serde_json::{Value, json};
use stats::Counter;
use store::{Aim, Ban, Way};
use wire::field::FieldId;
use wire::http1::{ProxyAuth, ResponseHead};

use crate::cache::tags;
use crate::context::Context;
use crate::flow::{Content, Head, Received, Response};
use crate::record::{Hierarchy, Record, ResultTag};
use crate::reply::clean;
use crate::reply::errors::Form;

/// What the reply says: status, and lines of name and value.
type Receipt = (u16, Vec<(&'static str, Value)>);

/// Carries a PURGE out. The reply comes when nobody gets any more what was stored, and says how much that was.
pub(crate) async fn purge<'c>(
    cx: &Context,
    received: &Received<'_>,
    record: &mut Record,
) -> Response<'c> {
    record.tag(ResultTag::None);
    record.hierarchy = Hierarchy::None;
    let everywhere = cx.plan.config.purge_all_origins;
    let receipt = match Purge::of(received.target, &received.head.fields, everywhere) {
        Ok(purge) => carry_out(cx, received, &purge).await,
        Err(bad) => refused(400, &bad),
    };
    reply(cx, received, receipt)
}

async fn carry_out(cx: &Context, received: &Received<'_>, purge: &Purge) -> Receipt {
    let now = cx.unix_secs();
    let way = if purge.soft {
        Way::Stale { since: now }
    } else {
        Way::Remove
    };
    let ban = match cx.store.ban(aim(cx, received, &purge.by), way, now) {
        Ok(ban) => ban,
        Err(full) => {
            cx.cells.count(Counter::LimitBans);
            sweep(cx, now);
            return refused(503, &full);
        }
    };
    let objects = if let By::Url = purge.by {
        cx.store.carry_out(&ban)
    } else {
        match carry_out_aside(cx, ban).await {
            Some(objects) => objects,
            None => return refused(500, &"the count is lost"),
        }
    };
    cx.cells.count(Counter::Purges);
    cx.cells.add(Counter::PurgedObjects, objects);
    if cx.store.sweep_is_due(now) {
        sweep(cx, now);
    }
    // As in Squid.
    let nothing = objects == 0 && matches!(purge.by, By::Url);
    let mut lines = vec![
        ("objects", json!(objects)),
        ("kind", json!(if purge.soft { "soft" } else { "hard" })),
    ];
    lines.push(named(received, &purge.by));
    (if nothing { 404 } else { 200 }, lines)
}

/// In a thread of its own, because there may be much to look at. `None`: it panicked.
async fn carry_out_aside(cx: &Context, ban: Arc<Ban>) -> Option<u64> {
    let store = Arc::clone(&cx.store);
    let carried_out = tokio::task::spawn_blocking(move || store.carry_out(&ban));
    carried_out.await.ok()
}

/// In the background, so that bans can be forgotten.
fn sweep(cx: &Context, now: i64) {
    let store = Arc::clone(&cx.store);
    drop(tokio::task::spawn_blocking(move || store.sweep(now)));
}

fn aim(cx: &Context, received: &Received<'_>, by: &By) -> Aim {
    let under = if cx.plan.config.purge_all_origins {
        Vec::new()
    } else {
        origin(received.target)
    };
    match by {
        By::Url => Aim::Key(received.key().into()),
        By::Tags(tags) => Aim::Tagged {
            tags: tags.iter().map(|tag| tags::named(tag)).collect(),
            under: under.into(),
        },
        By::Groups(groups) => Aim::Tagged {
            tags: tags::of_groups(received.target, groups).into(),
            under: Box::default(),
        },
        By::Prefix(prefix) => {
            let prefix = prefix.clone();
            Aim::Keys(Box::new(move |key| key.starts_with(&prefix)))
        }
        By::Pattern { regex, .. } => {
            let regex = regex.clone();
            Aim::Keys(Box::new(move |key| {
                key.starts_with(&under) && regex.is_match(key)
            }))
        }
    }
}

/// What it was purged by, as it was understood.
fn named(received: &Received<'_>, by: &By) -> (&'static str, Value) {
    let text = |bytes: &[u8]| Value::from(String::from_utf8_lossy(bytes));
    match by {
        By::Url => ("url", text(received.key())),
        By::Tags(tags) => ("tags", tags.iter().map(|tag| text(tag)).collect()),
        By::Groups(groups) => ("groups", json!(groups)),
        By::Prefix(prefix) => ("prefix", text(prefix)),
        By::Pattern { text, .. } => ("pattern", json!(text)),
    }
}

fn refused(status: u16, why: &impl ToString) -> Receipt {
    (status, vec![("error", json!(why.to_string()))])
}

fn reply<'c>(cx: &Context, received: &Received<'_>, (status, lines): Receipt) -> Response<'c> {
    let mut head = Box::new(ResponseHead::with_status(status));
    let mut body = cx.buffers.take();
    let form = cx.plan.errors.form(Some(&received.head.fields));
    let kind: &[u8] = if form == Form::Problem {
        let object: Value = lines.into_iter().collect();
        body.extend_from_slice(object.to_string().as_bytes());
        b"application/json"
    } else {
        for (name, value) in &lines {
            write_line(name, value, &mut body);
        }
        b"text/plain; charset=utf-8"
    };
    head.fields.push_id(FieldId::ContentType, kind);
    if status == 503 {
        head.fields.push_id(FieldId::RetryAfter, b"1");
    }
    clean(cx, &mut head, ProxyAuth::Drop);
    Response {
        head: Head::Built(head),
        length: Some(body.len() as u64),
        content: Content::Page(body),
        content_max: None,
        close: false,
    }
}

/// `tags: a b`. Text from fields has no control characters.
fn write_line(name: &str, value: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.push(b':');
    let one = std::slice::from_ref(value);
    for value in value.as_array().map_or(one, Vec::as_slice) {
        out.push(b' ');
        match value.as_str() {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => out.extend_from_slice(value.to_string().as_bytes()),
        }
    }
    out.push(b'\n');
}
