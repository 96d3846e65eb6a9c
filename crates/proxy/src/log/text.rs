//! Writers of escaped text into a byte buffer, for log lines.

/// Appends `text` or, if it is empty, a dash.
pub(super) fn push_or_dash(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(if text.is_empty() { b"-" } else { text });
}

/// Appends a URL: blanks, control bytes and bytes beyond ASCII become `%20`.
/// A line's field count then never depends on what a client sends.
pub fn push_url(out: &mut Vec<u8>, url: &[u8]) {
    // Without a branch per byte the compiler checks many bytes at once.
    let dirty = url
        .iter()
        .fold(false, |dirty, &byte| dirty | !byte.is_ascii_graphic());
    if !dirty {
        return push_or_dash(out, url);
    }
    for &byte in url {
        if byte.is_ascii_graphic() {
            out.push(byte);
        } else {
            push_escape(out, byte, b"0123456789ABCDEF");
        }
    }
}

/// Appends a user name, or a header value between quotes, or a content type, as Squid quotes
/// them; in addition blanks become `%20` and double quotes `%22` when `strict`.
pub(super) fn push_quoted(out: &mut Vec<u8>, text: &[u8], strict: bool) {
    if text.is_empty() {
        return out.push(b'-');
    }
    for &byte in text {
        match byte {
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b' ' if !strict => out.push(byte),
            b'%' | b'[' | b']' | b'"' => push_escape(out, byte, b"0123456789abcdef"),
            _ if byte.is_ascii_graphic() => out.push(byte),
            _ => push_escape(out, byte, b"0123456789abcdef"),
        }
    }
}

fn push_escape(out: &mut Vec<u8>, byte: u8, digits: &[u8; 16]) {
    let [high, low] = [byte >> 4, byte & 15].map(|nibble| digits.get(usize::from(nibble)));
    out.push(b'%');
    out.extend(high);
    out.extend(low);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_url_keeps_its_graphic_characters_and_loses_all_else() {
        let check = |url: &[u8], expected: &str| {
            assert_eq!(text(|out| push_url(out, url)), expected);
        };
        check(b"http://a/?b=%20[~]\"", "http://a/?b=%20[~]\"");
        check(b"http://a/b c\r\n\x7f\xff", "http://a/b%20c%0D%0A%7F%FF");
        check(b"", "-");
    }

    #[test]
    fn a_user_name_is_quoted_as_squid_does() {
        let check = |user: &[u8], expected: &str| {
            assert_eq!(text(|out| push_quoted(out, user, true)), expected);
        };
        check(b"alice", "alice");
        check(b"EXAMPLE\\al ice", "EXAMPLE\\\\al%20ice");
        check(b"a%b[c]\r\n\xe4", "a%25b%5bc%5d\\r\\n%e4");
        check(b"", "-");
    }

    proptest! {
        #[test]
        fn no_text_can_break_a_field(bytes: Vec<u8>) {
            for shown in [text(|out| push_url(out, &bytes)), text(|out| push_quoted(out, &bytes, true))] {
                prop_assert!(!shown.is_empty());
                prop_assert!(shown.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
