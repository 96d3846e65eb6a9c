//! Validating a stored response with its origin (RFC 9111 §4.3): the conditional request, and what a 304 changes.

use wire::value::etag::ETag;
use wire::{FieldId, Fields};

/// Makes a request conditional on the stored response (RFC 9111 §4.3.1). The client's own conditions and ranges are
/// taken out: they are answered from the validated response. Says whether there is anything to validate with.
pub fn make_conditional(request: &mut Fields, stored: &Fields) -> bool {
    const CLIENTS: [FieldId; 6] = [
        FieldId::IfMatch,
        FieldId::IfNoneMatch,
        FieldId::IfModifiedSince,
        FieldId::IfUnmodifiedSince,
        FieldId::IfRange,
        FieldId::Range,
    ];
    request.retain(|line| !CLIENTS.contains(&line.id));
    let mut conditional = false;
    if let Some(etag) = stored.get(FieldId::ETag) {
        request.push_id(FieldId::IfNoneMatch, etag);
        conditional = true;
    }
    if let Some(modified) = stored.get(FieldId::LastModified) {
        request.push_id(FieldId::IfModifiedSince, modified);
        conditional = true;
    }
    conditional
}

/// Does a 304 speak of this stored response (RFC 9111 §4.3.4)? One with another validator doesn't, nor one with a strong
/// tag that we don't have. One without any does: it answers our own question, and many origins leave them out.
pub fn confirms(not_modified: &Fields, stored: &Fields) -> bool {
    let both = |id| (not_modified.get(id), stored.get(id));
    let modified = both(FieldId::LastModified);
    match both(FieldId::ETag) {
        (Some(new), Some(old)) => match (ETag::parse(new), ETag::parse(old)) {
            (Some(new), Some(old)) => new.weak_eq(&old),
            _ => new == old,
        },
        (Some(new), None) if ETag::parse(new).is_some_and(|tag| !tag.weak) => {
            matches!(modified, (Some(new), Some(old)) if new == old)
        }
        _ => !matches!(modified, (Some(new), Some(old)) if new != old),
    }
}

/// Does a response to HEAD tell of this stored response (RFC 9111 §4.3.5)? Validators and length that it has must be
/// those that are stored.
pub fn agrees(to_head: &Fields, stored: &Fields, stored_length: Option<u64>) -> bool {
    let same = |id| {
        to_head
            .get(id)
            .is_none_or(|value| stored.get(id) == Some(value))
    };
    let length = to_head
        .get(FieldId::ContentLength)
        .and_then(wire::value::decimal);
    same(FieldId::ETag)
        && same(FieldId::LastModified)
        && length.is_none_or(|length| Some(length) == stored_length)
}

/// Takes the fields of a 304 into the stored response (RFC 9111 §3.2): each field that the 304 has replaces all lines
/// of that name, but for those that belong to the connection or describe the content as it is stored.
pub fn update(stored: &mut Fields, not_modified: &Fields) {
    let skipped = |name: &[u8], id: FieldId| {
        is_kept(id)
            || not_modified
                .list(FieldId::Connection)
                .any(|named| named.eq_ignore_ascii_case(name))
    };
    for line in not_modified
        .iter()
        .filter(|line| !skipped(line.name, line.id))
    {
        stored.remove_name(line.name);
    }
    for line in not_modified
        .iter()
        .filter(|line| !skipped(line.name, line.id))
    {
        stored.push(line.name, line.value);
    }
}

/// Fields of a stored response that a 304 doesn't change.
const fn is_kept(id: FieldId) -> bool {
    matches!(
        id,
        // Of the connection (RFC 9111 §3.1).
        FieldId::Connection
            | FieldId::KeepAlive
            | FieldId::ProxyConnection
            | FieldId::ProxyAuthenticate
            | FieldId::ProxyAuthorization
            | FieldId::ProxyAuthenticationInfo
            | FieldId::Te
            | FieldId::Trailer
            | FieldId::TransferEncoding
            | FieldId::Upgrade
            // Of the content, which stays what it is (RFC 9111 §3.2).
            | FieldId::ContentLength
            | FieldId::ContentEncoding
            | FieldId::ContentRange
            | FieldId::ContentMd5
            | FieldId::ContentDigest
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::new();
        for (name, value) in lines {
            fields.push(name.as_bytes(), value.as_bytes());
        }
        fields
    }

    #[test]
    fn a_conditional_request_carries_both_validators_and_none_of_the_clients() {
        // RFC 9111 §4.3.1.
        let mut request = fields(&[
            ("Host", "h"),
            ("If-None-Match", "\"mine\""),
            ("Range", "bytes=0-1"),
            ("If-Range", "\"x\""),
        ]);
        let stored = fields(&[
            ("ETag", "\"a\""),
            ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ]);
        assert!(make_conditional(&mut request, &stored));
        let expected = fields(&[
            ("Host", "h"),
            ("If-None-Match", "\"a\""),
            ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ]);
        assert_eq!(request, expected);
        assert!(!make_conditional(&mut request, &Fields::new()));
    }

    #[test]
    fn a_304_replaces_fields_but_not_those_of_content_and_connection() {
        // RFC 9111 §3.2.
        let mut stored = fields(&[
            ("Content-Length", "5"),
            ("Content-Type", "text/plain"),
            ("X-A", "1"),
            ("X-A", "2"),
            ("Cache-Control", "max-age=1"),
            ("X-B", "kept"),
            ("X-Hop", "kept"),
        ]);
        let not_modified = fields(&[
            ("Content-Length", "0"),
            ("Content-Encoding", "gzip"),
            ("content-type", "text/html"),
            ("x-a", "3"),
            ("Cache-Control", "max-age=9"),
            ("Connection", "X-Hop"),
            ("X-Hop", "new"),
            ("X-New", "n"),
            ("X-New", "m"),
        ]);
        update(&mut stored, &not_modified);
        let expected = fields(&[
            ("Content-Length", "5"),
            ("X-B", "kept"),
            ("X-Hop", "kept"),
            ("content-type", "text/html"),
            ("x-a", "3"),
            ("Cache-Control", "max-age=9"),
            ("X-New", "n"),
            ("X-New", "m"),
        ]);
        assert_eq!(stored, expected);
    }

    #[test]
    fn a_head_response_speaks_of_what_has_its_validators_and_length() {
        // RFC 9111 §4.3.5.
        let stored = fields(&[("ETag", "\"a\""), ("Last-Modified", "x")]);
        let check = |reply: &[(&str, &str)], expected| {
            assert_eq!(
                agrees(&fields(reply), &stored, Some(5)),
                expected,
                "{reply:?}"
            );
        };
        check(&[], true);
        check(&[("ETag", "\"a\""), ("Content-Length", "5")], true);
        check(&[("ETag", "\"b\"")], false);
        check(&[("Last-Modified", "y")], false);
        check(&[("Content-Length", "6")], false);
    }

    #[test]
    fn a_304_for_another_entity_confirms_nothing() {
        // RFC 9111 §4.3.4.
        let check = |new: &[(&str, &str)], old: &[(&str, &str)], expected| {
            assert_eq!(
                confirms(&fields(new), &fields(old)),
                expected,
                "{new:?} {old:?}"
            );
        };
        check(&[("ETag", "\"a\"")], &[("ETag", "\"a\"")], true);
        check(&[("ETag", "W/\"a\"")], &[("ETag", "\"a\"")], true);
        check(&[("ETag", "\"b\"")], &[("ETag", "\"a\"")], false);
        check(&[], &[("ETag", "\"a\"")], true);
        let (old, new) = (("Last-Modified", "x"), ("Last-Modified", "y"));
        check(&[("ETag", "\"a\"")], &[old], false);
        check(&[("ETag", "\"a\""), old], &[old], true);
        check(&[("ETag", "W/\"a\"")], &[old], true);
        check(&[new], &[old], false);
        check(&[("ETag", "\"a\""), new], &[("ETag", "\"a\""), old], true);
    }
}
