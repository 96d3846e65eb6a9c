//! `store verify`: is what is stored still what was written?

use std::io::{self, IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::process::ExitCode;

use config::Config;
use store::{Closeness, Listed, ListedContent, Listing, Survey};

use super::listed::escaped;

/// What came of it.
#[derive(Debug, Default)]
struct Count {
    records: u64,
    damaged: u64,
    outlived: u64,
}

pub(super) fn run(config: &Config) -> anyhow::Result<ExitCode> {
    let mut good = true;
    for survey in super::surveys(config) {
        good &= match survey {
            Some(survey) => verify(&survey)?,
            None => false,
        };
    }
    Ok(super::code(good))
}

fn verify(survey: &Survey) -> io::Result<bool> {
    let file = survey.file();
    let file = file.display();
    let mut out = io::stdout().lock();
    let mut bar = Bar::new(survey.usage().records);
    let (mut count, mut written) = (Count::default(), Ok(()));
    survey.each(Closeness::Bytes, |listed| {
        count.records += 1;
        bar.show(count.records);
        match listed.content {
            ListedContent::Sound { .. } => {}
            ListedContent::Outlived => count.outlived += 1,
            ListedContent::Damaged => {
                count.damaged += 1;
                bar.clear();
                let Listed { offset, bytes, .. } = listed;
                let name = name(survey, &listed);
                written = writeln!(out, "{file}: damaged at {offset}, {bytes} bytes: {name}");
            }
        }
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    bar.clear();
    written?;
    for offset in survey.damaged_chunks() {
        writeln!(
            out,
            "{file}: damaged at {offset}: a chunk, with all that was in it"
        )?;
    }
    let (
        chunks,
        Count {
            records,
            damaged,
            outlived,
        },
    ) = (survey.damaged_chunks().len(), count);
    writeln!(
        out,
        "{file}: {records} records, {damaged} damaged, {chunks} chunks damaged, {outlived} overwritten"
    )?;
    Ok(damaged == 0 && chunks == 0)
}

/// What is damaged, where that can still be told.
fn name(survey: &Survey, listed: &Listed) -> String {
    let beginning = survey.beginning(listed);
    match beginning
        .as_ref()
        .and_then(|begun| Listing::of(begun, survey))
    {
        Some(
            Listing::Response { url, .. }
            | Listing::Parts { url, .. }
            | Listing::Piece { url }
            | Listing::Fork { url }
            | Listing::Lost { url },
        ) => escaped(url),
        Some(Listing::Grave) => "what keeps away what was purged by a tag".to_owned(),
        Some(Listing::Strange) | None => "of what, can't be told".to_owned(),
    }
}

/// How far it has come, at a terminal.
struct Bar {
    total: u64,
    percent: Option<u64>,
}

/// Blanks wide enough for all that the bar writes.
const WIDTH: usize = 40;

impl Bar {
    fn new(total: u64) -> Self {
        let percent = io::stderr().is_terminal().then_some(u64::MAX);
        Self { total, percent }
    }

    fn show(&mut self, done: u64) {
        let percent = done * 100 / self.total.max(1);
        if self.percent.is_some_and(|shown| shown != percent) {
            self.percent = Some(percent);
            let drawn = usize::try_from(percent / 4).unwrap_or(0).min(25);
            let bar = format!("\r[{:25}] {percent:>3} %", "=".repeat(drawn));
            drop(io::stderr().write_all(bar.as_bytes()));
        }
    }

    fn clear(&mut self) {
        if self.percent.is_some() {
            self.percent = Some(u64::MAX);
            drop(write!(io::stderr(), "\r{:WIDTH$}\r", ""));
        }
    }
}
