//! Lists whose elements have a weight: `Accept`, `Accept-Language` (RFC 9110 §12.4.2, §12.5).

use smallvec::SmallVec;

use crate::chars;

/// Elements that are looked at; clients send less than ten.
const ELEMENTS_MAX: usize = 32;

/// The weight of what is named without one, in thousandths.
pub const FULL: u16 = 1000;

/// The elements of the values without their parameters, and their weights in thousandths: the ones that the client
/// likes best first, otherwise as they came. A weight that makes no sense is none; weight 0 is "not this".
pub fn ranked<'v>(values: impl Iterator<Item = &'v [u8]>) -> SmallVec<[(&'v [u8], u16); 8]> {
    let elements = values.flat_map(|value| value.split(|&byte| byte == b','));
    let mut ranked: SmallVec<[(&[u8], u16); 8]> = elements
        .filter_map(element)
        .filter(|(name, _)| !name.is_empty())
        .take(ELEMENTS_MAX)
        .collect();
    ranked.sort_by_key(|&(_, weight)| std::cmp::Reverse(weight));
    ranked
}

/// `de-AT;q=0.8`
fn element(text: &[u8]) -> Option<(&[u8], u16)> {
    let mut parts = text.split(|&byte| byte == b';').map(chars::trim_ows);
    let name = parts.next()?;
    let weight = parts.find_map(|part| part.strip_prefix(b"q=").or(part.strip_prefix(b"Q=")));
    Some((name, weight.and_then(thousandths).unwrap_or(FULL)))
}

/// `0.8` as 800; at most three digits follow the point.
fn thousandths(text: &[u8]) -> Option<u16> {
    let (whole, part) = match text {
        [whole, b'.', part @ ..] if part.len() <= 3 => (*whole, part),
        [whole] => (*whole, [].as_slice()),
        _ => return None,
    };
    let digits = part.iter().copied().chain([b'0'; 3]).take(3);
    let mut value = 0;
    for digit in std::iter::once(whole).chain(digits) {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u16::from(digit - b'0');
    }
    (value <= FULL).then_some(value)
}

/// Any value is ranked.
///
/// # Panics
/// When an element isn't part of the value, or a better one comes later.
pub fn fuzz(data: &[u8]) {
    let ranked = ranked(std::iter::once(data));
    assert!(ranked.len() <= ELEMENTS_MAX);
    assert!(ranked.is_sorted_by(|one, other| one.1 >= other.1));
    for (name, weight) in ranked {
        assert!(weight <= FULL && !name.is_empty());
        assert!(memchr::memmem::find(data, name).is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(value: &str, expected: &[(&str, u16)]) {
        let found = ranked(std::iter::once(value.as_bytes()));
        let found: Vec<_> = found
            .iter()
            .map(|(name, weight)| (str::from_utf8(name).unwrap(), *weight))
            .collect();
        assert_eq!(found, expected, "{value}");
    }

    #[test]
    fn the_best_come_first() {
        check("de", &[("de", 1000)]);
        check(
            "en;q=0.7, fr, de-AT ; q=0.85,*;q=0",
            &[("fr", 1000), ("de-AT", 850), ("en", 700), ("*", 0)],
        );
        check(
            "text/html;level=1;q=0.5, application/json",
            &[("application/json", 1000), ("text/html", 500)],
        );
    }

    #[test]
    fn what_makes_no_sense_has_full_weight_or_is_left_out() {
        check("", &[]);
        check(
            ",, a;q=2,b;q=0.1234,c;q=-1",
            &[("a", 1000), ("b", 1000), ("c", 1000)],
        );
        check(
            "a;q=1.000,b;q=0.,c;q=0.001",
            &[("a", 1000), ("c", 1), ("b", 0)],
        );
        let long = vec!["x"; 1000].join(",");
        assert_eq!(ranked(std::iter::once(long.as_bytes())).len(), ELEMENTS_MAX);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(data: Vec<u8>) {
            fuzz(&data);
        }
    }
}
