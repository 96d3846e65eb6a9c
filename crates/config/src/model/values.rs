//! The values of an `acl` line: words, and [files](super::list_file) with one value per line.

use std::fmt;

use super::list_file::{FileLine, ListFile, Unread};

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

impl Values {
    /// Adds a word.
    pub fn push(&mut self, word: impl Into<String>) {
        self.0.push(Source::Word(word.into()));
    }

    /// Adds the values of a file.
    pub(crate) fn push_file(&mut self, file: ListFile) {
        self.0.push(Source::File(file));
    }

    /// Gives all values in order; of those that lie in files, also where.
    ///
    /// # Errors
    /// A file could be opened when the configuration was read, but not read now. What comes after it isn't given.
    pub fn each<'v>(
        &'v self,
        mut take: impl FnMut(&str, Option<FileLine<'v>>),
    ) -> Result<(), Unread> {
        self.0.iter().try_for_each(|source| match source {
            Source::Word(word) => {
                take(word, None);
                Ok(())
            }
            Source::File(file) => file.each(|text, line| take(text, Some(line))),
        })
    }

    /// The texts of all values in order, where they are few. What can't be read is left out: [`Values::each`] tells.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        self.each(|text, _| texts.push(text.to_owned())).ok();
        texts
    }

    /// The first word; values in files are none.
    #[must_use]
    pub fn first_word(&self) -> Option<&str> {
        self.0.iter().find_map(|source| match source {
            Source::Word(word) => Some(&**word),
            Source::File(_) => None,
        })
    }

    /// Is there no value? A large file isn't searched for one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|source| match source {
            Source::Word(_) => false,
            Source::File(file) => file.is_empty(),
        })
    }

    /// As many values as there can be: words, and lines of files. With the bytes that they can have together.
    #[must_use]
    pub fn size_max(&self) -> (usize, usize) {
        let sizes = self.0.iter().map(|source| match source {
            Source::Word(word) => (1, word.len()),
            Source::File(file) => file.size_max(),
        });
        sizes.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// Lets go of the files, which compiled rules don't need.
    pub fn release(&mut self) {
        for source in &mut self.0 {
            if let Source::File(file) = source {
                file.release();
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
                Source::File(file) => write!(f, "{blank}\"{}\"", file.path())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_files_keep_their_order() {
        let mut values = Values::from_iter(["a"]);
        values.push_file(ListFile::held("/x", "b\nc".to_owned()));
        values.push("d");
        assert_eq!(values.texts(), ["a", "b", "c", "d"]);
        assert_eq!(values.to_string(), "a \"/x\" d");
        assert_eq!(values.first_word(), Some("a"));
        let mut places = Vec::new();
        let note = |_: &str, place: Option<FileLine<'_>>| {
            places.extend(place.map(|place| place.to_string()));
        };
        values.each(note).unwrap();
        assert_eq!(places, ["/x line 1", "/x line 2"]);
    }

    #[test]
    fn a_released_file_has_no_values_and_its_clone_still_has() {
        let mut values = Values::default();
        values.push_file(ListFile::held("list", "a\n".to_owned()));
        let kept = values.clone();
        assert_eq!(values, kept);
        values.release();
        assert!(values.is_empty() && !kept.is_empty());
        assert_ne!(values, kept);
        assert_eq!(values.to_string(), "\"list\"");
    }
}
