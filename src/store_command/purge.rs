//! `store purge`: removes a response while no proxy runs.

use std::io;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use config::Config;
use store::Volume;

use super::listed::escaped;
use crate::{cache_dirs, console, privileges};

pub(super) fn run(config: &Config, url: &str) -> anyhow::Result<ExitCode> {
    let having = super::surveys(config)
        .into_iter()
        .flatten()
        .filter(|survey| survey.find(url.as_bytes()).is_some());
    let having: Vec<_> = having.map(|survey| survey.options().path.clone()).collect();
    let name = escaped(url.as_bytes());
    if having.is_empty() {
        bail!("{name}: not stored");
    }
    // What is made beside the log must be the proxy's.
    privileges::give_up(config)?;
    for options in cache_dirs::volumes(config) {
        if !having.contains(&options.path) {
            continue;
        }
        let path = options.path.clone();
        let volume = match Volume::open(options) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => bail!(
                "{}: a running proxy has it open. It does that itself, by the method PURGE: \
                 see docs/caching.md",
                path.display()
            ),
            opened => opened.with_context(|| path.display().to_string())?,
        };
        // Of a key with variants this is the way to them.
        volume.remove(url.as_bytes());
        volume.close().with_context(|| path.display().to_string())?;
    }
    console::plain(format_args!("{name}: purged"));
    Ok(ExitCode::SUCCESS)
}
