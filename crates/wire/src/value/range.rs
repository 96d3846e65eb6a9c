//! `Range` (RFC 9110 §14.2): which bytes a client asks for.

use smallvec::SmallVec;

use crate::chars;
use crate::field::Elements;

/// Most ranges in a request; one with more is answered whole, as RFC 9110 §14.2 allows.
pub const RANGES_MAX: usize = 64;

/// One byte range as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// `first-last`, both included; `first <= last`.
    FromTo(u64, u64),
    /// `first-`
    From(u64),
    /// `-count`: the last so many bytes.
    Suffix(u64),
}

impl ByteRange {
    /// First and last byte of the range in content of this length; `None` when there is none.
    pub fn resolve(self, length: u64) -> Option<(u64, u64)> {
        let last = length.checked_sub(1)?;
        match self {
            Self::FromTo(first, to) if first <= last => Some((first, to.min(last))),
            Self::From(first) if first <= last => Some((first, last)),
            Self::Suffix(count) if count > 0 => Some((length.saturating_sub(count), last)),
            Self::FromTo(..) | Self::From(_) | Self::Suffix(_) => None,
        }
    }
}

/// The ranges of a request, in the order asked for.
pub type Ranges = SmallVec<[ByteRange; 2]>;

/// Parses a `Range` value. `None` means that it is to be ignored: another unit, invalid, or more
/// than [`RANGES_MAX`] ranges. A number beyond 64 bits counts as the largest one.
pub fn parse(value: &[u8]) -> Option<Ranges> {
    let (unit, set) = chars::split_once(value, b'=')?;
    if !chars::trim_ows(unit).eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    let mut ranges = Ranges::new();
    for spec in Elements::new(set) {
        if ranges.len() == RANGES_MAX {
            return None;
        }
        ranges.push(parse_spec(spec)?);
    }
    (!ranges.is_empty()).then_some(ranges)
}

fn parse_spec(spec: &[u8]) -> Option<ByteRange> {
    let (first, last) = chars::split_once(spec, b'-')?;
    match (first, last) {
        (b"", count) => Some(ByteRange::Suffix(chars::decimal_saturating(count)?)),
        (first, b"") => Some(ByteRange::From(chars::decimal_saturating(first)?)),
        (first, last) => {
            let first = chars::decimal_saturating(first)?;
            let last = chars::decimal_saturating(last)?;
            (first <= last).then_some(ByteRange::FromTo(first, last))
        }
    }
}

/// Appends the value for these ranges.
pub fn write(ranges: &[ByteRange], out: &mut Vec<u8>) {
    use std::io::Write as _;
    for (at, range) in ranges.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"bytes=" } else { b"," });
        // A Vec takes all that is written to it.
        match range {
            ByteRange::FromTo(first, last) => write!(out, "{first}-{last}").ok(),
            ByteRange::From(first) => write!(out, "{first}-").ok(),
            ByteRange::Suffix(count) => write!(out, "-{count}").ok(),
        };
    }
}

/// Any value is ignored, or survives being written and parsed again; its ranges stay inside.
///
/// # Panics
/// When that isn't so.
pub fn fuzz(data: &[u8]) {
    let Some(ranges) = parse(data) else { return };
    let mut written = Vec::new();
    write(&ranges, &mut written);
    assert_eq!(parse(&written).as_ref(), Some(&ranges));
    for range in &ranges {
        for length in [0, 1, 100, u64::MAX] {
            if let Some((first, last)) = range.resolve(length) {
                assert!(first <= last && last < length, "inside the content");
            }
        }
    }
}

#[cfg(test)]
mod tests;
