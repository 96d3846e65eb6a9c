//! Access lists: `allow` and `deny` rules of which the first that applies decides. A list is made into a plan at load:
//! ACLs that are always true are left out, rules that can't apply or can't be reached are dropped, and a list whose
//! answer doesn't depend on the transaction is a constant.

mod last;

use std::fmt;

use config::{AccessRule, AclRef, Place, Problem, Severity};

use crate::acl::findings::problem;
use crate::acl::named::Memo;
use crate::acl::test::Test;
use crate::acl::{Acls, Term, Verdict};
use crate::facts::{Facts, Question};

/// A rule of an access list, as the one that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `allow` rather than `deny`.
    pub allow: bool,
    /// Where it is written.
    pub place: Place,
    /// The ACLs as written, negated ones with `!`.
    pub acls: Box<[Box<str>]>,
    terms: Box<[Term]>,
}

impl Rule {
    /// Name of its last ACL, without `!`: what `deny_info` goes by.
    pub fn last_acl(&self) -> Option<&str> {
        self.acls.last().map(|name| name.trim_start_matches('!'))
    }
}

impl fmt::Display for Rule {
    /// The rule as written, without its directive: `deny CONNECT !SSL_ports`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.allow { "allow" } else { "deny" })?;
        self.acls.iter().try_for_each(|name| write!(f, " {name}"))
    }
}

/// What a list says of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'r> {
    /// Yes, by this rule; `None` when no rule applied, or there are none.
    Allow(Option<&'r Rule>),
    /// No, by this rule; `None` when no rule applied, or there are none.
    Deny(Option<&'r Rule>),
    /// It can't be said before this fact is known.
    Ask(Question),
}

impl<'r> Answer<'r> {
    fn new(allow: bool, rule: Option<&'r Rule>) -> Self {
        if allow {
            Self::Allow(rule)
        } else {
            Self::Deny(rule)
        }
    }

    /// Is it a yes? A question isn't.
    pub fn is_allow(&self) -> bool {
        matches!(self, Self::Allow(_))
    }
}

/// A compiled list.
#[derive(Clone, Debug, Default)]
pub struct AccessList {
    /// Rules that can apply, the last reachable one last.
    rules: Box<[Rule]>,
    /// The answer when none applies.
    otherwise: bool,
    /// The first rule always applies, or there are no rules.
    constant: bool,
}

impl AccessList {
    /// A list without rules: always this answer.
    pub fn constant(allow: bool) -> Self {
        Self {
            rules: Box::default(),
            otherwise: allow,
            constant: true,
        }
    }

    /// Compiles a list. `empty` is the answer of the directive without lines; with lines, the answer when none
    /// applies is the opposite of the last.
    pub(crate) fn compile(
        directive: &str,
        lines: &[AccessRule],
        empty: bool,
        acls: &Acls,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let otherwise = lines.last().map_or(empty, |last| !last.allow);
        let mut rules = Vec::new();
        for line in lines {
            let terms = resolve(directive, &line.acls, &line.place, acls, problems);
            let Some(terms) = simplify(terms, acls) else {
                continue;
            };
            let always = terms.is_empty();
            let names = line.acls.iter().map(|acl| written(acl).into()).collect();
            rules.push(Rule {
                allow: line.allow,
                place: line.place.clone(),
                acls: names,
                terms,
            });
            if always {
                break;
            }
        }
        let constant = rules.first().is_none_or(|first| first.terms.is_empty());
        Self {
            rules: rules.into(),
            otherwise,
            constant,
        }
    }

    /// The answer, when it doesn't depend on the transaction.
    pub fn always(&self) -> Option<bool> {
        self.constant
            .then(|| self.rules.first().map_or(self.otherwise, |rule| rule.allow))
    }

    /// Asks the list.
    #[inline]
    pub fn check<'r>(&'r self, acls: &Acls, facts: &Facts<'_>) -> Answer<'r> {
        if self.constant {
            let first = self.rules.first();
            return Answer::new(first.map_or(self.otherwise, |rule| rule.allow), first);
        }
        self.walk(acls, facts)
    }

    fn walk<'r>(&'r self, acls: &Acls, facts: &Facts<'_>) -> Answer<'r> {
        let mut memo = Memo::default();
        for rule in &self.rules {
            match acls.check_all(&rule.terms, facts, &mut memo) {
                Verdict::Match => return Answer::new(rule.allow, Some(rule)),
                // What can't be known yet must not open anything.
                Verdict::Unknown if !rule.allow => return Answer::Deny(Some(rule)),
                Verdict::NoMatch | Verdict::Unknown => {}
                Verdict::Ask(question) => return Answer::Ask(question),
            }
        }
        Answer::new(self.otherwise, None)
    }
}

/// A value that holds when all its ACLs match; the first of a list wins. Missing facts count as no match, as for
/// slow ACLs in Squid's fast-only directives.
#[derive(Clone, Debug)]
pub(crate) struct Pick<T> {
    terms: Box<[Term]>,
    pub(crate) value: T,
}

impl<T> Pick<T> {
    pub(crate) fn compile(
        directive: &str,
        names: &[AclRef],
        place: &Place,
        value: T,
        acls: &Acls,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let terms = resolve(directive, names, place, acls, problems);
        simplify(terms, acls).map(|terms| Self { terms, value })
    }

    /// The lines of a directive: ACLs, place and value of each.
    pub(crate) fn compile_all<'l>(
        directive: &str,
        lines: impl Iterator<Item = (&'l [AclRef], &'l Place, T)>,
        acls: &Acls,
        problems: &mut Vec<Problem>,
    ) -> Box<[Self]> {
        let picks = lines.filter_map(|(names, place, value)| {
            Self::compile(directive, names, place, value, acls, problems)
        });
        picks.collect()
    }

    pub(crate) fn applies(&self, acls: &Acls, facts: &Facts<'_>) -> bool {
        self.terms.is_empty()
            || acls.check_all(&self.terms, facts, &mut Memo::default()) == Verdict::Match
    }
}

fn written(acl: &AclRef) -> String {
    if acl.negated {
        format!("!{}", acl.name)
    } else {
        acl.name.clone()
    }
}

/// Names to indices. A name that isn't defined is a problem, and never matches here.
fn resolve(
    directive: &str,
    names: &[AclRef],
    place: &Place,
    acls: &Acls,
    problems: &mut Vec<Problem>,
) -> Vec<Term> {
    let mut terms = Vec::with_capacity(names.len());
    for name in names {
        if let Some(acl) = acls.find(&name.name) {
            terms.push(Term {
                acl,
                negated: name.negated,
            });
        } else {
            let line = names.iter().map(written).collect::<Vec<_>>().join(" ");
            let message = format!("ACL not found: {}", name.name);
            problems.push(problem(
                Severity::Fatal,
                directive,
                place,
                message,
                format!("{directive} {line}"),
            ));
        }
    }
    terms
}

/// Drops terms that always match; `None` when one never does, unless one before it leaves a trace: `deny note !all` is
/// how an annotation is made, or a helper asked, whatever else the rules say.
fn simplify(terms: Vec<Term>, acls: &Acls) -> Option<Box<[Term]>> {
    let mut kept: Vec<Term> = Vec::with_capacity(terms.len());
    for term in terms {
        match (acls.test(term), term.negated) {
            (Some(Test::Everything), false) | (Some(Test::Nothing), true) => {}
            (Some(Test::Everything), true) | (Some(Test::Nothing), false) => {
                let traces = kept
                    .iter()
                    .any(|term| acls.test(*term).is_some_and(Test::leaves_a_trace));
                kept.push(term);
                return traces.then(|| kept.into());
            }
            _ => kept.push(term),
        }
    }
    Some(kept.into())
}

#[cfg(test)]
mod tests;
