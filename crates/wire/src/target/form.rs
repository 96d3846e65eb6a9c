//! The four forms of a request target (RFC 9112 §3.2).

use http::Method;

use super::{Authority, BadTarget};
use crate::chars;

/// The form of a request target, split but not yet normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form<'a> {
    /// `GET http://host/path`: to a proxy.
    Absolute {
        /// Before `://`.
        scheme: &'a [u8],
        /// Between `://` and the path; may hold user information.
        authority: &'a [u8],
        /// Path, query and fragment; may be empty.
        path: &'a [u8],
    },
    /// `GET /path`: to an origin.
    Origin,
    /// `CONNECT host:port`.
    Authority {
        /// The host, with brackets around IPv6.
        host: &'a [u8],
        /// The port, 1 to 65535.
        port: u16,
    },
    /// `OPTIONS *`.
    Asterisk,
}

impl<'a> Form<'a> {
    /// The form of a target, as the method allows it.
    ///
    /// # Errors
    /// When the method doesn't go with the form, or there is no such form.
    pub fn of(method: &Method, target: &'a [u8]) -> Result<Self, BadTarget> {
        if *method == Method::CONNECT {
            let authority = Authority::parse(target)?;
            let port = authority.port.ok_or(BadTarget::Port)?;
            return Ok(Self::Authority {
                host: authority.raw_host,
                port,
            });
        }
        match target {
            [b'/', ..] => Ok(Self::Origin),
            b"*" if *method == Method::OPTIONS => Ok(Self::Asterisk),
            _ => {
                let (scheme, authority, path) = split_absolute(target).ok_or(BadTarget::Form)?;
                Ok(Self::Absolute {
                    scheme,
                    authority,
                    path,
                })
            }
        }
    }
}

/// Splits `scheme://authority path`; the path starts with `/`, `?` or `#`, or is empty.
pub(super) fn split_absolute(raw: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (scheme, rest) = chars::split_once(raw, b':')?;
    let rest = rest.strip_prefix(b"//").filter(|_| is_scheme(scheme))?;
    let end = memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    Some((scheme, authority, path))
}

/// RFC 3986 §3.1, and the underscore of `cache_object`.
pub(super) fn is_scheme(scheme: &[u8]) -> bool {
    let is_inner =
        |&byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
    scheme.first().is_some_and(u8::is_ascii_alphabetic) && scheme.iter().all(is_inner)
}
