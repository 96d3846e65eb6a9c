//! `config check`: what becomes of each line, counted, and what a proxy with this configuration
//! would miss.

use std::fmt::Write as _;
use std::process::ExitCode;

use config::directives::{Area, Row, Status};
use config::{Problem, Severity};
use serde::Serialize;

use super::lines::{Line, Lines};
use super::secrets::masked;
use crate::configuration::Source;

/// What becomes of a line, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// It does what it says, or asks for what is done anyhow.
    Done,
    /// There is nothing for it to change.
    NoEffect,
    /// It, or a part of it, isn't obeyed.
    NotYet,
    /// Newer Squids don't have it; translated where it can be.
    Obsolete,
    /// It is never obeyed.
    Refused,
    /// It has no meaning that could be acted on.
    Wrong,
}

impl Verdict {
    const ALL: [Self; 6] = [
        Self::Done,
        Self::NoEffect,
        Self::NotYet,
        Self::Obsolete,
        Self::Refused,
        Self::Wrong,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::NoEffect => "no effect",
            Self::NotYet => "not yet",
            Self::Obsolete => "obsolete",
            Self::Refused => "refused",
            Self::Wrong => "wrong",
        }
    }

    /// Of a line that a directive reads, or that nothing does.
    fn of(line: &Line) -> Self {
        let grave = |problem: &Problem| problem.severity != Severity::Warning;
        let status = line.row.map(|row| row.status);
        match status {
            Some(Status::Obsolete(_)) if !line.findings.iter().any(Problem::stops) => {
                Self::Obsolete
            }
            Some(Status::Refused(_)) => Self::Refused,
            _ if line.findings.iter().any(grave) => Self::Wrong,
            _ if line.findings.iter().any(is_not_yet) => Self::NotYet,
            Some(Status::NoEffect(_)) => Self::NoEffect,
            Some(Status::NotYet(_)) if asks_for_something(line) => Self::NotYet,
            _ => Self::Done,
        }
    }
}

/// The second line of a directive gets no warning of its own.
fn asks_for_something(line: &Line) -> bool {
    let (_, value) = line.text.split_once([' ', '\t']).unwrap_or_default();
    line.row
        .is_some_and(|row: &Row| !row.asks_for_nothing(value.trim()))
}

fn is_not_yet(problem: &Problem) -> bool {
    problem.message.contains("not yet")
}

/// The whole answer.
#[derive(Debug, Serialize)]
struct Score {
    file: String,
    usable: bool,
    counts: Counts,
    lines: Vec<Judged>,
    /// Findings about no line.
    others: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Counts {
    done: usize,
    no_effect: usize,
    not_yet: usize,
    obsolete: usize,
    refused: usize,
    wrong: usize,
}

impl Counts {
    const fn of(&mut self, verdict: Verdict) -> &mut usize {
        match verdict {
            Verdict::Done => &mut self.done,
            Verdict::NoEffect => &mut self.no_effect,
            Verdict::NotYet => &mut self.not_yet,
            Verdict::Obsolete => &mut self.obsolete,
            Verdict::Refused => &mut self.refused,
            Verdict::Wrong => &mut self.wrong,
        }
    }
}

/// A line and what becomes of it.
#[derive(Debug, Serialize)]
struct Judged {
    file: String,
    line: u32,
    text: String,
    verdict: Verdict,
    /// The part of the proxy that would obey it.
    area: Option<&'static str>,
    /// Why, or what to do: of the directive, then of this line.
    notes: Vec<String>,
}

impl Judged {
    fn of(line: &Line) -> Self {
        let mut notes = Vec::new();
        match line.row.map(|row| row.status) {
            Some(Status::NoEffect(why) | Status::Refused(why)) => notes.push(why.to_owned()),
            Some(Status::Obsolete(hint)) => notes.push(hint.to_owned()),
            Some(Status::Done | Status::NotYet(_)) | None => {}
        }
        for problem in &line.findings {
            let mut note = problem.message.clone();
            if !problem.hint.is_empty() {
                note = format!("{note}: {}", problem.hint);
            }
            if !notes.iter().any(|before| note.contains(before)) {
                notes.push(note);
            }
        }
        Self {
            file: line.place.file.to_string(),
            line: line.place.line,
            text: masked(&line.text),
            verdict: Verdict::of(line),
            area: area(line).map(Area::name),
            notes,
        }
    }
}

fn area(line: &Line) -> Option<Area> {
    match line.row?.status {
        Status::NotYet(area) => Some(area),
        _ => None,
    }
}

/// Prints it; the exit status says whether the proxy would start.
pub(super) fn run(source: &Source, json: bool) -> ExitCode {
    let score = score(source);
    let code = if score.usable {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    };
    let text = if json {
        serde_json::to_string_pretty(&score)
            .map_or_else(|error| error.to_string(), |text| text + "\n")
    } else {
        report(&score)
    };
    super::answer(&text, code)
}

fn score(source: &Source) -> Score {
    let read = Lines::read(source);
    // Conditionals and includes are neither done nor missing.
    let counted = |line: &&Line| line.row.is_some() || !line.findings.is_empty();
    let lines: Vec<Judged> = read.lines.iter().filter(counted).map(Judged::of).collect();
    let mut counts = Counts::default();
    for line in &lines {
        *counts.of(line.verdict) += 1;
    }
    Score {
        file: source.name(),
        usable: read.config.is_ok(),
        counts,
        lines,
        others: read.others.iter().map(ToString::to_string).collect(),
    }
}

fn report(score: &Score) -> String {
    let mut counts = score.counts;
    let numbers = Verdict::ALL.map(|verdict| format!("{} {}", counts.of(verdict), verdict.name()));
    let usable = if score.usable { "usable" } else { "not usable" };
    let mut text = format!(
        "{}: {usable}. {} lines: {}.\n",
        score.file,
        score.lines.len(),
        numbers.join(", ")
    );
    for other in &score.others {
        say(&mut text, format_args!("\n{other}"));
    }
    for verdict in Verdict::ALL.into_iter().skip(1).rev() {
        let lines = || {
            score
                .lines
                .iter()
                .filter(move |line| line.verdict == verdict)
        };
        if lines().next().is_none() {
            continue;
        }
        say(&mut text, format_args!("\n{}:", verdict.name()));
        if verdict != Verdict::NotYet {
            lines().for_each(|line| show(&mut text, line));
            continue;
        }
        for area in Area::ALL {
            let mut lines = lines()
                .filter(|line| line.area == Some(area.name()))
                .peekable();
            if lines.peek().is_some() {
                say(
                    &mut text,
                    format_args!("  {}: {}", area.name(), area.loss()),
                );
            }
            lines.for_each(|line| show(&mut text, line));
        }
        let mut parts = lines().filter(|line| line.area.is_none()).peekable();
        if parts.peek().is_some() {
            say(&mut text, "  Parts of lines that are done otherwise:");
        }
        parts.for_each(|line| show(&mut text, line));
    }
    text
}

fn show(text: &mut String, line: &Judged) {
    let Judged {
        file, line: number, ..
    } = line;
    say(text, format_args!("    {file}:{number}: {}", line.text));
    // What an area misses is said above its lines.
    let notes = line.notes.iter().filter(|_| line.area.is_none());
    for note in notes {
        say(text, format_args!("        {note}"));
    }
}

fn say(text: &mut String, line: impl std::fmt::Display) {
    writeln!(text, "{line}").expect("a String takes all that is written");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score_of(text: &str) -> Score {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("squid.conf");
        std::fs::write(&path, text).unwrap();
        score(&Source::File(path))
    }

    const MIXED: &str = "if true
http_port 3128
endif
http_access allow all
buffered_logs on
icp_port 3130
icp_port 3131
icp_port 0
cachemgr_passwd hunter2 all
wais_relay_port 1
cache_peer p.example parent 3128 0 login=a:hunter2
";

    #[test]
    fn each_line_is_counted_once_and_conditionals_are_not() {
        let score = score_of(MIXED);
        assert!(score.usable);
        assert_eq!(score.lines.len(), 9);
        let counts = score.counts;
        assert_eq!((counts.no_effect, counts.obsolete), (1, 1), "{counts:?}");
        let icp: Vec<Verdict> = score
            .lines
            .iter()
            .skip(3)
            .take(3)
            .map(|line| line.verdict)
            .collect();
        assert_eq!(icp, [Verdict::NotYet, Verdict::NotYet, Verdict::Done]);
        assert!(score_of("http_access allow all").counts.done == 1);
    }

    #[test]
    fn what_is_missed_is_said_by_area_and_no_password_is() {
        let score = score_of(MIXED);
        let report = report(&score);
        assert!(report.contains("peers: Nobody is asked by ICP"), "{report}");
        assert!(report.contains("squid.conf:6: icp_port 3130"), "{report}");
        let json = serde_json::to_string(&score).unwrap();
        assert!(
            json.contains("\"verdict\":\"not_yet\",\"area\":\"peers\""),
            "{json}"
        );
        assert!(!json.contains("hunter2") && !report.contains("hunter2"));
    }

    #[test]
    fn what_keeps_it_from_being_used_is_wrong() {
        let score = score_of("http_acces allow all\nhttp_access allow nobody\n");
        assert!(!score.usable);
        assert_eq!(score.counts.wrong, 2);
        assert!(report(&score).contains("Did you mean http_access?"));
        assert!(!score_of("include /nowhere/x.conf").usable);
        let nowhere = super::score(&Source::File("/nowhere/squid.conf".into()));
        assert!(!nowhere.usable && nowhere.others.len() == 1);
    }
}
