//! Lifetimes and ages, by RFC section.

use super::*;
use crate::testing::{fields, rules};
use http::Method;
use proptest::prelude::*;

/// 1994-11-06 08:49:37 UTC.
const SENT: i64 = 784_111_777;
const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
/// A hundred seconds later.
const LATER: &str = "Sun, 06 Nov 1994 08:51:17 GMT";
/// A thousand seconds earlier.
const EARLIER: &str = "Sun, 06 Nov 1994 08:32:57 GMT";

fn freshness(text: &str, status: u16, reply: &[(&str, &str)], delay: i64) -> Freshness {
    let rules = rules(text);
    let (request, reply) = (fields(&[]), fields(reply));
    Freshness::of(
        &rules.caching,
        &Exchange {
            method: &Method::GET,
            url: b"http://example.com/",
            request: &request,
            status,
            reply: &reply,
            request_time: SENT - delay,
            response_time: SENT,
            surrogate_id: None,
        },
    )
}

/// Seconds for which the response is fresh after it came.
fn check(reply: &[(&str, &str)], expected: i64) {
    assert_eq!(
        freshness("", 200, reply, 0).fresh_until - SENT,
        expected,
        "{reply:?}"
    );
}

#[test]
fn the_strongest_statement_counts() {
    // RFC 9111 §4.2.1.
    check(
        &[
            ("Cache-Control", "s-maxage=1, max-age=2"),
            ("Expires", LATER),
            ("Date", DATE),
        ],
        1,
    );
    check(
        &[
            ("Cache-Control", "max-age=2"),
            ("Expires", LATER),
            ("Date", DATE),
        ],
        2,
    );
    check(&[("Expires", LATER), ("Date", DATE)], 100);
    check(&[("Expires", LATER)], 100);
    check(&[("Cache-Control", "max-age=2, max-age=1")], 1);
    check(&[("Cache-Control", "max-age=\"5\"")], 5);
}

#[test]
fn what_is_invalid_is_stale() {
    // RFC 9111 §4.2.1, §5.3.
    check(&[("Expires", "0"), ("Date", DATE)], 0);
    check(&[("Expires", "tomorrow"), ("Date", DATE)], 0);
    check(&[("Expires", EARLIER), ("Date", DATE)], -1000);
    check(&[("Cache-Control", "max-age=x"), ("Expires", LATER)], 0);
}

#[test]
fn the_age_on_arrival_counts() {
    // RFC 9111 §4.2.3, §5.1.
    let life = ("Cache-Control", "max-age=3600");
    check(&[life, ("Age", "100")], 3500);
    check(&[life, ("Age", "100,200")], 3500);
    let stale = 3600 - (1 << 31);
    for odd in [
        "",
        "x",
        "-5",
        "7.5",
        "7;a=b",
        "0, 0",
        "99999999999999999999",
    ] {
        check(&[life, ("Age", odd)], stale);
    }
    check(&[life, ("Age", "0"), ("Age", "0")], stale);
    check(&[life, ("Date", EARLIER)], 2600);
    check(&[life, ("Date", EARLIER), ("Age", "500")], 2600);
    check(&[life, ("Date", LATER)], 3600);
    let slow = freshness("", 200, &[life, ("Age", "10"), ("Date", DATE)], 30);
    assert_eq!(slow.fresh_until - SENT, 3560, "the way took 30 seconds");
    assert_eq!(slow.age_secs(SENT), 40);
    assert_eq!(slow.age_secs(SENT + 5), 45);
}

#[test]
fn a_guess_follows_last_modified_and_refresh_pattern() {
    // RFC 9111 §4.2.2.
    check(&[("Date", DATE), ("Last-Modified", EARLIER)], 200);
    check(&[("Date", DATE)], 0);
    let with = |text: &str, reply: &[(&str, &str)], expected: i64| {
        assert_eq!(
            freshness(text, 200, reply, 0).fresh_until - SENT,
            expected,
            "{text} {reply:?}"
        );
    };
    let modified = [("Date", DATE), ("Last-Modified", EARLIER)];
    with("refresh_pattern . 1 50% 10\n", &modified, 500);
    with("refresh_pattern . 1 200% 10\n", &modified, 601);
    with("refresh_pattern . 1 50% 10\n", &[("Date", DATE)], 60);
    with(
        "refresh_pattern . 10 50% 20 override-lastmod\n",
        &modified,
        600,
    );
    with(
        "refresh_pattern . 10 50% 20\n",
        &[("Cache-Control", "max-age=5")],
        5,
    );
    with(
        "refresh_pattern . 10 50% 20 override-expire\n",
        &[("Cache-Control", "max-age=5")],
        600,
    );
}

#[test]
fn an_enforced_minimum_ends_with_max_stale_and_where_stale_use_is_forbidden() {
    let check = |options: &str, control: &str, expected: i64| {
        let text = format!("refresh_pattern . 10 50% 20 {options}\n");
        let found = freshness(&text, 200, &[("Cache-Control", control)], 0);
        assert_eq!(found.fresh_until - SENT, expected, "{options}: {control}");
    };
    check("override-expire max-stale=100", "max-age=5", 106);
    check("override-expire max-stale=100", "max-age=700", 700);
    let text = "refresh_pattern . 10 50% 20 override-expire max-stale=100\n";
    let found = freshness(text, 200, &[("Cache-Control", "max-age=5")], 0);
    assert_eq!(found.stale_until, found.fresh_until);
    check("override-expire max-stale=10000", "max-age=5", 600);
    for control in [
        "max-age=5, must-revalidate",
        "max-age=5, proxy-revalidate",
        "s-maxage=5",
    ] {
        check("override-expire", control, 5);
    }
}

#[test]
fn errors_that_say_nothing_are_kept_for_negative_ttl() {
    let of =
        |status, reply: &[(&str, &str)]| freshness("negative_ttl 30 seconds\n", status, reply, 0);
    assert_eq!(of(404, &[]).fresh_until - SENT, 30);
    assert!(of(404, &[]).traits.has(Traits::NEGATIVE));
    assert_eq!(
        of(404, &[("Cache-Control", "max-age=5")]).fresh_until - SENT,
        5
    );
    assert_eq!(of(200, &[]).fresh_until - SENT, 0);
}

#[test]
fn no_cache_is_never_fresh_and_never_stale() {
    // RFC 9111 §5.2.2.4.
    let always = freshness("", 200, &[("Cache-Control", "no-cache, max-age=100")], 0);
    assert!(!always.is_fresh(SENT) && !always.may_serve_after_failure(SENT + 1000));
}

#[test]
fn stale_use_after_a_failure_is_bounded() {
    // RFC 9111 §4.2.4, §5.2.2.2, §5.2.2.8, §5.2.2.10; RFC 5861 §4.
    let check = |text: &str, value: &str, expected: i64| {
        let freshness = freshness(text, 200, &[("Cache-Control", value)], 0);
        assert_eq!(
            freshness.stale_until - freshness.fresh_until,
            expected,
            "{text} {value}"
        );
        assert!(freshness.may_serve_after_failure(freshness.stale_until - 1));
        assert!(!freshness.may_serve_after_failure(freshness.stale_until + 1));
    };
    check("", "max-age=10", 7 * 86_400);
    check("max_stale 1 hour\n", "max-age=10", 3600);
    check("max_stale 1 hour\n", "max-age=10, stale-if-error=60", 60);
    check(
        "max_stale 1 hour\n",
        "max-age=10, stale-if-error=99999",
        3600,
    );
    check(
        "refresh_pattern . 0 20% 4320 max-stale=7\n",
        "max-age=10",
        7,
    );
    for value in [
        "max-age=10, must-revalidate",
        "max-age=10, proxy-revalidate",
        "s-maxage=10",
    ] {
        check("", value, 0);
    }
}

#[test]
fn stale_while_revalidate_is_kept_beside() {
    // RFC 5861 §3.
    let found = freshness(
        "",
        200,
        &[("Cache-Control", "max-age=10, stale-while-revalidate=5")],
        0,
    );
    assert_eq!(found.stale_while_revalidate_until - found.fresh_until, 5);
    let none = freshness("", 200, &[("Cache-Control", "max-age=10")], 0);
    assert_eq!(none.stale_while_revalidate_until, none.fresh_until);
}

fn reply() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let directive = prop_oneof![
        (0u32..5000).prop_map(|secs| format!("max-age={secs}")),
        (0u32..5000).prop_map(|secs| format!("s-maxage={secs}")),
        (0u32..5000).prop_map(|secs| format!("stale-if-error={secs}")),
        Just("no-cache".to_owned()),
        Just("must-revalidate".to_owned()),
        "[a-z0-9=, \"]{0,12}",
    ];
    let date = (SENT - 5000..SENT + 5000).prop_map(|secs| {
        let mut out = Vec::new();
        date::write(secs, &mut out);
        String::from_utf8(out).unwrap()
    });
    let line = prop_oneof![
        directive.prop_map(|value| ("Cache-Control", value)),
        date.clone().prop_map(|value| ("Date", value)),
        date.clone().prop_map(|value| ("Expires", value)),
        date.prop_map(|value| ("Last-Modified", value)),
        "[0-9]{0,22}".prop_map(|value| ("Age", value)),
    ];
    prop::collection::vec(line, 0..6)
}

/// What is purged softly is stale from then on, and of use for as long after that as it would have been.
#[test]
fn staleness_can_come_early() {
    let said = "max-age=100, stale-if-error=50, stale-while-revalidate=20";
    let before = freshness("", 200, &[("Cache-Control", said)], 0);
    let purged = before.stale_since(SENT + 10);
    assert!(purged.is_fresh(SENT + 9) && !purged.is_fresh(SENT + 10));
    assert!(
        purged.may_serve_after_failure(SENT + 60) && !purged.may_serve_after_failure(SENT + 61)
    );
    assert_eq!(purged.stale_while_revalidate_until, SENT + 30);
    assert_eq!(purged.age_secs(SENT + 10), 10);
    assert!(purged.traits.has(Traits::PURGED));

    let strict = "max-age=100, must-revalidate";
    let strict = freshness("", 200, &[("Cache-Control", strict)], 0).stale_since(SENT + 10);
    assert!(!strict.may_serve_after_failure(SENT + 10));

    let late = before.stale_since(SENT + 120);
    assert_eq!(late.fresh_until, before.fresh_until);
    assert_eq!(late.stale_until, before.stale_until);
}

proptest! {
    #[test]
    fn freshness_never_grows_with_time(lines in reply(), steps in prop::collection::vec(0i64..10_000, 1..20)) {
        let lines: Vec<_> = lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let found = freshness("", 200, &lines, 3);
        let (mut now, mut fresh, mut usable, mut age) = (SENT, true, true, 0);
        for step in steps {
            now += step;
            prop_assert!(fresh || !found.is_fresh(now));
            prop_assert!(usable || !found.may_serve_after_failure(now));
            prop_assert!(found.age_secs(now) >= age);
            prop_assert!(!found.is_fresh(now) || found.may_serve_after_failure(now));
            (fresh, usable, age) = (found.is_fresh(now), found.may_serve_after_failure(now), found.age_secs(now));
        }
    }
}
