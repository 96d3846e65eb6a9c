//! What is told of a rule that refused, and which `deny_info` line has its ACL.

use std::sync::Arc;

use rules::{Facts, List, Rule};

use crate::context::Context;
use crate::failure::Refusal;

/// What is told of the rule of that list; `None` when there is no rule and nothing to tell.
pub(crate) fn of(
    cx: &Context,
    list: List,
    rule: Option<&Rule>,
    facts: &Facts<'_>,
) -> Option<Arc<Refusal>> {
    let info = info(cx, list, rule, facts);
    if rule.is_none() && info.is_none() {
        return None;
    }
    Some(cx.refusal(directive(list), rule, info))
}

/// Squid goes by the ACL that was asked last: inside a group of them, the member. The group's own name does, too.
fn info(cx: &Context, list: List, rule: Option<&Rule>, facts: &Facts<'_>) -> Option<u32> {
    let errors = &cx.plan.errors;
    if !errors.has_infos() {
        return None;
    }
    let rules = &cx.plan.rules;
    let last = rules.list(list).last_asked(rules.acls(), rule, facts);
    let named = rule.and_then(Rule::last_acl);
    last.and_then(|acl| errors.info_of(acl))
        .or_else(|| errors.info_of(named?))
}

fn directive(list: List) -> &'static str {
    match list {
        List::HttpAccess => "http_access",
        List::HttpReplyAccess => "http_reply_access",
        List::AdaptedHttpAccess => "adapted_http_access",
        List::MissAccess => "miss_access",
        List::PrivateDestination => "private_destination_access",
        _ => "",
    }
}
