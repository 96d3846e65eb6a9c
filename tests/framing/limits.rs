//! Heads, extensions, trailers and contents beyond their limits: refused, in bounded memory.

use testkit::{Client, Failed, Origin, Program, Reply};

use super::{Stage, post};
use crate::panics::{put, unhurt};

/// extensions and trailers of megabytes are not gathered.
#[test]
fn endless_extensions_and_trailers_are_refused() {
    for forward in [true, false] {
        let mut stage = Stage::new(forward);
        let before = stage.program.rss_kib();
        for (name, start) in [
            ("extension", "5;"),
            ("quoted extension", "5;a=\""),
            ("trailer", "5\r\nhello\r\n0\r\nX: "),
            ("trailers", "5\r\nhello\r\n0\r\n"),
        ] {
            let piece = if name == "trailers" {
                "X-T: 1\r\n"
            } else {
                "xxxxxxxx"
            };
            // 32 MB of them.
            let mut client = Client::connect(stage.program.addr());
            let head = post("Transfer-Encoding: chunked", start);
            put(
                &mut client,
                &stage.fill_in(&(head + &piece.repeat(4 << 20))),
            );
            match client.try_response_to("GET") {
                // A client that doesn't stop sending may lose the answer.
                Ok(answer) => assert_eq!(answer.status, 400, "{name}"),
                Err(Failed::Closed) => {}
                Err(other) => panic!("{name}: {other:?}"),
            }
        }
        let grown = stage.program.rss_kib().saturating_sub(before);
        assert!(grown < 16 << 10, "{grown} KiB more in use");
        assert_eq!(stage.origin.total(), 0);
        unhurt(&mut stage.program);
    }
}

/// Heads beyond `request_header_max_size`, or with too many fields, are refused in
/// bounded memory.
#[test]
fn huge_heads_are_refused() {
    let origin = Origin::start(|_| Reply::ok("fine"));
    let mut program = Program::start("http_access allow all\nrequest_header_max_size 16 KB");
    let url = origin.url("/x");
    // What every connection needs is there after the first one.
    put(
        &mut Client::connect(program.addr()),
        b"GET http://[ HTTP/1.1\r\n\r\n",
    );
    program.wait_for_log(|line| line.contains("NONE_NONE/400"));
    let before = program.rss_kib();
    let long = "x".repeat(10 << 20);
    let many = "X-A: b\r\n".repeat(20_000);
    for (name, raw, statuses) in [
        (
            "one long field",
            format!("GET {url} HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"),
            [431, 400],
        ),
        (
            "many fields",
            format!("GET {url} HTTP/1.1\r\nHost: a\r\n{many}\r\n"),
            [431, 400],
        ),
        (
            "a long URL",
            format!("GET {url}{long} HTTP/1.1\r\nHost: a\r\n\r\n"),
            [414, 431],
        ),
        (
            "a long name",
            format!("GET {url} HTTP/1.1\r\nHost: a\r\n{long}: x\r\n\r\n"),
            [431, 400],
        ),
        (
            "a long method",
            format!("{long} {url} HTTP/1.1\r\nHost: a\r\n\r\n"),
            [501, 400],
        ),
    ] {
        let mut client = Client::connect(program.addr());
        put(&mut client, raw.as_bytes());
        match client.try_response_to("GET") {
            Ok(answer) => assert!(
                statuses.contains(&answer.status),
                "{name}: {}",
                answer.status
            ),
            // The client never stopped sending.
            Err(Failed::Closed) => {}
            Err(other) => panic!("{name}: {other:?}"),
        }
    }
    // Just beyond the limit the answer always arrives.
    let mut client = Client::connect(program.addr());
    put(
        &mut client,
        format!(
            "GET {url} HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
            "x".repeat(17 << 10)
        )
        .as_bytes(),
    );
    let answer = client.response();
    assert_eq!(answer.status, 431);
    client.expect_close();
    program.wait_for_log(|line| line.contains("NONE_NONE/431"));
    let grown = program.rss_kib().saturating_sub(before);
    assert!(grown < 8192, "{grown} KiB more in use");
    assert_eq!(origin.total(), 0);
    unhurt(&mut program);
}

/// Content beyond `request_body_max_size` is refused: at once if its length is told,
/// else when it is there.
#[test]
fn huge_contents_are_refused() {
    let origin = Origin::start(|_| Reply::ok("fine"));
    let mut program = Program::start("http_access allow all\nrequest_body_max_size 64 KB");
    let (url, host) = (origin.url("/x"), origin.addr());
    let small = "x".repeat(64 << 10);
    let post = |fields: &str, body: &str| {
        format!("POST {url} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n\r\n{body}")
    };
    let mut client = Client::connect(program.addr());
    put(
        &mut client,
        post("Content-Length: 65536", &small).as_bytes(),
    );
    assert_eq!(client.response().status, 200, "exactly as much is allowed");
    put(&mut client, post("Content-Length: 65537", "").as_bytes());
    assert_eq!(client.response().status, 413);
    client.expect_close();
    assert_eq!(origin.total(), 1);
    let mut client = Client::connect(program.addr());
    put(
        &mut client,
        post(
            "Transfer-Encoding: chunked",
            &format!("10000\r\n{small}\r\n1\r\nx\r\n0\r\n\r\n"),
        )
        .as_bytes(),
    );
    assert_eq!(client.response().status, 413);
    client.expect_close();
    assert_eq!(origin.total(), 1, "the origin never saw a whole request");
    unhurt(&mut program);
}
