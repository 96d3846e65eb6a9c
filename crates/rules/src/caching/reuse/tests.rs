//! What stored responses answer, by RFC section.

use super::*;
use crate::testing::{fields, rules};

const NOW: i64 = 1_000_000;

/// Born 100 seconds ago, fresh for 50 more.
const FRESH: Freshness = Freshness {
    born: NOW - 100,
    fresh_until: NOW + 50,
    stale_until: NOW + 1000,
    stale_while_revalidate_until: NOW + 50,
    traits: Traits::MUST_REVALIDATE,
    guessed_by: None,
};

fn fresh() -> Freshness {
    Freshness {
        traits: Traits::default(),
        ..FRESH
    }
}

/// Stale since 10 seconds.
fn stale() -> Freshness {
    Freshness {
        fresh_until: NOW - 10,
        stale_while_revalidate_until: NOW - 10,
        ..fresh()
    }
}

fn check(text: &str, freshness: Freshness, request: &[(&str, &str)], expected: Reuse) {
    let found = rules(text).caching.reuse(&freshness, &fields(request), NOW);
    assert_eq!(found, expected, "{text} {request:?} {freshness:?}");
}

const TOO_OLD: Reuse = Reuse::Validate(Why::TooOld);
const EXPIRED: Reuse = Reuse::Validate(Why::Expired);
const ASKED: Reuse = Reuse::Validate(Why::ClientAsks);

#[test]
fn fresh_responses_answer_and_stale_ones_are_validated() {
    // RFC 9111 §4.
    check("", fresh(), &[], Reuse::Fresh);
    check("", fresh(), &[("Cache-Control", "x-unknown")], Reuse::Fresh);
    check("", stale(), &[], EXPIRED);
    check(
        "",
        Freshness {
            fresh_until: i64::MIN,
            ..FRESH
        },
        &[],
        EXPIRED,
    );
    check("offline_mode on\n", stale(), &[], Reuse::Fresh);
}

#[test]
fn a_stale_response_may_answer_while_it_is_validated() {
    // RFC 5861 §3.
    let meanwhile = Freshness {
        stale_while_revalidate_until: NOW + 1,
        ..stale()
    };
    check("", meanwhile, &[], Reuse::StaleWhileRevalidate);
    let over = Freshness {
        stale_while_revalidate_until: NOW,
        ..stale()
    };
    check("", over, &[], EXPIRED);
    let forbidden = Freshness {
        traits: Traits::MUST_REVALIDATE,
        ..meanwhile
    };
    check("", forbidden, &[], EXPIRED);
    for (asked, expected) in [
        ("no-cache", Reuse::Reload),
        ("max-age=1000", EXPIRED),
        ("min-fresh=1", EXPIRED),
        ("x-unknown", Reuse::StaleWhileRevalidate),
    ] {
        check("", meanwhile, &[("Cache-Control", asked)], expected);
    }
}

#[test]
fn a_reload_is_a_fetch_unless_softened() {
    // RFC 9111 §5.2.1.4, §5.4.
    check("", fresh(), &[("Cache-Control", "no-cache")], Reuse::Reload);
    check("", fresh(), &[("Pragma", "no-cache")], Reuse::Reload);
    check(
        "",
        fresh(),
        &[("Pragma", "no-cache"), ("Cache-Control", "max-age=500")],
        Reuse::Fresh,
    );
    check(
        "reload_into_ims on\n",
        stale(),
        &[("Cache-Control", "no-cache")],
        ASKED,
    );
    let into = Freshness {
        traits: Traits::RELOAD_INTO_IMS,
        ..fresh()
    };
    check("", into, &[("Pragma", "no-cache")], ASKED);
    let ignored = Freshness {
        traits: Traits::IGNORE_RELOAD,
        ..fresh()
    };
    check("", ignored, &[("Cache-Control", "no-cache")], Reuse::Fresh);
    check("", ignored, &[("Cache-Control", "max-age=0")], Reuse::Fresh);
    check("", ignored, &[("Cache-Control", "max-age=99")], TOO_OLD);
}

#[test]
fn max_age_and_min_fresh_ask_for_younger_ones() {
    // RFC 9111 §5.2.1.1, §5.2.1.3.
    check(
        "",
        fresh(),
        &[("Cache-Control", "max-age=100")],
        Reuse::Fresh,
    );
    check("", fresh(), &[("Cache-Control", "max-age=99")], TOO_OLD);
    check("", fresh(), &[("Cache-Control", "max-age=0")], ASKED);
    check(
        "",
        fresh(),
        &[("Cache-Control", "min-fresh=50")],
        Reuse::Fresh,
    );
    check("", fresh(), &[("Cache-Control", "min-fresh=51")], TOO_OLD);
    // RFC 8246 §2.
    let immutable = Freshness {
        traits: Traits::IMMUTABLE,
        ..fresh()
    };
    check(
        "",
        immutable,
        &[("Cache-Control", "max-age=0")],
        Reuse::Fresh,
    );
    check(
        "",
        Freshness {
            fresh_until: NOW - 1,
            ..immutable
        },
        &[("Cache-Control", "max-age=0")],
        ASKED,
    );
}

#[test]
fn max_stale_takes_stale_ones_where_that_is_allowed() {
    // RFC 9111 §5.2.1.2, §4.2.4.
    check("", stale(), &[("Cache-Control", "max-stale")], Reuse::Stale);
    check(
        "",
        stale(),
        &[("Cache-Control", "max-stale=10")],
        Reuse::Stale,
    );
    check("", stale(), &[("Cache-Control", "max-stale=9")], EXPIRED);
    check(
        "",
        Freshness {
            stale_until: NOW - 1,
            ..stale()
        },
        &[("Cache-Control", "max-stale")],
        Reuse::Stale, // `stale_until` is about failures
    );
    let must = Freshness {
        traits: Traits::MUST_REVALIDATE,
        ..stale()
    };
    check("", must, &[("Cache-Control", "max-stale")], EXPIRED);
    check(
        "",
        stale(),
        &[("Cache-Control", "max-stale, max-age=50")],
        TOO_OLD,
    );
}

#[test]
fn refresh_ims_validates_for_conditional_requests() {
    let checked = Freshness {
        traits: Traits::REFRESH_IMS,
        ..fresh()
    };
    check("", checked, &[], Reuse::Fresh);
    let conditional = [("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")];
    check("", checked, &conditional, ASKED);
    check("", fresh(), &conditional, Reuse::Fresh);
    check("refresh_all_ims on\n", fresh(), &conditional, ASKED);
}

#[test]
fn wishes_are_read_from_cache_control_before_pragma() {
    // RFC 9111 §5.2.1.7, §5.4.
    assert!(Wishes::of(&fields(&[("Cache-Control", "only-if-cached")])).only_if_cached());
    assert!(!has_wishes(&fields(&[("Accept", "x")])));
    assert!(has_wishes(&fields(&[("Pragma", "x")])));
}
