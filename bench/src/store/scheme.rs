//! Who stores, and how: a row for each server and each of its ways, and how it is configured and started.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use tempfile::TempDir;
use testkit::free_port;

use crate::process::Tree;
use crate::server::{Server, installed, said};

/// The programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Squall,
    /// Without daemons, or, if it has a process for its disk, with them.
    Squid,
    SquidWithDaemons,
    Nginx,
    Varnish,
    TrafficServer,
}

/// Where what it stores is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// On disk, so that it outlives the process.
    Disk,
    /// In memory of the process, or in a file mapped there: gone with it.
    Memory,
    /// In 8 MB of memory.
    Little,
}

/// A row of the comparison.
#[derive(Debug)]
pub(crate) struct Scheme {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) program: Program,
    pub(crate) keeps: Keeps,
    /// The line of the configuration, or the argument, that says where.
    store: &'static str,
}

const fn scheme(
    name: &'static str,
    title: &'static str,
    program: Program,
    keeps: Keeps,
    store: &'static str,
) -> Scheme {
    Scheme {
        name,
        title,
        program,
        keeps,
        store,
    }
}

pub(crate) const SCHEMES: &[Scheme] = &[
    // coss, aufs, ufs and diskd are the same.
    scheme(
        "squall",
        "Squall",
        Program::Squall,
        Keeps::Disk,
        "cache_dir rock @dir@/cache @mib@",
    ),
    scheme(
        "squid-aufs",
        "Squid aufs",
        Program::Squid,
        Keeps::Disk,
        "cache_dir aufs @dir@/cache @mib@ 16 256",
    ),
    scheme(
        "squid-ufs",
        "Squid ufs",
        Program::Squid,
        Keeps::Disk,
        "cache_dir ufs @dir@/cache @mib@ 16 256",
    ),
    scheme(
        "squid-diskd",
        "Squid diskd",
        Program::Squid,
        Keeps::Disk,
        "cache_dir diskd @dir@/cache @mib@ 16 256",
    ),
    scheme(
        "squid-rock",
        "Squid rock",
        Program::SquidWithDaemons,
        Keeps::Disk,
        "cache_dir rock @dir@/cache @rock-mib@",
    ),
    scheme("nginx", "nginx", Program::Nginx, Keeps::Disk, ""),
    scheme(
        "trafficserver",
        "Traffic Server",
        Program::TrafficServer,
        Keeps::Disk,
        "",
    ),
    scheme(
        "varnish-file",
        "Varnish file",
        Program::Varnish,
        Keeps::Memory,
        "file,@dir@/cache/file,@mib@m",
    ),
    scheme(
        "varnish-malloc",
        "Varnish malloc",
        Program::Varnish,
        Keeps::Memory,
        "malloc,@mib@m",
    ),
    scheme(
        "squall-null",
        "Squall null",
        Program::Squall,
        Keeps::Little,
        "",
    ),
    scheme(
        "squid-null",
        "Squid null",
        Program::Squid,
        Keeps::Little,
        "",
    ),
];

/// A file that a server reads: its name, and what it begins as.
type Template = (&'static str, &'static str);

impl Program {
    pub(crate) fn path(self) -> Result<PathBuf> {
        match self {
            Self::Squall => Server::Squall.program(),
            Self::Squid | Self::SquidWithDaemons => Server::Squid.program(),
            Self::Nginx => Server::Nginx.program(),
            Self::Varnish => Server::Varnish.program(),
            Self::TrafficServer => installed("traffic_server", "trafficserver"),
        }
    }

    /// Name and version.
    pub(crate) fn version(self) -> (String, String) {
        let server = match self {
            Self::Squall => Server::Squall,
            Self::Squid | Self::SquidWithDaemons => Server::Squid,
            Self::Nginx => Server::Nginx,
            Self::Varnish => Server::Varnish,
            Self::TrafficServer => {
                return ("Traffic Server".to_owned(), said(self.path(), "-V"));
            }
        };
        (server.name().to_owned(), server.version())
    }

    fn templates(self) -> &'static [Template] {
        match self {
            Self::Squall | Self::Squid | Self::SquidWithDaemons => {
                &[("squid.conf", include_str!("../../configs/store-squid.conf"))]
            }
            Self::Nginx => &[("nginx.conf", include_str!("../../configs/store-nginx.conf"))],
            Self::Varnish => &[(
                "varnish.vcl",
                "vcl 4.1;\nbackend default { .host = \"127.0.0.1\"; .port = \"@origin@\"; }\n",
            )],
            Self::TrafficServer => &[
                (
                    "runroot.yaml",
                    include_str!("../../configs/trafficserver/runroot.yaml"),
                ),
                (
                    "records.config",
                    include_str!("../../configs/trafficserver/records.config"),
                ),
                (
                    "remap.config",
                    include_str!("../../configs/trafficserver/remap.config"),
                ),
                (
                    "ip_allow.yaml",
                    include_str!("../../configs/trafficserver/ip_allow.yaml"),
                ),
                (
                    "storage.config",
                    include_str!("../../configs/trafficserver/storage.config"),
                ),
            ],
        }
    }
}

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
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.path("output"))?;
        Tree::start("0", &self.command(), log)
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
