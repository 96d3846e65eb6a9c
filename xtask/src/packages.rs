//! The Debian packages with which the tests and the load harness work together.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use rustix::process::geteuid;

use crate::steps::run;

/// A program that we need, or a file in full, and the package that brings it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    program: &'static str,
    package: &'static str,
}

const fn need(program: &'static str, package: &'static str) -> Need {
    Need { program, package }
}

/// What the tests start.
pub(crate) const TEST: &[Need] = &[
    need("curl", "curl"),
    need("nginx", "nginx"),
    need("squid", "squid"),
    need("squidclient", "squidclient"),
    need("chromium-headless-shell", "chromium-headless-shell"),
    need("openssl", "openssl"),
    need("squidGuard", "squidguard"),
    need("snmpget", "snmp"),
    need("/usr/share/munin/plugins/squid_cache", "munin-plugins-core"),
    need("prometheus-squid-exporter", "prometheus-squid-exporter"),
    need("squidclient", "squidclient"),
    need("/usr/lib/cgi-bin/cachemgr.cgi", "squid-cgi"),
    need("slapd", "slapd"),
    need("krb5kdc", "krb5-kdc"),
    need("kadmin.local", "krb5-admin-server"),
    need("kinit", "krb5-user"),
    need(
        "/usr/share/squid-langpack/de/ERR_ACCESS_DENIED",
        "squid-langpack",
    ),
    need("calamaris", "calamaris"),
    need("goaccess", "goaccess"),
    need("sarg", "sarg"),
    need("/usr/share/lightsquid/lightparser.pl", "lightsquid"),
    need("webalizer", "webalizer"),
    need("/usr/lib/cgi-bin/awstats.pl", "awstats"),
];

/// What the load harness starts.
pub(crate) const BENCH: &[Need] = &[
    need("wrk", "wrk"),
    need("nginx", "nginx"),
    need("haproxy", "haproxy"),
    need("varnishd", "varnish"),
    need("squid", "squid"),
    need("traffic_server", "trafficserver"),
];

/// Who stands beside us in the public suite for HTTP caches.
pub(crate) const BESIDE: &[Need] = &[need("varnishd", "varnish")];

/// Installs what is missing if we are root; otherwise names it.
pub(crate) fn provide(needs: &[Need]) -> Result<()> {
    let missing: Vec<&str> = needs
        .iter()
        .filter(|need| !is_installed(need.program))
        .map(|need| need.package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !geteuid().is_root() || !is_installed("apt-get") {
        println!(
            "xtask: not installed, and needed: Debian packages {}",
            missing.join(" ")
        );
        return Ok(());
    }
    let _quiet = Quiet::new()?;
    run(apt().args(["update", "-qq"]))?;
    run(apt()
        .args(["install", "-y", "-qq", "--no-install-recommends"])
        .args(missing))
}

fn apt() -> Command {
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt
}

/// Is the program there? Daemons live in folders that a user's `PATH` may lack.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/local/sbin", "/sbin"].map(Into::into);
    env::split_paths(&path)
        .chain(system)
        .any(|folder| folder.join(program).is_file())
}

/// While it lives, Debian starts no service that it installs.
struct Quiet {
    ours: bool,
}

impl Quiet {
    const POLICY: &str = "/usr/sbin/policy-rc.d";

    fn new() -> Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(Self::POLICY);
        match file {
            Ok(mut file) => {
                let quiet = Self { ours: true };
                file.write_all(b"#!/bin/sh\nexit 101\n")
                    .context(Self::POLICY)?;
                Ok(quiet)
            }
            // Somebody else has a policy; it stands.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Self { ours: false }),
            Err(error) => Err(error).context(Self::POLICY),
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if self.ours {
            drop(fs::remove_file(Path::new(Self::POLICY)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_they_are() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program"));
    }
}
