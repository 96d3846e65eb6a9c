//! Lists: words of a line, with the files of values that some of them name.

use std::borrow::Cow;
use std::path::Path;

use super::line::{Line, Word};
use super::quote::{Token, token};
use super::source::{Files, read, reason};
use super::walk::blank;
use crate::model::list_file::ListFile;
use crate::model::values::Values;

/// Files of values inside each other.
const DEPTH_MAX: usize = 16;

impl Line<'_> {
    /// The remaining words of a list; a quoted one names a file with one value per line.
    pub(crate) fn list(&mut self) -> Vec<String> {
        let mut values = Values::default();
        while self.list_item(&mut values) {}
        values.texts()
    }

    /// Adds what the next word stands for: itself, or the lines of a file. False when there is no more word.
    pub(crate) fn list_item(&mut self, values: &mut Values) -> bool {
        let quote = |word: Cow<'_, str>| word.starts_with(['"', '\'']);
        if !self.quoting && self.peek().is_some_and(quote) {
            let name = self.file_name();
            if let Some(file) = self.list_file(&name) {
                values.push_file(file);
            }
            return true;
        }
        let word = self.word();
        let any = word.is_some();
        word.into_iter().for_each(|word| values.push(word));
        any
    }

    /// A name in quotes; without a closing quote it ends with the word.
    fn file_name(&mut self) -> String {
        self.rest = self.rest.trim_start_matches(blank);
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

    /// A file with one value per line. One that can't be opened has none, as with Squid.
    fn list_file(&mut self, name: &str) -> Option<ListFile> {
        match ListFile::open(name, self.files) {
            Ok(file) => Some(file),
            Err(error) => {
                let reason = reason(&error);
                let message = format!("Can not open file {name} for reading: {reason}");
                let hint = "A value in quotes is the name of a file with one value per line.";
                self.note_error(message, hint);
                None
            }
        }
    }

    /// Puts the words of a file before those of the line.
    pub(super) fn parameters(&mut self, name: &str) {
        let mut words = Vec::new();
        let mut left = self.files_left;
        let read = file_words(name, self.files, 1, &mut left, &mut words);
        self.files_left = left;
        match read {
            Ok(()) => self.ahead.extend(words),
            Err(message) => self.fail(message),
        }
    }
}

/// The words of a file's lines, and of the files that those name.
fn file_words(
    name: &str,
    files: Files,
    depth: usize,
    left: &mut u32,
    words: &mut Vec<Word<'_>>,
) -> Result<(), String> {
    *left = left
        .checked_sub(1)
        .filter(|_| depth <= DEPTH_MAX)
        .ok_or_else(|| format!("Error opening config file: {name}: nested too deeply"))?;
    let text = read(Path::new(name), files)
        .map_err(|error| format!("Error opening config file: {name}: {}", reason(&error)))?;
    for (number, text) in text.lines().enumerate() {
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches([' ', '\t', '\r']);
            if rest.is_empty() || rest.starts_with('#') {
                break;
            }
            let at = || format!(" [{name} line {}]", number + 1);
            match token(&mut rest).map_err(|message| message + &at())? {
                Token::Plain(text) => words.push(Word {
                    text: text.to_owned().into(),
                    quoted: false,
                }),
                Token::Quoted(text) => words.push(Word {
                    text: text.into(),
                    quoted: true,
                }),
                Token::Parameters(inner) => file_words(&inner, files, depth + 1, left, words)?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::problem::{Place, Severity};

    /// The values of a line, and what is wrong with it.
    fn list(text: &str, quoting: bool) -> (Vec<String>, Vec<String>) {
        let place = Place {
            file: Arc::from("test"),
            line: 1,
        };
        let mut line = Line::new(text, &place, quoting, Files::Disk);
        let values = line.list();
        let fault = line.fault.map(|problem| *problem);
        let said = line.findings.into_iter().chain(fault);
        (values, said.map(|problem| problem.message).collect())
    }

    #[test]
    fn a_quoted_list_value_is_a_file_of_values() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a list");
        std::fs::write(&path, "one\r\n# no\n\n  two words \t# why\nx#y\n").unwrap();
        let name = path.display();
        let expected = ["zero", "one", "two words", "x#y", "three"];
        for quote in ['"', '\''] {
            let (values, said) = list(&format!("x zero {quote}{name}{quote} three # c"), false);
            assert_eq!(
                (values.as_slice(), said.len()),
                (&expected.map(String::from)[..], 0)
            );
        }
        let (values, _) = list(&format!("x \"{name}"), false);
        // A name without a closing quote ends with the word.
        assert_eq!(values, ["list"]);
    }

    #[test]
    fn a_file_of_values_that_is_not_there_has_none() {
        let (values, said) = list("x a \"/nonexistent/list\" b", false);
        assert_eq!(values, ["a", "b"]);
        let expected = "Can not open file /nonexistent/list for reading: \
                        (2) No such file or directory";
        assert_eq!(said, [expected]);
    }

    #[test]
    fn with_quoting_the_words_of_a_file_of_parameters_are_words_of_the_line() {
        let dir = tempfile::tempdir().unwrap();
        let (outer, inner) = (dir.path().join("outer"), dir.path().join("inner"));
        let text = format!(
            "one # no\n\n\"two words\" three\r\nparameters('{}')",
            inner.display()
        );
        std::fs::write(&outer, text).unwrap();
        std::fs::write(&inner, "four\n").unwrap();
        let outer = outer.display();
        let (values, said) = list(&format!("x \"zero\" parameters(\"{outer}\") five"), true);
        assert_eq!(
            values,
            ["zero", "one", "two words", "three", "four", "five"]
        );
        assert!(said.is_empty(), "{said:?}");
        std::fs::write(&inner, "a\nb!").unwrap();
        let (_, said) = list(&format!("x parameters(\"{outer}\")"), true);
        let expected = format!(
            "Not alphanumeric character '!' in unquoted token b! [{} line 2]",
            inner.display()
        );
        assert_eq!(said, [expected]);
    }

    #[test]
    fn a_missing_file_of_parameters_is_fatal() {
        let place = Place {
            file: Arc::from("test"),
            line: 1,
        };
        let text = "x a parameters('/nonexistent/list') b";
        let mut line = Line::new(text, &place, true, Files::Disk);
        assert_eq!(line.words(), ["a"]);
        let fault = line.fault.unwrap();
        assert_eq!(fault.severity, Severity::Fatal);
        assert!(
            fault
                .message
                .starts_with("Error opening config file: /nonexistent/list: (2)")
        );
        assert_eq!(
            fault.text.get(fault.mark.unwrap()).unwrap(),
            "parameters('/nonexistent/list')"
        );
    }

    /// Sixteen levels of a hundred lines each would be read 10^32 times.
    #[test]
    fn a_file_of_parameters_that_names_itself_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        let line = format!("parameters(\"{}\")", path.display());
        std::fs::write(&path, format!("{line}\n").repeat(100)).unwrap();
        let (_, said) = list(&format!("x {line}"), true);
        assert_eq!(said.len(), 1);
        assert!(said[0].ends_with("nested too deeply"), "{said:?}");
    }
}
