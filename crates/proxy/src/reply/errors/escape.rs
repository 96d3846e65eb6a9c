//! Escaping of text for where it stands: HTML, or a URL.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode};

/// What a URL has to have escaped in a part of it: all but unreserved characters (RFC 3986 §2.3).
const PART: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Where the text of a code stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In HTML content or a quoted attribute.
    Html,
    /// In a URL.
    Url,
}

impl Place {
    /// Appends `text`, escaped.
    pub(super) fn push(self, out: &mut Vec<u8>, text: &[u8]) {
        match self {
            Self::Html => push_html(out, text),
            Self::Url => push_url_part(out, text),
        }
    }
}

/// Appends `text` so that it reads as itself when a part of a URL is decoded.
pub(super) fn push_url_part(out: &mut Vec<u8>, text: &[u8]) {
    for piece in percent_encode(text, PART) {
        out.extend_from_slice(piece.as_bytes());
    }
}

/// What may not stand in a URL as it is.
const UNFIT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Appends path and query of a URL as they are, but for what may not stand in a URL.
pub(super) fn push_url_path(out: &mut Vec<u8>, path: &[u8]) {
    for piece in percent_encode(path, UNFIT) {
        out.extend_from_slice(piece.as_bytes());
    }
}

/// Appends `text` so that it reads as itself in HTML content and in quoted attributes.
/// Bytes that are not UTF-8 show as replacement characters; control bytes are left out.
pub(super) fn push_html(out: &mut Vec<u8>, text: &[u8]) {
    if is_plain_text(text) {
        return out.extend_from_slice(text);
    }
    for char in String::from_utf8_lossy(text).chars() {
        match char {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '"' => out.extend_from_slice(b"&quot;"),
            '\'' => out.extend_from_slice(b"&#39;"),
            _ if char.is_control() => {}
            _ => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Has it nothing to be escaped? Eight bytes are looked at together; each by itself only where one of them may have.
fn is_plain_text(text: &[u8]) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    // A byte's high bit is set where the byte is 0.
    let zero = |word: u64| word.wrapping_sub(EACH) & !word;
    let (words, rest) = text.as_chunks::<8>();
    words.iter().all(|word| {
        let bytes = u64::from_le_bytes(*word);
        let control = bytes.wrapping_sub(0x20 * EACH) & !bytes;
        let del_or_high = bytes | bytes.wrapping_add(EACH);
        let quote = zero(bytes ^ (u64::from(b'"') * EACH));
        // `&` and `'` differ in their last bit, `<` and `>` in the one before.
        let ampersand = zero((bytes & (0xfe * EACH)) ^ (u64::from(b'&') * EACH));
        let angle = zero((bytes & (0xfd * EACH)) ^ (u64::from(b'<') * EACH));
        let suspect = control | del_or_high | quote | ampersand | angle;
        suspect & HIGH == 0 || word.iter().all(|&byte| is_plain(byte))
    }) && rest.iter().all(|&byte| is_plain(byte))
}

const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn html(text: &[u8]) -> String {
        let mut out = Vec::new();
        push_html(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn markup_is_taken_out() {
        let check = |text: &[u8], expected: &str| assert_eq!(html(text), expected);
        check(b"http://a/?b=c", "http://a/?b=c");
        check(
            b"<script>\"x\" & 'y'</script>",
            "&lt;script&gt;&quot;x&quot; &amp; &#39;y&#39;&lt;/script&gt;",
        );
        check("größe\u{0}\n".as_bytes(), "größe");
        check(b"\xff", "\u{fffd}");
    }

    #[test]
    fn a_part_of_a_url_is_one_part() {
        let check = |text: &[u8], expected: &str| {
            let mut out = Vec::new();
            push_url_part(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check(b"http://a/?b=c", "http%3A%2F%2Fa%2F%3Fb%3Dc");
        check(b"a-b_c.d~e%41&\r\n\xff", "a-b_c.d~e%2541%26%0D%0A%FF");
    }

    proptest! {
        #[test]
        fn no_text_can_leave_a_part_of_a_url(text: Vec<u8>) {
            let mut out = Vec::new();
            push_url_part(&mut out, &text);
            let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(byte);
            prop_assert!(out.iter().all(plain));
            let back: Vec<u8> = percent_encoding::percent_decode(&out).collect();
            prop_assert_eq!(back, text);
        }

        #[test]
        fn a_plain_text_is_one_of_plain_bytes(
            text in prop::collection::vec(
                prop_oneof![9 => b' '..=b'~', 1 => any::<u8>()], 0..24
            ),
        ) {
            let each = text.iter().all(|&byte| is_plain(byte));
            prop_assert_eq!(is_plain_text(&text), each);
        }

        #[test]
        fn no_text_can_leave_its_place(text: Vec<u8>) {
            prop_assert!(!html(&text).contains(['<', '>', '"', '\'']));
        }
    }
}
