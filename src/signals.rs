//! The signals that ask the program for something.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// `SIGHUP`: read the configuration anew.
    Reload,
    /// `SIGUSR1`: begin new log files.
    Rotate,
    /// `SIGUSR2`: debug, or no more.
    Debug,
    /// `SIGTERM`: let clients finish, then end.
    Drain,
    /// `SIGINT`: end.
    Stop,
    /// `SIGTTIN`: new workers in place of the old ones.
    Restart,
}

/// All signals with a meaning.
#[derive(Debug)]
pub(crate) struct Signals {
    hup: Signal,
    usr1: Signal,
    usr2: Signal,
    term: Signal,
    int: Signal,
    ttin: Signal,
}

impl Signals {
    /// Catches them from now on.
    pub(crate) fn open() -> std::io::Result<Self> {
        let ttin = SignalKind::from_raw(rustix::process::Signal::TTIN.as_raw());
        Ok(Self {
            hup: signal(SignalKind::hangup())?,
            usr1: signal(SignalKind::user_defined1())?,
            usr2: signal(SignalKind::user_defined2())?,
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            ttin: signal(ttin)?,
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.hup.recv() => Asked::Reload,
            _ = self.usr1.recv() => Asked::Rotate,
            _ = self.usr2.recv() => Asked::Debug,
            _ = self.term.recv() => Asked::Drain,
            _ = self.int.recv() => Asked::Stop,
            _ = self.ttin.recv() => Asked::Restart,
        }
    }
}
