//! The suite as npm installs it: where it is, its origin, its client.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tempfile::TempDir;
use testkit::{Client, WAIT, free_port, is_listening, until_within};

use super::Outcome;

/// The one that the table speaks of; `xtask` installs it.
const VERSION: &str = "0.4.5";

/// The longest that a run may take; it takes a fifth of this when the machine has nothing else to do.
const RUN: Duration = Duration::from_secs(90);

/// Requests that an origin gets before it counts: the first few take it a hundred times as long as all others.
const WARM_UP: usize = 50;

/// The suite, installed.
#[derive(Clone, Debug)]
pub struct Suite {
    folder: PathBuf,
}

/// What the suite lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The program that runs it.
    Node,
    /// The suite itself, which should be in this folder.
    Suite(PathBuf),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node => write!(f, "node isn't installed"),
            Self::Suite(folder) => write!(
                f,
                "no http-cache-tests {VERSION} in {}; `cargo xtask test` and `cargo xtask conformance` install it with npm",
                folder.display()
            ),
        }
    }
}

#[derive(Deserialize)]
struct Package {
    version: String,
}

impl Suite {
    /// The suite in the folder where `xtask` installs it.
    ///
    /// # Errors
    /// What is missing.
    pub fn find() -> Result<Self, Missing> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let folder = root.join(target).join("cache-tests");
        let manifest = fs::read(folder.join("node_modules/http-cache-tests/package.json"));
        let package = manifest
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Package>(&bytes).ok());
        if package.is_none_or(|package| package.version != VERSION) {
            return Err(Missing::Suite(folder));
        }
        let node = node().arg("--version").stdout(Stdio::null()).status();
        if !node.is_ok_and(|status| status.success()) {
            return Err(Missing::Node);
        }
        Ok(Self { folder })
    }

    /// Starts an origin, and warms it up.
    pub(crate) fn origin(&self) -> Result<Origin> {
        let dir = tempfile::tempdir()?;
        let port = free_port();
        let child = node()
            .arg("server/server.mjs")
            .current_dir(self.folder.join("node_modules/http-cache-tests"))
            .env("npm_config_protocol", "http")
            .env("npm_config_port", port.to_string())
            .env("npm_config_pidfile", dir.path().join("pid"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start the suite's origin")?;
        let origin = Origin {
            _process: Ended(child),
            port,
            _dir: dir,
        };
        if until_within(WAIT, || is_listening(port).then_some(())).is_none() {
            bail!("the suite's origin doesn't listen");
        }
        for _ in 0..WARM_UP {
            Client::connect(([127, 0, 0, 1], port).into()).get("/state/warm-up");
        }
        Ok(origin)
    }

    /// Runs the tests against this port, through the proxy at that one.
    pub(crate) fn drive(&self, base: u16, proxy: Option<u16>) -> Result<Vec<Outcome>> {
        let dir = tempfile::tempdir()?;
        let output = dir.path().join("outcomes");
        let child = node()
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("cache-tests/run.mjs"))
            .arg(&self.folder)
            .arg(format!("http://127.0.0.1:{base}"))
            .arg(proxy.map_or("-".to_owned(), |port| format!("127.0.0.1:{port}")))
            .stdin(Stdio::null())
            .stdout(File::create(&output)?)
            .spawn()
            .context("cannot start the suite's client")?;
        let mut child = Ended(child);
        let Some(status) = until_within(RUN, || child.0.try_wait().ok().flatten()) else {
            bail!("the suite didn't end within {RUN:?}: some request was never answered");
        };
        if !status.success() {
            bail!("the suite's client: {status}");
        }
        serde_json::from_slice(&fs::read(&output)?).context("what the suite's client printed")
    }
}

fn node() -> Command {
    let mut command = Command::new("node");
    // A colour in its messages would be one in ours.
    command.env("NO_COLOR", OsStr::new("1"));
    command
}

/// The suite's origin, running.
#[derive(Debug)]
pub(crate) struct Origin {
    // Ended before its folder goes.
    _process: Ended,
    port: u16,
    _dir: TempDir,
}

impl Origin {
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// A process that ends with its owner.
#[derive(Debug)]
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone then.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
