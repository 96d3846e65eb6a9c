//! Entity tags and the conditions made of them (RFC 9110 §8.8.3, §13.1).

use crate::field::Elements;
use crate::{FieldId, Fields, chars};

/// An entity tag: `"opaque"` or `W/"opaque"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ETag<'a> {
    /// Does it start with `W/`?
    pub weak: bool,
    /// What stands between the quotes.
    pub opaque: &'a [u8],
}

impl<'a> ETag<'a> {
    /// Parses a tag; `None` when it isn't one.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        let (weak, quoted) = match value.strip_prefix(b"W/") {
            Some(rest) => (true, rest),
            None => (false, value),
        };
        let opaque = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let is_etagc = |&byte: &u8| byte > b' ' && byte != b'"' && byte != 0x7f;
        opaque.iter().all(is_etagc).then_some(Self { weak, opaque })
    }

    /// Strong comparison: both strong, and the same.
    pub fn strong_eq(&self, other: &ETag<'_>) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Weak comparison: the same, strong or not.
    pub fn weak_eq(&self, other: &ETag<'_>) -> bool {
        self.opaque == other.opaque
    }
}

/// Which comparison a condition asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `If-Match`, `If-Range`
    Strong,
    /// `If-None-Match`
    Weak,
}

/// Does the list in `If-Match` or `If-None-Match` hold `*` or a tag equal to `etag`? `*` matches
/// even without a tag of our own.
pub fn list_matches(fields: &Fields, id: FieldId, etag: Option<&[u8]>, compare: Compare) -> bool {
    let etag = etag.and_then(ETag::parse);
    fields.get_all(id).any(|value| {
        chars::trim_ows(value) == b"*"
            || etag.is_some_and(|etag| {
                Elements::new(value)
                    .filter_map(ETag::parse)
                    .any(|listed| match compare {
                        Compare::Strong => listed.strong_eq(&etag),
                        Compare::Weak => listed.weak_eq(&etag),
                    })
            })
    })
}

/// Any value parses or doesn't; a tag is weakly equal to itself.
///
/// # Panics
/// When it isn't.
pub fn fuzz(data: &[u8]) {
    let mut fields = Fields::new();
    fields.push_id(FieldId::IfNoneMatch, data);
    if let Some(etag) = ETag::parse(data) {
        assert!(etag.weak_eq(&etag));
        assert_eq!(etag.strong_eq(&etag), !etag.weak);
        // Inside a list a backslash before the closing quote would escape it.
        if !etag.opaque.ends_with(b"\\") {
            assert!(list_matches(
                &fields,
                FieldId::IfNoneMatch,
                Some(data),
                Compare::Weak
            ));
        }
    }
    list_matches(
        &fields,
        FieldId::IfNoneMatch,
        Some(b"\"a\""),
        Compare::Strong,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(text: &str) -> ETag<'_> {
        ETag::parse(text.as_bytes()).expect("a valid tag")
    }

    #[test]
    fn comparisons_follow_the_table_of_the_rfc() {
        for (one, two, strong, weak) in [
            (r#"W/"1""#, r#"W/"1""#, false, true),
            (r#"W/"1""#, r#"W/"2""#, false, false),
            (r#"W/"1""#, r#""1""#, false, true),
            (r#""1""#, r#""1""#, true, true),
        ] {
            assert_eq!(tag(one).strong_eq(&tag(two)), strong, "{one} {two}");
            assert_eq!(tag(one).weak_eq(&tag(two)), weak, "{one} {two}");
        }
    }

    #[test]
    fn what_has_no_quotes_is_no_tag() {
        for bad in [
            "", "1", "\"", "\"1", "w/\"1\"", "W/ \"1\"", "\"a b\"", "\"a\"b\"",
        ] {
            assert_eq!(ETag::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_list_matches_by_any_element_or_by_asterisk() {
        let mut fields = Fields::new();
        fields.push_id(FieldId::IfNoneMatch, br#""a", W/"b,c""#);
        let matches = |etag: &str| {
            list_matches(
                &fields,
                FieldId::IfNoneMatch,
                Some(etag.as_bytes()),
                Compare::Weak,
            )
        };
        assert!(matches(r#""a""#));
        assert!(matches(r#""b,c""#));
        assert!(!matches(r#""b""#));
        let mut fields = Fields::new();
        fields.push_id(FieldId::IfMatch, b"*");
        assert!(list_matches(
            &fields,
            FieldId::IfMatch,
            None,
            Compare::Strong
        ));
    }
}
