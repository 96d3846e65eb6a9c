//! What the caching rules cost, in nanoseconds: `cargo run --release -p rules --example hit_cost`. With a number the usual
//! decision is made so many times, for a tool that counts allocations: there are as many with 1 as with 1,000,000.
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::env;
use std::hint::black_box;
use std::time::Instant;

use http::Method;
use rules::caching::Exchange;
use rules::caching::reuse::Reuse;
use rules::caching::vary::Vary;
use rules::{Environment, Rules};
use wire::Fields;

/// Rounds of which the best counts: the others were disturbed.
const ROUNDS: u32 = 100;
/// Decisions in a round.
const DECISIONS: u32 = 10_000;

const NOW: i64 = 1_795_176_000;

fn main() {
    let zone = jiff::tz::TimeZone::UTC;
    let environment = Environment {
        resolve: &|_| Vec::new(),
        zone: &zone,
    };
    let rules = Rules::compile(&config::built_in(), &environment).expect("the rules compile");
    let caching = &rules.caching;
    let usual = [
        ("Host", "example.com"),
        ("User-Agent", "Mozilla/5.0"),
        ("Accept", "*/*"),
        ("Accept-Encoding", "gzip"),
    ];
    let request = fields(&usual);
    let particular = fields(&[usual.as_slice(), &[("Cache-Control", "max-age=600")]].concat());
    let reply = fields(&[
        ("Date", "Fri, 20 Nov 2026 12:00:00 GMT"),
        ("Content-Type", "text/html"),
        ("Cache-Control", "public, max-age=3600"),
        ("ETag", "\"5e2b6df\""),
        ("Vary", "Accept-Encoding"),
    ]);
    let exchange = Exchange {
        method: &Method::GET,
        url: b"http://example.com/",
        request: &request,
        status: 200,
        reply: &reply,
        request_time: NOW,
        response_time: NOW,
        surrogate_id: None,
    };
    let stored = caching.storable(&exchange).expect("it may be stored");
    let plain = Vary::default();
    let decide = |request: &Fields, vary: &Vary| {
        let (request, freshness) = (black_box(request), black_box(&stored.freshness));
        black_box(vary).matches(request)
            && caching.reuse(freshness, request, NOW + 10) == Reuse::Fresh
    };
    if let Some(times) = env::args().nth(1).and_then(|arg| arg.parse().ok()) {
        let hits = (0..times)
            .filter(|_: &u32| decide(&request, &plain))
            .count();
        println!("{hits} hits");
        return;
    }
    report("usual hit, 4 fields", || decide(&request, &plain));
    report("the same by Vary: Accept-Encoding", || {
        decide(&request, &stored.vary)
    });
    report("hit for a client with max-age", || {
        decide(&particular, &plain)
    });
    report("may it be stored, until when", || {
        caching.storable(black_box(&exchange)).is_ok()
    });
}

fn fields(lines: &[(&str, &str)]) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in lines {
        fields.push(name.as_bytes(), value.as_bytes());
    }
    fields
}

/// Nanoseconds of one call, in the best round.
fn report(what: &str, call: impl Fn() -> bool) {
    let round = |_| {
        let started = Instant::now();
        for _ in 0..DECISIONS {
            assert!(black_box(call()), "{what}");
        }
        started.elapsed()
    };
    let best = (0..ROUNDS).map(round).min().unwrap_or_default();
    let each = best.as_secs_f64() * 1e9 / f64::from(DECISIONS);
    println!("{what:40} {each:6.1} ns");
}
