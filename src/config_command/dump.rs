//! `config dump`: the settings that hold, as a configuration that means the same. Includes,
//! conditionals, macros and lines that a later one replaces are worked out.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use config::directives::{self, Row, Status};
use config::{Config, Severity};

use super::lines::{Line, Lines};
use super::secrets::masked;
use crate::configuration::{self, Source};
use crate::version::OURS;

/// It changes how the lines below it are read, so its place matters.
const SWITCH: &str = "configuration_includes_quoted_values";

/// Prints it; one that can't be used is told instead.
pub(super) fn run(source: &Source, secrets: bool) -> ExitCode {
    let read = Lines::read(source);
    match &read.config {
        Ok(_) => super::answer(&dump(&read.lines, secrets), ExitCode::SUCCESS),
        Err(problems) => configuration::refuse(problems),
    }
}

pub(super) fn dump(lines: &[Line], secrets: bool) -> String {
    let mut text = format!("# What holds, as Squall {OURS} reads it.\n");
    if !secrets {
        say(&mut text, "# Passwords are left out: *** stands for each.");
    }
    let holding = holding(lines);
    for line in &holding {
        let own = if secrets {
            line.text.clone()
        } else {
            masked(&line.text)
        };
        let (file, number) = (&line.place.file, line.place.line);
        say(
            &mut text,
            format_args!("\n# {file}:{number}{}\n{own}", remark(line)),
        );
    }
    text.push('\n');
    let said: Vec<&str> = holding
        .iter()
        .filter_map(|line| Some(line.row?.name))
        .collect();
    let done = directives::rows().filter(|row| row.status == Status::Done);
    for row in done.filter(|row| !said.contains(&row.name)) {
        say(&mut text, default(row));
    }
    text
}

/// The lines that have a say: of a directive with one value, the last that could be read.
fn holding(lines: &[Line]) -> Vec<&Line> {
    let mut last = HashMap::new();
    let read = || {
        lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !is_left_out(line))
    };
    for (place, line) in read() {
        if let Some(row) = line.row {
            last.insert(row.name, place);
        }
    }
    let holds = |(place, line): &(usize, &Line)| {
        line.row.is_some_and(|row| {
            row.kind.repeats() || row.name == SWITCH || last.get(row.name) == Some(place)
        })
    };
    read().filter(holds).map(|(_, line)| line).collect()
}

/// A line with one value that is in error says nothing; of others a part may still hold.
fn is_left_out(line: &Line) -> bool {
    let error = |finding: &config::Problem| finding.severity == Severity::Error;
    line.row.is_some_and(|row| {
        !row.kind.repeats() && row.status == Status::Done && line.findings.iter().any(error)
    })
}

fn remark(line: &Line) -> String {
    match line.row.map(|row| row.status) {
        Some(Status::NoEffect(why)) => format!(" no effect: {why}"),
        Some(Status::NotYet(area)) => format!(" not yet: {area}"),
        Some(Status::Refused(why)) => format!(" refused: {why}"),
        Some(Status::Obsolete(hint)) => format!(" obsolete: {hint}"),
        Some(Status::Done) | None => String::new(),
    }
}

/// The default as a line, if it is one: some can only be described.
fn default(row: &Row) -> String {
    let line = format!("{} {}  # default", row.name, super::default(row));
    let nothing = config::parse("", "default").unwrap_or_else(|_| Config::default());
    match config::parse(&line, "default") {
        Ok(same) if same == nothing => line,
        _ => format!("# {line}"),
    }
}

fn say(text: &mut String, line: impl std::fmt::Display) {
    writeln!(text, "{line}").expect("a String takes all that is written");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(text: &str) -> Lines {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("squid.conf");
        std::fs::write(&path, text).unwrap();
        Lines::read(&Source::File(path))
    }

    /// What a configuration means, wherever its lines are.
    fn meaning(config: &Config) -> String {
        let same = Config {
            warnings: Vec::new(),
            ..config.clone()
        };
        let told = format!("{same:?}");
        let mut parts = told.split("Place { ");
        let first = parts.next().unwrap().to_owned();
        parts.fold(first, |all, part| all + part.split_once('}').unwrap().1)
    }

    /// The lines that aren't comments.
    fn settings(text: &str) -> Vec<&str> {
        let lines = text.lines().filter(|line| !line.ends_with("  # default"));
        lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect()
    }

    #[test]
    fn the_last_line_holds_unless_they_add_up() {
        let read = read(
            "cache_mem 1 MB\nif true\nhttp_access deny CONNECT\nendif\nif false\nvia off\nendif\n\
             cache_mem 2 MB\nhttp_access allow all\ncachemgr_passwd hunter2 all\n",
        );
        let text = dump(&read.lines, false);
        assert_eq!(
            settings(&text),
            [
                "http_access deny CONNECT",
                "cache_mem 2 MB",
                "http_access allow all",
                "cachemgr_passwd *** all"
            ]
        );
        assert!(text.contains("squid.conf:8\ncache_mem 2 MB\n"), "{text}");
        assert!(text.contains("\nvia on  # default\n"), "{text}");
        assert!(text.contains("\n# visible_hostname "), "{text}");
        assert!(dump(&read.lines, true).contains("cachemgr_passwd hunter2 all"));
    }

    #[test]
    fn a_dump_means_what_it_was_made_from() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
        let mut seen = 0;
        for file in std::fs::read_dir(examples).unwrap() {
            let path = file.unwrap().path();
            let first = Lines::read(&Source::File(path.clone()));
            let text = dump(&first.lines, true);
            let again = read(&text);
            let (before, after) = (first.config.unwrap(), again.config.as_ref().unwrap());
            assert_eq!(
                meaning(&before),
                meaning(after),
                "{}\n{text}",
                path.display()
            );
            assert_eq!(settings(&text), settings(&dump(&again.lines, true)));
            seen += 1;
        }
        assert!(seen > 0);
    }
}
