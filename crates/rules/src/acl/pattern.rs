//! Sets of regular expressions (`url_regex`, `browser`, …). Plain texts share one Aho-Corasick automaton. Patterns
//! that any match of which must contain some text lie in groups behind a second automaton, which names the groups
//! worth a look; the rest are regex sets that are always run. The answer is only *whether* one matches.

use aho_corasick::AhoCorasick;
use regex::bytes::{RegexSet, RegexSetBuilder};
use smallvec::SmallVec;

use super::ere::{self, BadEre, Translated};

/// A pattern as written, with the case flag in force at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// POSIX extended regular expression.
    pub text: String,
    /// `-i` was given.
    pub ignore_case: bool,
}

/// A pattern that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: '{text}'")]
pub struct BadPattern {
    /// Its place in the list.
    pub index: usize,
    /// The pattern.
    pub text: String,
    /// What is wrong with it.
    pub reason: BadEre,
}

/// Patterns of one regex set: small enough that its automaton stays in its cache.
const GROUP_LENGTH: usize = 32;
/// Compiled size of one set, in bytes.
const SET_BYTES_MAX: usize = 64 << 20;

/// A compiled set.
#[derive(Debug, Default)]
pub struct PatternSet {
    plain: Option<AhoCorasick>,
    plain_ignoring_case: Option<AhoCorasick>,
    /// Texts that matches must contain; `group_of` tells the group of each.
    guard: Option<AhoCorasick>,
    group_of: Box<[u32]>,
    guarded: Box<[RegexSet]>,
    unguarded: Box<[RegexSet]>,
    count: usize,
}

impl PatternSet {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// The first pattern that can't be used.
    pub fn build(patterns: &[Pattern]) -> Result<Self, BadPattern> {
        let bad = |index: usize, reason| BadPattern {
            index,
            text: patterns
                .get(index)
                .map(|pattern| pattern.text.clone())
                .unwrap_or_default(),
            reason,
        };
        let mut parts = Parts::default();
        for (index, pattern) in patterns.iter().enumerate() {
            let translated = ere::translate(&pattern.text).map_err(|reason| bad(index, reason))?;
            parts.sort_in(index, pattern.ignore_case, translated);
        }
        let sets = |members: &[Member]| -> Result<Box<[RegexSet]>, BadPattern> {
            members
                .chunks(GROUP_LENGTH)
                .map(|group| regex_set(group).map_err(|index| bad(index, BadEre::TooBig)))
                .collect()
        };
        let mut required: Vec<&[u8]> = Vec::new();
        let mut group_of = Vec::new();
        for (place, member) in parts.guarded.iter().enumerate() {
            let group = u32::try_from(place / GROUP_LENGTH)
                .map_err(|_| bad(member.index, BadEre::TooBig))?;
            for text in &member.required {
                required.push(text);
                group_of.push(group);
            }
        }
        Ok(Self {
            plain: automaton(&parts.plain, false).map_err(|()| bad(0, BadEre::TooBig))?,
            plain_ignoring_case: automaton(&parts.plain_ignoring_case, true)
                .map_err(|()| bad(0, BadEre::TooBig))?,
            guard: automaton(&required, true).map_err(|()| bad(0, BadEre::TooBig))?,
            group_of: group_of.into(),
            guarded: sets(&parts.guarded)?,
            unguarded: sets(&parts.unguarded)?,
            count: patterns.len(),
        })
    }

    /// Does any pattern match?
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.plain
            .as_ref()
            .is_some_and(|plain| plain.is_match(text))
            || self
                .plain_ignoring_case
                .as_ref()
                .is_some_and(|plain| plain.is_match(text))
            || self.guarded_match(text)
            || self.unguarded.iter().any(|set| set.is_match(text))
    }

    fn guarded_match(&self, text: &[u8]) -> bool {
        let Some(guard) = &self.guard else {
            return false;
        };
        let mut tried: SmallVec<[u32; 8]> = SmallVec::new();
        for found in guard.find_overlapping_iter(text) {
            let Some(&group) = self.group_of.get(found.pattern().as_usize()) else {
                continue;
            };
            if tried.contains(&group) {
                continue;
            }
            tried.push(group);
            if self
                .guarded
                .get(group as usize)
                .is_some_and(|set| set.is_match(text))
            {
                return true;
            }
        }
        false
    }

    /// Number of patterns.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Is there no pattern?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Patterns sorted by how they are searched.
#[derive(Default)]
struct Parts {
    plain: Vec<Vec<u8>>,
    plain_ignoring_case: Vec<Vec<u8>>,
    guarded: Vec<Member>,
    unguarded: Vec<Member>,
}

struct Member {
    index: usize,
    regex: String,
    required: Vec<Vec<u8>>,
}

impl Parts {
    fn sort_in(&mut self, index: usize, ignore_case: bool, translated: Translated) {
        match translated.plain {
            Some(text) if ignore_case => self.plain_ignoring_case.push(text),
            Some(text) => self.plain.push(text),
            None => {
                let regex = if ignore_case {
                    format!("(?i:{})", translated.regex)
                } else {
                    translated.regex
                };
                let member = Member {
                    index,
                    regex,
                    required: translated.required,
                };
                if member.required.is_empty() {
                    self.unguarded.push(member)
                } else {
                    self.guarded.push(member)
                }
            }
        }
    }
}

fn automaton(texts: &[impl AsRef<[u8]>], ignore_case: bool) -> Result<Option<AhoCorasick>, ()> {
    if texts.is_empty() {
        return Ok(None);
    }
    AhoCorasick::builder()
        .ascii_case_insensitive(ignore_case)
        .build(texts)
        .map(Some)
        .map_err(|_| ())
}

/// Compiles a group; on failure tells the member that is too big by itself, or the first.
fn regex_set(members: &[Member]) -> Result<RegexSet, usize> {
    let build = |members: &[Member]| {
        RegexSetBuilder::new(members.iter().map(|member| &member.regex))
            .unicode(false)
            .dot_matches_new_line(true)
            .size_limit(SET_BYTES_MAX)
            .build()
    };
    build(members).map_err(|_| {
        let culprit = members
            .iter()
            .find(|member| build(std::slice::from_ref(member)).is_err());
        culprit.or(members.first()).map_or(0, |member| member.index)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(patterns: &[(&str, bool)]) -> PatternSet {
        let patterns: Vec<_> = patterns
            .iter()
            .map(|&(text, ignore_case)| Pattern {
                text: text.into(),
                ignore_case,
            })
            .collect();
        PatternSet::build(&patterns).unwrap()
    }

    #[test]
    fn case_is_heeded_per_pattern() {
        let set = set(&[
            ("Alpha", false),
            ("Beta", true),
            ("^Gamma[0-9]", true),
            ("^Delta[0-9]", false),
        ]);
        for (text, expected) in [
            ("xAlpha", true),
            ("xalpha", false),
            ("xBETA", true),
            ("gAMMA7", true),
            ("delta7", false),
            ("Delta7", true),
            ("", false),
        ] {
            assert_eq!(set.is_match(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn the_pattern_of_the_manager_acl_matches_both_ways_to_ask() {
        let set = set(&[
            ("^cache_object://", true),
            ("^https?://[^/]+/squid-internal-mgr/", false),
        ]);
        assert!(set.is_match(b"cache_object://localhost/info"));
        assert!(set.is_match(b"http://localhost:3128/squid-internal-mgr/info"));
        assert!(!set.is_match(b"http://example.com/index.html"));
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let patterns = ["ok", "*bad"].map(|text| Pattern {
            text: text.into(),
            ignore_case: false,
        });
        let bad = PatternSet::build(&patterns).unwrap_err();
        assert_eq!((bad.index, bad.reason), (1, BadEre::Repetition));
        assert_eq!(
            bad.to_string(),
            "Invalid preceding regular expression: '*bad'"
        );
        let huge = [Pattern {
            text: "((a{30000}){30000}){30000}".into(),
            ignore_case: false,
        }];
        assert_eq!(PatternSet::build(&huge).unwrap_err().reason, BadEre::TooBig);
    }

    proptest! {
        #[test]
        fn the_set_agrees_with_its_patterns_one_by_one(
            patterns in prop::collection::vec(("\\^?[ab]{1,4}(\\.|\\[ab\\]|[ab]\\*)?[ab]{0,4}\\$?", any::<bool>()), 1..50),
            text in "[abAB]{0,20}",
        ) {
            let patterns: Vec<_> =
                patterns.into_iter().map(|(text, ignore_case)| Pattern { text, ignore_case }).collect();
            let set = PatternSet::build(&patterns).unwrap();
            let naive = patterns.iter().any(|pattern| {
                let regex = ere::translate(&pattern.text).unwrap().regex;
                let mut builder = regex::bytes::RegexBuilder::new(&regex);
                builder.unicode(false).case_insensitive(pattern.ignore_case).build().unwrap().is_match(text.as_bytes())
            });
            prop_assert_eq!(set.is_match(text.as_bytes()), naive);
        }
    }
}
