//! From lines to a [`Config`]: finds each line's row in the table, runs its
//! reader, and gathers what is wrong.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::directives::acl::Acls;
use crate::directives::{self, Row, Status};
use crate::event::{Event, Options};
use crate::model::Config;
use crate::problem::{Place, Problem, Problems, Severity, shortened};
use crate::readers::accelerator::Accelerator;
use crate::readers::old_log::OldLogs;
use crate::text::line::Line;
use crate::text::source::Files;
use crate::text::walk::{Found, Walk};

/// Problems after which no neighbour of a misspelt name is looked for.
const SUGGESTIONS_MAX: usize = 20;

/// Problems of a configuration that are kept: a file of something else may have one per line.
const PROBLEMS_MAX: usize = 100_000;

/// A configuration in the making, and what readers of later lines need to know of earlier ones.
pub(crate) struct Draft {
    /// What has been said so far.
    pub(crate) config: Config,
    /// Names that rules may use.
    pub(crate) acls: Acls,
    /// Index of each peer by name.
    pub(crate) peers: HashMap<String, usize>,
    /// `configuration_includes_quoted_values`.
    pub(crate) quoting: bool,
    /// `emulate_httpd_log`: logs without a format of their own are `common`.
    pub(crate) common_log: bool,
    /// `httpd_accel_*`.
    pub(crate) accelerator: Accelerator,
    /// `log_access` and logs with directives of their own.
    pub(crate) old_logs: OldLogs,
    /// Names of `logformat` lines.
    pub(crate) formats: HashSet<String>,
    told: HashSet<String>,
}

impl Draft {
    fn new() -> Self {
        let mut config = Config::default();
        let acls = Acls::predefined(&mut config.acls);
        Self {
            config,
            acls,
            peers: HashMap::new(),
            quoting: false,
            common_log: false,
            accelerator: Accelerator::default(),
            old_logs: OldLogs::default(),
            formats: HashSet::new(),
            told: HashSet::new(),
        }
    }

    /// True the first time it is asked about `what`.
    pub(crate) fn first(&mut self, what: &str) -> bool {
        !self.told.contains(what) && self.told.insert(what.to_owned())
    }

    /// Says, once per `what`, that something on this line has no effect yet.
    pub(crate) fn not_yet(&mut self, line: &mut Line<'_>, what: &str, meaning: &str) {
        if self.first(what) {
            line.warn(format!("not yet: {what}"), meaning);
        }
    }
}

struct Reading<'t> {
    draft: Draft,
    index: HashMap<&'static str, &'static Row>,
    problems: Vec<Problem>,
    files: Files,
    tell: &'t mut dyn FnMut(Event<'_>),
}

impl<'t> Reading<'t> {
    fn new(files: Files, tell: &'t mut dyn FnMut(Event<'_>)) -> Self {
        Self {
            draft: Draft::new(),
            index: directives::index(),
            problems: Vec::new(),
            files,
            tell,
        }
    }

    fn found(&mut self, found: Found<'_>) {
        match found {
            Found::File(path, depth) => (self.tell)(Event::File { path, depth }),
            Found::Line(place, text) => self.line(place, text),
            Found::Aside(place, text) => {
                let row = None;
                (self.tell)(Event::Line { place, text, row });
            }
            Found::Problem(problem) => self.problem(problem),
        }
    }

    fn line(&mut self, place: &Place, text: &str) {
        let mut line = Line::new(text, place, self.draft.quoting, self.files);
        let row = self.index.get(line.directive).copied();
        (self.tell)(Event::Line { place, text, row });
        if self.problems.len() > PROBLEMS_MAX {
            return;
        }
        let Some(row) = row else {
            self.unrecognized(&line);
            return;
        };
        let outcome = self.draft.read(row, &mut line);
        let stop = line.fault.or(outcome.err()).map(|problem| *problem);
        for problem in line.findings.into_iter().chain(stop) {
            self.problem(problem);
        }
    }

    /// After too many, only the first that stops is told, as one that stands for all: from then
    /// on lines aren't judged.
    fn problem(&mut self, mut problem: Problem) {
        if self.problems.len() >= PROBLEMS_MAX {
            if self.problems.len() > PROBLEMS_MAX || !problem.stops() {
                return;
            }
            problem.severity = Severity::Fatal;
            problem
                .message
                .push_str(", and too many problems before it");
        }
        (self.tell)(Event::Problem(&problem));
        self.problems.push(problem);
    }

    fn unrecognized(&mut self, line: &Line<'_>) {
        let message = format!("unrecognized: '{}'", shortened(line.directive));
        let search = self.problems.len() < SUGGESTIONS_MAX;
        let near = if search {
            directives::similar(line.directive)
        } else {
            None
        };
        let hint = match near {
            Some(name) => format!("Did you mean {name}?"),
            None => "Remove the line.".to_owned(),
        };
        let problem = line.problem(Severity::Unrecognized, &message);
        self.problem(problem.hint(hint));
    }

    fn finish(mut self) -> Result<Config, Problems> {
        if let Some(told) = self.draft.resolve() {
            self.problem(told);
        }
        if self.problems.iter().any(Problem::stops) {
            return Err(Problems(self.problems));
        }
        self.draft.config.warnings = self.problems;
        Ok(self.draft.config)
    }
}

impl Draft {
    fn read(&mut self, row: &Row, line: &mut Line<'_>) -> Result<(), Box<Problem>> {
        let outcome = match row.status {
            Status::NoEffect(_) | Status::Done => self.run(row, line),
            Status::NotYet(area) => {
                if !row.asks_for_nothing(line.value()) {
                    let meaning = format!("It belongs to {area}: {}.", row.doc);
                    self.not_yet(line, row.name, &meaning);
                }
                self.run(row, line)
            }
            Status::Refused(why) => {
                if !row.asks_for_nothing(line.value()) && self.first(row.name) {
                    line.note_error(format!("refused: {}", row.name), &format!("{why}."));
                }
                self.run(row, line)
            }
            Status::Obsolete(hint) => {
                if self.first(line.directive) {
                    line.note_error(format!("Directive '{}' is obsolete.", line.directive), hint);
                }
                self.run(row, line)
            }
        };
        outcome.map_err(|mut problem| {
            // Newer Squids ignore a line whose name they no longer have, whatever its value.
            if row.versions.until.is_some() && problem.severity == Severity::Fatal {
                problem.severity = Severity::Error;
            }
            problem
        })
    }

    fn run(&mut self, row: &Row, line: &mut Line<'_>) -> Result<(), Box<Problem>> {
        row.read(self, line)?;
        if let Some(left) = line.leftover() {
            line.warn(
                format!("{}: nothing is done with '{left}'", line.directive),
                "Remove it.",
            );
        }
        Ok(())
    }
}

/// Reads a file and what it includes.
pub(crate) fn file(
    path: &Path,
    options: &Options<'_>,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Config, Problems> {
    let mut reading = Reading::new(Files::Disk, tell);
    Walk::new(options, Files::Disk, |found| reading.found(found)).main(path);
    reading.finish()
}

/// Reads a text that stands for the file `name`.
pub(crate) fn text(
    text: &str,
    name: &str,
    files: Files,
    options: &Options<'_>,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Config, Problems> {
    let mut reading = Reading::new(files, tell);
    Walk::new(options, files, |found| reading.found(found)).text(text, name);
    reading.finish()
}

#[cfg(test)]
mod tests;
