use super::*;

fn check(value: &str, expected: CacheControl) {
    assert_eq!(
        CacheControl::parse_value(value.as_bytes()),
        expected,
        "{value}"
    );
}

fn none() -> CacheControl {
    CacheControl::default()
}

#[test]
fn every_directive_is_known_in_any_letter_case() {
    check(
        "Max-Age=60",
        CacheControl {
            max_age: Some(60),
            ..none()
        },
    );
    check(
        "s-maxage=5, PUBLIC",
        CacheControl {
            s_maxage: Some(5),
            public: true,
            ..none()
        },
    );
    check(
        "no-store,no-transform",
        CacheControl {
            no_store: true,
            no_transform: true,
            ..none()
        },
    );
    check(
        "only-if-cached",
        CacheControl {
            only_if_cached: true,
            ..none()
        },
    );
    check(
        "must-revalidate",
        CacheControl {
            must_revalidate: true,
            ..none()
        },
    );
    check(
        "proxy-revalidate",
        CacheControl {
            proxy_revalidate: true,
            ..none()
        },
    );
    check(
        "must-understand",
        CacheControl {
            must_understand: true,
            ..none()
        },
    );
    check(
        "immutable",
        CacheControl {
            immutable: true,
            ..none()
        },
    );
    check(
        "stale-if-error=7",
        CacheControl {
            stale_if_error: Some(7),
            ..none()
        },
    );
    check(
        "stale-while-revalidate=8",
        CacheControl {
            stale_while_revalidate: Some(8),
            ..none()
        },
    );
    check(
        "min-fresh=9",
        CacheControl {
            min_fresh: Some(9),
            ..none()
        },
    );
    check(
        "max-stale",
        CacheControl {
            max_stale: Some(DELTA_SECS_MAX),
            ..none()
        },
    );
    check(
        "max-stale=9",
        CacheControl {
            max_stale: Some(9),
            ..none()
        },
    );
    check(
        "no-cache",
        CacheControl {
            no_cache: true,
            ..none()
        },
    );
    check(
        "private",
        CacheControl {
            private: true,
            ..none()
        },
    );
    check("x=y, community=\"max-age=5, no-store\"", none());
}

#[test]
fn invalid_numbers_read_as_the_strictest() {
    for bad in [
        "max-age",
        "max-age=",
        "max-age=-1",
        "max-age=x",
        "max-age=1.5",
        "max-age=+1",
        "max-age=1s",
    ] {
        check(
            bad,
            CacheControl {
                max_age: Some(0),
                ..none()
            },
        );
    }
    check("max-stale=x, stale-if-error=-1, min-fresh=x", none());
    check(
        "max-age=\"60\"",
        CacheControl {
            max_age: Some(60),
            ..none()
        },
    );
    check(
        "max-age=99999999999999999999999",
        CacheControl {
            max_age: Some(DELTA_SECS_MAX),
            ..none()
        },
    );
}

#[test]
fn of_duplicates_the_strictest_counts() {
    check(
        "max-age=60, max-age=5, max-age=70",
        CacheControl {
            max_age: Some(5),
            ..none()
        },
    );
    check(
        "max-age=60, max-age=x",
        CacheControl {
            max_age: Some(0),
            ..none()
        },
    );
    check(
        "max-stale, max-stale=5",
        CacheControl {
            max_stale: Some(5),
            ..none()
        },
    );
    check(
        "min-fresh=1, min-fresh=5",
        CacheControl {
            min_fresh: Some(5),
            ..none()
        },
    );
}

#[test]
fn named_fields_restrict_only_themselves() {
    check(
        "private=\"Set-Cookie, X\"",
        CacheControl {
            private_fields: true,
            ..none()
        },
    );
    check(
        "no-cache=Set-Cookie",
        CacheControl {
            no_cache_fields: true,
            ..none()
        },
    );
    check(
        "private=\"\"",
        CacheControl {
            private: true,
            ..none()
        },
    );
    check(
        "no-cache=\"a b\"",
        CacheControl {
            no_cache: true,
            ..none()
        },
    );
    let mut fields = Fields::new();
    fields.push_id(
        FieldId::CacheControl,
        b"private=\"Set-Cookie, X\", no-cache=\"Y\"",
    );
    fields.push_id(FieldId::CacheControl, b"PRIVATE=Z");
    let names: Vec<_> = named_fields(&fields, "private").collect();
    assert_eq!(names, [&b"Set-Cookie"[..], b"X", b"Z"]);
}

#[test]
fn an_open_quote_hides_nothing() {
    check(
        "x=\"a, no-store",
        CacheControl {
            no_store: true,
            ..none()
        },
    );
}
