//! The servers that are compared: how each is configured and started.

use std::env;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use testkit::{free_port, is_listening, until_within};

use crate::process::Tree;
use crate::workload::{Checks, Kind, Workload};
use crate::{helper, lists};

/// A server of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Server {
    Floor,
    Squall,
    Nginx,
    Haproxy,
    Varnish,
    Squid,
}

/// The cores that a server gets, and with them its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cores {
    /// One worker on core 0.
    One,
    /// Two workers on cores 0 and 1.
    Two,
}

impl Cores {
    /// As `taskset -c` wants it.
    pub(crate) fn list(self) -> &'static str {
        match self {
            Self::One => "0",
            Self::Two => "0,1",
        }
    }

    pub(crate) fn workers(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

/// Squid takes its time for ten thousand patterns.
const START: Duration = Duration::from_secs(120);

/// A server that runs, in a folder of its own.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) server: Server,
    pub(crate) port: u16,
    // Ended before its folder goes.
    pub(crate) tree: Tree,
    _dir: TempDir,
}

impl Server {
    pub(crate) const ALL: [Self; 6] = [
        Self::Floor,
        Self::Squall,
        Self::Nginx,
        Self::Haproxy,
        Self::Varnish,
        Self::Squid,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Squall => "Squall",
            Self::Nginx => "nginx",
            Self::Haproxy => "HAProxy",
            Self::Varnish => "Varnish",
            Self::Squid => "Squid",
        }
    }

    /// The program, or why there is none.
    pub(crate) fn program(self) -> Result<PathBuf> {
        let (name, package) = match self {
            Self::Floor => return Ok(env::current_exe()?),
            Self::Squall => {
                let path = env::var_os("SQUALL")
                    .map_or_else(|| "target/release/squall".into(), PathBuf::from);
                if !path.is_file() {
                    bail!("{} isn't built: cargo build --release", path.display());
                }
                return Ok(path);
            }
            Self::Nginx => ("nginx", "nginx"),
            Self::Haproxy => ("haproxy", "haproxy"),
            Self::Varnish => ("varnishd", "varnish"),
            Self::Squid => ("squid", "squid"),
        };
        installed(name, package)
    }

    /// What it calls its version.
    pub(crate) fn version(self) -> String {
        let flag = match self {
            Self::Floor => return "one epoll loop".to_owned(),
            Self::Varnish => "-V",
            Self::Squall | Self::Nginx | Self::Haproxy | Self::Squid => "-v",
        };
        said(self.program(), flag)
    }

    /// Can it take part in this workload at all?
    pub(crate) fn takes(self, workload: &Workload) -> bool {
        match self {
            Self::Nginx => workload.checks == Checks::Few,
            // These hand their log to another process.
            Self::Haproxy | Self::Varnish => workload.checks == Checks::Few && !workload.log,
            Self::Floor | Self::Squall | Self::Squid => true,
        }
    }

    /// Starts it on a free port, and waits until it listens.
    pub(crate) fn start(self, workload: &Workload, cores: Cores, origin: u16) -> Result<Running> {
        let program = self.program()?;
        let dir = tempfile::Builder::new().prefix("squall-bench-").tempdir()?;
        // Some give up root's rights before they open their files.
        fs::set_permissions(dir.path(), Permissions::from_mode(0o777))?;
        let port = free_port();
        let (name, template) = match self {
            Self::Floor => ("none", ""),
            Self::Nginx => ("nginx.conf", include_str!("../configs/nginx.conf")),
            Self::Haproxy => ("haproxy.cfg", include_str!("../configs/haproxy.cfg")),
            Self::Varnish => ("varnish.vcl", include_str!("../configs/varnish.vcl")),
            Self::Squid | Self::Squall => ("squid.conf", include_str!("../configs/squid.conf")),
        };
        if workload.checks == Checks::Helper {
            helper::install(dir.path())?;
        }
        if workload.checks.has_names() {
            lists::write(dir.path())?;
        }
        let conf = dir.path().join(name);
        fs::write(
            &conf,
            fill(template, workload, cores, port, origin, dir.path()),
        )?;
        let command = self.command(&program, &conf, workload, cores, port, dir.path());
        let log = dir.path().join("output");
        let mut tree = Tree::start(cores.list(), &command, File::create(&log)?)?;
        let started = until_within(START, || {
            let ended = tree.has_ended();
            let listens = is_listening(port);
            (ended || listens).then_some(listens && !ended)
        });
        if started != Some(true) {
            let logs = [
                log,
                dir.path().join("cache.log"),
                dir.path().join("error.log"),
            ];
            let told: String = logs
                .iter()
                .filter_map(|log| fs::read_to_string(log).ok())
                .collect();
            bail!(
                "{} didn't start: {}\n{told}",
                self.name(),
                command.join(" ")
            );
        }
        Ok(Running {
            server: self,
            port,
            tree,
            _dir: dir,
        })
    }

    fn command(
        self,
        program: &Path,
        conf: &Path,
        workload: &Workload,
        cores: Cores,
        port: u16,
        dir: &Path,
    ) -> Vec<String> {
        let (conf, dir) = (conf.display().to_string(), dir.display().to_string());
        let args: Vec<String> = match self {
            Self::Floor => {
                let status = match workload.kind {
                    Kind::Hit | Kind::Miss => "200 OK",
                    // About as long as a small hit.
                    Kind::Denied => "403 Forbidden",
                    Kind::Blocked => "302 Found",
                };
                let close = workload.close.then_some("--close".to_owned());
                let sizes = [
                    format!("--port={port}"),
                    format!("--size={}", workload.size),
                    format!("--pool={}", workload.pool),
                ];
                ["floor".to_owned(), format!("--status={status}")]
                    .into_iter()
                    .chain(sizes)
                    .chain(close)
                    .collect()
            }
            Self::Nginx => vec!["-p".into(), dir, "-c".into(), conf],
            Self::Haproxy => vec!["-db".into(), "-q".into(), "-f".into(), conf],
            Self::Varnish => vec![
                "-F".into(),
                "-j".into(),
                "none".into(),
                "-n".into(),
                format!("{dir}/varnish"),
                "-a".into(),
                format!("127.0.0.1:{port}"),
                "-f".into(),
                conf,
                "-s".into(),
                "malloc,2G".into(),
                "-p".into(),
                format!("thread_pools={}", cores.workers()),
            ],
            // Squids of one name share memory. Without -N, one forks its workers.
            Self::Squid => {
                let mode = match cores {
                    Cores::One => "-N",
                    Cores::Two => "--foreground",
                };
                let name = format!("bench{port}");
                vec![mode.into(), "-n".into(), name, "-f".into(), conf]
            }
            Self::Squall => vec!["-N".into(), "-f".into(), conf],
        };
        [program.display().to_string()]
            .into_iter()
            .chain(args)
            .collect()
    }
}

/// Where a program is, or which Debian package brings it.
pub(crate) fn installed(name: &str, package: &str) -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders
        .map(|folder| folder.join(name))
        .find(|path| path.is_file());
    found.with_context(|| format!("not installed; Debian package {package}"))
}

/// The first line of what a program says when asked by this flag.
pub(crate) fn said(program: Result<PathBuf>, flag: &str) -> String {
    let said = program.and_then(|program| Ok(Command::new(program).arg(flag).output()?));
    let said = said
        .map(|output| [output.stdout, output.stderr].concat())
        .unwrap_or_default();
    String::from_utf8_lossy(&said)
        .lines()
        .next()
        .unwrap_or("unknown")
        .to_owned()
}

/// Fills a template: keeps the marked lines that apply, and replaces the names.
fn fill(
    template: &str,
    workload: &Workload,
    cores: Cores,
    port: u16,
    origin: u16,
    dir: &Path,
) -> String {
    let marks = [
        ("#deny#", workload.kind == Kind::Denied),
        ("#helper#", workload.checks == Checks::Helper),
        ("#names#", workload.checks.has_names()),
        ("#urls#", workload.checks == Checks::NamesAndPatterns),
        ("#floods#", workload.checks == Checks::Forwarders),
        ("#log#", workload.log),
        ("#quiet#", !workload.log),
        ("#one#", cores == Cores::One),
        ("#two#", cores == Cores::Two),
    ];
    let mut conf = template.to_owned();
    for (mark, applies) in marks {
        conf = conf.replace(mark, if applies { "" } else { "# " });
    }
    conf.replace("@port@", &port.to_string())
        .replace("@origin@", &origin.to_string())
        .replace("@dir@", &dir.display().to_string())
        .replace("@helper@", helper::NAME)
        .replace("@workers@", &cores.workers().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::HITS;

    #[test]
    fn marked_lines_apply_to_their_workload_alone() {
        let template = "a @port@ @origin@ @workers@ @dir@\n#deny#b\n#log#c\n#quiet#d\n#two#e\n";
        let mut rows = HITS.workloads.iter();
        let denied = rows.find(|row| row.kind == Kind::Denied).unwrap();
        let conf = fill(template, denied, Cores::One, 1, 2, Path::new("/d"));
        assert_eq!(conf, "a 1 2 1 /d\nb\n# c\nd\n# e\n");
    }
}
