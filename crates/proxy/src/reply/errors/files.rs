//! Reads pages and style sheets from where the operator keeps them, within bounds.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Largest page or style sheet that is read, in bytes.
const PAGE_BYTES_MAX: u64 = 1 << 20;

/// A page or style sheet that could not be read; the built-in one is used.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {reason}", path = path.display())]
pub struct Unreadable {
    /// Which file or directory.
    pub path: PathBuf,
    /// Why.
    pub reason: io::Error,
}

impl Unreadable {
    pub(super) fn new(path: &Path, reason: io::Error) -> Self {
        let path = path.to_owned();
        Self { path, reason }
    }
}

/// The file's text; `None` when there is no such file. What else keeps it from being read is noted.
pub(super) fn read_if_there(path: &Path, unreadable: &mut Vec<Unreadable>) -> Option<String> {
    match read(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(reason) => {
            unreadable.push(Unreadable::new(path, reason));
            None
        }
    }
}

/// The file's text.
pub(super) fn read(path: &Path) -> io::Result<String> {
    // A pipe would keep us waiting for who writes.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a plain file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(PAGE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PAGE_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
