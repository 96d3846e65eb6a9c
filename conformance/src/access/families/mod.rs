//! The rows of the matrix, by what they are about.

mod client;
mod lists;
mod notes;
mod parse;
mod patterns;
mod reply;
mod request;
mod site;
mod users;

use super::rule_set::{Ask, RuleSet};

/// All rule sets, in a fixed order.
pub(super) fn all() -> Vec<RuleSet> {
    [
        client::rule_sets(),
        site::rule_sets(),
        patterns::rule_sets(),
        request::rule_sets(),
        reply::rule_sets(),
        users::rule_sets(),
        notes::rule_sets(),
        lists::rule_sets(),
        parse::rule_sets(),
    ]
    .concat()
}

/// The ways to write a rule about the ACL `x`, taken in turn: denied or allowed by it, by its opposite, together with
/// others, with and without a last line.
const SHAPES: [&str; 8] = [
    "{list} deny x\n{list} allow all",
    "{list} allow x\n{list} deny all",
    "{list} deny !x\n{list} allow all",
    "{list} allow x",
    "{list} deny x",
    "{list} allow all x\n{list} deny all",
    "{list} deny x !x\n{list} deny all !x\n{list} allow all",
    "acl either any-of x none\nacl both all-of all either\n{list} deny both\n{list} allow all",
];

/// A rule set for each ACL, by the shapes in turn: a value is `acl x TYPE VALUE`.
fn each(
    family: &'static str,
    list: &str,
    kind: &str,
    values: &[&str],
    asks: &[Ask],
) -> Vec<RuleSet> {
    let set = |(value, shape): (&&str, &&str)| {
        let acl = format!("{kind} {value}");
        let lines = format!("acl none port 1\nacl x {acl}\n{shape}").replace("{list}", list);
        let open = if list == "http_access" {
            ""
        } else {
            "\nhttp_access allow all"
        };
        RuleSet::new(family, acl, lines + open, asks)
    };
    values.iter().zip(SHAPES.iter().cycle()).map(set).collect()
}

/// `GET`s of these URLs.
fn gets(urls: &[&str]) -> Vec<Ask> {
    urls.iter().map(|url| Ask::get(*url)).collect()
}
