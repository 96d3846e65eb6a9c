//! Where a log goes.

use std::fmt;
use std::io;
use std::path::PathBuf;

use config::LogAddr;

use super::syslog::{Facility, Priority};

/// Where a log is written to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A file, opened for appending.
    File(PathBuf),
    /// A program that is told where by its argument (`logfile_daemon`).
    Daemon {
        /// The program.
        program: PathBuf,
        /// Its argument.
        argument: String,
    },
    /// The system's log.
    Syslog(Facility, Priority),
    /// A datagram for each line.
    Udp(LogAddr),
    /// A connection.
    Tcp(LogAddr),
}

impl Place {
    /// The file of that path. `-` and `/dev/stdout` are standard output, `/dev/stderr` is standard error.
    pub fn file(path: PathBuf) -> Self {
        match path.to_str() {
            Some("-" | "/dev/stdout") => Self::Stdout,
            Some("/dev/stderr") => Self::Stderr,
            _ => Self::File(path),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::Stderr => f.write_str("standard error"),
            Self::File(path) => path.display().fmt(f),
            // Its argument may hold a password for a database.
            Self::Daemon { program, .. } => write!(f, "daemon {}", program.display()),
            Self::Syslog(..) => f.write_str("syslog"),
            Self::Udp(LogAddr { host, port }) => write!(f, "udp://{host}:{port}"),
            Self::Tcp(LogAddr { host, port }) => write!(f, "tcp://{host}:{port}"),
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
