//! The access log's built-in formats, to the byte. What analysers rely on: three-digit
//! milliseconds, single blanks, and exactly ten fields in a native line whatever a client sends.

use std::sync::Arc;

use super::LogFacts;
use super::text::{push_quoted, push_url};
use crate::digits::{push_ip, push_number, push_number_wide};
use crate::format::{self, LocalTime, Scene};
use crate::record::{HopName, Marks, Record};

/// Room for a line without its URL.
const LINE_BYTES_USUAL: usize = 200;

/// A log format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `squid`: the native format.
    #[default]
    Native,
    /// `common`: as web servers do, with Squid's result codes at the end.
    Common,
    /// `combined`: `common` with `Referer` and `User-Agent`.
    Combined,
    /// `referrer`: who linked to what.
    Referrer,
    /// `useragent`: who came with what.
    Useragent,
    /// One of the configuration's own (`logformat`).
    Custom(Arc<format::Format>),
}

impl Format {
    /// The format of that name in `squid.conf`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "squid" => Self::Native,
            "common" => Self::Common,
            "combined" => Self::Combined,
            "referrer" => Self::Referrer,
            "useragent" => Self::Useragent,
            _ => return None,
        })
    }

    /// Does it show the request's `Referer` or `User-Agent`?
    pub const fn shows_fields(&self) -> bool {
        matches!(self, Self::Combined | Self::Referrer | Self::Useragent)
    }

    /// Does it show fields of the reply?
    pub(crate) fn shows_reply(&self) -> bool {
        match self {
            Self::Custom(format) => format.shows_reply(),
            _ => false,
        }
    }

    /// Appends the line, with its end.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        facts: &LogFacts<'_>,
        strip_query: bool,
        clock: &mut LocalTime,
    ) {
        let url = if strip_query {
            stripped(facts.method, facts.url)
        } else {
            facts.url
        };
        out.reserve(LINE_BYTES_USUAL + url.len());
        match self {
            Self::Native => native(out, facts, url),
            Self::Common => httpd(out, facts, url, false, clock),
            Self::Combined => httpd(out, facts, url, true, clock),
            Self::Referrer => referrer(out, facts, url),
            Self::Useragent => useragent(out, facts, clock),
            Self::Custom(format) => {
                format.render_by(&Scene::of_log(facts, strip_query), clock, out);
            }
        }
        out.push(b'\n');
    }
}

fn native(out: &mut Vec<u8>, facts: &LogFacts<'_>, url: &[u8]) {
    let record = facts.record;
    push_time(out, record.finished_unix_ms);
    out.push(b' ');
    push_number_wide(out, record.elapsed_ms(), 6, b' ');
    out.push(b' ');
    push_ip(out, record.client.ip());
    out.push(b' ');
    push_outcome(out, record);
    out.push(b'/');
    push_number_wide(out, u64::from(record.status), 3, b'0');
    out.push(b' ');
    push_number(out, record.sent_bytes());
    out.push(b' ');
    push_url(out, facts.method);
    out.push(b' ');
    push_url(out, url);
    out.push(b' ');
    push_user(out, record);
    out.push(b' ');
    out.extend_from_slice(record.hierarchy.name().as_bytes());
    out.push(b'/');
    push_hop(out, record);
    out.push(b' ');
    push_url(out, media_type(record.content_type()));
}

fn httpd(
    out: &mut Vec<u8>,
    facts: &LogFacts<'_>,
    url: &[u8],
    combined: bool,
    clock: &mut LocalTime,
) {
    let record = facts.record;
    push_ip(out, record.client.ip());
    out.extend_from_slice(b" - ");
    push_user(out, record);
    out.extend_from_slice(b" [");
    out.extend_from_slice(clock.show(record.finished_unix_ms));
    out.extend_from_slice(b"] \"");
    push_unquotable(out, facts.method);
    out.push(b' ');
    push_unquotable(out, url);
    out.extend_from_slice(b" HTTP/");
    out.extend_from_slice(facts.version.as_bytes());
    out.extend_from_slice(b"\" ");
    push_number(out, u64::from(record.status));
    out.push(b' ');
    push_number(out, record.sent_bytes());
    out.push(b' ');
    if combined {
        for field in [facts.referer, facts.user_agent] {
            out.push(b'"');
            push_quoted(out, field, false);
            out.extend_from_slice(b"\" ");
        }
    }
    push_outcome(out, record);
    out.push(b':');
    out.extend_from_slice(record.hierarchy.name().as_bytes());
}

fn referrer(out: &mut Vec<u8>, facts: &LogFacts<'_>, url: &[u8]) {
    push_time(out, facts.record.finished_unix_ms);
    out.push(b' ');
    push_ip(out, facts.record.client.ip());
    out.push(b' ');
    push_url(out, facts.referer);
    out.push(b' ');
    push_url(out, url);
}

fn useragent(out: &mut Vec<u8>, facts: &LogFacts<'_>, clock: &mut LocalTime) {
    push_ip(out, facts.record.client.ip());
    out.extend_from_slice(b" [");
    out.extend_from_slice(clock.show(facts.record.finished_unix_ms));
    out.extend_from_slice(b"] \"");
    push_quoted(out, facts.user_agent, false);
    out.push(b'"');
}

/// Seconds, a dot, three digits of milliseconds.
fn push_time(out: &mut Vec<u8>, unix_ms: i64) {
    let unix_ms = u64::try_from(unix_ms).unwrap_or(0);
    push_number_wide(out, unix_ms / 1000, 9, b' ');
    out.push(b'.');
    push_number_wide(out, unix_ms % 1000, 3, b'0');
}

/// `TCP_CF_MISS_ABORTED`.
pub(crate) fn push_outcome(out: &mut Vec<u8>, record: &Record) {
    let outcome = record.outcome;
    out.extend_from_slice(outcome.tag.prefix().as_bytes());
    if outcome.marks.has(Marks::COLLAPSED) {
        out.extend_from_slice(b"_CF");
    }
    out.extend_from_slice(outcome.tag.suffix().as_bytes());
    if outcome.marks.is_empty() {
        return;
    }
    for (mark, word) in [
        (Marks::IGNORED, "_IGNORED"),
        (Marks::TIMED_OUT, "_TIMEDOUT"),
        (Marks::ABORTED, "_ABORTED"),
    ] {
        if outcome.marks.has(mark) {
            out.extend_from_slice(word.as_bytes());
        }
    }
}

fn push_user(out: &mut Vec<u8>, record: &Record) {
    push_quoted(out, record.user().unwrap_or_default(), true);
}

fn push_hop(out: &mut Vec<u8>, record: &Record) {
    match &record.hop {
        HopName::None => out.push(b'-'),
        HopName::Ip(ip) => push_ip(out, *ip),
        HopName::Host(host) => push_url(out, host.as_bytes()),
    }
}

/// A URL between double quotes: its own quotes are escaped.
fn push_unquotable(out: &mut Vec<u8>, url: &[u8]) {
    let mut parts = url.split(|&byte| byte == b'"');
    push_url(out, parts.next().unwrap_or_default());
    for part in parts {
        out.extend_from_slice(b"%22");
        if !part.is_empty() {
            push_url(out, part);
        }
    }
}

/// The content type without its parameters.
pub(crate) fn media_type(content_type: &[u8]) -> &[u8] {
    content_type
        .split(|byte| matches!(byte, b';' | b' ' | b'\t'))
        .next()
        .unwrap_or_default()
}

/// The URL up to and with its question mark, as `strip_query_terms` asks; CONNECT has no query.
pub(crate) fn stripped<'a>(method: &[u8], url: &'a [u8]) -> &'a [u8] {
    if method == b"CONNECT" {
        return url;
    }
    memchr::memchr(b'?', url)
        .and_then(|mark| url.get(..=mark))
        .unwrap_or(url)
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
