//! What a rewriter's answer means for the request.

use wire::helper::{Answer, Verdict};

/// See the module.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// The request goes on as it is.
    Unchanged,
    /// The request is for this URL.
    Target(&'a [u8]),
    /// The client is sent elsewhere.
    Redirect(u16, Vec<u8>),
    /// The client can't be sent there, or not with that status.
    BadRedirect(&'a [u8], &'a [u8]),
    /// The helper could not find out, and says why.
    Broken(&'a [u8]),
}

/// `url` wins over `rewrite-url`; what comes with anything but `OK` is only noted.
pub(super) fn of(answer: &Answer) -> Meaning<'_> {
    match answer.verdict {
        Verdict::Ok => {}
        Verdict::Bh => return Meaning::Broken(answer.get("message").unwrap_or_default()),
        Verdict::Err | Verdict::Tt => return Meaning::Unchanged,
    }
    if let Some(url) = answer.get("url") {
        // Squid's default, for the oldest of clients.
        let status = answer.get("status").unwrap_or(b"302");
        return match (redirect_status(status), location(url)) {
            (Some(status), Some(location)) => Meaning::Redirect(status, location),
            _ => Meaning::BadRedirect(status, url),
        };
    }
    match answer.get("rewrite-url") {
        None | Some(b"") => Meaning::Unchanged,
        Some(url) => Meaning::Target(url),
    }
}

fn redirect_status(status: &[u8]) -> Option<u16> {
    match status {
        b"301" => Some(301),
        b"302" => Some(302),
        b"303" => Some(303),
        b"307" => Some(307),
        b"308" => Some(308),
        _ => None,
    }
}

/// The URL as a field value. Blanks and 8-bit bytes are encoded; controls have no place in a URL,
/// and would begin another field.
pub(super) fn location(url: &[u8]) -> Option<Vec<u8>> {
    if url.is_empty() || url.iter().any(u8::is_ascii_control) {
        return None;
    }
    let mut location = Vec::with_capacity(url.len());
    for &byte in url {
        match byte {
            b'!'..=b'~' => location.push(byte),
            _ => location.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    Some(location)
}

#[cfg(test)]
mod tests {
    use wire::helper::Dialect;

    use super::*;

    fn check(line: &str, expected: &Meaning<'_>) {
        let answer = Answer::parse(line.as_bytes(), Dialect::UrlRewrite).unwrap();
        assert_eq!(of(&answer), *expected, "{line}");
    }

    #[test]
    fn every_dialect_has_its_meaning() {
        let target = Meaning::Target(b"http://b/");
        for line in [
            "OK rewrite-url=\"http://b/\"",
            "OK rewrite-url=http://b/ tag=x",
            "http://b/",
            "http://b/ 127.0.0.1/- - GET myip=127.0.0.1 myport=3128",
            "!group!http://b/",
        ] {
            check(line, &target);
        }
        for line in [
            "",
            "OK",
            "ERR",
            "ERR rewrite-url=http://b/",
            "OK rewrite-url=\"\"",
            "!group!",
        ] {
            check(line, &Meaning::Unchanged);
        }
        check("BH message=\"no disk\"", &Meaning::Broken(b"no disk"));
    }

    #[test]
    fn redirects_have_one_of_five_statuses() {
        let to = |status| Meaning::Redirect(status, b"http://b/".to_vec());
        check("OK url=http://b/", &to(302));
        check("302:http://b/", &to(302));
        for status in [301, 302, 303, 307, 308] {
            check(
                &format!("OK status={status} url=\"http://b/\""),
                &to(status),
            );
        }
        check("OK url=http://b/ rewrite-url=http://c/", &to(302));
        check(
            "OK status=200 url=http://b/",
            &Meaning::BadRedirect(b"200", b"http://b/"),
        );
    }

    #[test]
    fn a_location_is_one_field_value() {
        check(
            "OK url=http://b/%0d%0aSet-Cookie:x",
            &Meaning::BadRedirect(b"302", b"http://b/\r\nSet-Cookie:x"),
        );
        check(
            "OK url=\"http://b/ä b\"",
            &Meaning::Redirect(302, b"http://b/%C3%A4%20b".to_vec()),
        );
    }
}
