//! Beside Squid, where it is installed: the quick families of the matrix of access decisions, and the matrix of
//! freshness, agree as `conformance/*/expected.toml` say. `cargo xtask conformance access` runs all families. And the
//! public suite for HTTP caches, where it is installed: all of it is passed but for what its table lists.

use std::path::Path;

use conformance::cache::{self, Suite};
use conformance::{Programs, SQUID, access, log, refresh};

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
    let Some(programs) = programs() else { return };
    let report = access::compare(&programs, |family| QUICK.contains(&family)).unwrap();
    println!("{report}");
    assert!(report.pairs() > 900, "families are missing");
    assert!(report.is_as_expected(), "{report}");
}

#[test]
fn squid_finds_the_same_fresh() {
    let Some(programs) = programs() else { return };
    let report = refresh::compare(&programs).unwrap();
    println!("{report}");
    assert!(report.pairs() > 9000, "cases are missing");
    assert!(report.is_as_expected(), "{report}");
}

#[test]
fn squid_logs_the_same() {
    let Some(programs) = programs() else { return };
    let report = log::compare(&programs).unwrap();
    println!("{report}");
    assert!(report.pairs() > 5000, "cases are missing");
    assert!(report.is_as_expected(), "{report}");
}

fn programs() -> Option<Programs> {
    if !Path::new(SQUID).exists() {
        println!("no {SQUID}: nothing to compare with");
        return None;
    }
    Some(Programs {
        squall: testkit::squall(),
        squid: SQUID.into(),
    })
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
    // It lives by the clock, and tests beside it may take its seconds: what fails for want of them passes another time.
    let run = || cache::run(&suite, &testkit::squall(), false).unwrap();
    let mut report = run();
    for _ in 0..2 {
        if !report.is_as_expected() {
            println!("again after:\n{report}");
            report = run();
        }
    }
    println!("{report}");
    assert!(report.outcomes() >= 2 * 350, "tests are missing");
    assert!(report.is_as_expected(), "{report}");
}
