//! Header rules, Via and X-Forwarded-For.

use super::*;
use crate::testing::{Scene, fields, rules};

fn check(text: &str, before: &[(&str, &str)], after: &[(&str, &str)]) {
    let rules = rules(text);
    let scene = Scene::new("http://example.com/");
    let mut block = fields(before);
    rules
        .request_fields
        .apply(&rules, &scene.facts(), &mut block, |line, out| {
            out.extend_from_slice(format!("line {line}").as_bytes());
        });
    assert_eq!(block, fields(after), "{text}");
}

#[test]
fn without_lines_there_is_nothing_to_do() {
    let rules = rules("");
    assert!(rules.request_fields.is_noop() && rules.reply_fields.is_noop());
    assert!(
        !super::super::testing::rules("reply_header_access Server deny all\n")
            .reply_fields
            .is_noop()
    );
}

#[test]
fn denied_fields_are_dropped_or_replaced() {
    let before = [
        ("Host", "h"),
        ("User-Agent", "u"),
        ("X-One", "1"),
        ("x-one", "2"),
        ("Accept", "a"),
    ];
    check(
        "request_header_access User-Agent deny all\n",
        &before,
        &[before[0], before[2], before[3], before[4]],
    );
    check(
        "request_header_access x-one deny all\n",
        &before,
        &[before[0], before[1], before[4]],
    );
    check(
        "request_header_access User-Agent deny all\nrequest_header_replace User-Agent Nobody/1\n",
        &before,
        &[
            before[0],
            ("User-Agent", "Nobody/1"),
            before[2],
            before[3],
            before[4],
        ],
    );
    let conditional = "acl p port 81\nrequest_header_access User-Agent deny p\n";
    check(conditional, &before, &before);
}

#[test]
fn other_is_for_unregistered_names_and_all_for_the_rest() {
    let before = [
        ("Host", "h"),
        ("X-One", "1"),
        ("X-Two", "2"),
        ("Accept", "a"),
    ];
    check(
        "request_header_access Other deny all\n",
        &before,
        &[before[0], before[3]],
    );
    check(
        "request_header_access X-One allow all\nrequest_header_access Other deny all\n",
        &before,
        &[before[0], before[1], before[3]],
    );
    check(
        "request_header_access Host allow all\nrequest_header_access All deny all\n",
        &before,
        &[before[0]],
    );
}

#[test]
fn fields_are_added_when_their_acls_match() {
    check(
        "acl p port 81\nrequest_header_add X-A one all\nrequest_header_add X-B two p\n",
        &[("Host", "h")],
        &[("Host", "h"), ("X-A", "one")],
    );
    check(
        "request_header_add X-A \"a b\" all\n",
        &[],
        &[("X-A", "line 0")],
    );
}

#[test]
fn via_grows_by_our_element() {
    // RFC 9110 §7.6.3.
    let mut block = fields(&[("Via", "1.0 a"), ("Host", "h"), ("via", "1.1 b")]);
    append_via(&mut block, Version::H11, "c (squall)");
    assert_eq!(
        block,
        fields(&[("Via", "1.0 a, 1.1 b, 1.1 c (squall)"), ("Host", "h")])
    );
    let mut block = fields(&[]);
    append_via(&mut block, Version::H10, "c");
    assert_eq!(block, fields(&[("Via", "1.0 c")]));
}

#[test]
fn forwarded_for_has_five_modes() {
    let check = |mode, client: &str, expected: &[(&str, &str)]| {
        let mut block = fields(&[("X-Forwarded-For", "1.1.1.1")]);
        forward_client(&mut block, mode, client.parse().unwrap());
        assert_eq!(block, fields(expected), "{mode:?}");
    };
    check(
        ForwardedFor::On,
        "10.0.0.1",
        &[("X-Forwarded-For", "1.1.1.1, 10.0.0.1")],
    );
    check(
        ForwardedFor::On,
        "::ffff:10.0.0.1",
        &[("X-Forwarded-For", "1.1.1.1, 10.0.0.1")],
    );
    check(
        ForwardedFor::Off,
        "10.0.0.1",
        &[("X-Forwarded-For", "1.1.1.1, unknown")],
    );
    check(
        ForwardedFor::Transparent,
        "10.0.0.1",
        &[("X-Forwarded-For", "1.1.1.1")],
    );
    check(ForwardedFor::Truncate, "::1", &[("X-Forwarded-For", "::1")]);
    check(ForwardedFor::Delete, "10.0.0.1", &[]);
}

#[test]
fn a_list_of_clients_that_grows_without_end_is_cut() {
    let long = "1.1.1.1, ".repeat(5000);
    let mut block = fields(&[("X-Forwarded-For", &long)]);
    forward_client(&mut block, ForwardedFor::On, "10.0.0.1".parse().unwrap());
    assert_eq!(block, fields(&[("X-Forwarded-For", "error, 10.0.0.1")]));
}
