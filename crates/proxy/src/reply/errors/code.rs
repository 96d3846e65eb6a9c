//! The `%` codes of error pages and of redirections, and what they show.

use jiff::{Timestamp, tz::TimeZone};

use super::escape::{Place, push_url_part, push_url_path};
use super::facts::PageFacts;
use super::template::Fixed;
use crate::digits::{push_ip, push_number};

/// A code whose text depends on the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    User,
    LocalIp,
    LocalPort,
    FtpUrl,
    Detail,
    Errno,
    SystemError,
    Host,
    ClientIp,
    ServerIp,
    HelperMessage,
    LoginMessage,
    Method,
    Port,
    Scheme,
    RequestLine,
    LocalTime,
    Date,
    Url,
    ShortUrl,
    MailData,
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
            b'B' => Self::FtpUrl,
            b'D' => Self::Detail,
            b'e' => Self::Errno,
            b'E' => Self::SystemError,
            b'H' => Self::Host,
            b'i' => Self::ClientIp,
            b'I' => Self::ServerIp,
            b'm' => Self::LoginMessage,
            b'o' | b'O' => Self::HelperMessage,
            b'M' => Self::Method,
            b'p' => Self::Port,
            b'P' => Self::Scheme,
            b'R' => Self::RequestLine,
            b't' => Self::LocalTime,
            b'T' => Self::Date,
            b'u' => Self::Url,
            b'U' => Self::ShortUrl,
            b'W' => Self::MailData,
            b'z' | b'Z' => Self::Message,
            _ => return None,
        })
    }

    /// What a page shows where nothing is known, in Squid's words; a redirection shows nothing.
    const fn unknown(self) -> &'static str {
        match self {
            Self::Detail => "[No Error Detail]",
            Self::SystemError => "[No Error]",
            Self::Host => "[unknown host]",
            Self::Method => "[unknown method]",
            Self::Port => "[unknown port]",
            Self::Scheme => "[unknown protocol]",
            Self::ServerIp | Self::Message => "[unknown]",
            Self::LoginMessage => "[not available]",
            Self::RequestLine => "[no request]",
            Self::Url | Self::ShortUrl => "[no URL]",
            Self::Rule => "none matched, and what no rule allows is refused",
            Self::User
            | Self::LocalIp
            | Self::LocalPort
            | Self::FtpUrl
            | Self::Errno
            | Self::ClientIp
            | Self::HelperMessage
            | Self::LocalTime
            | Self::Date
            | Self::MailData => "",
        }
    }

    /// Appends what the code stands for, escaped for its place.
    pub(super) fn render(
        self,
        place: Place,
        facts: &PageFacts<'_>,
        fixed: &Fixed,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        match self {
            Self::User if facts.user.is_empty() => out.push(b'-'),
            Self::User => place.push(out, facts.user),
            Self::LocalIp => push_ip(out, facts.local.ip()),
            Self::LocalPort => push_number(out, u64::from(facts.local.port())),
            Self::FtpUrl if facts.scheme == b"ftp" => push_url(place, out, facts),
            Self::FtpUrl => {}
            Self::Detail | Self::Message => place.push(out, facts.message.as_bytes()),
            Self::Errno => push_number(out, u64::from(facts.errno().unsigned_abs())),
            Self::SystemError => push_system_error(place, out, facts),
            Self::Host => place.push(out, facts.host),
            Self::ClientIp => push_ip(out, facts.client),
            Self::ServerIp => facts.server.iter().for_each(|ip| push_ip(out, *ip)),
            Self::HelperMessage | Self::LoginMessage => {
                place.push(out, facts.helper_message.as_bytes())
            }
            Self::Method => place.push(out, facts.method),
            Self::Port if facts.port == 0 => {}
            Self::Port => push_number(out, u64::from(facts.port)),
            Self::Scheme => place.push(out, facts.scheme),
            Self::RequestLine => push_request_line(place, out, facts),
            Self::LocalTime => push_local_time(place, out, facts.unix_ms),
            Self::Date if place == Place::Html => out.extend_from_slice(facts.date),
            Self::Date => place.push(out, facts.date),
            Self::Url => push_url(place, out, facts),
            Self::ShortUrl => short_url(facts, fixed.strips_query)
                .iter()
                .for_each(|part| place.push(out, part)),
            Self::MailData => push_mail_data(place, out, facts, fixed),
            Self::Rule => place.push(out, facts.rule().unwrap_or_default().as_bytes()),
        }
        if out.len() == start && place == Place::Html {
            out.extend_from_slice(self.unknown().as_bytes());
        }
    }
}

fn push_url(place: Place, out: &mut Vec<u8>, facts: &PageFacts<'_>) {
    let [url, rest] = facts.clean_url();
    place.push(out, url);
    if !rest.is_empty() {
        place.push(out, rest);
    }
}

/// The URL as logs have it: its query is cut off where `strip_query_terms` says so, and of a tunnel only its end
/// is known.
fn short_url<'a>(facts: &PageFacts<'a>, strips_query: bool) -> [&'a [u8]; 3] {
    if facts.method == b"CONNECT" {
        let host = facts.url.strip_suffix(b":443").unwrap_or(facts.url);
        return [b"https://", host, b"/*"];
    }
    let [scheme, rest] = facts.clean_url();
    let whole = if rest.is_empty() { scheme } else { rest };
    let cut = memchr::memchr(b'?', whole).and_then(|query| whole.get(..=query));
    let shown = cut.filter(|_| strips_query).unwrap_or(whole);
    if rest.is_empty() {
        [shown, b"", b""]
    } else {
        [scheme, shown, b""]
    }
}

/// In a page the method and the path, in a URL the path alone. Fields are never shown.
fn push_request_line(place: Place, out: &mut Vec<u8>, facts: &PageFacts<'_>) {
    if place == Place::Html && !facts.method.is_empty() {
        place.push(out, facts.method);
        let path: &[u8] = if facts.path.is_empty() { b" /" } else { b" " };
        out.extend_from_slice(path);
    }
    match place {
        Place::Html => place.push(out, facts.path),
        // It stands for itself: `https://%H%R`.
        Place::Url => push_url_path(out, facts.path),
    }
}

/// `(111) Connection refused`.
fn push_system_error(place: Place, out: &mut Vec<u8>, facts: &PageFacts<'_>) {
    let text = facts.system_error();
    if text.is_empty() {
        return place.push(out, facts.message.as_bytes());
    }
    place.push(out, format!("({}) {text}", facts.errno()).as_bytes());
}

/// `20/Nov/2026:13:58:28 +0000`
fn push_local_time(place: Place, out: &mut Vec<u8>, unix_ms: i64) {
    let time = Timestamp::from_millisecond(unix_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    let zoned = time.to_zoned(TimeZone::system());
    let shown = zoned.strftime("%d/%b/%Y:%H:%M:%S %z").to_string();
    place.push(out, shown.as_bytes());
}

/// Subject and text for a mail to the administrator, behind a `mailto:` link. No field of the request is told, nor
/// what is in a URL's query: a mail goes far.
fn push_mail_data(place: Place, out: &mut Vec<u8>, facts: &PageFacts<'_>, fixed: &Fixed) {
    if place == Place::Url || !fixed.mail_data || fixed.admin.is_empty() {
        return;
    }
    let page = facts.failure.kind.page();
    out.extend_from_slice(b"?subject=");
    push_url_part(out, format!("Proxy error {page}").as_bytes());
    out.extend_from_slice(b"&amp;body=");
    let mut body = Vec::new();
    let mut line = |name: &str, value: &[u8]| {
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(b": ");
        body.extend_from_slice(value);
        body.extend_from_slice(b"\r\n");
    };
    let mut client = Vec::new();
    push_ip(&mut client, facts.client);
    line("Proxy", fixed.hostname.as_bytes());
    line("Page", page.as_bytes());
    line("Error", facts.system_error().as_bytes());
    line("Time", facts.date);
    line("Client", &client);
    line("Method", facts.method);
    line("URL", &short_url(facts, true).concat());
    push_url_part(out, &body);
}
