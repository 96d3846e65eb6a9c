//! Finds the client behind proxies that are trusted (`follow_x_forwarded_for`): X-Forwarded-For is
//! read from its end, one address at a time, for as long as the list trusts who wrote it.

use std::net::IpAddr;

use rules::{Learnt, List};
use smallvec::SmallVec;
use wire::{FieldId, Fields};

use super::check;
use crate::context::Context;
use crate::flow::Received;
use crate::record::Record;

/// Addresses of one request that are looked at.
const HOPS_MAX: usize = 64;

/// Learns who is behind the connection: for ACLs, delay pools and the log, as far as each is to know.
pub(crate) async fn follow(cx: &Context, received: &Received<'_>, record: &mut Record) {
    record.client = received.connection.client;
    if cx.plan.rules.list(List::FollowXForwardedFor).always() == Some(false) {
        return;
    }
    if let Some(client) = Box::pin(behind(cx, received)).await {
        let config = &cx.plan.config;
        if config.acl_uses_indirect_client {
            received.learnt.learn_indirect_client(client);
        }
        if config.delay_pool_uses_indirect_client {
            received.learnt.learn_delayed_client(client);
        }
        if config.log_uses_indirect_client {
            record.client.set_ip(client);
        }
    }
}

/// The address that the last trusted proxy names; `None` when the one that is connected isn't trusted
/// or names nobody.
async fn behind(cx: &Context, received: &Received<'_>) -> Option<IpAddr> {
    let mut client = None;
    let mut named = named_from_the_end(&received.head.fields);
    for _ in 0..HOPS_MAX {
        // What is learnt of this hop is not about the client.
        let learnt = Learnt::default();
        if let Some(hop) = client {
            learnt.learn_indirect_client(hop);
        }
        let hop = Received {
            learnt: &learnt,
            ..*received
        };
        if check(cx, List::FollowXForwardedFor, &hop).await.is_err() {
            return client;
        }
        match named.next().flatten() {
            Some(before) => client = Some(before),
            None => return client,
        }
    }
    tracing::warn!("X-Forwarded-For with more than {HOPS_MAX} addresses: the others are ignored");
    client
}

/// Addresses of all X-Forwarded-For fields from the last one; `None` for what isn't an address.
fn named_from_the_end(fields: &Fields) -> impl Iterator<Item = Option<IpAddr>> {
    let values: SmallVec<[&[u8]; 2]> = fields.get_all(FieldId::XForwardedFor).collect();
    values.into_iter().rev().flat_map(|value| {
        let is_between = |byte: &u8| matches!(byte, b',' | b' ' | b'\t');
        let words = value.rsplit(is_between);
        let words = words.filter(|word| !word.is_empty());
        words.map(|word| {
            let addr: Option<IpAddr> = std::str::from_utf8(word).ok()?.parse().ok();
            addr.map(|addr| addr.to_canonical())
        })
    })
}
