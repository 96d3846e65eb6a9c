//! The load: wrk, and what it tells at the end.

use std::io::Write;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tempfile::NamedTempFile;

use crate::workload::Workload;

/// What wrk saw.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    pub(crate) micros: u64,
    pub(crate) bytes: u64,
    pub(crate) connect_errors: u64,
    pub(crate) read_errors: u64,
    pub(crate) write_errors: u64,
    pub(crate) status_errors: u64,
    pub(crate) timeouts: u64,
    /// Microseconds.
    pub(crate) p50: u64,
    pub(crate) p99: u64,
}

impl Seen {
    /// Failed requests; a refusal that was asked for is none.
    pub(crate) fn errors(&self, workload: &Workload) -> u64 {
        let refused = if workload.status() == 403 {
            0
        } else {
            self.status_errors
        };
        self.connect_errors + self.read_errors + self.write_errors + self.timeouts + refused
    }

    /// Requests completed. Large ones are counted by their bytes, since many are under way at the end.
    #[expect(clippy::cast_precision_loss, reason = "a measurement")]
    pub(crate) fn completed(&self, workload: &Workload) -> f64 {
        match workload.size {
            size if size >= 1 << 20 => self.bytes as f64 / size as f64,
            _ => self.requests as f64,
        }
    }
}

/// The generator, pinned to its cores.
pub(crate) struct Load {
    script: NamedTempFile,
    pub(crate) cores: &'static str,
    pub(crate) threads: u32,
    pub(crate) seconds: u32,
}

impl Load {
    pub(crate) fn new(cores: &'static str, threads: u32, seconds: u32) -> Result<Self> {
        let mut script = NamedTempFile::with_suffix(".lua")?;
        script.write_all(include_bytes!("../load.lua"))?;
        Ok(Self {
            script,
            cores,
            threads,
            seconds,
        })
    }

    /// Runs `workload` against 127.0.0.1:`port`.
    pub(crate) fn run(&self, workload: &Workload, connections: u32, port: u16) -> Result<Seen> {
        let output = Command::new("taskset")
            .args(["-c", self.cores, "wrk", "--timeout", "30s"])
            .arg(format!("-t{}", self.threads))
            .arg(format!("-c{connections}"))
            .arg(format!("-d{}s", self.seconds.max(workload.seconds_min)))
            .arg("-s")
            .arg(self.script.path())
            .arg(format!("http://127.0.0.1:{port}/"))
            .arg("--")
            .args([
                if workload.close { "close" } else { "keep" },
                &workload.path(),
                &workload.pool.to_string(),
            ])
            .output()
            .context("cannot start wrk; Debian package wrk")?;
        let told = String::from_utf8_lossy(&output.stdout);
        let Some(line) = told.lines().find(|line| line.starts_with("{\"requests\"")) else {
            bail!("wrk: {told}{}", String::from_utf8_lossy(&output.stderr));
        };
        Ok(serde_json::from_str(line)?)
    }
}
