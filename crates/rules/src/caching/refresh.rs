//! `refresh_pattern`: how long a response is fresh when it doesn't say so itself (RFC 9111 §4.2.2), and the options
//! that bend what it says. The first pattern that matches the URL applies.

use std::num::NonZeroU32;

use config::{Problem, RefreshOptions, RefreshPattern, Severity};

use super::{CachingRules, secs};
use crate::acl::ere;
use crate::acl::findings::problem;
use crate::acl::pattern::{BadPattern, PatternSet, Patterns};

/// One rule. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshRule {
    /// Which `refresh_pattern` line it is, from 1 on; `None` for the one that is built in.
    pub number: Option<NonZeroU32>,
    /// Fresh for this long when nothing else says.
    pub min_secs: i64,
    /// Share of (Date − Last-Modified), in percent.
    pub percent: i64,
    /// Stale after this long, unless the response says otherwise.
    pub max_secs: i64,
    /// In place of `max_stale`.
    pub max_stale_secs: Option<i64>,
    /// May be used for so long while it is validated, unless the response says how long.
    pub while_revalidate_secs: i64,
    /// In place of `negative_ttl`.
    pub negative_ttl_secs: Option<i64>,
    /// The options that are on or off.
    pub options: RefreshOptions,
}

impl Default for RefreshRule {
    /// What holds where no line matches: `. 0 20% 4320`.
    fn default() -> Self {
        Self {
            number: None,
            min_secs: 0,
            percent: 20,
            max_secs: 4320 * 60,
            max_stale_secs: None,
            while_revalidate_secs: 0,
            negative_ttl_secs: None,
            options: RefreshOptions::default(),
        }
    }
}

impl RefreshRule {
    fn new(number: usize, line: &RefreshPattern) -> Self {
        let number = u32::try_from(number + 1).ok();
        Self {
            number: number.and_then(NonZeroU32::new),
            min_secs: secs(line.min),
            percent: i64::from(line.percent),
            max_secs: secs(line.max),
            max_stale_secs: line.options.max_stale.map(secs),
            while_revalidate_secs: line.options.stale_while_revalidate.map_or(0, secs),
            negative_ttl_secs: line.options.negative_ttl.map(secs),
            options: line.options.clone(),
        }
    }

    /// For how long a stale response may be used: by this line, or else by `max_stale`.
    pub(super) fn max_stale_secs(&self, rules: &CachingRules) -> i64 {
        self.max_stale_secs.unwrap_or(rules.max_stale_secs)
    }

    /// Heuristic lifetime of a response whose Last-Modified lies this long before its Date.
    pub fn heuristic_secs(&self, unmodified_secs: Option<i64>) -> i64 {
        // Squid calls it stale when the age is *above* the maximum, and fresh when it is *below* the others.
        let most = self.max_secs.saturating_add(1);
        match unmodified_secs.filter(|unmodified| *unmodified > 0) {
            Some(unmodified) => (unmodified.saturating_mul(self.percent) / 100).min(most),
            None => self.min_secs.min(most),
        }
    }
}

/// All lines.
#[derive(Debug, Default)]
pub struct RefreshPatterns {
    patterns: PatternSet,
    /// By the numbers of the patterns.
    rules: Box<[RefreshRule]>,
    /// Where no pattern matches.
    otherwise: RefreshRule,
}

impl RefreshPatterns {
    /// Compiles the lines. One whose pattern is bad is a problem.
    pub fn compile(lines: &[RefreshPattern], problems: &mut Vec<Problem>) -> Self {
        let mut patterns = Patterns::default();
        // Lines behind one that always matches are only checked.
        let reached = lines.iter().position(|line| matches_all(&line.pattern));
        let reached = reached.unwrap_or(lines.len());
        for (line, number) in lines.iter().zip(0..) {
            let added = match number < reached {
                true => add(&mut patterns, number, line),
                false => ere::translate(&line.pattern).map(drop),
            };
            if let Err(bad) = added {
                problems.push(refused(line, &bad));
            }
        }
        let patterns = patterns.compile().unwrap_or_else(|bad| {
            let line = lines.get(bad.number as usize);
            problems.extend(line.map(|line| refused(line, &ere::BadEre::TooBig)));
            PatternSet::default()
        });
        let mut numbered = lines.iter().enumerate();
        let mut rules = numbered
            .by_ref()
            .map(|(at, line)| RefreshRule::new(at, line));
        let before = rules.by_ref().take(reached).collect();
        let otherwise = rules.next();
        Self {
            patterns,
            rules: before,
            otherwise: otherwise.unwrap_or_default(),
        }
    }

    /// The rule for a URL.
    pub fn find(&self, url: &[u8]) -> &RefreshRule {
        let first = self.patterns.first(url);
        first
            .and_then(|number| self.rules.get(number as usize))
            .unwrap_or(&self.otherwise)
    }
}

/// Does every URL match? None is empty.
fn matches_all(pattern: &str) -> bool {
    matches!(pattern, "." | ".*" | "^" | "^." | "^.*" | "^.*$")
}

fn add(patterns: &mut Patterns, number: usize, line: &RefreshPattern) -> Result<(), ere::BadEre> {
    let number = u32::try_from(number).map_err(|_| ere::BadEre::TooBig)?;
    match patterns.add(number, &line.pattern, line.ignore_case) {
        Ok(_) => Ok(()),
        Err(BadPattern::Ere(bad)) => Err(bad),
        Err(BadPattern::TooMany) => Err(ere::BadEre::TooBig),
    }
}

fn refused(line: &RefreshPattern, bad: &ere::BadEre) -> Problem {
    let message = format!("invalid regular expression: '{}': {bad}", line.pattern);
    let text = format!("refresh_pattern {}", line.pattern);
    problem(
        Severity::Fatal,
        "refresh_pattern",
        &line.place,
        message,
        text,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    fn line(pattern: &str, min: u64, percent: u32, max: u64) -> RefreshPattern {
        RefreshPattern {
            pattern: pattern.into(),
            ignore_case: false,
            min: Duration::from_secs(min * 60),
            percent,
            max: Duration::from_secs(max * 60),
            options: RefreshOptions::default(),
            place: config::Place {
                file: Arc::from("test"),
                line: 1,
            },
        }
    }

    #[test]
    fn the_first_line_that_matches_applies() {
        let lines = [
            line("^ftp:", 1440, 20, 10080),
            line(r"(/cgi-bin/|\?)", 0, 0, 0),
            RefreshPattern {
                ignore_case: true,
                ..line(r"\.JPG$", 5, 50, 100)
            },
            line(".", 0, 20, 4320),
        ];
        let patterns = RefreshPatterns::compile(&lines, &mut Vec::new());
        let max = |url: &str| patterns.find(url.as_bytes()).max_secs / 60;
        assert_eq!(max("ftp://example.com/?x"), 10080);
        assert_eq!(max("http://example.com/a.jpg?x"), 0);
        assert_eq!(max("http://example.com/a.jpg"), 100);
        assert_eq!(max("http://example.com/"), 4320);
    }

    #[test]
    fn without_a_matching_line_the_built_in_one_applies() {
        let patterns = RefreshPatterns::compile(&[line("^ftp:", 1, 1, 1)], &mut Vec::new());
        assert_eq!(
            patterns.find(b"http://example.com/"),
            &RefreshRule::default()
        );
        assert_eq!(
            RefreshPatterns::default().find(b"x"),
            &RefreshRule::default()
        );
    }

    #[test]
    fn the_heuristic_is_bounded_by_the_maximum() {
        let rule = RefreshRule {
            min_secs: 60,
            percent: 20,
            max_secs: 1000,
            ..RefreshRule::default()
        };
        assert_eq!(rule.heuristic_secs(Some(100)), 20);
        assert_eq!(rule.heuristic_secs(Some(1_000_000)), 1001);
        assert_eq!(rule.heuristic_secs(None), 60);
        assert_eq!(rule.heuristic_secs(Some(0)), 60);
        assert_eq!(rule.heuristic_secs(Some(-5)), 60);
    }

    #[test]
    fn a_pattern_that_is_too_big_is_a_problem() {
        let lines = [
            line("^ftp:", 1, 2, 3),
            line("(((a{255}){255}){255}){255}", 9, 9, 9),
            line(".", 4, 5, 6),
        ];
        let mut problems = Vec::new();
        RefreshPatterns::compile(&lines, &mut problems);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].text.contains("a{255}"));
    }

    /// Plain texts, expressions behind a text that they need, and bare ones, each before and behind the others.
    #[test]
    fn the_order_of_lines_holds_among_all_sorts_of_patterns() {
        let sorts = ["bcd", "bcd[e-f]", "[e-f]"];
        for (first, second) in (0..3).flat_map(|one| (0..3).map(move |other| (one, other))) {
            let lines = [
                line("xyz", 0, 1, 0),
                line(sorts[first], 0, 2, 0),
                line(sorts[second], 0, 3, 0),
            ];
            let patterns = RefreshPatterns::compile(&lines, &mut Vec::new());
            assert_eq!(
                patterns.find(b"http://abcdef/").percent,
                2,
                "{first} {second}"
            );
            assert_eq!(patterns.find(b"http://abcdef/xyz").percent, 1);
        }
    }

    #[test]
    fn lines_behind_one_that_always_matches_are_checked_only() {
        let lines = [
            line("^ftp:", 0, 1, 0),
            line(".", 0, 2, 0),
            line("a", 0, 3, 0),
            line("*x", 0, 4, 0),
        ];
        let mut problems = Vec::new();
        let patterns = RefreshPatterns::compile(&lines, &mut problems);
        assert_eq!(problems.len(), 1);
        assert_eq!(patterns.rules.len(), 1);
        assert_eq!(patterns.find(b"http://a/").percent, 2);
    }

    #[test]
    fn a_bad_pattern_is_a_problem_with_its_place() {
        let mut problems = Vec::new();
        RefreshPatterns::compile(&[line("*x", 0, 0, 0)], &mut problems);
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].message.contains("'*x'"),
            "{}",
            problems[0].message
        );
    }
}
