//! The pages of `errors/`, built into the program. Each holds its title in its first line and its
//! content after it; `frame.html` is around all of them.

use crate::failure::FailureKind;

const FRAME: &str = include_str!("../../../../../errors/frame.html");
const GENERIC: &str = include_str!("../../../../../errors/generic.html");

/// The whole page of that kind.
pub(super) fn page(kind: FailureKind) -> String {
    let (title, content) = source(kind).split_once('\n').unwrap_or_default();
    FRAME
        .replace("%{title}", title)
        .replace("%{content}", content.trim_end())
}

macro_rules! page {
    ($name:literal) => {
        include_str!(concat!("../../../../../errors/", $name, ".html"))
    };
}

const fn source(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::AccessDenied => page!("ERR_ACCESS_DENIED"),
        FailureKind::CacheAccessDenied => page!("ERR_CACHE_ACCESS_DENIED"),
        FailureKind::CacheMgrAccessDenied => page!("ERR_CACHE_MGR_ACCESS_DENIED"),
        FailureKind::ForwardingDenied => page!("ERR_FORWARDING_DENIED"),
        FailureKind::CannotForward => page!("ERR_CANNOT_FORWARD"),
        FailureKind::ReadTimeout => page!("ERR_READ_TIMEOUT"),
        FailureKind::LifetimeExp => page!("ERR_LIFETIME_EXP"),
        FailureKind::ReadError => page!("ERR_READ_ERROR"),
        FailureKind::WriteError => page!("ERR_WRITE_ERROR"),
        FailureKind::ConnectFail => page!("ERR_CONNECT_FAIL"),
        FailureKind::SecureConnectFail => page!("ERR_SECURE_CONNECT_FAIL"),
        FailureKind::SocketFailure => page!("ERR_SOCKET_FAILURE"),
        FailureKind::DnsFail => page!("ERR_DNS_FAIL"),
        FailureKind::OnlyIfCachedMiss => page!("ERR_ONLY_IF_CACHED_MISS"),
        FailureKind::TooBig => page!("ERR_TOO_BIG"),
        FailureKind::InvalidResp => page!("ERR_INVALID_RESP"),
        FailureKind::UnsupHttpVersion => page!("ERR_UNSUP_HTTPVERSION"),
        FailureKind::InvalidReq => page!("ERR_INVALID_REQ"),
        FailureKind::UnsupReq => page!("ERR_UNSUP_REQ"),
        FailureKind::InvalidUrl => page!("ERR_INVALID_URL"),
        FailureKind::ZeroSizeObject => page!("ERR_ZERO_SIZE_OBJECT"),
        FailureKind::PreconditionFailed => page!("ERR_PRECONDITION_FAILED"),
        FailureKind::ConflictHost => page!("ERR_CONFLICT_HOST"),
        FailureKind::IcapFailure => page!("ERR_ICAP_FAILURE"),
        FailureKind::GatewayFailure => page!("ERR_GATEWAY_FAILURE"),
        FailureKind::ShuttingDown => page!("ERR_SHUTTING_DOWN"),
        FailureKind::ProtocolUnknown => page!("ERR_PROTOCOL_UNKNOWN"),
        FailureKind::RequestParseTimeout => page!("ERR_REQUEST_PARSE_TIMEOUT"),
        FailureKind::RequestStartTimeout | FailureKind::ClientGone => GENERIC,
    }
}
