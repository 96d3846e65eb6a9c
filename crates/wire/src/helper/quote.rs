//! How a value goes into a question so that it stays one word, and the question one line.

/// A way to write a value. What Squid 5.7 sends for every byte is in the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// `%XX` for blanks, controls, 8-bit bytes, `%` and what RFC 1738 §2.2 calls unsafe. Logins,
    /// and external ACL words marked `#`.
    Url,
    /// The same, but `%` stays: for what is escaped already. External ACL words by default.
    UrlKeepingPercent,
    /// `\` before `"` and `\`; `\n`, `\r`, `\t`. For use between quotes; marked `"`.
    Quoted,
    /// One word as a shell reads it: in quotes if there is a blank, with `\` as in `Quoted`.
    /// External ACLs of `protocol=2.5`, and words marked `/`.
    Shell,
    /// As it is; marked `'`. Only what would end the line is escaped.
    Raw,
}

impl Quoting {
    pub(super) const ALL: &'static [Self] = &[
        Self::Url,
        Self::UrlKeepingPercent,
        Self::Quoted,
        Self::Shell,
        Self::Raw,
    ];
}

/// Appends `value` to a question. Whatever the value holds, LF, CR and NUL don't get through: a
/// question stays one line, and a helper written in C sees all of it.
pub fn quote(style: Quoting, value: &[u8], out: &mut Vec<u8>) {
    let in_quotes = style == Quoting::Shell && value.iter().any(|byte| b" \t".contains(byte));
    if in_quotes {
        out.push(b'"');
    }
    for &byte in value {
        match style {
            Quoting::Url if byte == b'%' || is_unsafe(byte) => percent(byte, out),
            Quoting::UrlKeepingPercent if is_unsafe(byte) => percent(byte, out),
            Quoting::Quoted | Quoting::Shell => backslash(style, byte, out),
            Quoting::Raw if matches!(byte, b'\n' | b'\r' | 0) => percent(byte, out),
            Quoting::Url | Quoting::UrlKeepingPercent | Quoting::Raw => out.push(byte),
        }
    }
    if in_quotes {
        out.push(b'"');
    }
}

fn is_unsafe(byte: u8) -> bool {
    !byte.is_ascii_graphic() || b"\"#'<>[\\]^`{|}~".contains(&byte)
}

fn backslash(style: Quoting, byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' | b'\\' => out.extend([b'\\', byte]),
        b'\n' => out.extend(b"\\n"),
        b'\r' => out.extend(b"\\r"),
        b'\t' if style == Quoting::Quoted => out.extend(b"\\t"),
        0 => percent(byte, out),
        _ => out.push(byte),
    }
}

fn percent(byte: u8, out: &mut Vec<u8>) {
    let digit = |nibble: u8| match nibble {
        0..=9 => b'0' + nibble,
        _ => b'A' + nibble - 10,
    };
    out.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
}
