//! `conformance/*/expected.toml`: the differences that are known, each with its reason.

use std::fmt;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::report::Pair;

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
    /// Without it, all families.
    pub(crate) family: Option<String>,
    /// What the rule set's name contains; without it, all of the family.
    rules: Option<String>,
    /// What the request's name contains, or all of several texts with ` … ` between; without it, all requests.
    request: Option<String>,
    /// What Squid's verdict begins with; without it, any.
    squid: Option<String>,
    /// What ours begins with; without it, any.
    squall: Option<String>,
    /// How many pairs differ for this reason. Another number fails, so that what is cured leaves the table.
    pub(crate) pairs: usize,
    pub(crate) reason: String,
}

impl Difference {
    pub(crate) fn covers(&self, pair: &Pair) -> bool {
        let all = |wanted: &Option<String>, holds: &dyn Fn(&str) -> bool| {
            wanted.as_ref().is_none_or(|text| holds(text))
        };
        all(&self.family, &|family| family == pair.family)
            && all(&self.rules, &|part| pair.rules.contains(part))
            && all(&self.request, &|parts| {
                parts.split(" … ").all(|part| pair.request.contains(part))
            })
            && all(&self.squid, &|start| pair.squid.starts_with(start))
            && all(&self.squall, &|start| pair.squall.starts_with(start))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.family.as_deref().unwrap_or("all"))?;
        if let Some(rules) = &self.rules {
            write!(f, ": {rules}")?;
        }
        if let Some(request) = &self.request {
            write!(f, ", …{request}…")?;
        }
        Ok(())
    }
}

/// Reads a table.
///
/// # Errors
/// When it can't be read.
pub(crate) fn table(text: &str) -> Result<Vec<Difference>> {
    let table: Table = toml::from_str(text).context("expected.toml")?;
    Ok(table.difference)
}
