//! The response head: status line and fields (RFC 9112 §4, §5).

use super::lines::{
    BadLines, LineEnds, mend_response_section, merge_content_length_lists, parse_section,
};
use super::{BadResponse, Limits, Parsed, Version};
use crate::{Fields, chars};

/// A response head. Reusable: parsing into it keeps its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// The version, as far as it matters.
    pub version: Version,
    /// The status code, 100 to 999.
    pub status: u16,
    /// The field lines.
    pub fields: Fields,
    reason: Vec<u8>,
    irregular: bool,
}

impl ResponseHead {
    /// An empty head to parse into.
    pub fn new() -> Self {
        Self::default()
    }

    /// A head of our own with the usual reason phrase and no fields.
    pub fn with_status(status: u16) -> Self {
        let mut head = Self {
            status,
            ..Self::default()
        };
        head.set_reason(super::reason_phrase(status).as_bytes());
        head
    }

    /// The reason phrase as sent; may be empty.
    pub fn reason(&self) -> &[u8] {
        &self.reason
    }

    /// Replaces the reason phrase; control characters become spaces.
    pub fn set_reason(&mut self, reason: &[u8]) {
        let clean = |&byte: &u8| {
            if chars::is_field_value_byte(byte) {
                byte
            } else {
                b' '
            }
        };
        self.reason.clear();
        self.reason.extend(reason.iter().map(clean));
    }

    /// Was the head accepted only because the parser is relaxed, or mended?
    pub fn irregular(&self) -> bool {
        self.irregular
    }

    /// Back to an empty head, keeping memory.
    pub fn clear(&mut self) {
        self.version = Version::H11;
        self.status = 0;
        self.fields.clear();
        self.reason.clear();
        self.irregular = false;
    }
}

/// Parses the response head at the start of `buf` into `head`.
///
/// # Errors
/// When the bytes can't become a valid head within the limits. HTTP/0.9 is refused.
pub fn parse_response(
    buf: &[u8],
    limits: &Limits,
    head: &mut ResponseHead,
) -> Result<Parsed, BadResponse> {
    head.clear();
    let window = buf.get(..limits.head_bytes_max).unwrap_or(buf);
    let partial = || {
        let is_full = buf.len() >= limits.head_bytes_max;
        if is_full {
            Err(BadResponse::HeadTooLarge)
        } else {
            Ok(Parsed::Partial)
        }
    };
    let relaxed = limits.relaxed.is_on();

    const PREFIX: &[u8] = b"HTTP/1.";
    if !window
        .iter()
        .zip(PREFIX)
        .all(|(byte, expected)| byte == expected)
    {
        return Err(BadResponse::NotHttp);
    }
    let Some((line, section)) = chars::split_once(window, b'\n') else {
        return partial();
    };
    let line_bytes = window.len() - section.len();
    let (line, bare_lf) = match line.strip_suffix(b"\r") {
        Some(line) => (line, false),
        None if relaxed => (line, true),
        None => return Err(BadResponse::LineEnd),
    };
    parse_status_line(line, head)?;

    let ends = if relaxed {
        LineEnds::Any
    } else {
        LineEnds::Crlf
    };
    let mut found = parse_section(section, limits.fields_max, ends, &mut head.fields);
    if found == Err(BadLines::Name)
        && let Some(mended) = mend_response_section(section, ends)?
    {
        found = parse_section(&mended, limits.fields_max, ends, &mut head.fields);
        head.irregular = true;
    }
    match found? {
        Some(section) => {
            head.irregular |= bare_lf || section.bare_lf;
            merge_content_length_lists(&mut head.fields);
            Ok(Parsed::Complete(line_bytes + section.bytes))
        }
        None => partial(),
    }
}

/// `HTTP/1.x SP 3DIGIT [SP reason]`. The space after the status may be missing when the reason is.
fn parse_status_line(line: &[u8], head: &mut ResponseHead) -> Result<(), BadResponse> {
    let (version, rest) = line.split_at_checked(8).ok_or(BadResponse::StatusLine)?;
    head.version = super::request::parse_version(version).map_err(|_| BadResponse::StatusLine)?;
    let (status, reason) = match rest {
        [b' ', status @ ..] if status.len() == 3 => (status, &b""[..]),
        [b' ', a, b, c, b' ', reason @ ..] => (&[*a, *b, *c][..], reason),
        _ => return Err(BadResponse::StatusLine),
    };
    let code = chars::decimal(status).and_then(|code| u16::try_from(code).ok());
    head.status = code
        .filter(|&code| code >= 100)
        .ok_or(BadResponse::StatusLine)?;
    if !reason.iter().all(|&byte| chars::is_field_value_byte(byte)) {
        return Err(BadResponse::StatusLine);
    }
    head.reason.extend_from_slice(reason);
    Ok(())
}

/// Any bytes are refused, or give a head that survives being written and parsed again.
///
/// # Panics
/// When that isn't so.
pub fn fuzz(data: &[u8]) {
    for relaxed in [super::Relaxed::Off, super::Relaxed::On] {
        let limits = Limits {
            head_bytes_max: 64 << 10,
            fields_max: 200,
            relaxed,
        };
        let mut head = ResponseHead::new();
        let Ok(Parsed::Complete(bytes)) = parse_response(data, &limits, &mut head) else {
            continue;
        };
        assert!(bytes <= data.len(), "no more bytes than there are");
        let mut written = Vec::new();
        super::write_status_line(head.status, head.reason(), &mut written);
        head.fields.write_to(&mut written);
        written.extend_from_slice(b"\r\n");
        let limits = Limits {
            head_bytes_max: 128 << 10,
            fields_max: 200,
            ..Limits::default()
        };
        let mut again = ResponseHead::new();
        let parsed = parse_response(&written, &limits, &mut again);
        assert_eq!(
            parsed,
            Ok(Parsed::Complete(written.len())),
            "what we write is valid"
        );
        assert_eq!((head.status, head.reason()), (again.status, again.reason()));
        assert_eq!(head.fields, again.fields);
        if head.version == Version::H11 {
            for method in [http::Method::GET, http::Method::HEAD, http::Method::CONNECT] {
                let framing = super::response_framing(&method, &head);
                assert_eq!(framing, super::response_framing(&method, &again));
            }
        }
    }
}

#[cfg(test)]
mod tests;
