//! How pages of our own are spelt. Whatever was asked, the target says `http://HOST:PORT/squid-internal-mgr/PAGE` or
//! `cache_object://HOST/PAGE` before any rule looks at it: so the `manager` ACL knows all of them.
//!
//! | asked | where |
//! | --- | --- |
//! | `cache_object://HOST/PAGE[@PASSWORD]` | any port |
//! | `http://OWN:PORT/squid-internal-mgr/PAGE` | any port; OWN and PORT are ours ([`super::own`]) |
//! | `/squid-internal-mgr/PAGE` | an `http_port` that is no accelerator, a `manager_port` |
//! | `/metrics`, `/healthz`, `/readyz`, `/squall`, `/squall/…` | the same |
//! | `/PAGE` | a `manager_port` |

use std::borrow::Cow;

use percent_encoding::percent_decode;
use wire::target::{Scheme, Target};

/// What pages of ours begin with.
const PREFIX: &[u8] = b"/squid-internal-mgr/";

/// The page of pages, spelt as carelessly as it may be.
const INDEX: &[u8] = b"/squid-internal-mgr";

/// Pages whose paths need no prefix.
const SHORT: [&[u8]; 4] = [b"/metrics", b"/healthz", b"/readyz", b"/squall"];

/// Does the target look like one of our pages? Whether its host is ours is another question.
pub(crate) fn is_page(target: &Target) -> bool {
    match target.scheme() {
        Scheme::Http | Scheme::Https => is_spelt_out(target.path()),
        Scheme::CacheObject => true,
        Scheme::Ftp | Scheme::Other | Scheme::Tunnel => false,
    }
}

/// Asked of every request: mostly the first bytes of its path say no.
fn is_spelt_out(path: &[u8]) -> bool {
    let rest = path.strip_prefix(INDEX);
    rest.is_some_and(|rest| matches!(rest, [] | [b'/' | b'?', ..]))
}

/// The path of a request in origin form, spelt out; `None` when it is for no page of ours.
pub(crate) fn spelt_out(path: &[u8]) -> Option<Cow<'_, [u8]>> {
    if is_spelt_out(path) {
        return Some(Cow::Borrowed(path));
    }
    let own = without_query(path);
    let is_short = SHORT.contains(&own) || own.starts_with(b"/squall/");
    is_short.then(|| with_prefix(path))
}

/// The same on a port that has nothing but pages.
pub(crate) fn spelt_out_anyway(path: &[u8]) -> Cow<'_, [u8]> {
    spelt_out(path).unwrap_or_else(|| with_prefix(path))
}

fn with_prefix(path: &[u8]) -> Cow<'_, [u8]> {
    let rest = path.strip_prefix(b"/").unwrap_or(path);
    Cow::Owned([PREFIX, rest].concat())
}

fn without_query(path: &[u8]) -> &[u8] {
    path.split(|byte| *byte == b'?').next().unwrap_or_default()
}

/// The page's name, percent-decoded, and what follows its `?`. `None`: no page has such a name.
pub(crate) fn page_and_query(target: &Target) -> Option<(String, &str)> {
    let path = str::from_utf8(target.path()).ok()?;
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let prefix = str::from_utf8(PREFIX).ok()?;
    let page = match target.scheme() {
        Scheme::CacheObject => path.strip_prefix('/')?,
        _ if path.as_bytes() == INDEX => "",
        _ => path.strip_prefix(prefix)?,
    };
    let page = percent_decode(page.as_bytes()).decode_utf8().ok()?;
    Some((page.into_owned(), query))
}

/// A `cache_object` URL as it may be shown: without its password.
pub(crate) fn without_password(raw: &[u8]) -> Cow<'_, [u8]> {
    match password_at(raw) {
        Some((start, end)) => {
            let before = raw.get(..start.saturating_sub(1)).unwrap_or_default();
            Cow::Owned([before, raw.get(end..).unwrap_or_default()].concat())
        }
        None => Cow::Borrowed(raw),
    }
}

/// The password in such a URL.
pub(crate) fn password(raw: &[u8]) -> Option<String> {
    let scheme = raw.split(|byte| *byte == b':').next()?;
    let (start, end) = password_at(raw).filter(|_| Scheme::of(scheme) == Scheme::CacheObject)?;
    String::from_utf8(raw.get(start..end)?.to_vec()).ok()
}

/// Where the password is: behind the first `@` of the path.
fn password_at(raw: &[u8]) -> Option<(usize, usize)> {
    let host = memchr::memmem::find(raw, b"://")? + 3;
    let path = host + memchr::memchr(b'/', raw.get(host..)?)?;
    let start = path + memchr::memchr(b'@', raw.get(path..)?)? + 1;
    let query = memchr::memchr(b'?', raw.get(start..)?);
    Some((start, query.map_or(raw.len(), |query| start + query)))
}

#[cfg(test)]
mod tests {
    use wire::target::UriWhitespace;

    use super::*;

    fn target(url: &str) -> Target {
        let mut target = Target::new();
        let shown = without_password(url.as_bytes());
        target.set_absolute(&shown, UriWhitespace::Strip).unwrap();
        target
    }

    #[test]
    fn pages_are_known_by_scheme_and_path() {
        let check = |url: &str, asked: Option<(&str, &str)>| {
            let target = target(url);
            let found = is_page(&target).then(|| page_and_query(&target).unwrap());
            let found = found.as_ref().map(|(page, query)| (&**page, *query));
            assert_eq!(found, asked, "{url}");
        };
        check("http://h:3128/squid-internal-mgr/info", Some(("info", "")));
        check(
            "HTTP://h/squid-internal-mgr/5min?a=b",
            Some(("5min", "a=b")),
        );
        check("http://h/squid-internal-mgr/", Some(("", "")));
        check("http://h/squid-internal-mgr?x", Some(("", "x")));
        check("http://h/squid-internal-mgr/i%6efo", Some(("info", "")));
        check("cache_object://h/info@secret", Some(("info", "")));
        check("cache_object://h:1/info@a@b?q", Some(("info", "q")));
        check("cache_object://h/", Some(("", "")));
        check("http://h/squid-internal-mgrs/info", None);
        check("http://h/x/squid-internal-mgr/info", None);
        check("http://h//squid-internal-mgr/info", None);
        check("http://h/squid%2dinternal-mgr/info", None);
        check("http://h/metrics", None);
        check("ftp://h/squid-internal-mgr/info", None);
    }

    #[test]
    fn short_names_are_spelt_out() {
        let check = |path: &str, full: Option<&str>| {
            let found = spelt_out(path.as_bytes());
            assert_eq!(found.as_deref(), full.map(str::as_bytes), "{path}");
        };
        check("/metrics", Some("/squid-internal-mgr/metrics"));
        check("/metrics?x=1", Some("/squid-internal-mgr/metrics?x=1"));
        check("/squall", Some("/squid-internal-mgr/squall"));
        check("/squall/app.js", Some("/squid-internal-mgr/squall/app.js"));
        check("/squid-internal-mgr/info", Some("/squid-internal-mgr/info"));
        check("/squallx", None);
        check("/metrics/x", None);
        check("/", None);
        assert_eq!(*spelt_out_anyway(b"/info"), *b"/squid-internal-mgr/info");
    }

    #[test]
    fn a_password_is_read_and_not_shown() {
        let check = |url: &str, shown: &str, secret: Option<&str>| {
            assert_eq!(*without_password(url.as_bytes()), *shown.as_bytes());
            assert_eq!(password(url.as_bytes()).as_deref(), secret, "{url}");
        };
        check(
            "cache_object://h/info@a@b",
            "cache_object://h/info",
            Some("a@b"),
        );
        check(
            "cache_object://h/info@?x",
            "cache_object://h/info?x",
            Some(""),
        );
        check("cache_object://h/info", "cache_object://h/info", None);
        assert_eq!(password(b"http://h/info@secret"), None);
    }
}
