//! Where access lines go, and in which format.

use std::path::PathBuf;

use super::access::AclRef;
use crate::problem::Place;

/// Where requests are logged when no line says it.
pub const USUAL_PATH: &str = "/var/log/squid/access.log";

/// One `access_log` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLog {
    /// Kind of place.
    pub module: LogModule,
    /// Name of the format; `squid` when none is named.
    pub format: String,
    /// Lines are written when all match; none means: all lines.
    pub acls: Vec<AclRef>,
    /// `rotate=`; `None` follows `logfile_rotate`.
    pub rotate: Option<u32>,
    /// `buffer-size=` in bytes.
    pub buffer_size: Option<u64>,
    /// `on-error=die`: the proxy ends when lines are lost. Not written is `drop`, unlike Squid's.
    pub dies_on_error: bool,
    /// Where it is written.
    pub place: Place,
}

/// Kind of place that access lines go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogModule {
    /// `none`: what matches is not logged.
    None,
    /// A file, or `-` for standard output (`stdio:`, bare paths, and `daemon:` where no `logfile_daemon` of one's own
    /// is named).
    File(PathBuf),
    /// `daemon:PLACE`, for the program that `logfile_daemon` names.
    Daemon(String),
    /// `syslog:FACILITY.PRIORITY`
    Syslog(Facility, Priority),
    /// `udp://HOST:PORT`: a datagram for each line.
    Udp(LogAddr),
    /// `tcp://HOST:PORT`
    Tcp(LogAddr),
}

/// Whom log lines are sent to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogAddr {
    /// Name or address, without brackets.
    pub host: String,
    /// Never 0.
    pub port: u16,
}

impl LogAddr {
    /// Reads `//host:port`; the slashes may be missing.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.strip_prefix("//").unwrap_or(text);
        let (host, port) = text.rsplit_once(':')?;
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        let named = !host.is_empty() && (bare.is_some() || !host.contains(':'));
        let port = port.parse().ok().filter(|&port| port > 0)?;
        named.then(|| Self {
            host: host.to_owned(),
            port,
        })
    }
}

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

    /// Its number on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
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
    #[must_use]
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

    /// Its number on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
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

/// One `logformat` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat {
    /// Name that `access_log` uses.
    pub name: String,
    /// The rest of the line.
    pub text: String,
    /// Where it is written.
    pub place: Place,
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn an_address_has_a_host_and_a_port() {
        let read = |text| LogAddr::of(text).map(|addr| (addr.host, addr.port));
        assert_eq!(read("//log.example:514"), Some(("log.example".into(), 514)));
        assert_eq!(read("192.0.2.1:1"), Some(("192.0.2.1".into(), 1)));
        assert_eq!(
            read("//[2001:db8::1]:514"),
            Some(("2001:db8::1".into(), 514))
        );
        for wrong in [
            "//",
            "//host",
            "//:5",
            "//h:0",
            "//h:x",
            "//2001:db8::1:514",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
