//! The `json` format: an object in each line, its schema in docs/logging.md. Lines are printable ASCII, whatever a
//! client sends, so no reader sees an end of line, a terminal's order, or another object.
//!
//! A string is text in JSON. Bytes that are no UTF-8 stand as U+EF00 plus the byte, and so do those of the characters
//! U+EF80 to U+EFFF themselves: what was sent can be told again, to the byte.

use super::LogFacts;
use super::line::{media_type, push_outcome};
use crate::digits::{push_ip, push_number, push_number_wide};
use crate::flow::Received;
use crate::format::LocalTime;
use crate::record::{HopName, Record};

/// Stands for a byte that is no text, when it is added to it.
const BYTE_BASE: u16 = 0xEF00;
/// Characters that stand for bytes.
const BYTE_CHARS: std::ops::RangeInclusive<char> = '\u{EF80}'..='\u{EFFF}';

/// Appends the object; the line's end is the caller's.
pub(super) fn write(out: &mut Vec<u8>, facts: &LogFacts<'_>, utc: &mut LocalTime) {
    let record = facts.record;
    out.extend_from_slice(b"{\"time\":\"");
    out.extend_from_slice(utc.show(record.finished_unix_ms));
    out.push(b'.');
    let millis = record.finished_unix_ms.rem_euclid(1000);
    push_number_wide(out, millis.unsigned_abs(), 3, b'0');
    out.extend_from_slice(b"Z\"");
    number(out, "elapsed_us", record.elapsed_ns() / 1000);
    out.extend_from_slice(b",\"client\":\"");
    push_ip(out, facts.client.ip());
    out.push(b'"');
    number(out, "client_port", facts.client.port().into());
    if let Some(request) = facts.request {
        number(out, "local_port", request.connection.local.port().into());
    }
    out.extend_from_slice(b",\"result\":\"");
    push_outcome(out, record);
    out.extend_from_slice(match record.outcome.tag.is_hit() {
        true => b"\",\"hit\":true".as_slice(),
        false => b"\",\"hit\":false",
    });
    number(out, "status", record.status.into());
    number(out, "request_bytes", record.request_bytes);
    number(out, "reply_bytes", record.sent_bytes());
    number(out, "reply_head_bytes", record.head_bytes);
    string(out, "method", facts.method);
    string(out, "url", facts.url);
    string(out, "version", facts.version.as_bytes());
    optional(out, "user", record.user().unwrap_or_default());
    string(out, "hierarchy", record.hierarchy.name().as_bytes());
    hop(out, record);
    optional(out, "media_type", media_type(record.content_type()));
    optional(out, "referer", facts.referer);
    optional(out, "user_agent", facts.user_agent);
    optional(out, "error", record.error_page().as_bytes());
    optional(out, "error_detail", record.error_detail.as_bytes());
    if let Some(request) = facts.request {
        notes(out, request);
    }
    out.push(b'}');
}

/// Whom the request went to, if anybody.
fn hop(out: &mut Vec<u8>, record: &Record) {
    match &record.hop {
        HopName::None => return,
        HopName::Ip(ip) => {
            out.extend_from_slice(b",\"hop\":\"");
            push_ip(out, *ip);
            out.push(b'"');
        }
        HopName::Host(host) => string(out, "hop", host.as_bytes()),
    }
    let talk = &record.talk;
    number(out, "hop_port", talk.port.into());
    number(out, "hop_status", talk.status.into());
    number(out, "hop_attempts", talk.attempts.into());
    if let Some(answered) = talk.answered_after_ns() {
        number(out, "hop_us", answered / 1000);
    }
}

/// Annotations, each a pair: names may come twice, and their order may matter.
fn notes(out: &mut Vec<u8>, request: &Received<'_>) {
    request.learnt.notes(|notes| {
        for (at, (name, value)) in notes.iter().enumerate() {
            out.extend_from_slice(match at {
                0 => b",\"notes\":[[".as_slice(),
                _ => b",[",
            });
            push_string(out, name.as_bytes());
            out.push(b',');
            push_string(out, value.as_bytes());
            out.push(b']');
        }
        if notes.iter().next().is_some() {
            out.push(b']');
        }
    });
}

fn name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn number(out: &mut Vec<u8>, field: &str, value: u64) {
    name(out, field);
    push_number(out, value);
}

fn string(out: &mut Vec<u8>, field: &str, value: &[u8]) {
    name(out, field);
    push_string(out, value);
}

fn optional(out: &mut Vec<u8>, field: &str, value: &[u8]) {
    if !value.is_empty() {
        string(out, field, value);
    }
}

fn push_string(out: &mut Vec<u8>, value: &[u8]) {
    out.push(b'"');
    // Without a branch per byte the compiler checks many bytes at once.
    let odd = value.iter().fold(false, |odd, &byte| {
        odd | !matches!(byte, b' '..=b'~') | (byte == b'"') | (byte == b'\\')
    });
    if odd {
        push_odd(out, value);
    } else {
        out.extend_from_slice(value);
    }
    out.push(b'"');
}

fn push_odd(out: &mut Vec<u8>, value: &[u8]) {
    for chunk in value.utf8_chunks() {
        for char in chunk.valid().chars() {
            push_char(out, char);
        }
        push_bytes(out, chunk.invalid());
    }
}

fn push_char(out: &mut Vec<u8>, char: char) {
    match char {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        ' '..='~' => char
            .encode_utf8(&mut [0; 4])
            .bytes()
            .for_each(|b| out.push(b)),
        char if BYTE_CHARS.contains(&char) => {
            push_bytes(out, char.encode_utf8(&mut [0; 4]).as_bytes());
        }
        char => {
            for unit in char.encode_utf16(&mut [0; 2]) {
                push_unit(out, *unit);
            }
        }
    }
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        push_unit(out, BYTE_BASE + u16::from(byte));
    }
}

fn push_unit(out: &mut Vec<u8>, unit: u16) {
    out.extend_from_slice(b"\\u");
    for shift in [12, 8, 4, 0] {
        let digit = char::from_digit((u32::from(unit) >> shift) & 15, 16);
        out.extend(digit.and_then(|digit| u8::try_from(digit).ok()));
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
