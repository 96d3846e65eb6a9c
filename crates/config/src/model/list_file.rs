//! A file with one value per line. Lists of millions of names are usual, so the text of a large file never lies in memory
//! whole: the file is opened when the configuration is read, and its lines go by in pieces when the rules are compiled.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use crate::text::source::{self, Files};

/// A file of values; blank lines are none, nor is what follows a comment sign. Clones share the text or the open file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFile {
    path: Arc<str>,
    text: Text,
}

/// A released file differs from one that is held or open: it can no longer be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Text {
    /// What is not larger than a piece, or no regular file.
    Held(Arc<String>),
    Open(Arc<Opened>),
    Released,
}

/// An open file; it is the same as another when nothing was written between the two.
#[derive(Debug)]
struct Opened {
    file: File,
    bytes: u64,
    identity: [i64; 4],
}

impl PartialEq for Opened {
    fn eq(&self, other: &Self) -> bool {
        (self.bytes, self.identity) == (other.bytes, other.identity)
    }
}

impl Eq for Opened {}

/// Bytes read at once; small files are read whole, so that a thousand of them don't take a thousand descriptors.
const PIECE_BYTES: usize = 1 << 20;

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

/// A file that could be opened, but not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    path: Arc<str>,
    reason: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Can not read file {}: {}", self.path, self.reason)
    }
}

impl std::error::Error for Unread {}

impl ListFile {
    /// The file of this name with this text.
    pub(crate) fn held(path: &str, text: String) -> Self {
        Self {
            path: path.into(),
            text: Text::Held(Arc::new(text)),
        }
    }

    /// Opens a file; reads it if it is small.
    pub(crate) fn open(path: &str, files: Files) -> io::Result<Self> {
        if files == Files::Missing {
            return Err(ErrorKind::NotFound.into());
        }
        let file = File::open(path)?;
        let about = file.metadata()?;
        if !about.is_file() || about.len() <= PIECE_BYTES as u64 {
            return source::read(Path::new(path), files).map(|text| Self::held(path, text));
        }
        Ok(Self {
            path: path.into(),
            text: Text::Open(Arc::new(Opened::new(file, &about))),
        })
    }

    /// Its name.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Gives all values with their lines.
    pub(super) fn each<'v>(
        &'v self,
        mut take: impl FnMut(&str, FileLine<'v>),
    ) -> Result<(), Unread> {
        let mut number = 0;
        let mut lines = |text: &str| {
            for text in text.split_terminator('\n') {
                number += 1;
                let value = value(text);
                if !value.is_empty() {
                    let (path, line) = (&*self.path, number);
                    take(value, FileLine { path, line });
                }
            }
        };
        match &self.text {
            Text::Held(text) => lines(text),
            Text::Open(opened) => opened
                .pieces(|piece| lines(&String::from_utf8_lossy(piece)))
                .map_err(|error| Unread {
                    path: Arc::clone(&self.path),
                    reason: source::reason(&error),
                })?,
            Text::Released => {}
        }
        Ok(())
    }

    /// Has it no value? A file that isn't held is taken to have one.
    pub(super) fn is_empty(&self) -> bool {
        match &self.text {
            Text::Held(text) => text.lines().all(|line| value(line).is_empty()),
            Text::Open(_) => false,
            Text::Released => true,
        }
    }

    /// Number of lines, and bytes without the line ends. What can't be read isn't counted.
    pub(super) fn size_max(&self) -> (usize, usize) {
        let (mut ends, mut bytes) = (0, 0);
        let mut count = |piece: &[u8]| {
            ends += piece.iter().filter(|byte| **byte == b'\n').count();
            bytes += piece.len();
        };
        match &self.text {
            Text::Held(text) => count(text.as_bytes()),
            Text::Open(opened) => opened.pieces(count).unwrap_or_default(),
            Text::Released => {}
        }
        (ends + 1, bytes - ends)
    }

    pub(super) fn release(&mut self) {
        self.text = Text::Released;
    }
}

impl Opened {
    fn new(file: File, about: &Metadata) -> Self {
        let inode = about.ino().cast_signed();
        let device = about.dev().cast_signed();
        Self {
            file,
            bytes: about.len(),
            identity: [device, inode, about.mtime(), about.mtime_nsec()],
        }
    }

    /// Gives the file in pieces that end with a line, from its start; a longer line makes a longer piece.
    fn pieces(&self, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let mut piece = Vec::new();
        let mut rest = At {
            file: &self.file,
            offset: 0,
        };
        loop {
            let kept = piece.len();
            let count = Read::by_ref(&mut rest)
                .take(PIECE_BYTES as u64)
                .read_to_end(&mut piece)?;
            let fresh = piece.get(kept..).unwrap_or_default();
            let end = fresh.iter().rposition(|byte| *byte == b'\n');
            let whole = match end {
                _ if count == 0 => piece.len(),
                Some(end) => kept + end + 1,
                None => continue,
            };
            take(piece.get(..whole).unwrap_or_default());
            piece.drain(..whole);
            if count == 0 {
                return Ok(());
            }
        }
    }
}

/// Reads a file that others read too: the place lies here.
struct At<'f> {
    file: &'f File,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(into, self.offset)?;
        self.offset += count as u64;
        Ok(count)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn found(file: &ListFile) -> Vec<(String, usize)> {
        let mut found = Vec::new();
        file.each(|text, at| found.push((text.to_owned(), at.line)))
            .unwrap();
        found
    }

    fn check(bytes: &[u8], expected: &[(&str, usize)]) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        std::fs::write(&path, bytes).unwrap();
        let file = ListFile::open(path.to_str().unwrap(), Files::Disk).unwrap();
        let found = found(&file);
        let found: Vec<_> = found.iter().map(|(text, at)| (&**text, *at)).collect();
        assert_eq!(found, expected, "{bytes:?}");
        let (count, bytes) = file.size_max();
        assert!(count >= found.len() && bytes >= found.iter().map(|value| value.0.len()).sum());
        assert_eq!(file.is_empty(), found.is_empty());
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

    /// Lines over the borders of pieces, one longer than two pieces, bytes that are no UTF-8, no line end at the end.
    #[test]
    fn a_large_file_is_read_like_a_small_one() {
        let mut text = Vec::new();
        for number in 0..200_000u32 {
            writeln!(text, "  site{number}.ex\u{e9}mple # {number}").unwrap();
        }
        text.extend(vec![b'x'; 2 * PIECE_BYTES + 17]);
        text.extend(b"\nb\xfc\nlast");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        std::fs::write(&path, &text).unwrap();
        let open = ListFile::open(path.to_str().unwrap(), Files::Disk).unwrap();
        assert!(matches!(open.text, Text::Open(_)));
        let whole = String::from_utf8_lossy(&text).into_owned();
        let held = ListFile::held(path.to_str().unwrap(), whole);
        assert_eq!(found(&open), found(&held));
        // Again, from the start; and the room that is made for it is enough.
        assert_eq!(found(&open).last(), Some(&("last".to_owned(), 200_003)));
        assert_eq!(open.size_max(), (200_003, text.len() - 200_002));
        // Another text is another file, though it has the same length.
        let clone = open.clone();
        assert_eq!(open, clone);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, text.to_ascii_uppercase()).unwrap();
        let other = ListFile::open(path.to_str().unwrap(), Files::Disk).unwrap();
        assert_ne!(open, other);
        assert_eq!(found(&open).len(), found(&other).len());
    }
}
