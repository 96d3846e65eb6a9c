//! The `Host` field (RFC 9112 §3.2, RFC 9110 §7.2).

use super::{BadRequest, RequestHead, Version};
use crate::FieldId;
use crate::target::Authority;

/// The valid `Host` of a request; `None` when HTTP/1.0 left it out, or it is empty.
///
/// A target in absolute form wins over it; it is checked nevertheless.
///
/// # Errors
/// When HTTP/1.1 has no `Host`, or there are several, or it isn't `host [":" port]`.
pub fn check_host(head: &RequestHead) -> Result<Option<&[u8]>, BadRequest> {
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
    if host.is_empty() {
        return Ok(None);
    }
    match Authority::parse(host) {
        Ok(_) => Ok(Some(host)),
        Err(_) => Err(BadRequest::HostInvalid),
    }
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
