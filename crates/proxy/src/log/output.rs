//! Where log lines go: a file opened for appending, standard output or standard error.
//! Used by the writer thread only; nothing here is waited for by a worker.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long a full pipe is waited for before the lines are given up.
const FULL_PIPE_SECS_MAX: u64 = 5;

/// Where a log is written to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A file, opened for appending.
    File(PathBuf),
}

impl Place {
    /// Reads a place as `squid.conf` writes it: a path, with or without `stdio:` or `daemon:`.
    /// `-` and `/dev/stdout` are standard output, `/dev/stderr` is standard error.
    pub fn of(text: &str) -> Self {
        let path = text
            .strip_prefix("stdio:")
            .or_else(|| text.strip_prefix("daemon:"))
            .unwrap_or(text);
        match path {
            "-" | "/dev/stdout" => Self::Stdout,
            "/dev/stderr" => Self::Stderr,
            _ => Self::File(path.into()),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::Stderr => f.write_str("standard error"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// A log that can't be opened.
#[derive(Debug, thiserror::Error)]
#[error("Cannot open '{place}' for writing: {reason}")]
pub struct OpenError {
    /// Which one.
    pub place: Place,
    /// Why.
    pub reason: io::Error,
}

/// An open log.
#[derive(Debug)]
pub(super) struct Output {
    place: Place,
    file: File,
    rotate: u32,
    failing: bool,
}

impl Output {
    /// Opens the log; on rotation `rotate` old files are kept.
    pub(super) fn open(place: Place, rotate: u32) -> Result<Self, OpenError> {
        match open(&place) {
            Ok(file) => Ok(Self {
                place,
                file,
                rotate,
                failing: false,
            }),
            Err(reason) => Err(OpenError { place, reason }),
        }
    }

    pub(super) const fn place(&self) -> &Place {
        &self.place
    }

    /// Appends whole lines. What can't be written is given up and said once, until writing
    /// works again: a full disk must neither stop the proxy nor fill its memory.
    pub(super) fn append(&mut self, lines: &[u8]) {
        match write_all(&mut self.file, lines) {
            Ok(()) if self.failing => {
                self.failing = false;
                tracing::info!("access log {}: writing works again", self.place);
            }
            Ok(()) => {}
            Err(error) if !self.failing => {
                self.failing = true;
                tracing::error!("access log {}: {error}; lines are lost", self.place);
            }
            Err(_) => {}
        }
    }

    /// Renames the file away, if old ones are kept, and opens it anew.
    pub(super) fn rotate(&mut self) {
        if let Some(path) = self.path() {
            rename_away(path, self.rotate);
            self.reopen();
        }
    }

    /// The file; `/dev/null` and named pipes must stay where they are.
    fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) if fs::metadata(path).is_ok_and(|data| !data.is_file()) => None,
            Place::File(path) => Some(path),
            Place::Stdout | Place::Stderr => None,
        }
    }

    /// Opens the file anew.
    pub(super) fn reopen(&mut self) {
        if self.path().is_none() {
            return;
        }
        match open(&self.place) {
            Ok(file) => self.file = file,
            Err(error) => tracing::error!("access log {}: {error}; kept as it was", self.place),
        }
    }
}

fn open(place: &Place) -> io::Result<File> {
    match place {
        Place::Stdout => Ok(io::stdout().as_fd().try_clone_to_owned()?.into()),
        Place::Stderr => Ok(io::stderr().as_fd().try_clone_to_owned()?.into()),
        Place::File(path) => OpenOptions::new().append(true).create(true).open(path),
    }
}

/// `log.1` becomes `log.2` and so on, `log` becomes `log.0`; nothing when none is kept.
pub fn rename_away(path: &Path, kept: u32) {
    for number in (1..kept).rev() {
        rename(&numbered(path, number - 1), &numbered(path, number));
    }
    if kept > 0 {
        rename(path, &numbered(path, 0));
    }
}

fn rename(from: &Path, to: &Path) {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::error!(
                "cannot rename {} to {}: {error}",
                from.display(),
                to.display()
            );
        }
        _ => {}
    }
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    name.into()
}

/// Writes all, also to a pipe that another process made non-blocking.
fn write_all(file: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    let mut waiting_since = None;
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = bytes.get(written..).unwrap_or_default();
                waiting_since = None;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let since = *waiting_since.get_or_insert_with(Instant::now);
                if since.elapsed() > Duration::from_secs(FULL_PIPE_SECS_MAX) {
                    return Err(error);
                }
                wait_until_writable(file)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait_until_writable(file: &File) -> io::Result<()> {
    let second = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::new(file, PollFlags::OUT)];
    match poll(&mut fds, Some(&second)) {
        Err(error) if error != rustix::io::Errno::INTR => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_squid_conf_writes_it() {
        let check = |text: &str, expected: Place| assert_eq!(Place::of(text), expected);
        check("-", Place::Stdout);
        check("/dev/stdout", Place::Stdout);
        check("stdio:/dev/stdout", Place::Stdout);
        check("stdio:/dev/stderr", Place::Stderr);
        check("/var/log/a", Place::File("/var/log/a".into()));
        check("stdio:/var/log/a", Place::File("/var/log/a".into()));
        check("daemon:/var/log/a", Place::File("/var/log/a".into()));
    }

    fn content(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn rotation_keeps_the_number_of_files_it_was_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access.log");
        let mut output = Output::open(Place::File(path.clone()), 2).unwrap();
        for line in ["one\n", "two\n", "three\n"] {
            output.append(line.as_bytes());
            output.rotate();
        }
        output.append(b"four\n");
        assert_eq!(content(&path), "four\n");
        assert_eq!(content(&numbered(&path, 0)), "three\n");
        assert_eq!(content(&numbered(&path, 1)), "two\n");
        assert!(!numbered(&path, 2).exists());
    }

    #[test]
    fn rotation_that_keeps_none_opens_the_file_that_someone_else_moved() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access.log");
        let moved = dir.path().join("moved");
        let mut output = Output::open(Place::File(path.clone()), 0).unwrap();
        output.append(b"one\n");
        fs::rename(&path, &moved).unwrap();
        output.rotate();
        output.append(b"two\n");
        assert_eq!(
            (content(&moved), content(&path)),
            ("one\n".into(), "two\n".into())
        );
    }

    #[test]
    fn what_is_no_file_is_never_renamed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        let mut output = Output::open(Place::File(path.clone()), 2).unwrap();
        output.rotate();
        assert!(path.exists() && !numbered(&path, 0).exists());
    }

    #[test]
    fn a_file_that_exists_is_appended_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access.log");
        fs::write(&path, "old\n").unwrap();
        Output::open(Place::File(path.clone()), 0)
            .unwrap()
            .append(b"new\n");
        assert_eq!(content(&path), "old\nnew\n");
    }

    #[test]
    fn a_write_that_fails_is_given_up() {
        let mut output = Output::open(Place::File("/dev/full".into()), 0).unwrap();
        output.append(b"lost\n");
        assert!(output.failing);
    }

    #[test]
    fn a_place_that_cannot_be_opened_is_named() {
        let error = Output::open(Place::File("/nowhere/access.log".into()), 0).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("Cannot open '/nowhere/access.log' for writing: ")
        );
    }
}
