//! `Content-Range` (RFC 9110 §14.4): which bytes a 206 or 416 speaks of.

use std::io::Write as _;

use crate::chars;

/// A valid `Content-Range` in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentRange {
    /// `bytes first-last/complete`; `complete` is `None` for `*`.
    Part {
        /// First byte.
        first: u64,
        /// Last byte, included; never below `first`.
        last: u64,
        /// Length of the whole; above `last`.
        complete: Option<u64>,
    },
    /// `bytes */complete`: of a 416.
    Unsatisfied {
        /// Length of the whole.
        complete: u64,
    },
}

impl ContentRange {
    /// Number of bytes in the part; 0 when there is none.
    pub const fn part_bytes(self) -> u64 {
        match self {
            Self::Part { first, last, .. } => (last - first).saturating_add(1),
            Self::Unsatisfied { .. } => 0,
        }
    }
}

/// Parses a `Content-Range` value; `None` for another unit, an invalid range, or overflow. A 206
/// with such a value must not be used for anything.
pub fn parse(value: &[u8]) -> Option<ContentRange> {
    let (unit, rest) = chars::split_once(value, b' ')?;
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    let (range, complete) = chars::split_once(rest, b'/')?;
    let complete = match complete {
        b"*" => None,
        digits => Some(chars::decimal(digits)?),
    };
    if range == b"*" {
        return complete.map(|complete| ContentRange::Unsatisfied { complete });
    }
    let (first, last) = chars::split_once(range, b'-')?;
    let (first, last) = (chars::decimal(first)?, chars::decimal(last)?);
    let fits = first <= last && complete.is_none_or(|complete| last < complete);
    fits.then_some(ContentRange::Part {
        first,
        last,
        complete,
    })
}

/// Appends the value.
pub fn write(range: ContentRange, out: &mut Vec<u8>) {
    // A Vec takes all that is written to it.
    match range {
        ContentRange::Part {
            first,
            last,
            complete: Some(complete),
        } => write!(out, "bytes {first}-{last}/{complete}").ok(),
        ContentRange::Part {
            first,
            last,
            complete: None,
        } => write!(out, "bytes {first}-{last}/*").ok(),
        ContentRange::Unsatisfied { complete } => write!(out, "bytes */{complete}").ok(),
    };
}

/// Any value is refused, or survives being written and parsed again.
///
/// # Panics
/// When that isn't so.
pub fn fuzz(data: &[u8]) {
    let Some(range) = parse(data) else { return };
    let mut written = Vec::new();
    write(range, &mut written);
    assert_eq!(parse(&written), Some(range));
    range.part_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(first: u64, last: u64, complete: Option<u64>) -> Option<ContentRange> {
        Some(ContentRange::Part {
            first,
            last,
            complete,
        })
    }

    #[test]
    fn parts_have_to_lie_inside_the_whole() {
        assert_eq!(parse(b"bytes 0-4/10"), part(0, 4, Some(10)));
        assert_eq!(parse(b"BYTES 0-4/*"), part(0, 4, None));
        assert_eq!(
            parse(b"bytes */10"),
            Some(ContentRange::Unsatisfied { complete: 10 })
        );
        for bad in [
            "bytes 4-0/10",
            "bytes 0-10/10",
            "bytes */*",
            "lines 0-4/10",
            "bytes 0-4",
            "bytes 0-/10",
            "bytes -4/10",
            "bytes=0-4/10",
            "bytes 0-18446744073709551616/*",
            "bytes 0 - 4/10",
            "",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
