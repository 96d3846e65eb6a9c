//! Limits of the process: memory, open files, file mode mask, working directory.

use std::path::Path;
use std::time::Duration;

use config::Config;
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use rustix::thread::disable_transparent_huge_pages;

/// How long memory that is free waits to be used again before the system gets it. Longer, what comes and goes by the second
/// would stay; given back at once, it costs a tenth more of the processor to get it again each time.
const FREE_MEMORY_WAITS: Duration = Duration::from_millis(100);

/// Sets them all; what can't be set is said, and is no reason to stop.
pub(crate) fn set(config: &Config) -> Vec<String> {
    let mut told = Vec::new();
    sys::heap::set_delay(FREE_MEMORY_WAITS);
    // Many of our blocks are hardly touched: a large page for them would be memory for nothing. A kernel without large pages
    // has nothing to disable.
    disable_transparent_huge_pages(true).unwrap_or_default();
    // The configuration's mask is the least one: what the caller masks stays masked.
    let wanted = Mode::from_raw_mode(config.umask);
    let before = umask(wanted);
    umask(wanted | before);
    if let Err(error) = raise_open_files(config.max_filedescriptors) {
        told.push(format!("cannot raise the limit of open files: {error}"));
    }
    if let Some(dir) = &config.coredump_dir
        && dir != Path::new("none")
        && let Err(error) = std::env::set_current_dir(dir)
    {
        told.push(format!(
            "cannot change to coredump_dir {}: {error}",
            dir.display()
        ));
    }
    told
}

/// The limit of open files that holds now.
pub(crate) fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the limit to what was asked for, or else to the most that is allowed. Nothing is sized
/// by it: a limit of a thousand million costs no memory.
fn raise_open_files(asked: Option<u32>) -> rustix::io::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let asked = asked.filter(|&asked| asked > 0).map(u64::from);
    let current = asked.or(maximum);
    // Root may go beyond the hard limit.
    let higher = Rlimit {
        current,
        maximum: maximum.zip(current).map(|(max, asked)| max.max(asked)),
    };
    let most = Rlimit {
        current: current.zip(maximum).map(|(asked, max)| asked.min(max)),
        maximum,
    };
    setrlimit(Resource::Nofile, higher).or_else(|_| setrlimit(Resource::Nofile, most))
}
