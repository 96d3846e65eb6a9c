//! Delay pools: bandwidth that streams of bytes share. What comes from a server is taken from the buckets of the
//! first of `delay_pools` that the request falls into; what goes to a client, from those of `response_delay_pool`
//! or `client_delay_pools`. Without a pool there is no `Delay`, and nothing to look at.
//!
//! Bytes are taken when they are here, and go on when they are paid for: what a stream brings is held for so long,
//! and no more of it is read.

mod bucket;
mod pool;
pub mod report;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::Config;
use net::clock::Clock;
use rules::delay::Taker;
use rules::{List, ReplyFacts};
use smallvec::SmallVec;
use stats::{Cells, Counter};

use crate::access;
use crate::cache::stored;
use crate::context::Context;
use crate::flow::{Head, Received, Response};
use crate::input::READ_LARGE_BYTES;
use crate::record::Record;
use bucket::{Bucket, effective};
use pool::Pool;

/// A stream takes this part of a second's bytes at once: often enough to be smooth, seldom enough to be cheap.
const STEPS_A_SECOND: u64 = 32;
/// … and this at least.
const STEP_BYTES_MIN: usize = 512;

/// All pools of a configuration. Those of a kind that isn't configured are an empty list.
#[derive(Debug)]
pub(crate) struct Delays {
    hop: Vec<Pool>,
    client: Vec<Pool>,
    response: Vec<Pool>,
}

impl Delays {
    /// The pools of the configuration. Those that were the same `before` keep their buckets.
    pub(crate) fn new(config: &Config, before: Option<&Self>) -> Self {
        let (hop, client, response) = before.map_or_else(Default::default, |before| {
            (&*before.hop, &*before.client, &*before.response)
        });
        let level = config.delay_initial_bucket_level;
        let hops = config.delay_pools.iter().zip(1..);
        let hops = hops.filter_map(|(pool, number)| {
            let limits = &pool.as_ref()?.limits;
            Some(Pool::new(List::DelayAccess(number), limits, level, hop))
        });
        let level = config.client_delay_initial_bucket_level;
        let clients = config.client_delay_pools.iter().zip(1..);
        let clients = clients.map(|(limit, number)| {
            let list = List::ClientDelayAccess(number);
            Pool::new(list, limit.as_slice(), level, client)
        });
        let lists = &config.response_delay_pool_access;
        let responses = config.response_delay_pool.iter();
        let responses = responses.filter_map(|pool| {
            let index = lists.iter().position(|(name, _)| *name == pool.name)?;
            let list = List::ResponseDelayAccess(index);
            let level = pool.initial_bucket_level;
            Some(Pool::new(list, &pool.limits, level, response))
        });
        Self {
            hop: hops.collect(),
            client: clients.collect(),
            response: responses.collect(),
        }
    }

    /// For what servers send because of this request (`delay_pools`).
    pub(crate) fn of_hop(&self, cx: &Context, received: &Received<'_>) -> Option<Rc<Delay>> {
        if self.hop.is_empty() {
            return None;
        }
        let allows = |pool: &&Pool| access::allows(cx, pool.list, received);
        Delay::new(cx, self.hop.iter().find(allows)?, received)
    }

    /// For what is sent to the client of this request (`client_delay_pools`).
    pub(crate) fn of_client(&self, cx: &Context, received: &Received<'_>) -> Option<Rc<Delay>> {
        if self.client.is_empty() {
            return None;
        }
        let allows = |pool: &&Pool| access::allows(cx, pool.list, received);
        Delay::new(cx, self.client.iter().find(allows)?, received)
    }

    /// For what is sent to the client as this reply; `None` where no `response_delay_pool` says.
    pub(crate) fn of_reply(
        &self,
        cx: &Context,
        received: &Received<'_>,
        response: &Response<'_>,
        record: &Record,
    ) -> Option<Rc<Delay>> {
        if self.response.is_empty() {
            return None;
        }
        let first = |status, fields| {
            let reply = ReplyFacts { status, fields };
            let allows =
                |pool: &&Pool| access::allows_reply(cx, pool.list, received, reply, record);
            self.response.iter().find(allows)
        };
        let pool = match &response.head {
            Head::Built(head) => first(head.status, &head.fields),
            Head::Page { status, fields, .. } => first(*status, &fields.fields),
            Head::Stored(object) => {
                let head = stored::build(cx, object, true);
                let pool = first(head.status, &head.fields);
                cx.heads.give(head);
                pool
            }
        };
        Delay::new(cx, pool?, received)
    }
}

/// The buckets that one stream takes from.
#[derive(Debug)]
pub(crate) struct Delay {
    buckets: SmallVec<[Arc<Bucket>; 4]>,
    /// Bytes that are taken at once at most.
    step: usize,
    clock: Clock,
    cells: Arc<Cells>,
}

impl Delay {
    /// `None` where the pool limits nothing for this taker.
    fn new(cx: &Context, pool: &Pool, received: &Received<'_>) -> Option<Rc<Self>> {
        let learnt = received.learnt;
        let tag = learnt.notes(|notes| notes.last("tag").map(str::to_owned));
        let tag = tag.flatten();
        let connected = received.connection.client.ip();
        let taker = Taker {
            addr: learnt.delayed_client().unwrap_or(connected),
            user: learnt.user().map(|user| &**user),
            tag: tag.as_deref(),
        };
        let mut buckets = SmallVec::new();
        let mut slowest = u64::MAX;
        for (bucket, rate) in pool.buckets(&taker, cx.clock.now().mono_ns) {
            slowest = slowest.min(effective(rate));
            buckets.push(bucket);
        }
        let step = usize::try_from(slowest / STEPS_A_SECOND).unwrap_or(usize::MAX);
        (!buckets.is_empty()).then(|| {
            Rc::new(Self {
                buckets,
                step: step.clamp(STEP_BYTES_MIN, READ_LARGE_BYTES),
                clock: cx.clock,
                cells: Arc::clone(&cx.cells),
            })
        })
    }

    /// Bytes that are to be taken at once at most.
    pub(crate) fn step(&self) -> usize {
        self.step
    }

    /// Takes bytes from all buckets, and waits until they may go on. Who stops waiting has paid all the same.
    pub(crate) async fn pay(&self, bytes: usize) {
        let now_ns = self.clock.now().mono_ns;
        let turns = self.buckets.iter().map(|bucket| bucket.take(bytes, now_ns));
        let wait_ns = turns.max().unwrap_or(0).saturating_sub(now_ns);
        if wait_ns > 0 {
            self.cells.count(Counter::DelayWaits);
            self.cells.add(Counter::DelayedBytes, bytes as u64);
            // Boxed, so that those who don't wait carry no timer along.
            Box::pin(tokio::time::sleep(Duration::from_nanos(wait_ns))).await;
        }
    }
}
