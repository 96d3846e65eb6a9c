//! Responses of which only parts are stored (RFC 9111 §3.3, §3.4): what a 206 holds, with which others it may be joined,
//! and what is missing for a request.

use smallvec::SmallVec;
use wire::value::byteranges::is_byteranges;
use wire::value::content_range::{self, ContentRange};
use wire::value::date;
use wire::value::etag::ETag;
use wire::value::range::{self, ByteRange};
use wire::{FieldId, Fields};

use super::range::Span;

/// Pieces that one request is answered from.
pub const STEPS_MAX: usize = 64;
/// Holes that are filled one by one for a request; when a range has more, all from its first to its last are filled as one.
pub const HOLES_MAX: usize = 4;

/// What a stored 206 holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// First byte.
    pub first: u64,
    /// Last byte, included.
    pub last: u64,
    /// Length of the whole, if known.
    pub complete: Option<u64>,
    /// What it is the answer to. The same question has the same answer, also where nothing else is clear.
    pub asked: ByteRange,
    /// The last byte by its Content-Range.
    pub stated_last: u64,
    /// The strong validator of the whole; without one, a part is joined with no other.
    pub validator: Option<Box<[u8]>>,
}

impl Part {
    /// The part that a 206 to a request for this range has; `None` if it is several, longer than it says, or another.
    /// One that is shorter holds what came.
    pub fn of(asked: ByteRange, reply: &Fields) -> Option<Self> {
        if reply.get(FieldId::ContentType).is_some_and(is_byteranges) {
            return None;
        }
        let ContentRange::Part {
            first,
            last: stated_last,
            complete,
        } = content_range::parse(reply.get(FieldId::ContentRange)?)?
        else {
            return None;
        };
        let fits = match asked {
            ByteRange::FromTo(from, to) => first == from && stated_last <= to,
            ByteRange::From(from) => first == from,
            ByteRange::Suffix(_) => complete.is_none_or(|complete| stated_last == complete - 1),
        };
        let stated = (stated_last - first).saturating_add(1);
        let announced = reply.get(FieldId::ContentLength);
        let length = match announced {
            Some(length) => wire::value::decimal(length)?,
            None => stated,
        };
        (fits && (1..=stated).contains(&length)).then(|| Self {
            first,
            last: first + (length - 1),
            complete,
            asked,
            stated_last,
            validator: strong_validator(reply).map(Into::into),
        })
    }

    /// What a 200 of this length holds of which only `received` bytes came (RFC 9111 §3.3). `None` if the rest can't be
    /// asked for under a strong validator.
    pub fn of_cut(reply: &Fields, length: u64, received: u64) -> Option<Self> {
        let whole = Self {
            first: 0,
            last: length.checked_sub(1)?,
            complete: Some(length),
            asked: ByteRange::From(0),
            stated_last: length - 1,
            validator: strong_validator(reply).map(Into::into),
        };
        whole.cut(received)
    }

    /// What is left of it when only `received` bytes came. It is the answer to no other question than for those;
    /// `None` if the rest can't be asked for under a strong validator.
    pub fn cut(&self, received: u64) -> Option<Self> {
        let last = self.first.checked_add(received.checked_sub(1)?)?;
        let completable = self.validator.is_some() && self.complete.is_some();
        (completable && last < self.last).then(|| Self {
            last,
            asked: ByteRange::FromTo(self.first, last),
            stated_last: last,
            ..self.clone()
        })
    }

    /// Its Content-Range.
    pub fn content_range(&self) -> ContentRange {
        ContentRange::Part {
            first: self.first,
            last: self.stated_last,
            complete: self.complete,
        }
    }

    /// Number of its bytes.
    pub fn length(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    /// Its bytes.
    pub fn span(&self) -> Span {
        Span {
            first: self.first,
            last: self.last,
        }
    }

    /// All bytes of a response of that length and validator.
    pub fn of_frame(complete: u64, validator: Box<[u8]>) -> Self {
        let last = complete.saturating_sub(1);
        Self {
            first: 0,
            last,
            complete: Some(complete),
            asked: ByteRange::From(0),
            stated_last: last,
            validator: Some(validator),
        }
    }

    /// May the two be joined (RFC 9111 §3.4)?
    pub fn joins(&self, other: &Self) -> bool {
        self.validator.is_some()
            && self.validator == other.validator
            && self.complete.is_some()
            && self.complete == other.complete
    }

    /// Is the other one of no more use, now that there is this one?
    pub fn replaces(&self, older: &Self) -> bool {
        let covers = self.first <= older.first && older.last <= self.last;
        covers || !self.joins(older)
    }
}

/// Gives a 206 to our own question the fields that it needn't repeat (RFC 9110 §15.3.7): those of the part that it belongs
/// to, as far as it has none of that name (RFC 9111 §3.4).
pub fn complete_fields(fields: &mut Fields, stored: &Fields) {
    let missing = stored
        .iter()
        .filter(|line| fields.get_name(line.name).is_none());
    for line in missing.collect::<Vec<_>>() {
        fields.push(line.name, line.value);
    }
}

/// The one range that a request asks for.
pub fn asked(request: &Fields) -> Option<ByteRange> {
    let ranges = range::parse(request.get(FieldId::Range)?)?;
    match *ranges {
        [range] => Some(range),
        _ => None,
    }
}

/// A strong entity tag, or else a date that is one (RFC 9110 §8.8.2.2): from a second or more before Date.
fn strong_validator(reply: &Fields) -> Option<&[u8]> {
    if let Some(tag) = reply.get(FieldId::ETag) {
        let strong = ETag::parse(tag).is_some_and(|tag| tag.strong_eq(&tag));
        return strong.then_some(tag);
    }
    let modified = reply.get(FieldId::LastModified)?;
    let sent = date::parse(reply.get(FieldId::Date)?)?;
    (sent > date::parse(modified)?).then_some(modified)
}

/// A stretch of the bytes that are wanted, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// In the part of this number.
    Held {
        /// Number of the part.
        part: usize,
        /// First byte of the whole.
        first: u64,
        /// Last byte of the whole.
        last: u64,
    },
    /// In none.
    Missing {
        /// First byte of the whole.
        first: u64,
        /// Last byte of the whole.
        last: u64,
    },
}

/// Steps one after another.
pub type Steps = SmallVec<[Step; 4]>;

impl Step {
    /// Number of its bytes.
    pub fn length(&self) -> u64 {
        let (first, last) = self.bounds();
        (last - first).saturating_add(1)
    }

    /// Is it one of the steps through this span?
    pub fn lies_in(&self, span: Span) -> bool {
        let (first, last) = self.bounds();
        span.first <= first && last <= span.last
    }

    fn is_hole(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }

    fn bounds(self) -> (u64, u64) {
        match self {
            Self::Held { first, last, .. } | Self::Missing { first, last } => (first, last),
        }
    }
}

/// The bytes of these spans in order, in parts that hold these. `None`: the parts, or the holes between them, are too many
/// for one answer.
pub fn steps_of(held: &[Span], spans: &[Span]) -> Option<Steps> {
    let mut all = Steps::new();
    for span in spans {
        all.extend(steps(held, *span)?);
    }
    let holes = all.iter().filter(|step| step.is_hole()).count();
    (all.len() <= STEPS_MAX && holes <= HOLES_MAX).then_some(all)
}

/// The bytes of one of them.
fn steps(parts: &[Span], Span { first, last }: Span) -> Option<Steps> {
    let mut steps = Steps::new();
    let mut at = first;
    while at <= last {
        if steps.len() == STEPS_MAX {
            return None;
        }
        let numbered = parts.iter().enumerate();
        let held = numbered
            .filter(|(_, part)| (part.first..=part.last).contains(&at))
            .max_by_key(|(_, part)| part.last);
        let step = if let Some((number, part)) = held {
            Step::Held {
                part: number,
                first: at,
                last: part.last.min(last),
            }
        } else {
            let next = parts
                .iter()
                .map(|part| part.first)
                .filter(|next| *next > at);
            Step::Missing {
                first: at,
                last: next.min().map_or(last, |next| (next - 1).min(last)),
            }
        };
        at = step.bounds().1.checked_add(1)?;
        steps.push(step);
    }
    join_holes(&mut steps);
    Some(steps)
}

/// Makes one hole of too many.
fn join_holes(steps: &mut Steps) {
    if steps.iter().filter(|step| step.is_hole()).count() <= HOLES_MAX {
        return;
    }
    let (Some(from), Some(to)) = (
        steps.iter().position(Step::is_hole),
        steps.iter().rposition(Step::is_hole),
    ) else {
        return;
    };
    let one = match (steps.get(from), steps.get(to)) {
        (Some(start), Some(end)) => Step::Missing {
            first: start.bounds().0,
            last: end.bounds().1,
        },
        _ => return,
    };
    let behind: Steps = steps.drain(from..).skip(to - from + 1).collect();
    steps.push(one);
    steps.extend(behind);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fields;
    use proptest::prelude::*;

    fn part(first: u64, last: u64) -> Part {
        Part {
            first,
            last,
            complete: Some(1000),
            asked: ByteRange::FromTo(first, last),
            stated_last: last,
            validator: Some((*b"\"a\"").into()),
        }
    }

    fn spans_of(parts: &[Part]) -> Vec<Span> {
        parts.iter().map(Part::span).collect()
    }

    #[test]
    fn a_part_is_what_content_range_says() {
        // RFC 9110 §14.4, §15.3.7.
        let of = |lines: &[(&str, &str)]| Part::of(ByteRange::FromTo(10, 19), &fields(lines));
        let range = ("Content-Range", "bytes 10-19/100");
        let found = of(&[range, ("ETag", "\"a\"")]).unwrap();
        assert_eq!(
            (found.first, found.last, found.complete),
            (10, 19, Some(100))
        );
        assert_eq!(found.asked, ByteRange::FromTo(10, 19));
        assert_eq!(
            (found.length(), found.validator.as_deref()),
            (10, Some(&b"\"a\""[..]))
        );
        assert!(of(&[range, ("Content-Length", "10")]).is_some());
        assert_eq!(of(&[range, ("Content-Length", "11")]), None);
        assert_eq!(of(&[range, ("Content-Length", "0")]), None);
        let short = of(&[range, ("Content-Length", "3")]).unwrap();
        assert_eq!((short.first, short.last, short.stated_last), (10, 12, 19));
        assert_eq!(
            of(&[("Content-Range", "bytes 10-19/*")]).unwrap().complete,
            None
        );
        assert_eq!(of(&[("Content-Range", "lines 1-2/3")]), None);
        let several = ("Content-Type", "multipart/byteranges; boundary=x");
        assert_eq!(of(&[range, several]), None);
        let asked = |value: &str| {
            let asked = asked(&fields(&[("Range", value)]));
            asked
                .and_then(|asked| Part::of(asked, &fields(&[range])))
                .is_some()
        };
        for (value, fits) in [
            ("bytes=10-", true),
            ("bytes=10-50", true),
            ("bytes=10-15", false),
            ("bytes=9-19", false),
            ("bytes=9-", false),
            ("bytes=-90", false),
            ("bytes=10-19,30-39", false),
        ] {
            assert_eq!(asked(value), fits, "{value}");
        }
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn fields_are_completed() {
        // RFC 9110 §15.3.7, RFC 9111 §3.4.
        let mut new = fields(&[("Date", "now"), ("X-One", "new")]);
        let stored = [
            ("date", "then"),
            ("x-one", "a"),
            ("X-Two", "b"),
            ("X-Two", "c"),
        ];
        complete_fields(&mut new, &fields(&stored));
        let all: Vec<_> = new.iter().map(|line| (line.name, line.value)).collect();
        let expected: [(&[u8], &[u8]); 4] = [
            (b"Date", b"now"),
            (b"X-One", b"new"),
            (b"X-Two", b"b"),
            (b"X-Two", b"c"),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn only_a_strong_validator_joins() {
        // RFC 9111 §3.4, RFC 9110 §8.8.2.2.
        let of = |lines: &[(&str, &str)]| {
            let mut all = vec![("Content-Range", "bytes 0-1/9")];
            all.extend(lines);
            Part::of(ByteRange::FromTo(0, 1), &fields(&all)).unwrap()
        };
        let joins = |lines: &[(&str, &str)]| of(lines).joins(&of(lines));
        let old = ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT");
        let date = ("Date", "Mon, 07 Nov 1994 08:49:37 GMT");
        assert!(joins(&[("ETag", "\"a\"")]));
        assert!(!joins(&[("ETag", "W/\"a\""), old, date]));
        assert!(joins(&[old, date]));
        assert!(!joins(&[old]));
        assert!(!joins(&[old, ("Date", old.1)]));
        assert!(!joins(&[]));
        assert!(!of(&[("ETag", "\"a\"")]).joins(&of(&[("ETag", "\"b\"")])));
    }

    #[test]
    fn what_is_missing_is_found() {
        let parts = [part(10, 19), part(30, 39), part(15, 24)];
        let of = |first, last| {
            steps_of(&spans_of(&parts), &[Span { first, last }])
                .unwrap()
                .to_vec()
        };
        let held = |part, first, last| Step::Held { part, first, last };
        let missing = |first, last| Step::Missing { first, last };
        assert_eq!(of(12, 17), [held(0, 12, 17)]);
        assert_eq!(of(16, 22), [held(2, 16, 22)]);
        assert_eq!(of(0, 5), [missing(0, 5)]);
        assert_eq!(
            of(5, 45),
            [
                missing(5, 9),
                held(0, 10, 19),
                held(2, 20, 24),
                missing(25, 29),
                held(1, 30, 39),
                missing(40, 45)
            ]
        );
    }

    #[test]
    fn many_holes_are_filled_as_one() {
        let parts: Vec<Part> = (0..6).map(|n| part(n * 10 + 5, n * 10 + 9)).collect();
        let all = steps_of(&spans_of(&parts), &[Span { first: 5, last: 62 }]).unwrap();
        let expected = [
            Step::Held {
                part: 0,
                first: 5,
                last: 9,
            },
            Step::Missing {
                first: 10,
                last: 62,
            },
        ];
        assert_eq!(all.to_vec(), expected);
        let many: Vec<Part> = (0..100).map(|n| part(n, n)).collect();
        let all = Span { first: 0, last: 99 };
        assert_eq!(steps_of(&spans_of(&many), &[all]), None);
    }

    #[test]
    fn several_ranges_have_few_holes_together() {
        let parts: Vec<Part> = (0..6).map(|n| part(n * 100, n * 100 + 9)).collect();
        let of = |spans: &[(u64, u64)]| {
            let spans = spans.iter().map(|(first, last)| Span {
                first: *first,
                last: *last,
            });
            let parts = spans_of(&parts);
            steps_of(&parts, &spans.collect::<Vec<_>>()).map(|steps| steps.to_vec())
        };
        let held = |part, first, last| Step::Held { part, first, last };
        let missing = |first, last| Step::Missing { first, last };
        assert_eq!(
            of(&[(200, 204), (0, 11)]).unwrap(),
            [held(2, 200, 204), held(0, 0, 9), missing(10, 11)]
        );
        let behind: Vec<_> = (0..5).map(|n| (n * 100, n * 100 + 20)).collect();
        assert!(of(&behind[..4]).is_some());
        assert_eq!(of(&behind), None);
    }

    #[test]
    fn what_is_cut_holds_what_came() {
        // RFC 9111 §3.3.
        let tag = fields(&[("ETag", "\"a\"")]);
        let cut = Part::of_cut(&tag, 100, 30).unwrap();
        let range = ContentRange::Part {
            first: 0,
            last: 29,
            complete: Some(100),
        };
        assert_eq!(cut.content_range(), range);
        assert_eq!(cut.asked, ByteRange::FromTo(0, 29));
        for (lines, length, received) in [
            (vec![("ETag", "\"a\"")], 100, 0),
            (vec![("ETag", "\"a\"")], 100, 100),
            (vec![("ETag", "\"a\"")], 0, 0),
            (vec![("ETag", "W/\"a\"")], 100, 30),
            (vec![], 100, 30),
        ] {
            assert_eq!(Part::of_cut(&fields(&lines), length, received), None);
        }
        let again = part(10, 19).cut(5).unwrap();
        assert_eq!((again.first, again.last, again.stated_last), (10, 14, 14));
        assert!(again.joins(&part(0, 9)) && !again.replaces(&part(10, 19)));
    }

    proptest! {
        #[test]
        fn steps_cover_what_is_wanted_without_gaps(
            bounds in prop::collection::vec((0u64..200, 0u64..50), 0..12),
            first in 0u64..200,
            more in 0u64..200,
        ) {
            let parts: Vec<Part> = bounds.iter().map(|(at, more)| part(*at, at + more)).collect();
            let span = Span { first, last: first + more };
            let steps = steps_of(&spans_of(&parts), &[span]).unwrap();
            let mut at = first;
            for step in &steps {
                let (from, to) = step.bounds();
                prop_assert_eq!(from, at);
                prop_assert!(from <= to);
                if let Step::Held { part, .. } = step {
                    prop_assert!(parts[*part].first <= from && to <= parts[*part].last);
                }
                at = to + 1;
            }
            prop_assert_eq!(at, first + more + 1);
            let holes = steps.iter().filter(|step| matches!(step, Step::Missing { .. }));
            prop_assert!(holes.count() <= HOLES_MAX);
        }
    }
}
