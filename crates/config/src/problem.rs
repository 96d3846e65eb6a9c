//! What is wrong with a configuration, and where. Readers make problems, the
//! program prints them; the texts are Squid's where tools look for them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A line of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// File as it was named, or `built-in`.
    pub file: Arc<str>,
    /// Counted from 1; of a continued line, the first.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}", self.file, self.line)
    }
}

/// How bad a problem is. `Fatal` and `Unrecognized` keep the program from starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The line has no meaning we could act on.
    Fatal,
    /// No Squid ever had a directive of this name.
    Unrecognized,
    /// The line, or a part of it, is left out.
    Error,
    /// The line works, but perhaps not as meant.
    Warning,
}

/// One finding about one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Does it stop the start?
    pub severity: Severity,
    /// Where it is.
    pub place: Place,
    /// Directive the line begins with; empty when the file itself is the problem.
    pub directive: String,
    /// What is wrong; Squid's words where tools read them.
    pub message: String,
    /// What to do about it: a sentence, or empty.
    pub hint: String,
    /// The line as written, macros expanded; of a long one, the beginning.
    pub text: String,
    /// The word at fault, in bytes of `text`; `None` when the line is the whole of it.
    pub mark: Option<Range<usize>>,
}

/// Characters of a line, or of a message, that a problem repeats.
const TEXT_CHARS_MAX: usize = 1_000;

/// Directives that the language itself has; Squid doesn't call their lines bungled.
const OF_THE_LANGUAGE: [&str; 4] = ["include", "if", "else", "endif"];

impl Problem {
    /// A problem of the line `text`, at the word of these bytes, without a remedy.
    #[must_use]
    pub fn new(
        severity: Severity,
        place: &Place,
        text: &str,
        mark: Range<usize>,
        message: &str,
    ) -> Self {
        let directive = text.split([' ', '\t']).next().unwrap_or_default();
        let text = shortened(text);
        let mark = mark.start..mark.end.min(text.len());
        Self {
            severity,
            place: place.clone(),
            directive: shortened(directive),
            message: shortened(message),
            hint: String::new(),
            mark: (!mark.is_empty()).then_some(mark),
            text,
        }
    }

    /// The same problem with a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// True when a configuration with this problem can't be used.
    #[must_use]
    pub fn stops(&self) -> bool {
        matches!(self.severity, Severity::Fatal | Severity::Unrecognized)
    }
}

impl fmt::Display for Problem {
    /// Squid's line first. A fatal one has its reason on a second line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            message,
            text,
            ..
        } = self;
        let Place { file, line } = place;
        match self.severity {
            Severity::Fatal if self.directive.is_empty() => write!(f, "FATAL: {message}")?,
            Severity::Fatal if OF_THE_LANGUAGE.contains(&&*self.directive) => {
                write!(f, "FATAL: {message} [{place}]")?;
            }
            Severity::Fatal => write!(f, "FATAL: Bungled {place}: {text}\n  {message}")?,
            Severity::Unrecognized => write!(f, "ERROR: {file}({line}): {message}")?,
            Severity::Error => write!(f, "ERROR: {message} [{place}]")?,
            Severity::Warning => write!(f, "WARNING: {message} [{place}]")?,
        }
        if !self.hint.is_empty() {
            let sign = match self.severity {
                Severity::Error | Severity::Warning => ":",
                Severity::Fatal | Severity::Unrecognized if message.ends_with('.') => "",
                Severity::Fatal | Severity::Unrecognized => ".",
            };
            write!(f, "{sign} {}", self.hint)?;
        }
        Ok(())
    }
}

/// The text, or as much of it as a problem repeats.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

/// Everything found in a configuration that can't be used, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Exit status as Squid has it: 1 when anything is fatal, else the number of
    /// unrecognised directives, at most 255.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self
            .0
            .iter()
            .any(|problem| problem.severity == Severity::Fatal)
        {
            return 1;
        }
        let count = self.0.iter().filter(|problem| problem.stops()).count();
        u8::try_from(count).unwrap_or(u8::MAX)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
