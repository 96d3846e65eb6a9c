//! Variants: which one answers, how the origin picks one, how many there are, and that they don't wait for each other.

use testkit::{Client, Gate, Origin, Reply, Request};

use crate::support::{client, forward, results};

fn fresh(content: &str) -> Reply {
    Reply::ok(content).field("Cache-Control", "max-age=600")
}

/// RFC 9111 §4.1: of several that match, the most recent by Date; of the same Date the one that came last.
#[test]
fn the_most_recent_variant_answers() {
    let origin = Origin::start(|request: &Request| {
        let (content, date, vary) = match request.field("X-Round") {
            Some("1") => ("late", "Fri, 20 Nov 2026 10:00:02 GMT", "A"),
            _ => ("early", "Fri, 20 Nov 2026 10:00:01 GMT", "A, B"),
        };
        let lifetime = "max-age=2000000000";
        let reply = Reply::ok(content).field("Cache-Control", lifetime);
        reply.field("Date", date).field("Vary", vary)
    });
    let program = forward("");
    let (mut client, url) = (client(&program), origin.url("/"));
    let mut get = |fields: &[(&str, &str)]| client.request("GET", &url, fields).text();
    assert_eq!(get(&[("A", "1"), ("B", "1"), ("X-Round", "0")]), "early");
    assert_eq!(
        get(&[
            ("A", "1"),
            ("B", "1"),
            ("X-Round", "1"),
            ("Cache-Control", "no-cache")
        ]),
        "late"
    );
    assert_eq!(get(&[("A", "1"), ("B", "1")]), "late");
    // The other way round: what came last is older.
    assert_eq!(
        get(&[
            ("A", "1"),
            ("B", "2"),
            ("X-Round", "0"),
            ("Cache-Control", "no-cache")
        ]),
        "early"
    );
    assert_eq!(get(&[("A", "1"), ("B", "2")]), "late");
}

/// An origin of two representations with a tag each, that vary by `Accept-Language`; it picks by the first letter.
fn tagged() -> Origin {
    Origin::start(|request: &Request| {
        let language = request.field("Accept-Language").unwrap_or_default();
        let tag = format!("\"{}\"", language.get(..2).unwrap_or("xx"));
        let known = request.field("If-None-Match").unwrap_or_default();
        let reply = if known.split(", ").any(|known| known == tag) {
            Reply::new("304 Not Modified")
        } else {
            Reply::ok(language.get(..2).unwrap_or("xx"))
        };
        let reply = reply.field("Cache-Control", "max-age=600");
        reply.field("ETag", &tag).field("Vary", "Accept-Language")
    })
}

/// RFC 9111 §4.3.1, §4.3.3: the origin is asked by the tags of all variants, and its 304 picks one, which then answers
/// all requests that are like this one.
#[test]
fn the_origin_picks_a_variant() {
    let origin = tagged();
    let program = forward("");
    let (mut client, url) = (client(&program), origin.url("/"));
    let mut get = |language: &str| {
        let answer = client.request("GET", &url, &[("Accept-Language", language)]);
        assert_eq!(answer.status, 200);
        answer.text()
    };
    assert_eq!(get("de"), "de");
    assert_eq!(get("en"), "en");
    assert_eq!(origin.last().field("If-None-Match"), Some("\"de\""));
    assert_eq!(get("de-AT"), "de");
    assert_eq!(origin.last().field("If-None-Match"), Some("\"en\", \"de\""));
    assert_eq!(origin.total(), 3);
    for (language, content) in [("de-AT", "de"), ("de", "de"), ("en", "en")] {
        assert_eq!(get(language), content);
    }
    assert_eq!(origin.total(), 3, "each is stored");
    assert_eq!(get("fr"), "fr");
    let results = results(&program, 7);
    assert_eq!(results[2], "TCP_REFRESH_UNMODIFIED/200");
    assert_eq!(results[3], "TCP_MEM_HIT/200");
}

/// A 304 that picks none of them is no answer, and is asked about again. A client that has conditions of its own asks them.
#[test]
fn a_304_for_no_variant_is_asked_about_again() {
    let origin = Origin::start(|request: &Request| {
        let reply = match request.field("If-None-Match") {
            Some("\"a\"") => Reply::new("304 Not Modified").field("ETag", "\"z\""),
            _ => Reply::ok(request.field("A").unwrap_or_default()).field("ETag", "\"a\""),
        };
        reply
            .field("Cache-Control", "max-age=600")
            .field("Vary", "A")
    });
    let program = forward("");
    let (mut client, url) = (client(&program), origin.url("/"));
    client.request("GET", &url, &[("A", "1")]);
    let answer = client.request("GET", &url, &[("A", "2")]);
    assert_eq!((answer.status, &*answer.text()), (200, "2"));
    assert_eq!(origin.total(), 3);
    let own = client.request("GET", &url, &[("A", "3"), ("If-None-Match", "\"mine\"")]);
    assert_eq!((own.status, &*own.text()), (200, "3"));
    assert_eq!(origin.last().field("If-None-Match"), Some("\"mine\""));
}

/// Nobody gets a coding that it can't read, though the origin gives all codings one tag.
#[test]
fn a_coding_is_for_who_accepts_it() {
    let origin = Origin::start(|request: &Request| {
        let coded = request
            .field("Accept-Encoding")
            .unwrap_or_default()
            .contains("gzip");
        let reply = match request.field("If-None-Match") {
            Some(_) => Reply::new("304 Not Modified"),
            None if coded => Reply::ok("coded").field("Content-Encoding", "gzip"),
            None => Reply::ok("plain"),
        };
        let reply = reply
            .field("Cache-Control", "max-age=600")
            .field("ETag", "\"same\"");
        reply.field("Vary", "Accept-Encoding")
    });
    let program = forward("");
    let (mut client, url) = (client(&program), origin.url("/"));
    let mut get = |accepted: &str| {
        let answer = client.request("GET", &url, &[("Accept-Encoding", accepted)]);
        answer.text()
    };
    assert_eq!(get("gzip, br"), "coded");
    assert_eq!(get("identity"), "plain");
    assert_eq!(get("gzip;q=0"), "plain");
    assert_eq!(
        get("x, gzip"),
        "plain",
        "the newest of a tag is offered, and is good for everyone"
    );
    assert_eq!(get("gzip, br"), "coded");
}

/// A-29: an object that varies by what everybody has of their own stays within its bound, and pushes nobody out.
#[test]
fn a_flood_of_variants_stays_within_its_bound() {
    let origin = Origin::start(|request: &Request| match &*request.target {
        "/varying" => fresh(&"v".repeat(10_000)).field("Vary", "User-Agent"),
        _ => fresh("quiet"),
    });
    // 64 variants of 10 KB and the others fit; ten thousand variants would not.
    let program = forward("cache_mem 4 MB");
    let mut client = client(&program);
    let others: Vec<String> = (0..50)
        .map(|number| origin.url(&format!("/{number}")))
        .collect();
    for other in &others {
        client.get(other);
    }
    let (url, before) = (origin.url("/varying"), origin.total());
    let before_kib = program.rss_kib();
    for number in 0..10_000 {
        let agent = format!("agent/{number}");
        let answer = client.request("GET", &url, &[("User-Agent", &agent)]);
        assert_eq!(answer.content.len, 10_000);
    }
    assert_eq!(origin.total() - before, 10_000);
    let grown = program.rss_kib().saturating_sub(before_kib);
    assert!(grown < 16 << 10, "grew by {grown} KiB");
    for other in &others {
        client.get(other);
    }
    assert_eq!(origin.total() - before, 10_000, "nobody was pushed out");
    let mut hits = 0;
    for number in (0..10_000).rev() {
        let agent = format!("agent/{number}");
        let cached = [("User-Agent", &*agent), ("Cache-Control", "only-if-cached")];
        hits += usize::from(client.request("GET", &url, &cached).status == 200);
    }
    assert_eq!(hits, 64);
}

/// A key of which variants are known: requests for one don't wait for another's, and its like do.
#[test]
fn variants_meet_their_like() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |request: &Request| {
        let language = request
            .field("Accept-Language")
            .unwrap_or_default()
            .to_owned();
        if language == "slow" {
            held.pass();
        }
        fresh(&language).field("Vary", "Accept-Language")
    });
    let program = forward("collapsed_forwarding on\nworkers 1");
    let url = origin.url("/");
    let ask = |client: &mut Client, language: &str| {
        client.send_request("GET", &url, &[("Accept-Language", language)]);
    };
    let mut first = client(&program);
    ask(&mut first, "first");
    assert_eq!(first.response().text(), "first");
    let (mut slow, mut like, mut other) = (client(&program), client(&program), client(&program));
    ask(&mut slow, "slow");
    gate.wait_for_arrivals(1);
    ask(&mut like, "slow");
    ask(&mut other, "quick");
    assert_eq!(other.response().text(), "quick");
    gate.open();
    assert_eq!(
        (slow.response().text(), like.response().text()),
        ("slow".into(), "slow".into())
    );
    assert_eq!(origin.total(), 3);
}

/// A crowd for a cold key that turns out to vary: once that is known, each variant is fetched once.
#[test]
fn a_crowd_finds_its_variants() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |request: &Request| {
        held.pass();
        let language = request.field("Accept-Language").unwrap_or_default();
        fresh(language).field("Vary", "Accept-Language")
    });
    let program = forward("collapsed_forwarding on\nworkers 1");
    let url = origin.url("/");
    let languages = ["de", "en", "fr", "it"];
    let mut crowd: Vec<(Client, &str)> = Vec::new();
    for number in 0..40 {
        let (mut client, language) = (client(&program), languages[number % 4]);
        client.send_request("GET", &url, &[("Accept-Language", language)]);
        if number == 0 {
            gate.wait_for_arrivals(1);
        }
        crowd.push((client, language));
    }
    client(&program).get(&Origin::start(|_: &Request| Reply::ok("y")).url("/"));
    gate.open();
    for (client, language) in &mut crowd {
        assert_eq!(client.response().text(), *language);
    }
    assert_eq!(origin.total(), 4);
}
