//! A configuration as its lines, each with what was found about it.

use config::directives::Row;
use config::{Config, Event, Place, Problem, Problems};

use crate::cli::Args;
use crate::configuration::Source;
use crate::supports;

/// A line of a configuration.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Where it is.
    pub(super) place: Place,
    /// Continuations joined, macros expanded.
    pub(super) text: String,
    /// The directive that reads it; `None`: the language itself, or nobody.
    pub(super) row: Option<&'static Row>,
    /// What was found about it.
    pub(super) findings: Vec<Problem>,
}

/// A configuration that was read, to its end or as far as it went.
#[derive(Debug)]
pub(super) struct Lines {
    /// All lines, in their order.
    pub(super) lines: Vec<Line>,
    /// Findings about no line: files that can't be read.
    pub(super) others: Vec<Problem>,
    /// What they come to, or what keeps them from being used.
    pub(super) config: Result<Config, Problems>,
}

impl Lines {
    /// Reads them all, and says what is known of them.
    pub(super) fn read(source: &Source) -> Self {
        let Self {
            mut lines,
            mut others,
            config,
        } = Self::load(source, &Args::default());
        let config = config.and_then(|config| {
            let found = supports::check(&config);
            let problems = match &found {
                Ok(warnings) => warnings,
                Err(problems) => &problems.0,
            };
            for problem in problems {
                note(&mut lines, &mut others, problem.clone());
            }
            found.map(|_| config)
        });
        Self {
            lines,
            others,
            config,
        }
    }

    /// Reads them all, to use them.
    pub(super) fn load(source: &Source, args: &Args) -> Self {
        let mut lines: Vec<Line> = Vec::new();
        let mut others = Vec::new();
        let config = source.load_telling(args, &mut |event| match event {
            Event::File { .. } => {}
            Event::Line { place, text, row } => lines.push(Line {
                place: place.clone(),
                text: text.to_owned(),
                row,
                findings: Vec::new(),
            }),
            Event::Problem(problem) => note(&mut lines, &mut others, problem.clone()),
        });
        Self {
            lines,
            others,
            config,
        }
    }
}

/// Gives a finding to its line: the last one of that place.
fn note(lines: &mut [Line], others: &mut Vec<Problem>, problem: Problem) {
    let about = lines.iter_mut().rfind(|line| line.place == problem.place);
    match about {
        Some(line) => line.findings.push(problem),
        None => others.push(problem),
    }
}
