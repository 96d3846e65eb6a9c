//! What a PURGE asks for. Its fields bear the names that other caches have given them.

use regex::bytes::{Regex, RegexBuilder};
use wire::target::UriWhitespace;
use wire::{Fields, Target};

use super::tags::{TAGS_MAX, invalidated_groups, origin, tags};
use crate::acl::ere;

/// Bytes of memory for a compiled pattern, and for what it keeps while it searches.
const PATTERN_BYTES_MAX: usize = 256 << 10;

/// Which stored responses.
#[derive(Clone, Debug)]
pub enum By {
    /// Those of its URL.
    Url,
    /// Those with any of these tags (`Surrogate-Key`, `Cache-Tag`).
    Tags(Vec<Box<[u8]>>),
    /// Those of any of these groups of its origin (`Cache-Group-Invalidation`).
    Groups(Vec<String>),
    /// Those whose URLs begin so (`X-Purge-Prefix`).
    Prefix(Box<[u8]>),
    /// Those whose URLs match (`X-Purge-Regex`).
    Pattern {
        /// As it was asked.
        text: String,
        /// Made of it.
        regex: Regex,
    },
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Purge {
    /// Which.
    pub by: By,
    /// They become stale instead of going.
    pub soft: bool,
}

/// Why a PURGE can't be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPurge {
    /// By several things at once.
    #[error("asks for more than one of tags, groups, prefix and pattern")]
    Several,
    /// A field that says nothing we can use.
    #[error("nothing usable in {0}")]
    Empty(&'static str),
    /// Too many names.
    #[error("more than {TAGS_MAX} names")]
    TooMany,
    /// The prefix is no URL and no path.
    #[error("the prefix is neither a URL nor a path")]
    Prefix,
    /// The prefix is of another origin.
    #[error("the prefix is of another origin, and purge_all_origins is off")]
    Elsewhere,
    /// The pattern is none.
    #[error("invalid pattern: {0}")]
    Pattern(ere::BadEre),
}

impl Purge {
    /// Reads a PURGE of this target. `everywhere`: a prefix may be of another origin than the target.
    ///
    /// # Errors
    /// It can't be understood, or asks for what it may not.
    pub fn of(target: &Target, fields: &Fields, everywhere: bool) -> Result<Self, BadPurge> {
        let soft = [&b"X-Purge-Soft"[..], b"Fastly-Soft-Purge"]
            .iter()
            .any(|name| fields.get_name(name) == Some(b"1"));
        let has = |name: &str| fields.get_name(name.as_bytes()).is_some();
        let asked = [
            has("Surrogate-Key") || has("Cache-Tag"),
            has("Cache-Group-Invalidation"),
            has("X-Purge-Prefix"),
            has("X-Purge-Regex"),
        ];
        let by = match asked {
            [false, false, false, false] => By::Url,
            [true, false, false, false] => by_tags(fields)?,
            [false, true, false, false] => by_groups(fields)?,
            [false, false, true, false] => by_prefix(target, fields, everywhere)?,
            [false, false, false, true] => by_pattern(fields)?,
            _ => return Err(BadPurge::Several),
        };
        Ok(Self { by, soft })
    }
}

fn by_tags(fields: &Fields) -> Result<By, BadPurge> {
    let tags: Vec<Box<[u8]>> = tags(fields).map(Into::into).collect();
    match tags.len() {
        0 => Err(BadPurge::Empty("Surrogate-Key or Cache-Tag")),
        1..=TAGS_MAX => Ok(By::Tags(tags)),
        _ => Err(BadPurge::TooMany),
    }
}

fn by_groups(fields: &Fields) -> Result<By, BadPurge> {
    let groups = invalidated_groups(fields);
    match groups.len() {
        0 => Err(BadPurge::Empty("Cache-Group-Invalidation")),
        1..=TAGS_MAX => Ok(By::Groups(groups)),
        _ => Err(BadPurge::TooMany),
    }
}

/// Made canonical as URLs are, because those are what it is compared with.
fn by_prefix(target: &Target, fields: &Fields, everywhere: bool) -> Result<By, BadPurge> {
    let said = fields.get_name(b"X-Purge-Prefix").unwrap_or_default();
    let here = origin(target);
    let url = match said {
        [] => return Err(BadPurge::Empty("X-Purge-Prefix")),
        [b'/', path @ ..] => [&here, path].concat(),
        url => url.to_vec(),
    };
    let mut prefix = Target::new();
    prefix
        .set_absolute(&url, UriWhitespace::Deny)
        .map_err(|_| BadPurge::Prefix)?;
    if !everywhere && !prefix.url().starts_with(&here) {
        return Err(BadPurge::Elsewhere);
    }
    Ok(By::Prefix(prefix.url().into()))
}

fn by_pattern(fields: &Fields) -> Result<By, BadPurge> {
    let text = fields.get_name(b"X-Purge-Regex").unwrap_or_default();
    let text = str::from_utf8(text).unwrap_or_default();
    if text.is_empty() {
        return Err(BadPurge::Empty("X-Purge-Regex"));
    }
    Ok(By::Pattern {
        text: text.to_owned(),
        regex: compile(text)?,
    })
}

/// A POSIX extended regular expression that URLs are compared with.
///
/// # Errors
/// It can't be used.
pub fn compile(text: &str) -> Result<Regex, BadPurge> {
    let translated = ere::translate(text).map_err(BadPurge::Pattern)?;
    RegexBuilder::new(&translated.regex)
        .unicode(false)
        .dot_matches_new_line(true)
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|_| BadPurge::Pattern(ere::BadEre::TooBig))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fields;

    fn purge(lines: &[(&str, &str)], everywhere: bool) -> Result<Purge, BadPurge> {
        let mut target = Target::new();
        target
            .set_absolute(b"http://example.com/page", UriWhitespace::Deny)
            .unwrap();
        Purge::of(&target, &fields(lines), everywhere)
    }

    fn prefix(said: &str, everywhere: bool) -> Result<String, BadPurge> {
        match purge(&[("X-Purge-Prefix", said)], everywhere)?.by {
            By::Prefix(prefix) => Ok(String::from_utf8(prefix.into()).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_fields_it_is_the_url_alone() {
        let purge = purge(&[("Accept", "x")], false).unwrap();
        assert!(matches!(purge.by, By::Url) && !purge.soft);
    }

    #[test]
    fn softness_is_a_field_of_its_own() {
        for (name, value, expected) in [
            ("X-Purge-Soft", "1", true),
            ("fastly-soft-purge", "1", true),
            ("X-Purge-Soft", "0", false),
        ] {
            assert_eq!(purge(&[(name, value)], false).unwrap().soft, expected);
        }
    }

    #[test]
    fn tags_of_both_fields_are_one_question() {
        let lines = [("Surrogate-Key", "a b"), ("Cache-Tag", "c")];
        let By::Tags(tags) = purge(&lines, false).unwrap().by else {
            panic!("not by tags");
        };
        assert_eq!(tags.concat(), b"abc");
    }

    #[test]
    fn groups_are_named_as_an_origin_names_them() {
        let lines = [("Cache-Group-Invalidation", "\"a\", \"b\"")];
        let By::Groups(groups) = purge(&lines, false).unwrap().by else {
            panic!("not by groups");
        };
        assert_eq!(groups, ["a", "b"]);
    }

    #[test]
    fn a_prefix_is_canonical_and_of_its_origin() {
        assert_eq!(prefix("/a/", false).unwrap(), "http://example.com/a/");
        let spelled = prefix("HTTP://Example.com:80/a", false).unwrap();
        assert_eq!(spelled, "http://example.com/a");
        let host = prefix("http://example.com", false).unwrap();
        assert_eq!(host, "http://example.com/");
        for other in [
            "http://example.com.evil.org/",
            "https://example.com/",
            "http://example.com:8080/a",
        ] {
            assert_eq!(prefix(other, false), Err(BadPurge::Elsewhere), "{other}");
            assert_eq!(prefix(other, true).unwrap(), other);
        }
        assert_eq!(prefix("a/b", false), Err(BadPurge::Prefix));
    }

    #[test]
    fn patterns_are_those_of_squid() {
        let By::Pattern { regex, .. } = purge(&[("X-Purge-Regex", r"/img/[^/]+\.png$")], false)
            .unwrap()
            .by
        else {
            panic!("not by pattern");
        };
        assert!(regex.is_match(b"http://example.com/img/a.png"));
        assert!(!regex.is_match(b"http://example.com/img/a/b.png"));
        assert!(matches!(
            purge(&[("X-Purge-Regex", "(")], false),
            Err(BadPurge::Pattern(_))
        ));
        assert!(matches!(
            purge(&[("X-Purge-Regex", "((a{250}){250}){250}")], false),
            Err(BadPurge::Pattern(_))
        ));
    }

    #[test]
    fn what_says_nothing_or_too_much_is_refused() {
        for (lines, expected) in [
            (
                &[("Surrogate-Key", " ")][..],
                BadPurge::Empty("Surrogate-Key or Cache-Tag"),
            ),
            (
                &[("Cache-Group-Invalidation", "a")],
                BadPurge::Empty("Cache-Group-Invalidation"),
            ),
            (&[("X-Purge-Regex", "")], BadPurge::Empty("X-Purge-Regex")),
            (
                &[("Surrogate-Key", "a"), ("X-Purge-Prefix", "/")],
                BadPurge::Several,
            ),
        ] {
            assert_eq!(purge(lines, false).map(drop), Err(expected), "{lines:?}");
        }
        let many = "a ".repeat(TAGS_MAX + 1);
        assert_eq!(
            purge(&[("Surrogate-Key", &many)], false).map(drop),
            Err(BadPurge::TooMany)
        );
    }
}
