//! `cargo xtask docs`: writes the pages that come from tables.

mod metrics;
mod page;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes them all, into `docs/`.
pub(crate) fn write() -> Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = here.parent().unwrap_or(here).join("docs");
    for (name, page) in [
        ("directives.md", page::directives()),
        ("metrics.md", metrics::page()),
    ] {
        let path = docs.join(name);
        fs::write(&path, page).with_context(|| path.display().to_string())?;
        println!("xtask: wrote {}", path.display());
    }
    Ok(())
}
