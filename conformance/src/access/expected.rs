//! `conformance/access/expected.toml`: the differences that are known, each with its reason.

use std::fmt;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Pair;

const TABLE: &str = include_str!("../../access/expected.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    difference: Vec<Difference>,
}

/// A row: which pairs differ, and why.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Difference {
    pub(crate) family: String,
    /// What the rule set's name contains; without it, all of the family.
    rules: Option<String>,
    /// What the request's name contains; without it, all requests.
    request: Option<String>,
    /// What Squid's verdict begins with; without it, any.
    squid: Option<String>,
    /// How many pairs differ for this reason. Another number fails, so that what is cured leaves the table.
    pub(crate) pairs: usize,
    pub(crate) reason: String,
}

impl Difference {
    pub(crate) fn covers(&self, pair: &Pair) -> bool {
        self.family == pair.family
            && self
                .rules
                .as_ref()
                .is_none_or(|part| pair.rules.contains(part.as_str()))
            && self
                .request
                .as_ref()
                .is_none_or(|part| pair.request.contains(part.as_str()))
            && self
                .squid
                .as_ref()
                .is_none_or(|start| pair.squid.starts_with(start.as_str()))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.family)?;
        if let Some(rules) = &self.rules {
            write!(f, ": {rules}")?;
        }
        if let Some(request) = &self.request {
            write!(f, ", …{request}…")?;
        }
        Ok(())
    }
}

/// The table.
///
/// # Errors
/// When it can't be read.
pub(crate) fn table() -> Result<Vec<Difference>> {
    let table: Table = toml::from_str(TABLE).context("conformance/access/expected.toml")?;
    Ok(table.difference)
}
