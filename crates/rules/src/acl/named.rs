//! The ACLs of a configuration by name and number, and how several of them answer together.

use hashbrown::HashMap;

use super::test::Test;
use crate::facts::{Facts, Question};

/// What an ACL says of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It matches.
    Match,
    /// It doesn't.
    NoMatch,
    /// Its type isn't built yet: an `allow` rule with it doesn't apply, a `deny` rule does, negated or not.
    Unknown,
    /// A fact is missing.
    Ask(Question),
}

impl Verdict {
    pub(super) fn of(matches: bool) -> Self {
        if matches { Self::Match } else { Self::NoMatch }
    }

    fn negate(self) -> Self {
        match self {
            Self::Match => Self::NoMatch,
            Self::NoMatch => Self::Match,
            other => other,
        }
    }
}

/// An ACL in a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Index into [`Acls`].
    pub(crate) acl: u32,
    /// Written as `!name`.
    pub(crate) negated: bool,
}

/// A named ACL.
#[derive(Debug)]
pub struct Acl {
    /// Its name.
    pub name: Box<str>,
    /// What it asks.
    pub(crate) test: Test,
}

/// All ACLs of a configuration, in order of definition.
#[derive(Debug, Default)]
pub struct Acls {
    list: Vec<Acl>,
    /// Index of each by name.
    by_name: HashMap<Box<str>, u32>,
}

/// Answers already known in one check: an ACL that several rules name is asked once.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    known: u64,
    matches: u64,
}

impl Acls {
    /// The ACL of this name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Adds an ACL, whose name isn't taken yet.
    pub(crate) fn push(&mut self, acl: Acl) {
        if let Ok(index) = u32::try_from(self.list.len()) {
            self.by_name.insert(acl.name.clone(), index);
        }
        self.list.push(acl);
    }

    /// The ACL with this index.
    pub(crate) fn get(&self, acl: u32) -> Option<&Acl> {
        self.list.get(acl as usize)
    }

    /// Name of the ACL with this index.
    pub fn name(&self, acl: u32) -> Option<&str> {
        self.list.get(acl as usize).map(|acl| &*acl.name)
    }

    /// Class and words of the `external` ACL with this index.
    pub(crate) fn external(&self, acl: u32) -> Option<(&str, &[Box<str>])> {
        match &self.list.get(acl as usize)?.test {
            Test::External { class, args } => Some((class, args)),
            _ => None,
        }
    }

    pub(crate) fn test(&self, term: Term) -> Option<&Test> {
        self.list.get(term.acl as usize).map(|acl| &acl.test)
    }

    /// What the term says of the facts.
    pub(crate) fn check(&self, term: Term, facts: &Facts<'_>, memo: &mut Memo) -> Verdict {
        let Some(acl) = self.list.get(term.acl as usize) else {
            return Verdict::Unknown;
        };
        let verdict = if acl.test.is_costly() && term.acl < u64::BITS {
            let bit = 1u64 << term.acl;
            if memo.known & bit != 0 {
                Verdict::of(memo.matches & bit != 0)
            } else {
                let verdict = acl.test.check(term.acl, self, facts, memo);
                memo.known |= if matches!(verdict, Verdict::Match | Verdict::NoMatch) {
                    bit
                } else {
                    0
                };
                memo.matches |= if verdict == Verdict::Match { bit } else { 0 };
                verdict
            }
        } else {
            acl.test.check(term.acl, self, facts, memo)
        };
        if term.negated {
            verdict.negate()
        } else {
            verdict
        }
    }

    /// Do all terms match? Terms are asked from left to right, and none after one that doesn't match.
    pub(crate) fn check_all(&self, terms: &[Term], facts: &Facts<'_>, memo: &mut Memo) -> Verdict {
        let asked = terms.iter().map(|&term| self.check(term, facts, memo));
        first_other(asked, Verdict::Match)
    }

    pub(super) fn check_any(&self, terms: &[Term], facts: &Facts<'_>, memo: &mut Memo) -> Verdict {
        let asked = terms.iter().map(|&term| self.check(term, facts, memo));
        first_other(asked, Verdict::NoMatch)
    }

    /// Does one of the lines match whole?
    pub(super) fn check_lines(
        &self,
        lines: &[Box<[Term]>],
        facts: &Facts<'_>,
        memo: &mut Memo,
    ) -> Verdict {
        let asked = lines.iter().map(|line| self.check_all(line, facts, memo));
        first_other(asked, Verdict::NoMatch)
    }
}

/// The first verdict that decides: another than `common` or `Unknown`. Without one, `common`, unless some are unknown.
#[inline]
fn first_other(verdicts: impl Iterator<Item = Verdict>, common: Verdict) -> Verdict {
    let mut outcome = common;
    for verdict in verdicts {
        match verdict {
            Verdict::Unknown => outcome = Verdict::Unknown,
            verdict if verdict == common => {}
            verdict => return verdict,
        }
    }
    outcome
}
