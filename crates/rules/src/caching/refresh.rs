//! `refresh_pattern`: how long a response is fresh when it doesn't say so itself (RFC 9111 §4.2.2), and the options
//! that bend what it says. The first pattern that matches the URL applies.

use config::{Problem, RefreshOptions, RefreshPattern, Severity};
use regex::bytes::{RegexSet, RegexSetBuilder};

use super::secs;
use crate::acl::ere;
use crate::acl::findings::problem;

/// One rule. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshRule {
    /// Fresh for this long when nothing else says.
    pub min_secs: i64,
    /// Share of (Date − Last-Modified), in percent.
    pub percent: i64,
    /// Stale after this long, unless the response says otherwise.
    pub max_secs: i64,
    /// In place of `max_stale`.
    pub max_stale_secs: Option<i64>,
    /// In place of `negative_ttl`.
    pub negative_ttl_secs: Option<i64>,
    /// The options that are on or off.
    pub options: RefreshOptions,
}

impl Default for RefreshRule {
    /// What holds where no line matches: `. 0 20% 4320`.
    fn default() -> Self {
        Self {
            min_secs: 0,
            percent: 20,
            max_secs: 4320 * 60,
            max_stale_secs: None,
            negative_ttl_secs: None,
            options: RefreshOptions::default(),
        }
    }
}

impl RefreshRule {
    fn new(line: &RefreshPattern) -> Self {
        Self {
            min_secs: secs(line.min),
            percent: i64::from(line.percent),
            max_secs: secs(line.max),
            max_stale_secs: line.options.max_stale.map(secs),
            negative_ttl_secs: line.options.negative_ttl.map(secs),
            options: line.options.clone(),
        }
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
    patterns: RegexSet,
    rules: Box<[RefreshRule]>,
    otherwise: RefreshRule,
}

impl RefreshPatterns {
    /// Compiles the lines. One whose pattern is bad is left out, with a problem.
    pub fn compile(lines: &[RefreshPattern], problems: &mut Vec<Problem>) -> Self {
        let (mut patterns, mut rules) = (Vec::new(), Vec::new());
        for line in lines {
            let case = if line.ignore_case { "i" } else { "-i" };
            let built = ere::translate(&line.pattern)
                .map(|translated| format!("(?{case}:{})", translated.regex))
                .map_err(|bad| bad.to_string())
                .and_then(|regex| match set([&regex]) {
                    Ok(_) => Ok(regex),
                    Err(_) => Err(ere::BadEre::TooBig.to_string()),
                });
            match built {
                Ok(regex) => {
                    patterns.push(regex);
                    rules.push(RefreshRule::new(line));
                }
                Err(bad) => {
                    let message = format!("invalid regular expression: '{}': {bad}", line.pattern);
                    let text = format!("refresh_pattern {}", line.pattern);
                    problems.push(problem(
                        Severity::Fatal,
                        "refresh_pattern",
                        &line.place,
                        message,
                        text,
                    ));
                }
            }
        }
        let patterns = set(&patterns).unwrap_or_else(|_| RegexSet::empty());
        Self {
            patterns,
            rules: rules.into(),
            otherwise: RefreshRule::default(),
        }
    }

    /// The rule for a URL.
    pub fn find(&self, url: &[u8]) -> &RefreshRule {
        if self.rules.is_empty() {
            return &self.otherwise;
        }
        let first = self.patterns.matches(url).iter().next();
        first
            .and_then(|index| self.rules.get(index))
            .unwrap_or(&self.otherwise)
    }
}

fn set<I: IntoIterator<Item: AsRef<str>>>(patterns: I) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(patterns)
        .unicode(false)
        .dot_matches_new_line(true)
        .size_limit(64 << 20)
        .build()
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
