//! Range requests answered from a whole stored response (RFC 9110 §14): one range at a time; what asks for several is
//! answered whole, as §14.2 allows.

use http::Method;
use wire::value::date;
use wire::value::etag::ETag;
use wire::value::range;
use wire::{FieldId, Fields};

/// How much of a stored response to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeAnswer {
    /// All of it, with 200.
    Whole,
    /// From the first to the last byte, both included, with 206.
    Part {
        /// First byte.
        first: u64,
        /// Last byte, included.
        last: u64,
    },
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
    let mut found = ranges.iter().filter_map(|range| range.resolve(length));
    match (found.next(), found.next()) {
        (None, _) => RangeAnswer::Unsatisfiable,
        (Some((first, last)), None) => RangeAnswer::Part { first, last },
        (Some(_), Some(_)) => RangeAnswer::Whole,
    }
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

    const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const NEW: &str = "Mon, 07 Nov 1994 08:49:37 GMT";

    fn fields(lines: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::new();
        for (name, value) in lines {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        fields
    }

    fn check(request: &[(&str, &str)], expected: RangeAnswer) {
        let stored = fields(&[("ETag", "\"a\""), ("Last-Modified", OLD), ("Date", NEW)]);
        assert_eq!(
            evaluate(&Method::GET, &fields(request), 200, &stored, 100),
            expected,
            "{request:?}"
        );
    }

    #[test]
    fn one_range_gives_a_part() {
        // RFC 9110 §14.1.2, §14.2.
        check(&[], RangeAnswer::Whole);
        check(
            &[("Range", "bytes=0-9")],
            RangeAnswer::Part { first: 0, last: 9 },
        );
        check(
            &[("Range", "bytes=90-")],
            RangeAnswer::Part {
                first: 90,
                last: 99,
            },
        );
        check(
            &[("Range", "bytes=-10")],
            RangeAnswer::Part {
                first: 90,
                last: 99,
            },
        );
        check(
            &[("Range", "bytes=50-1000")],
            RangeAnswer::Part {
                first: 50,
                last: 99,
            },
        );
        check(&[("Range", "bytes=100-")], RangeAnswer::Unsatisfiable);
        check(
            &[("Range", "bytes=200-300, 400-")],
            RangeAnswer::Unsatisfiable,
        );
        check(&[("Range", "bytes=0-1, 5-6")], RangeAnswer::Whole);
        check(
            &[("Range", "bytes=5-6, 400-")],
            RangeAnswer::Part { first: 5, last: 6 },
        );
        check(&[("Range", "lines=0-1")], RangeAnswer::Whole);
        check(&[("Range", "bytes=9-0")], RangeAnswer::Whole);
    }

    #[test]
    fn if_range_wants_the_very_same_response() {
        // RFC 9110 §13.1.5.
        let part = RangeAnswer::Part { first: 0, last: 9 };
        check(&[("Range", "bytes=0-9"), ("If-Range", "\"a\"")], part);
        check(
            &[("Range", "bytes=0-9"), ("If-Range", "W/\"a\"")],
            RangeAnswer::Whole,
        );
        check(
            &[("Range", "bytes=0-9"), ("If-Range", "\"b\"")],
            RangeAnswer::Whole,
        );
        check(&[("Range", "bytes=0-9"), ("If-Range", OLD)], part);
        check(
            &[("Range", "bytes=0-9"), ("If-Range", NEW)],
            RangeAnswer::Whole,
        );
        check(
            &[("Range", "bytes=0-9"), ("If-Range", "rubbish")],
            RangeAnswer::Whole,
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
}
