//! `multipart/byteranges` (RFC 9110 §14.6): several ranges of a response in one message. What stands between them is
//! written here; the bytes themselves are for the caller to send.

use super::content_range::{self, ContentRange};

/// What separates the parts: 128 bits that nobody can guess, so that no content holds them on purpose.
#[derive(Clone, Copy, Debug)]
pub struct Boundary([u8; 32]);

impl Boundary {
    /// From random bits.
    #[must_use]
    pub fn new(random: u128) -> Self {
        let mut text = [0; 32];
        for (at, digit) in text.iter_mut().rev().enumerate() {
            let nibble = (random >> (at * 4)).to_le_bytes()[0] & 0xf;
            *digit = match nibble {
                0..10 => b'0' + nibble,
                _ => b'a' + (nibble - 10),
            };
        }
        Self(text)
    }

    /// The Content-Type of the message.
    #[must_use]
    pub fn content_type(&self) -> Vec<u8> {
        [b"multipart/byteranges; boundary=", self.0.as_slice()].concat()
    }

    /// Appends what comes before the bytes of a range.
    pub fn write_part_head(
        &self,
        content_type: Option<&[u8]>,
        range: ContentRange,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(b"\r\n--");
        out.extend_from_slice(&self.0);
        if let Some(content_type) = content_type {
            out.extend_from_slice(b"\r\nContent-Type: ");
            out.extend_from_slice(content_type);
        }
        out.extend_from_slice(b"\r\nContent-Range: ");
        content_range::write(range, out);
        out.extend_from_slice(b"\r\n\r\n");
    }

    /// Appends what comes after the last part.
    pub fn write_end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\n--");
        out.extend_from_slice(&self.0);
        out.extend_from_slice(b"--\r\n");
    }
}

/// Is it the Content-Type of several ranges?
#[must_use]
pub fn is_byteranges(content_type: &[u8]) -> bool {
    let essence = content_type.split(|byte| *byte == b';').next();
    essence.is_some_and(|essence| {
        essence
            .trim_ascii()
            .eq_ignore_ascii_case(b"multipart/byteranges")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_between_boundaries() {
        // RFC 9110 §14.6, RFC 2046 §5.1.1.
        let boundary = Boundary::new(0x0123_4567_89ab_cdef_0000_0000_0000_00ff);
        let digits = "0123456789abcdef00000000000000ff";
        let content_type = format!("multipart/byteranges; boundary={digits}");
        assert_eq!(boundary.content_type(), content_type.as_bytes());
        assert!(is_byteranges(&boundary.content_type()));
        let range = |first, last| ContentRange::Part {
            first,
            last,
            complete: Some(100),
        };
        let mut out = Vec::new();
        boundary.write_part_head(Some(b"text/plain"), range(0, 1), &mut out);
        out.extend_from_slice(b"ab");
        boundary.write_part_head(None, range(98, 98), &mut out);
        out.extend_from_slice(b"y");
        boundary.write_end(&mut out);
        let expected = format!(
            "\r\n--{digits}\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/100\r\n\r\nab\
             \r\n--{digits}\r\nContent-Range: bytes 98-98/100\r\n\r\ny\r\n--{digits}--\r\n"
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn its_type_is_known_in_any_case() {
        assert!(is_byteranges(b"Multipart/ByteRanges ; boundary=x"));
        assert!(is_byteranges(b"multipart/byteranges"));
        assert!(!is_byteranges(b"multipart/mixed; boundary=x"));
        assert!(!is_byteranges(b""));
    }
}
