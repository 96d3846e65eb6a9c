//! The access log's built-in formats, to the byte. What analysers rely on: three-digit
//! milliseconds, single blanks, and exactly ten fields in a native line whatever a client sends.

use std::sync::Arc;

use jiff::tz::TimeZone;

use super::show::Show;
use super::text::{push_quoted, push_url};
use super::{LogFacts, json};
use crate::digits::{push_ip, push_number, push_number_wide};
use crate::format::{self, Dialect, LocalTime, Scene};
use crate::record::{HopName, Marks, Record};

/// Room for a line without its URL.
const LINE_BYTES_USUAL: usize = 200;
/// What Squid writes of an ICAP transaction.
const ICAP: &str =
    "%ts.%03tu %6icap::tr %>a -/%03icap::Hs %icap::<st %icap::rm %icap::ru %un -/%icap::<A -";
/// The time of a JSON line, less its milliseconds and zone (RFC 3339).
pub(super) const RFC_3339: &str = "%Y-%m-%dT%H:%M:%S";

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
    /// `json`: ours, an object in each line.
    Json,
    /// One of the configuration's own (`logformat`).
    Custom(Arc<format::Format>),
}

/// Times that are good for a second.
#[derive(Debug)]
pub(super) struct Clocks {
    local: LocalTime,
    utc: LocalTime,
}

impl Clocks {
    pub(super) fn new() -> Self {
        Self::of(TimeZone::system())
    }

    fn of(zone: TimeZone) -> Self {
        Self {
            local: LocalTime::new(zone),
            utc: LocalTime::in_form(TimeZone::UTC, RFC_3339),
        }
    }
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
            "json" => Self::Json,
            "icap_squid" => {
                let compiled = format::Format::compile(ICAP, Dialect::Logformat);
                Self::Custom(Arc::new(compiled.ok()?))
            }
            _ => return None,
        })
    }

    /// Does it show the request's `Referer` or `User-Agent`?
    pub const fn shows_fields(&self) -> bool {
        matches!(
            self,
            Self::Combined | Self::Referrer | Self::Useragent | Self::Json
        )
    }

    /// Does it show fields of the reply?
    pub(super) fn shows_reply(&self, show: &Show) -> bool {
        match self {
            Self::Custom(format) => format.shows_reply(),
            _ => self.heads(show).is_some(),
        }
    }

    /// What follows the line, if it may be followed by the heads.
    fn heads<'s>(&self, show: &'s Show) -> Option<&'s format::Format> {
        let may = matches!(self, Self::Native | Self::Common | Self::Combined);
        show.heads.as_ref().filter(|_| may)
    }

    /// Appends the line, with its end.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        facts: &LogFacts<'_>,
        show: &Show,
        clocks: &mut Clocks,
    ) {
        let url = if show.strip_query {
            stripped(facts.method, facts.url)
        } else {
            facts.url
        };
        let client = show.client(facts.record.client);
        out.reserve(LINE_BYTES_USUAL + url.len());
        let facts = &LogFacts { client, ..*facts };
        let shown = &LogFacts { url, ..*facts };
        match self {
            Self::Native => native(out, shown),
            Self::Common => httpd(out, shown, false, &mut clocks.local),
            Self::Combined => httpd(out, shown, true, &mut clocks.local),
            Self::Referrer => referrer(out, shown),
            Self::Useragent => useragent(out, shown, &mut clocks.local),
            Self::Json => json::write(out, shown, &mut clocks.utc),
            Self::Custom(format) => {
                let scene = Scene::of_log(facts, show.strip_query);
                format.render_by(&scene, &mut clocks.local, out);
            }
        }
        if let Some(heads) = self.heads(show) {
            let scene = Scene::of_log(facts, show.strip_query);
            heads.render_by(&scene, &mut clocks.local, out);
        }
        out.push(b'\n');
    }
}

fn native(out: &mut Vec<u8>, facts: &LogFacts<'_>) {
    let record = facts.record;
    push_time(out, record.finished_unix_ms);
    out.push(b' ');
    push_number_wide(out, record.elapsed_ms(), 6, b' ');
    out.push(b' ');
    push_ip(out, facts.client.ip());
    out.push(b' ');
    push_outcome(out, record);
    out.push(b'/');
    push_number_wide(out, u64::from(record.status), 3, b'0');
    out.push(b' ');
    push_number(out, record.sent_bytes());
    out.push(b' ');
    push_url(out, facts.method);
    out.push(b' ');
    push_url(out, facts.url);
    out.push(b' ');
    push_user(out, record);
    out.push(b' ');
    out.extend_from_slice(record.hierarchy.name().as_bytes());
    out.push(b'/');
    push_hop(out, record);
    out.push(b' ');
    push_url(out, media_type(record.content_type()));
}

fn httpd(out: &mut Vec<u8>, facts: &LogFacts<'_>, combined: bool, clock: &mut LocalTime) {
    let record = facts.record;
    push_ip(out, facts.client.ip());
    out.extend_from_slice(b" - ");
    push_user(out, record);
    out.extend_from_slice(b" [");
    out.extend_from_slice(clock.show(record.finished_unix_ms));
    out.extend_from_slice(b"] \"");
    push_unquotable(out, facts.method);
    out.push(b' ');
    push_unquotable(out, facts.url);
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

fn referrer(out: &mut Vec<u8>, facts: &LogFacts<'_>) {
    push_time(out, facts.record.finished_unix_ms);
    out.push(b' ');
    push_ip(out, facts.client.ip());
    out.push(b' ');
    push_url(out, facts.referer);
    out.push(b' ');
    push_url(out, facts.url);
}

fn useragent(out: &mut Vec<u8>, facts: &LogFacts<'_>, clock: &mut LocalTime) {
    push_ip(out, facts.client.ip());
    out.extend_from_slice(b" [");
    out.extend_from_slice(clock.show(facts.record.finished_unix_ms));
    out.extend_from_slice(b"] \"");
    push_quoted(out, facts.user_agent, false);
    out.push(b'"');
}

/// Seconds, a dot, three digits of milliseconds.
pub(super) fn push_time(out: &mut Vec<u8>, unix_ms: i64) {
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
