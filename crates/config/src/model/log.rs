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
    /// `on-error=drop`: lose lines rather than stop.
    pub drop_on_error: bool,
    /// Where it is written.
    pub place: Place,
}

/// Kind of place that access lines go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogModule {
    /// `none`: what matches is not logged.
    None,
    /// A file, or `-` for standard output (`stdio:`, `daemon:` and bare paths).
    File(PathBuf),
    /// `syslog:`, `udp:` or `tcp:`, as written: nothing is written there yet.
    Other(String),
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
