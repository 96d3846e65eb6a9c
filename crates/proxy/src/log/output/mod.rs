//! An open log, of whatever kind. Used by its own thread only: nothing here is waited for by a worker.

mod daemon;
mod file;
mod net;
mod place;
mod pour;
mod syslog;

use std::io;
use std::os::fd::AsFd as _;

use daemon::DaemonLog;
use file::FileLog;
use net::{TcpLog, UdpLog};

pub use file::rename_away;
pub use place::{OpenError, Place};
pub(super) use pour::{MayWait, Outcome};
pub use syslog::{Facility, Priority, Syslog};

/// By whose name lines come to the system's log.
const SYSLOG_TAG: &str = "squid";

/// See the module.
#[derive(Debug)]
pub(super) enum Output {
    File(FileLog),
    Daemon(DaemonLog),
    Syslog(Syslog, Priority),
    Udp(UdpLog),
    Tcp(TcpLog),
}

impl Output {
    /// Opens the log; on rotation `kept` old files are kept. What is far away is only connected to when there is
    /// something to write.
    pub(super) fn open(place: &Place, kept: u32) -> io::Result<Self> {
        Ok(match place {
            Place::Stdout => Self::File(FileLog::given(io::stdout().as_fd())?),
            Place::Stderr => Self::File(FileLog::given(io::stderr().as_fd())?),
            Place::File(path) => Self::File(FileLog::open(path, kept)?),
            Place::Daemon { program, argument } => {
                Self::Daemon(DaemonLog::start(program, argument, kept)?)
            }
            Place::Syslog(facility, priority) => {
                Self::Syslog(Syslog::new(SYSLOG_TAG, *facility), *priority)
            }
            Place::Udp(addr) => Self::Udp(UdpLog::new(addr.clone())),
            Place::Tcp(addr) => Self::Tcp(TcpLog::new(addr.clone())),
        })
    }

    /// Writes whole lines. What can't be written is given up: it must neither stop the proxy nor fill its memory.
    pub(super) fn write(&mut self, lines: &[u8], may_wait: MayWait<'_>) -> Outcome {
        match self {
            Self::File(log) => log.write(lines, may_wait),
            Self::Daemon(log) => log.write(lines, may_wait),
            Self::Syslog(log, priority) => log.write(*priority, lines, may_wait),
            Self::Udp(log) => log.write(lines, may_wait),
            Self::Tcp(log) => log.write(lines, may_wait),
        }
    }

    /// Begins a new file, and keeps old ones.
    pub(super) fn rotate(&mut self, may_wait: MayWait<'_>) -> io::Result<()> {
        match self {
            Self::File(log) => log.rotate(),
            Self::Daemon(log) => log.order(b'R', may_wait),
            Self::Syslog(..) | Self::Udp(_) | Self::Tcp(_) => Ok(()),
        }
    }

    /// Opens the file anew, since another log has renamed it.
    pub(super) fn reopen(&mut self, may_wait: MayWait<'_>) -> io::Result<()> {
        match self {
            Self::File(log) => log.reopen(),
            Self::Daemon(log) => log.order(b'O', may_wait),
            Self::Syslog(..) | Self::Udp(_) | Self::Tcp(_) => Ok(()),
        }
    }
}
