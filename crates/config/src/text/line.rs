//! A logical line as the readers see it: words from left to right, lists with
//! their files read in, and a way to say what is wrong with it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use super::quote::{self, Token};
use super::source::Files;
use super::walk::blank;
use crate::problem::{Place, Problem, Severity};

/// Findings about one line that are kept.
const FINDINGS_MAX: usize = 50;
/// Files of values that one line names, directly or in each other.
const FILES_MAX: u32 = 1_000;

/// A directive's line. Readers take words off its front.
pub(crate) struct Line<'a> {
    /// The directive as written.
    pub(crate) directive: &'a str,
    /// Where it is.
    pub(crate) place: &'a Place,
    /// Findings that don't stop the line.
    pub(crate) findings: Vec<Problem>,
    /// Quotes that make no sense: the line has no more words, whatever its reader says.
    pub(crate) fault: Option<Box<Problem>>,
    pub(super) text: &'a str,
    /// What is still to be read: always the end of `text`.
    pub(super) rest: &'a str,
    /// Words of files that come before `rest`.
    pub(super) ahead: VecDeque<Word<'a>>,
    /// Files of values that the line may still name.
    pub(super) files_left: u32,
    pub(super) quoting: bool,
    pub(super) files: Files,
    /// The last word read, in bytes of `text`.
    mark: Range<usize>,
}

/// A word and how it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) quoted: bool,
}

/// What a reader returns: `Err` ends the line, as a fatal problem or another.
pub(crate) type Outcome<T = ()> = Result<T, Box<Problem>>;

impl<'a> Line<'a> {
    /// Takes the directive's name off the front; `quoting` is `configuration_includes_quoted_values`.
    pub(crate) fn new(text: &'a str, place: &'a Place, quoting: bool, files: Files) -> Self {
        let (directive, rest) = text.split_once(blank).unwrap_or((text, ""));
        Self {
            directive,
            place,
            findings: Vec::new(),
            fault: None,
            text,
            rest,
            ahead: VecDeque::new(),
            files_left: FILES_MAX,
            quoting,
            files,
            mark: 0..directive.len(),
        }
    }

    /// The next word, or `None` at the end of the line or a comment.
    pub(crate) fn word(&mut self) -> Option<Cow<'a, str>> {
        if self.quoting {
            self.token_word().map(|word| word.text)
        } else {
            self.plain_word().map(Cow::Borrowed)
        }
    }

    /// The next word; `what` names it in the problem when there is none.
    pub(crate) fn required(&mut self, what: &str) -> Outcome<Cow<'a, str>> {
        self.word()
            .ok_or_else(|| self.fatal(format!("missing {what}")))
    }

    /// The next word, with quotes around it taken off in either quoting mode.
    pub(crate) fn quoted_word(&mut self) -> Option<Word<'a>> {
        let start = self.start();
        if self.quoting {
            return self.token_word();
        }
        if !self.rest.starts_with(['"', '\'']) {
            let text = self.plain_word()?.into();
            return Some(Word {
                text,
                quoted: false,
            });
        }
        match quote::token(&mut self.rest) {
            Ok(Token::Quoted(text)) => {
                self.mark = start..self.at();
                Some(Word {
                    text: text.into(),
                    quoted: true,
                })
            }
            Ok(Token::Plain(_) | Token::Parameters(_)) => None,
            Err(message) => {
                self.mark_from(start);
                self.fail(message);
                None
            }
        }
    }

    pub(super) fn plain_word(&mut self) -> Option<&'a str> {
        let start = self.start();
        if self.ended() {
            return None;
        }
        let (word, rest) = self.rest.split_once(blank).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.mark = start..start + word.len();
        Some(word)
    }

    /// The next word when quoting is on: of a file that was named, or of the line.
    fn token_word(&mut self) -> Option<Word<'a>> {
        loop {
            if let Some(word) = self.ahead.pop_front() {
                return Some(word);
            }
            let start = self.start();
            if self.ended() {
                return None;
            }
            let token = quote::token(&mut self.rest);
            self.mark = start..self.at();
            let (text, quoted) = match token {
                Ok(Token::Plain(text)) => (text.into(), false),
                Ok(Token::Quoted(text)) => (text.into(), true),
                Ok(Token::Parameters(name)) => {
                    self.parameters(&name);
                    continue;
                }
                Err(message) => {
                    self.mark_from(start);
                    self.fail(message);
                    return None;
                }
            };
            return Some(Word { text, quoted });
        }
    }

    /// Skips blanks; returns where the next word begins.
    fn start(&mut self) -> usize {
        self.rest = self.rest.trim_start_matches(blank);
        self.at()
    }

    fn at(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    /// True at the end of the line or at a comment, which is dropped.
    fn ended(&mut self) -> bool {
        if self.rest.starts_with('#') {
            self.rest = "";
        }
        self.rest.is_empty()
    }

    /// The last word makes no sense; the line has no more.
    pub(super) fn fail(&mut self, message: String) {
        self.fault = Some(self.fatal(message));
        self.rest = "";
        self.ahead.clear();
    }

    /// Marks what stands between `start` and the next blank, where a token was looked for.
    fn mark_from(&mut self, start: usize) {
        let word = self.text.get(start..).unwrap_or_default();
        let end = word.find(blank).unwrap_or(word.len());
        self.mark = start..start + end;
    }

    /// `KEY="VALUE"` as it is, blanks and all, if that is what comes next.
    pub(crate) fn quoted_pair(&mut self) -> Option<&'a str> {
        let start = self.start();
        let rest = self.rest;
        let (key, _) = rest.split_once('"')?;
        if !key.ends_with('=') || key.contains(blank) || key.contains('#') {
            return None;
        }
        let mut after = rest.get(key.len()..)?;
        if let Err(message) = quote::quoted(&mut after) {
            self.mark_from(start);
            self.fail(message);
            return None;
        }
        self.rest = after;
        self.mark = start..self.at();
        self.text.get(start..self.at())
    }

    /// The next word without taking it.
    pub(crate) fn peek(&mut self) -> Option<Cow<'a, str>> {
        let rest = self.rest;
        if !self.quoting {
            let word = self.plain_word();
            self.rest = rest;
            return word.map(Cow::Borrowed);
        }
        let files_left = self.files_left;
        let word = self.token_word()?;
        let text = word.text.clone();
        // A word of the line itself is read again from there.
        if self.ahead.is_empty() && self.files_left == files_left && rest != self.rest {
            self.rest = rest;
        } else {
            self.ahead.push_front(word);
        }
        Some(text)
    }

    /// The rest of the line as it is, comments too.
    pub(crate) fn remainder(&mut self) -> &'a str {
        let start = self.start();
        let rest = std::mem::take(&mut self.rest).trim_matches(blank);
        self.mark = start..start + rest.len();
        rest
    }

    /// The remaining words.
    pub(crate) fn words(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.word().map(Cow::into_owned)).collect()
    }

    /// What no reader has taken; problems are about it from now on.
    pub(crate) fn leftover(&mut self) -> Option<&'a str> {
        let start = self.start();
        let left = self.rest.trim_end_matches(blank);
        let any = !left.is_empty() && !left.starts_with('#');
        any.then(|| {
            self.mark = start..start + left.len();
            left
        })
    }

    /// A problem that keeps the program from starting.
    pub(crate) fn fatal(&self, message: impl Into<String>) -> Box<Problem> {
        self.problem(Severity::Fatal, &message.into())
    }

    /// A problem that makes the line be left out.
    pub(crate) fn error(&self, message: impl Into<String>) -> Box<Problem> {
        self.problem(Severity::Error, &message.into())
    }

    /// Notes that a part of the line is left out.
    pub(crate) fn note_error(&mut self, message: impl Into<String>, hint: &str) {
        self.note(Severity::Error, &message.into(), hint);
    }

    /// Notes something that is probably not as meant.
    pub(crate) fn warn(&mut self, message: impl Into<String>, hint: &str) {
        self.note(Severity::Warning, &message.into(), hint);
    }

    fn note(&mut self, severity: Severity, message: &str, hint: &str) {
        if self.findings.len() < FINDINGS_MAX {
            let problem = self.problem(severity, message);
            self.findings.push(problem.hint(hint));
        }
    }

    /// A problem of this line.
    pub(crate) fn problem(&self, severity: Severity, message: &str) -> Box<Problem> {
        let mark = self.mark.clone();
        Box::new(Problem::new(severity, self.place, self.text, mark, message))
    }

    /// What hasn't been read yet.
    pub(crate) fn value(&self) -> &'a str {
        self.rest.trim_matches(blank)
    }

    /// The whole line.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn words(text: &str, quoting: bool) -> Vec<String> {
        let place = Place {
            file: Arc::from("test"),
            line: 1,
        };
        Line::new(text, &place, quoting, Files::Disk).words()
    }

    #[test]
    fn words_are_between_blanks_and_end_at_a_comment() {
        assert_eq!(words("x a\t b#c  # d e", false), ["a", "b#c"]);
        assert!(words("x", false).is_empty());
    }

    #[test]
    fn quotes_group_words_when_switched_on() {
        assert_eq!(words(r#"x "a b" 'c\'d' e"#, true), ["a b", "c'd", "e"]);
        assert_eq!(words(r#"x "a b""#, false), ["\"a", "b\""]);
    }

    fn with<T>(text: &str, quoting: bool, read: impl FnOnce(&mut Line<'_>) -> T) -> T {
        let place = Place {
            file: Arc::from("test"),
            line: 1,
        };
        read(&mut Line::new(text, &place, quoting, Files::Disk))
    }

    #[test]
    fn a_word_that_is_seen_is_still_to_be_read() {
        for quoting in [false, true] {
            with("x a b # c", quoting, |line| {
                assert_eq!(line.peek().as_deref(), Some("a"));
                assert_eq!(line.peek().as_deref(), Some("a"));
                assert_eq!(line.remainder(), "a b # c");
                assert_eq!(line.peek(), None);
            });
        }
    }

    #[test]
    fn quotes_that_make_no_sense_end_the_line() {
        for (text, quoting) in [("x a^b c", true), ("x \"a c", true), ("x \"a c", false)] {
            with(text, quoting, |line| {
                assert_eq!(line.quoted_word(), None, "{text}");
                assert!(line.fault.is_some() && line.words().is_empty(), "{text}");
            });
        }
        with("x a \"b c\" d", false, |line| {
            let words = std::iter::from_fn(|| line.quoted_word());
            let quoted: Vec<bool> = words.map(|word| word.quoted).collect();
            assert_eq!(quoted, [false, true, false]);
        });
    }

    #[test]
    fn a_problem_marks_the_last_word_that_was_read() {
        let marked = |text: &str, count: usize, quoting: bool| {
            with(text, quoting, |line| {
                for _ in 0..count {
                    line.word();
                }
                let problem = line.fault.take().unwrap_or_else(|| line.fatal("x"));
                problem.text.get(problem.mark.unwrap()).unwrap().to_owned()
            })
        };
        assert_eq!(marked("via  on # c", 0, false), "via");
        assert_eq!(marked("via  on # c", 1, false), "on");
        assert_eq!(marked("via  on # c", 2, false), "on");
        assert_eq!(marked("acl a 'é b' c", 2, true), "'é b'");
        assert_eq!(marked("acl a é^b c", 2, true), "é^b");
        let long = format!("acl {} c", "é".repeat(2_000));
        assert_eq!(marked(&long, 1, false).chars().count(), 996);
        with(&long, false, |line| {
            line.words();
            assert_eq!(line.fatal("x").mark, None);
        });
    }
}
