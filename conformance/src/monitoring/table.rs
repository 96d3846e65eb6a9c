//! The table that is shown: every item with both values.

use std::fmt;

use crate::report::{Pair, Report};

/// Longest value that is shown whole.
const VALUE_CHARS_MAX: usize = 28;

/// How the tools compared.
#[derive(Debug)]
pub struct Outcome {
    pub(super) rows: Vec<Line>,
    pub(super) report: Report,
}

/// A line of the table.
#[derive(Debug)]
pub(super) enum Line {
    /// This tool isn't installed.
    Missing(&'static str),
    Item(Row),
}

/// An item with both values.
#[derive(Debug)]
pub(super) struct Row {
    tool: &'static str,
    item: String,
    squid: String,
    squall: String,
    agrees: bool,
}

impl Row {
    pub(super) fn new(pair: &Pair, squid: Option<&String>, squall: Option<&String>) -> Self {
        Self {
            tool: pair.family,
            item: pair.request.clone(),
            squid: short(squid),
            squall: short(squall),
            agrees: pair.squid == pair.squall,
        }
    }
}

fn short(value: Option<&String>) -> String {
    let value = value.map_or("–", String::as_str);
    let start: String = value.chars().take(VALUE_CHARS_MAX).collect();
    if start.len() < value.len() {
        start + "…"
    } else {
        start
    }
}

impl Outcome {
    /// Are the differences those of the table, no more and no fewer?
    #[must_use]
    pub fn is_as_expected(&self) -> bool {
        self.report.is_as_expected()
    }

    /// How many items were seen.
    #[must_use]
    pub fn items(&self) -> usize {
        self.report.pairs()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<14} {:<60} {:<29} {:<29}",
            "tool", "item", "squid", "squall"
        )?;
        for line in &self.rows {
            match line {
                Line::Missing(tool) => writeln!(f, "{tool:<14} not installed")?,
                Line::Item(row) => {
                    let mark = if row.agrees { "" } else { " ≠" };
                    let Row {
                        tool,
                        item,
                        squid,
                        squall,
                        ..
                    } = row;
                    writeln!(f, "{tool:<14} {item:<60} {squid:<29} {squall:<29}{mark}")?;
                }
            }
        }
        write!(f, "\n{}", self.report)
    }
}
