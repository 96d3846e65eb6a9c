//! The outcome: totals, differences by reason, and what isn't as the table says.

use std::collections::BTreeMap;
use std::fmt;

use crate::expected::Difference;

/// A request to a rule set, and the two verdicts. Where there is no request, it is whether the program would start.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) family: &'static str,
    pub(crate) rules: String,
    pub(crate) request: String,
    pub(crate) squid: String,
    pub(crate) squall: String,
}

impl Pair {
    fn differs(&self) -> bool {
        self.squid != self.squall
    }
}

/// How the two programs compared.
#[derive(Debug)]
pub struct Report {
    rule_sets: usize,
    pairs: usize,
    /// Pairs and differences of each family.
    families: BTreeMap<&'static str, (usize, usize)>,
    /// The rows of the table, with the pairs that differ for their reason.
    known: Vec<(Difference, Vec<Pair>)>,
    /// Differences that no row names.
    unlisted: Vec<Pair>,
}

impl Report {
    pub(crate) fn new(rule_sets: usize, pairs: Vec<Pair>, table: Vec<Difference>) -> Self {
        let mut report = Self {
            rule_sets,
            pairs: pairs.len(),
            families: BTreeMap::new(),
            known: table.into_iter().map(|row| (row, Vec::new())).collect(),
            unlisted: Vec::new(),
        };
        for pair in pairs {
            report.add(pair);
        }
        report
    }

    fn add(&mut self, pair: Pair) {
        let (pairs, differences) = self.families.entry(pair.family).or_default();
        *pairs += 1;
        if !pair.differs() {
            return;
        }
        *differences += 1;
        let row = self.known.iter_mut().find(|(row, _)| row.covers(&pair));
        match row {
            Some((_, found)) => found.push(pair),
            None => self.unlisted.push(pair),
        }
    }

    /// Are the differences those of the table, no more and no fewer?
    #[must_use]
    pub fn is_as_expected(&self) -> bool {
        let counts = self
            .known
            .iter()
            .all(|(row, found)| found.len() == row.pairs);
        counts && self.unlisted.is_empty()
    }

    /// How many requests were put to both.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.pairs
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20} {:>6} {:>6}", "family", "pairs", "differ")?;
        for (family, (pairs, differences)) in &self.families {
            writeln!(f, "{family:<20} {pairs:>6} {differences:>6}")?;
        }
        let known: usize = self.known.iter().map(|(_, found)| found.len()).sum();
        let differ = known + self.unlisted.len();
        writeln!(
            f,
            "\n{} rule sets, {} pairs: {} agree, {known} differ as listed, {} unlisted",
            self.rule_sets,
            self.pairs,
            self.pairs - differ,
            self.unlisted.len()
        )?;
        for (row, found) in &self.known {
            writeln!(f, "  {:>4}  {row}: {}", found.len(), row.reason)?;
        }
        for (row, found) in self
            .known
            .iter()
            .filter(|(row, found)| found.len() != row.pairs)
        {
            writeln!(
                f,
                "CHANGED {row}: {} pairs differ, the table says {}",
                found.len(),
                row.pairs
            )?;
        }
        for pair in &self.unlisted {
            writeln!(
                f,
                "UNLISTED {} | {} | {}\n    squid:  {}\n    squall: {}",
                pair.family,
                pair.rules.replace('\n', " ⏎ "),
                pair.request,
                pair.squid,
                pair.squall
            )?;
        }
        Ok(())
    }
}
