//! Range requests answered from a stored response (RFC 9110 §14): which stretches of it a request gets.

use http::Method;
use smallvec::SmallVec;
use wire::value::content_range::ContentRange;
use wire::value::date;
use wire::value::etag::ETag;
use wire::value::range::{self, ByteRange};
use wire::{FieldId, Fields};

/// A gap between two ranges that is smaller than this is sent with them: a part of its own costs as much
/// (RFC 9110 §15.3.7.2).
pub const GAP_BYTES_MIN: u64 = 80;
/// Ranges that may begin in an earlier one; of more than two that overlap, none is heeded (RFC 9110 §14.2).
pub const OVERLAPS_MAX: usize = 1;
/// Ranges that may come in any order; of more, those that don't ascend aren't heeded (RFC 9110 §14.2).
pub const DISORDERED_MAX: usize = 16;

/// A stretch of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub first: u64,
    /// Last byte, included; never below `first`.
    pub last: u64,
}

impl Span {
    /// Number of its bytes.
    pub fn length(self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    /// Its Content-Range, in content of this length.
    pub fn content_range(self, complete: Option<u64>) -> ContentRange {
        ContentRange::Part {
            first: self.first,
            last: self.last,
            complete,
        }
    }
}

/// Stretches that don't touch, in the order to be sent.
pub type Spans = SmallVec<[Span; 2]>;

/// How much of a stored response to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeAnswer {
    /// All of it, with 200.
    Whole,
    /// One stretch, with 206.
    Part(Span),
    /// Several, with 206 as multipart/byteranges.
    Parts(Spans),
    /// Nothing of what was asked for is there: 416.
    Unsatisfiable,
}

/// Evaluates Range and If-Range against a stored response with content of this length. Preconditions come before
/// (RFC 9110 §13.2.2).
pub fn evaluate(
    method: &Method,
    request: &Fields,
    status: u16,
    stored: &Fields,
    length: u64,
) -> RangeAnswer {
    if *method != Method::GET || status != 200 {
        return RangeAnswer::Whole;
    }
    let Some(value) = request.get(FieldId::Range) else {
        return RangeAnswer::Whole;
    };
    let guard = request.get(FieldId::IfRange);
    if guard.is_some_and(|guard| !is_same(guard, stored)) {
        return RangeAnswer::Whole;
    }
    let Some(ranges) = range::parse(value) else {
        return RangeAnswer::Whole;
    };
    let Some(spans) = spans(&ranges, length) else {
        return RangeAnswer::Whole;
    };
    match *spans {
        [] => RangeAnswer::Unsatisfiable,
        [span] => RangeAnswer::Part(span),
        _ => RangeAnswer::Parts(spans),
    }
}

/// What these ranges come to: those that overlap or lie near each other are one, where the first of them stands.
/// `None`: they aren't heeded, for no sane client asks so (RFC 9110 §14.2, §17.15).
pub fn spans(ranges: &[ByteRange], length: u64) -> Option<Spans> {
    let resolved = ranges.iter().filter_map(|range| range.resolve(length));
    let resolved: SmallVec<[Span; 2]> =
        resolved.map(|(first, last)| Span { first, last }).collect();
    if resolved.len() < 2 {
        return Some(resolved);
    }
    let mut ascending: SmallVec<[(usize, Span); 2]> = resolved.into_iter().enumerate().collect();
    let in_order = ascending.is_sorted_by_key(|(_, span)| span.first);
    if !in_order && ascending.len() > DISORDERED_MAX {
        return None;
    }
    ascending.sort_by_key(|(_, span)| span.first);
    let mut overlaps = 0;
    let mut joined: SmallVec<[(usize, Span); 2]> = SmallVec::new();
    for (place, span) in ascending {
        match joined.last_mut() {
            Some((first_place, before))
                if span.first.saturating_sub(before.last) <= GAP_BYTES_MIN =>
            {
                overlaps += usize::from(span.first <= before.last);
                before.last = before.last.max(span.last);
                *first_place = place.min(*first_place);
            }
            _ => joined.push((place, span)),
        }
    }
    if overlaps > OVERLAPS_MAX {
        return None;
    }
    joined.sort_by_key(|(place, _)| *place);
    Some(joined.into_iter().map(|(_, span)| span).collect())
}

/// Is the response the one that If-Range means (RFC 9110 §13.1.5)? Tags are compared strongly, dates exactly; and a date
/// counts only when it is a strong validator, a second or more before Date (RFC 9110 §8.8.2.2).
fn is_same(guard: &[u8], stored: &Fields) -> bool {
    if let Some(asked) = ETag::parse(guard) {
        return stored
            .get(FieldId::ETag)
            .and_then(ETag::parse)
            .is_some_and(|tag| tag.strong_eq(&asked));
    }
    let parsed = |id| stored.get(id).and_then(date::parse);
    match (date::parse(guard), parsed(FieldId::LastModified)) {
        (Some(asked), Some(modified)) => {
            asked == modified && parsed(FieldId::Date).is_none_or(|sent| sent > modified)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const NEW: &str = "Mon, 07 Nov 1994 08:49:37 GMT";

    fn fields(lines: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::new();
        for (name, value) in lines {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        fields
    }

    fn part(first: u64, last: u64) -> RangeAnswer {
        RangeAnswer::Part(Span { first, last })
    }

    fn check(request: &[(&str, &str)], expected: &RangeAnswer) {
        let stored = fields(&[("ETag", "\"a\""), ("Last-Modified", OLD), ("Date", NEW)]);
        assert_eq!(
            &evaluate(&Method::GET, &fields(request), 200, &stored, 100),
            expected,
            "{request:?}"
        );
    }

    #[test]
    fn one_range_gives_a_part() {
        // RFC 9110 §14.1.2, §14.2.
        check(&[], &RangeAnswer::Whole);
        check(&[("Range", "bytes=0-9")], &part(0, 9));
        check(&[("Range", "bytes=90-")], &part(90, 99));
        check(&[("Range", "bytes=-10")], &part(90, 99));
        check(&[("Range", "bytes=50-1000")], &part(50, 99));
        check(&[("Range", "bytes=100-")], &RangeAnswer::Unsatisfiable);
        check(
            &[("Range", "bytes=200-300, 400-")],
            &RangeAnswer::Unsatisfiable,
        );
        check(&[("Range", "bytes=5-6, 400-")], &part(5, 6));
        check(&[("Range", "lines=0-1")], &RangeAnswer::Whole);
        check(&[("Range", "bytes=9-0")], &RangeAnswer::Whole);
    }

    #[test]
    fn if_range_wants_the_very_same_response() {
        // RFC 9110 §13.1.5.
        check(
            &[("Range", "bytes=0-9"), ("If-Range", "\"a\"")],
            &part(0, 9),
        );
        check(
            &[("Range", "bytes=0-9"), ("If-Range", "W/\"a\"")],
            &RangeAnswer::Whole,
        );
        check(
            &[("Range", "bytes=0-9"), ("If-Range", "\"b\"")],
            &RangeAnswer::Whole,
        );
        check(&[("Range", "bytes=0-9"), ("If-Range", OLD)], &part(0, 9));
        check(
            &[("Range", "bytes=0-9"), ("If-Range", NEW)],
            &RangeAnswer::Whole,
        );
        check(
            &[("Range", "bytes=0-9"), ("If-Range", "rubbish")],
            &RangeAnswer::Whole,
        );
    }

    #[test]
    fn ranges_are_for_get_and_whole_responses() {
        let request = fields(&[("Range", "bytes=0-9")]);
        assert_eq!(
            evaluate(&Method::HEAD, &request, 200, &Fields::new(), 100),
            RangeAnswer::Whole
        );
        assert_eq!(
            evaluate(&Method::GET, &request, 404, &Fields::new(), 100),
            RangeAnswer::Whole
        );
    }

    /// Of 1,000 bytes; `None`: not heeded.
    fn check_spans(value: &str, expected: Option<&[(u64, u64)]>) {
        let ranges = range::parse(value.as_bytes()).unwrap();
        let spans = spans(&ranges, 1000);
        let spans = spans.map(|spans| -> Vec<_> {
            let bounds = spans.iter().map(|span| (span.first, span.last));
            bounds.collect()
        });
        assert_eq!(spans.as_deref(), expected, "{value}");
    }

    #[test]
    fn several_ranges_keep_their_order() {
        // RFC 9110 §15.3.7.2.
        check_spans("bytes=0-9,200-209", Some(&[(0, 9), (200, 209)]));
        check_spans("bytes=200-209,0-9", Some(&[(200, 209), (0, 9)]));
        check_spans("bytes=500-,0-9", Some(&[(500, 999), (0, 9)]));
        check_spans("bytes=0-0,-1", Some(&[(0, 0), (999, 999)]));
        check_spans("bytes=0-9,5000-,200-209", Some(&[(0, 9), (200, 209)]));
        check_spans("bytes=5000-,-0", Some(&[]));
    }

    #[test]
    fn ranges_that_overlap_or_are_near_are_one() {
        check_spans("bytes=0-9,10-19", Some(&[(0, 19)]));
        check_spans("bytes=0-9,5-19", Some(&[(0, 19)]));
        check_spans("bytes=0-99,5-19", Some(&[(0, 99)]));
        check_spans("bytes=0-9,89-99", Some(&[(0, 99)])); // 79 bytes between them
        check_spans("bytes=0-9,90-99", Some(&[(0, 9), (90, 99)]));
        let moved = Some(&[(100, 160), (500, 509)][..]);
        check_spans("bytes=150-160,500-509,100-110", moved);
    }

    #[test]
    fn what_only_an_attacker_asks_is_not_heeded() {
        // RFC 9110 §14.2.
        check_spans("bytes=0-9,5-19,15-29", None);
        check_spans("bytes=0-,0-,0-", None);
        check_spans("bytes=0-9,5-19,300-309,305-319", None);
        let many = |ascending: bool| {
            let mut firsts: Vec<_> = (0..=DISORDERED_MAX).map(|n| n * 3).collect();
            if !ascending {
                firsts.reverse();
            }
            let ranges = firsts.iter().map(|first| format!("{first}-{first}"));
            format!("bytes={}", ranges.collect::<Vec<_>>().join(","))
        };
        check_spans(&many(true), Some(&[(0, 48)]));
        check_spans(&many(false), None);
    }

    proptest! {
        /// What is sent holds all that was asked for, nothing twice, and no more beside it than gaps.
        #[test]
        fn spans_hold_what_was_asked_for(
            asked in prop::collection::vec((0u64..2000, 0u64..300), 1..20),
            length in 0u64..2000,
        ) {
            let ranges: Vec<_> = asked.iter().map(|(first, more)| ByteRange::FromTo(*first, first + more)).collect();
            let Some(spans) = spans(&ranges, length) else { return Ok(()) };
            let within = |at: u64, (first, last): (u64, u64)| first <= at && at <= last;
            for at in 0..length {
                let wanted = ranges.iter().filter_map(|range| range.resolve(length)).any(|range| within(at, range));
                let sent = spans.iter().filter(|span| within(at, (span.first, span.last))).count();
                prop_assert!(sent == 1 || !wanted && sent == 0, "byte {} is sent {} times", at, sent);
            }
            for span in &spans {
                prop_assert!(span.first <= span.last && span.last < length);
                for end in [span.first, span.last] {
                    prop_assert!(ranges.iter().filter_map(|range| range.resolve(length)).any(|range| within(end, range)));
                }
            }
            let mut sorted = spans.to_vec();
            sorted.sort_by_key(|span| span.first);
            for pair in sorted.windows(2) {
                prop_assert!(pair[1].first - pair[0].last > GAP_BYTES_MIN);
            }
        }
    }
}
