//! From files to logical lines: comments, continuations, macros, conditionals,
//! `include` and `#line`. The reader of directives gets the lines one by one.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::conditional::{Branches, Statement};
use super::glob;
use super::source::{self, Files};
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

    /// Walks over the main file, or over what a command prints: `!command` or `|command`.
    pub(crate) fn main(&mut self, path: &Path) {
        let name = path.to_string_lossy();
        let whole = Place {
            file: Arc::from(&*name),
            line: 0,
        };
        match name.strip_prefix(['!', '|']) {
            Some(command) => self.command(&name, command, &At::file(&whole)),
            None => self.file(path, &At::file(&whole)),
        }
    }

    /// The lines that a failing command has printed are walked over all the same, as in Squid.
    fn command(&mut self, name: &str, command: &str, at: &At<'_>) {
        (self.each)(Found::File(name, 0));
        let (text, failure) = source::output(command);
        self.text(&text, command);
        if let Some(reason) = failure {
            let message = format!("parseConfigFile: '{name}' {reason}");
            let hint = "Run the command by hand: it has to print a configuration.";
            self.fatal(at, &message, hint);
        }
    }

    /// Walks over a file; one that can't be read is a fatal problem of the line that names it.
    fn file(&mut self, path: &Path, from: &At<'_>) {
        let name = path.to_string_lossy();
        (self.each)(Found::File(&name, self.depth));
        if self.depth > DEPTH_MAX {
            let message =
                format!("WARNING: can't include {name}: includes are nested too deeply (>16)!");
            self.fatal(from, &message, "Does a file include itself?");
            return;
        }
        match source::read(path, self.files) {
            Ok(text) => self.text(&text, &name),
            Err(error) => {
                let reason = source::reason(&error);
                let message = format!("Unable to open configuration file: {name}: {reason}");
                let hint = "Check the name and the rights of the file.";
                self.fatal(from, &message, hint);
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
        if let Some(place) = branches.unclosed() {
            let at = At::line(place, "if", 0..2);
            let hint = "Write `endif` in the same file.";
            self.fatal(&at, "if-statement without 'endif'", hint);
        }
    }

    fn logical(&mut self, text: &str, place: &Place, branches: &mut Branches) {
        let expanded = expand(text.trim_end_matches(blank), self.options);
        if expanded.is_empty() {
            return;
        }
        self.line(&expanded, place, branches);
        if !self.per_process && text.contains("${process_n") {
            self.per_process = true;
            let message = "${process_number} is always 1 and ${process_name} squid-1";
            let hint = "Workers are threads that share one configuration.";
            let at = At::line(place, &expanded, 0..0);
            self.problem(Severity::Warning, &at, message, hint);
        }
    }

    fn line(&mut self, line: &str, place: &Place, branches: &mut Branches) {
        let (word, rest) = line.split_once(blank).unwrap_or((line, ""));
        let statement = branches.statement(word, rest.trim_matches(blank), place);
        let counts = matches!(statement, Statement::None) && !branches.skipping();
        // Squid knows no `include` without a file.
        let includes = counts && word == "include" && !rest.is_empty();
        if counts && !includes {
            (self.each)(Found::Line(place, line));
            return;
        }
        (self.each)(Found::Aside(place, line));
        let at = At::line(place, line, 0..line.len());
        match statement {
            Statement::None if includes => self.include(line, rest, place),
            Statement::None | Statement::Done => {}
            Statement::Again => {
                let message = "a second 'else' takes the first branch again";
                self.problem(Severity::Warning, &at, message, "Remove it.");
            }
            Statement::Bad(message) => {
                let hint = "Conditions are `if true`, `if false` and `if NUMBER = NUMBER`.";
                self.fatal(&at, &message, hint);
            }
        }
    }

    fn include(&mut self, line: &str, mut rest: &str, place: &Place) {
        loop {
            rest = rest.trim_start_matches(blank);
            if rest.is_empty() || rest.starts_with('#') {
                return;
            }
            let start = line.len() - rest.len();
            let pattern = include_word(&mut rest);
            let word = line.get(start..line.len() - rest.len()).unwrap_or_default();
            let end = start + word.trim_end_matches(blank).len();
            let at = At::line(place, line, start..end);
            self.expand(&pattern, &at);
        }
    }

    fn expand(&mut self, pattern: &str, at: &At<'_>) {
        let found = match self.files {
            Files::Disk => glob::expand(pattern),
            Files::Missing => Vec::new(),
        };
        if found.is_empty() {
            let message = format!(
                "Unable to find configuration file: {pattern}: (2) No such file or directory"
            );
            let hint = "Create the file, or an empty one that the pattern matches.";
            self.fatal(at, &message, hint);
        }
        self.depth += 1;
        for path in found {
            self.count += 1;
            match self.count {
                ..FILES_MAX => self.file(&path, at),
                FILES_MAX => self.fatal(at, "too many files", "At most 10,000 may be included."),
                _ => {}
            }
        }
        self.depth -= 1;
    }

    fn fatal(&mut self, at: &At<'_>, message: &str, hint: &str) {
        self.problem(Severity::Fatal, at, message, hint);
    }

    fn problem(&mut self, severity: Severity, at: &At<'_>, message: &str, hint: &str) {
        let problem = Problem::new(severity, at.place, at.text, at.mark.clone(), message);
        (self.each)(Found::Problem(problem.hint(hint)));
    }
}

/// What a problem is about: a part of a line, or a file.
struct At<'a> {
    place: &'a Place,
    text: &'a str,
    mark: Range<usize>,
}

impl<'a> At<'a> {
    fn line(place: &'a Place, text: &'a str, mark: Range<usize>) -> Self {
        Self { place, text, mark }
    }

    fn file(place: &'a Place) -> Self {
        Self::line(place, "", 0..0)
    }
}

/// Space and tab; form feeds and the like are not white space between words.
pub(super) fn blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// Takes a file name off the front of `rest`: blanks may stand between double quotes, where a
/// backslash keeps the character behind it.
fn include_word(rest: &mut &str) -> String {
    let mut word = String::new();
    let mut quoted = false;
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' if quoted => word.extend(chars.next()),
            c if blank(c) && !quoted => break,
            c => word.push(c),
        }
    }
    *rest = chars.as_str();
    word
}

/// `N` or `N "file"`: the next line is line N of that file. Anything else is a comment.
fn renumber(text: &str, place: &mut Place) {
    let text = text.trim_matches(blank);
    let (number, file) = text.split_once(blank).unwrap_or((text, ""));
    let Ok(line) = number.parse::<u32>() else {
        return;
    };
    let file = file.trim_start_matches(blank);
    match file.strip_prefix('"').and_then(|name| name.split_once('"')) {
        Some((name, _)) => place.file = Arc::from(name),
        None if file.is_empty() => {}
        None => return,
    }
    place.line = line.saturating_sub(1);
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

#[cfg(test)]
mod tests;
