//! What a page shows of one transaction.

use std::net::{IpAddr, SocketAddr};

use crate::failure::Failure;

/// See the module. What is not known is empty.
#[derive(Clone, Copy, Debug)]
pub struct PageFacts<'a> {
    /// Why the transaction can't go on.
    pub failure: &'a Failure,
    /// What the client may know of the cause: the resolver's or the TLS stack's words.
    pub message: &'a str,
    /// What the helper said that refused: the login's, or an external ACL's.
    pub helper_message: &'a str,
    /// The request's method.
    pub method: &'a [u8],
    /// The request's normalised URL.
    pub url: &'a [u8],
    /// Its scheme.
    pub scheme: &'a [u8],
    /// Its host.
    pub host: &'a [u8],
    /// Its port; 0 when unknown.
    pub port: u16,
    /// Its path and query.
    pub path: &'a [u8],
    /// The user that logged in.
    pub user: &'a [u8],
    /// The client's address.
    pub client: IpAddr,
    /// The address that the client connected to.
    pub local: SocketAddr,
    /// The hop's address, when one was tried.
    pub server: Option<IpAddr>,
    /// The time as an HTTP date: the reply's `Date`.
    pub date: &'a [u8],
    /// The time in milliseconds since 1970.
    pub unix_ms: i64,
}

impl<'a> PageFacts<'a> {
    /// The page of `failure`, with nothing known of the request yet.
    pub fn new(failure: &'a Failure, client: IpAddr, local: SocketAddr) -> Self {
        Self {
            failure,
            message: "",
            helper_message: "",
            method: b"",
            url: b"",
            scheme: b"",
            host: b"",
            port: 0,
            path: b"",
            user: b"",
            client,
            local,
            server: None,
            date: b"",
            unix_ms: 0,
        }
    }

    /// The rule that refused, in words; `None` when no rule matched.
    pub(super) fn rule(&self) -> Option<&'a str> {
        self.failure.refusal.as_ref()?.rule.as_deref()
    }

    /// System error number; 0 when none.
    pub(super) fn errno(&self) -> i32 {
        self.failure.errno.unwrap_or(0)
    }

    /// The URL without the name and password that it may hold: what is before and what is behind them.
    pub(super) fn clean_url(&self) -> [&'a [u8]; 2] {
        if memchr::memchr(b'@', self.url).is_none() {
            return [self.url, b""];
        }
        let start = memchr::memmem::find(self.url, b"://").map_or(0, |at| at + 3);
        let (scheme, rest) = self.url.split_at_checked(start).unwrap_or((b"", self.url));
        let authority = rest
            .split(|&byte| matches!(byte, b'/' | b'?' | b'#'))
            .next()
            .unwrap_or_default();
        match memchr::memrchr(b'@', authority) {
            Some(at) => [scheme, rest.get(at + 1..).unwrap_or_default()],
            None => [self.url, b""],
        }
    }

    /// The system's words for the error number, as in `Connection refused`; empty when there is none.
    pub(super) fn system_error(&self) -> String {
        if self.errno() == 0 {
            return String::new();
        }
        let mut text = std::io::Error::from_raw_os_error(self.errno()).to_string();
        if let Some(end) = text.rfind(" (os error ") {
            text.truncate(end);
        }
        text
    }
}
