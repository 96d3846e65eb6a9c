//! The PID file: tells `-k` and init scripts which process to signal.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use config::{Config, FilePlace};
use rustix::process::{Pid, test_kill_process};

use crate::cli::ServiceName;
use crate::console;

/// Where the file is, or that there is none. Without a line it has the service's name.
pub(crate) fn place(config: &Config, service: &ServiceName) -> Option<PathBuf> {
    match &config.pid_filename {
        FilePlace::Unset => Some(format!("/run/{service}.pid").into()),
        FilePlace::None => None,
        FilePlace::File(path) => Some(path.clone()),
    }
}

/// Our PID file; removed when it is dropped.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
    file: File,
}

/// Why there is no PID file of ours.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// Another one is running.
    #[error("Squall is already running: Found fresh instance PID file ({path}) with PID {pid}")]
    Running {
        /// Its PID file.
        path: String,
        /// Its process id.
        pid: i32,
    },
    /// It can't be written.
    #[error("Cannot write PID file {path}: {reason}")]
    Unwritable {
        /// Where it would be.
        path: String,
        /// Why not.
        reason: io::Error,
    },
}

impl PidFile {
    /// Writes the file; one that a dead process left behind is replaced.
    pub(crate) fn create(path: &Path) -> Result<Self, Refused> {
        if let Ok(pid) = read(path)
            && is_running(pid)
        {
            return Err(Refused::Running {
                path: path.display().to_string(),
                pid: pid.as_raw_nonzero().get(),
            });
        }
        match write(path) {
            Ok(file) => Ok(Self {
                path: path.into(),
                file,
            }),
            Err(reason) => Err(Refused::Unwritable {
                path: path.display().to_string(),
                reason,
            }),
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let ours = read(&self.path).is_ok_and(|pid| pid == rustix::process::getpid());
        if ours && fs::remove_file(&self.path).is_err() {
            // Without root's rights only the file is ours, not its directory. Empty is stale too.
            drop(self.file.set_len(0));
        }
    }
}

/// Why a PID file names no process, in Squid's words.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    /// There is none, or we may not read it.
    #[error("failed to open {0}: {1}")]
    Open(String, String),
    /// There is nothing in it.
    #[error("failed to read {0}: empty file")]
    Empty(String),
    /// There is no number in it.
    #[error("Malformed PID file ({0})")]
    Malformed(String),
    /// It names the first process of the system, or several at once.
    #[error("Bad PID file ({0}) contains unreasonably small PID value: {1}")]
    Small(String, i32),
}

/// The process id in the file.
pub(crate) fn read(path: &Path) -> Result<Pid, Unreadable> {
    let name = || path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| Unreadable::Open(name(), console::reason(&error)))?;
    if text.is_empty() {
        return Err(Unreadable::Empty(name()));
    }
    let number: i32 = text
        .trim()
        .parse()
        .map_err(|_| Unreadable::Malformed(name()))?;
    match Pid::from_raw(number.max(0)) {
        Some(pid) if number > 1 => Ok(pid),
        _ => Err(Unreadable::Small(name(), number)),
    }
}

fn write(path: &Path) -> io::Result<File> {
    // A new file, not the old one's content: whoever may have the old one open keeps it.
    if let Err(error) = fs::remove_file(path)
        && !matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
        )
    {
        return Err(error);
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).open(path)?;
    // Readable for all: `-k` may come from another user, and we may become another one.
    file.set_permissions(Permissions::from_mode(0o644))?;
    writeln!(file, "{}", std::process::id())?;
    Ok(file)
}

/// Does the file name a living proxy? Numbers are reused, in containers at every start, so the
/// process must also have one of our names.
fn is_running(pid: Pid) -> bool {
    pid != rustix::process::getpid()
        && test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
        && fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()))
            .is_ok_and(|name| ["squall", "squid"].contains(&name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_lives_as_long_as_the_program() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("squid.pid");
        let file = PidFile::create(&path).unwrap();
        assert_eq!(read(&path).unwrap(), rustix::process::getpid());
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_dead_process_left_behind_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("squid.pid");
        for stale in ["", "nonsense", "-5", "0", "1", "999999999"] {
            fs::write(&path, stale).unwrap();
            let _file = PidFile::create(&path).unwrap();
            assert_eq!(read(&path).unwrap(), rustix::process::getpid(), "{stale:?}");
        }
    }

    #[test]
    fn what_names_no_process_is_told_in_squids_words() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("squid.pid");
        let missing = read(&path).unwrap_err().to_string();
        assert!(missing.starts_with("failed to open "), "{missing}");
        assert!(
            missing.ends_with(": (2) No such file or directory"),
            "{missing}"
        );
        for (text, begin) in [
            ("", "failed to read "),
            ("x", "Malformed PID file "),
            ("1", "Bad PID file "),
            ("-7", "Bad PID file "),
        ] {
            fs::write(&path, text).unwrap();
            let said = read(&path).unwrap_err().to_string();
            assert!(said.starts_with(begin), "{said}");
        }
    }

    #[test]
    fn the_usual_place_has_the_services_name() {
        let named = crate::cli::tests::args("squid -n edge2").service_name();
        let config = Config::default();
        assert_eq!(place(&config, &named), Some("/run/edge2.pid".into()));
        let usual = ServiceName::default();
        assert_eq!(place(&config, &usual), Some("/run/squid.pid".into()));
    }

    #[test]
    fn a_file_that_another_one_wrote_meanwhile_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("squid.pid");
        let file = PidFile::create(&path).unwrap();
        fs::write(&path, "1\n").unwrap();
        drop(file);
        assert!(path.exists());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error() {
        let error = PidFile::create(Path::new("/nowhere/squid.pid")).unwrap_err();
        assert!(matches!(error, Refused::Unwritable { .. }));
    }
}
