//! Access lists, asked through compiled configurations.

use std::sync::Arc;

use super::*;
use crate::testing::{Scene, compile, rules};
use crate::{List, Rules};

fn said(rules: &Rules, scene: &Scene) -> String {
    match rules.check(List::HttpAccess, &scene.facts()) {
        Answer::Allow(rule) | Answer::Deny(rule) if rule.is_some() => rule.unwrap().to_string(),
        Answer::Allow(_) => "allowed by default".into(),
        Answer::Deny(_) => "denied by default".into(),
        Answer::Ask(question) => format!("{question:?}?"),
    }
}

fn check(text: &str, url: &str, expected: &str) {
    assert_eq!(
        said(&rules(text), &Scene::new(url)),
        expected,
        "{url} under {text}"
    );
}

const URL: &str = "http://example.com/";

#[test]
fn the_stock_rules_decide_as_in_squid() {
    let config = config::built_in();
    let zone = jiff::tz::TimeZone::UTC;
    let rules = Rules::compile(
        &config,
        &crate::Environment {
            resolve: &|_| Vec::new(),
            zone: &zone,
        },
    )
    .unwrap();
    let local = |url: &str| Scene::new(url).from("127.0.0.1");
    assert_eq!(
        said(&rules, &Scene::new("http://example.com:22/")),
        "deny !Safe_ports"
    );
    assert_eq!(
        said(&rules, &local("example.com:8443")),
        "deny CONNECT !SSL_ports"
    );
    assert_eq!(
        said(&rules, &local("http://example.com/squid-internal-mgr/info")),
        "allow localhost manager"
    );
    assert_eq!(
        said(&rules, &Scene::new("cache_object://example.com/info")),
        "deny manager"
    );
    assert_eq!(
        said(&rules, &local("cache_object://example.com/info")),
        "allow localhost manager"
    );
    assert_eq!(
        said(
            &rules,
            &Scene::new("http://example.com/squid-internal-mgr/info")
        ),
        "deny manager"
    );
    assert_eq!(
        said(&rules, &local("http://127.0.0.1/")),
        "deny to_localhost"
    );
    assert_eq!(said(&rules, &local("http://[::1]/")), "deny to_localhost");
    assert_eq!(
        said(&rules, &local("http://169.254.169.254/")),
        "deny to_linklocal"
    );
    assert_eq!(said(&rules, &local("http://192.0.2.1/")), "allow localhost");
    assert_eq!(said(&rules, &Scene::new("http://192.0.2.1/")), "deny all");
    assert_eq!(said(&rules, &local(URL)), "Destination?");
    assert!(rules.warnings.is_empty(), "{:?}", rules.warnings);
}

#[test]
fn the_first_rule_that_applies_decides() {
    let text = "acl a dstdomain .example.com\nacl b port 80\n\
                http_access deny a !b\nhttp_access allow a b\nhttp_access deny all\n";
    check(text, URL, "allow a b");
    check(text, "http://example.com:81/", "deny a !b");
    check(text, "http://example.org/", "deny all");
}

#[test]
fn when_none_applies_the_answer_is_the_opposite_of_the_last_rule() {
    check(
        "acl a port 81\nhttp_access deny a\n",
        URL,
        "allowed by default",
    );
    check(
        "acl a port 81\nhttp_access allow a\n",
        URL,
        "denied by default",
    );
    check(
        "acl a port 81\nhttp_access allow a\nhttp_access deny a\n",
        URL,
        "allowed by default",
    );
    check("", URL, "denied by default");
}

#[test]
fn what_does_not_depend_on_the_request_is_a_constant() {
    let always = |text: &str| rules(text).list(List::HttpAccess).always();
    assert_eq!(always(""), Some(false));
    assert_eq!(always("http_access allow all\n"), Some(true));
    assert_eq!(
        always("acl x src 0.0.0.0/0 ::/0\nhttp_access allow x\nhttp_access deny all\n"),
        Some(true)
    );
    assert_eq!(
        always("acl p port 1\nhttp_access deny p !all\nhttp_access allow all\n"),
        Some(true)
    );
    assert_eq!(
        always("acl p port 1\nhttp_access deny p\nhttp_access allow all\n"),
        None
    );
    let open = rules("");
    for list in [
        List::HttpReplyAccess,
        List::MissAccess,
        List::Cache,
        List::CollapsedForwarding,
    ] {
        assert_eq!(open.list(list).always(), Some(true), "{list:?}");
    }
    for list in [List::AlwaysDirect, List::NeverDirect, List::PeerAccess(7)] {
        assert_eq!(open.list(list).always(), Some(false), "{list:?}");
    }
}

#[test]
fn a_missing_fact_is_asked_for_only_when_it_matters() {
    let text = "acl here dst 192.0.2.0/24\nacl p port 80\nhttp_access deny !p here\nhttp_access allow all\n";
    check(text, URL, "allow all");
    check(text, "http://example.com:81/", "Destination?");
    check(text, "http://192.0.2.9:81/", "deny !p here");
    let negated = "acl here dst 192.0.2.0/24\nhttp_access deny !here\nhttp_access allow all\n";
    check(negated, URL, "Destination?");
}

#[test]
fn an_answered_question_is_not_asked_again() {
    let rules = rules("acl here dst 192.0.2.0/24\nhttp_access deny !here\nhttp_access allow all\n");
    let scene = Scene::new(URL);
    let inside = ["192.0.2.1".parse().unwrap()];
    scene.learnt.learn_destination(Arc::new(inside));
    assert!(rules.check(List::HttpAccess, &scene.facts()).is_allow());
    let scene = Scene::new(URL);
    scene.learnt.learn_destination(Arc::new([]));
    let facts = scene.facts();
    assert!(matches!(
        rules.check(List::HttpAccess, &facts),
        Answer::Deny(Some(_))
    ));
}

#[test]
fn types_that_are_not_built_fall_against_the_client() {
    let text = "acl users adaptation_service one\nacl p port 80\n";
    let with =
        |lines: &str, url: &str, expected: &str| check(&format!("{text}{lines}"), url, expected);
    with(
        "http_access allow users\nhttp_access deny all\n",
        URL,
        "deny all",
    );
    with(
        "http_access allow !users\nhttp_access deny all\n",
        URL,
        "deny all",
    );
    with(
        "http_access deny users\nhttp_access allow all\n",
        URL,
        "deny users",
    );
    with(
        "http_access deny !users\nhttp_access allow all\n",
        URL,
        "deny !users",
    );
    with(
        "http_access deny users p\nhttp_access allow all\n",
        "http://example.com:81/",
        "allow all",
    );
    with(
        "acl both all-of users p\nhttp_access deny both\nhttp_access allow all\n",
        URL,
        "deny both",
    );
    with(
        "acl both all-of users p\nhttp_access deny both\nhttp_access allow all\n",
        "http://example.com:81/",
        "allow all",
    );
    with(
        "acl one any-of users p\nhttp_access allow one\nhttp_access deny all\n",
        URL,
        "allow one",
    );
}

#[test]
fn one_warning_is_given_per_type_that_is_not_built() {
    let rules = rules("acl a src_as 1\nacl b src_as 2\nacl c client_connection_mark 3\n");
    let messages: Vec<_> = rules
        .warnings
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].contains("'src_as'") && messages[1].contains("'client_connection_mark'"));
}

#[test]
fn a_bad_value_is_a_problem_with_its_place() {
    let problems = compile("acl ok port 80\nacl bad port http\n").unwrap_err();
    assert_eq!(problems.0.len(), 1);
    let problem = &problems.0[0];
    assert_eq!((problem.place.line, &*problem.place.file), (2, "test.conf"));
    assert_eq!(problem.message, "Invalid port value: 'http'");
    let problems = compile("acl gone src nowhere.test\n").unwrap_err();
    assert!(problems.0[0].message.contains("nowhere.test"));
}

#[test]
fn the_last_acl_of_a_rule_is_the_one_deny_info_goes_by() {
    let rules = rules("acl a port 80\nacl b port 443\nhttp_access deny a !b\n");
    let scene = Scene::new(URL);
    let Answer::Deny(Some(rule)) = rules.check(List::HttpAccess, &scene.facts()) else {
        panic!("not denied")
    };
    assert_eq!(rule.last_acl(), Some("b"));
    assert_eq!(rule.place.line, 3);
}
