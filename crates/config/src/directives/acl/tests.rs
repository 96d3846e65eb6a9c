//! Definitions of ACLs and rules that use them.

use super::*;
use crate::{Config, parse};

fn config(text: &str) -> Config {
    parse(text, "test").unwrap()
}

fn defined(text: &str) -> Vec<AclLine> {
    config(text)
        .acls
        .into_iter()
        .filter(|acl| !acl.predefined)
        .collect()
}

fn fatal(text: &str, message: &str) {
    let problems = parse(text, "test").unwrap_err();
    assert_eq!(problems.0[0].message, message, "{text}");
    assert_eq!(problems.exit_code(), 1);
}

#[test]
fn a_definition_has_a_kind_flags_and_values() {
    let acls = defined("acl a dstdomain -n .x.example y.example # none");
    assert_eq!((&*acls[0].name, &*acls[0].kind), ("a", "dstdomain"));
    assert_eq!(
        (&*acls[0].flags, acls[0].values.to_string().as_str()),
        (&["-n".to_owned()][..], ".x.example y.example")
    );
    assert_eq!(acls[0].place.line, 1);
}

#[test]
fn case_switches_stay_among_the_expressions() {
    let acls = defined("acl a url_regex -i one two +i three -i four");
    assert_eq!((acls.len(), &*acls[0].flags), (1, &["-i".to_owned()][..]));
    assert_eq!(acls[0].values.to_string(), "one two +i three -i four");
    let acls = defined("acl a req_header X-Y -i one +i two");
    assert_eq!(acls[0].values.to_string(), "X-Y one +i two");
}

#[test]
fn old_kinds_have_their_new_names() {
    let config = config("acl a myip 10.0.0.1\nacl b referrer_regex x\nacl c myip 10.0.0.2");
    let kinds: Vec<&str> = config
        .acls
        .iter()
        .filter(|a| !a.predefined)
        .map(|a| &*a.kind)
        .collect();
    assert_eq!(kinds, ["localip", "referer_regex", "localip"]);
    assert_eq!(config.warnings.len(), 1);
}

#[test]
fn predefined_acls_take_more_values_of_the_same_kind() {
    assert_eq!(
        defined("acl all src 0.0.0.0/0.0.0.0\nacl LOCALHOST src 10.0.0.1")[1].name,
        "localhost"
    );
    fatal(
        "acl all dst 0/0",
        "ACL 'all' already exists with different type 'src'",
    );
    fatal(
        "acl x src 1.1.1.1\nacl x dst 1.1.1.1",
        "ACL 'x' already exists with different type 'src'",
    );
}

#[test]
fn the_old_manager_acl_is_passed_over() {
    let config = config("acl manager proto cache_object\nhttp_access deny manager");
    assert!(config.acls.iter().all(|acl| acl.predefined));
    assert_eq!(
        config.warnings[0].message,
        "UPGRADE: ACL 'manager' is now a built-in ACL."
    );
}

#[test]
fn rules_know_action_and_negation() {
    let config = config("acl a src 10.0.0.1\nhttp_access allow !a LocalHost");
    let rule = &config.http_access[0];
    assert!(rule.allow);
    let negated = AclRef {
        name: "a".into(),
        negated: true,
    };
    let plain = AclRef {
        name: "localhost".into(),
        negated: false,
    };
    assert_eq!(rule.acls, [negated, plain]);
    assert_eq!(rule.place.to_string(), "test line 2");
}

#[test]
fn an_undefined_acl_is_fatal() {
    fatal("http_access allow nobody", "ACL not found: nobody");
    fatal("http_access allow ! all", "ACL not found: ");
    let problems = parse("http_access allow nobody", "squid.conf").unwrap_err();
    assert!(
        problems
            .to_string()
            .starts_with("FATAL: Bungled squid.conf line 1: http_access allow nobody\n")
    );
}

#[test]
fn a_rule_without_action_or_acl_is_left_out() {
    let config = config("http_access all\nhttp_access allow\nhttp_access deny all");
    assert_eq!(config.http_access.len(), 1);
    assert_eq!(config.warnings.len(), 2);
}

#[test]
fn groups_name_acls_that_exist() {
    assert_eq!(
        defined("acl g any-of localhost !all")[0].values.to_string(),
        "localhost !all"
    );
    fatal("acl g all-of nobody", "ACL not found: nobody");
}

#[test]
fn unfinished_or_strange_definitions() {
    fatal("acl", "missing ACL name");
    fatal("acl a", "missing ACL type");
    fatal("acl a frobnicate x", "Invalid ACL type 'frobnicate'");
    assert_eq!(
        config("acl a dst").warnings[0].message,
        "empty ACL: acl a dst"
    );
}

#[test]
fn predefined_acls_for_tls_errors_have_lines_once_they_are_used() {
    let lines = |text: &str| {
        config(text)
            .acls
            .iter()
            .filter(|acl| acl.kind == "ssl_error")
            .count()
    };
    assert_eq!(lines("sslproxy_cert_error allow ssl::certHasExpired"), 0);
    assert_eq!(lines("http_access deny ssl::certHasExpired"), 5);
}

#[test]
fn values_come_from_files_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("list");
    std::fs::write(&path, "# domains\n.a.example\n.b.example\n").unwrap();
    let acls = defined(&format!(
        "acl a dstdomain .c.example \"{}\"",
        path.display()
    ));
    let values = acls[0].values.texts();
    assert_eq!(values, [".c.example", ".a.example", ".b.example"]);
}
