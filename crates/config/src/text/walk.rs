//! From files to logical lines: comments, continuations, macros, conditionals,
//! `include` and `#line`. The reader of directives gets the lines one by one.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::glob;
use super::line::shortened;
use crate::event::Options;
use crate::problem::{Place, Problem, Severity};

/// Includes inside includes.
const DEPTH_MAX: u32 = 16;
/// Files of one configuration: a file that includes itself twice would double at each depth.
const FILES_MAX: u32 = 10_000;

/// What a walk finds, in order.
pub(crate) enum Found<'a> {
    /// A file is about to be read; the first has depth 0.
    File(&'a str, u32),
    /// A line for a directive.
    Line(&'a Place, &'a str),
    /// A line that the language itself takes: a conditional, an `include`, a branch not taken.
    Aside(&'a Place, &'a str),
    /// Something wrong with the files or conditionals.
    Problem(Problem),
}

/// May the text name files? Only a fuzzer says no.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// Read them.
    Disk,
    /// Treat all as missing.
    Missing,
}

/// A walk over a configuration and what it includes.
pub(crate) struct Walk<'o, F> {
    each: F,
    options: &'o Options<'o>,
    files: Files,
    depth: u32,
    count: u32,
    per_process: bool,
}

impl<'o, F: FnMut(Found<'_>)> Walk<'o, F> {
    /// A walk that gives what it finds to `each`.
    pub(crate) fn new(options: &'o Options<'o>, files: Files, each: F) -> Self {
        Self {
            each,
            options,
            files,
            depth: 0,
            count: 0,
            per_process: false,
        }
    }

    /// Walks over a file; one that can't be read is a fatal problem.
    pub(crate) fn file(&mut self, path: &Path, from: &Place) {
        self.count += 1;
        match read(path, self.files, self.depth) {
            Ok(bytes) => {
                let name = path.to_string_lossy();
                (self.each)(Found::File(&name, self.depth));
                self.text(&String::from_utf8_lossy(&bytes), &name);
            }
            Err(error) => {
                let reason = reason(&error);
                let message = format!(
                    "Unable to open configuration file: {}: {reason}",
                    path.display()
                );
                self.fatal(
                    from,
                    "",
                    "",
                    &message,
                    "Check the name and the rights of the file.",
                );
            }
        }
    }

    /// Walks over a text that stands for the file `name`.
    pub(crate) fn text(&mut self, text: &str, name: &str) {
        let mut place = Place {
            file: Arc::from(name),
            line: 0,
        };
        let mut branches = Branches::default();
        let mut joined = String::new();
        let mut start = place.clone();
        for raw in text.split('\n') {
            place.line = place.line.saturating_add(1);
            let raw = raw.split('\r').next().unwrap_or_default();
            let line = raw.trim_start_matches(blank);
            if let Some(directive) = line.strip_prefix("#line ") {
                renumber(directive, &mut place);
                continue;
            }
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if joined.is_empty() {
                start.clone_from(&place);
            }
            joined.push_str(line);
            if joined.ends_with('\\') {
                joined.pop();
                continue;
            }
            self.logical(&joined, &start, &mut branches);
            joined.clear();
        }
        if !joined.is_empty() {
            self.logical(&joined, &start, &mut branches);
        }
        if !branches.open.is_empty() {
            let hint = "Write `endif` in the same file.";
            self.fatal(
                &place,
                "if",
                "if",
                "if-statements must have matching endif",
                hint,
            );
        }
    }

    fn logical(&mut self, text: &str, place: &Place, branches: &mut Branches) {
        let expanded = expand(text.trim_end_matches(blank), self.options);
        let line: &str = &expanded;
        if line.is_empty() {
            return;
        }
        if !self.per_process && text.contains("${process_n") {
            self.per_process = true;
            self.per_process_warning(place, line);
        }
        let (word, rest) = line.split_once(blank).unwrap_or((line, ""));
        let statement = branches.statement(word, rest.trim_matches(blank));
        if matches!(statement, Statement::None) && !branches.skipping() && word != "include" {
            (self.each)(Found::Line(place, line));
            return;
        }
        (self.each)(Found::Aside(place, line));
        match statement {
            Statement::Done => {}
            Statement::Bad(message) => {
                let hint = "Conditions are `if true`, `if false` and `if NUMBER = NUMBER`.";
                self.fatal(place, word, line, &message, hint);
            }
            Statement::None if branches.skipping() => {}
            Statement::None => self.include(rest, place, line),
        }
    }

    fn include(&mut self, patterns: &str, place: &Place, line: &str) {
        if self.depth >= DEPTH_MAX || self.count >= FILES_MAX {
            let message =
                format!("WARNING: can't include {patterns}: includes are nested too deeply");
            self.fatal(
                place,
                "include",
                line,
                &message,
                "At most 16 levels and 10,000 files.",
            );
            return;
        }
        for word in patterns.split(blank).filter(|word| !word.is_empty()) {
            if word.starts_with('#') {
                break;
            }
            let pattern = word.trim_matches(['"', '\'']);
            let found = match self.files {
                Files::Disk => glob::expand(pattern),
                Files::Missing => Vec::new(),
            };
            if found.is_empty() {
                let message = format!(
                    "Unable to find configuration file: {pattern}: (2) No such file or directory"
                );
                let hint = "Create the file, or an empty one that the pattern matches.";
                self.fatal(place, "include", line, &message, hint);
            }
            self.depth += 1;
            for path in found {
                if self.count < FILES_MAX {
                    self.file(&path, place);
                }
            }
            self.depth -= 1;
        }
    }

    fn per_process_warning(&mut self, place: &Place, line: &str) {
        (self.each)(Found::Problem(Problem {
            severity: Severity::Warning,
            place: place.clone(),
            directive: line.split(blank).next().unwrap_or_default().to_owned(),
            message: "${process_number} is always 1 and ${process_name} squid-1".to_owned(),
            hint: "Workers are threads that share one configuration.".to_owned(),
            text: shortened(line),
        }));
    }

    fn fatal(&mut self, place: &Place, directive: &str, text: &str, message: &str, hint: &str) {
        (self.each)(Found::Problem(Problem {
            severity: Severity::Fatal,
            place: place.clone(),
            directive: directive.to_owned(),
            message: message.to_owned(),
            hint: hint.to_owned(),
            text: shortened(text),
        }));
    }
}

/// Space and tab; form feeds and the like are not white space between words.
pub(super) fn blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// The main file may be a pipe (`-f /dev/stdin`); an included one is a regular file.
fn read(path: &Path, files: Files, depth: u32) -> std::io::Result<Vec<u8>> {
    if files == Files::Missing {
        return Err(std::io::ErrorKind::NotFound.into());
    }
    if depth > 0 && !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    std::fs::read(path)
}

/// An error as Squid writes it: number, then text.
pub(super) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(code) => {
            let text = text
                .strip_suffix(&format!(" (os error {code})"))
                .unwrap_or(&text);
            format!("({code}) {text}")
        }
        None => text,
    }
}

/// `#line N "file"`: the next line is line N of that file.
fn renumber(text: &str, place: &mut Place) {
    let (number, file) = text.trim().split_once(blank).unwrap_or((text.trim(), ""));
    if let Ok(line) = number.parse::<u32>() {
        place.line = line.saturating_sub(1);
        let file = file.trim().trim_matches('"');
        if !file.is_empty() {
            place.file = Arc::from(file);
        }
    }
}

/// The macros that Squid expands anywhere on a line; other `${…}` stay as they are.
/// The workers are threads that share one configuration, so the number is always 1.
fn expand<'t>(text: &'t str, options: &Options<'_>) -> Cow<'t, str> {
    if !text.contains("${") {
        return Cow::Borrowed(text);
    }
    let line = text
        .replace("${process_name}", "squid-1")
        .replace("${process_number}", "1")
        .replace("${service_name}", options.service_name);
    Cow::Owned(line)
}

/// Conditionals around the current line.
#[derive(Default)]
struct Branches {
    open: Vec<Branch>,
    /// How many of them are not taken.
    skipped: usize,
}

struct Branch {
    taken: bool,
    in_else: bool,
}

/// What a line means as a part of a conditional.
enum Statement {
    /// Nothing.
    None,
    /// It was one.
    Done,
    /// It was a wrong one.
    Bad(String),
}

impl Branches {
    fn skipping(&self) -> bool {
        self.skipped > 0
    }

    fn statement(&mut self, word: &str, rest: &str) -> Statement {
        match word {
            "if" => {
                let condition = if self.skipping() {
                    Ok(false)
                } else {
                    condition(rest)
                };
                let taken = *condition.as_ref().unwrap_or(&false);
                self.skipped += usize::from(!taken);
                self.open.push(Branch {
                    taken,
                    in_else: false,
                });
                condition.err().map_or(Statement::Done, Statement::Bad)
            }
            "else" => match self.open.last_mut() {
                Some(branch) if !branch.in_else => {
                    if branch.taken {
                        self.skipped += 1;
                    } else {
                        self.skipped -= 1;
                    }
                    branch.taken = !branch.taken;
                    branch.in_else = true;
                    Statement::Done
                }
                _ => Statement::Bad("'else' without 'if'".into()),
            },
            "endif" => match self.open.pop() {
                Some(branch) => {
                    self.skipped -= usize::from(!branch.taken);
                    Statement::Done
                }
                None => Statement::Bad("'endif' without 'if'".into()),
            },
            _ => Statement::None,
        }
    }
}

fn condition(text: &str) -> Result<bool, String> {
    let text = text.split(" #").next().unwrap_or_default().trim();
    match text {
        "true" => return Ok(true),
        "false" => return Ok(false),
        _ => {}
    }
    let (left, right) = text
        .split_once('=')
        .ok_or_else(|| format!("unsupported conditional expression: {text}"))?;
    let number = |side: &str| {
        side.trim()
            .parse::<i64>()
            .map_err(|_| format!("invalid integer in conditional: {side}"))
    };
    Ok(number(left)? == number(right)?)
}

#[cfg(test)]
mod tests;
