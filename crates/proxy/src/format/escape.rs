//! How a value stands in its place, whatever it holds: a log line stays one line with its fields, a
//! helper's question one line with its words.

use smallvec::SmallVec;
use wire::helper::{Quoting, quote};

/// A way to write a value. Those of helpers are [`Quoting`]'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As helpers read words; `%'` is [`Quoting::Raw`].
    Word(Quoting),
    /// Between brackets (`%[`): `[`, `]`, `%`, controls and 8-bit bytes as `%xx`, `\` doubled.
    Mime,
}

impl Encoding {
    /// Where nothing else is said.
    pub(super) const USUAL: Self = Self::Word(Quoting::UrlKeepingPercent);

    /// The encoding with this sign.
    pub(super) const fn of(sign: char) -> Option<Self> {
        Some(match sign {
            '"' => Self::Word(Quoting::Quoted),
            '[' => Self::Mime,
            '#' => Self::Word(Quoting::Url),
            '/' => Self::Word(Quoting::Shell),
            '\'' => Self::Word(Quoting::Raw),
            _ => return None,
        })
    }

    fn changes(self, byte: u8) -> bool {
        match self {
            _ if byte.is_ascii_control() => true,
            Self::Word(Quoting::Raw) => false,
            Self::Word(Quoting::Quoted | Quoting::Shell) => matches!(byte, b'"' | b'\\' | b' '),
            Self::Word(Quoting::Url | Quoting::UrlKeepingPercent) => {
                !byte.is_ascii_alphanumeric() && !b"/:.-_?=&,;@+".contains(&byte)
            }
            Self::Mime => !byte.is_ascii() || matches!(byte, b'[' | b']' | b'%' | b'\\'),
        }
    }

    /// Does a cut between any two bytes leave the value in its place?
    const fn may_be_cut(self) -> bool {
        matches!(
            self,
            Self::Word(Quoting::Url | Quoting::UrlKeepingPercent | Quoting::Raw)
        )
    }

    /// Encodes what stands from `start` on; of that, `length_max` bytes stay.
    pub(super) fn encode(self, out: &mut Vec<u8>, start: usize, length_max: usize) {
        if !self.may_be_cut() {
            out.truncate(start.saturating_add(length_max));
        }
        let value = out.get(start..).unwrap_or_default();
        if value.iter().any(|&byte| self.changes(byte)) {
            let value: SmallVec<[u8; 512]> = value.into();
            out.truncate(start);
            match self {
                Self::Word(style @ (Quoting::Url | Quoting::UrlKeepingPercent)) => {
                    quote(style, &value, out);
                }
                Self::Word(style) => quote(style, &without_controls(&value), out),
                Self::Mime => value.iter().for_each(|&byte| push_mime(out, byte)),
            }
        }
        if self.may_be_cut() {
            out.truncate(start.saturating_add(length_max));
        }
    }
}

/// Controls other than those that have a name as `%XX`: a terminal that shows the line must not obey it.
fn without_controls(value: &[u8]) -> SmallVec<[u8; 512]> {
    let mut clean = SmallVec::new();
    for &byte in value {
        if byte.is_ascii_control() && !matches!(byte, b'\t' | b'\r' | b'\n') {
            clean.extend(hex(byte, b"0123456789ABCDEF"));
        } else {
            clean.push(byte);
        }
    }
    clean
}

fn push_mime(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'[' | b']' | b'%' => out.extend(hex(byte, b"0123456789abcdef")),
        b' '..=b'~' => out.push(byte),
        _ => out.extend(hex(byte, b"0123456789abcdef")),
    }
}

fn hex(byte: u8, digits: &[u8; 16]) -> [u8; 3] {
    let digit = |nibble: u8| digits.get(usize::from(nibble)).copied().unwrap_or(b'0');
    [b'%', digit(byte >> 4), digit(byte & 15)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(encoding: Encoding, value: &[u8], length_max: usize) -> Vec<u8> {
        let mut out = b"before ".to_vec();
        out.extend_from_slice(value);
        encoding.encode(&mut out, 7, length_max);
        out.split_off(7)
    }

    /// What Squid 5.7 logs for this field.
    #[test]
    fn values_read_as_squid_writes_them() {
        let odd = b"q\"uo [br] 100% \\ back\r\n";
        for (sign, expected) in [
            ('"', "q\\\"uo [br] 100% \\\\ back\\r\\n"),
            ('[', "q\"uo %5bbr%5d 100%25 \\\\ back\\r\\n"),
            ('#', "q%22uo%20%5Bbr%5D%20100%25%20%5C%20back%0D%0A"),
            ('/', "\"q\\\"uo [br] 100% \\\\ back\\r\\n\""),
        ] {
            let shown = encoded(Encoding::of(sign).unwrap(), odd, usize::MAX);
            assert_eq!(String::from_utf8(shown).unwrap(), expected);
        }
        let usual = encoded(Encoding::USUAL, b"a b%20\"", usize::MAX);
        assert_eq!(usual, b"a%20b%20%22");
        let raw = encoded(Encoding::of('\'').unwrap(), b"a b\"\n\x1b[0m", usize::MAX);
        assert_eq!(raw, b"a b\"%0A%1B[0m");
    }

    #[test]
    fn a_cut_value_stays_in_its_quotes() {
        assert_eq!(encoded(Encoding::USUAL, b"q\"uo", 4), b"q%22");
        assert_eq!(encoded(Encoding::of('"').unwrap(), b"q\"uo", 2), b"q\\\"");
        assert_eq!(encoded(Encoding::of('/').unwrap(), b"a b c", 3), b"\"a b\"");
    }

    proptest! {
        #[test]
        fn no_bytes_leave_their_place(value: Vec<u8>, length_max in 0_usize..40) {
            for sign in ['"', '[', '#', '/', '\''] {
                let shown = encoded(Encoding::of(sign).unwrap(), &value, length_max);
                prop_assert!(!shown.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t'));
                let mut open = false;
                let mut bytes = shown.iter();
                while let Some(byte) = bytes.next() {
                    match (sign, byte) {
                        ('"' | '/', b'\\') => { bytes.next().expect("something is escaped"); }
                        ('"', b'"') => prop_assert!(false, "a quote ends the value"),
                        ('/', b'"') => open = !open,
                        ('/', b' ') => prop_assert!(open, "a blank ends the word"),
                        ('[', b'[' | b']') => prop_assert!(false, "a bracket ends the value"),
                        ('#', b' ' | b'"') => prop_assert!(false, "a blank ends the word"),
                        _ => {}
                    }
                }
                prop_assert!(!open);
            }
        }
    }
}
