//! `cargo xtask docs`: writes the pages that come from tables.

mod page;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes them all, into `docs/`.
pub(crate) fn write() -> Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = here.parent().unwrap_or(here).join("docs/directives.md");
    fs::write(&path, page::directives()).with_context(|| path.display().to_string())?;
    println!("xtask: wrote {}", path.display());
    Ok(())
}
