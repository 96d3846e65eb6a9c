//! `refresh`: what the `refresh_pattern` lines have guessed, and how requests found what was stored.

use proxy::internal::WorkerReport;
use serde::Serialize;
use stats::{Counter, Snapshot};

use super::Report;
use super::forward::sum;
use super::share::percent_exact;
use crate::Scene;

#[derive(Serialize)]
struct Page {
    /// Answers that may be stored.
    storable: u64,
    patterns: Vec<Pattern>,
    requests: Vec<Found>,
}

#[derive(Serialize)]
struct Pattern {
    /// Lifetimes that it has guessed: of answers that didn't say.
    used: u64,
    pattern: String,
}

#[derive(Serialize)]
struct Found {
    requests: u64,
    category: &'static str,
}

pub(super) fn report(scene: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    let all = sum(workers);
    let patterns = scene.config().refresh_patterns.iter().zip(1..);
    let patterns = patterns.map(|(line, number)| Pattern {
        used: all.guessed.get(&number).copied().unwrap_or(0),
        pattern: if line.ignore_case {
            format!("-i {}", line.pattern)
        } else {
            line.pattern.clone()
        },
    });
    let page = Page {
        storable: all.storable,
        patterns: patterns.collect(),
        requests: found(&scene.snapshot()),
    };
    Report::new(&page, page.text())
}

fn found(all: &Snapshot) -> Vec<Found> {
    let rows = [
        ("Fresh: from memory", Counter::HitsMemory),
        ("Fresh: from disk", Counter::HitsDisk),
        ("Fresh: a stored error", Counter::HitsNegative),
        (
            "Fresh: the client's copy is as good",
            Counter::HitsConditional,
        ),
        ("Stale: confirmed by the server", Counter::HitsRevalidated),
        ("Stale: used, as the server failed", Counter::HitsStale),
        ("Not stored, or replaced", Counter::Misses),
    ];
    let rows = rows.map(|(category, counter)| Found {
        requests: all.counter(counter),
        category,
    });
    rows.into()
}

impl Page {
    fn text(&self) -> String {
        let mut text = String::from(
            "\nRefresh pattern usage:\n\n  Used      \tChecks    \t% Matches\tPattern\n",
        );
        for Pattern { used, pattern } in &self.patterns {
            let share = percent_exact(*used, self.storable);
            text += &format!(
                "  {used:10}\t{:10}\t{share:6.2}\t{pattern}\n",
                self.storable
            );
        }
        text += "\nHTTP histogram:\nCount\t%Total\tCategory\n";
        let total = self.requests.iter().map(|found| found.requests).sum();
        for Found { requests, category } in &self.requests {
            let share = percent_exact(*requests, total);
            text += &format!("{requests:6}\t{share:6.2}\t{category}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_requests_are_counted() {
        let page = Page {
            storable: 76,
            patterns: vec![
                Pattern {
                    used: 0,
                    pattern: "^ftp:".into(),
                },
                Pattern {
                    used: 75,
                    pattern: ".".into(),
                },
            ],
            requests: vec![
                Found {
                    requests: 8,
                    category: "Fresh: from memory",
                },
                Found {
                    requests: 10,
                    category: "Not stored, or replaced",
                },
            ],
        };
        let expected = "
Refresh pattern usage:

  Used      \tChecks    \t% Matches\tPattern
           0\t        76\t  0.00\t^ftp:
          75\t        76\t 98.68\t.

HTTP histogram:
Count\t%Total\tCategory
     8\t 44.44\tFresh: from memory
    10\t 55.56\tNot stored, or replaced
";
        assert_eq!(page.text(), expected);
    }
}
