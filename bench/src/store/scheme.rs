//! Who stores, and how: a row for each server and each of its ways.

use std::path::PathBuf;

use anyhow::Result;

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
    pub(crate) store: &'static str,
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
        "squall-threads",
        "Squall threads",
        Program::Squall,
        Keeps::Disk,
        "cache_dir rock @dir@/cache @mib@\ndisk_io_uring off",
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
pub(crate) type Template = (&'static str, &'static str);

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

    pub(crate) fn templates(self) -> &'static [Template] {
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
