//! `docs/directives.md` as the table of directives gives it. Used by `cargo xtask docs`, which writes
//! the page, and by `tests/house.rs`, which shows that the page is fresh.

use std::fmt::Write as _;

use config::directives::{Row, Status, TABLE};

/// Headings, in the order of the table's groups.
const GROUPS: [&str; 19] = [
    "Threads, the process and its names",
    "Authentication",
    "Who may do what",
    "Listening and sockets",
    "TLS, SSL-bump and certificates",
    "Next hops",
    "What is stored, where and for how long",
    "Logs",
    "FTP",
    "Helper programs: rewriting and store-ID",
    "Messages and connections",
    "Timeouts",
    "Delay pools and WCCP",
    "Cache Digests, SNMP, ICP and HTCP",
    "Error pages and icons",
    "ICAP and eCAP",
    "Names and addresses",
    "Everything else",
    "Names that newer Squids no longer have",
];

const INTRO: &str = "\
# Directives

<!-- Written by `cargo xtask docs` from the table in crates/config/src/directives. Do not edit. -->

Every directive of Squid 2.5 to 8, and what becomes of it here.

| here | means |
| --- | --- |
| done | it is read and obeyed; an option of the line that isn't is named in a warning |
| no effect | it is accepted; there is nothing for it to change, for the reason given |
| not yet | one warning names it, unless the line asks for what is done anyhow; it belongs to the part of the proxy given |
| obsolete | a message names it, as in Squid, with what to write in its place, and the proxy starts |

A name that no Squid ever had keeps the proxy from starting. *Default* and *since* speak of Squid: what
holds without a line, and the first version that had the directive, or the range that did. Where our
default is another, the last column says so.

";

/// The page.
pub(crate) fn directives() -> String {
    let mut page = String::from(INTRO);
    let statuses = || TABLE.iter().copied().flatten().map(|row| row.status);
    let count = |wanted: fn(Status) -> bool| statuses().filter(|status| wanted(*status)).count();
    let counts = [
        ("done", count(|status| status == Status::Done)),
        (
            "no effect",
            count(|status| matches!(status, Status::NoEffect(_))),
        ),
        (
            "not yet",
            count(|status| matches!(status, Status::NotYet(_))),
        ),
        (
            "obsolete",
            count(|status| matches!(status, Status::Obsolete(_))),
        ),
    ];
    let counts = counts
        .map(|(name, count)| format!("{count} {name}"))
        .join(", ");
    say(
        &mut page,
        format_args!("{} directives: {counts}.", statuses().count()),
    );
    assert_eq!(
        GROUPS.len(),
        TABLE.len(),
        "each group of the table has its heading"
    );
    for (heading, rows) in GROUPS.iter().zip(TABLE) {
        say(&mut page, format_args!("\n## {heading}\n"));
        say(
            &mut page,
            "| directive | value | default | since | here | what it is for |",
        );
        say(&mut page, "| --- | --- | --- | --- | --- | --- |");
        for row in *rows {
            say(&mut page, line(row));
        }
    }
    page
}

fn line(row: &Row) -> String {
    let mut names = code(row.name);
    for alias in row.aliases {
        names.push_str(", ");
        names.push_str(&code(alias));
    }
    let cells = [
        names,
        code(row.syntax),
        code(row.default),
        cell(row.since),
        here(row),
        cell(row.doc),
    ];
    format!("| {} |", cells.join(" | "))
}

fn here(row: &Row) -> String {
    match row.status {
        Status::Done => "done".into(),
        Status::NoEffect(why) => format!("no effect: {}", cell(why)),
        Status::NotYet(area) => format!("not yet: {}", cell(area)),
        Status::Obsolete(hint) => format!("obsolete: {}", cell(hint)),
    }
}

/// As code; an empty text stays empty.
fn code(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("`{}`", cell(text))
    }
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn say(page: &mut String, text: impl std::fmt::Display) {
    writeln!(page, "{text}").expect("a String takes all that is written");
}
