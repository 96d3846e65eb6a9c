//! `docs/directives.md` as the table of directives gives it. Used by `cargo xtask docs`, which writes
//! the page, and by `tests/house.rs`, which shows that the page is fresh.

use std::fmt::Write as _;

use config::directives::{Area, Row, Status, TABLE, rows};

/// Headings, in the order of the table's groups.
const GROUPS: [&str; 20] = [
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
    "Names of our own",
];

const INTRO: &str = "\
# Directives

<!-- Written by `cargo xtask docs` from the table in crates/config/src/directives. Do not edit. -->

Every directive of Squid 2.5 to 8, and what becomes of it here.

| here | means |
| --- | --- |
| done | it is read and obeyed; an option of the line that isn't is named in a warning |
| no effect | it is accepted; there is nothing for it to change, for the reason given |
| not yet | the value is checked as Squid does, and one warning names the line, unless it asks for what is done anyhow; it belongs to the part of the proxy given |
| refused | it is named in an error, with the reason, and never will be obeyed; the proxy starts |
| obsolete | a message names it, as in Squid, with what to write in its place, and the proxy starts |

A name that neither Squid nor we ever had keeps the proxy from starting. *Default* and *since* speak of Squid:
what holds without a line, and the first version that had the directive, or the range that did; 2.5 stands for
older ones too, and Squall for names of our own, which a Squid doesn't know. Where our default is another, the
last column says so. Of several lines the last one holds, unless the type is words, addresses, an access list,
a form of its own, or has several parts: then lines add up.

";

/// A status as the page calls it.
fn word(status: Status) -> &'static str {
    match status {
        Status::Done => "done",
        Status::NoEffect(_) => "no effect",
        Status::NotYet(_) => "not yet",
        Status::Refused(_) => "refused",
        Status::Obsolete(_) => "obsolete",
    }
}

/// The page.
pub(crate) fn directives() -> String {
    let mut page = String::from(INTRO);
    counts(&mut page);
    areas(&mut page);
    assert_eq!(
        GROUPS.len(),
        TABLE.len(),
        "each group of the table has its heading"
    );
    for (heading, rows) in GROUPS.iter().zip(TABLE) {
        say(&mut page, format_args!("\n## {heading}\n"));
        say(
            &mut page,
            "| directive | type | syntax | default | since | here | what it is for |",
        );
        say(&mut page, "| --- | --- | --- | --- | --- | --- | --- |");
        for row in *rows {
            say(&mut page, line(row));
        }
    }
    page
}

/// Names and aliases, by what becomes of them.
fn counts(page: &mut String) {
    let total: usize = rows().map(names).sum();
    say(page, format_args!("| {total} names | |\n| --- | ---: |"));
    for wanted in ["done", "no effect", "not yet", "refused", "obsolete"] {
        let count: usize = rows()
            .filter(|row| word(row.status) == wanted)
            .map(names)
            .sum();
        say(page, format_args!("| {wanted} | {count} |"));
    }
}

fn names(row: &Row) -> usize {
    row.names().count()
}

/// What is not yet done, by area.
fn areas(page: &mut String) {
    say(
        page,
        "\nWhat is *not yet* done, by the part of the proxy it belongs to:\n",
    );
    say(page, "| part | names | meanwhile |\n| --- | ---: | --- |");
    for area in Area::ALL {
        let count: usize = rows()
            .filter(|row| row.status == Status::NotYet(area))
            .map(names)
            .sum();
        if count > 0 {
            say(
                page,
                format_args!("| {area} | {count} | {} |", cell(area.loss())),
            );
        }
    }
}

fn line(row: &Row) -> String {
    let mut names = code(row.name);
    for alias in row.aliases {
        names.push_str(", ");
        names.push_str(&code(alias));
    }
    let cells = [
        names,
        row.kind.to_string(),
        code(row.syntax),
        code(row.default),
        row.versions.to_string(),
        here(row),
        cell(row.doc),
    ];
    format!("| {} |", cells.join(" | "))
}

fn here(row: &Row) -> String {
    let why = match row.status {
        Status::Done => return word(row.status).to_owned(),
        Status::NotYet(area) => area.name(),
        Status::NoEffect(why) | Status::Refused(why) | Status::Obsolete(why) => why,
    };
    format!("{}: {}", word(row.status), cell(why))
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
