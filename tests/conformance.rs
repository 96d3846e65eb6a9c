//! Beside Squid, where it is installed: the quick families of the matrix of access decisions agree as
//! `conformance/access/expected.toml` says. `cargo xtask conformance access` runs all of them. And the public suite for
//! HTTP caches, where it is installed: all of it is passed but for what `conformance/cache-tests/expected.toml` lists.

use std::path::Path;

use conformance::access::{Programs, SQUID, compare};
use conformance::cache::{self, Suite};

/// Families of which each matters by itself, and that are tried within seconds.
const QUICK: [&str; 5] = [
    "order",
    "external",
    "max_user_ip",
    "hops direct",
    "rewriter",
];

#[test]
fn squid_decides_alike() {
    if !Path::new(SQUID).exists() {
        println!("no {SQUID}: nothing to compare with");
        return;
    }
    let programs = Programs {
        squall: testkit::squall(),
        squid: SQUID.into(),
    };
    let report = compare(&programs, |family| QUICK.contains(&family)).unwrap();
    println!("{report}");
    assert!(report.pairs() > 900, "families are missing");
    assert!(report.is_as_expected(), "{report}");
}

#[test]
fn the_public_suite_for_caches_is_passed_as_listed() {
    let suite = match Suite::find() {
        Ok(suite) => suite,
        Err(missing) => {
            println!("skipped: {missing}");
            return;
        }
    };
    let report = cache::run(&suite, &testkit::squall(), false).unwrap();
    println!("{report}");
    assert!(report.outcomes() >= 2 * 350, "tests are missing");
    assert!(report.is_as_expected(), "{report}");
}
