//! Comma lists with quoted strings (RFC 9110 §5.6.1, §5.6.4), in one pass over the line.

use crate::chars;

/// The trimmed, non-empty elements of one field line's comma list.
///
/// A comma inside a quoted string doesn't separate. A quote that is never closed counts as an
/// ordinary character, so that what follows it (`no-store`, say) is still seen.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    rest: &'a [u8],
    quotes: bool,
}

impl<'a> Elements<'a> {
    /// Starts at the first element of `value`.
    pub fn new(value: &'a [u8]) -> Self {
        Self {
            rest: value,
            quotes: true,
        }
    }

    /// Where the element at the start of `rest` ends.
    fn end(&mut self) -> usize {
        let mut from = 0;
        loop {
            let Some(tail) = self.rest.get(from..) else {
                return self.rest.len();
            };
            let found = if self.quotes {
                memchr::memchr2(b',', b'"', tail)
            } else {
                memchr::memchr(b',', tail)
            };
            let Some(at) = found else {
                return self.rest.len();
            };
            if tail.get(at) == Some(&b',') {
                return from + at;
            }
            match closing_quote(tail.get(at + 1..).unwrap_or_default()) {
                Some(close) => from += at + 1 + close + 1,
                // Once per line: what is left has no closed quote before its end.
                None => self.quotes = false,
            }
        }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.rest.is_empty() {
            let end = self.end();
            let (element, rest) = self.rest.split_at_checked(end)?;
            self.rest = rest.get(1..).unwrap_or_default();
            let element = chars::trim_ows(element);
            if !element.is_empty() {
                return Some(element);
            }
        }
        None
    }
}

/// Where the quoted string that starts before `bytes` closes.
pub(crate) fn closing_quote(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b'"', b'\\', bytes.get(from..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        from = at + 2;
    }
}
