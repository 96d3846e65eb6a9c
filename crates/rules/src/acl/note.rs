//! Annotations: ACLs that look at them (`note`, `tag`, `urlgroup`) and ACLs that make them (`annotate_transaction`,
//! `annotate_client`).

use std::borrow::Cow;

use crate::facts::Codes;
use crate::learnt::{Learnt, Notes};

/// Between the values of a list in one annotation, where `-m` doesn't say.
const DELIMITERS: &str = ",";

/// `note [-m[=DELIMITERS]] NAME [VALUE…]`: is there such an annotation, with one of the values?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteTest {
    name: Box<str>,
    /// Without any, the name is enough.
    values: Box<[Box<str>]>,
    /// Annotations are lists, with these between the members.
    delimiters: Option<Box<str>>,
}

impl NoteTest {
    /// `words` begins with the name; `None` when there is none.
    pub fn new(flags: &[String], words: &[Box<str>]) -> Option<Self> {
        let (name, values) = words.split_first()?;
        Some(Self {
            name: name.clone(),
            values: values.into(),
            delimiters: delimiters(flags).map(Into::into),
        })
    }

    /// Has the transaction the annotation?
    pub fn matches(&self, learnt: &Learnt) -> bool {
        let found = learnt.notes(|notes| notes.all(&self.name).any(|value| self.is_one(value)));
        found.unwrap_or(false)
    }

    fn is_one(&self, note: &str) -> bool {
        let listed = |member: &str| self.values.iter().any(|value| **value == *member);
        match &self.delimiters {
            _ if self.values.is_empty() => true,
            None => listed(note),
            Some(delimiters) => note.split(|c| delimiters.contains(c)).any(listed),
        }
    }
}

/// What `-m` says of the values of an annotation: the characters between them; `None` without it.
fn delimiters(flags: &[String]) -> Option<&str> {
    let flag = flags.iter().find_map(|flag| flag.strip_prefix("-m"))?;
    let given = flag.strip_prefix('=').filter(|given| !given.is_empty());
    Some(given.unwrap_or(DELIMITERS))
}

/// One `KEY=VALUE` or `KEY+=VALUE`; the value may be in quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    name: Box<str>,
    value: Box<str>,
    /// Written in quotes: its codes are filled in.
    has_codes: bool,
    /// Written with `+=`: comes behind what is there, with this between the two.
    behind: Option<char>,
}

impl Annotation {
    /// Reads one; `None` when it is none.
    pub fn parse(flags: &[String], text: &str) -> Option<Self> {
        let (name, value) = text.split_once('=')?;
        let (name, appends) = match name.strip_suffix('+') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let quoted = value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'));
        let delimiter = delimiters(flags).unwrap_or(DELIMITERS).chars().next();
        (!name.is_empty()).then(|| Self {
            name: name.into(),
            value: quoted.map_or_else(|| value.to_owned(), unescaped).into(),
            has_codes: quoted.is_some(),
            behind: delimiter.filter(|_| appends),
        })
    }

    /// Its text, if that has codes to be filled in.
    pub fn codes(&self) -> Option<&str> {
        self.has_codes.then_some(&*self.value)
    }

    /// What is noted of this transaction.
    pub(crate) fn value(&self, codes: Option<&dyn Codes>) -> Cow<'_, str> {
        match codes.filter(|_| self.has_codes) {
            Some(codes) => codes.fill(&self.value).into(),
            None => (&*self.value).into(),
        }
    }

    /// Makes it.
    pub(crate) fn make(&self, value: &str, notes: &mut Notes) {
        match self.behind {
            Some(delimiter) => notes.append(&self.name, value, delimiter),
            None => notes.set(&self.name, value),
        }
    }
}

/// What stood in quotes, without the backslashes before quotes and backslashes.
fn unescaped(quoted: &str) -> String {
    let mut text = String::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    while let Some(char) = chars.next() {
        text.push(match char {
            '\\' => chars.next().unwrap_or(char),
            _ => char,
        });
    }
    text
}
