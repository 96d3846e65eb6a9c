//! Why a transaction can't go on. A [`Failure`] carries what the client reads (its kind, which
//! has an error page) and what the log says (its detail): two texts. One table, [`FailureKind::row`],
//! turns a kind into status, page and log tag.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub use crate::access::Challenge;
use crate::record::ResultTag;
use stats::Counter;

/// One per error page; named as Squid names its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FailureKind {
    /// A rule refused the request.
    AccessDenied,
    /// The client must log in.
    CacheAccessDenied,
    /// A manager page was refused.
    CacheMgrAccessDenied,
    /// The request may not be sent where it would have to go (`miss_access`, a loop).
    ForwardingDenied,
    /// There is no way to send it.
    CannotForward,
    /// The hop did not answer in time.
    ReadTimeout,
    /// The transaction took longer than `client_lifetime` allows.
    LifetimeExp,
    /// Reading from the hop failed.
    ReadError,
    /// Writing to the hop failed.
    WriteError,
    /// The hop could not be connected to.
    ConnectFail,
    /// The hop's TLS handshake failed.
    SecureConnectFail,
    /// No socket could be made.
    SocketFailure,
    /// The host name could not be resolved.
    DnsFail,
    /// `only-if-cached`, and it is not.
    OnlyIfCachedMiss,
    /// Head or content is larger than allowed.
    TooBig,
    /// The hop's reply makes no sense.
    InvalidResp,
    /// The client speaks another major version of HTTP.
    UnsupHttpVersion,
    /// The request makes no sense.
    InvalidReq,
    /// A method or scheme that is not supported.
    UnsupReq,
    /// The URL makes no sense.
    InvalidUrl,
    /// The hop closed without a reply.
    ZeroSizeObject,
    /// A condition of the request is false.
    PreconditionFailed,
    /// `Host` and the request's destination differ.
    ConflictHost,
    /// An adaptation service failed.
    IcapFailure,
    /// A gateway to another protocol failed, or we have a bug.
    GatewayFailure,
    /// We are stopping.
    ShuttingDown,
    /// The client speaks no protocol that we know.
    ProtocolUnknown,
    /// No request came in time; nothing is sent.
    RequestStartTimeout,
    /// The request's head did not end in time.
    RequestParseTimeout,
    /// The client left; nothing is sent.
    ClientGone,
}

/// What the table says of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The kind itself.
    pub kind: FailureKind,
    /// Status that the client gets, unless the failure names another one.
    pub status: u16,
    /// Page name: `ERR_ACCESS_DENIED`.
    pub page: &'static str,
    /// What becomes of the log's result tag; `None` leaves it as it is.
    pub tag: Option<ResultTag>,
    /// Counts the requests that ended so.
    pub counter: Counter,
}

const fn row(
    kind: FailureKind,
    status: u16,
    page: &'static str,
    tag: Option<ResultTag>,
    counter: Counter,
) -> Row {
    Row {
        kind,
        status,
        page,
        tag,
        counter,
    }
}

const DENIED: Option<ResultTag> = Some(ResultTag::Denied);
const UNREAD: Option<ResultTag> = Some(ResultTag::None);

/// Every kind, in the order of the enum.
pub const TABLE: [Row; 30] = [
    row(
        FailureKind::AccessDenied,
        403,
        "ERR_ACCESS_DENIED",
        DENIED,
        Counter::ErrorAccessDenied,
    ),
    row(
        FailureKind::CacheAccessDenied,
        407,
        "ERR_CACHE_ACCESS_DENIED",
        DENIED,
        Counter::ErrorCacheAccessDenied,
    ),
    row(
        FailureKind::CacheMgrAccessDenied,
        401,
        "ERR_CACHE_MGR_ACCESS_DENIED",
        None,
        Counter::ErrorCacheMgrAccessDenied,
    ),
    row(
        FailureKind::ForwardingDenied,
        403,
        "ERR_FORWARDING_DENIED",
        None,
        Counter::ErrorForwardingDenied,
    ),
    row(
        FailureKind::CannotForward,
        500,
        "ERR_CANNOT_FORWARD",
        None,
        Counter::ErrorCannotForward,
    ),
    row(
        FailureKind::ReadTimeout,
        504,
        "ERR_READ_TIMEOUT",
        None,
        Counter::ErrorReadTimeout,
    ),
    row(
        FailureKind::LifetimeExp,
        408,
        "ERR_LIFETIME_EXP",
        None,
        Counter::ErrorLifetimeExp,
    ),
    row(
        FailureKind::ReadError,
        502,
        "ERR_READ_ERROR",
        None,
        Counter::ErrorReadError,
    ),
    row(
        FailureKind::WriteError,
        502,
        "ERR_WRITE_ERROR",
        None,
        Counter::ErrorWriteError,
    ),
    row(
        FailureKind::ConnectFail,
        503,
        "ERR_CONNECT_FAIL",
        None,
        Counter::ErrorConnectFail,
    ),
    row(
        FailureKind::SecureConnectFail,
        503,
        "ERR_SECURE_CONNECT_FAIL",
        None,
        Counter::ErrorSecureConnectFail,
    ),
    row(
        FailureKind::SocketFailure,
        500,
        "ERR_SOCKET_FAILURE",
        None,
        Counter::ErrorSocketFailure,
    ),
    row(
        FailureKind::DnsFail,
        503,
        "ERR_DNS_FAIL",
        None,
        Counter::ErrorDnsFail,
    ),
    row(
        FailureKind::OnlyIfCachedMiss,
        504,
        "ERR_ONLY_IF_CACHED_MISS",
        None,
        Counter::ErrorOnlyIfCachedMiss,
    ),
    row(
        FailureKind::TooBig,
        413,
        "ERR_TOO_BIG",
        None,
        Counter::ErrorTooBig,
    ),
    row(
        FailureKind::InvalidResp,
        502,
        "ERR_INVALID_RESP",
        None,
        Counter::ErrorInvalidResp,
    ),
    row(
        FailureKind::UnsupHttpVersion,
        505,
        "ERR_UNSUP_HTTPVERSION",
        UNREAD,
        Counter::ErrorUnsupHttpVersion,
    ),
    row(
        FailureKind::InvalidReq,
        400,
        "ERR_INVALID_REQ",
        UNREAD,
        Counter::ErrorInvalidReq,
    ),
    row(
        FailureKind::UnsupReq,
        501,
        "ERR_UNSUP_REQ",
        UNREAD,
        Counter::ErrorUnsupReq,
    ),
    row(
        FailureKind::InvalidUrl,
        400,
        "ERR_INVALID_URL",
        None,
        Counter::ErrorInvalidUrl,
    ),
    row(
        FailureKind::ZeroSizeObject,
        502,
        "ERR_ZERO_SIZE_OBJECT",
        None,
        Counter::ErrorZeroSizeObject,
    ),
    row(
        FailureKind::PreconditionFailed,
        412,
        "ERR_PRECONDITION_FAILED",
        None,
        Counter::ErrorPreconditionFailed,
    ),
    row(
        FailureKind::ConflictHost,
        409,
        "ERR_CONFLICT_HOST",
        None,
        Counter::ErrorConflictHost,
    ),
    row(
        FailureKind::IcapFailure,
        500,
        "ERR_ICAP_FAILURE",
        None,
        Counter::ErrorIcapFailure,
    ),
    row(
        FailureKind::GatewayFailure,
        502,
        "ERR_GATEWAY_FAILURE",
        None,
        Counter::ErrorGatewayFailure,
    ),
    row(
        FailureKind::ShuttingDown,
        503,
        "ERR_SHUTTING_DOWN",
        None,
        Counter::ErrorShuttingDown,
    ),
    row(
        FailureKind::ProtocolUnknown,
        400,
        "ERR_PROTOCOL_UNKNOWN",
        UNREAD,
        Counter::ErrorProtocolUnknown,
    ),
    row(
        FailureKind::RequestStartTimeout,
        408,
        "ERR_REQUEST_START_TIMEOUT",
        UNREAD,
        Counter::ErrorRequestStartTimeout,
    ),
    row(
        FailureKind::RequestParseTimeout,
        408,
        "ERR_REQUEST_PARSE_TIMEOUT",
        UNREAD,
        Counter::ErrorRequestParseTimeout,
    ),
    row(
        FailureKind::ClientGone,
        0,
        "ERR_CLIENT_GONE",
        None,
        Counter::ErrorClientGone,
    ),
];

impl FailureKind {
    /// The kind's row of the table.
    #[expect(
        clippy::indexing_slicing,
        reason = "a test shows that the table has a row for each kind, at its place"
    )]
    pub const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Status that the client gets.
    pub const fn status(self) -> u16 {
        self.row().status
    }

    /// Page name: `ERR_ACCESS_DENIED`.
    pub const fn page(self) -> &'static str {
        self.row().page
    }

    /// The kind of that page name.
    pub fn of_page(name: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|row| row.page == name)
            .map(|row| row.kind)
    }

    /// Is it a challenge: may the client try again with a user and password?
    pub const fn asks_to_log_in(self) -> bool {
        matches!(self, Self::CacheAccessDenied | Self::CacheMgrAccessDenied)
    }

    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.kind)
    }
}

/// Who failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The client.
    Client,
    /// An origin, a parent or a sibling.
    Hop,
    /// A helper program.
    Helper,
    /// An adaptation service.
    Icap,
    /// The store.
    Store,
    /// We.
    Us,
}

/// May it be tried again?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retry {
    /// No.
    Never,
    /// At another hop or address.
    OtherHop,
    /// Over a fresh connection: a reused one was closed under the request.
    FreshConnection,
}

/// Why a transaction can't go on.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which page it has.
    pub kind: FailureKind,
    /// Who failed.
    pub side: Side,
    /// May it be tried again?
    pub retry: Retry,
    /// Status for the client, where the kind's own doesn't fit (431 for a head that is too big).
    pub status_override: Option<u16>,
    /// System error number, if one was the cause.
    pub errno: Option<i32>,
    /// What the log says; empty when the kind says it all.
    pub detail: Cow<'static, str>,
    /// What is told of the rule that refused.
    pub refusal: Option<Arc<Refusal>>,
    /// How the client may log in.
    pub challenge: Option<Box<Challenge>>,
}

/// What is told of the rule that refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// As the page shows it: `http_access deny to_localhost (squid.conf line 12)`; `None` when no rule matched.
    pub rule: Option<Box<str>>,
    /// Where it is, for programs: `squid.conf:12`; `None` unless `deny_reason` is on.
    pub told_place: Option<Box<str>>,
    /// `Proxy-Status` with that place.
    pub proxy_status: Option<Box<[u8]>>,
    /// Number of the `deny_info` line that says what the client gets.
    pub info: Option<u32>,
}

impl Failure {
    /// A failure that is not to be retried and has no detail.
    pub const fn new(kind: FailureKind, side: Side) -> Self {
        Self {
            kind,
            side,
            retry: Retry::Never,
            status_override: None,
            errno: None,
            detail: Cow::Borrowed(""),
            refusal: None,
            challenge: None,
        }
    }

    /// A request that a rule refused; `None` when there is nothing to tell of it.
    pub fn denied(refusal: Option<Arc<Refusal>>) -> Self {
        Self {
            refusal,
            ..Self::new(FailureKind::AccessDenied, Side::Client)
        }
    }

    /// A failure of the client.
    pub fn client(kind: FailureKind, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(kind, Side::Client).with_detail(detail)
    }

    /// A failure of the hop; another one may be tried.
    pub fn hop(kind: FailureKind, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(kind, Side::Hop)
            .with_retry(Retry::OtherHop)
            .with_detail(detail)
    }

    /// A failure of the hop with the system's reason; another one may be tried.
    pub fn hop_io(kind: FailureKind, error: &std::io::Error) -> Self {
        let failure = Self::hop(kind, error.to_string());
        Self {
            errno: error.raw_os_error(),
            ..failure
        }
    }

    /// The same, with a detail for the log.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            detail: detail.into(),
            ..self
        }
    }

    /// The same, with another status for the client.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self {
            status_override: Some(status),
            ..self
        }
    }

    /// The same, with another word on retrying.
    #[must_use]
    pub fn with_retry(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }

    /// Status for the client.
    pub fn status(&self) -> u16 {
        self.status_override.unwrap_or(self.kind.status())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.page())?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_each_kind_at_its_place() {
        for (place, row) in TABLE.iter().enumerate() {
            assert_eq!(row.kind as usize, place, "{}", row.page);
            assert_eq!(row.kind.row(), row);
            assert_eq!(FailureKind::of_page(row.page), Some(row.kind));
        }
        assert_eq!(FailureKind::ClientGone as usize + 1, TABLE.len());
    }

    #[test]
    fn a_status_may_be_overridden() {
        let failure = Failure::client(FailureKind::TooBig, "request head");
        assert_eq!(failure.status(), 413);
        assert_eq!(failure.clone().with_status(431).status(), 431);
        assert_eq!(failure.to_string(), "ERR_TOO_BIG: request head");
    }

    #[test]
    fn a_failure_is_small_enough_to_be_returned_by_value() {
        assert!(size_of::<Failure>() <= 64);
    }

    #[test]
    fn a_failure_of_the_hop_keeps_the_system_error_number() {
        let error = std::io::Error::from_raw_os_error(111);
        let failure = Failure::hop_io(FailureKind::ConnectFail, &error);
        assert_eq!(failure.errno, Some(111));
        assert_eq!(failure.retry, Retry::OtherHop);
    }
}
