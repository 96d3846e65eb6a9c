//! Sets of regular expressions (`url_regex`, `browser`, …). Patterns that stand for plain texts are searched for all at
//! once. Of the others, those of which any match must contain some text lie in groups behind that text, which is
//! searched for too; the rest are regex sets that are always run. The answer is only *whether* one matches.

use regex::bytes::{RegexSet, RegexSetBuilder};
use smallvec::SmallVec;

use super::ere::{self, BadEre};
use super::literal::{self, Literal};
use super::words::{self, Meaning, Search, Words};

/// Why a pattern is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPattern {
    /// It is no regular expression, or one that we can't do.
    Ere(BadEre),
    /// There are [`PROPER_MAX`] proper ones already, or [`UNGUARDED_MAX`] that must always be run.
    TooMany,
}

/// The patterns need more memory than [`BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooBig {
    /// The first pattern that doesn't fit, by the number it was added with.
    pub number: usize,
}

/// Patterns of one set that are not plain texts: 20,000 take 1 s to load, and 110 MB.
pub const PROPER_MAX: usize = 20_000;
/// Those of them without a text that each match must contain. They are run for each text searched: 1,000 take 9
/// microseconds for a URL of 100 bytes, 5,000 take 140, 20,000 would take 7 milliseconds.
pub const UNGUARDED_MAX: usize = 5_000;
/// Compiled size of all patterns of one set that are not plain texts, in bytes.
pub const BYTES_MAX: usize = 256 << 20;
/// Patterns of one group: few enough that its automaton stays in its cache.
const GROUP_LENGTH: usize = 32;
/// A group is tried with this size first, then with four times as much, and so on: the engine doesn't say what it took.
const GROUP_BYTES_MIN: usize = 256 << 10;
/// Bytes of a text that matches must contain; more of it says no more.
const REQUIRED_BYTES_MAX: usize = 64;

/// Patterns to be compiled.
#[derive(Debug, Default)]
pub struct Patterns {
    words: Words,
    guarded: Vec<Member>,
    unguarded: Vec<Member>,
    count: usize,
    /// Patterns that are not plain texts, those beyond the limit too.
    proper: usize,
}

#[derive(Debug)]
struct Member {
    number: usize,
    regex: String,
    required: Vec<Vec<u8>>,
}

impl Patterns {
    /// Adds a POSIX extended regular expression; `number` comes back in errors. Gives the letter of an escape that POSIX
    /// takes for the bare letter.
    ///
    /// # Errors
    /// It can't be used, and is left out.
    pub fn add(
        &mut self,
        number: usize,
        text: &str,
        ignore_case: bool,
    ) -> Result<Option<char>, BadPattern> {
        if let Some(literals) = literal::literals(text.as_bytes()) {
            for literal in &literals {
                let added = self.words.add(literal, ignore_case, Meaning::Match);
                added.map_err(|_| BadPattern::TooMany)?;
            }
            self.count += 1;
            return Ok(None);
        }
        let translated = ere::translate(text).map_err(BadPattern::Ere)?;
        self.proper += 1;
        let unguarded = translated.required.is_empty();
        if self.proper > PROPER_MAX || unguarded && self.unguarded.len() == UNGUARDED_MAX {
            return Err(BadPattern::TooMany);
        }
        self.count += 1;
        let member = Member {
            number,
            regex: match ignore_case {
                true => format!("(?i:{})", translated.regex),
                false => translated.regex,
            },
            required: translated.required,
        };
        let group = if unguarded {
            &mut self.unguarded
        } else {
            &mut self.guarded
        };
        group.push(member);
        Ok(translated.letter_escape)
    }

    /// Patterns given so far that are not plain texts, with those that were too many.
    pub fn proper(&self) -> usize {
        self.proper
    }

    /// Compiles the patterns.
    ///
    /// # Errors
    /// They are too big together.
    pub fn compile(self) -> Result<PatternSet, TooBig> {
        self.compile_with(words::AUTOMATON_WORDS_MAX)
    }

    fn compile_with(mut self, automaton_words_max: usize) -> Result<PatternSet, TooBig> {
        // Patterns behind the same text come into the same groups.
        self.guarded
            .sort_by(|one, other| one.required.cmp(&other.required));
        let mut guards = Vec::new();
        for (group, members) in (0..).zip(self.guarded.chunks(GROUP_LENGTH)) {
            let texts = members.iter().flat_map(|member| &member.required);
            let texts = texts.map(|text| {
                text.get(..REQUIRED_BYTES_MAX)
                    .unwrap_or(text)
                    .to_ascii_lowercase()
            });
            let mut texts: Vec<Vec<u8>> = texts.collect();
            texts.sort_unstable();
            texts.dedup();
            guards.extend(texts.into_iter().map(|text| (text, group)));
        }
        for (text, group) in guards {
            let literal = Literal {
                text,
                ..Literal::default()
            };
            self.words
                .add(&literal, true, Meaning::Group(group))
                .map_err(|_| TooBig { number: 0 })?;
        }
        let mut bytes_left = BYTES_MAX;
        let mut sets = |members: &[Member]| -> Result<Box<[RegexSet]>, TooBig> {
            members
                .chunks(GROUP_LENGTH)
                .map(|group| regex_set(group, &mut bytes_left))
                .collect()
        };
        Ok(PatternSet {
            guarded: sets(&self.guarded)?,
            unguarded: sets(&self.unguarded)?,
            search: self
                .words
                .compile(automaton_words_max)
                .map_err(|_| TooBig { number: 0 })?,
            count: self.count,
        })
    }
}

/// Compiles a group and takes its size off what is left; on failure tells the member that is too big by itself, or the
/// first.
fn regex_set(members: &[Member], bytes_left: &mut usize) -> Result<RegexSet, TooBig> {
    let build = |members: &[Member], bytes_max: usize| {
        RegexSetBuilder::new(members.iter().map(|member| &member.regex))
            .unicode(false)
            .dot_matches_new_line(true)
            .size_limit(bytes_max)
            .build()
    };
    let mut bytes = GROUP_BYTES_MIN;
    while bytes <= *bytes_left {
        if let Ok(set) = build(members, bytes) {
            *bytes_left -= bytes;
            return Ok(set);
        }
        bytes *= 4;
    }
    let culprit = members
        .iter()
        .find(|member| build(std::slice::from_ref(member), *bytes_left).is_err());
    let number = culprit
        .or(members.first())
        .map_or(0, |member| member.number);
    Err(TooBig { number })
}

/// A compiled set.
#[derive(Debug, Default)]
pub struct PatternSet {
    search: Search,
    guarded: Box<[RegexSet]>,
    unguarded: Box<[RegexSet]>,
    count: usize,
}

impl PatternSet {
    /// Does any pattern match?
    pub fn is_match(&self, text: &[u8]) -> bool {
        // A bit for each group: a word may be found many times, and groups may share words.
        let mut tried: SmallVec<[u64; 8]> = SmallVec::from_elem(0, self.guarded.len().div_ceil(64));
        let group_matches = |group: u32| {
            let group = group as usize;
            let Some(bits) = tried.get_mut(group / 64) else {
                return false;
            };
            let bit = 1 << (group % 64);
            let first = *bits & bit == 0;
            *bits |= bit;
            first
                && self
                    .guarded
                    .get(group)
                    .is_some_and(|set| set.is_match(text))
        };
        self.search.any(text, group_matches) || self.unguarded.iter().any(|set| set.is_match(text))
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(patterns: &[(&str, bool)]) -> PatternSet {
        let mut all = Patterns::default();
        for (number, &(text, ignore_case)) in patterns.iter().enumerate() {
            all.add(number, text, ignore_case).unwrap();
        }
        all.compile().unwrap()
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
    fn a_bad_pattern_is_left_out() {
        let mut patterns = Patterns::default();
        patterns.add(0, "ok", false).unwrap();
        assert_eq!(
            patterns.add(1, "*bad", false),
            Err(BadPattern::Ere(BadEre::Repetition))
        );
        assert_eq!(patterns.compile().unwrap().len(), 1);
    }

    #[test]
    fn what_takes_too_much_memory_is_refused() {
        let mut patterns = Patterns::default();
        patterns.add(0, "x[0-9]", false).unwrap();
        patterns
            .add(7, "((a{30000}){30000}){30000}", false)
            .unwrap();
        assert_eq!(patterns.compile().unwrap_err(), TooBig { number: 7 });
        let mut patterns = Patterns::default();
        for _ in 0..=PROPER_MAX {
            patterns.add(0, "xyz[0-9]", false).ok();
        }
        assert_eq!(patterns.add(0, "xyz[0-9]", false), Err(BadPattern::TooMany));
        assert_eq!(patterns.proper(), PROPER_MAX + 2);
        let mut patterns = Patterns::default();
        for _ in 0..UNGUARDED_MAX {
            patterns.add(0, "x[0-9]", false).unwrap();
        }
        assert_eq!(patterns.add(0, "x[0-9]", false), Err(BadPattern::TooMany));
        assert_eq!(patterns.add(0, "xyz[0-9]", false), Ok(None));
    }

    /// By the automaton, and by windows of 8 and 4 bytes with what is too short for them in an automaton.
    #[test]
    fn words_are_found_either_way() {
        let mut patterns: Vec<(String, bool)> = (0..3000)
            .map(|n| (format!("^http://host{n}[.]example/"), true))
            .collect();
        let own = [
            ("Ab", false),
            ("cdE", true),
            ("Fghi", false),
            ("jklMnop", true),
            ("Qrstuvwxyz", false),
            ("0123456789$", false),
            ("longer[0-9]+words", true),
        ];
        patterns.extend(own.map(|(text, ignore_case)| (text.to_owned(), ignore_case)));
        for automaton_words_max in [0, usize::MAX] {
            let mut all = Patterns::default();
            for (text, ignore_case) in &patterns {
                all.add(0, text, *ignore_case).unwrap();
            }
            let set = all.compile_with(automaton_words_max).unwrap();
            for (text, expected) in [
                ("http://host2999.example/", true),
                ("HTTP://HOST0.example/x", true),
                ("xhttp://host0.example/x", false),
                ("http://host3000.example/", false),
                (" Ab", true),
                ("ab", false),
                ("CDE", true),
                ("xFghi", true),
                ("fghi", false),
                ("xJKLMNOPx", true),
                ("Qrstuvwxyz", true),
                ("qrstuvwxyz", false),
                ("x0123456789", true),
                ("0123456789x", false),
                ("xLONGER12WORDS", true),
                ("longerwords", false),
                ("", false),
            ] {
                assert_eq!(set.is_match(text.as_bytes()), expected, "{text}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_set_agrees_with_its_patterns_one_by_one(
            patterns in prop::collection::vec(
                ("(\\^|\\(\\^\\|b\\)|\\.\\*)?[abAB]{1,4}(\\.|\\[ab\\]|[ab]\\*|[ab]\\?|\\(a\\|bb\\)\\??|\\|)?[abAB]{0,6}(\\$|\\.\\*)?", any::<bool>()),
                1..50,
            ),
            text in "[abAB]{0,20}",
            automaton_words_max in prop::sample::select(vec![0, 1000]),
        ) {
            let mut all = Patterns::default();
            for (pattern, ignore_case) in &patterns {
                all.add(0, pattern, *ignore_case).unwrap();
            }
            let set = all.compile_with(automaton_words_max).unwrap();
            let naive = patterns.iter().any(|(pattern, ignore_case)| {
                let regex = ere::translate(pattern).unwrap().regex;
                let mut builder = regex::bytes::RegexBuilder::new(&regex);
                builder.unicode(false).case_insensitive(*ignore_case).build().unwrap().is_match(text.as_bytes())
            });
            prop_assert_eq!(set.is_match(text.as_bytes()), naive, "{:?}", patterns);
        }
    }
}
