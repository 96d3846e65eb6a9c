//! The kit's client and origin talk to each other, without a proxy between them.

use std::time::Duration;

use testkit::{Client, Failed, Gate, Origin, Pattern, Reply, until};

fn connect(origin: &Origin) -> Client {
    Client::connect(origin.addr())
}

#[test]
fn requests_are_counted_and_answered_on_one_connection() {
    let origin = Origin::simple([("/a", Reply::ok("one").field("ETag", "\"1\""))]);
    let mut client = connect(&origin);
    let answer = client.get("/a");
    assert_eq!(
        (answer.status, answer.text().as_str(), answer.field("etag")),
        (200, "one", Some("\"1\""))
    );
    assert_eq!(client.get("/b").status, 404);
    assert_eq!(
        (origin.count("/a"), origin.total(), origin.connections()),
        (1, 2, 1)
    );
    assert_eq!(
        origin.last().field("Host"),
        Some(origin.addr().to_string().as_str())
    );
}

#[test]
fn a_url_brings_its_own_host() {
    let origin = Origin::start(|request| Reply::ok(&request.target));
    let answer = connect(&origin).get("http://example.com:81/x?y");
    assert_eq!(answer.text(), "http://example.com:81/x?y");
    assert_eq!(origin.last().field("host"), Some("example.com:81"));
}

#[test]
fn content_comes_in_every_framing() {
    let origin = Origin::simple([
        ("/length", Reply::ok("abc").send("def")),
        ("/chunked", Reply::ok("abc").chunked().send("").send("def")),
        ("/close", Reply::ok("abcdef").until_close()),
        ("/drip", Reply::new("200 OK").drip("abcdef", 2).chunked()),
    ]);
    for (path, chunks) in [("/length", 0), ("/chunked", 2), ("/drip", 3), ("/close", 0)] {
        let answer = connect(&origin).get(path);
        assert_eq!(
            (answer.text().as_str(), answer.content.chunks),
            ("abcdef", chunks),
            "{path}"
        );
    }
}

#[test]
fn heads_without_content_leave_the_connection_usable() {
    let origin = Origin::start(|request| match request.target.as_str() {
        "/none" => Reply::new("204 No Content"),
        "/same" => Reply::new("304 Not Modified").field("Content-Length", "5"),
        _ => Reply::ok("12345"),
    });
    let mut client = connect(&origin);
    assert_eq!(
        client.request("HEAD", "/", &[]).field("Content-Length"),
        Some("5")
    );
    assert_eq!(client.get("/none").status, 204);
    assert_eq!(client.get("/same").status, 304);
    assert_eq!(client.get("/").text(), "12345");
}

#[test]
fn cuts_resets_and_silence_are_told_apart() {
    let cut = || {
        Reply::new("200 OK")
            .field("Content-Length", "10")
            .send("abc")
    };
    let origin = Origin::simple([
        ("/cut", cut().close()),
        ("/reset", Reply::raw("").reset()),
        ("/half", Reply::raw("HTTP/1.1 200").close()),
        ("/stall", cut().stall()),
        ("/rubbish", Reply::raw("220 ftp ready\r\n\r\n")),
        (
            "/surplus",
            Reply::ok("abc").send("!!").field("Content-Length", "3"),
        ),
    ]);
    let ask = |path: &str| {
        let mut client = connect(&origin).wait(Duration::from_millis(200));
        client.send_request("GET", path, &[]);
        client.try_response_to("GET")
    };
    assert!(matches!(ask("/cut"), Err(Failed::CutBody(part)) if part.body() == b"abc"));
    assert!(matches!(ask("/reset"), Err(Failed::Closed)));
    assert!(matches!(ask("/half"), Err(Failed::CutHead(part)) if part == b"HTTP/1.1 200"));
    assert!(matches!(ask("/stall"), Err(Failed::TimedOut(Some(part))) if part.body() == b"abc"));
    assert!(matches!(ask("/rubbish"), Err(Failed::Malformed(_))));
    assert_eq!(ask("/surplus").unwrap().text(), "abc");
}

#[test]
fn a_gate_holds_the_rest_of_a_body_back() {
    let gate = Gate::new();
    let reply = Reply::ok("first ").pass(&gate).send("last");
    let origin = Origin::start(move |_| reply.clone());
    let mut client = connect(&origin);
    client.send_request("GET", "/", &[]);
    gate.wait_for_arrivals(1);
    gate.open();
    assert_eq!(client.response().text(), "first last");
}

#[test]
fn uploads_are_expected_counted_and_hashed() {
    let origin = Origin::start(|request| Reply::ok(format!("{:x}", request.content.hash())));
    let upload = Pattern::new("upload", 3 << 20);
    let mut client = connect(&origin);
    let length = upload.len().to_string();
    client.send_request(
        "PUT",
        "/",
        &[("Content-Length", &length), ("Expect", "100-continue")],
    );
    client.send_from(upload.clone());
    let answer = client.response_to("PUT");
    assert_eq!(answer.interim.len(), 1);
    assert_eq!(answer.text(), format!("{:x}", upload.hash()));
    assert_eq!(origin.last().content.len, upload.len());
}

#[test]
fn an_early_origin_answers_at_the_head() {
    let origin = Origin::start_early(|_| Reply::new("413 Content Too Large").close());
    let mut client = connect(&origin);
    client.send_request("PUT", "/", &[("Content-Length", "1000000000")]);
    assert_eq!(client.response_to("PUT").status, 413);
}

#[test]
fn large_bodies_are_checked_without_being_kept() {
    let body = Pattern::new("/large", 20 << 20);
    let reply = Reply::pattern(&body);
    let origin = Origin::start(move |_| reply.clone());
    let answer = connect(&origin).keep_no_bodies().get("/large");
    assert_eq!(
        (answer.content.len, answer.content.hash()),
        (body.len(), body.hash())
    );
    assert!(answer.content.kept.is_empty());
}

#[test]
fn an_upgrade_hands_the_connection_over() {
    let origin = Origin::start(|_| {
        Reply::raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n").echo()
    });
    let mut client = connect(&origin);
    let answer = client.request("GET", "/", &[("Connection", "upgrade"), ("Upgrade", "x")]);
    assert_eq!(answer.status, 101);
    client.send("ping");
    assert_eq!(client.read_exact(4), b"ping");
    client.finish();
    client.expect_close();
}

#[test]
fn a_stopped_origin_refuses_and_can_come_back() {
    let origin = Origin::start(|_| Reply::ok("before"));
    let mut client = connect(&origin);
    client.get("/");
    origin.stop();
    client.expect_close();
    let back = Origin::start_on(origin.port(), |_| Reply::ok("after"));
    assert_eq!(connect(&back).get("/").text(), "after");
}

#[test]
fn connections_that_clients_leave_are_seen_to_close() {
    let origin = Origin::start(|_| Reply::ok("x"));
    let mut client = connect(&origin);
    client.get("/");
    assert_eq!(origin.open_connections(), 1);
    drop(client);
    until("no open connection", || {
        (origin.open_connections() == 0).then_some(())
    });
}

#[test]
fn what_is_not_http_is_noted() {
    let origin = Origin::start(|_| Reply::ok("x"));
    let mut client = connect(&origin);
    client.send("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n");
    client.expect_close();
    assert_eq!(origin.malformed().len(), 1);
}
