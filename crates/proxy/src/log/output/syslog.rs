//! Lines to the system's log: a datagram per line to `/dev/log`, in the local form of RFC 3164
//! (`<134>Nov 20 10:00:00 squid[77]: text`). Used by the cache log, which never waits, and for
//! access logs.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

pub use config::log::{Facility, Priority};
use jiff::{Timestamp, tz::TimeZone};

use super::pour::{MayWait, Outcome, is_writable};

/// Where the system's log listens.
const USUAL_PATH: &str = "/dev/log";
/// Longer lines are cut there: most receivers take no more.
const TEXT_BYTES_MAX: usize = 8 << 10;
/// How often a receiver without room is waited for, a slice each time, before the line is lost.
const FULL_SLICES_MAX: u32 = 50;

/// The way to the system's log. It is opened with the first line, and anew after a failure: the
/// system may restart its log while we run.
#[derive(Debug)]
pub struct Syslog {
    path: PathBuf,
    facility: Facility,
    tag: String,
    zone: TimeZone,
    socket: Option<UnixDatagram>,
}

impl Syslog {
    /// Lines will come from `program`, by its name and process id.
    pub fn new(program: &str, facility: Facility) -> Self {
        Self::at(Path::new(USUAL_PATH), program, facility)
    }

    /// The same, where the system's log listens elsewhere.
    pub fn at(path: &Path, program: &str, facility: Facility) -> Self {
        Self {
            path: path.into(),
            facility,
            tag: format!("{program}[{}]", std::process::id()),
            zone: TimeZone::system(),
            socket: None,
        }
    }

    /// Sends a line. One that the receiver has no room for is lost: nobody waits for it.
    ///
    /// # Errors
    /// Why the line is lost.
    pub fn send(&mut self, priority: Priority, text: &str) -> io::Result<()> {
        let line = self.line(priority, text.as_bytes());
        self.send_line(&line)
    }

    fn send_line(&mut self, line: &[u8]) -> io::Result<()> {
        match self.try_send(line) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                self.socket = None;
                self.try_send(line)
            }
            sent => sent,
        }
    }

    /// Sends lines; waits for room as long as it may, up to [`FULL_SLICES_MAX`], and once: who has none for a line by
    /// then is asked for each of the rest without a wait.
    pub(super) fn write(
        &mut self,
        priority: Priority,
        lines: &[u8],
        may_wait: MayWait<'_>,
    ) -> Outcome {
        let mut lost = Outcome::DONE;
        for text in lines.split_inclusive(|&byte| byte == b'\n') {
            let line = self.line(priority, text);
            let sent = match lost.error {
                None => self.send_waiting(&line, may_wait),
                Some(_) => self.send_line(&line),
            };
            if let Err(error) = sent {
                lost.lost += 1;
                lost.error = Some(error);
            }
        }
        lost
    }

    fn send_waiting(&mut self, line: &[u8], may_wait: MayWait<'_>) -> io::Result<()> {
        let mut waits = 0;
        loop {
            let sent = self.send_line(line);
            let full = matches!(&sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
            let Some(socket) = self.socket.as_ref().filter(|_| full) else {
                return sent;
            };
            if !is_writable(socket)? {
                waits += 1;
                if waits > FULL_SLICES_MAX || !may_wait() {
                    return sent;
                }
            }
        }
    }

    fn try_send(&mut self, line: &[u8]) -> io::Result<()> {
        if self.socket.is_none() {
            let socket = UnixDatagram::unbound()?;
            socket.set_nonblocking(true)?;
            socket.connect(&self.path)?;
            self.socket = Some(socket);
        }
        match &self.socket {
            Some(socket) => socket.send(line).map(drop),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn line(&self, priority: Priority, text: &[u8]) -> Vec<u8> {
        let code = u16::from(self.facility.code()) * 8 + u16::from(priority.code());
        let now = Timestamp::now().to_zoned(self.zone.clone());
        let stamp = now.strftime("%b %e %H:%M:%S");
        let mut line = format!("<{code}>{stamp} {}: ", self.tag).into_bytes();
        line.extend_from_slice(text.trim_ascii_end());
        line.truncate(TEXT_BYTES_MAX);
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(socket: &UnixDatagram) -> String {
        let mut bytes = vec![0; 2 * TEXT_BYTES_MAX];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    #[test]
    fn a_line_has_the_form_of_rfc_3164() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let system = UnixDatagram::bind(&path).unwrap();
        let mut log = Syslog::at(&path, "squid", Facility::Local(4));
        log.send(Priority::Notice, "Ready to serve requests.\n")
            .unwrap();
        let line = receive(&system);
        let (before, after) = line.split_at("<165>Nov 20 10:00:00".len());
        assert!(before.starts_with("<165>") && before.ends_with(|c: char| c.is_ascii_digit()));
        let pid = std::process::id();
        assert_eq!(after, format!(" squid[{pid}]: Ready to serve requests."));
    }

    #[test]
    fn a_system_log_that_comes_back_gets_the_next_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut log = Syslog::at(&path, "squid", Facility::Daemon);
        log.send(Priority::Info, "nobody").unwrap_err();
        let first = UnixDatagram::bind(&path).unwrap();
        log.send(Priority::Info, "one").unwrap();
        assert!(receive(&first).ends_with(": one"));
        drop(first);
        std::fs::remove_file(&path).unwrap();
        let second = UnixDatagram::bind(&path).unwrap();
        log.send(Priority::Info, "two").unwrap();
        assert!(receive(&second).ends_with(": two"));
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let log = Syslog::new("squid", Facility::User);
        let long = log.line(Priority::Debug, "x".repeat(1 << 20).as_bytes());
        assert_eq!(long.len(), TEXT_BYTES_MAX);
        assert!(long.starts_with(b"<15>"));
    }

    #[test]
    fn lines_wait_for_room() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let system = UnixDatagram::bind(&path).unwrap();
        let mut log = Syslog::at(&path, "squid", Facility::User);
        let lines = "x\n".repeat(2000);
        // It has room for fewer than that, until someone reads.
        let mut got = 0;
        let mut reads = || {
            system.set_nonblocking(true).unwrap();
            while system.recv(&mut [0; 200]).is_ok() {
                got += 1;
            }
            true
        };
        assert_eq!(
            log.write(Priority::Info, lines.as_bytes(), &mut reads).lost,
            0
        );
        while system.recv(&mut [0; 200]).is_ok() {
            got += 1;
        }
        assert_eq!(got, 2000);
        let outcome = log.write(Priority::Info, lines.as_bytes(), &mut || false);
        assert!(outcome.lost > 0 && outcome.lost < 2000);
    }
}
