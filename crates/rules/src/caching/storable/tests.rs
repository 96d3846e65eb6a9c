//! What is stored, by RFC section.

use super::*;
use crate::testing::{fields, rules};
use NotStorable::{
    Authorization, Incomplete, Mixed, NoStore, NotUnderstood, Private, RequestNoStore, Status,
    Useless, Vary,
};

const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const EARLIER: &str = "Sun, 06 Nov 1994 08:32:57 GMT";

/// Lines of a header block.
type Lines<'a> = &'a [(&'a str, &'a str)];

fn decide(
    text: &str,
    method: &Method,
    request: Lines<'_>,
    status: u16,
    reply: Lines<'_>,
) -> Result<Storable, NotStorable> {
    let (rules, request, reply) = (rules(text), fields(request), fields(reply));
    rules.caching.storable(&Exchange {
        method,
        url: b"http://example.com/",
        request: &request,
        status,
        reply: &reply,
        request_time: 784_111_777,
        response_time: 784_111_777,
        surrogate_id: None,
    })
}

fn check(request: Lines<'_>, status: u16, reply: Lines<'_>, expected: Result<(), NotStorable>) {
    let found = decide("", &Method::GET, request, status, reply).map(drop);
    assert_eq!(found, expected, "{request:?} {status} {reply:?}");
}

const LIVES: (&str, &str) = ("Cache-Control", "max-age=3600");

#[test]
fn only_responses_to_get_and_some_to_post_are_kept() {
    // RFC 9111 §3.
    for method in [Method::PUT, Method::HEAD, Method::DELETE, Method::CONNECT] {
        assert_eq!(
            decide("", &method, &[], 200, &[LIVES]).map(drop),
            Err(NotStorable::Method),
            "{method}"
        );
    }
    check(&[], 200, &[LIVES], Ok(()));
    // RFC 9110 §9.3.3.
    let post = |reply| decide("", &Method::POST, &[], 200, reply).map(drop);
    assert_eq!(post(&[LIVES]), Ok(()));
    let guessed = [("Date", DATE), ("Last-Modified", EARLIER)];
    assert_eq!(post(&guessed), Err(NotStorable::Method));
}

#[test]
fn no_store_and_private_keep_it_out() {
    // RFC 9111 §5.2.1.5, §5.2.2.5, §5.2.2.7.
    check(
        &[("Cache-Control", "no-store")],
        200,
        &[LIVES],
        Err(RequestNoStore),
    );
    check(
        &[],
        200,
        &[LIVES, ("Cache-Control", "no-store")],
        Err(NoStore),
    );
    check(
        &[],
        200,
        &[LIVES, ("Cache-Control", "PRIVATE")],
        Err(Private),
    );
    check(
        &[],
        200,
        &[LIVES, ("Cache-Control", "private=\"Set-Cookie\"")],
        Err(Private),
    );
    let text = "refresh_pattern . 0 20% 4320 ignore-no-store ignore-private\n";
    let lax = |value| {
        decide(
            text,
            &Method::GET,
            &[],
            200,
            &[LIVES, ("ETag", "\"a\""), ("Cache-Control", value)],
        )
    };
    assert!(lax("no-store").is_ok());
    assert!(
        !lax("private").unwrap().freshness.is_fresh(784_111_777),
        "validated each time"
    );
}

#[test]
fn authorised_responses_are_shared_only_when_they_say_so() {
    // RFC 9111 §3.5.
    let request = [("Authorization", "Basic eDp5")];
    check(&request, 200, &[LIVES], Err(Authorization));
    for value in ["public", "must-revalidate", "s-maxage=3600"] {
        check(&request, 200, &[LIVES, ("Cache-Control", value)], Ok(()));
    }
}

#[test]
fn statuses_need_a_stated_lifetime_or_a_guess() {
    // RFC 9111 §3, RFC 9110 §15.1.
    for status in [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501] {
        check(
            &[],
            status,
            &[("Date", DATE), ("Last-Modified", EARLIER)],
            Ok(()),
        );
    }
    for status in [201, 299, 302, 303, 307, 400, 418, 499, 500, 503, 599] {
        check(
            &[],
            status,
            &[("Date", DATE), ("Last-Modified", EARLIER)],
            Err(Status),
        );
        check(&[], status, &[LIVES], Ok(()));
    }
    let part = ("Content-Range", "bytes 0-4/10");
    check(&[], 206, &[LIVES, part], Ok(()));
    for status in [100, 206, 304] {
        check(&[], status, &[LIVES], Err(Incomplete));
    }
    let negative =
        |status| decide("negative_ttl 10 seconds\n", &Method::GET, &[], status, &[]).map(drop);
    assert_eq!(negative(404), Ok(()));
    let bare = decide("", &Method::GET, &[], 404, &[("Date", DATE)]).map(drop);
    assert_eq!(bare, Err(Status), "without negative_ttl");
    assert_eq!(negative(302), Err(Status));
}

#[test]
fn must_understand_overrides_no_store_for_known_statuses() {
    // RFC 9111 §5.2.2.3.
    let value = ("Cache-Control", "must-understand, no-store, max-age=3600");
    check(&[], 200, &[value], Ok(()));
    check(&[], 299, &[value], Err(NotUnderstood));
}

#[test]
fn vary_star_and_endless_parts_are_not_kept() {
    // RFC 9111 §4.1.
    check(&[], 200, &[LIVES, ("Vary", "*")], Err(Vary));
    check(&[], 200, &[LIVES, ("Vary", "Accept")], Ok(()));
    check(
        &[],
        200,
        &[
            LIVES,
            ("Content-Type", "multipart/x-mixed-replace;boundary=x"),
        ],
        Err(Mixed),
    );
}

#[test]
fn pragma_without_cache_control_makes_it_validated_each_time() {
    let until = |reply: Lines<'_>| {
        let stored = decide("", &Method::GET, &[], 200, reply).unwrap();
        stored.freshness.fresh_until
    };
    let modified = ("Last-Modified", EARLIER);
    assert_eq!(until(&[("Pragma", "no-cache"), modified]), i64::MIN);
    assert!(until(&[LIVES, ("Pragma", "no-cache"), modified]) > 0);
}

#[test]
fn what_is_soon_stale_and_has_no_validator_is_a_spare() {
    let spare = |text: &str, reply: Lines<'_>| {
        let stored = decide(text, &Method::GET, &[], 200, reply).unwrap();
        stored.freshness.traits.has(Traits::SPARE)
    };
    let control = |value| ("Cache-Control", value);
    let tag = ("ETag", "\"a\"");
    assert!(spare("", &[]));
    assert!(!spare("", &[tag]));
    assert!(!spare("", &[control("max-age=1")]));
    for value in ["max-age=0", "no-cache", "max-age=0, must-revalidate"] {
        assert!(spare("", &[control(value)]), "{value}");
        assert!(!spare("", &[control(value), tag]), "{value}");
    }
    let minute = "refresh_pattern . 1 0% 1\n";
    assert!(spare(minute, &[]));
    let soon = format!("{minute}minimum_expiry_time 59 seconds\n");
    assert!(!spare(&soon, &[]));
    assert!(!spare("refresh_pattern . 0 0% 0 store-stale\n", &[]));
    assert!(!spare("vary_ignore_expire on\n", &[("Vary", "Accept")]));
}

#[test]
fn not_everything_makes_a_spare() {
    for status in [200, 203, 300, 301, 308, 410] {
        check(&[], status, &[("Cache-Control", "max-age=0")], Ok(()));
    }
    let stale = ("Cache-Control", "max-age=0");
    for status in [204, 302, 307, 404, 500, 503] {
        check(&[], status, &[stale], Err(Useless));
    }
    check(&[], 200, &[stale, ("Content-Length", "5")], Ok(()));
    for line in [
        ("Content-Length", "0"),
        ("Set-Cookie", "a=b"),
        ("Content-Type", "text/event-stream; charset=utf-8"),
    ] {
        check(&[], 200, &[stale, line], Err(Useless));
    }
    let post = decide("", &Method::POST, &[], 200, &[stale]).map(drop);
    assert_eq!(post, Err(Useless));
}
