//! Shows what is wrong with a configuration. Squid's text always; at a terminal also the line
//! itself, with the place marked and the remedy below.

use std::io::IsTerminal as _;

use ariadne::{Color, Config, IndexType, Label, Report, ReportKind, Source};
use config::{Problem, Severity};

use crate::console::Page;

/// `#line` may give any number to a line.
const LINES_ABOVE_MAX: usize = 1_000_000;

/// How findings are shown on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Squid's text alone: scripts read it.
    Plain,
    /// The line below it, marked.
    Marked,
    /// The same, with colours.
    Coloured,
}

impl Form {
    /// What suits who reads standard error; `NO_COLOR` with any value keeps colours away.
    pub(crate) fn of_stderr() -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match (std::io::stderr().is_terminal(), no_colour) {
            (false, _) => Self::Plain,
            (true, true) => Self::Marked,
            (true, false) => Self::Coloured,
        }
    }

    /// Shows some.
    pub(crate) fn show<'p>(self, problems: impl IntoIterator<Item = &'p Problem>) {
        let mut page = Page::new();
        for problem in problems {
            self.add(problem, &mut page);
        }
        page.show();
    }

    /// Adds one to what will be shown.
    pub(crate) fn add(self, problem: &Problem, page: &mut Page) {
        page.say(problem);
        if let Some(picture) = self.picture(problem) {
            page.plain(picture);
        }
    }

    /// The line with its mark.
    fn picture(self, problem: &Problem) -> Option<String> {
        if self == Self::Plain || problem.text.is_empty() {
            return None;
        }
        let config = Config::default()
            .with_color(self == Self::Coloured)
            .with_index_type(IndexType::Byte);
        // Empty lines above give the line its number in the margin.
        let line = usize::try_from(problem.place.line.saturating_sub(1)).unwrap_or(0);
        let above = line.min(LINES_ABOVE_MAX);
        let source = Source::from("\n".repeat(above) + &problem.text);
        let source = source.with_display_line_offset(line - above);
        let file = &*problem.place.file;
        let whole = 0..problem.text.len();
        let mark = problem.mark.clone().unwrap_or(whole);
        let mark = above + mark.start..above + mark.end;
        let label = Label::new((file, mark.clone()))
            .with_message(&problem.message)
            .with_color(colour(problem.severity));
        let mut report = Report::build(ReportKind::Error, (file, mark))
            .with_config(config)
            .with_label(label);
        if !problem.hint.is_empty() {
            report.set_help(&problem.hint);
        }
        let mut drawn = Vec::new();
        report.finish().write((file, source), &mut drawn).ok()?;
        // Its headline would only repeat what Squid's text says.
        let drawn = String::from_utf8(drawn).ok()?;
        drawn
            .split_once('\n')
            .map(|(_, rest)| rest.trim_end().to_owned())
    }
}

const fn colour(severity: Severity) -> Color {
    match severity {
        Severity::Fatal | Severity::Unrecognized | Severity::Error => Color::Red,
        Severity::Warning => Color::Yellow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown() -> Problem {
        let text = "http_access allow all\n\nhttp_acces allow all";
        config::parse(text, "squid.conf").unwrap_err().0.remove(0)
    }

    #[test]
    fn a_person_sees_the_line_with_its_number_and_the_remedy() {
        let picture = Form::Marked.picture(&unknown()).unwrap();
        for part in [
            "squid.conf:3:1",
            "3 │ http_acces allow all",
            "unrecognized: 'http_acces'",
            "Did you mean http_access?",
        ] {
            assert!(picture.contains(part), "{part}\n{picture}");
        }
        assert!(!picture.contains('\x1b'), "{picture}");
        assert!(Form::Coloured.picture(&unknown()).unwrap().contains('\x1b'));
    }

    #[test]
    fn the_word_at_fault_is_marked() {
        let mut problems = config::parse("cache_mem 5 QB", "squid.conf").unwrap_err();
        let picture = Form::Marked.picture(&problems.0.remove(0)).unwrap();
        let place = |sign: char| {
            let mut lines = picture.lines().skip(2);
            lines
                .find_map(|line| line.chars().position(|c| c == sign))
                .unwrap()
        };
        assert!(place('┬') >= place('Q'), "{picture}");
    }

    #[test]
    fn a_script_sees_squids_text_alone() {
        assert_eq!(Form::Plain.picture(&unknown()), None);
    }
}
