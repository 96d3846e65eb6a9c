//! Lines to the system's log: a datagram per line to `/dev/log`, in the local form of RFC 3164
//! (`<134>Nov 20 10:00:00 squid[77]: text`). Used by the cache log; nothing here waits.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use jiff::{Timestamp, tz::TimeZone};

/// Where the system's log listens.
const USUAL_PATH: &str = "/dev/log";
/// Longer lines are cut there: most receivers take no more.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// The part of a system that a line comes from (RFC 3164 §4.1.1): those that Squid knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Facility {
    /// `user`
    User,
    /// `daemon`
    Daemon,
    /// `authpriv`
    AuthPriv,
    /// `local0` to `local7`.
    Local(u8),
}

impl Facility {
    /// Reads a name as the command line and `access_log syslog:` write it.
    ///
    /// # Errors
    /// Squid's words for a name that it doesn't know.
    pub fn of(text: &str) -> Result<Self, String> {
        let local = || match text.strip_prefix("local")?.as_bytes() {
            [digit @ b'0'..=b'7'] => Some(Self::Local(digit - b'0')),
            _ => None,
        };
        match text {
            "user" => Ok(Self::User),
            "daemon" => Ok(Self::Daemon),
            "auth" | "authpriv" => Ok(Self::AuthPriv),
            _ => local().ok_or_else(|| format!("unknown syslog facility '{text}'")),
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::User => 1,
            Self::Daemon => 3,
            Self::AuthPriv => 10,
            Self::Local(number) => 16 + number % 8,
        }
    }
}

/// How much a line matters (RFC 3164 §4.1.1, there called severity).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Somebody must act at once.
    Alert,
    /// `err`
    Error,
    /// `warning`
    Warning,
    /// `notice`
    Notice,
    /// `info`
    Info,
    /// `debug`
    Debug,
}

impl Priority {
    /// Reads a name as `access_log syslog:FACILITY.PRIORITY` writes it.
    pub fn of(text: &str) -> Option<Self> {
        Some(match text {
            "alert" => Self::Alert,
            "err" => Self::Error,
            "warning" => Self::Warning,
            "notice" => Self::Notice,
            "info" => Self::Info,
            "debug" => Self::Debug,
            _ => return None,
        })
    }

    const fn code(self) -> u8 {
        match self {
            Self::Alert => 1,
            Self::Error => 3,
            Self::Warning => 4,
            Self::Notice => 5,
            Self::Info => 6,
            Self::Debug => 7,
        }
    }
}

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
        let line = self.line(priority, text);
        let sent = self.try_send(&line);
        match sent {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                self.socket = None;
                self.try_send(&line)
            }
            sent => sent,
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

    fn line(&self, priority: Priority, text: &str) -> Vec<u8> {
        let code = u16::from(self.facility.code()) * 8 + u16::from(priority.code());
        let now = Timestamp::now().to_zoned(self.zone.clone());
        let stamp = now.strftime("%b %e %H:%M:%S");
        let mut line = format!("<{code}>{stamp} {}: {}", self.tag, text.trim_end()).into_bytes();
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
        let long = log.line(Priority::Debug, &"x".repeat(1 << 20));
        assert_eq!(long.len(), TEXT_BYTES_MAX);
        assert!(long.starts_with(b"<15>"));
    }

    #[test]
    fn names_are_squids() {
        let check = |name: &str, code: u8| assert_eq!(Facility::of(name).unwrap().code(), code);
        check("user", 1);
        check("daemon", 3);
        check("authpriv", 10);
        check("local0", 16);
        check("local7", 23);
        for wrong in ["local8", "local", "local44", "kernel", ""] {
            let said = Facility::of(wrong).unwrap_err();
            assert_eq!(said, format!("unknown syslog facility '{wrong}'"));
        }
        assert_eq!(Priority::of("err"), Some(Priority::Error));
        assert_eq!(Priority::of("loud"), None);
    }
}
