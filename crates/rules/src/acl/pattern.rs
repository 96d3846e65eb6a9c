//! Sets of regular expressions (`url_regex`, `browser`, `refresh_pattern`, …). Patterns that stand for plain texts are
//! searched for all at once. Of the others, those of which any match must contain some text lie in groups behind that
//! text, which is searched for too; the rest are regex sets that are always run. The answer is *whether* one matches,
//! or which is the first that does.

use std::sync::OnceLock;

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
    pub number: u32,
}

/// Patterns of one set that are not plain texts: once all are in use, 20,000 take 110 MB.
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
/// Longest pattern that is compiled when its text is first found. Without intervals, what such patterns take grows with
/// their length only, so a group is small and quick to make: [`SMALL_GROUP_BYTES_MAX`].
const SMALL_PATTERN_BYTES_MAX: usize = 256;
/// Compiled size of a group of small patterns.
const SMALL_GROUP_BYTES_MAX: usize = 16 << 20;

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
    number: u32,
    regex: String,
    required: Vec<Vec<u8>>,
    is_small: bool,
}

impl Patterns {
    /// Adds a POSIX extended regular expression; `number`, higher than those before, comes back in answers and errors.
    /// Gives the letter of an escape that POSIX takes for the bare letter.
    ///
    /// # Errors
    /// It can't be used, and is left out.
    pub fn add(
        &mut self,
        number: u32,
        text: &str,
        ignore_case: bool,
    ) -> Result<Option<char>, BadPattern> {
        if let Some(literals) = literal::literals(text.as_bytes()) {
            for literal in &literals {
                let meaning = Meaning::Match(number);
                let added = self.words.add(literal, ignore_case, meaning);
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
            is_small: text.len() <= SMALL_PATTERN_BYTES_MAX && !text.contains('{'),
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
        self.guarded.sort_by(|one, other| {
            (one.is_small, &one.required).cmp(&(other.is_small, &other.required))
        });
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
        let mut groups = |members: Vec<Member>, lazy: bool| -> Result<Box<[Group]>, TooBig> {
            let groups = members.chunks(GROUP_LENGTH);
            groups
                .map(|members| Group::new(members, lazy, &mut bytes_left))
                .collect()
        };
        Ok(PatternSet {
            guarded: groups(self.guarded, true)?,
            unguarded: groups(self.unguarded, false)?,
            search: self
                .words
                .compile(automaton_words_max)
                .map_err(|_| TooBig { number: 0 })?,
            count: self.count,
        })
    }
}

/// Patterns that are run together.
#[derive(Debug)]
struct Group {
    /// Number of each pattern.
    numbers: Box<[u32]>,
    lowest: u32,
    /// The patterns of a group that is compiled when it is first run; a block list has many that never are.
    sources: Box<[Box<str>]>,
    set: OnceLock<RegexSet>,
}

impl Group {
    fn new(members: &[Member], lazy: bool, bytes_left: &mut usize) -> Result<Self, TooBig> {
        let numbers = members.iter().map(|member| member.number);
        let lazy = lazy && members.iter().all(|member| member.is_small);
        let sources = members.iter().filter(|_| lazy);
        let set = OnceLock::new();
        if !lazy {
            set.set(regex_set(members, bytes_left)?).ok();
        }
        Ok(Self {
            lowest: numbers.clone().min().unwrap_or(u32::MAX),
            numbers: numbers.collect(),
            sources: sources.map(|member| (*member.regex).into()).collect(),
            set,
        })
    }

    fn set(&self) -> &RegexSet {
        // What is small compiles: the test of the worst patterns shows it.
        let compile = || build(&self.sources, SMALL_GROUP_BYTES_MAX).unwrap_or_default();
        self.set.get_or_init(compile)
    }

    /// The lowest number of those that match.
    fn first(&self, text: &[u8]) -> Option<u32> {
        let matches = self.set().matches(text);
        let numbers = matches.iter().filter_map(|index| self.numbers.get(index));
        numbers.min().copied()
    }
}

/// Compiles a group and takes its size off what is left; on failure tells the member that is too big by itself, or the
/// first.
fn regex_set(members: &[Member], bytes_left: &mut usize) -> Result<RegexSet, TooBig> {
    let regexes: Vec<&str> = members.iter().map(|member| &*member.regex).collect();
    let mut bytes = GROUP_BYTES_MIN;
    while bytes <= *bytes_left {
        if let Ok(set) = build(&regexes, bytes) {
            *bytes_left -= bytes;
            return Ok(set);
        }
        bytes *= 4;
    }
    let culprit = members
        .iter()
        .find(|member| build(&[&*member.regex], *bytes_left).is_err());
    let number = culprit
        .or(members.first())
        .map_or(0, |member| member.number);
    Err(TooBig { number })
}

fn build(regexes: &[impl AsRef<str>], bytes_max: usize) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(regexes)
        .unicode(false)
        .dot_matches_new_line(true)
        .size_limit(bytes_max)
        .build()
}

/// A compiled set.
#[derive(Debug, Default)]
pub struct PatternSet {
    search: Search,
    guarded: Box<[Group]>,
    unguarded: Box<[Group]>,
    count: usize,
}

impl PatternSet {
    /// Does any pattern match?
    pub fn is_match(&self, text: &[u8]) -> bool {
        let mut tried = self.no_groups();
        let is_enough = |meaning| match meaning {
            Meaning::Match(_) => true,
            Meaning::Group(group) => {
                let group = tried
                    .insert(group)
                    .then(|| self.guarded.get(group as usize));
                let group = group.flatten();
                group.is_some_and(|group| group.set().is_match(text))
            }
        };
        self.search.any(text, is_enough)
            || self
                .unguarded
                .iter()
                .any(|group| group.set().is_match(text))
    }

    /// The number of the first pattern that matches.
    pub fn first(&self, text: &[u8]) -> Option<u32> {
        let mut first: Option<u32> = None;
        let (mut seen, mut groups) = (self.no_groups(), SmallVec::<[&Group; 8]>::new());
        self.search.any(text, |meaning| {
            match meaning {
                Meaning::Match(number) => first = Some(first.map_or(number, |f| f.min(number))),
                Meaning::Group(group) if seen.insert(group) => {
                    groups.extend(self.guarded.get(group as usize));
                }
                Meaning::Group(_) => {}
            }
            false
        });
        for group in groups.into_iter().chain(&self.unguarded) {
            if first.is_none_or(|first| group.lowest < first) {
                first = first.into_iter().chain(group.first(text)).min();
            }
        }
        first
    }

    fn no_groups(&self) -> GroupBits {
        GroupBits(SmallVec::from_elem(0, self.guarded.len().div_ceil(64)))
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

/// A bit for each group: a word may be found many times, and groups may share words.
struct GroupBits(SmallVec<[u64; 8]>);

impl GroupBits {
    /// Puts a group in; false when it was there.
    fn insert(&mut self, group: u32) -> bool {
        let Some(bits) = self.0.get_mut(group as usize / 64) else {
            return false;
        };
        let bit = 1 << (group % 64);
        let first = *bits & bit == 0;
        *bits |= bit;
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(patterns: &[(&str, bool)]) -> PatternSet {
        let mut all = Patterns::default();
        for (number, &(text, ignore_case)) in (0..).zip(patterns) {
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

    /// What is compiled late must not fail then. Each piece is repeated up to the longest small pattern.
    #[test]
    fn a_group_of_the_worst_small_patterns_compiles() {
        for piece in [
            "x",
            ".",
            "[^a]",
            "(a|b)*",
            "((",
            "\\w",
            "\\b",
            "[[:alpha:]-]?",
            "a|",
            "(^a|b$)+",
            "é*",
        ] {
            let mut text = piece.repeat((SMALL_PATTERN_BYTES_MAX - 4) / piece.len());
            text.push_str(&")".repeat(text.matches("((").count() * 2 * usize::from(piece == "((")));
            text.truncate(SMALL_PATTERN_BYTES_MAX);
            let Ok(translated) = ere::translate(&text) else {
                continue;
            };
            let regex = format!("(?i:{})", translated.regex);
            build(&vec![regex; GROUP_LENGTH], SMALL_GROUP_BYTES_MAX).unwrap();
        }
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
            for (number, (pattern, ignore_case)) in (0..).zip(&patterns) {
                all.add(number, pattern, *ignore_case).unwrap();
            }
            let set = all.compile_with(automaton_words_max).unwrap();
            let naive = patterns.iter().position(|(pattern, ignore_case)| {
                let regex = ere::translate(pattern).unwrap().regex;
                let mut builder = regex::bytes::RegexBuilder::new(&regex);
                builder.unicode(false).case_insensitive(*ignore_case).build().unwrap().is_match(text.as_bytes())
            });
            prop_assert_eq!(set.is_match(text.as_bytes()), naive.is_some(), "{:?}", patterns);
            prop_assert_eq!(set.first(text.as_bytes()).map(|n| n as usize), naive, "{:?}", patterns);
        }
    }
}
