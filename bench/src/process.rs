//! A server's processes: started on chosen cores, their time added up, ended by their ids.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Sub;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use testkit::until_within;

use crate::helper;

/// A child process and its descendants. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Tree {
    child: Child,
}

/// Processor time and memory of a whole tree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Microseconds in the program itself.
    pub(crate) user: u64,
    /// Microseconds of the kernel on its behalf.
    pub(crate) system: u64,
    /// Memory of all processes, shared pages counted once per process.
    pub(crate) rss_kib: u64,
}

/// Bytes that went between memory and disk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DiskBytes {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

impl Sub for Usage {
    type Output = Self;

    /// Time between two readings; the memory of the later one.
    fn sub(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            rss_kib: self.rss_kib,
        }
    }
}

impl Usage {
    /// User and system time together.
    pub(crate) fn time(self) -> u64 {
        self.user + self.system
    }
}

/// Processor time, in microseconds, of everything on this machine since it started.
pub(crate) fn machine_time() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = stat
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1);
    let fields: Vec<u64> = all.map(|word| word.parse().unwrap_or(0)).collect();
    // user, nice, system, idle, iowait, irq, softirq: all but the two idle ones.
    let busy = fields
        .iter()
        .take(7)
        .enumerate()
        .filter(|(place, _)| ![3, 4].contains(place));
    busy.map(|(_, ticks)| ticks * 10_000).sum()
}

/// Processor time, in microseconds, of our own children that have ended.
pub(crate) fn ended_children_time() -> u64 {
    Stat::read(std::process::id()).map_or(0, |stat| (stat.number(16) + stat.number(17)) * 10_000)
}

/// Processor time, in microseconds, of this process.
pub(crate) fn own_time() -> u64 {
    Stat::read(std::process::id()).map_or(0, |stat| (stat.number(14) + stat.number(15)) * 10_000)
}

impl Tree {
    /// Starts `command` on these cores (as `taskset -c` names them), its output going to `log`.
    pub(crate) fn start(cores: &str, command: &[String], log: fs::File) -> Result<Self> {
        // However we end, the server ends with us.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "taskset", "-c", cores])
            .args(command)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", command.join(" ")))?;
        Ok(Self { child })
    }

    /// Has it ended by itself?
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends all of it at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        for pid in tree(self.child.id()) {
            signal(pid, Signal::KILL);
        }
        drop(self.child.wait());
    }

    /// Asks it to end, and waits for so long.
    pub(crate) fn stop(&mut self, most: Duration) {
        let pids = tree(self.child.id());
        signal(self.child.id(), Signal::TERM);
        let gone = until_within(most, || self.has_ended().then_some(()));
        if gone.is_none() {
            pids.into_iter().for_each(|pid| signal(pid, Signal::KILL));
            drop(self.child.wait());
        }
    }

    /// Bytes that it made the disk read and write so far.
    pub(crate) fn disk_bytes(&self) -> DiskBytes {
        let told: String = tree(self.child.id())
            .into_iter()
            .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/io")).ok())
            .collect();
        let sum = |name: &str| {
            let lines = told.lines().filter_map(|line| line.strip_prefix(name));
            lines.filter_map(|number| number.parse::<u64>().ok()).sum()
        };
        DiskBytes {
            read: sum("read_bytes: "),
            written: sum("write_bytes: "),
        }
    }

    /// Files in this directory that it has mapped.
    pub(crate) fn mapped_in(&self, dir: &str) -> BTreeSet<PathBuf> {
        let told: String = tree(self.child.id())
            .into_iter()
            .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/maps")).ok())
            .collect();
        let places = told.lines().filter_map(|line| line.get(line.find(dir)?..));
        places.map(PathBuf::from).collect()
    }

    /// What the tree has used so far, helpers left out.
    pub(crate) fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for pid in tree(self.child.id()) {
            let Some(stat) = Stat::read(pid).filter(|_| !is_helper(pid)) else {
                continue;
            };
            // Children that have ended and were waited for count with their parent.
            sum.user += (stat.number(14) + stat.number(16)) * 10_000;
            sum.system += (stat.number(15) + stat.number(17)) * 10_000;
            sum.rss_kib += stat.number(24) * 4;
        }
        sum
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.stop(Duration::from_secs(5));
        }
    }
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // Gone already is as good.
        let _ = kill_process(pid, signal);
    }
}

/// Is it the helper of an external ACL, which is the same for all servers?
fn is_helper(pid: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| name.trim_end() == helper::NAME)
}

/// `root` and all that descend from it.
fn tree(root: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: Vec<(u32, u64)> = pids
        .filter_map(|pid| Some((pid, Stat::read(pid)?.number(4))))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = parents.iter().filter(|(_, of)| *of == u64::from(parent));
        found.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

/// A line of `/proc/PID/stat`, after the name: numbers as proc(5) counts them, from field 3.
struct Stat(String);

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        Self::read_at(&format!("/proc/{pid}/stat"))
    }

    fn read_at(path: &str) -> Option<Self> {
        let line = fs::read_to_string(path).ok()?;
        Some(Self(line.rsplit_once(')')?.1.to_owned()))
    }

    fn number(&self, field: usize) -> u64 {
        self.0
            .split_whitespace()
            .nth(field - 3)
            .and_then(|word| word.parse().ok())
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_holds_children_and_ends_with_its_root() {
        let log = tempfile::tempfile().unwrap();
        let command = ["sh", "-c", "sleep 60 & wait"].map(str::to_owned);
        let started = Tree::start("0", &command, log).unwrap();
        let pids = until_within(Duration::from_secs(10), || {
            Some(tree(started.child.id())).filter(|pids| pids.len() == 2)
        });
        assert!(pids.is_some());
        let root = started.child.id();
        drop(started);
        assert!(Stat::read(root).is_none());
        for pid in pids.unwrap_or_default() {
            signal(pid, Signal::KILL);
        }
    }

    #[test]
    fn our_own_numbers_can_be_read() {
        assert!(Stat::read(std::process::id()).unwrap().number(24) > 0);
    }
}
