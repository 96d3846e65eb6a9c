//! What the cache did about a request, and how a reply says so: `Cache-Status` (RFC 9211), a list to which each cache on the
//! way adds its member, and the older `X-Cache` and `X-Cache-Lookup`.
//!
//! All that doesn't change is made with the plan; a hit adds its remaining lifetime. Values are written as Structured
//! Fields (RFC 9651): words of ours are tokens; a host name or a key that can't be a token is a string.

use config::Config;
use rules::caching::storable::NotStorable;
use wire::field::{FieldId, Fields};

use crate::digits::push_number;
use crate::flow::Object;

/// What the cache did about a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    part: Part,
    detail: Option<Detail>,
    /// The response is stored.
    stored: bool,
    /// The request waited for another's fetch: and got its response, or not.
    collapsed: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    /// None: the reply is of our own making.
    #[default]
    None,
    Hit,
    Forwarded(Forward),
}

/// Why a request went forward (RFC 9211 §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forward {
    /// The cache was told to keep out of it.
    Bypass,
    /// By its method.
    Method,
    /// Nothing is stored under its key.
    UriMiss,
    /// What is stored under its key answers others.
    VaryMiss,
    /// Nothing could be used.
    Miss,
    /// What is stored was fresh, but the client wouldn't have it.
    Request,
    /// What is stored was stale.
    Stale,
    /// What is stored is a part of what is asked for.
    Partial,
}

impl Forward {
    const fn name(self) -> &'static str {
        match self {
            Self::Bypass => "bypass",
            Self::Method => "method",
            Self::UriMiss => "uri-miss",
            Self::VaryMiss => "vary-miss",
            Self::Miss => "miss",
            Self::Request => "request",
            Self::Stale => "stale",
            Self::Partial => "partial",
        }
    }
}

/// What else there is to say (RFC 9211 §2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Why the response isn't stored.
    NotStored(NotStorable),
    /// The response isn't stored: by this directive, or for this reason.
    Kept(&'static str),
    /// The `refresh_pattern` line that says how long it is fresh.
    RefreshPattern(u32),
    /// The origin could not be asked.
    OriginFailed,
}

impl CacheStatus {
    /// Answered from the cache.
    pub(crate) fn hit(&mut self) {
        *self = Self {
            part: Part::Hit,
            ..Self::default()
        };
    }

    /// Answered from the cache, since the origin could not be asked.
    pub(crate) fn hit_after_failure(&mut self) {
        self.hit();
        self.detail = Some(Detail::OriginFailed);
    }

    /// Sent forward.
    pub(crate) fn forwarded(&mut self, why: Forward) {
        *self = Self {
            part: Part::Forwarded(why),
            ..Self::default()
        };
    }

    /// The response is stored.
    pub(crate) fn stored(&mut self) {
        self.stored = true;
    }

    /// The request waited for another's fetch, whose response it `got` or not.
    pub(crate) fn waited(&mut self, got: bool) {
        self.collapsed = Some(got);
    }

    /// Did it wait for another's fetch?
    pub(crate) fn has_waited(&self) -> bool {
        self.collapsed.is_some()
    }

    /// Adds a detail.
    pub(crate) fn because(&mut self, detail: Detail) {
        self.detail = Some(detail);
    }

    /// Is it a hit about which nothing else is to be said?
    pub(crate) fn is_plain_hit(&self) -> bool {
        self.part == Part::Hit && self.detail.is_none()
    }

    /// Is it a hit?
    pub(crate) fn is_hit(&self) -> bool {
        self.part == Part::Hit
    }

    /// Did what is stored answer other requests only?
    pub(crate) fn is_vary_miss(&self) -> bool {
        self.part == Part::Forwarded(Forward::VaryMiss)
    }

    /// Is there nothing to say?
    pub(crate) fn is_none(&self) -> bool {
        self.part == Part::None
    }
}

/// The lines of a configuration.
#[derive(Debug)]
pub(crate) struct StatusLines {
    /// Our name as an item.
    name: Box<[u8]>,
    /// Reasons are told (`cache_status_detail`).
    tells_detail: bool,
    /// The key is told (`cache_status_key`).
    tells_key: bool,
    /// `x_cache_headers`
    x_cache: Option<XCache>,
    /// The field line of a hit up to its lifetime, with those of X-Cache.
    hit: Box<[u8]>,
}

/// Values of `X-Cache` and `X-Cache-Lookup`.
#[derive(Debug)]
struct XCache {
    hit: Box<[u8]>,
    miss: Box<[u8]>,
    found: Box<[u8]>,
    not_found: Box<[u8]>,
    not_looked_up: Box<[u8]>,
}

impl StatusLines {
    pub(crate) fn new(config: &Config, visible_hostname: &str) -> Self {
        let mut name = Vec::new();
        push_item(visible_hostname.as_bytes(), &mut name);
        let x_cache = config.x_cache_headers.then(|| {
            let port = config.ports.first().map_or(0, |port| port.port);
            let cache = |word| {
                format!("{word} from {visible_hostname}")
                    .into_bytes()
                    .into()
            };
            let lookup = |word| {
                let value = format!("{word} from {visible_hostname}:{port}");
                value.into_bytes().into()
            };
            XCache {
                hit: cache("HIT"),
                miss: cache("MISS"),
                found: lookup("HIT"),
                not_found: lookup("MISS"),
                not_looked_up: lookup("NONE"),
            }
        });
        let mut hit = Vec::new();
        if let Some(x_cache) = &x_cache {
            hit.extend_from_slice(b"X-Cache: ");
            hit.extend_from_slice(&x_cache.hit);
            hit.extend_from_slice(b"\r\nX-Cache-Lookup: ");
            hit.extend_from_slice(&x_cache.found);
            hit.extend_from_slice(b"\r\n");
        }
        hit.extend_from_slice(b"Cache-Status: ");
        hit.extend_from_slice(&name);
        hit.extend_from_slice(b";hit;ttl=");
        Self {
            name: name.into(),
            tells_detail: config.cache_status_detail,
            tells_key: config.cache_status_key,
            x_cache,
            hit: hit.into(),
        }
    }

    /// Appends the field lines of a plain hit.
    pub(crate) fn write_hit(&self, object: &Object, now: i64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.hit);
        push_integer(object.meta.freshness.ttl_secs(now), out);
        if self.tells_key {
            push_key(object.key(), out);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Adds the fields. `sent` is the status that goes to the client, `received` that of the hop's last answer (0: none);
    /// `object`, what is stored of the response; `is_hit`, what the log calls it.
    pub(crate) fn add(
        &self,
        status: &CacheStatus,
        (sent, received): (u16, u16),
        (object, now): (Option<&Object>, i64),
        is_hit: bool,
        fields: &mut Fields,
    ) {
        if status.is_none() {
            return;
        }
        if let Some(x_cache) = &self.x_cache {
            let lookup = match status.part {
                Part::None | Part::Forwarded(Forward::Bypass | Forward::Method) => {
                    &x_cache.not_looked_up
                }
                Part::Forwarded(Forward::UriMiss | Forward::VaryMiss | Forward::Miss) => {
                    &x_cache.not_found
                }
                Part::Hit | Part::Forwarded(_) => &x_cache.found,
            };
            let cache = if is_hit { &x_cache.hit } else { &x_cache.miss };
            fields.push_id(FieldId::XCache, cache);
            fields.push_id(FieldId::XCacheLookup, lookup);
        }
        let mut value = Vec::with_capacity(self.name.len() + 64);
        self.write(status, (sent, received), (object, now), &mut value);
        fields.push_id(FieldId::CacheStatus, &value);
    }

    /// Adds `X-Cache` and `X-Cache-Lookup` to a page of ours.
    pub(crate) fn add_to_page(&self, fields: &mut Fields) {
        if let Some(x_cache) = &self.x_cache {
            fields.push_id(FieldId::XCache, &x_cache.miss);
            fields.push_id(FieldId::XCacheLookup, &x_cache.not_looked_up);
        }
    }

    fn write(
        &self,
        status: &CacheStatus,
        (sent, received): (u16, u16),
        (object, now): (Option<&Object>, i64),
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(&self.name);
        match status.part {
            Part::None => return,
            Part::Hit => out.extend_from_slice(b";hit"),
            Part::Forwarded(why) => {
                out.extend_from_slice(b";fwd=");
                out.extend_from_slice(why.name().as_bytes());
                if received != 0 && received != sent {
                    out.extend_from_slice(b";fwd-status=");
                    push_number(out, received.into());
                }
                if status.stored {
                    out.extend_from_slice(b";stored");
                }
                match status.collapsed {
                    Some(true) => out.extend_from_slice(b";collapsed"),
                    Some(false) => out.extend_from_slice(b";collapsed=?0"),
                    None => {}
                }
            }
        }
        if let Some(object) = object {
            out.extend_from_slice(b";ttl=");
            push_integer(object.meta.freshness.ttl_secs(now), out);
            if self.tells_key {
                push_key(object.key(), out);
            }
        }
        let guessed_by = || object.and_then(|object| object.meta.freshness.guessed_by);
        let guessed_by = || Some(Detail::RefreshPattern(guessed_by()?.get()));
        let detail = status.detail.or_else(|| {
            let stored = status.stored;
            stored.then(guessed_by).flatten()
        });
        if let Some(detail) = detail.filter(|_| self.tells_detail) {
            out.extend_from_slice(b";detail=");
            match detail {
                Detail::NotStored(why) => out.extend_from_slice(why.name().as_bytes()),
                Detail::Kept(why) => out.extend_from_slice(why.as_bytes()),
                Detail::RefreshPattern(number) => {
                    out.extend_from_slice(b"refresh_pattern:");
                    push_number(out, number.into());
                }
                Detail::OriginFailed => out.extend_from_slice(b"origin-failed"),
            }
        }
    }
}

/// Integers of Structured Fields have at most 15 digits (RFC 9651 §3.3.1).
const INTEGER_MAX: i64 = 999_999_999_999_999;

fn push_integer(number: i64, out: &mut Vec<u8>) {
    let number = number.clamp(-INTEGER_MAX, INTEGER_MAX);
    if number < 0 {
        out.push(b'-');
    }
    push_number(out, number.unsigned_abs());
}

fn push_key(key: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b";key=");
    push_string(key, out);
}

/// A token if it can be one (RFC 9651 §3.3.4), else a string.
fn push_item(text: &[u8], out: &mut Vec<u8>) {
    let begins = text
        .first()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'*');
    let is_tchar = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(byte);
    if begins && text.iter().all(is_tchar) {
        out.extend_from_slice(text);
    } else {
        push_string(text, out);
    }
}

/// A string (RFC 9651 §3.3.3). Bytes that it can't hold are written as in a URL.
fn push_string(text: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.push(b'"');
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b' '..=b'~' => out.push(byte),
            _ => {
                let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
                out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(conf: &str, status: &CacheStatus, statuses: (u16, u16)) -> String {
        let config = config::parse(conf, "test").unwrap();
        let lines = StatusLines::new(&config, "proxy.example");
        let mut out = Vec::new();
        lines.write(status, statuses, (None, 0), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn forwards_say_why_and_what_became_of_it() {
        let check = |change: &dyn Fn(&mut CacheStatus), received, expected: &str| {
            let mut status = CacheStatus::default();
            change(&mut status);
            let text = written("", &status, (200, received));
            assert_eq!(text, format!("proxy.example;{expected}"));
        };
        check(
            &|status| status.forwarded(Forward::UriMiss),
            200,
            "fwd=uri-miss",
        );
        check(
            &|status| status.forwarded(Forward::Stale),
            304,
            "fwd=stale;fwd-status=304",
        );
        check(
            &|status| {
                status.forwarded(Forward::VaryMiss);
                status.stored();
                status.waited(true);
            },
            0,
            "fwd=vary-miss;stored;collapsed",
        );
        check(
            &|status| {
                status.forwarded(Forward::UriMiss);
                status.waited(false);
                status.because(Detail::NotStored(NotStorable::Private));
            },
            200,
            "fwd=uri-miss;collapsed=?0;detail=private",
        );
        check(
            &CacheStatus::hit_after_failure,
            0,
            "hit;detail=origin-failed",
        );
    }

    #[test]
    fn a_name_or_key_that_is_no_token_is_a_string() {
        let item = |text: &[u8]| {
            let mut out = Vec::new();
            push_item(text, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(item(b"proxy.example"), "proxy.example");
        assert_eq!(item(b"10.0.0.1"), "\"10.0.0.1\"");
        assert_eq!(item(b"*:/a"), "*:/a");
        assert_eq!(
            item(b"http://a/?\"\\ x\r\n\xff"),
            "\"http://a/?\\\"\\\\ x%0D%0A%FF\""
        );
        assert_eq!(item(b""), "\"\"");
    }

    #[test]
    fn integers_have_fifteen_digits_at_most() {
        let integer = |number| {
            let mut out = Vec::new();
            push_integer(number, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(integer(-412), "-412");
        assert_eq!(integer(0), "0");
        assert_eq!(integer(i64::MIN), "-999999999999999");
        assert_eq!(integer(i64::MAX), "999999999999999");
    }
}
