//! What a check of `http_access` costs, in nanoseconds: `cargo run --release -p rules --example acl_cost`.
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use config::Config;
use http::Method;
use rules::acl::domain::Domains;
use rules::caching::freshness::{Freshness, Traits};
use rules::{Environment, Facts, Learnt, List, Rules};
use wire::target::UriWhitespace;
use wire::{Fields, Target};

/// Rounds of which the best counts: the others were disturbed.
const ROUNDS: u32 = 100;
/// Checks in a round.
const CHECKS: u32 = 10_000;

fn main() {
    let stock = config::built_in();
    report(
        "no rules but `allow all`",
        &parse("http_access allow all\n"),
    );
    report("stock rules", &stock);
    report(
        "100,000 dstdomain + 5,000 src ranges",
        &large(100_000, 5_000, 0),
    );
    report(
        "the same + 10,000 url_regex",
        &large(100_000, 5_000, 10_000),
    );
    report("60 rules of ports and methods", &many_rules());
    domain_memory();
    hit();
}

fn parse(text: &str) -> Config {
    config::parse(text, "example").expect("the text is right")
}

/// A block list of domains and patterns, and the clients that may pass.
fn large(domains: u32, ranges: u32, patterns: u32) -> Config {
    let mut text = String::new();
    for index in 0..domains {
        text.push_str(&format!(
            "acl blocked dstdomain .blocked-{index}.example.net\n"
        ));
    }
    for index in 0..ranges {
        let start = Ipv4Addr::from_bits(0x0b00_0000 + index * 512);
        text.push_str(&format!("acl clients src {start}/25\n"));
    }
    text.push_str("acl clients src 127.0.0.1\n");
    for index in 0..patterns {
        text.push_str(&format!(
            "acl ads url_regex ^http://[a-z]+\\.ads-{index}\\.example/.*banner\n"
        ));
    }
    text.push_str("http_access deny blocked\n");
    text.push_str(if patterns > 0 {
        "http_access deny ads\n"
    } else {
        ""
    });
    text.push_str("http_access allow clients\nhttp_access deny all\n");
    parse(&text)
}

fn many_rules() -> Config {
    let mut text = String::from("acl post method POST\n");
    for index in 0..60 {
        text.push_str(&format!(
            "acl p{index} port {}\nhttp_access deny p{index} post\n",
            2000 + index
        ));
    }
    text.push_str("http_access allow all\n");
    parse(&text)
}

fn report(name: &str, config: &Config) {
    let zone = jiff::tz::TimeZone::UTC;
    let started = Instant::now();
    let environment = Environment {
        resolve: &|_| Vec::new(),
        zone: &zone,
    };
    let rules = Rules::compile(config, &environment).expect("the rules compile");
    let compiled = started.elapsed();
    let mut target = Target::new();
    target
        .set_absolute(
            b"http://www.example.com/images/logo.png?v=17",
            UriWhitespace::Strip,
        )
        .expect("a URL");
    let mut request = Fields::new();
    request.push(b"Host", b"www.example.com");
    let destination = [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))];
    let client = SocketAddr::from(([127, 0, 0, 1], 40_000));
    let learnt = Learnt::default();
    learnt.learn_destination(Arc::new(destination));
    let asked = (&Method::GET, &target, &request);
    let facts = Facts::new(client, client, "3128", asked, &learnt, 0);
    let allowed = rules.check(List::HttpAccess, &facts).is_allow();
    let each = best_ns(|| rules.check(List::HttpAccess, black_box(&facts)).is_allow());
    println!(
        "{name:40} {each:6.1} ns a check, compiled in {:6.1} ms (allowed: {allowed})",
        compiled.as_secs_f64() * 1e3
    );
}

/// Nanoseconds of one call, in the best round.
fn best_ns<T>(call: impl Fn() -> T) -> f64 {
    let round = |_| {
        let started = Instant::now();
        for _ in 0..CHECKS {
            black_box(call());
        }
        started.elapsed()
    };
    let best = (0..ROUNDS).map(round).min().unwrap_or_default();
    best.as_secs_f64() * 1e9 / f64::from(CHECKS)
}

fn domain_memory() {
    let mut set = Domains::default();
    for index in 0..100_000 {
        set.insert(&format!(".blocked-{index}.example.net"))
            .expect("a name");
    }
    let set = set.build();
    println!(
        "{:40} {:6} bytes a name of 25 letters",
        "dstdomain memory",
        set.heap_bytes() / set.len()
    );
}

/// The freshness decision of a usual hit.
fn hit() {
    let zone = jiff::tz::TimeZone::UTC;
    let environment = Environment {
        resolve: &|_| Vec::new(),
        zone: &zone,
    };
    let rules = Rules::compile(&config::built_in(), &environment).expect("the rules compile");
    let mut request = Fields::new();
    for (name, value) in [
        ("Host", "example.com"),
        ("User-Agent", "wrk"),
        ("Accept", "*/*"),
        ("Accept-Encoding", "gzip"),
    ] {
        request.push(name.as_bytes(), value.as_bytes());
    }
    let freshness = Freshness {
        born: 0,
        fresh_until: 1000,
        stale_until: 2000,
        stale_while_revalidate_until: 1000,
        traits: Traits::default(),
        guessed_by: None,
    };
    let each = best_ns(|| {
        rules
            .caching
            .reuse(black_box(&freshness), black_box(&request), 10)
    });
    println!("{:40} {each:6.1} ns", "fresh hit, 4 fields");
}
