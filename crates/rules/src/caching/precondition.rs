//! The conditions of a client's request, answered from a stored response (RFC 9110 §13, RFC 9111 §4.3.2).

use http::Method;
use wire::value::date;
use wire::value::etag::{Compare, list_matches};
use wire::{FieldId, Fields};

/// What a request's conditions come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Go on as if there were none.
    Holds,
    /// Answer 304.
    NotModified(By),
    /// Answer 412.
    Failed,
}

/// Which condition made a 304, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// If-None-Match (`TCP_INM_HIT`).
    Tag,
    /// If-Modified-Since (`TCP_IMS_HIT`).
    Date,
}

/// Does the request have any condition? `false` is the fast way.
#[inline]
pub fn has_conditions(request: &Fields) -> bool {
    const CONDITIONS: [FieldId; 4] = [
        FieldId::IfMatch,
        FieldId::IfNoneMatch,
        FieldId::IfModifiedSince,
        FieldId::IfUnmodifiedSince,
    ];
    CONDITIONS.iter().any(|id| request.has(*id))
}

/// Evaluates the conditions in the order of RFC 9110 §13.2.2. They apply to GET and HEAD with a stored response of
/// status 200 only; without one of those all hold.
pub fn evaluate(method: &Method, request: &Fields, status: u16, stored: &Fields) -> Precondition {
    let is_read = *method == Method::GET || *method == Method::HEAD;
    if !is_read || status != 200 || !has_conditions(request) {
        return Precondition::Holds;
    }
    let etag = stored.get(FieldId::ETag);
    let modified = stored.get(FieldId::LastModified).and_then(date::parse);
    let asked = |id| request.get(id).and_then(date::parse);
    if request.has(FieldId::IfMatch) {
        if !list_matches(request, FieldId::IfMatch, etag, Compare::Strong) {
            return Precondition::Failed;
        }
    } else if let (Some(since), Some(modified)) = (asked(FieldId::IfUnmodifiedSince), modified)
        && modified > since
    {
        return Precondition::Failed;
    }
    if request.has(FieldId::IfNoneMatch) {
        let same = list_matches(request, FieldId::IfNoneMatch, etag, Compare::Weak);
        return if same {
            Precondition::NotModified(By::Tag)
        } else {
            Precondition::Holds
        };
    }
    // Without Last-Modified, its Date says when it was last known to be so (RFC 9111 §4.3.2).
    let known = modified.or_else(|| stored.get(FieldId::Date).and_then(date::parse));
    match (asked(FieldId::IfModifiedSince), known) {
        (Some(since), Some(known)) if known <= since => Precondition::NotModified(By::Date),
        _ => Precondition::Holds,
    }
}

/// Does a field of the stored response belong into a 304 (RFC 9110 §15.4.5)? What describes content doesn't.
pub const fn belongs_in_304(id: FieldId) -> bool {
    !matches!(
        id,
        FieldId::ContentLength
            | FieldId::ContentType
            | FieldId::ContentEncoding
            | FieldId::ContentLanguage
            | FieldId::ContentRange
            | FieldId::ContentMd5
            | FieldId::ContentDigest
            | FieldId::ContentDisposition
            | FieldId::TransferEncoding
            | FieldId::Trailer
    )
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

    fn check(request: &[(&str, &str)], stored: &[(&str, &str)], expected: Precondition) {
        let found = evaluate(&Method::GET, &fields(request), 200, &fields(stored));
        assert_eq!(found, expected, "{request:?} {stored:?}");
    }

    const SAME_TAG: Precondition = Precondition::NotModified(By::Tag);
    const SAME_DATE: Precondition = Precondition::NotModified(By::Date);

    #[test]
    fn if_none_match_compares_weakly_and_rules_out_dates() {
        // RFC 9110 §13.1.2, §13.1.3.
        check(
            &[("If-None-Match", "\"a\"")],
            &[("ETag", "\"a\"")],
            SAME_TAG,
        );
        check(
            &[("If-None-Match", "W/\"a\", \"b\"")],
            &[("ETag", "\"a\"")],
            SAME_TAG,
        );
        check(
            &[("If-None-Match", "\"b\"")],
            &[("ETag", "\"a\"")],
            Precondition::Holds,
        );
        check(&[("If-None-Match", "*")], &[], SAME_TAG);
        check(&[("If-None-Match", "\"a\"")], &[], Precondition::Holds);
        let both = [("If-None-Match", "\"b\""), ("If-Modified-Since", NEW)];
        check(
            &both,
            &[("ETag", "\"a\""), ("Last-Modified", OLD)],
            Precondition::Holds,
        );
    }

    #[test]
    fn if_modified_since_compares_with_last_modified_or_date() {
        // RFC 9110 §13.1.3, RFC 9111 §4.3.2.
        check(
            &[("If-Modified-Since", OLD)],
            &[("Last-Modified", OLD)],
            SAME_DATE,
        );
        check(
            &[("If-Modified-Since", NEW)],
            &[("Last-Modified", OLD)],
            SAME_DATE,
        );
        check(
            &[("If-Modified-Since", OLD)],
            &[("Last-Modified", NEW)],
            Precondition::Holds,
        );
        check(&[("If-Modified-Since", NEW)], &[("Date", OLD)], SAME_DATE);
        check(
            &[("If-Modified-Since", "rubbish")],
            &[("Last-Modified", OLD)],
            Precondition::Holds,
        );
    }

    #[test]
    fn if_match_compares_strongly_and_rules_out_if_unmodified_since() {
        // RFC 9110 §13.1.1, §13.1.4, §13.2.2.
        check(
            &[("If-Match", "\"a\"")],
            &[("ETag", "\"a\"")],
            Precondition::Holds,
        );
        check(&[("If-Match", "*")], &[], Precondition::Holds);
        check(
            &[("If-Match", "W/\"a\"")],
            &[("ETag", "W/\"a\"")],
            Precondition::Failed,
        );
        check(
            &[("If-Match", "\"b\"")],
            &[("ETag", "\"a\"")],
            Precondition::Failed,
        );
        check(
            &[("If-Unmodified-Since", OLD)],
            &[("Last-Modified", NEW)],
            Precondition::Failed,
        );
        check(
            &[("If-Unmodified-Since", NEW)],
            &[("Last-Modified", OLD)],
            Precondition::Holds,
        );
        let both = [("If-Match", "\"a\""), ("If-Unmodified-Since", OLD)];
        check(
            &both,
            &[("ETag", "\"a\""), ("Last-Modified", NEW)],
            Precondition::Holds,
        );
    }

    #[test]
    fn conditions_are_for_reading_whole_responses() {
        let request = fields(&[("If-None-Match", "*")]);
        assert_eq!(
            evaluate(&Method::POST, &request, 200, &Fields::new()),
            Precondition::Holds
        );
        assert_eq!(
            evaluate(&Method::GET, &request, 404, &Fields::new()),
            Precondition::Holds
        );
        assert_eq!(
            evaluate(&Method::HEAD, &request, 200, &Fields::new()),
            SAME_TAG
        );
    }
}
