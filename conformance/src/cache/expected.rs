//! `conformance/cache-tests/expected.toml`: the required and optimal tests that we don't pass, each with its reason.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Mode;

const TABLE: &str = include_str!("../../cache-tests/expected.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    not_passed: Vec<NotPassed>,
}

/// A row: which tests aren't passed, and why.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotPassed {
    pub(crate) tests: Vec<String>,
    /// Where the proxy stands; without it, in both places.
    mode: Option<Mode>,
    pub(crate) reason: String,
}

impl NotPassed {
    pub(crate) fn speaks_of(&self, mode: Mode) -> bool {
        self.mode.is_none_or(|only| only == mode)
    }

    pub(crate) fn names(&self, id: &str) -> bool {
        self.tests.iter().any(|test| test == id)
    }
}

/// The table.
///
/// # Errors
/// When it can't be read.
pub(crate) fn table() -> Result<Vec<NotPassed>> {
    let table: Table = toml::from_str(TABLE).context("conformance/cache-tests/expected.toml")?;
    Ok(table.not_passed)
}

/// Is it known that this test isn't passed?
pub(crate) fn is_listed(table: &[NotPassed], mode: Mode, id: &str) -> bool {
    table.iter().any(|row| row.speaks_of(mode) && row.names(id))
}
