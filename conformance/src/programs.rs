//! The two programs, started alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::{Builder, Program, WAIT, is_listening, until_within};

/// Where Debian has it.
pub const SQUID: &str = "/usr/sbin/squid";

/// Lines that keep both programs small and quiet, and give them the same names.
const COMMON: &str = "\
visible_hostname proxy.test
dns_nameservers 127.0.0.1
dns_timeout 1 second
coredump_dir {dir}
workers 1
shutdown_lifetime 0 seconds
";

/// Squid's alone: what we don't have, or have no use for.
const SQUIDS: &str =
    "pinger_enable off\nnetdb_filename none\nminimum_direct_hops 0\nminimum_direct_rtt 0\n";

/// What both write to the cache log once they have read their rules.
const ACCEPTS: &str = "Accepting HTTP Socket connections";

static NAMES: AtomicUsize = AtomicUsize::new(0);

/// The two programs.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Ours.
    pub squall: PathBuf,
    /// The other.
    pub squid: PathBuf,
}

/// Which of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Squid,
    Squall,
}

impl Side {
    /// How to start it with these lines, beside others of its kind.
    pub(crate) fn builder(self, binary: &Path, service: &Service, conf: &str) -> Builder {
        let extra = match self {
            Self::Squid => SQUIDS,
            Self::Squall => "",
        };
        Program::builder(&format!("{COMMON}{extra}{conf}"))
            .binary(binary)
            .arg("-n")
            .arg(service.name())
    }
}

/// A name that keeps a program apart from others. Squid leaves its segments of shared memory behind when it is killed:
/// they go with the name.
#[derive(Debug)]
pub(crate) struct Service(String);

impl Default for Service {
    fn default() -> Self {
        let number = NAMES.fetch_add(1, Ordering::Relaxed);
        Self(format!("conf{}x{number}", process::id()))
    }
}

impl Service {
    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let files = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        for file in files {
            let name = file.file_name();
            let ours = name
                .to_str()
                .and_then(|name| name.strip_prefix(&self.0))
                .is_some_and(|rest| rest.starts_with('-'));
            if ours {
                drop(fs::remove_file(file.path()));
            }
        }
    }
}

/// Waits until the program says that it accepts connections, and does at all these ports, or has ended.
pub(crate) fn serves(program: &mut Program, ports: &[u16]) -> bool {
    let fate = until_within(WAIT, || {
        let gone = program.try_wait().is_some();
        let says = || program.read("cache.log").contains(ACCEPTS);
        let open = !gone && says() && ports.iter().all(|port| is_listening(*port));
        (gone || open).then_some(open)
    });
    fate == Some(true)
}
