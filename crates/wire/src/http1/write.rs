//! Heads and chunks as they go out, always from the model (RFC 9112 §3, §4, §7.1).

use http::Method;

use super::{
    Limits, Parsed, RequestHead, ResponseHead, Version, check_host, parse_request, parse_response,
    request_framing, response_framing,
};
use crate::Fields;

/// The chunk that ends a chunked body without trailers.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Appends a whole request head, HTTP/1.1, with its final blank line.
pub fn write_request_head(method: &Method, target: &[u8], fields: &Fields, out: &mut Vec<u8>) {
    out.extend_from_slice(method.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(target);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    fields.write_to(out);
    out.extend_from_slice(b"\r\n");
}

/// Appends an HTTP/1.1 status line; the caller adds fields and the blank line.
pub fn write_status_line(status: u16, reason: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(Version::H11.as_str().as_bytes());
    out.push(b' ');
    for divisor in [100, 10, 1] {
        out.push(b'0' + u8::try_from(status / divisor % 10).unwrap_or_default());
    }
    out.push(b' ');
    out.extend_from_slice(reason);
    out.extend_from_slice(b"\r\n");
}

/// Appends the line before a chunk of `len` bytes. After the data comes CRLF; `len` must not be 0,
/// that would be the last chunk.
pub fn write_chunk_head(len: usize, out: &mut Vec<u8>) {
    debug_assert!(len > 0, "a chunk of no bytes ends the body");
    let mut started = false;
    for shift in (0..usize::BITS / 4).rev() {
        let digit = len >> (4 * shift) & 0xf;
        started |= digit > 0;
        if started {
            out.extend(b"0123456789abcdef".get(digit));
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// In debug builds, parses a head that is about to be sent with our own strict parser, so that a
/// test fails where we would send what we refuse to receive. Costs nothing in release builds.
///
/// # Panics
/// In debug builds, when the head isn't exactly one valid head.
pub fn check_sent_head(head: &[u8]) {
    debug_assert!(
        is_strict_head(head),
        "sent head is invalid: {:?}",
        String::from_utf8_lossy(head)
    );
}

/// Is this exactly one head that the strict parser takes?
fn is_strict_head(head: &[u8]) -> bool {
    let limits = Limits {
        head_bytes_max: usize::MAX,
        fields_max: 100_000,
        ..Limits::default()
    };
    let parsed = if head.starts_with(b"HTTP/") {
        let mut response = ResponseHead::new();
        let parsed = parse_response(head, &limits, &mut response).ok();
        let framed = response_framing(&Method::GET, &response).is_ok();
        parsed.filter(|_| framed && !response.irregular())
    } else {
        let mut request = RequestHead::new();
        let parsed = parse_request(head, &limits, &mut request).ok();
        parsed.filter(|_| request_framing(&request).is_ok() && check_host(&request).is_ok())
    };
    parsed == Some(Parsed::Complete(head.len()))
}

/// The usual reason phrase of a status; empty when it has none.
pub fn reason_phrase(status: u16) -> &'static str {
    http::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
