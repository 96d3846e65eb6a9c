//! The one normalised target of a request: used alike for key, access rules, next hop, connect
//! and log, so that no two of them can see different URLs.
//!
//! RFC 9110 §4.2, RFC 9112 §3.2, RFC 3986. The scheme and host are lower case, a default port,
//! an empty path's absence and a fragment are gone; path and query stay as sent, byte for byte,
//! except that white space and 8-bit bytes are percent-encoded.

mod authority;
mod form;
mod path;

use std::net::IpAddr;
use std::ops::Range;

use http::Method;
use thiserror::Error;

pub use authority::Authority;
pub use form::Form;

use crate::chars;

/// Longest host name that we take; DNS allows 253.
pub(crate) const HOST_BYTES_MAX: usize = 255;

/// Why a target can't be used; the client gets a 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadTarget {
    /// The form doesn't fit the method, or isn't one of the four.
    #[error("request target has no valid form for the method")]
    Form,
    /// No `scheme://`, or an invalid scheme.
    #[error("invalid scheme")]
    Scheme,
    /// The host is missing, too long, or has characters that no host name has.
    #[error("invalid host")]
    Host,
    /// The port isn't 1 to 65535, or is missing where it must stand.
    #[error("invalid port")]
    Port,
    /// A user name or password where none may stand.
    #[error("user information isn't allowed")]
    UserInfo,
    /// Controls, or white space that `uri_whitespace` denies.
    #[error("invalid character in the path")]
    Path,
}

/// The scheme of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `http`
    #[default]
    Http,
    /// `https`
    Https,
    /// `ftp`
    Ftp,
    /// `cache_object`, the old way to manager pages
    CacheObject,
    /// Any other; see [`Target::scheme_name`]
    Other,
    /// None: the authority of a CONNECT
    Tunnel,
}

impl Scheme {
    /// By its name, in any letter case.
    pub fn of(name: &[u8]) -> Self {
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"http") => Self::Http,
            5 if name.eq_ignore_ascii_case(b"https") => Self::Https,
            3 if name.eq_ignore_ascii_case(b"ftp") => Self::Ftp,
            12 if name.eq_ignore_ascii_case(b"cache_object") => Self::CacheObject,
            _ => Self::Other,
        }
    }

    /// The port when none is written; 0 when there is no such rule. Squid takes its own usual port for that of a manager page,
    /// and so do rules about ports.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Ftp => 21,
            Self::CacheObject => 3128,
            Self::Other | Self::Tunnel => 0,
        }
    }

    /// The name; empty for `Other` and `Tunnel`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Ftp => "ftp",
            Self::CacheObject => "cache_object",
            Self::Other | Self::Tunnel => "",
        }
    }

    /// May `user:password@` stand before the host? Never where RFC 9110 §4.2.4 forbids it.
    const fn allows_user_info(self) -> bool {
        matches!(self, Self::Ftp | Self::Other)
    }
}

/// What to do with white space in a URL (`uri_whitespace`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UriWhitespace {
    /// Drop it.
    #[default]
    Strip,
    /// Refuse the request.
    Deny,
    /// As `Encode`: a URL with raw spaces would make a request that nobody may forward.
    Allow,
    /// Percent-encode it.
    Encode,
    /// Cut the URL at the first one.
    Chop,
}

/// A normalised request target. Reusable: the setters keep its memory.
///
/// After a setter failed the target is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    url: Vec<u8>,
    scheme: Scheme,
    scheme_bytes: usize,
    authority: Range<usize>,
    host: Range<usize>,
    path_start: usize,
    port: u16,
    ip: Option<IpAddr>,
    has_no_path: bool,
    /// What was given for everything before the path. The next request is mostly for the same
    /// host, and then only the path is new.
    given: Given,
}

/// Scheme and authority as they were given, byte by byte. Empty when nothing may be reused.
#[derive(Clone, Debug, Default)]
struct Given(Vec<u8>);

impl Given {
    /// Is it the same again?
    fn is(&self, scheme: &[u8], authority: &[u8], port: [u8; 2]) -> bool {
        self.0.strip_prefix(&port).is_some_and(|rest| {
            rest.strip_prefix(scheme)
                .and_then(|rest| rest.strip_prefix(b":"))
                .is_some_and(|rest| rest == authority)
        })
    }

    fn note(&mut self, scheme: &[u8], authority: &[u8], port: [u8; 2]) {
        self.0.clear();
        self.0.extend_from_slice(&port);
        self.0.extend_from_slice(scheme);
        self.0.push(b':');
        self.0.extend_from_slice(authority);
    }
}

/// Targets are equal by what they are, not by how they were given.
impl PartialEq for Given {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Given {}

impl Target {
    /// An empty target.
    pub fn new() -> Self {
        Self::default()
    }

    /// The canonical absolute URL; for CONNECT `host:port`. ASCII only.
    pub fn url(&self) -> &[u8] {
        &self.url
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The scheme's name in lower case; empty for CONNECT.
    pub fn scheme_name(&self) -> &[u8] {
        self.url.get(..self.scheme_bytes).unwrap_or_default()
    }

    /// The host in lower case: without brackets, without a dot at the end.
    pub fn host(&self) -> &str {
        let host = self.url.get(self.host.clone()).unwrap_or_default();
        str::from_utf8(host).unwrap_or_default()
    }

    /// The address, when the host is one. An IPv4 address in IPv6 clothes is an IPv4 address.
    pub fn host_ip(&self) -> Option<IpAddr> {
        self.ip
    }

    /// The port, written or default; 0 when a scheme has none.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Path and query; starts with `/`, except that CONNECT has none.
    pub fn path(&self) -> &[u8] {
        self.url.get(self.path_start..).unwrap_or_default()
    }

    /// What stands in the request line to an origin: the path; `*` for OPTIONS of a whole server;
    /// the authority for CONNECT (RFC 9112 §3.2).
    pub fn origin_form(&self, method: &Method) -> &[u8] {
        match self.scheme {
            Scheme::Tunnel => &self.url,
            _ if self.has_no_path && *method == Method::OPTIONS => b"*",
            _ => self.path(),
        }
    }

    /// `host[:port]` as it belongs into `Host`, without a default port; brackets around IPv6.
    pub fn authority(&self) -> &[u8] {
        self.url.get(self.authority.clone()).unwrap_or_default()
    }

    /// `user:password` before the host, as written; mostly empty.
    pub fn user_info(&self) -> &[u8] {
        let start = self.scheme_bytes + b"://".len();
        let before = self.url.get(start..self.authority.start);
        before
            .and_then(|text| text.strip_suffix(b"@"))
            .unwrap_or_default()
    }

    /// Nothing set?
    pub fn is_empty(&self) -> bool {
        self.url.is_empty()
    }

    /// Back to an empty target, keeping memory.
    pub fn clear(&mut self) {
        let mut url = std::mem::take(&mut self.url);
        let mut given = std::mem::take(&mut self.given);
        url.clear();
        given.0.clear();
        *self = Self {
            url,
            given,
            ..Self::default()
        };
    }

    /// Takes an absolute URL, as in a request to a forward proxy or from a rewriter.
    ///
    /// # Errors
    /// When it isn't a valid one.
    pub fn set_absolute(&mut self, raw: &[u8], ws: UriWhitespace) -> Result<(), BadTarget> {
        let (scheme, given, path) = form::split_absolute(raw).ok_or(BadTarget::Scheme)?;
        if self.given.is(scheme, given, [0, 0]) {
            return self.set_path(path, ws);
        }
        self.build(scheme, Authority::with_user_info(given), path, ws)?;
        self.given.note(scheme, given, [0, 0]);
        Ok(())
    }

    /// Puts a target together from its parts: `path` in origin form, or `*` for `OPTIONS *`; the
    /// host with or without brackets. White space in the path is dropped.
    ///
    /// # Errors
    /// When a part is invalid.
    pub fn set_parts(
        &mut self,
        scheme: Scheme,
        host: &[u8],
        port: u16,
        path: &[u8],
    ) -> Result<(), BadTarget> {
        self.set_origin(scheme, host, port, path, UriWhitespace::Strip)
    }

    /// As [`Target::set_parts`], with a choice for white space in the path.
    ///
    /// # Errors
    /// When a part is invalid.
    pub fn set_origin(
        &mut self,
        scheme: Scheme,
        host: &[u8],
        port: u16,
        path: &[u8],
        ws: UriWhitespace,
    ) -> Result<(), BadTarget> {
        if !matches!(path, [b'/', ..] | b"*") {
            self.clear();
            return Err(BadTarget::Path);
        }
        let name = scheme.name().as_bytes();
        if self.given.is(name, host, port.to_be_bytes()) {
            return self.set_path(path, ws);
        }
        let authority = Authority::from_parts(host, port).map(|authority| (&b""[..], authority));
        self.build(name, authority, path, ws)?;
        self.given.note(name, host, port.to_be_bytes());
        Ok(())
    }

    /// Another path of the same scheme and authority.
    fn set_path(&mut self, path: &[u8], ws: UriWhitespace) -> Result<(), BadTarget> {
        self.url.truncate(self.path_start);
        let result = self.push_path(path, ws);
        if result.is_err() {
            self.clear();
        }
        result
    }

    fn push_path(&mut self, path: &[u8], ws: UriWhitespace) -> Result<(), BadTarget> {
        let path = if path == b"*" { b"" } else { path };
        self.has_no_path = path.is_empty();
        if !path.starts_with(b"/") {
            self.url.push(b'/');
        }
        path::push_path(path, ws, &mut self.url)
    }

    /// Takes the authority of a CONNECT: host and port, both of them.
    ///
    /// # Errors
    /// When one is missing or invalid.
    pub fn set_authority(&mut self, raw: &[u8]) -> Result<(), BadTarget> {
        self.clear();
        let authority = Authority::parse(raw)?;
        let port = authority.port.ok_or(BadTarget::Port)?;
        self.scheme = Scheme::Tunnel;
        self.push_authority(&authority, Some(port));
        self.path_start = self.url.len();
        Ok(())
    }

    fn build(
        &mut self,
        scheme: &[u8],
        authority: Result<(&[u8], Authority<'_>), BadTarget>,
        path: &[u8],
        ws: UriWhitespace,
    ) -> Result<(), BadTarget> {
        self.clear();
        let result = authority.and_then(|authority| self.try_build(scheme, authority, path, ws));
        if result.is_err() {
            self.clear();
        }
        result
    }

    fn try_build(
        &mut self,
        scheme: &[u8],
        (user_info, authority): (&[u8], Authority<'_>),
        path: &[u8],
        ws: UriWhitespace,
    ) -> Result<(), BadTarget> {
        self.scheme = Scheme::of(scheme);
        if !form::is_scheme(scheme) {
            return Err(BadTarget::Scheme);
        }
        if !user_info.is_empty() && !self.scheme.allows_user_info() {
            return Err(BadTarget::UserInfo);
        }
        self.url.extend(scheme.iter().map(u8::to_ascii_lowercase));
        self.scheme_bytes = scheme.len();
        self.url.extend_from_slice(b"://");
        self.url.extend_from_slice(user_info);
        let default_port = self.scheme.default_port();
        let port = authority.port.unwrap_or(default_port);
        self.push_authority(&authority, (port != default_port).then_some(port));
        self.port = port;
        self.path_start = self.url.len();
        self.push_path(path, ws)
    }

    fn push_authority(&mut self, authority: &Authority<'_>, port: Option<u16>) {
        let start = self.url.len();
        self.host = authority.write_host(&mut self.url);
        if let Some(port) = port {
            authority::write_port(port, &mut self.url);
        }
        self.authority = start..self.url.len();
        self.port = port.unwrap_or_default();
        self.ip = authority.ip;
    }
}

/// Any bytes are refused, or give a URL that is its own normal form.
///
/// # Panics
/// When that isn't so.
pub fn fuzz(data: &[u8]) {
    let mut target = Target::new();
    let policies = [
        UriWhitespace::Strip,
        UriWhitespace::Deny,
        UriWhitespace::Encode,
        UriWhitespace::Chop,
    ];
    for ws in policies {
        if target.set_absolute(data, ws).is_ok() {
            check_normal(&target);
            let mut again = Target::new();
            assert_eq!(
                again.set_absolute(target.url(), UriWhitespace::Deny),
                Ok(())
            );
            assert_eq!(again.url(), target.url(), "a normal URL stays as it is");
            assert_eq!((again.host(), again.port()), (target.host(), target.port()));
            assert_eq!(again.host_ip(), target.host_ip());
        } else {
            assert!(target.is_empty(), "nothing is left of a bad URL");
        }
    }
    if target.set_authority(data).is_ok() {
        check_normal(&target);
        let url = target.url().to_vec();
        assert_eq!(target.set_authority(&url), Ok(()));
        assert_eq!(target.url(), url);
    }
    if let Some((host, path)) = chars::split_once(data, b' ')
        && target.set_parts(Scheme::Http, host, 8080, path).is_ok()
    {
        check_normal(&target);
    }
}

fn check_normal(target: &Target) {
    assert!(
        target.url().iter().all(u8::is_ascii_graphic),
        "visible ASCII only"
    );
    assert!(!target.host().is_empty(), "there is a host");
    assert!(
        !target.host().bytes().any(|byte| byte.is_ascii_uppercase()),
        "lower case"
    );
    assert!(Authority::parse(target.authority()).is_ok(), "fit for Host");
}

#[cfg(test)]
mod tests;
