//! What a reader of a configuration is told while it is read, and what it can
//! choose. Used by the program: `-k parse` prints each event as it comes.

use crate::directives::Row;
use crate::problem::{Place, Problem};

/// What happens while a configuration is read, in the order in which Squid prints it.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A file is about to be read.
    File {
        /// As it was named.
        path: &'a str,
        /// 0 is the main file, 1 what it includes.
        depth: u32,
    },
    /// A logical line: continuations joined, macros expanded, blanks at its ends dropped.
    Line {
        /// Where it is.
        place: &'a Place,
        /// The line, with the comment behind its values.
        text: &'a str,
        /// The directive that reads it. `None` for an unknown one, and for what the language
        /// itself takes: `include`, conditionals, lines of a branch that isn't taken.
        row: Option<&'static Row>,
    },
    /// Something wrong with the line just told.
    Problem(&'a Problem),
}

/// What the command line says about how to read.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// What `${service_name}` stands for: `-n` of the command line.
    pub service_name: &'a str,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            service_name: "squid",
        }
    }
}
