//! What compiling has to say of the values of ACLs. A list of a million values may have a million bad ones: the first
//! are told with their file and line, the others counted.

use std::fmt::{self, Write as _};

use config::list_file::FileLine;
use config::{AclLine, Place, Problem, Severity};

/// Findings that are told of one ACL.
const TOLD_MAX: usize = 50;

/// Problems so far, and how many the ACL at work has.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) problems: Vec<Problem>,
    told: usize,
    untold: Option<Untold>,
}

struct Untold {
    count: usize,
    worst: Severity,
}

impl Findings {
    /// Notes a finding about a value of the line; `file` says where the value is when it isn't on the line itself.
    pub(crate) fn tell(
        &mut self,
        severity: Severity,
        line: &AclLine,
        file: Option<FileLine<'_>>,
        message: fmt::Arguments<'_>,
    ) {
        if self.told == TOLD_MAX {
            let untold = self.untold.get_or_insert(Untold {
                count: 0,
                worst: severity,
            });
            untold.count += 1;
            untold.worst = untold.worst.min(severity);
            return;
        }
        self.told += 1;
        let mut text = file.map_or_else(String::new, |file| format!("{file}: "));
        // Writing to a String can't fail.
        text.write_fmt(message).ok();
        self.problems.push(about(line, severity, text));
    }

    /// Ends the findings of an ACL.
    pub(crate) fn close(&mut self, line: &AclLine) {
        self.told = 0;
        if let Some(Untold { count, worst }) = self.untold.take() {
            let message = format!("acl {} has {count} more findings like these", line.name);
            self.problems.push(about(line, worst, message));
        }
    }
}

fn about(line: &AclLine, severity: Severity, message: String) -> Problem {
    let text = format!("acl {} {} {}", line.name, line.kind, line.values);
    problem(severity, "acl", &line.place, message, text)
}

/// A problem without a hint.
pub(crate) fn problem(
    severity: Severity,
    directive: &str,
    place: &Place,
    message: String,
    text: String,
) -> Problem {
    Problem {
        severity,
        place: place.clone(),
        directive: directive.into(),
        message,
        hint: String::new(),
        text,
        mark: None,
    }
}
