//! The `%` codes of error pages and what they show.

use std::io::Write as _;

use jiff::{Timestamp, tz::TimeZone};

use super::PageFacts;
use super::escape::push_html;
use crate::digits::{push_ip, push_number};

/// A code whose text depends on the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    User,
    LocalIp,
    LocalPort,
    Detail,
    Errno,
    SystemError,
    Host,
    ClientIp,
    ServerIp,
    Method,
    Port,
    Scheme,
    RequestLine,
    LocalTime,
    Date,
    Url,
    Message,
    Rule,
}

impl Code {
    /// The code of that letter; `None` for letters that mean nothing, or the same for all requests.
    pub(super) const fn of(letter: u8) -> Option<Self> {
        Some(match letter {
            b'a' => Self::User,
            b'A' => Self::LocalIp,
            b'b' => Self::LocalPort,
            b'B' | b'u' | b'U' => Self::Url,
            b'D' | b'x' => Self::Detail,
            b'e' => Self::Errno,
            b'E' => Self::SystemError,
            b'H' => Self::Host,
            b'i' => Self::ClientIp,
            b'I' => Self::ServerIp,
            b'M' => Self::Method,
            b'p' => Self::Port,
            b'P' => Self::Scheme,
            b'R' => Self::RequestLine,
            b't' => Self::LocalTime,
            b'T' => Self::Date,
            b'z' => Self::Message,
            _ => return None,
        })
    }

    /// Appends what the code stands for.
    pub(super) fn render(self, facts: &PageFacts<'_>, out: &mut Vec<u8>) {
        match self {
            Self::User => push_known(out, facts.user, b"-"),
            Self::LocalIp => push_ip(out, facts.local.ip()),
            Self::LocalPort => push_number(out, u64::from(facts.local.port())),
            Self::Detail => {
                push_known(out, facts.message.as_bytes(), b"[No Error Detail]");
            }
            Self::Errno => push_number(out, u64::from(facts.errno.unsigned_abs())),
            Self::SystemError => push_system_error(out, facts.errno, facts.message),
            Self::Host => push_known(out, facts.host, b"[unknown host]"),
            Self::ClientIp => push_ip(out, facts.client),
            Self::ServerIp => match facts.server {
                Some(ip) => push_ip(out, ip),
                None => out.extend_from_slice(b"[unknown]"),
            },
            Self::Method => push_known(out, facts.method, b"[unknown method]"),
            Self::Port if facts.port == 0 => out.extend_from_slice(b"[unknown port]"),
            Self::Port => push_number(out, u64::from(facts.port)),
            Self::Scheme => push_known(out, facts.scheme.as_bytes(), b"[unknown protocol]"),
            Self::RequestLine => push_request_line(out, facts),
            Self::LocalTime => push_local_time(out, facts.unix_ms),
            Self::Date => out.extend_from_slice(facts.date),
            Self::Url => push_url(out, facts.url),
            Self::Message => push_known(out, facts.message.as_bytes(), b"[unknown]"),
            Self::Rule => push_rule(out, facts.rule),
        }
    }
}

fn push_known(out: &mut Vec<u8>, text: &[u8], unknown: &[u8]) {
    if text.is_empty() {
        out.extend_from_slice(unknown);
    } else {
        push_html(out, text);
    }
}

/// The URL without the name and password that it may hold.
fn push_url(out: &mut Vec<u8>, url: &[u8]) {
    let start = memchr::memmem::find(url, b"://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at_checked(start).unwrap_or((b"", url));
    let authority = rest
        .split(|&byte| matches!(byte, b'/' | b'?' | b'#'))
        .next()
        .unwrap_or_default();
    match memchr::memrchr(b'@', authority) {
        Some(at) => {
            push_html(out, scheme);
            push_html(out, rest.get(at + 1..).unwrap_or_default());
        }
        None => push_known(out, url, b"[no URL]"),
    }
}

fn push_request_line(out: &mut Vec<u8>, facts: &PageFacts<'_>) {
    if facts.method.is_empty() {
        return out.extend_from_slice(b"[no request]");
    }
    push_html(out, facts.method);
    out.push(b' ');
    push_known(out, facts.path, b"/");
}

/// `(111) Connection refused`.
fn push_system_error(out: &mut Vec<u8>, errno: i32, message: &str) {
    if errno == 0 {
        return push_known(out, message.as_bytes(), b"[No Error]");
    }
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    let text = text
        .rsplit_once(" (os error ")
        .map_or(text.as_str(), |(text, _)| text);
    out.push(b'(');
    push_number(out, u64::from(errno.unsigned_abs()));
    out.extend_from_slice(b") ");
    push_html(out, text.as_bytes());
}

fn push_rule(out: &mut Vec<u8>, rule: Option<&str>) {
    match rule {
        Some(rule) => push_html(out, rule.as_bytes()),
        None => out.extend_from_slice(b"none matched, and what no rule allows is refused"),
    }
}

fn push_local_time(out: &mut Vec<u8>, unix_ms: i64) {
    let time = Timestamp::from_millisecond(unix_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    let zoned = time.to_zoned(TimeZone::system());
    let shown = zoned.strftime("%a, %d %b %Y %H:%M:%S %Z");
    write!(out, "{shown}").expect("a Vec takes all that is written");
}
