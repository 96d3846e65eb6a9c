//! The tables, and a plot of each.

use serde::Serialize;

use super::model::Model;
use super::score::Score;
use super::trace::Trace;
use crate::machine::Machine;
use crate::plot::{Series, lines};
use crate::report::push;

/// A cache of one size.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    name: String,
    percent: u64,
    score: Score,
}

impl Row {
    pub(crate) fn ours(policy: &str, percent: u64, score: Score) -> Self {
        Self {
            name: format!("`{policy}`"),
            percent,
            score,
        }
    }

    pub(crate) fn of(model: Model, percent: u64, score: Score) -> Self {
        Self {
            name: model.name().to_owned(),
            percent,
            score,
        }
    }
}

/// What came of a trace.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Table {
    trace: String,
    requests: usize,
    objects: usize,
    bytes: u64,
    pub(crate) memory: Vec<Row>,
    pub(crate) disk: Vec<Row>,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    machine: Machine,
    tables: Vec<Table>,
}

impl Report {
    pub(crate) fn new(machine: Machine) -> Self {
        Self {
            machine,
            tables: Vec::new(),
        }
    }

    pub(crate) fn begin(&mut self, trace: &Trace) -> &mut Table {
        self.tables.push_mut(Table {
            trace: trace.name.clone(),
            requests: trace.requests.len(),
            objects: trace.objects,
            bytes: trace.bytes,
            memory: Vec::new(),
            disk: Vec::new(),
        })
    }

    pub(crate) fn render(&self) -> String {
        let mut out = format!(
            "# Hit ratios\n\n{}.\n\
             By `cargo xtask bench ratios --traces FILE`. Hits by requests / by their bytes; for the disk also bytes written by \
             bytes that were to be stored, reinsertion, heads and tables included. Sizes are of cache and of volume, in hundredths of \
             all objects' bytes. The exact caches and COSS are models: bodies fill all of their bytes, while Squall's \
             volumes hold heads and tables as well, and keep some segments free.\n\n\
             `polymix` is drawn after Web Polygraph's PolyMix-4, without what may not be kept; `web` after popularity and sizes of \
             web traffic at a content network, each request for itself, so that there is no recency in it; others are files.\n",
            self.machine.line()
        );
        for table in &self.tables {
            push(
                &mut out,
                format_args!(
                    "\n## {}\n\n{} requests for {} objects of {:.1} MB.\n",
                    table.trace,
                    table.requests,
                    table.objects,
                    table.bytes as f64 / 1e6
                ),
            );
            for (what, rows) in [("memory", &table.memory), ("disk", &table.disk)] {
                render(&mut out, what, rows);
                let file = file(table, what);
                push(&mut out, format_args!("\n![Hits by object]({file})\n"));
            }
        }
        out
    }

    /// Names and contents of files.
    pub(crate) fn plots(&self) -> Vec<(String, String)> {
        let plots = self.tables.iter().flat_map(|table| {
            [("memory", &table.memory), ("disk", &table.disk)]
                .map(|(what, rows)| (file(table, what), plot(table, what, rows)))
        });
        plots.collect()
    }
}

fn file(table: &Table, what: &str) -> String {
    format!("hit-ratios-{}-{what}.svg", table.trace)
}

/// What there is of each column, in order.
fn each<T: PartialEq>(rows: &[Row], of: impl Fn(&Row) -> T) -> Vec<T> {
    let mut found = Vec::new();
    for value in rows.iter().map(of) {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

fn render(out: &mut String, what: &str, rows: &[Row]) {
    let percents = each(rows, |row| row.percent);
    let heads: String = percents
        .iter()
        .map(|percent| format!(" {percent} % |"))
        .collect();
    let marks = " --: |".repeat(percents.len());
    push(out, format_args!("\n| {what} |{heads}\n| --- |{marks}\n"));
    for name in each(rows, |row| row.name.clone()) {
        let cells = rows.iter().filter(|row| row.name == name);
        let cells: String = cells.map(|row| format!(" {} |", row.score)).collect();
        push(out, format_args!("| {name} |{cells}\n"));
    }
}

fn plot(table: &Table, what: &str, rows: &[Row]) -> String {
    let series: Vec<Series> = each(rows, |row| row.name.clone())
        .into_iter()
        .map(|name| Series {
            points: rows
                .iter()
                .filter(|row| row.name == name)
                .map(|row| (row.percent as f64, row.score.by_object() * 100.0))
                .collect(),
            name: name.trim_matches('`').to_owned(),
        })
        .collect();
    let title = format!("{}: hits by size of {what}", table.trace);
    lines(&title, ("% of all bytes", "% of requests"), &series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratios::trace::Request;

    #[test]
    fn a_table_has_a_line_for_each_cache_and_a_column_for_each_size() {
        let mut score = Score::default();
        let request = Request {
            object: 1,
            bytes: 10,
        };
        score.note(&request, true);
        score.note(&request, false);
        let mut rows = vec![Row::ours("lru", 1, score), Row::of(Model::Coss, 1, score)];
        score.written = Some(1.25);
        rows.push(Row::ours("lru", 10, score));
        rows.push(Row::of(Model::Coss, 10, score));
        let mut out = String::new();
        render(&mut out, "disk", &rows);
        let expected = "\n| disk | 1 % | 10 % |\n| --- | --: | --: |\n\
                        | `lru` | .500 / .500 | .500 / .500, 1.25 |\n\
                        | COSS, overwrite-percent=50 | .500 / .500 | .500 / .500, 1.25 |\n";
        assert_eq!(out, expected);
    }
}
