//! squid.conf ⇄ [`Config`]: the language, one table of every directive, and what
//! each line means. Used by `rules`, `proxy` and the program. Reads the files that
//! are named and runs the command of `-f !command`, and does no other I/O.

pub mod directives;
mod event;
mod model;
mod problem;
mod read;
mod readers;
mod text;

pub use event::{Event, Options};
pub use model::{
    access, auth, cache, delay, deny_info, external, helper, list_file, log, manager, marks, peer,
    port, rewrite, values,
};

pub use model::access::{
    AccessRule, AclLine, AclRef, HeaderAccess, HeaderAdd, HeaderReplace, OutgoingAddress, SizeRule,
    UpgradeRule,
};
pub use model::cache::{MemoryCacheMode, RefreshOptions, RefreshPattern, Replacement};
pub use model::cache_dir::{CacheDir, DirChoice, DirKind, DirTuning};
pub use model::deny_info::{DenyAnswer, DenyInfo};
pub use model::log::{AccessLog, LogAddr, LogFormat, LogModule};
pub use model::manager::{ManagerPassword, Protection};
pub use model::peer::{Peer, PeerKind, PeerLogin, PeerOptions};
pub use model::port::{Accel, KeepAlive, PmtuDiscovery, Port, PortMode, VirtualPort};
pub use model::{Config, FilePlace, ForwardedFor, Relaxed, UriWhitespace};
pub use problem::{Place, Problem, Problems, Severity};

use std::path::Path;

/// The configuration that holds without a file: Squid's stock rules.
pub const BUILT_IN: &str = include_str!("built-in.conf");

/// Reads a configuration file and what it includes.
///
/// # Errors
/// Everything that keeps it from being used, with all other findings.
pub fn load(path: &Path) -> Result<Config, Problems> {
    load_telling(path, &Options::default(), &mut |_event| {})
}

/// Reads a configuration file and what it includes, and tells what happens as it does.
///
/// # Errors
/// As [`load`].
pub fn load_telling(
    path: &Path,
    options: &Options<'_>,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Config, Problems> {
    read::file(path, options, tell)
}

/// Reads a configuration from memory; `name` stands for the file in messages.
///
/// # Errors
/// As [`load`].
pub fn parse(text: &str, name: &str) -> Result<Config, Problems> {
    parse_telling(text, name, &Options::default(), &mut |_event| {})
}

/// Reads a configuration from memory, and tells what happens as it does.
///
/// # Errors
/// As [`load`].
pub fn parse_telling(
    text: &str,
    name: &str,
    options: &Options<'_>,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Config, Problems> {
    read::text(text, name, text::source::Files::Disk, options, tell)
}

/// What holds when there is no configuration file: Squid's stock rules on 127.0.0.1:3128.
#[must_use]
pub fn built_in() -> Config {
    parse(BUILT_IN, "built-in").unwrap_or_default()
}

/// Parses anything, without touching a file. For fuzzers and properties.
pub fn fuzz(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let options = Options::default();
    let files = text::source::Files::Missing;
    drop(read::text(&text, "fuzz", files, &options, &mut |_event| {}));
}
