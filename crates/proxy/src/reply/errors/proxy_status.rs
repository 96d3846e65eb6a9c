//! `Proxy-Status` (RFC 9209): who refused or failed, in a word that programs know. Made at load, and for each rule
//! that denies when it first does.

use std::io;

use sfv::{ItemSerializer, KeyRef, StringRef, TokenRef};

use crate::failure::{Failure, FailureKind, Side};

/// The value for each type, with our name.
#[derive(Debug)]
pub(super) struct ProxyStatus {
    name: String,
    /// In the order of [`TYPES`].
    values: Vec<Box<[u8]>>,
}

/// Types of errors that we tell (RFC 9209 §2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    DnsError,
    DestinationUnavailable,
    DestinationUnroutable,
    ConnectionRefused,
    ConnectionTerminated,
    ConnectionTimeout,
    ReadTimeout,
    TlsProtocolError,
    RequestError,
    RequestDenied,
    ResponseIncomplete,
    ResponseTooLarge,
    ResponseTimeout,
    ProtocolError,
    InternalResponse,
    InternalError,
}

/// Their words.
const TYPES: [(Type, &str); 16] = [
    (Type::DnsError, "dns_error"),
    (Type::DestinationUnavailable, "destination_unavailable"),
    (Type::DestinationUnroutable, "destination_ip_unroutable"),
    (Type::ConnectionRefused, "connection_refused"),
    (Type::ConnectionTerminated, "connection_terminated"),
    (Type::ConnectionTimeout, "connection_timeout"),
    (Type::ReadTimeout, "connection_read_timeout"),
    (Type::TlsProtocolError, "tls_protocol_error"),
    (Type::RequestError, "http_request_error"),
    (Type::RequestDenied, "http_request_denied"),
    (Type::ResponseIncomplete, "http_response_incomplete"),
    (Type::ResponseTooLarge, "http_response_body_size"),
    (Type::ResponseTimeout, "http_response_timeout"),
    (Type::ProtocolError, "http_protocol_error"),
    (Type::InternalResponse, "proxy_internal_response"),
    (Type::InternalError, "proxy_internal_error"),
];

impl Type {
    fn of(failure: &Failure) -> Self {
        match failure.kind {
            FailureKind::AccessDenied
            | FailureKind::CacheAccessDenied
            | FailureKind::CacheMgrAccessDenied
            | FailureKind::ForwardingDenied => Self::RequestDenied,
            FailureKind::CannotForward => Self::DestinationUnavailable,
            FailureKind::ReadTimeout => Self::ReadTimeout,
            FailureKind::LifetimeExp => Self::ResponseTimeout,
            FailureKind::ReadError | FailureKind::WriteError => Self::ConnectionTerminated,
            FailureKind::ConnectFail => Self::of_connect(failure.errno),
            FailureKind::SecureConnectFail => Self::TlsProtocolError,
            FailureKind::DnsFail => Self::DnsError,
            FailureKind::TooBig if matches!(failure.side, Side::Hop) => Self::ResponseTooLarge,
            FailureKind::InvalidResp => Self::ProtocolError,
            FailureKind::ZeroSizeObject => Self::ResponseIncomplete,
            FailureKind::TooBig
            | FailureKind::UnsupHttpVersion
            | FailureKind::InvalidReq
            | FailureKind::UnsupReq
            | FailureKind::InvalidUrl
            | FailureKind::PreconditionFailed
            | FailureKind::ConflictHost
            | FailureKind::ProtocolUnknown
            | FailureKind::RequestStartTimeout
            | FailureKind::RequestParseTimeout
            | FailureKind::ClientGone => Self::RequestError,
            FailureKind::OnlyIfCachedMiss | FailureKind::ShuttingDown => Self::InternalResponse,
            FailureKind::SocketFailure | FailureKind::IcapFailure | FailureKind::GatewayFailure => {
                Self::InternalError
            }
        }
    }

    fn of_connect(errno: Option<i32>) -> Self {
        let kind = errno.map(|errno| io::Error::from_raw_os_error(errno).kind());
        match kind {
            Some(io::ErrorKind::ConnectionRefused) => Self::ConnectionRefused,
            Some(io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable) => {
                Self::DestinationUnroutable
            }
            Some(io::ErrorKind::TimedOut) | None => Self::ConnectionTimeout,
            Some(_) => Self::DestinationUnavailable,
        }
    }
}

impl ProxyStatus {
    /// The values of the proxy with this name.
    pub(super) fn new(name: &str) -> Self {
        let values = TYPES.iter().map(|(_, word)| value(name, word, None));
        Self {
            name: name.to_owned(),
            values: values.collect(),
        }
    }

    /// The value for a failure.
    pub(super) fn of(&self, failure: &Failure) -> &[u8] {
        let value = self.values.get(Type::of(failure) as usize);
        value.map(|value| &**value).unwrap_or_default()
    }

    /// The value for what the rule at this place refused.
    pub(super) fn denied_by(&self, place: &str) -> Box<[u8]> {
        value(&self.name, "http_request_denied", Some(place))
    }
}

/// A list of one item: us.
fn value(name: &str, error: &str, rule: Option<&str>) -> Box<[u8]> {
    let (name, rule) = (printable(name), rule.map(printable));
    let make = || -> Result<String, sfv::Error> {
        let item = ItemSerializer::new();
        let item = match TokenRef::from_str(&name) {
            Ok(token) => item.bare_item(token),
            Err(_) => item.bare_item(StringRef::from_str(&name)?),
        };
        let item = item.parameter(KeyRef::from_str("error")?, TokenRef::from_str(error)?);
        Ok(match &rule {
            Some(rule) => item
                .parameter(KeyRef::from_str("rule")?, StringRef::from_str(rule)?)
                .finish(),
            None => item.finish(),
        })
    };
    let made = make().expect("tokens are ours, strings are printable");
    made.into_bytes().into()
}

/// Strings of the field are ASCII.
fn printable(text: &str) -> String {
    let keep = |char: char| if matches!(char, ' '..='~') { char } else { '?' };
    text.chars().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;
    use sfv::visitor::{ItemVisitor, ParameterVisitor};
    use sfv::{BareItemFromInput, Parser};

    use super::*;

    /// An item's value, then its parameters.
    #[derive(Default)]
    struct Seen(Vec<String>);

    fn text(item: &BareItemFromInput<'_>) -> String {
        match item {
            BareItemFromInput::Token(token) => token.to_string(),
            BareItemFromInput::String(string) => string.to_string(),
            other => panic!("{other:?}"),
        }
    }

    impl<'de> ItemVisitor<'de> for Seen {
        type Out = Vec<String>;
        type Error = Infallible;

        fn bare_item(
            mut self,
            item: BareItemFromInput<'de>,
        ) -> Result<impl ParameterVisitor<'de, Out = Self::Out>, Infallible> {
            self.0.push(text(&item));
            Ok(self)
        }
    }

    impl<'de> ParameterVisitor<'de> for Seen {
        type Out = Vec<String>;
        type Error = Infallible;

        fn parameter(
            &mut self,
            _: &'de KeyRef,
            item: BareItemFromInput<'de>,
        ) -> Result<(), Infallible> {
            self.0.push(text(&item));
            Ok(())
        }

        fn finish(self) -> Result<Self::Out, Infallible> {
            Ok(self.0)
        }
    }

    proptest! {
        /// Whatever a proxy and the file of a rule are called, the value is one item with two parameters.
        #[test]
        fn no_name_leaves_its_place(name: String, place: String) {
            let value = ProxyStatus::new(&name).denied_by(&place);
            let seen = Parser::new(&*value).parse_item_with_visitor(Seen::default()).unwrap();
            prop_assert_eq!(seen, [printable(&name), "http_request_denied".to_owned(), printable(&place)]);
        }
    }

    fn told(failure: &Failure) -> String {
        let status = ProxyStatus::new("cache.example");
        String::from_utf8(status.of(failure).to_vec()).unwrap()
    }

    #[test]
    fn the_types_are_in_their_order() {
        for (place, (kind, _)) in TYPES.iter().enumerate() {
            assert_eq!(*kind as usize, place);
        }
    }

    #[test]
    fn each_kind_has_a_type() {
        for kind in FailureKind::all() {
            let told = told(&Failure::new(kind, Side::Us));
            assert!(told.starts_with("cache.example;error="), "{told}");
        }
        let denied = Failure::denied(None);
        assert_eq!(told(&denied), "cache.example;error=http_request_denied");
    }

    #[test]
    fn a_failed_connection_says_how() {
        let check = |errno: i32, expected: &str| {
            let error = io::Error::from_raw_os_error(errno);
            let told = told(&Failure::hop_io(FailureKind::ConnectFail, &error));
            assert_eq!(told, format!("cache.example;error={expected}"));
        };
        check(111, "connection_refused");
        check(110, "connection_timeout");
        check(113, "destination_ip_unroutable");
        check(13, "destination_unavailable");
    }

    #[test]
    fn a_rule_is_a_string_and_so_is_a_name_that_is_no_token() {
        let check = |name: &str, place: &str, expected: &str| {
            let value = ProxyStatus::new(name).denied_by(place);
            assert_eq!(str::from_utf8(&value).unwrap(), expected);
        };
        check(
            "cache",
            "/etc/squid.conf:12",
            r#"cache;error=http_request_denied;rule="/etc/squid.conf:12""#,
        );
        check(
            "10.0.0.1",
            "a\"b\\\n\u{fc}:1",
            r#""10.0.0.1";error=http_request_denied;rule="a\"b\\??:1""#,
        );
    }
}
