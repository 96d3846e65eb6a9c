//! A server's folder: how it is configured and started.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use tempfile::TempDir;
use testkit::free_port;

use super::scheme::{Keeps, Program, Scheme};
use crate::process::Tree;

/// How much they may store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) mib: u64,
    pub(crate) rock_mib: u64,
}

/// A server's folder, with its configuration and what it stores.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) port: u16,
    scheme: &'static Scheme,
    program: PathBuf,
    store: String,
    dir: TempDir,
}

impl Home {
    /// Writes the configuration below `place`, and makes what must be there before the first start.
    pub(crate) fn new(
        scheme: &'static Scheme,
        place: &Path,
        origin: u16,
        room: Room,
    ) -> Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix("squall-bench-")
            .tempdir_in(place)?;
        let port = free_port();
        let filled = |text: &str, store: &str| {
            text.replace("@store@", store)
                .replace("@dir@", &dir.path().display().to_string())
                .replace("@port@", &port.to_string())
                .replace("@origin@", &origin.to_string())
                .replace("@mib@", &room.mib.to_string())
                .replace("@rock-mib@", &room.rock_mib.to_string())
        };
        // Some give up root's rights before they open their files.
        let cache = dir.path().join("cache");
        fs::create_dir(&cache)?;
        for path in [dir.path(), cache.as_path()] {
            fs::set_permissions(path, Permissions::from_mode(0o777))?;
        }
        let store = filled(scheme.store, "");
        for (name, text) in scheme.program.templates() {
            fs::write(dir.path().join(name), filled(text, &store))?;
        }
        let home = Self {
            port,
            scheme,
            program: scheme.program.path()?,
            store,
            dir,
        };
        if scheme.keeps == Keeps::Disk {
            home.make()?;
        }
        Ok(home)
    }

    /// Makes the directories of a `cache_dir`.
    fn make(&self) -> Result<()> {
        let name = self.service();
        let args = match self.scheme.program {
            Program::Squall => vec!["-z", "-N", "-f"],
            Program::Squid | Program::SquidWithDaemons => vec!["-z", "-N", "-n", &name, "-f"],
            Program::Nginx | Program::Varnish | Program::TrafficServer => return Ok(()),
        };
        let made = Command::new(&self.program)
            .args(args)
            .arg(self.path("squid.conf"))
            .output()?;
        let told = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "-z: {told}");
        Ok(())
    }

    /// Starts the server on core 0.
    pub(crate) fn start(&self) -> Result<Tree> {
        self.start_in(|command| command)
    }

    /// Starts it by a command around its own.
    pub(crate) fn start_in(&self, around: impl FnOnce(Vec<String>) -> Vec<String>) -> Result<Tree> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.path("output"))?;
        Tree::start("0", &around(self.command()), log)
    }

    fn command(&self) -> Vec<String> {
        let path = |name| self.path(name).display().to_string();
        let name = self.service();
        let (before, args) = match self.scheme.program {
            Program::Squall => (vec![], vec!["-N".into(), "-f".into(), path("squid.conf")]),
            Program::Squid | Program::SquidWithDaemons => {
                let mode = match self.scheme.program {
                    Program::Squid => "-N",
                    _ => "--foreground",
                };
                let args = [mode, "-n", &name, "-f", &path("squid.conf")];
                (vec![], args.map(str::to_owned).to_vec())
            }
            Program::Nginx => (
                vec![],
                vec!["-p".into(), path(""), "-c".into(), path("nginx.conf")],
            ),
            Program::Varnish => {
                let listen = format!("127.0.0.1:{}", self.port);
                let work = path("varnish");
                let args = [
                    "-F",
                    "-j",
                    "none",
                    "-n",
                    &work,
                    "-a",
                    &listen,
                    "-f",
                    &path("varnish.vcl"),
                    "-s",
                    &self.store,
                    "-p",
                    "thread_pools=1",
                ];
                (vec![], args.map(str::to_owned).to_vec())
            }
            Program::TrafficServer => {
                let root = format!("TS_RUNROOT={}", path("runroot.yaml"));
                (vec!["env".to_owned(), root], vec![])
            }
        };
        let program = self.program.display().to_string();
        before.into_iter().chain([program]).chain(args).collect()
    }

    /// What Squid calls itself. Those of one name share memory.
    pub(crate) fn service(&self) -> String {
        format!("bench{}", self.port)
    }

    /// A file of its folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What it said so far.
    pub(crate) fn told(&self) -> String {
        ["output", "cache.log", "error.log", "diags.log"]
            .iter()
            .filter_map(|name| fs::read_to_string(self.path(name)).ok())
            .collect()
    }
}
