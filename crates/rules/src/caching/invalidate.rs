//! What a successful unsafe request spoils (RFC 9111 §4.4).

use http::Method;
use smallvec::SmallVec;
use wire::target::UriWhitespace;
use wire::{FieldId, Fields, Target};

/// URLs whose stored responses are no longer to be used.
pub type Spoiled = SmallVec<[Target; 1]>;

/// Is the method one that may change things (RFC 9110 §9.2.1)? Unknown methods are.
pub fn is_unsafe(method: &Method) -> bool {
    !matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE | Method::CONNECT
    ) && method.as_str() != "PURGE"
}

/// Does a response with this status to such a request invalidate anything?
pub fn spoils(method: &Method, status: u16) -> bool {
    is_unsafe(method) && (200..400).contains(&status)
}

/// The URLs that a response to this request invalidates: its own, and those in Location and Content-Location that have
/// the same origin. None for safe methods and for errors.
pub fn spoiled(method: &Method, target: &Target, status: u16, reply: &Fields) -> Spoiled {
    let mut spoiled = Spoiled::new();
    if !spoils(method, status) {
        return spoiled;
    }
    spoiled.push(target.clone());
    for id in [FieldId::Location, FieldId::ContentLocation] {
        let Some(other) = reply
            .get(id)
            .and_then(|reference| resolve(target, reference))
        else {
            continue;
        };
        let same_origin =
            other.scheme_name() == target.scheme_name() && other.authority() == target.authority();
        if same_origin && !spoiled.contains(&other) {
            spoiled.push(other);
        }
    }
    spoiled
}

/// Does Content-Location name the target itself: the content is what GET would get (RFC 9110 §9.3.3)?
pub fn is_own_location(target: &Target, reply: &Fields) -> bool {
    let location = reply.get(FieldId::ContentLocation);
    let location = location.and_then(|reference| resolve(target, reference));
    location.is_some_and(|location| location.url() == target.url())
}

/// A URI reference against the target (RFC 3986 §5.2, without queries or fragments standing alone).
fn resolve(base: &Target, reference: &[u8]) -> Option<Target> {
    let mut url = Vec::with_capacity(base.url().len() + reference.len());
    let start = reference
        .split(|byte| matches!(*byte, b'/' | b'?' | b'#'))
        .next()
        .unwrap_or_default();
    if start.contains(&b':') {
        url.extend_from_slice(reference);
    } else {
        url.extend_from_slice(base.scheme_name());
        url.push(b':');
        if !reference.starts_with(b"//") {
            url.extend_from_slice(b"//");
            url.extend_from_slice(base.authority());
            if !reference.starts_with(b"/") {
                url.extend_from_slice(folder(base.path()));
            }
        }
        url.extend_from_slice(reference);
    }
    let mut target = Target::new();
    target.set_absolute(&url, UriWhitespace::Deny).ok()?;
    Some(target)
}

/// The path up to its last slash.
fn folder(path: &[u8]) -> &[u8] {
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    let end = path
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |at| at + 1);
    path.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &Method, status: u16, lines: &[(&str, &str)], expected: &[&str]) {
        let mut target = Target::new();
        target
            .set_absolute(b"http://example.com/dir/form?x=1", UriWhitespace::Deny)
            .unwrap();
        let mut reply = Fields::new();
        for (name, value) in lines {
            reply.push(name.as_bytes(), value.as_bytes());
        }
        let spoiled = spoiled(method, &target, status, &reply);
        let urls: Vec<_> = spoiled
            .iter()
            .map(|target| str::from_utf8(target.url()).unwrap())
            .collect();
        assert_eq!(urls, expected, "{method} {status} {lines:?}");
    }

    const OWN: &str = "http://example.com/dir/form?x=1";

    #[test]
    fn unsafe_methods_spoil_their_own_url() {
        // RFC 9111 §4.4.
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
            check(&method, 200, &[], &[OWN]);
            check(&method, 303, &[], &[OWN]);
            check(&method, 404, &[], &[]);
            check(&method, 500, &[], &[]);
        }
        check(&Method::from_bytes(b"MOVE").unwrap(), 204, &[], &[OWN]);
        for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE] {
            check(&method, 200, &[("Location", "/x")], &[]);
        }
    }

    #[test]
    fn locations_of_the_same_origin_are_spoiled_too() {
        // RFC 9111 §4.4.
        check(
            &Method::POST,
            201,
            &[("Location", "/new")],
            &[OWN, "http://example.com/new"],
        );
        check(
            &Method::POST,
            201,
            &[("Location", "new?a:b")],
            &[OWN, "http://example.com/dir/new?a:b"],
        );
        check(
            &Method::POST,
            201,
            &[("Content-Location", "HTTP://Example.com:80/n")],
            &[OWN, "http://example.com/n"],
        );
        check(
            &Method::POST,
            201,
            &[("Location", "//example.com/n")],
            &[OWN, "http://example.com/n"],
        );
        check(&Method::POST, 201, &[("Location", OWN)], &[OWN]);
        check(
            &Method::POST,
            201,
            &[("Location", "http://other.org/n")],
            &[OWN],
        );
        check(
            &Method::POST,
            201,
            &[("Location", "https://example.com/n")],
            &[OWN],
        );
        check(
            &Method::POST,
            201,
            &[("Location", "http://example.com:8080/n")],
            &[OWN],
        );
    }
}
