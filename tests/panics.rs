//! Nothing from outside ends the program or a thread of it: rubbish of every kind, and then a
//! question that must be answered.

use std::fmt::Write as _;

use testkit::{Client, Origin, Pattern, Program, Reply};

/// The program lives and has told of no panic.
#[track_caller]
pub(crate) fn unhurt(program: &mut Program) {
    assert_eq!(program.try_wait(), None, "the program has ended");
    for log in ["stderr", "cache.log", "stdout"] {
        let text = program.read(log);
        assert!(!text.contains("panicked"), "a panic in {log}:\n{text}");
    }
}

/// Bytes from text: each character below U+0100 is the byte of that number.
pub(crate) fn bytes(text: &str) -> Vec<u8> {
    text.chars()
        .map(|char| u8::try_from(u32::from(char)).expect("characters below U+0100"))
        .collect()
}

/// Sends `raw`, whatever becomes of it.
pub(crate) fn put(client: &mut Client, raw: &[u8]) {
    drop(client.connection().send(raw));
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

/// A valid message with some bytes changed, taken out, put in or doubled.
fn spoil(good: &[u8], dice: &mut Dice) -> Vec<u8> {
    const SPICE: &[u8] = b"\0\t\n\x0b\x0c\r :;,\"%/\\0123456789abcdefHTTP\x7f\x80\xff";
    let mut bad = good.to_vec();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(bad.len());
        let spice = SPICE[dice.roll(SPICE.len())];
        match dice.roll(4) {
            0 => bad[at] = spice,
            1 => bad.insert(at, spice),
            2 => drop(bad.remove(at)),
            _ => {
                let end = (at + 1 + dice.roll(40)).min(bad.len());
                let piece = bad[at..end].to_vec();
                bad.splice(at..at, piece);
            }
        }
    }
    bad
}

/// A-10, invariant 6: two thousand spoilt requests, and the program answers the next good one.
#[test]
fn spoilt_requests_hurt_nobody() {
    let origin = Origin::start(|_| Reply::ok("fine"));
    let mut program = Program::start("http_access allow all");
    let url = origin.url("/spoilt");
    let host = origin.addr();
    let good = [
        format!(
            "GET {url} HTTP/1.1\r\nHost: {host}\r\nRange: bytes=0-4,7-\r\nIf-None-Match: W/\"a\", \"b\"\r\nCache-Control: max-age=5, no-cache=\"x\"\r\nConnection: close, X-A\r\nX-A: 1\r\n\r\n"
        ),
        format!(
            "POST {url} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5;a=\"b\"\r\nhello\r\n0\r\nX-T: 1\r\n\r\n"
        ),
        format!(
            "PUT {url} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nIf-Modified-Since: Fri, 20 Nov 2026 10:00:00 GMT\r\nVia: 1.1 a, 1.0 b\r\n\r\nhello"
        ),
        format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\nhello"),
    ];
    let mut dice = Dice(7);
    for turn in 0..2000 {
        let bad = spoil(good[turn % good.len()].as_bytes(), &mut dice);
        let mut client = Client::connect(program.addr());
        put(&mut client, &bad);
        client.finish();
        if turn % 16 == 0 {
            // Now and then the answer is awaited, so that the program keeps up.
            drop(client.try_response_to("GET"));
        }
    }
    assert_eq!(
        Client::connect(program.addr())
            .get(&origin.url("/after"))
            .body(),
        b"fine"
    );
    unhurt(&mut program);
}

/// A-4, invariant 6: spoilt responses become a 502 or pass as they are, and harm nothing.
#[test]
fn spoilt_responses_hurt_nobody() {
    let good = "HTTP/1.1 206 Partial Content\r\nDate: Fri, 20 Nov 2026 10:00:00 GMT\r\nAge: 5\r\nCache-Control: max-age=60, stale-if-error=5\r\nExpires: 0\r\nVary: Accept, X\r\nETag: \"a\"\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 5\r\n\r\nhello";
    let chunked = "HTTP/1.1 200 OK\r\nLast-Modified: Fri, 20 Nov 2026 09:00:00 GMT\r\nTransfer-Encoding: chunked\r\nWarning: 110 a \"b\"\r\nSet-Cookie: a=b; Max-Age=5\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n";
    let origin = Origin::start(move |request| {
        let seed = request
            .target
            .trim_start_matches("/r")
            .split('?')
            .next()
            .unwrap_or_default();
        match seed.parse::<u64>() {
            Ok(seed) => {
                let good = if seed % 2 == 0 { good } else { chunked };
                Reply::raw(spoil(good.as_bytes(), &mut Dice(seed * 7919))).close()
            }
            Err(_) => Reply::ok("fine"),
        }
    });
    let mut program = Program::start("http_access allow all");
    for seed in 0..800 {
        let mut client = Client::connect(program.addr());
        let url = origin.url(&format!("/r{seed}"));
        client.send_request("GET", &url, &[("Range", "bytes=0-4"), ("Accept", "a")]);
        drop(client.try_response_to("GET"));
        // Once more, as what was stored is used by other code than what passes.
        client = Client::connect(program.addr());
        client.send_request("GET", &url, &[("Accept", "a")]);
        drop(client.try_response_to("GET"));
    }
    assert_eq!(
        Client::connect(program.addr())
            .get(&origin.url("/after"))
            .body(),
        b"fine"
    );
    unhurt(&mut program);
}

/// Invariant 6: bytes of no protocol at all, lone and in floods, get an error or a closed
/// connection.
#[test]
fn noise_hurts_nobody() {
    let origin = Origin::start(|_| Reply::ok("fine"));
    let mut program = Program::start("http_access allow all");
    for number in 0..64 {
        let noise = Pattern::new(&format!("noise {number}"), 1 << (number % 16)).to_vec();
        let mut client = Client::connect(program.addr());
        put(&mut client, &noise);
        client.finish();
        drop(client.try_response_to("GET"));
    }
    for special in [
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}",
        "SSH-2.0-x\r\n",
        "\u{5}\u{1}\0",
        "PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n",
        "\r\n\r\n\r\n\r\n\r\n\r\n\r\n",
    ] {
        let mut client = Client::connect(program.addr());
        put(&mut client, &bytes(special));
        client.finish();
        drop(client.read_to_close());
    }
    assert_eq!(
        Client::connect(program.addr())
            .get(&origin.url("/after"))
            .body(),
        b"fine"
    );
    unhurt(&mut program);
}

/// Invariant 5: lists of thousands in the fields that we read cost no more than their bytes.
#[test]
fn long_lists_are_read_in_time() {
    let origin = Origin::start(|_| Reply::ok("fine").field("Cache-Control", "max-age=60"));
    let mut program = Program::start("http_access allow all");
    let many = |element: &str| vec![element; 50_000 / element.len()].join(",");
    for (name, element) in [
        ("X-Forwarded-For", "10.0.0.1"),
        ("Via", "1.1 a"),
        ("Connection", "x-a"),
        ("Range", "bytes=0-0"),
        ("If-None-Match", "\"a\""),
        ("Cache-Control", "max-age=1"),
        ("Accept-Encoding", "gzip;q=0"),
        ("TE", "trailers"),
    ] {
        let mut client = Client::connect(program.addr());
        let before = program.cpu_time();
        let answer = client.request("GET", &origin.url("/lists"), &[(name, &many(element))]);
        assert!(answer.status < 500, "{name}: {}", answer.status);
        let spent = program.cpu_time() - before;
        assert!(spent.as_millis() < 500, "{name} took {spent:?}");
    }
    let mut text = String::new();
    for number in 0..900 {
        write!(text, "X-{number}: {number}\r\n").expect("a String takes all");
    }
    let mut client = Client::connect(program.addr());
    client.send(format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\n{text}\r\n",
        origin.url("/fields"),
        origin.addr()
    ));
    assert_eq!(client.response().status, 200);
    unhurt(&mut program);
}
