//! A log in a file, a pipe, or on standard output or error.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use super::pour::{MayWait, Outcome, PIPE_BYTES, pour};

/// How long a full pipe is waited for before its lines are given up.
const FULL_PIPE_WAIT: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug)]
pub(crate) struct FileLog {
    /// `None`: what we were given open.
    path: Option<PathBuf>,
    file: File,
    /// Is it written without waiting?
    regular: bool,
    /// Old files kept on rotation; 0 only opens anew.
    kept: u32,
    /// The last line was cut short: the next must not be its end.
    torn: bool,
}

impl FileLog {
    /// What we were given open.
    pub(super) fn given(fd: BorrowedFd<'_>) -> io::Result<Self> {
        Self::of(fd.try_clone_to_owned()?.into(), None, 0)
    }

    /// A file; on rotation `kept` old ones are kept.
    pub(super) fn open(path: &Path, kept: u32) -> io::Result<Self> {
        Self::of(open(path)?, Some(path.into()), kept)
    }

    fn of(file: File, path: Option<PathBuf>, kept: u32) -> io::Result<Self> {
        Ok(Self {
            regular: file.metadata()?.is_file(),
            path,
            file,
            kept,
            torn: false,
        })
    }

    pub(super) fn write(&mut self, lines: &[u8], may_wait: MayWait<'_>) -> Outcome {
        if self.torn {
            let (_, ended) = self.put(b"\n", may_wait);
            if let Err(error) = ended {
                return Outcome::lost(lines, error);
            }
            self.torn = false;
        }
        let (written, outcome) = self.put(lines, may_wait);
        let Err(error) = outcome else {
            return Outcome::DONE;
        };
        let (before, rest) = lines.split_at_checked(written).unwrap_or((lines, b""));
        self.torn = before.last().is_some_and(|&byte| byte != b'\n');
        Outcome::lost(rest, error)
    }

    fn put(&mut self, bytes: &[u8], may_wait: MayWait<'_>) -> (usize, io::Result<()>) {
        if !self.regular {
            return pour(&mut self.file, bytes, PIPE_BYTES, FULL_PIPE_WAIT, may_wait);
        }
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            match self.file.write(rest) {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }

    /// Renames the file away, if old ones are kept, and opens it anew.
    pub(super) fn rotate(&mut self) -> io::Result<()> {
        if let Some(path) = self.renamable() {
            rename_away(path, self.kept);
        }
        self.reopen()
    }

    /// Opens the file anew; the old one stays when that fails.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        if let Some(path) = self.renamable() {
            self.file = open(path)?;
            self.torn = false;
        }
        Ok(())
    }

    /// The file; `/dev/null` and named pipes must stay where they are.
    fn renamable(&self) -> Option<&Path> {
        let path = self.path.as_deref()?;
        let other = fs::metadata(path).is_ok_and(|data| !data.is_file());
        (!other).then_some(path)
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    if fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo()) {
        // As its reader too we need not wait for one, nor lose what lies in it when one goes.
        let without_waiting = OFlags::NONBLOCK.bits().cast_signed();
        return options
            .read(true)
            .write(true)
            .custom_flags(without_waiting)
            .open(path);
    }
    options.append(true).create(true).open(path)
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
            let (from, to) = (from.display(), to.display());
            tracing::error!("cannot rename {from} to {to}: {error}");
        }
        _ => {}
    }
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(path: &Path, kept: u32) -> FileLog {
        FileLog::open(path, kept).unwrap()
    }

    fn write(log: &mut FileLog, lines: &str) -> Outcome {
        log.write(lines.as_bytes(), &mut || true)
    }

    fn content(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn rotation_keeps_the_number_of_files_it_was_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access.log");
        let mut log = opened(&path, 2);
        for line in ["one\n", "two\n", "three\n"] {
            write(&mut log, line);
            log.rotate().unwrap();
        }
        write(&mut log, "four\n");
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
        let mut log = opened(&path, 0);
        write(&mut log, "one\n");
        fs::rename(&path, &moved).unwrap();
        log.rotate().unwrap();
        write(&mut log, "two\n");
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
        opened(&path, 2).rotate().unwrap();
        assert!(path.exists() && !numbered(&path, 0).exists());
    }

    #[test]
    fn a_file_that_exists_is_appended_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access.log");
        fs::write(&path, "old\n").unwrap();
        write(&mut opened(&path, 0), "new\n");
        assert_eq!(content(&path), "old\nnew\n");
    }

    #[test]
    fn lines_for_a_full_disk_are_lost_and_counted() {
        let outcome = write(&mut opened(Path::new("/dev/full"), 0), "one\ntwo\n");
        assert_eq!(outcome.lost, 2);
        let error = outcome.error.unwrap();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_line_after_a_torn_one_is_a_line_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("access.log");
        fs::write(&path, "half a li").unwrap();
        let mut log = opened(&path, 0);
        log.torn = true;
        write(&mut log, "whole\n");
        write(&mut log, "next\n");
        assert_eq!(content(&path), "half a li\nwhole\nnext\n");
    }

    #[test]
    fn a_named_pipe_needs_no_reader_to_begin_with() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let mut log = opened(&path, 1);
        assert_eq!(write(&mut log, "one\n").lost, 0);
        let mut reader = File::open(&path).unwrap();
        let mut got = [0; 4];
        io::Read::read_exact(&mut reader, &mut got).unwrap();
        assert_eq!(&got, b"one\n");
        drop(reader);
        assert_eq!(write(&mut log, "two\n").lost, 0);
        // A full one waits as long as it may.
        let outcome = log.write(&vec![b'\n'; 1 << 20], &mut || false);
        assert!(outcome.lost > 0 && outcome.error.is_some());
    }
}
