//! The public suite for HTTP caches, which npm brings. Without node, npm or a network it is skipped, and we say so.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::packages::is_installed;
use crate::steps::run;

/// Pinned: `conformance/cache-tests/expected.toml` speaks of this suite. Its client is what the suite's own runner uses.
const SUITE: &str = "http-cache-tests@0.4.5";
const CLIENT: &str = "node-fetch@2.7.0";

/// Installs the suite where the tests look for it, unless it is there; or says why it is skipped.
pub(crate) fn provide(target: &Path) -> Option<String> {
    let skipped = install(&target.join("cache-tests")).err();
    let skipped = skipped.map(|why| format!("skipped: the public suite for HTTP caches ({why})"));
    if let Some(skipped) = &skipped {
        println!("xtask: {skipped}");
    }
    skipped
}

fn install(folder: &Path) -> Result<(), String> {
    for program in ["node", "npm"] {
        if !is_installed(program) {
            return Err(format!("{program} isn't installed"));
        }
    }
    // Written when all is in place, so that half an installation counts as none.
    let done = folder.join("installed");
    let wanted = format!("{SUITE} {CLIENT}\n");
    if fs::read_to_string(&done).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    run(Command::new("npm")
        .args(["install", "--no-save", "--ignore-scripts"])
        .args(["--no-audit", "--no-fund", "--no-package-lock"])
        .args([
            "--loglevel=error",
            "--fetch-retries=1",
            "--fetch-timeout=30000",
            "--fetch-retry-mintimeout=1000",
        ])
        .arg("--prefix")
        .arg(folder)
        .args([SUITE, CLIENT]))
    .map_err(|_| "npm, above, couldn't install it")?;
    fs::write(&done, wanted).map_err(|error| format!("{}: {error}", done.display()))
}
