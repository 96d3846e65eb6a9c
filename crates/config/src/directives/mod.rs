//! One table of every directive that any Squid from 2.5 to 8 has known, and of our own, grouped
//! as an operator thinks of them. Read by the parser, the documentation and `-k parse`.

mod access;
pub mod acl;
mod adaptation;
mod area;
mod auth;
mod cache;
mod cooperation;
mod delay_pools;
mod dns;
mod errors;
mod find;
mod ftp;
mod helpers;
mod http;
mod kind;
mod logs;
mod misc;
mod obsolete;
mod ours;
mod peers;
mod ports;
mod process;
mod timeouts;
mod tls;
mod versions;

pub use area::Area;
pub(crate) use find::index;
pub use find::{all_similar, find, similar};
pub use kind::Kind;
pub use versions::Versions;

use crate::read::Draft;
use crate::text::line::{Line, Outcome};
use versions::{only, ours, since};

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
    ours::ROWS,
];

/// All rows, one after the other.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().copied().flatten()
}

/// What a directive is, and what it does here.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name in the newest Squid that has it.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: &'static [&'static str],
    /// What kind of value it has.
    pub kind: Kind,
    /// What follows the name.
    pub syntax: &'static str,
    /// What holds without a line.
    pub default: &'static str,
    /// The Squids that have it; those of our own say so ([`Versions::is_ours`]).
    pub versions: Versions,
    /// What it does here.
    pub status: Status,
    /// What it is for.
    pub doc: &'static str,
    /// `None`: its kind checks it, and nothing is kept.
    pub(crate) read: Option<Reader>,
    /// Of a directive that is not obeyed: values that need no warning, because they ask for
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
    NotYet(Area),
    /// Named in one error and never obeyed, for this reason; the proxy starts.
    Refused(&'static str),
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

    /// Reads a line as Squid does, and keeps what is obeyed.
    pub(crate) fn read(&self, draft: &mut Draft, line: &mut Line<'_>) -> Outcome {
        match (self.read, self.status) {
            (Some(read), _) => read(draft, line),
            // As Squid: a name without a meaning has no wrong values.
            (None, Status::Obsolete(_)) => {
                let _unread = line.remainder();
                Ok(())
            }
            (None, _) => self.kind.check(draft, line),
        }
    }

    /// True when a line with this value asks for what we do anyhow. Units and ACLs may follow.
    #[must_use]
    pub fn asks_for_nothing(&self, value: &str) -> bool {
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
    kind: Kind,
    [syntax, default]: [&'static str; 2],
    versions: Versions,
    doc: &'static str,
    (status, read, harmless): Fate,
) -> Row {
    Row {
        name,
        aliases,
        kind,
        syntax,
        default,
        versions,
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

const fn not_yet(area: Area) -> Fate {
    not_yet_unless(area, OFF)
}

/// Not yet, and `off` or 0 would matter too.
const fn not_yet_even_off(area: Area) -> Fate {
    not_yet_unless(area, &[])
}

/// Not yet; these values need no warning.
const fn not_yet_unless(area: Area, harmless: &'static [&'static str]) -> Fate {
    (Status::NotYet(area), None, Some(harmless))
}

/// Not yet, but read by what would obey it: values are checked, and kept for that day.
const fn checked((_, read, _): Fate, (status, _, harmless): Fate) -> Fate {
    (status, read, harmless)
}

/// Never; these values need no word.
const fn refused_unless(why: &'static str, harmless: &'static [&'static str]) -> Fate {
    (Status::Refused(why), None, Some(harmless))
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
        let squids = rows().filter(|row| !row.versions.is_ours());
        let known: Vec<&str> = squids.flat_map(Row::names).collect();
        let set: HashSet<&str> = known.iter().copied().collect();
        assert_eq!(known.len(), set.len(), "a name twice");
        assert_eq!(set, NAMES.lines().collect());
        assert_eq!(set.len(), 440);
        let ours: Vec<&str> = ours::ROWS.iter().flat_map(Row::names).collect();
        assert_eq!(
            ours.len() + known.len(),
            rows().flat_map(Row::names).count()
        );
        assert!(ours.iter().all(|name| !set.contains(name)), "{ours:?}");
    }

    #[test]
    fn every_row_says_what_it_is_for() {
        for row in rows() {
            assert!(!row.doc.is_empty(), "{}", row.name);
        }
    }
}
