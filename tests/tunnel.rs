//! Tunnels: any bytes through CONNECT, and switched protocols through an accelerator.

use std::io::Write;
use std::thread;

use testkit::{Client, Origin, Pattern, Program, Reply, Request};

use crate::support::{Entry, accelerator, client, forward};

/// What a server says that switches to a protocol of echoes.
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: abc\r\n\r\n";

/// What a WebSocket client asks.
const ASK: [(&str, &str); 4] = [
    ("Host", "site.example"),
    ("Connection", "keep-alive, Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Key", "xyz"),
];

/// A server that switches to echoing whoever asks it to, and answers others plainly.
fn echo() -> Origin {
    Origin::start(|request: &Request| match request.field("Upgrade") {
        Some(_) => Reply::raw(SWITCH).echo(),
        None => Reply::ok("plain").field("Cache-Control", "no-store"),
    })
}

/// A tunnel to `origin` through `program`.
fn tunnel(program: &Program, origin: &Origin) -> Client {
    let mut client = client(program);
    let answer = client.request("CONNECT", &origin.addr().to_string(), &[]);
    assert_eq!(
        (answer.status, answer.reason.as_str()),
        (200, "Connection established")
    );
    assert_eq!(answer.field("Content-Length"), None);
    client
}

/// A tunnel carries whatever its ends say; the log tells of it when it is over.
#[test]
fn connect() {
    let origin = echo();
    let program = forward("");
    let mut client = tunnel(&program, &origin);
    assert_eq!(client.request("GET", "/", &ASK).status, 101);
    for round in 0..3_u8 {
        let bytes: Vec<u8> = (0..=255).map(|byte: u8| byte ^ round).collect();
        client.send(&bytes);
        assert_eq!(client.read_exact(256), bytes);
    }
    client.finish();
    client.expect_close();
    let line = program.wait_for_log(|line| line.contains("TCP_TUNNEL/200"));
    let entry = Entry::of(&line);
    assert_eq!(
        (entry.method.as_str(), entry.url),
        ("CONNECT", origin.addr().to_string())
    );
    assert_eq!(
        (entry.hierarchy.as_str(), entry.kind.as_str()),
        ("HIER_DIRECT/127.0.0.1", "-")
    );
    let switched = SWITCH.len() as u64 + 3 * 256;
    let greeting = "HTTP/1.1 200 Connection established\r\n\r\n".len() as u64;
    assert_eq!(entry.bytes, switched + greeting);
}

/// Each direction ends by itself: what the other still says is carried to its end.
#[test]
fn half_closes_are_passed_on() {
    let origin = Origin::start(|_: &Request| {
        Reply::raw("")
            .run(|connection| {
                // Speaks only once the other side has ended.
                let mut said = Vec::new();
                std::io::Read::read_to_end(connection, &mut said)?;
                connection.write_all(format!("you said {}", said.len()).as_bytes())
            })
            .close()
    });
    let program = forward("");
    let mut client = tunnel(&program, &origin);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.send("x".repeat(100_000));
    client.finish();
    assert_eq!(client.read_to_close(), b"you said 100000");

    // And the other way: the server ends first.
    let origin = Origin::start(|_: &Request| {
        Reply::raw("bye")
            .run(|connection| {
                connection.finish();
                let mut said = Vec::new();
                std::io::Read::read_to_end(connection, &mut said)?;
                Ok(())
            })
            .close()
    });
    let mut client = tunnel(&program, &origin);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.read_to_close(), b"bye");
    client.send("still here");
    client.finish();
}

/// What the client sends right behind its CONNECT isn't lost.
#[test]
fn early_bytes() {
    let origin = echo();
    let program = forward("");
    let mut client = client(&program);
    let host = origin.addr();
    client.send(format!(
        "CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"
    ));
    assert_eq!(client.response_to("CONNECT").status, 200);
    assert_eq!(client.response().text(), "plain");
}

/// Much data both ways at once, at flat memory.
#[test]
fn much_both_ways() {
    const SIZE: u64 = 64 << 20;
    let origin = echo();
    let program = forward("");
    let mut client = tunnel(&program, &origin).keep_no_bodies();
    assert_eq!(client.request("GET", "/", &ASK).status, 101);
    let before = program.rss_kib();
    let mut stream = client.connection().stream().try_clone().unwrap();
    let writer = thread::spawn(move || {
        let mut pattern = Pattern::new("echo", SIZE);
        std::io::copy(&mut pattern, &mut stream).unwrap();
    });
    let mut hashed = 0;
    let mut pattern = Pattern::new("echo", SIZE);
    let mut expected = vec![0; 1 << 20];
    while hashed < SIZE {
        let got = client.read_exact(expected.len());
        std::io::Read::read_exact(&mut pattern, &mut expected).unwrap();
        assert!(got == expected, "after {hashed} bytes");
        hashed += got.len() as u64;
    }
    writer.join().unwrap();
    let growth = program.rss_kib().saturating_sub(before);
    assert!(growth < 16 << 10, "grew by {growth} KiB");
}

/// Nobody there is a 503 page, and the connection goes on or ends at a boundary.
#[test]
fn a_tunnel_to_nowhere() {
    let program = forward("");
    let mut client = client(&program);
    client.send_request(
        "CONNECT",
        &format!("127.0.0.1:{}", testkit::free_port()),
        &[],
    );
    let answer = client.response();
    assert_eq!(answer.status, 503);
    let line = program.wait_for_log(|line| line.contains("CONNECT"));
    assert!(Entry::of(&line).result.ends_with("/503"), "{line}");
}

/// The stock rules' `SSL_ports` line keeps tunnels to port 443.
#[test]
fn tunnels_are_for_safe_ports() {
    let origin = echo();
    let program = Program::start(
        "acl SSL_ports port 443\nhttp_access deny CONNECT !SSL_ports\nhttp_access allow all",
    );
    let mut client = client(&program);
    client.send_request("CONNECT", &origin.addr().to_string(), &[]);
    assert_eq!(client.response().status, 403);
    assert_eq!(origin.connections(), 0);
    program.wait_for_log(|line| line.contains("TCP_DENIED/403") && line.contains("CONNECT"));
}

/// A WebSocket opens through an accelerator that allows it, and carries anything after.
#[test]
fn websocket_through_an_accelerator() {
    let origin = echo();
    let conf = format!(
        "http_upgrade_request_protocols websocket allow all\ncache_peer 127.0.0.1 parent {} 0 no-query originserver",
        origin.port()
    );
    let program = accelerator("vhost", &conf);
    let mut client = client(&program);
    let answer = client.request("GET", "/chat", &ASK);
    assert_eq!(
        (answer.status, answer.field("Sec-WebSocket-Accept")),
        (101, Some("abc"))
    );
    assert!(answer.head.has("Connection", "upgrade") && answer.head.has("Upgrade", "websocket"));
    let seen = origin.last();
    assert_eq!(seen.field("Sec-WebSocket-Key"), Some("xyz"));
    assert!(seen.head.has("Connection", "upgrade") && seen.head.has("Upgrade", "websocket"));
    client.send(b"\x81\x05hello");
    assert_eq!(client.read_exact(7), b"\x81\x05hello");
    client.finish();
    client.expect_close();
    program.wait_for_log(|line| line.contains("TCP_TUNNEL/101"));
}

/// Without that line nobody is asked to switch.
#[test]
fn upgrades_must_be_allowed() {
    let origin = echo();
    let conf = format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query originserver",
        origin.port()
    );
    let program = accelerator("vhost", &conf);
    let answer = client(&program).request("GET", "/chat", &ASK);
    assert_eq!((answer.status, answer.text().as_str()), (200, "plain"));
    assert_eq!(origin.last().field("Upgrade"), None);
}

/// A server that doesn't want to switch answers as usual, and the connection goes on.
#[test]
fn a_server_may_decline() {
    let origin = Origin::start(|_: &Request| Reply::new("426 Upgrade Required").send("no"));
    let conf = format!(
        "http_upgrade_request_protocols websocket allow all\ncache_peer 127.0.0.1 parent {} 0 no-query originserver",
        origin.port()
    );
    let program = accelerator("vhost", &conf);
    let mut client = client(&program);
    for _ in 0..2 {
        let answer = client.request("GET", "/chat", &ASK);
        assert_eq!((answer.status, answer.text().as_str()), (426, "no"));
    }
}

/// A WebSocket through CONNECT, as browsers do it.
#[test]
fn websocket_through_connect() {
    let origin = echo();
    let program = forward("");
    let mut client = tunnel(&program, &origin);
    assert_eq!(client.request("GET", "/chat", &ASK).status, 101);
    client.send(b"\x89\x00");
    assert_eq!(client.read_exact(2), b"\x89\x00");
}
