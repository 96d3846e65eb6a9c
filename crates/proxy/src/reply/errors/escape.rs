//! Escaping of text for HTML.

/// Appends `text` so that it reads as itself in HTML content and in quoted attributes.
/// Bytes that are not UTF-8 show as replacement characters; control bytes are left out.
pub(super) fn push_html(out: &mut Vec<u8>, text: &[u8]) {
    let dirty = text
        .iter()
        .fold(false, |dirty, &byte| dirty | !is_plain(byte));
    if !dirty {
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

    proptest! {
        #[test]
        fn no_text_can_leave_its_place(text: Vec<u8>) {
            prop_assert!(!html(&text).contains(['<', '>', '"', '\'']));
        }
    }
}
