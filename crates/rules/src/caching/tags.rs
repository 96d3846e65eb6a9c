//! Names that responses share so that they can be invalidated together: tags, which an operator purges, and groups
//! (RFC 9875), which the origin itself invalidates.

use wire::value::strings::strings;
use wire::{Fields, Target};

/// Names for a response, or in a question; more aren't taken.
pub const TAGS_MAX: usize = 1000;

/// The tags in `Surrogate-Key` (between spaces) and `Cache-Tag` (between commas), of a response or of a PURGE. One space of
/// names, in which case counts.
pub fn tags(fields: &Fields) -> impl Iterator<Item = &[u8]> {
    let keys = fields
        .all_named(b"Surrogate-Key")
        .flat_map(|line| line.split(|byte| matches!(byte, b' ' | b'\t')));
    keys.chain(fields.list_named(b"Cache-Tag"))
        .filter(|tag| !tag.is_empty())
}

/// The groups of a response (RFC 9875 §2).
pub fn groups(reply: &Fields) -> Vec<String> {
    strings(reply, b"Cache-Groups")
}

/// The groups that a response, or a PURGE, invalidates (RFC 9875 §3). Whether it may is for the caller to know.
pub fn invalidated_groups(fields: &Fields) -> Vec<String> {
    strings(fields, b"Cache-Group-Invalidation")
}

/// Scheme and authority, which groups belong to (RFC 9875 §2.1, RFC 9110 §4.3.1), with a slash behind: all URLs of the
/// origin begin with it.
pub fn origin(target: &Target) -> Vec<u8> {
    [target.scheme_name(), b"://", target.authority(), b"/"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fields;
    use wire::target::UriWhitespace;

    fn check(lines: &[(&str, &str)], expected: &[&str]) {
        let fields = fields(lines);
        let found: Vec<_> = tags(&fields).map(String::from_utf8_lossy).collect();
        assert_eq!(found, expected, "{lines:?}");
    }

    #[test]
    fn tags_come_from_both_fields() {
        check(&[], &[]);
        check(&[("Surrogate-Key", "a  b\tc,d")], &["a", "b", "c,d"]);
        check(&[("Cache-Tag", "a, b c ,,d")], &["a", "b c", "d"]);
        check(
            &[
                ("cache-tag", "x"),
                ("surrogate-key", "y"),
                ("Surrogate-Key", "X"),
            ],
            &["y", "X", "x"],
        );
    }

    #[test]
    fn groups_are_strings() {
        let fields = fields(&[
            ("Cache-Groups", "\"a b\", \"c\""),
            ("Cache-Group-Invalidation", "tokens"),
        ]);
        assert_eq!(groups(&fields), ["a b", "c"]);
        assert!(invalidated_groups(&fields).is_empty());
    }

    #[test]
    fn an_origin_has_scheme_host_and_port() {
        for (url, expected) in [
            ("HTTP://Example.com:80/a/b?c", "http://example.com/"),
            ("https://example.com:8443", "https://example.com:8443/"),
        ] {
            let mut target = Target::new();
            target
                .set_absolute(url.as_bytes(), UriWhitespace::Deny)
                .unwrap();
            assert_eq!(origin(&target), expected.as_bytes());
            assert!(target.url().starts_with(expected.as_bytes()));
        }
    }
}
