//! The outcome: what each proxy passed, what we didn't with its reason, and what isn't as listed.

use std::collections::BTreeSet;
use std::fmt;

use super::expected::{NotPassed, is_listed};
use super::{Column, Kind, Mode};

/// Asked of surrogates only, and no part of what the suite's page shows.
const SURROGATES: &str = "surrogate-control";

/// The proxy that the table is about.
const OURS: &str = "Squall";

/// What was passed.
#[derive(Debug)]
pub struct Report {
    columns: Vec<Column>,
    table: Vec<NotPassed>,
    /// Required and optimal tests that we didn't pass, and no row names.
    unlisted: Vec<String>,
    /// Tests that a row names and we pass, or that there aren't.
    cured: Vec<String>,
}

impl Report {
    pub(crate) fn new(columns: Vec<Column>, table: Vec<NotPassed>) -> Self {
        let mut unlisted = Vec::new();
        let mut cured = Vec::new();
        for column in columns.iter().filter(|column| column.proxy == OURS) {
            let mode = column.mode;
            for outcome in column.failed() {
                let (id, why) = (&outcome.id, &outcome.why);
                if !is_listed(&table, mode, id) {
                    unlisted.push(format!("{} {id}: {why}", mode.name()));
                }
            }
            let rows = table.iter().filter(|row| row.speaks_of(mode));
            for id in rows.flat_map(|row| &row.tests) {
                if column.has_passed(id) != Some(false) {
                    cured.push(format!("{} {id}", mode.name()));
                }
            }
        }
        Self {
            columns,
            table,
            unlisted,
            cured,
        }
    }

    /// Are the tests that we don't pass those of the table, no more and no fewer?
    #[must_use]
    pub fn is_as_expected(&self) -> bool {
        self.unlisted.is_empty() && self.cured.is_empty()
    }

    /// How many outcomes there are, of all proxies.
    #[must_use]
    pub fn outcomes(&self) -> usize {
        self.columns
            .iter()
            .map(|column| column.outcomes.len())
            .sum()
    }

    /// Who else passes some test, where it isn't as for us.
    fn passed_by(&self, mode: Mode, id: &str) -> String {
        let others = self
            .columns
            .iter()
            .filter(|column| column.proxy != OURS && column.mode == mode);
        let passing = others.filter(|column| column.has_passed(id) == Some(true));
        passing
            .map(|column| column.proxy)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl Column {
    /// `None`: there is no such test.
    pub(super) fn has_passed(&self, id: &str) -> Option<bool> {
        let found = self.outcomes.iter().find(|outcome| outcome.id == id);
        found.map(|outcome| outcome.passed)
    }

    /// Passed and all tests of a kind.
    fn count(&self, kind: Kind, surrogates: bool) -> String {
        let counted = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.kind == kind && (surrogates || outcome.group != SURROGATES));
        let (mut passed, mut all) = (0, 0);
        for outcome in counted {
            passed += usize::from(outcome.passed);
            all += 1;
        }
        format!("{passed}/{all}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [Kind::Required, Kind::Optimal, Kind::Check];
        writeln!(
            f,
            "{:<20} {:>9} {:>9} {:>9}   with surrogate-control:",
            "passed", "required", "optimal", "check"
        )?;
        for column in &self.columns {
            write!(f, "{:<8} {:<11}", column.proxy, column.mode.name())?;
            for kind in kinds {
                write!(f, " {:>9}", column.count(kind, false))?;
            }
            write!(f, "  ")?;
            for kind in kinds {
                write!(f, " {:>9}", column.count(kind, true))?;
            }
            writeln!(f)?;
        }
        writeln!(f, "\nnot passed, as listed:")?;
        for row in &self.table {
            writeln!(f, "  {}", row.reason)?;
            for id in &row.tests {
                let modes = Mode::ALL.iter().filter(|mode| row.speaks_of(**mode));
                let others: BTreeSet<String> = modes
                    .map(|mode| self.passed_by(*mode, id))
                    .filter(|names| !names.is_empty())
                    .collect();
                write!(f, "    {id}")?;
                if !others.is_empty() {
                    let names: Vec<String> = others.into_iter().collect();
                    write!(f, " (passed by {})", names.join("; "))?;
                }
                writeln!(f)?;
            }
        }
        for test in &self.cured {
            writeln!(
                f,
                "CURED    {test}: passed, or gone from the suite, but listed"
            )?;
        }
        for test in &self.unlisted {
            writeln!(f, "UNLISTED {test}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, expected};
    use super::*;

    /// Ours before an origin, where all tests of the table but for these are as listed.
    fn report(kind: Kind, cured: Option<&str>, fails: Option<&str>) -> Report {
        let table = expected::table().unwrap();
        let rows = table.iter().filter(|row| row.speaks_of(Mode::Accelerator));
        let listed = rows.flat_map(|row| &row.tests);
        let mut outcomes: Vec<Outcome> = listed
            .map(|id| outcome(id, kind, cured == Some(id)))
            .collect();
        outcomes.extend(fails.map(|id| outcome(id, kind, false)));
        let column = Column {
            proxy: OURS,
            mode: Mode::Accelerator,
            outcomes,
        };
        Report::new(vec![column], table)
    }

    fn outcome(id: &str, kind: Kind, passed: bool) -> Outcome {
        Outcome {
            group: "group".to_owned(),
            id: id.to_owned(),
            kind,
            passed,
            why: "why".to_owned(),
        }
    }

    #[test]
    fn what_is_as_listed_is_as_expected() {
        let report = report(Kind::Required, None, None);
        assert!(report.is_as_expected(), "{report}");
    }

    #[test]
    fn what_fails_unlisted_is_told() {
        for kind in [Kind::Required, Kind::Optimal] {
            let report = report(kind, None, Some("freshness-none"));
            assert!(!report.is_as_expected());
            let told = report.to_string();
            assert!(
                told.contains("UNLISTED accelerator freshness-none: why"),
                "{told}"
            );
        }
    }

    #[test]
    fn what_is_listed_and_passed_is_told() {
        let report = report(Kind::Required, Some("partial-store-partial-complete"), None);
        assert!(!report.is_as_expected());
        let told = report.to_string();
        assert!(
            told.contains("CURED    accelerator partial-store-partial-complete"),
            "{told}"
        );
    }

    #[test]
    fn a_question_has_no_wrong_answer() {
        let report = report(Kind::Check, None, Some("freshness-none"));
        assert!(report.is_as_expected(), "{report}");
    }

    #[test]
    fn surrogates_are_counted_by_themselves() {
        let mut column = report(Kind::Required, None, None).columns.remove(0);
        let all = column.outcomes.len();
        column.outcomes.push(Outcome {
            group: SURROGATES.to_owned(),
            ..outcome("surrogate-max-age", Kind::Required, true)
        });
        assert_eq!(column.count(Kind::Required, false), format!("0/{all}"));
        assert_eq!(column.count(Kind::Required, true), format!("1/{}", all + 1));
    }
}
