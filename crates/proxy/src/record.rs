//! What happened in one transaction: raw facts for the access log and the counters.
//! One [`Record`] lives with each client connection and is begun anew for each request,
//! so a hit allocates nothing here. Method, URL and user agent are not copied: they are
//! passed beside the record when the line is written ([`crate::log::LogFacts`]).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rules::HopFacts;

use net::clock::Now;
use net::stream::Stream;
use wire::http1::ResponseHead;

use crate::failure::FailureKind;
use crate::hops::Peer;
use crate::reply::CacheStatus;

/// Byte room that a reused buffer keeps between transactions.
const KEPT_BYTES_MAX: usize = 256;

/// How the answer came about: the part of the log's result code after the prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResultTag {
    /// Nothing was decided (`NONE_NONE` for requests that could not be read).
    #[default]
    None,
    /// A fresh stored response, from disk.
    Hit,
    /// A fresh stored response, from memory.
    MemHit,
    /// Not stored: fetched.
    Miss,
    /// Stale, validated: the origin said 304 and the stored response went out.
    RefreshUnmodified,
    /// Stale, validation failed: the stored response went out.
    RefreshFailOld,
    /// Stale, validation failed: the failure went out.
    RefreshFailErr,
    /// Stale, validated: the origin sent a new response.
    RefreshModified,
    /// The client asked for a fetch (`no-cache`).
    ClientRefreshMiss,
    /// The client's `If-Modified-Since` was answered from the cache.
    ImsHit,
    /// The client's `If-None-Match` was answered from the cache.
    InmHit,
    /// Stored, but unreadable: fetched.
    SwapfailMiss,
    /// A stored failure.
    NegativeHit,
    /// Refused by a rule.
    Denied,
    /// The reply was refused by a rule.
    DeniedReply,
    /// Answered from the cache without validation because of `offline_mode`.
    OfflineHit,
    /// Redirected by a rewriter or `deny_info`.
    Redirect,
    /// A tunnel: CONNECT or Upgrade.
    Tunnel,
}

impl ResultTag {
    /// Every tag, in order.
    pub const ALL: [Self; 18] = [
        Self::None,
        Self::Hit,
        Self::MemHit,
        Self::Miss,
        Self::RefreshUnmodified,
        Self::RefreshFailOld,
        Self::RefreshFailErr,
        Self::RefreshModified,
        Self::ClientRefreshMiss,
        Self::ImsHit,
        Self::InmHit,
        Self::SwapfailMiss,
        Self::NegativeHit,
        Self::Denied,
        Self::DeniedReply,
        Self::OfflineHit,
        Self::Redirect,
        Self::Tunnel,
    ];

    /// Squid's word for it, with the underscore that parts it from the prefix.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::None => "_NONE",
            Self::Hit => "_HIT",
            Self::MemHit => "_MEM_HIT",
            Self::Miss => "_MISS",
            Self::RefreshUnmodified => "_REFRESH_UNMODIFIED",
            Self::RefreshFailOld => "_REFRESH_FAIL_OLD",
            Self::RefreshFailErr => "_REFRESH_FAIL_ERR",
            Self::RefreshModified => "_REFRESH_MODIFIED",
            Self::ClientRefreshMiss => "_CLIENT_REFRESH_MISS",
            Self::ImsHit => "_IMS_HIT",
            Self::InmHit => "_INM_HIT",
            Self::SwapfailMiss => "_SWAPFAIL_MISS",
            Self::NegativeHit => "_NEGATIVE_HIT",
            Self::Denied => "_DENIED",
            Self::DeniedReply => "_DENIED_REPLY",
            Self::OfflineHit => "_OFFLINE_HIT",
            Self::Redirect => "_REDIRECT",
            Self::Tunnel => "_TUNNEL",
        }
    }

    /// The log's word before it: there is no protocol yet when nothing was decided.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::None => "NONE",
            _ => "TCP",
        }
    }

    /// Does it count as a hit in the statistics?
    pub const fn is_hit(self) -> bool {
        matches!(
            self,
            Self::Hit
                | Self::MemHit
                | Self::ImsHit
                | Self::InmHit
                | Self::RefreshFailOld
                | Self::RefreshUnmodified
                | Self::NegativeHit
                | Self::OfflineHit
        )
    }
}

/// What befell the transaction besides its result; each is a part of the log's result code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(u8);

impl Marks {
    /// The request joined another one's fetch.
    pub const COLLAPSED: Self = Self(1);
    /// The reply was ignored.
    pub const IGNORED: Self = Self(2);
    /// A timeout ended it.
    pub const TIMED_OUT: Self = Self(4);
    /// The client left, or the reply broke off.
    pub const ABORTED: Self = Self(8);

    /// Adds `mark`.
    pub const fn add(&mut self, mark: Self) {
        self.0 |= mark.0;
    }

    /// Is `mark` there?
    pub const fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    /// Is there none?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The log's result code, less its status: `TCP_CF_MISS_ABORTED`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How the answer came about.
    pub tag: ResultTag,
    /// Collapsed, timed out, aborted, ignored.
    pub marks: Marks,
}

/// Which way the request went: the log's hierarchy code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hierarchy {
    /// Nowhere.
    #[default]
    None,
    /// To the origin.
    Direct,
    /// To a sibling that has it.
    SiblingHit,
    /// To a parent that has it.
    ParentHit,
    /// To the parent marked `default`.
    DefaultParent,
    /// To the only parent there is.
    SingleParent,
    /// To the first parent that is up.
    FirstupParent,
    /// To the parent that answered first.
    FirstParentMiss,
    /// To the parent nearest to the origin, of those that answered.
    ClosestParentMiss,
    /// To the parent nearest to the origin.
    ClosestParent,
    /// To the origin, which is nearer than any parent.
    ClosestDirect,
    /// No way was left and going direct is not allowed.
    NoDirectFail,
    /// To whoever answered the source ping first.
    SourceFastest,
    /// To the parent whose turn it was.
    RoundrobinParent,
    /// To a parent whose digest names it.
    CdParentHit,
    /// To a sibling whose digest names it.
    CdSiblingHit,
    /// To the parent that CARP chose.
    Carp,
    /// To any parent at all.
    AnyOldParent,
    /// To the parent chosen by the user's hash.
    UserhashParent,
    /// To the parent chosen by the client address's hash.
    SourcehashParent,
    /// Over the connection that the client is bound to.
    Pinned,
    /// To the intercepted connection's destination.
    OriginalDst,
    /// Over a connection kept ready.
    StandbyPool,
}

impl Hierarchy {
    /// Squid's word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "HIER_NONE",
            Self::Direct => "HIER_DIRECT",
            Self::SiblingHit => "SIBLING_HIT",
            Self::ParentHit => "PARENT_HIT",
            Self::DefaultParent => "DEFAULT_PARENT",
            Self::SingleParent => "SINGLE_PARENT",
            Self::FirstupParent => "FIRSTUP_PARENT",
            Self::FirstParentMiss => "FIRST_PARENT_MISS",
            Self::ClosestParentMiss => "CLOSEST_PARENT_MISS",
            Self::ClosestParent => "CLOSEST_PARENT",
            Self::ClosestDirect => "CLOSEST_DIRECT",
            Self::NoDirectFail => "NO_DIRECT_FAIL",
            Self::SourceFastest => "SOURCE_FASTEST",
            Self::RoundrobinParent => "ROUNDROBIN_PARENT",
            Self::CdParentHit => "CD_PARENT_HIT",
            Self::CdSiblingHit => "CD_SIBLING_HIT",
            Self::Carp => "CARP",
            Self::AnyOldParent => "ANY_OLD_PARENT",
            Self::UserhashParent => "USERHASH_PARENT",
            Self::SourcehashParent => "SOURCEHASH_PARENT",
            Self::Pinned => "PINNED",
            Self::OriginalDst => "ORIGINAL_DST",
            Self::StandbyPool => "STANDBY_POOL",
        }
    }
}

/// Who got the request next, as the log names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HopName {
    /// Nobody.
    #[default]
    None,
    /// An address that was connected to, or tried.
    Ip(IpAddr),
    /// A host whose address is unknown.
    Host(Box<str>),
}

/// How it went with the hops: what only log formats show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopTalk {
    /// Port of the last hop.
    pub port: u16,
    /// Our end of the connection to it.
    pub local: Option<SocketAddr>,
    /// Status of its last answer; 0 when there was none.
    pub status: u16,
    /// Connections that were taken or tried.
    pub attempts: u16,
    /// When the first one was: monotonic clock, nanoseconds; 0 when none was.
    pub began_ns: u64,
    /// When the last head of an answer was read; 0 when none was.
    pub answered_ns: u64,
}

impl HopTalk {
    /// A connection was taken or made, which began at `began`.
    pub(crate) fn connected(&mut self, stream: &Stream, began: Now) {
        self.port = stream.peer_addr().port();
        self.local = Some(stream.local_addr());
        self.attempts = self.attempts.saturating_add(1);
        if self.began_ns == 0 {
            self.began_ns = began.mono_ns;
        }
    }

    /// The head of an answer was read.
    pub(crate) fn answered(&mut self, status: u16, now: Now) {
        self.status = status;
        self.answered_ns = now.mono_ns;
    }

    /// From the first try to the head of the last answer.
    pub fn answered_after_ns(&self) -> Option<u64> {
        let answered = (self.answered_ns > 0).then_some(self.answered_ns)?;
        answered.checked_sub(self.began_ns)
    }
}

/// Raw facts of one transaction.
#[derive(Clone, Debug)]
pub struct Record {
    /// When the request's first byte was read: monotonic clock, nanoseconds.
    pub started_ns: u64,
    /// When the transaction ended: monotonic clock, nanoseconds.
    pub finished_ns: u64,
    /// When the transaction ended: milliseconds since 1970.
    pub finished_unix_ms: i64,
    /// Who asked.
    pub client: SocketAddr,
    /// How it ended.
    pub outcome: Outcome,
    /// Status sent to the client; 0 when none was.
    pub status: u16,
    /// Bytes of request heads and content read from the client.
    pub request_bytes: u64,
    /// Bytes of the reply head sent to the client.
    pub head_bytes: u64,
    /// Bytes of the reply content sent to the client, with its framing.
    pub body_bytes: u64,
    /// What the cache did about it.
    pub(crate) cache: CacheStatus,
    /// Which way it went.
    pub hierarchy: Hierarchy,
    /// To whom it went.
    pub hop: HopName,
    /// How it went there.
    pub talk: HopTalk,
    /// The peer it went to.
    pub(crate) peer: Option<Arc<Peer>>,
    /// The failure that was answered, if any.
    pub error: Option<FailureKind>,
    /// What the log says of the failure; empty when nothing.
    pub error_detail: Box<str>,
    user: Vec<u8>,
    content_type: Vec<u8>,
    /// As it was sent, if a log wants it.
    reply_head: Option<Box<ResponseHead>>,
}

impl Default for Record {
    fn default() -> Self {
        Self::new(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0))
    }
}

impl Record {
    /// A blank record of a connection.
    pub fn new(client: SocketAddr) -> Self {
        Self {
            started_ns: 0,
            finished_ns: 0,
            finished_unix_ms: 0,
            client,
            outcome: Outcome::default(),
            status: 0,
            request_bytes: 0,
            head_bytes: 0,
            body_bytes: 0,
            cache: CacheStatus::default(),
            hierarchy: Hierarchy::None,
            hop: HopName::None,
            talk: HopTalk::default(),
            peer: None,
            error: None,
            error_detail: Box::default(),
            user: Vec::new(),
            content_type: Vec::new(),
            reply_head: None,
        }
    }

    /// Begins the next transaction of the same client: forgets everything else.
    pub fn begin(&mut self, started_ns: u64) {
        let user = emptied(std::mem::take(&mut self.user));
        let content_type = emptied(std::mem::take(&mut self.content_type));
        *self = Self {
            started_ns,
            user,
            content_type,
            ..Self::new(self.client)
        };
    }

    /// Ends the transaction; the log line follows.
    pub fn finish(&mut self, finished_ns: u64, finished_unix_ms: i64) {
        self.finished_ns = finished_ns;
        self.finished_unix_ms = finished_unix_ms;
    }

    /// Milliseconds from the first byte to the end.
    pub fn elapsed_ms(&self) -> u64 {
        self.elapsed_ns() / 1_000_000
    }

    /// Nanoseconds from the first byte to the end.
    pub fn elapsed_ns(&self) -> u64 {
        self.finished_ns.saturating_sub(self.started_ns)
    }

    /// Name of the page of the failure that was answered; empty when there was none.
    pub fn error_page(&self) -> &'static str {
        self.error.map_or("", FailureKind::page)
    }

    /// The reply's head, if it was kept.
    pub fn reply_head(&self) -> Option<&ResponseHead> {
        self.reply_head.as_deref()
    }

    /// Keeps the reply's head for the log.
    pub fn keep_reply(&mut self, head: &ResponseHead) {
        self.reply_head = Some(Box::new(head.clone()));
    }

    /// Sets how the answer came about.
    pub fn tag(&mut self, tag: ResultTag) {
        self.outcome.tag = tag;
    }

    /// Adds a mark to the result code.
    pub fn mark(&mut self, mark: Marks) {
        self.outcome.marks.add(mark);
    }

    /// Says that the request could not be read: `NONE_NONE`.
    pub fn unreadable(&mut self) {
        self.outcome.tag = ResultTag::None;
    }

    /// Sets which way the request went.
    pub fn went(&mut self, hierarchy: Hierarchy, hop: HopName) {
        self.hierarchy = hierarchy;
        self.hop = hop;
    }

    /// The hop as rules see it.
    pub(crate) fn hop_facts(&self) -> HopFacts<'_> {
        HopFacts {
            peer: self.peer.as_ref().map(|peer| &*peer.config.name),
            code: self.hierarchy.name(),
        }
    }

    /// Bytes sent to the client: head and body.
    pub fn sent_bytes(&self) -> u64 {
        self.head_bytes.saturating_add(self.body_bytes)
    }

    /// The user that logged in, if one did.
    pub fn user(&self) -> Option<&[u8]> {
        (!self.user.is_empty()).then_some(self.user.as_slice())
    }

    /// Sets the user that logged in.
    pub fn set_user(&mut self, user: &[u8]) {
        self.user.clear();
        self.user.extend_from_slice(user);
    }

    /// The reply's content type as it was sent, parameters included; empty when it had none.
    pub fn content_type(&self) -> &[u8] {
        &self.content_type
    }

    /// Sets the reply's content type.
    pub fn set_content_type(&mut self, content_type: &[u8]) {
        self.content_type.clear();
        self.content_type.extend_from_slice(content_type);
    }
}

/// The buffer without its content; a large one is given back.
fn emptied(mut buffer: Vec<u8>) -> Vec<u8> {
    buffer.clear();
    if buffer.capacity() > KEPT_BYTES_MAX {
        buffer = Vec::new();
    }
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_keeps_the_client_and_the_buffers_only() {
        let client: SocketAddr = "192.0.2.1:4000".parse().unwrap();
        let mut record = Record::new(client);
        record.set_user(b"alice");
        record.set_content_type(b"text/html");
        record.tag(ResultTag::Miss);
        record.mark(Marks::ABORTED);
        record.went(Hierarchy::Direct, HopName::Host("origin".into()));
        record.finish(5, 6);
        record.begin(9);
        assert_eq!(record.client, client);
        assert_eq!(record.user(), None);
        assert_eq!(record.content_type(), b"");
        assert_eq!(record.outcome, Outcome::default());
        assert_eq!(record.hop, HopName::None);
        assert_eq!(record.started_ns, 9);
        assert!(record.content_type.capacity() > 0);
    }

    #[test]
    fn a_buffer_made_large_by_one_transaction_is_given_back() {
        let mut record = Record::default();
        record.set_user(&[b'a'; 4 * KEPT_BYTES_MAX]);
        record.begin(0);
        assert_eq!(record.user.capacity(), 0);
    }

    #[test]
    fn elapsed_time_is_in_whole_milliseconds_and_never_negative() {
        let mut record = Record::default();
        record.begin(1_000_000);
        record.finish(3_999_999, 0);
        assert_eq!(record.elapsed_ms(), 2);
        record.finish(0, 0);
        assert_eq!(record.elapsed_ms(), 0);
    }

    #[test]
    fn every_tag_is_at_its_place() {
        for (place, tag) in ResultTag::ALL.into_iter().enumerate() {
            assert_eq!(tag as usize, place, "{tag:?}");
        }
    }

    #[test]
    fn marks_add_up() {
        let mut marks = Marks::default();
        assert!(marks.is_empty());
        marks.add(Marks::COLLAPSED);
        marks.add(Marks::TIMED_OUT);
        assert!(marks.has(Marks::COLLAPSED) && marks.has(Marks::TIMED_OUT));
        assert!(!marks.has(Marks::ABORTED));
    }
}
