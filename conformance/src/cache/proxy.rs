//! The proxies that the suite is run against: how each is configured and started.

use std::env;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use testkit::{WAIT, free_port, is_listening, until_within};

use super::Mode;
use super::suite::Ended;
use crate::programs::Service;

/// Ours alone: the suite wants cookies stored.
const SQUALLS: &str = "cache_set_cookie on\n";

/// Squid's alone.
const SQUIDS: &str = "pinger_enable off\n";

/// A proxy.
#[derive(Clone, Debug)]
pub(crate) enum Proxy {
    /// The program at this path.
    Squall(PathBuf),
    Squid,
    Varnish,
    Nginx,
}

/// A proxy that runs, in a folder of its own.
#[derive(Debug)]
pub(crate) struct Running {
    // Ended before its folder goes.
    _process: Ended,
    _service: Option<Service>,
    _dir: TempDir,
    port: u16,
}

impl Running {
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Proxy {
    /// Those beside ours, in the places where they can stand; each list is run at a time.
    pub(crate) fn others() -> [Vec<(Self, Mode)>; 2] {
        [
            Mode::ALL.map(|mode| (Self::Squid, mode)).to_vec(),
            [Self::Varnish, Self::Nginx]
                .map(|proxy| (proxy, Mode::Accelerator))
                .to_vec(),
        ]
    }

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Squall(_) => "Squall",
            Self::Squid => "Squid",
            Self::Varnish => "Varnish",
            Self::Nginx => "nginx",
        }
    }

    /// Starts it before this origin, or where it finds any, and waits until it listens.
    pub(crate) fn start(&self, mode: Mode, origin: u16) -> Result<Running> {
        let dir = tempfile::Builder::new().prefix("squall-suite-").tempdir()?;
        // Some give up root's rights before they open their files.
        fs::set_permissions(dir.path(), Permissions::from_mode(0o777))?;
        let port = free_port();
        let conf = self
            .conf(mode)
            .replace("{port}", &port.to_string())
            .replace("{origin}", &origin.to_string())
            .replace("{dir}", &dir.path().display().to_string());
        let file = dir.path().join("conf");
        fs::write(&file, conf)?;
        let service = matches!(self, Self::Squid).then(Service::default);
        let log = File::create(dir.path().join("output"))?;
        let child = self
            .command(dir.path(), &file, port, service.as_ref())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", self.name()))?;
        let mut process = Ended(child);
        let started = until_within(WAIT, || {
            let gone = !matches!(process.0.try_wait(), Ok(None));
            let listens = is_listening(port);
            (gone || listens).then_some(listens && !gone)
        });
        if started != Some(true) {
            let logs = ["output", "cache.log", "error.log"].map(|name| dir.path().join(name));
            let told: String = logs
                .iter()
                .filter_map(|log| fs::read_to_string(log).ok())
                .collect();
            bail!("{} doesn't start:\n{told}", self.name());
        }
        Ok(Running {
            _process: process,
            _service: service,
            _dir: dir,
            port,
        })
    }

    fn conf(&self, mode: Mode) -> String {
        let common = match mode {
            Mode::Accelerator => include_str!("../../cache-tests/accelerator.conf"),
            Mode::Forward => include_str!("../../cache-tests/forward.conf"),
        };
        match self {
            Self::Squall(_) => format!("{common}{SQUALLS}"),
            Self::Squid => format!("{common}{SQUIDS}"),
            Self::Varnish => include_str!("../../cache-tests/varnish.vcl").to_owned(),
            Self::Nginx => include_str!("../../cache-tests/nginx.conf").to_owned(),
        }
    }

    fn command(&self, dir: &Path, file: &Path, port: u16, service: Option<&Service>) -> Command {
        let mut command = match self {
            Self::Squall(path) => Command::new(path),
            Self::Squid => Command::new(installed("squid")),
            Self::Varnish => Command::new(installed("varnishd")),
            Self::Nginx => Command::new(installed("nginx")),
        };
        match self {
            Self::Squall(_) | Self::Squid => {
                if let Some(service) = service {
                    command.args(["-n", service.name()]);
                }
                command.args(["-N", "-f"]).arg(file);
            }
            Self::Varnish => {
                command
                    .args(["-F", "-s", "malloc,64m", "-a"])
                    .arg(format!("127.0.0.1:{port}"))
                    .arg("-n")
                    .arg(dir.join("varnish"))
                    .arg("-f")
                    .arg(file);
            }
            Self::Nginx => {
                command
                    .args(["-g", "daemon off;", "-p"])
                    .arg(dir)
                    .arg("-c")
                    .arg(file);
            }
        }
        command
    }
}

/// Daemons live in folders that a user's `PATH` may lack.
fn installed(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    env::split_paths(&path)
        .chain(system)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| name.into())
}
