//! `config explain`: what the table of directives knows of one of them.

use std::fmt::Write as _;
use std::process::ExitCode;

use config::directives::{self, Row, Status};

use crate::console;

/// Names that are offered for one that isn't known.
const OFFERS_MAX: usize = 8;

/// Prints it, or names that are near.
pub(super) fn run(name: &str) -> ExitCode {
    if let Some(row) = directives::find(name) {
        return super::answer(&told(row), ExitCode::SUCCESS);
    }
    console::plain(format_args!(
        "No Squid from 2.5 to 8 has a directive '{name}'."
    ));
    let near = near(name);
    if !near.is_empty() {
        console::plain(format_args!("Near are: {}.", near.join(", ")));
    }
    ExitCode::FAILURE
}

fn told(row: &Row) -> String {
    let mut text = format!("{}: {}\n", row.name, row.doc);
    let mut line = |head: &str, value: &str| {
        if !value.is_empty() {
            writeln!(text, "  {head:<9} {value}").expect("a String takes all that is written");
        }
    };
    line("aliases", &row.aliases.join(", "));
    line("value", &row.kind.to_string());
    if !row.syntax.is_empty() {
        line("syntax", &format!("{} {}", row.name, row.syntax));
    }
    line("default", &super::default(row));
    line("Squids", &squids(row));
    let more = if row.kind.repeats() {
        "all hold, in their order"
    } else {
        "the last one holds"
    };
    line("lines", more);
    match row.status {
        Status::Done => line("here", "done"),
        Status::NoEffect(why) => line("here", &format!("no effect: {why}")),
        Status::NotYet(area) => {
            line("here", &format!("not yet: it belongs to {area}"));
            line("meanwhile", area.loss());
        }
        Status::Refused(why) => line("here", &format!("refused: {why}")),
        Status::Obsolete(hint) => line("here", &format!("obsolete: {hint}")),
    }
    text
}

/// The Squids that have it: the newest too, where nothing else is said.
fn squids(row: &Row) -> String {
    let versions = row.versions.to_string();
    match row.versions.until {
        Some(_) => versions,
        None => format!("since {versions}"),
    }
}

/// The name that it was meant to be, then those that it is a part of.
fn near(name: &str) -> Vec<&'static str> {
    let mut near: Vec<&str> = directives::all_similar(name);
    let parts = directives::rows().flat_map(Row::names);
    let parts = parts.filter(|known| name.len() > 2 && known.contains(name));
    near.extend(
        parts
            .filter(|known| !near.contains(known))
            .collect::<Vec<_>>(),
    );
    near.truncate(OFFERS_MAX);
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_known_is_told_of_every_directive() {
        for row in directives::rows() {
            let told = told(row);
            assert!(
                told.starts_with(row.name) && told.contains(row.doc),
                "{told}"
            );
            assert!(told.contains("\n  here "), "{told}");
        }
        let mem = directives::find("cache_mem").unwrap();
        assert!(told(mem).contains("\n  value     size"), "{}", told(mem));
        assert!(told(mem).contains("\n  lines     the last one holds\n"));
        let alias = directives::find("pconn_timeout").unwrap();
        assert!(told(alias).contains("\n  aliases   pconn_timeout"));
    }

    #[test]
    fn a_wrong_name_finds_those_that_are_near() {
        assert_eq!(near("http_acces").first(), Some(&"http_access"));
        assert!(near("icap").len() > 3);
        assert!(near("xyzzy").is_empty());
    }
}
