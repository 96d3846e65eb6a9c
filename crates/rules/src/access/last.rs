//! Which ACL was asked last: what `deny_info` goes by, as in Squid. Asked for after a refusal alone.

use super::{AccessList, Rule};
use crate::acl::named::Memo;
use crate::acl::test::Test;
use crate::acl::{Acls, Term, Verdict};
use crate::facts::Facts;

impl AccessList {
    /// Name of the ACL that was asked last when this rule decided, when none applied, or when one asks for a fact that
    /// can't be had: of a group, the member.
    pub fn last_asked<'r>(
        &self,
        acls: &'r Acls,
        rule: Option<&Rule>,
        facts: &Facts<'_>,
    ) -> Option<&'r str> {
        let mut search = Search {
            acls,
            facts,
            memo: Memo::default(),
        };
        let term = match rule {
            Some(rule) => Term {
                acl: acls.find(rule.last_acl()?)?,
                negated: false,
            },
            None => {
                let asking = self.rules.iter().find(|rule| search.asks(rule));
                search.last_of_all(&asking.or(self.rules.last())?.terms)?
            }
        };
        search.innermost(term)
    }
}

struct Search<'r, 'f> {
    acls: &'r Acls,
    facts: &'f Facts<'f>,
    memo: Memo,
}

impl<'r> Search<'r, '_> {
    /// The member that a group ends with, or the ACL itself.
    fn innermost(&mut self, term: Term) -> Option<&'r str> {
        let acl = self.acls.get(term.acl)?;
        let inner = match &acl.test {
            Test::AnyOf(terms) => {
                let first = terms.iter().find(|term| self.matches(**term));
                first.or(terms.last()).copied()
            }
            Test::AllOf(lines) => {
                let mut lasts = lines.iter().map(|line| self.last_of_all(line));
                lasts.next().flatten()
            }
            _ => None,
        };
        match inner {
            Some(inner) => self.innermost(inner),
            None => Some(&acl.name),
        }
    }

    /// Of terms that are asked until one doesn't match: that one, or the last.
    fn last_of_all(&mut self, terms: &[Term]) -> Option<Term> {
        let stopped = terms.iter().find(|term| !self.matches(**term));
        stopped.or(terms.last()).copied()
    }

    fn asks(&mut self, rule: &Rule) -> bool {
        let verdict = self.acls.check_all(&rule.terms, self.facts, &mut self.memo);
        matches!(verdict, Verdict::Ask(_))
    }

    fn matches(&mut self, term: Term) -> bool {
        self.acls.check(term, self.facts, &mut self.memo) == Verdict::Match
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Scene, rules};
    use crate::{Answer, List};

    #[test]
    fn the_last_acl_asked_is_named() {
        let rules = rules(
            "acl a dstdomain a.example\nacl b dstdomain b.example\nacl c dstdomain c.example\n\
             acl d dstdomain d.example\n\
             acl any any-of a b\nacl both all-of c all\n\
             http_access deny any\nhttp_access deny both\nhttp_access allow d !a",
        );
        let check = |host: &str, expected: &str| {
            let scene = Scene::new(&format!("http://{host}/"));
            let facts = scene.facts();
            let Answer::Deny(rule) = rules.check(List::HttpAccess, &facts) else {
                panic!("{host} is let in");
            };
            let list = rules.list(List::HttpAccess);
            let last = list.last_asked(rules.acls(), rule, &facts);
            assert_eq!(last, Some(expected), "{host}");
        };
        check("a.example", "a");
        check("b.example", "b");
        check("c.example", "all");
        check("e.example", "d");
    }
}
