//! What a transaction works with: one immutable plan, the shared store, and this worker's supports.
//! A transaction takes one [`Context`] and keeps it, so a reload never changes the rules under it.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use hashbrown::HashMap;
use http::Method;
use net::clock::{Clock, Now};
use net::deadline::Ticker;
use net::dns::{DnsError, Resolver};
use net::pool::Permit;
use rules::Rule;
use rules::hops::{Case, Choice, Hop as RuleHop, HopTo, PeerStates, Way, choose};
use smallvec::SmallVec;
use stats::{Cells, Counter, Histogram};
use store::Ring;
use wire::field::FieldId;
use wire::http1::{Framing, ResponseHead, may_reuse};
use wire::value::date::DATE_BYTES;

use crate::access;
use crate::busy::Busy;
use crate::failure::{Failure, FailureKind, Refusal, Side};
use crate::flow::{Received, Store};
use crate::hops::peer::OpenPeer;
use crate::hops::{Hop, Peer, Pool};
use crate::internal::{Pages, Roll};
use crate::log::LogHandle;
use crate::plan::Plan;
use crate::record::{Hierarchy, Marks, Record, ResultTag};
use crate::recycle::Recycle;
use crate::tally::Tally;
use crate::watch::Lookout;

/// See the module.
#[derive(Debug)]
pub struct Context {
    pub(crate) plan: Arc<Plan>,
    pub(crate) store: Arc<Store>,
    /// This worker's, for what has to wait for the disk.
    pub(crate) ring: Option<Rc<Ring>>,
    pub(crate) clock: Clock,
    pub(crate) ticker: Ticker,
    pub(crate) resolver: Resolver,
    pub(crate) pool: Rc<Pool>,
    pub(crate) cells: Arc<Cells>,
    pub(crate) tally: Rc<RefCell<Tally>>,
    pub(crate) log: Rc<LogHandle>,
    pub(crate) buffers: Rc<Recycle<Vec<u8>>>,
    pub(crate) heads: Rc<Recycle<Box<ResponseHead>>>,
    pub(crate) draining: Rc<Cell<bool>>,
    /// Held once by each validation in the background.
    pub(crate) background: Rc<()>,
    pub(crate) busy: Rc<Busy>,
    /// The second that a date was last made for, and the date.
    pub(crate) date: Cell<(i64, HttpDate)>,
    pub(crate) refusals: RefCell<Refusals>,
    /// Where transactions are told of while somebody looks.
    pub(crate) lookout: Arc<Lookout>,
    /// Who makes pages of our own.
    pub(crate) pages: Arc<dyn Pages>,
    /// All workers, for those pages.
    pub(crate) roll: Roll,
}

/// What is told of rules that denied, by the rule's address in the plan (0: none matched) and `deny_info` line.
type Refusals = HashMap<(usize, Option<u32>), Arc<Refusal>>;

/// `Sun, 06 Nov 1994 08:49:37 GMT`
pub(crate) type HttpDate = [u8; DATE_BYTES];

/// A hop connection counted as open.
#[derive(Debug)]
pub(crate) struct OpenHop {
    pub(crate) permit: Permit,
    #[expect(dead_code, reason = "counts toward `max-conn` until it is dropped")]
    pub(crate) peer: Option<OpenPeer>,
}

impl Context {
    /// Seconds since 1970.
    pub(crate) fn unix_secs(&self) -> i64 {
        self.clock.now().unix_secs()
    }

    /// The time as an HTTP date. Made once a second.
    pub(crate) fn date(&self, now: Now) -> HttpDate {
        let now = now.unix_secs();
        let (made, date) = self.date.get();
        if made == now {
            return date;
        }
        let mut text = Vec::with_capacity(DATE_BYTES);
        wire::value::date::write(now, &mut text);
        let mut date = [b' '; DATE_BYTES];
        for (to, from) in date.iter_mut().zip(text) {
            *to = from;
        }
        self.date.set((now, date));
        date
    }

    /// May the client's connection live on after this request (RFC 9112 §9.3)?
    pub(crate) fn may_keep_alive(&self, received: &Received<'_>) -> bool {
        self.plan.config.client_persistent_connections
            && !self.draining.get()
            && may_reuse(received.head.version, &received.head.fields)
    }

    /// Refuses content that is told to be longer than `request_body_max_size`. Content of unknown
    /// length is counted as it comes.
    ///
    /// # Errors
    ///
    /// It is too long.
    pub(crate) fn check_size(&self, received: &Received<'_>) -> Result<(), Failure> {
        match (received.framing, self.plan.config.request_body_max_size) {
            (Framing::Length(length), Some(max)) if length > max => Err(Failure::client(
                FailureKind::TooBig,
                "request content is larger than allowed",
            )),
            _ => Ok(()),
        }
    }

    /// May the request switch protocols (`http_upgrade_request_protocols`)?
    pub(crate) fn may_upgrade(&self, received: &Received<'_>) -> bool {
        let fields = &received.head.fields;
        if self.plan.config.http_upgrade_request_protocols.is_empty()
            || !fields.has(FieldId::Upgrade)
            || received.framing != Framing::None
            || received.head.method == Method::CONNECT
            || !fields.has_token(FieldId::Connection, b"upgrade")
        {
            return false;
        }
        let facts = access::facts(received);
        self.plan.rules.may_upgrade(fields, &facts)
    }

    /// The addresses of a name.
    ///
    /// # Errors
    ///
    /// It has none, or nobody could say.
    pub(crate) async fn resolve(&self, host: &str) -> Result<Arc<[IpAddr]>, DnsError> {
        self.resolver.resolve(host).await
    }

    /// The hops for a request, in the order in which they are tried.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) async fn choose_hops(
        &self,
        received: &Received<'_>,
    ) -> Result<SmallVec<[Hop; 4]>, Failure> {
        let accel = received.connection.port.accel();
        let looped = self.is_loop(received);
        if looped {
            let url = String::from_utf8_lossy(received.target.url());
            tracing::warn!(
                "Forwarding loop detected for: {} {url}",
                received.head.method
            );
        }
        if looped && accel.is_some() {
            return Err(Failure::new(FailureKind::AccessDenied, Side::Client)
                .with_detail("forwarding loop"));
        }
        let case = Case {
            no_direct: accel.is_some_and(|accel| !accel.allow_direct),
            looped,
        };
        let mut asked: SmallVec<[_; 4]> = SmallVec::new();
        loop {
            let facts = access::facts(received);
            let states = States(&self.plan.peers);
            match choose(&self.plan.rules, &facts, case, &states, &self.plan.turns) {
                Choice::Hops(hops) if hops.is_empty() => return Err(self.nowhere()),
                Choice::Hops(hops) => return Ok(hops.iter().map(|hop| self.hop(*hop)).collect()),
                Choice::Ask(question) if !asked.contains(&question) => {
                    access::answer(self, received, question).await?;
                    asked.push(question);
                }
                Choice::Ask(_) => {
                    return Err(Failure::new(FailureKind::CannotForward, Side::Us)
                        .with_detail("a rule asks for what can't be known"));
                }
            }
        }
    }

    /// No hop is left: for the time being, where it is for dead peers.
    fn nowhere(&self) -> Failure {
        let failure = Failure::new(FailureKind::CannotForward, Side::Us);
        if self.plan.peers.iter().all(|peer| peer.is_up()) {
            return failure.with_detail("no way to send it");
        }
        failure.with_detail("peers are dead").with_status(503)
    }

    fn hop(&self, hop: RuleHop) -> Hop {
        Hop {
            peer: match hop.to {
                HopTo::Origin => None,
                HopTo::Peer(index) => self.plan.peers.get(index).cloned(),
            },
            hierarchy: match hop.way {
                Way::Direct => Hierarchy::Direct,
                Way::RoundrobinParent => Hierarchy::RoundrobinParent,
                Way::FirstupParent => Hierarchy::FirstupParent,
                Way::DefaultParent => Hierarchy::DefaultParent,
                Way::AnyOldParent => Hierarchy::AnyOldParent,
            },
        }
    }

    /// Was the request here before (RFC 9110 §7.6.3)?
    pub(crate) fn is_loop(&self, received: &Received<'_>) -> bool {
        let fields = &received.head.fields;
        fields.has(FieldId::Via)
            && wire::value::via::names(fields, self.plan.unique_hostname.as_bytes())
    }

    /// What is told of a rule that denied. Made once.
    pub(crate) fn refusal(
        &self,
        directive: &str,
        rule: Option<&Rule>,
        info: Option<u32>,
    ) -> Arc<Refusal> {
        let address = rule.map_or(0, |rule| std::ptr::from_ref(rule).addr());
        let mut refusals = self.refusals.borrow_mut();
        let refusal = refusals.entry((address, info)).or_insert_with(|| {
            let words = |rule: &Rule| format!("{directive} {rule} ({})", rule.place);
            let rule = rule.map(|rule| (words(rule), &rule.place));
            Arc::new(self.plan.errors.refusal(rule, info))
        });
        Arc::clone(refusal)
    }

    /// Counts a finished transaction.
    pub(crate) fn count(&self, record: &Record) {
        let cells = &self.cells;
        cells.count(Counter::ClientRequests);
        cells.add(Counter::ClientBytesIn, record.request_bytes);
        cells.add(Counter::ClientBytesOut, record.sent_bytes());
        let tag = record.outcome.tag;
        if tag.is_hit() {
            cells.add(Counter::HitBytes, record.sent_bytes());
        }
        if let Some(error) = record.error {
            cells.count(Counter::Errors);
            cells.count(error.row().counter);
            if let Some(limit) = limit_of(error, record.status) {
                cells.count(limit);
            }
        }
        if record.outcome.marks.has(Marks::ABORTED) {
            cells.count(Counter::Aborted);
        }
        cells.record(Histogram::ReplySize, record.sent_bytes());
        cells.record(service_time(tag), record.elapsed_ns() / 1000);
        cells.count(match tag {
            ResultTag::Hit => Counter::HitsDisk,
            ResultTag::MemHit | ResultTag::OfflineHit => Counter::HitsMemory,
            ResultTag::NegativeHit => Counter::HitsNegative,
            ResultTag::ImsHit | ResultTag::InmHit => Counter::HitsConditional,
            ResultTag::RefreshUnmodified => Counter::HitsRevalidated,
            ResultTag::RefreshFailOld => Counter::HitsStale,
            ResultTag::Denied | ResultTag::DeniedReply => Counter::Denied,
            ResultTag::None => Counter::BadRequests,
            ResultTag::Miss
            | ResultTag::RefreshFailErr
            | ResultTag::RefreshModified
            | ResultTag::ClientRefreshMiss
            | ResultTag::SwapfailMiss
            | ResultTag::Redirect => Counter::Misses,
            ResultTag::Tunnel => return,
        });
    }
}

/// Which limit has bitten, where a failure tells.
fn limit_of(error: FailureKind, status: u16) -> Option<Counter> {
    Some(match (error, status) {
        (FailureKind::RequestParseTimeout, _) => Counter::TimeoutsRequest,
        (FailureKind::ReadTimeout, _) => Counter::TimeoutsRead,
        (FailureKind::TooBig, 413) => Counter::LimitRequestBody,
        (FailureKind::TooBig, 414 | 431) => Counter::LimitRequestHead,
        _ => return None,
    })
}

/// Where the service time of a request counts, as Squid has it.
fn service_time(tag: ResultTag) -> Histogram {
    match tag {
        ResultTag::Hit | ResultTag::MemHit | ResultTag::OfflineHit => Histogram::ServiceTimeHit,
        ResultTag::Miss | ResultTag::ClientRefreshMiss => Histogram::ServiceTimeMiss,
        ResultTag::RefreshUnmodified => Histogram::ServiceTimeNearHit,
        ResultTag::ImsHit | ResultTag::InmHit => Histogram::ServiceTimeNotModified,
        ResultTag::None
        | ResultTag::RefreshFailOld
        | ResultTag::RefreshFailErr
        | ResultTag::RefreshModified
        | ResultTag::SwapfailMiss
        | ResultTag::NegativeHit
        | ResultTag::Denied
        | ResultTag::DeniedReply
        | ResultTag::Redirect
        | ResultTag::Tunnel => Histogram::ServiceTimeOther,
    }
}

/// The peers as they are now.
struct States<'p>(&'p [Arc<Peer>]);

impl PeerStates for States<'_> {
    fn is_up(&self, peer: usize) -> bool {
        self.0.get(peer).is_some_and(|peer| peer.is_up())
    }

    fn connections(&self, peer: usize) -> u32 {
        self.0.get(peer).map_or(u32::MAX, |peer| peer.open())
    }
}
