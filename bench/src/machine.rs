//! Where and when the numbers were made.

use std::fs;
use std::process::Command;

use serde::Serialize;

/// The machine, and what ran on it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) date: String,
    pub(crate) commit: String,
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_mib: u64,
    pub(crate) kernel: String,
    /// Runnable processes before we began: other people's work shows here.
    pub(crate) load_before: String,
    /// Server and version.
    pub(crate) versions: Vec<(String, String)>,
}

impl Machine {
    pub(crate) fn read(versions: Vec<(String, String)>) -> Self {
        let cpuinfo = read("/proc/cpuinfo");
        let models: Vec<&str> = cpuinfo
            .lines()
            .filter(|line| line.starts_with("model name"))
            .filter_map(|line| line.split(": ").nth(1))
            .collect();
        let memory = read("/proc/meminfo");
        let total = memory
            .lines()
            .next()
            .and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        Self {
            date: jiff::Zoned::now().strftime("%Y-%m-%d %H:%M %Z").to_string(),
            commit: commit(),
            processor: models.first().copied().unwrap_or("unknown").to_owned(),
            cores: models.len(),
            memory_mib: total.unwrap_or(0u64) >> 10,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            load_before: read("/proc/loadavg")
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned(),
            versions,
        }
    }

    /// In a line, without a dot.
    pub(crate) fn line(&self) -> String {
        format!(
            "{}, commit {}, {} × {}, {} MiB, Linux {}, load before {}",
            self.date,
            self.commit,
            self.cores,
            self.processor,
            self.memory_mib,
            self.kernel,
            self.load_before
        )
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn commit() -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(args)
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])
        .is_some_and(|list| !list.is_empty());
    let commit = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "none".to_owned());
    if changed {
        commit + " and changes"
    } else {
        commit
    }
}
