//! One table of every directive that any Squid from 2.5 to 8 has known, grouped
//! as an operator thinks of them. Read by the parser, the documentation and `-k parse`.

mod access;
pub mod acl;
mod adaptation;
mod auth;
mod cache;
mod cooperation;
mod delay_pools;
mod dns;
mod errors;
mod ftp;
mod helpers;
mod http;
mod logs;
mod misc;
mod obsolete;
mod peers;
mod ports;
mod process;
mod timeouts;
mod tls;

use std::collections::HashMap;

use crate::read::Draft;
use crate::text::line::{Line, Outcome};

/// Every directive, a row for each, by group.
pub const TABLE: &[&[Row]] = &[
    process::ROWS,
    auth::ROWS,
    access::ROWS,
    ports::ROWS,
    tls::ROWS,
    peers::ROWS,
    cache::ROWS,
    logs::ROWS,
    ftp::ROWS,
    helpers::ROWS,
    http::ROWS,
    timeouts::ROWS,
    delay_pools::ROWS,
    cooperation::ROWS,
    errors::ROWS,
    adaptation::ROWS,
    dns::ROWS,
    misc::ROWS,
    obsolete::ROWS,
];

/// All rows, one after the other.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().copied().flatten()
}

/// The row of each name and alias.
pub(crate) fn index() -> HashMap<&'static str, &'static Row> {
    rows()
        .flat_map(|row| row.names().map(move |name| (name, row)))
        .collect()
}

/// A known name that is at most two letters away from a wrong one.
pub(crate) fn similar(wrong: &str) -> Option<&'static str> {
    if wrong.len() > 48 {
        return None;
    }
    let names = rows().flat_map(Row::names);
    let near = names.map(|name| (distance(wrong.as_bytes(), name.as_bytes()), name));
    near.filter(|(steps, name)| *steps <= 2 && name.len() > 4)
        .min()
        .map(|(_, name)| name)
}

/// Letters to insert, remove or replace (Levenshtein).
fn distance(left: &[u8], right: &[u8]) -> usize {
    if left.len().abs_diff(right.len()) > 2 {
        return usize::MAX;
    }
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.iter().enumerate() {
        let mut line = Vec::with_capacity(above.len());
        let mut before = row + 1;
        line.push(before);
        for (pair, b) in above.windows(2).zip(right) {
            let &[diagonal, up] = pair else { continue };
            before = (diagonal + usize::from(a != b)).min(up + 1).min(before + 1);
            line.push(before);
        }
        above = line;
    }
    above.last().copied().unwrap_or(usize::MAX)
}

/// What a directive is, and what it does here.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name in the newest Squid that has it.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: &'static [&'static str],
    /// What follows the name.
    pub syntax: &'static str,
    /// What holds without a line.
    pub default: &'static str,
    /// First Squid that had it, or the range that did.
    pub since: &'static str,
    /// What it does here.
    pub status: Status,
    /// What it is for.
    pub doc: &'static str,
    pub(crate) read: Option<Reader>,
    /// Of a directive that is still to come: values that need no warning, because they ask for
    /// what we do anyhow. `None`: its reader says what there is to say.
    pub(crate) harmless: Option<&'static [&'static str]>,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does what it says.
    Done,
    /// Accepted; there is nothing for it to change, for this reason.
    NoEffect(&'static str),
    /// Named in one warning and not obeyed; it belongs to this part of the proxy.
    NotYet(&'static str),
    /// Named in an error as Squid does, with this hint; translated where it can be.
    Obsolete(&'static str),
}

/// Reads the words of a line into the draft.
pub(crate) type Reader = fn(&mut Draft, &mut Line<'_>) -> Outcome;

/// What becomes of a line, what reads it, and which values are harmless: see [`Row`].
type Fate = (Status, Option<Reader>, Option<&'static [&'static str]>);

/// The feature off.
const OFF: &[&str] = &["off", "0", "none", "deny all"];

impl Row {
    /// The name and the aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// True when a line with this value asks for what we do anyhow. Units and ACLs may follow.
    pub(crate) fn asks_for_nothing(&self, value: &str) -> bool {
        let begins = |words: &&str| match value.strip_prefix(*words) {
            Some(rest) => rest.is_empty() || rest.starts_with([' ', '\t']),
            None => false,
        };
        self.harmless.is_none_or(|values| values.iter().any(begins))
    }
}

/// A row for a directive that is read: `status` says what else.
const fn row(
    name: &'static str,
    aliases: &'static [&'static str],
    [syntax, default, since]: [&'static str; 3],
    doc: &'static str,
    (status, read, harmless): Fate,
) -> Row {
    Row {
        name,
        aliases,
        syntax,
        default,
        since,
        status,
        doc,
        read,
        harmless,
    }
}

const fn done(read: Reader) -> Fate {
    (Status::Done, Some(read), None)
}

const fn no_effect(why: &'static str) -> Fate {
    (Status::NoEffect(why), None, None)
}

const fn not_yet(area: &'static str) -> Fate {
    not_yet_unless(area, OFF)
}

/// Not yet, and `off` or 0 would matter too.
const fn not_yet_even_off(area: &'static str) -> Fate {
    not_yet_unless(area, &[])
}

/// Not yet; these values need no warning.
const fn not_yet_unless(area: &'static str, harmless: &'static [&'static str]) -> Fate {
    (Status::NotYet(area), None, Some(harmless))
}

/// Not yet, but read by what would obey it: values are checked, and kept for that day.
const fn checked((_, read, _): Fate, (status, _, harmless): Fate) -> Fate {
    (status, read, harmless)
}

/// Not yet; the reader says what there is to say.
const fn not_yet_told(area: &'static str, read: Reader) -> Fate {
    (Status::NotYet(area), Some(read), None)
}

const fn obsolete(hint: &'static str) -> Fate {
    (Status::Obsolete(hint), None, None)
}

const fn translated(hint: &'static str, read: Reader) -> Fate {
    (Status::Obsolete(hint), Some(read), None)
}

/// A reader that puts one value into the field of the same name.
macro_rules! set {
    ($field:ident, $method:ident) => {
        $crate::directives::done(|draft, line| {
            draft.config.$field = line.$method()?;
            Ok(())
        })
    };
}
use set;

/// A reader that adds a line to the access list of the same name.
macro_rules! rules {
    ($field:ident) => {
        $crate::directives::done(|draft, line| {
            let rule = draft.acls.rule(line)?;
            draft.config.$field.push(rule);
            Ok(())
        })
    };
}
use rules;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// All directive names of Squid 2.5 to 8.
    const NAMES: &str = include_str!("../../tests/data/directive-names.txt");

    #[test]
    fn the_table_has_every_name_once_and_no_other() {
        let known: Vec<&str> = rows().flat_map(Row::names).collect();
        let set: HashSet<&str> = known.iter().copied().collect();
        assert_eq!(known.len(), set.len(), "a name twice");
        assert_eq!(set, NAMES.lines().collect());
        assert_eq!(set.len(), 440);
    }

    #[test]
    fn every_row_says_what_it_is_for() {
        for row in rows() {
            assert!(!row.doc.is_empty() && !row.since.is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        assert_eq!(similar("http_acces"), Some("http_access"));
        assert_eq!(similar("http_porrt"), Some("http_port"));
        assert_eq!(similar("xyzzy"), None);
    }
}
