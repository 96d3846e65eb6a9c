//! The `Host` field (RFC 9112 §3.2, RFC 9110 §7.2).

use std::net::IpAddr;

use super::{BadRequest, RequestHead, Version};
use crate::FieldId;
use crate::target::Authority;

/// The `Host` that was found valid last: the next request mostly has the same one.
#[derive(Clone, Debug, Default)]
pub struct KnownHost {
    text: Vec<u8>,
    host_bytes: usize,
    ip: Option<IpAddr>,
    port: Option<u16>,
}

impl KnownHost {
    /// As [`check_host`], and taken apart.
    ///
    /// # Errors
    /// Those of [`check_host`].
    pub fn check<'h>(
        &mut self,
        head: &'h RequestHead,
    ) -> Result<Option<Authority<'h>>, BadRequest> {
        let Some(text) = only_host(head)? else {
            return Ok(None);
        };
        if text == self.text
            && let Some(raw_host) = text.get(..self.host_bytes)
        {
            return Ok(Some(Authority {
                raw_host,
                ip: self.ip,
                port: self.port,
            }));
        }
        let host = parse(text)?;
        self.text.clear();
        self.text.extend_from_slice(text);
        self.host_bytes = host.raw_host.len();
        self.ip = host.ip;
        self.port = host.port;
        Ok(Some(host))
    }
}

/// The valid `Host` of a request; `None` when HTTP/1.0 left it out, or it is empty.
///
/// A target in absolute form wins over it; it is checked nevertheless.
///
/// # Errors
/// When HTTP/1.1 has no `Host`, or there are several, or it isn't `host [":" port]`.
pub fn check_host(head: &RequestHead) -> Result<Option<&[u8]>, BadRequest> {
    let host = only_host(head)?;
    host.map(parse).transpose()?;
    Ok(host)
}

/// What stands in the one `Host`; `None` as in [`check_host`].
fn only_host(head: &RequestHead) -> Result<Option<&[u8]>, BadRequest> {
    let mut values = head.fields.get_all(FieldId::Host);
    let Some(host) = values.next() else {
        return match head.version {
            Version::H10 => Ok(None),
            Version::H11 => Err(BadRequest::HostMissing),
        };
    };
    if values.next().is_some() {
        return Err(BadRequest::HostRepeated);
    }
    Ok((!host.is_empty()).then_some(host))
}

fn parse(host: &[u8]) -> Result<Authority<'_>, BadRequest> {
    Authority::parse(host).map_err(|_| BadRequest::HostInvalid)
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, parse_request};
    use super::*;

    fn check(lines: &str, expected: Result<Option<&str>, BadRequest>) {
        let mut head = RequestHead::new();
        let text = format!("GET / {lines}\r\n");
        parse_request(text.as_bytes(), &Limits::default(), &mut head).expect("a valid head");
        assert_eq!(
            check_host(&head),
            expected.map(|host| host.map(str::as_bytes)),
            "{lines}"
        );
    }

    #[test]
    fn a_host_that_is_known_reads_as_when_it_was_new() {
        let mut known = KnownHost::default();
        for host in ["a.example:80", "a.example", "[::1]:8", "", "127.0.0.1"] {
            let mut head = RequestHead::new();
            let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            parse_request(text.as_bytes(), &Limits::default(), &mut head).expect("a valid head");
            let expected = Authority::parse(host.as_bytes()).ok();
            for _ in 0..2 {
                assert_eq!(known.check(&head), Ok(expected), "{host}");
            }
        }
    }

    #[test]
    fn there_is_exactly_one_valid_host() {
        check(
            "HTTP/1.1\r\nHost: a.example:80\r\n",
            Ok(Some("a.example:80")),
        );
        check("HTTP/1.1\r\nHost: [::1]:80\r\n", Ok(Some("[::1]:80")));
        check("HTTP/1.1\r\nHost:\r\n", Ok(None));
        check("HTTP/1.0\r\n", Ok(None));
        check("HTTP/1.1\r\n", Err(BadRequest::HostMissing));
        check(
            "HTTP/1.1\r\nHost: a\r\nhost: a\r\n",
            Err(BadRequest::HostRepeated),
        );
        check(
            "HTTP/1.0\r\nHost: a\r\nHost: b\r\n",
            Err(BadRequest::HostRepeated),
        );
        for bad in [
            ":x", "a:x", "a, b", "a b", "a/b", "u@a", "a:0", "a:65536", "[::1", "a?b", "http://a",
        ] {
            check(
                &format!("HTTP/1.1\r\nHost: {bad}\r\n"),
                Err(BadRequest::HostInvalid),
            );
        }
    }
}
