//! A logical line as the readers see it: words from left to right, lists with
//! their files read in, and a way to say what is wrong with it.

use std::borrow::Cow;

use super::walk::{Files, blank, reason};
use crate::model::values::{ListFile, Values};
use crate::problem::{Place, Problem, Severity};

/// Findings about one line that are kept.
const FINDINGS_MAX: usize = 50;
/// Characters of a line that a problem repeats.
const TEXT_CHARS_MAX: usize = 1_000;

/// A directive's line. Readers take words off its front.
pub(crate) struct Line<'a> {
    /// The directive as written.
    pub(crate) directive: &'a str,
    /// Where it is.
    pub(crate) place: &'a Place,
    /// Findings that don't stop the line.
    pub(crate) findings: Vec<Problem>,
    text: &'a str,
    rest: &'a str,
    quoting: bool,
    files: Files,
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
            text,
            rest,
            quoting,
            files,
        }
    }

    /// The next word, or `None` at the end of the line or a comment.
    pub(crate) fn word(&mut self) -> Option<Cow<'a, str>> {
        if self.quoting {
            self.quoted_word().map(|word| word.text)
        } else {
            self.plain_word()
        }
    }

    /// The next word; `what` names it in the problem when there is none.
    pub(crate) fn required(&mut self, what: &str) -> Outcome<Cow<'a, str>> {
        self.word()
            .ok_or_else(|| self.fatal(format!("missing {what}")))
    }

    /// The next word, with quotes around it taken off in either quoting mode.
    pub(crate) fn quoted_word(&mut self) -> Option<Word<'a>> {
        self.rest = self.rest.trim_start_matches(blank);
        let quote = self.rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some((quote, body)) = quote.zip(self.rest.get(1..)) else {
            return self.plain_word().map(|text| Word {
                text,
                quoted: false,
            });
        };
        let mut text = String::new();
        let mut chars = body.char_indices();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.rest = body.get(at + 1..).unwrap_or_default();
                return Some(Word {
                    text: text.into(),
                    quoted: true,
                });
            }
            match c {
                '\\' => text.extend(chars.next().map(|(_, escaped)| unescape(escaped))),
                _ => text.push(c),
            }
        }
        self.rest = "";
        Some(Word {
            text: text.into(),
            quoted: true,
        })
    }

    fn plain_word(&mut self) -> Option<Cow<'a, str>> {
        self.rest = self.rest.trim_start_matches(blank);
        if self.rest.is_empty() || self.rest.starts_with('#') {
            self.rest = "";
            return None;
        }
        let (word, rest) = self.rest.split_once(blank).unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(Cow::Borrowed(word))
    }

    /// The next word without taking it.
    pub(crate) fn peek(&mut self) -> Option<Cow<'a, str>> {
        let rest = self.rest;
        let word = self.word();
        self.rest = rest;
        word
    }

    /// The rest of the line as it is, comments too.
    pub(crate) fn remainder(&mut self) -> &'a str {
        std::mem::take(&mut self.rest).trim_matches(blank)
    }

    /// The remaining words.
    pub(crate) fn words(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.word().map(Cow::into_owned)).collect()
    }

    /// The remaining words of a list; a quoted one names a file with one value per line.
    pub(crate) fn list(&mut self) -> Outcome<Vec<String>> {
        let mut values = Values::default();
        while self.list_item(&mut values)? {}
        Ok(values.texts().map(str::to_owned).collect())
    }

    /// Adds what the next word stands for: itself, or the lines of a file. False when there is no more word.
    pub(crate) fn list_item(&mut self, values: &mut Values) -> Outcome<bool> {
        self.rest = self.rest.trim_start_matches(blank);
        if self.quoting {
            return self.quoted_list_item(values);
        }
        if self.rest.starts_with(['"', '\'']) {
            let name = self.file_name();
            values.push_file(self.list_file(&name)?);
            return Ok(true);
        }
        let Some(word) = self.plain_word() else {
            return Ok(false);
        };
        values.push(word);
        Ok(true)
    }

    fn quoted_list_item(&mut self, values: &mut Values) -> Outcome<bool> {
        if let Some(rest) = self.rest.strip_prefix("parameters(") {
            self.rest = rest;
            let name = self
                .quoted_word()
                .map(|word| word.text.into_owned())
                .unwrap_or_default();
            let name = name.trim_end_matches(')').trim_matches('"').to_owned();
            self.rest = self.rest.strip_prefix(')').unwrap_or(self.rest);
            values.push_file(self.list_file(&name)?);
            return Ok(true);
        }
        let Some(word) = self.quoted_word() else {
            return Ok(false);
        };
        values.push(word.text);
        Ok(true)
    }

    /// A name in quotes; without a closing quote it ends with the word.
    fn file_name(&mut self) -> String {
        let mut chars = self.rest.chars();
        let quote = chars.next().unwrap_or('"');
        let body = chars.as_str();
        let (name, rest) = body
            .split_once(quote)
            .or_else(|| body.split_once(blank))
            .unwrap_or((body, ""));
        self.rest = rest;
        name.to_owned()
    }

    fn list_file(&self, name: &str) -> Outcome<ListFile> {
        let read = match self.files {
            Files::Disk => std::fs::read(name),
            Files::Missing => Err(std::io::ErrorKind::NotFound.into()),
        };
        let bytes = read.map_err(|error| {
            let reason = reason(&error);
            let problem = self.fatal(format!("Can not open file {name} for reading: {reason}"));
            Box::new(
                problem.hint("A value in quotes is the name of a file with one value per line."),
            )
        })?;
        Ok(ListFile::new(name, bytes))
    }

    /// A problem that keeps the program from starting.
    pub(crate) fn fatal(&self, message: impl Into<String>) -> Box<Problem> {
        self.problem(Severity::Fatal, message.into())
    }

    /// A problem that makes the line be left out.
    pub(crate) fn error(&self, message: impl Into<String>) -> Box<Problem> {
        self.problem(Severity::Error, message.into())
    }

    /// Notes that a part of the line is left out.
    pub(crate) fn note_error(&mut self, message: impl Into<String>, hint: &str) {
        self.note(Severity::Error, message.into(), hint);
    }

    /// Notes something that is probably not as meant.
    pub(crate) fn warn(&mut self, message: impl Into<String>, hint: &str) {
        self.note(Severity::Warning, message.into(), hint);
    }

    fn note(&mut self, severity: Severity, message: String, hint: &str) {
        if self.findings.len() < FINDINGS_MAX {
            let problem = self.problem(severity, message);
            self.findings.push(problem.hint(hint));
        }
    }

    /// A problem of this line.
    pub(crate) fn problem(&self, severity: Severity, message: String) -> Box<Problem> {
        Box::new(Problem {
            severity,
            place: self.place.clone(),
            directive: self.directive.to_owned(),
            message,
            hint: String::new(),
            text: shortened(self.text),
        })
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

/// The text, or as much of it as a message repeats.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

fn unescape(c: char) -> char {
    match c {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
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
        assert_eq!(words(r#"x "open"#, true), ["open"]);
        assert_eq!(words(r#"x "a b""#, false), ["\"a", "b\""]);
    }

    fn list(text: &str, quoting: bool) -> Outcome<Vec<String>> {
        let place = Place {
            file: Arc::from("test"),
            line: 1,
        };
        Line::new(text, &place, quoting, Files::Disk).list()
    }

    #[test]
    fn a_quoted_list_value_is_a_file_of_values() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a list");
        std::fs::write(&path, "one\r\n# no\n\n  two words \n").unwrap();
        let name = path.display();
        let expected = ["zero", "one", "two words", "three"];
        assert_eq!(
            list(&format!("x zero \"{name}\" three"), false).unwrap(),
            expected
        );
        assert_eq!(
            list(&format!("x zero '{name}' three"), false).unwrap(),
            expected
        );
        assert_eq!(
            list(&format!("x zero parameters(\"{name}\") three"), true).unwrap(),
            expected
        );
    }

    #[test]
    fn a_missing_file_of_values_is_fatal() {
        let problem = list("x \"/nonexistent/list\"", false).unwrap_err();
        assert!(problem.stops());
        assert!(
            problem
                .message
                .starts_with("Can not open file /nonexistent/list for reading")
        );
    }
}
