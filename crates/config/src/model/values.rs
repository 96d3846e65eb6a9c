//! The values of an `acl` line: words, and files with one value per line. A file stays one piece of text, since lists
//! of millions of names are usual; who compiles the rules reads the values where they lie.

use std::fmt;
use std::sync::Arc;

/// Values in the order of the line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(Vec<Source>);

/// A word of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// A value.
    Word(String),
    /// The name of a file with values.
    File(ListFile),
}

/// A file with one value per line, up to a comment; blank lines are none. Clones share the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFile {
    path: Arc<str>,
    text: Text,
}

/// A released file differs from one that is held: it can no longer be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Text {
    Held(Arc<String>),
    Released,
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'v> {
    /// Without the blanks around it.
    pub text: &'v str,
    /// Where it is, when it is not on the `acl` line itself.
    pub file: Option<FileLine<'v>>,
}

/// A line of a list file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLine<'v> {
    /// The file.
    pub path: &'v str,
    /// Number of the line, from 1.
    pub line: usize,
}

impl fmt::Display for FileLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}", self.path, self.line)
    }
}

impl ListFile {
    /// The file of this name with this text.
    pub(crate) fn new(path: &str, text: String) -> Self {
        Self {
            path: path.into(),
            text: Text::Held(Arc::new(text)),
        }
    }

    fn text(&self) -> &str {
        match &self.text {
            Text::Held(text) => text,
            Text::Released => "",
        }
    }

    /// The values.
    pub fn iter(&self) -> impl Iterator<Item = Value<'_>> {
        let lines = self.text().split('\n').zip(1..);
        lines.filter_map(|(text, line)| {
            let text = value(text);
            let path = &*self.path;
            (!text.is_empty()).then_some(Value {
                text,
                file: Some(FileLine { path, line }),
            })
        })
    }
}

/// A line of a file without blanks around it and the comment behind it.
fn value(line: &str) -> &str {
    let line = line.trim();
    if line.starts_with('#') {
        return "";
    }
    let comment = line.match_indices('#').find(|(at, _)| {
        let before = line.get(..*at).unwrap_or_default();
        before.ends_with([' ', '\t'])
    });
    let end = comment.map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or(line).trim_end()
}

impl Values {
    /// Adds a word.
    pub fn push(&mut self, word: impl Into<String>) {
        self.0.push(Source::Word(word.into()));
    }

    /// Adds the values of a file.
    pub(crate) fn push_file(&mut self, file: ListFile) {
        self.0.push(Source::File(file));
    }

    /// All values in order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'_>> {
        self.0.iter().flat_map(|source| {
            let (word, file) = match source {
                Source::Word(word) => (Some(word), None),
                Source::File(file) => (None, Some(file)),
            };
            let word = word.map(|text| Value { text, file: None });
            word.into_iter()
                .chain(file.into_iter().flat_map(ListFile::iter))
        })
    }

    /// The texts of all values in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|value| value.text)
    }

    /// The first value.
    #[must_use]
    pub fn first(&self) -> Option<&str> {
        self.texts().next()
    }

    /// Is there no value?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// As many values as there can be: words, and lines of files. With the bytes that they can have together.
    #[must_use]
    pub fn size_max(&self) -> (usize, usize) {
        let sizes = self.0.iter().map(|source| match source {
            Source::Word(word) => (1, word.len()),
            Source::File(file) => {
                let text = file.text();
                let ends = text.bytes().filter(|byte| *byte == b'\n').count();
                (ends + 1, text.len() - ends)
            }
        });
        sizes.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// Lets go of the texts of files, which are large: compiled rules don't need them.
    pub fn release(&mut self) {
        for source in &mut self.0 {
            if let Source::File(file) = source {
                file.text = Text::Released;
            }
        }
    }
}

impl<W: Into<String>> FromIterator<W> for Values {
    fn from_iter<I: IntoIterator<Item = W>>(words: I) -> Self {
        Self(
            words
                .into_iter()
                .map(|word| Source::Word(word.into()))
                .collect(),
        )
    }
}

impl fmt::Display for Values {
    /// As the line has them, files by their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, source) in self.0.iter().enumerate() {
            let blank = if index > 0 { " " } else { "" };
            match source {
                Source::Word(word) => write!(f, "{blank}{word}")?,
                Source::File(file) => write!(f, "{blank}\"{}\"", file.path)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> Values {
        let mut values = Values::default();
        let text = String::from_utf8_lossy(bytes).into_owned();
        values.push_file(ListFile::new("list", text));
        values
    }

    fn check(bytes: &[u8], expected: &[(&str, usize)]) {
        let values = file(bytes);
        let found: Vec<_> = values
            .iter()
            .map(|value| (value.text, value.file.unwrap().line))
            .collect();
        assert_eq!(found, expected, "{bytes:?}");
        let (count, bytes) = values.size_max();
        assert!(count >= found.len() && bytes >= found.iter().map(|value| value.0.len()).sum());
    }

    #[test]
    fn blank_lines_and_comments_are_counted_but_no_values() {
        check(b"", &[]);
        check(b"one", &[("one", 1)]);
        check(
            b"# no\r\n\r\n  two words \t\r\n\n #no\nx # y\n",
            &[("two words", 3), ("x", 6)],
        );
        check(
            b"b\xfccher.de\n\xc3\xbc\n",
            &[("b\u{fffd}cher.de", 1), ("\u{fc}", 2)],
        );
    }

    #[test]
    fn words_and_files_keep_their_order() {
        let mut values = Values::from_iter(["a"]);
        values.push_file(ListFile::new("/x", "b\nc".to_owned()));
        values.push("d");
        assert_eq!(values.texts().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        assert_eq!(values.to_string(), "a \"/x\" d");
        assert_eq!(
            values.iter().nth(2).unwrap().file.unwrap().to_string(),
            "/x line 2"
        );
    }

    #[test]
    fn a_released_file_has_no_values_and_its_clone_still_has() {
        let mut values = file(b"a\n");
        let kept = values.clone();
        assert_eq!(values, kept);
        values.release();
        assert!(values.is_empty() && !kept.is_empty());
        assert_ne!(values, kept);
        assert_eq!(values.to_string(), "\"list\"");
    }
}
