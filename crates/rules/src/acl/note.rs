//! Annotations: ACLs that look at them (`note`, `tag`, `urlgroup`) and ACLs that make them (`annotate_transaction`,
//! `annotate_client`).

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

/// One `KEY=VALUE` or `KEY+=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    name: Box<str>,
    value: Box<str>,
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
        let delimiter = delimiters(flags).unwrap_or(DELIMITERS).chars().next();
        (!name.is_empty()).then(|| Self {
            name: name.into(),
            value: value.into(),
            behind: delimiter.filter(|_| appends),
        })
    }

    /// Makes it.
    pub fn make(&self, notes: &mut Notes) {
        match self.behind {
            Some(delimiter) => notes.append(&self.name, &self.value, delimiter),
            None => notes.set(&self.name, &self.value),
        }
    }
}
