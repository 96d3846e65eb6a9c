//! Validating a stored response with its origin (RFC 9111 §4.3): the conditional request, and what a 304 changes.

use wire::value::date;
use wire::value::etag::ETag;
use wire::{FieldId, Fields};

/// Takes the client's own conditions and ranges out: they are answered from the whole response.
pub fn make_unconditional(request: &mut Fields) {
    const CLIENTS: [FieldId; 6] = [
        FieldId::IfMatch,
        FieldId::IfNoneMatch,
        FieldId::IfModifiedSince,
        FieldId::IfUnmodifiedSince,
        FieldId::IfRange,
        FieldId::Range,
    ];
    request.retain(|line| !CLIENTS.contains(&line.id));
}

/// What a stored response can be told apart by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Validators<'v> {
    /// Its ETag.
    pub etag: Option<&'v [u8]>,
    /// Its Last-Modified.
    pub modified: Option<&'v [u8]>,
    /// Its Date, in Unix seconds.
    pub made: Option<i64>,
}

/// Makes a request conditional on the stored response (RFC 9111 §4.3.1), in place of the client's own conditions. Says
/// whether there is anything to validate with. Without a validator it goes by when the response was made (RFC 9110
/// §13.1.3).
pub fn make_conditional(request: &mut Fields, stored: &Validators<'_>) -> bool {
    make_unconditional(request);
    let mut conditional = false;
    if let Some(etag) = stored.etag {
        request.push_id(FieldId::IfNoneMatch, etag);
        conditional = true;
    }
    if let Some(modified) = stored.modified {
        request.push_id(FieldId::IfModifiedSince, modified);
        conditional = true;
    }
    if !conditional && let Some(made) = stored.made {
        // A second earlier: what changed in the same second, after the response was made, has changed since.
        let mut since = Vec::with_capacity(date::DATE_BYTES);
        date::write(made.saturating_sub(1), &mut since);
        request.push_id(FieldId::IfModifiedSince, &since);
        conditional = true;
    }
    conditional
}

/// Bytes of the tags that one request names at most.
const TAGS_BYTES_MAX: usize = 4096;

/// Asks which of several stored responses, by their entity tags, is the answer (RFC 9111 §4.3.1), the newest first. Their
/// number is bounded by the bytes of their tags.
pub fn make_conditional_on_any<'t>(request: &mut Fields, tags: impl Iterator<Item = &'t [u8]>) {
    make_unconditional(request);
    let mut list = Vec::new();
    for tag in tags {
        if list.len() + tag.len() + 2 > TAGS_BYTES_MAX {
            break;
        }
        if !list.is_empty() {
            list.extend_from_slice(b", ");
        }
        list.extend_from_slice(tag);
    }
    if !list.is_empty() {
        request.push_id(FieldId::IfNoneMatch, &list);
    }
}

/// May a stored response that other requests have selected be offered as an answer to this one? The origin is to pick it
/// by its tag: that must be a strong one, as a weak tag may be that of several codings; and origins that give their
/// codings one strong tag must not make us send a coding that the client doesn't accept.
pub fn may_be_picked(tag: &[u8], coding: Option<&[u8]>, request: &Fields) -> bool {
    let strong = ETag::parse(tag).is_some_and(|tag| !tag.weak);
    let accepts = |coding: &[u8]| {
        let mut accepted = request.list(FieldId::AcceptEncoding);
        accepted.any(|element| {
            let mut parts = element.split(|byte| *byte == b';');
            let name = parts.next().unwrap_or_default().trim_ascii();
            let refused = parts.any(|part| {
                let part = part.trim_ascii();
                matches!(part, [b'q' | b'Q', b'=', weight @ ..] if weight.iter().all(|byte| matches!(byte, b'0' | b'.')))
            });
            name.eq_ignore_ascii_case(coding) && !refused
        })
    };
    strong && coding.is_none_or(|coding| accepts(coding.trim_ascii()))
}

/// Does a 304 pick the stored response with this tag (RFC 9111 §4.3.4)?
pub fn picks(not_modified: &Fields, tag: &[u8]) -> bool {
    let picked = not_modified.get(FieldId::ETag).and_then(ETag::parse);
    let tag = ETag::parse(tag);
    picked.is_some_and(|picked| tag.is_some_and(|tag| picked.strong_eq(&tag)))
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
        let stored = Validators {
            etag: Some(b"\"a\""),
            modified: Some(b"Sun, 06 Nov 1994 08:49:37 GMT"),
            made: Some(784_111_800),
        };
        assert!(make_conditional(&mut request, &stored));
        let expected = fields(&[
            ("Host", "h"),
            ("If-None-Match", "\"a\""),
            ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ]);
        assert_eq!(request, expected);
        assert!(!make_conditional(&mut request, &Validators::default()));
    }

    #[test]
    fn without_a_validator_the_date_is_asked_by() {
        // RFC 9110 §13.1.3.
        let check = |stored: Validators<'_>, expected: Option<&str>| {
            let mut request = fields(&[("If-None-Match", "\"mine\"")]);
            let conditional = make_conditional(&mut request, &stored);
            let asked = request.get(FieldId::IfModifiedSince);
            assert_eq!(asked, expected.map(str::as_bytes), "{stored:?}");
            assert_eq!(conditional, !request.is_empty(), "{stored:?}");
        };
        let made = Validators {
            made: Some(784_111_800),
            ..Validators::default()
        };
        check(made, Some("Sun, 06 Nov 1994 08:49:59 GMT"));
        check(Validators::default(), None);
        let etag = Some(b"\"a\"".as_slice());
        check(Validators { etag, ..made }, None);
        let text = "Sun, 06 Nov 1994 08:49:37 GMT";
        let modified = Some(text.as_bytes());
        check(Validators { modified, ..made }, Some(text));
    }

    #[test]
    fn one_request_asks_about_several_tags() {
        // RFC 9111 §4.3.1.
        let mut request = fields(&[("If-None-Match", "\"mine\"")]);
        let tags = [b"\"a\"".as_slice(), b"\"b\""];
        make_conditional_on_any(&mut request, tags.into_iter());
        assert_eq!(request, fields(&[("If-None-Match", "\"a\", \"b\"")]));
        let large = format!("\"{}\"", "x".repeat(1000));
        make_conditional_on_any(&mut request, std::iter::repeat_n(large.as_bytes(), 64));
        let asked = request.get(FieldId::IfNoneMatch).unwrap();
        assert_eq!(asked.len(), 4 * large.len() + 6, "a bound");
    }

    #[test]
    fn variants_are_offered_by_strong_tags_and_in_codings_that_the_client_accepts() {
        let check = |tag: &str, coding: Option<&str>, accepts: &str, expected| {
            let request = fields(&[("Accept-Encoding", accepts)]);
            let coding = coding.map(str::as_bytes);
            let may = may_be_picked(tag.as_bytes(), coding, &request);
            assert_eq!(may, expected, "{tag} {coding:?} {accepts}");
        };
        check("\"a\"", None, "", true);
        check("W/\"a\"", None, "", false);
        check("a", None, "", false);
        check("\"a\"", Some("gzip"), "br, GZIP;q=0.5", true);
        check("\"a\"", Some("gzip"), "br", false);
        check("\"a\"", Some("gzip"), "gzip;q=0.0", false);
        check("\"a\"", Some("gzip, br"), "gzip, br", false);
    }

    #[test]
    fn a_304_picks_by_its_strong_tag() {
        // RFC 9111 §4.3.4.
        let picked = |etag: &str| picks(&fields(&[("ETag", etag)]), b"\"a\"");
        assert!(picked("\"a\""));
        assert!(!picked("W/\"a\"") && !picked("\"b\""));
        assert!(!picks(&Fields::new(), b"\"a\""));
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
