//! The request head: request line and fields (RFC 9112 §3, §5).

use http::Method;

use super::lines::{LineEnds, parse_section};
use super::{BadRequest, Limits, Parsed, Relaxed, Version};
use crate::{Fields, chars};

/// Empty lines tolerated before a request line (RFC 9112 §2.2): some clients end a POST body with
/// one that belongs to nothing.
const EMPTY_LINES_MAX: usize = 4;

/// Longest method; the longest registered one has 17 letters.
const METHOD_BYTES_MAX: usize = 32;

/// A request head. Reusable: parsing into it keeps its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHead {
    /// The method, letter case as sent.
    pub method: Method,
    /// The version, as far as it matters.
    pub version: Version,
    /// The field lines.
    pub fields: Fields,
    target: Vec<u8>,
    irregular: bool,
}

impl RequestHead {
    /// An empty head to parse into.
    pub fn new() -> Self {
        Self::default()
    }

    /// The request target as sent: no controls, and spaces only when relaxed.
    pub fn target(&self) -> &[u8] {
        &self.target
    }

    /// Replaces the request target.
    pub fn set_target(&mut self, target: &[u8]) {
        self.target.clear();
        self.target.extend_from_slice(target);
    }

    /// Was the head accepted only because the parser is relaxed?
    pub fn irregular(&self) -> bool {
        self.irregular
    }

    /// Back to an empty head, keeping memory.
    pub fn clear(&mut self) {
        self.method = Method::GET;
        self.version = Version::H11;
        self.fields.clear();
        self.target.clear();
        self.irregular = false;
    }
}

/// Parses the request head at the start of `buf` into `head`.
///
/// # Errors
/// When the bytes can't become a valid head within the limits. Answer with the error's status and
/// close.
pub fn parse_request(
    buf: &[u8],
    limits: &Limits,
    head: &mut RequestHead,
) -> Result<Parsed, BadRequest> {
    head.clear();
    let window = buf.get(..limits.head_bytes_max).unwrap_or(buf);
    let is_full = buf.len() >= limits.head_bytes_max;
    let relaxed = limits.relaxed.is_on();

    let Some((skipped, rest)) = skip_empty_lines(window, relaxed)? else {
        return if is_full {
            Err(BadRequest::HeadTooLarge)
        } else {
            Ok(Parsed::Partial)
        };
    };
    let Some((line, section)) = chars::split_once(rest, b'\n') else {
        check_partial_line(rest)?;
        return if is_full {
            Err(BadRequest::TargetTooLong)
        } else {
            Ok(Parsed::Partial)
        };
    };
    let (line, ends) = match line.strip_suffix(b"\r") {
        Some(line) => (line, LineEnds::Crlf),
        None if relaxed => (line, LineEnds::Lf),
        None => return Err(BadRequest::LineEnd),
    };
    parse_line(line, limits.relaxed, head)?;
    head.irregular |= ends == LineEnds::Lf;

    match parse_section(section, limits.fields_max, ends, &mut head.fields)? {
        Some(found) if found.framing_lookalike => Err(BadRequest::FramingLookalike),
        Some(found) => Ok(Parsed::Complete(
            buf_len(skipped, rest, section) + found.bytes,
        )),
        None if is_full => Err(BadRequest::HeadTooLarge),
        None => Ok(Parsed::Partial),
    }
}

/// Bytes before the field section.
fn buf_len(skipped: usize, rest: &[u8], section: &[u8]) -> usize {
    skipped + rest.len() - section.len()
}

/// Steps over empty lines; `None` when there may be more of them.
fn skip_empty_lines(window: &[u8], relaxed: bool) -> Result<Option<(usize, &[u8])>, BadRequest> {
    let mut rest = window;
    for _ in 0..=EMPTY_LINES_MAX {
        rest = match rest {
            [] | [b'\r'] => return Ok(None),
            [b'\r', b'\n', after @ ..] => after,
            [b'\n', after @ ..] if relaxed => after,
            [b'\r' | b'\n', ..] => return Err(BadRequest::LineEnd),
            _ => return Ok(Some((window.len() - rest.len(), rest))),
        };
    }
    Err(BadRequest::RequestLine)
}

/// Finds early what can't become a request line, so that a TLS hello to a plain port, say, gets
/// its answer at once.
fn check_partial_line(line: &[u8]) -> Result<(), BadRequest> {
    let method = line.split(|&byte| byte == b' ').next().unwrap_or_default();
    let method = method.strip_suffix(b"\r").unwrap_or(method);
    if !method.iter().all(|&byte| chars::is_tchar(byte)) {
        return Err(BadRequest::Method);
    }
    if method.len() > METHOD_BYTES_MAX {
        return Err(BadRequest::MethodTooLong);
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.iter().any(|&byte| byte < b' ' || byte == 0x7f) {
        Err(BadRequest::RequestLine)
    } else {
        Ok(())
    }
}

/// `method SP request-target SP HTTP-version`, exactly.
fn parse_line(line: &[u8], relaxed: Relaxed, head: &mut RequestHead) -> Result<(), BadRequest> {
    let (method, rest) = chars::split_once(line, b' ').ok_or(BadRequest::RequestLine)?;
    head.method = parse_method(method)?;
    let at = rest
        .len()
        .checked_sub(" HTTP/1.1".len())
        .ok_or(BadRequest::RequestLine)?;
    let (target, version) = rest.split_at_checked(at).ok_or(BadRequest::RequestLine)?;
    let Some((b' ', version)) = version.split_first() else {
        return Err(BadRequest::Version);
    };
    head.version = parse_version(version)?;
    head.irregular = check_target(target, relaxed)?;
    head.target.extend_from_slice(target);
    Ok(())
}

fn parse_method(method: &[u8]) -> Result<Method, BadRequest> {
    if method.len() > METHOD_BYTES_MAX {
        return Err(BadRequest::MethodTooLong);
    }
    Method::from_bytes(method).map_err(|_| BadRequest::Method)
}

/// `HTTP/` digit `.` digit; any minor version of major 1 (RFC 9112 §2.3).
pub(super) fn parse_version(version: &[u8]) -> Result<Version, BadRequest> {
    match version {
        b"HTTP/1.1" => Ok(Version::H11),
        b"HTTP/1.0" => Ok(Version::H10),
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9'] => Ok(Version::H11),
        [
            b'H',
            b'T',
            b'T',
            b'P',
            b'/',
            b'0' | b'2'..=b'9',
            b'.',
            b'0'..=b'9',
        ] => Err(BadRequest::UnsupportedVersion),
        _ => Err(BadRequest::Version),
    }
}

/// No white space and no controls. Relaxed takes single spaces inside (`uri_whitespace` decides
/// what becomes of them), as long as no second version stands among them. Says whether it had to.
fn check_target(target: &[u8], relaxed: Relaxed) -> Result<bool, BadRequest> {
    if target.is_empty() {
        return Err(BadRequest::RequestLine);
    }
    // Without an early exit this compiles to a few vector instructions.
    let clean = target
        .iter()
        .fold(true, |clean, &byte| clean & (byte > b' ') & (byte != 0x7f));
    if clean {
        return Ok(false);
    }
    let only_spaces = target.iter().all(|&byte| byte >= b' ' && byte != 0x7f);
    if relaxed.is_on() && only_spaces {
        let mut words = target.split(|&byte| byte == b' ');
        if words.all(|word| !word.is_empty() && !word.starts_with(b"HTTP/")) {
            return Ok(true);
        }
    }
    Err(BadRequest::Target)
}

/// Any bytes are refused, or give a head that survives being written and parsed again.
///
/// # Panics
/// When that isn't so.
pub fn fuzz(data: &[u8]) {
    for relaxed in [Relaxed::Off, Relaxed::On] {
        let limits = Limits {
            head_bytes_max: 64 << 10,
            fields_max: 200,
            relaxed,
        };
        let mut head = RequestHead::new();
        let Ok(Parsed::Complete(bytes)) = parse_request(data, &limits, &mut head) else {
            continue;
        };
        assert!(bytes <= data.len(), "no more bytes than there are");
        let mut written = Vec::new();
        super::write_request_head(&head.method, head.target(), &head.fields, &mut written);
        let limits = Limits {
            head_bytes_max: 128 << 10,
            ..limits
        };
        let mut again = RequestHead::new();
        let parsed = parse_request(&written, &limits, &mut again);
        assert_eq!(
            parsed,
            Ok(Parsed::Complete(written.len())),
            "what we write is valid"
        );
        assert_eq!(
            (&head.method, head.target()),
            (&again.method, again.target())
        );
        assert_eq!(head.fields, again.fields);
        if head.version == Version::H11 {
            assert_eq!(
                super::request_framing(&head),
                super::request_framing(&again)
            );
        }
        if let Ok(Some(host)) = super::check_host(&head) {
            assert_eq!(super::check_host(&again), Ok(Some(host)));
        }
    }
}

#[cfg(test)]
mod tests;
