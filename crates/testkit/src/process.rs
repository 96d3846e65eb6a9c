//! What the kernel says about a running process.

use std::fs;
use std::time::Duration;

/// Memory and processor time of a process, all its threads together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Memory in use, in KiB.
    pub rss_kib: u64,
    /// Time spent in the program itself.
    pub user: Duration,
    /// Time that the kernel spent for it.
    pub system: Duration,
    /// Number of threads.
    pub threads: u64,
}

/// What process `pid` has used so far; none if it is gone.
#[must_use]
pub fn usage(pid: u32) -> Option<Usage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold blanks; the numbers start after it with field 3.
    let (_, after) = stat.rsplit_once(')')?;
    let field =
        |number: usize| -> Option<u64> { after.split_whitespace().nth(number - 3)?.parse().ok() };
    // The kernel counts in hundredths of a second towards programs, whatever its own tick.
    let time = |number| field(number).map(|ticks| Duration::from_millis(ticks * 10));
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let rss = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(Usage {
        rss_kib: rss.trim().trim_end_matches(" kB").parse().ok()?,
        user: time(14)?,
        system: time(15)?,
        threads: field(20)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_usage_can_be_read() {
        let usage = usage(std::process::id()).unwrap();
        assert!(usage.rss_kib > 0 && usage.threads > 0, "{usage:?}");
    }
}
