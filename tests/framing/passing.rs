//! What passes, and in which form: content that looks like a request stays content, and fields that
//! might shift a boundary are passed on without that power.

use testkit::{Client, Failed, Origin, Program, Reply};

use super::{SMUGGLED, Stage, post};
use crate::panics::{put, unhurt};

/// a body on a method that needs none is a body, not the next request.
#[test]
fn content_of_any_method_stays_content() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        let smuggled = stage.fill_in(SMUGGLED);
        let chunk = format!("{:x}\r\n", smuggled.len());
        for method in ["GET", "HEAD", "OPTIONS", "DELETE", "POST", "FROB"] {
            for chunked in [false, true] {
                let mut client = Client::connect(stage.program.addr());
                let fields = if chunked {
                    "Transfer-Encoding: chunked".to_owned()
                } else {
                    format!("Content-Length: {}", smuggled.len())
                };
                let head =
                    format!("{method} {{u}}/content HTTP/1.1\r\nHost: {{h}}\r\n{fields}\r\n\r\n");
                let mut raw = stage.fill_in(&head);
                if chunked {
                    raw.extend(chunk.as_bytes());
                }
                raw.extend(&smuggled);
                if chunked {
                    raw.extend(b"\r\n0\r\n\r\n");
                }
                put(&mut client, &raw);
                let answer = client.response_to(method);
                assert_eq!(answer.status, 200, "{method}");
                let last = stage.origin.last();
                assert_eq!(
                    (last.method.as_str(), last.target.as_str()),
                    (method, "/content")
                );
                assert_eq!(last.content.kept, smuggled, "{method}");
                // Either the connection goes on with the next request, or it is closed.
                put(
                    &mut client,
                    &stage
                        .fill_in("GET {u}/next HTTP/1.1\r\nHost: {h}\r\nConnection: close\r\n\r\n"),
                );
                match client.try_response_to("GET") {
                    Ok(answer) => assert_eq!(answer.status, 200),
                    Err(Failed::Closed) => {}
                    Err(other) => panic!("{method}: {other:?}"),
                }
            }
        }
        assert_eq!(stage.origin.count("/smuggled"), 0);
    }
}

/// A-3 (CL.0): content of a request that the store answers is passed over, not read as a request.
#[test]
fn content_of_a_hit_is_passed_over() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        let url = String::from_utf8(stage.fill_in("{u}/cached")).expect("a URL");
        let host = stage.origin.addr().to_string();
        let ask = |client: &mut Client| client.request("GET", &url, &[("Host", &host)]);
        ask(&mut Client::connect(stage.program.addr()));
        assert_eq!(
            ask(&mut Client::connect(stage.program.addr())).body(),
            b"from the store"
        );
        assert_eq!(stage.origin.total(), 1, "the second was a hit");
        let smuggled = stage.fill_in(SMUGGLED);
        for fields in [
            format!("Content-Length: {}", smuggled.len()),
            format!(
                "Content-Length: {}\r\nConnection: content-length",
                smuggled.len()
            ),
        ] {
            let mut client = Client::connect(stage.program.addr());
            let mut raw = stage.fill_in(&format!(
                "GET {{u}}/cached HTTP/1.1\r\nHost: {{h}}\r\n{fields}\r\n\r\n"
            ));
            raw.extend(&smuggled);
            put(&mut client, &raw);
            assert_eq!(client.response().status, 200);
            put(
                &mut client,
                &stage.fill_in("GET {u}/next HTTP/1.1\r\nHost: {h}\r\nConnection: close\r\n\r\n"),
            );
            match client.try_response_to("GET") {
                Ok(answer) => assert_eq!(answer.body(), b"fine"),
                Err(Failed::Closed) => {}
                Err(other) => panic!("{fields}: {other:?}"),
            }
        }
        assert_eq!(stage.origin.count("/smuggled"), 0);
    }
}

/// trailers never reach the head, and those that would mean something never get through.
#[test]
fn trailers_stay_behind() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        let mut client = Client::connect(stage.program.addr());
        put(&mut client, &stage.fill_in(
            "POST {u}/x HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: chunked\r\nTrailer: Host, X-T\r\n\r\n5\r\nhello\r\n0\r\n\
             Content-Length: 50\r\nTransfer-Encoding: x\r\nHost: evil\r\nAuthorization: Basic x\r\nCookie: a=b\r\nX-T: 1\r\n\r\n"));
        assert_eq!(client.response().status, 200);
        let last = stage.origin.last();
        assert_eq!(last.content.kept, b"hello");
        assert_eq!(last.head.all("Host"), [stage.origin.addr().to_string()]);
        for name in ["Authorization", "Cookie", "Content-Length", "X-T"] {
            assert_eq!(last.field(name), None, "{name}");
        }
        let named = |name: &str| {
            last.content
                .trailers
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        for name in [
            "Host",
            "Authorization",
            "Cookie",
            "Content-Length",
            "Transfer-Encoding",
        ] {
            assert!(!named(name), "trailer {name}");
        }
    }
}

/// an absolute URL wins over `Host`: for the key, and for what the origin is told.
#[test]
fn an_absolute_url_wins_over_host() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        let host = stage.origin.addr().to_string();
        let url = stage.origin.url("/cached");
        let answer = Client::connect(stage.program.addr()).request(
            "GET",
            &url,
            &[("Host", "other.example")],
        );
        assert_eq!(answer.status, 200);
        assert_eq!(stage.origin.last().head.all("Host"), [host.as_str()]);
        // The key is that URL, too: a plain question for it is a hit.
        let url = String::from_utf8(stage.fill_in("{u}/cached")).expect("a URL");
        Client::connect(stage.program.addr()).request("GET", &url, &[("Host", &host)]);
        assert_eq!(stage.origin.total(), 1, "the second was a hit");
    }
}

/// `Connection` takes away what it names, but neither framing nor `Host`.
#[test]
fn connection_takes_no_framing_away() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        for (fields, body) in [
            ("Content-Length: 5", "hello"),
            ("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
        ] {
            let mut client = Client::connect(stage.program.addr());
            let raw = format!(
                "POST {{u}}/x HTTP/1.1\r\nHost: {{h}}\r\nConnection: X-A, Content-Length, Host, Transfer-Encoding, Via, X-Forwarded-For\r\n\
                 Connection: x-b, close\r\nX-A: 1\r\nX-B: 1\r\nX-C: 1\r\nKeep-Alive: 5\r\nProxy-Connection: keep-alive\r\nTE: gzip\r\n\
                 Proxy-Authorization: Basic x\r\n{fields}\r\n\r\n{body}"
            );
            put(&mut client, &stage.fill_in(&raw));
            assert_eq!(client.response().status, 200);
            let last = stage.origin.last();
            assert_eq!(last.content.kept, b"hello");
            assert_eq!(last.head.all("Host"), [stage.origin.addr().to_string()]);
            assert_eq!(last.field("X-C"), Some("1"));
            for name in "X-A|X-B|Keep-Alive|Proxy-Connection|TE|Proxy-Authorization".split('|') {
                assert_eq!(last.field(name), None, "{name}");
            }
            assert!(
                !last.head.has("Connection", "close"),
                "the client's close is for us"
            );
        }
    }
}

/// no Upgrade is passed on unless the configuration says so, and never h2c.
#[test]
fn upgrades_are_not_passed_on() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        for fields in [
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13",
            "Upgrade: h2c",
            "Connection: upgrade, upgrade\r\nUpgrade: x/1, h2c",
        ] {
            let mut client = Client::connect(stage.program.addr());
            let raw = format!(
                "GET {{u}}/x HTTP/1.1\r\nHost: {{h}}\r\n{fields}\r\n\r\nGET {{u}}/next HTTP/1.1\r\nHost: {{h}}\r\nConnection: close\r\n\r\n"
            );
            put(&mut client, &stage.fill_in(&raw));
            assert_eq!(client.response().status, 200, "{fields}");
            assert_eq!(client.response().status, 200, "{fields}");
            client.expect_close();
        }
        for request in stage.origin.requests() {
            for name in ["Upgrade", "HTTP2-Settings"] {
                assert_eq!(request.field(name), None, "{name}");
            }
            assert!(!request.head.has("Connection", "upgrade"));
        }
    }
}

/// behind an Upgrade that the origin declines, the next bytes are a request like any other.
#[test]
fn nothing_raw_follows_a_declined_upgrade() {
    let origin = Origin::start(|_| Reply::ok("declined"));
    let mut program =
        Program::start("http_access allow all\nhttp_upgrade_request_protocols OTHER allow all");
    let host = origin.addr();
    let upgrade = format!(
        "GET {} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        origin.url("/ws")
    );
    let mut client = Client::connect(program.addr());
    put(
        &mut client,
        format!(
            "{upgrade}GET {} HTTP/1.1\r\nHost: {host}\r\nConnection: X-A\r\nX-A: 1\r\n\r\n",
            origin.url("/next")
        )
        .as_bytes(),
    );
    assert_eq!(client.response().body(), b"declined");
    let asked = origin.requests();
    let upgrade_asked = asked.first().and_then(|request| request.field("Upgrade"));
    assert_eq!(upgrade_asked, Some("websocket"));
    if let Ok(answer) = client.try_response_to("GET") {
        assert_eq!(answer.body(), b"declined");
        assert_eq!(
            origin.last().field("X-A"),
            None,
            "it went through our own reading"
        );
    }
    let mut client = Client::connect(program.addr());
    put(&mut client, format!("{upgrade}\u{1}\u{2}raw").as_bytes());
    assert_eq!(client.response().body(), b"declined");
    if let Ok(answer) = client.try_response_to("GET") {
        assert_eq!(answer.status, 400);
    }
    assert_eq!(
        origin.malformed(),
        Vec::<String>::new(),
        "no raw byte reached the origin"
    );
    unhurt(&mut program);
}

/// `Expect` in every spelling leads to one answer, and never shifts a boundary.
#[test]
fn expectations_shift_no_boundary() {
    for forward in [true, false] {
        let mut stage = Stage::new(forward);
        for expect in
            "Expect: 100-continue|Expect: 100-Continue|Expect: 100-continue, 100-continue|\
             Expect: 100-continue\r\nExpect: 100-continue|Expect: x|Expect: y 100-continue|\
             Expect: 100-continue;a=b|Expect: \"100-continue\"|Expect:|\
             Expect: 100-continue, x=\"y\""
                .split('|')
        {
            let smuggled = stage.fill_in(SMUGGLED);
            let mut client = Client::connect(stage.program.addr());
            let head = format!(
                "POST {{u}}/x HTTP/1.1\r\nHost: {{h}}\r\n{expect}\r\nContent-Length: {}\r\n\r\n",
                smuggled.len()
            );
            let mut raw = stage.fill_in(&head);
            raw.extend(&smuggled);
            raw.extend(
                stage.fill_in("GET {u}/next HTTP/1.1\r\nHost: {h}\r\nConnection: close\r\n\r\n"),
            );
            put(&mut client, &raw);
            let answer = client.response();
            match answer.status {
                200 => {
                    assert_eq!(client.response().status, 200, "{expect}: the pipelined one");
                    client.expect_close();
                }
                417 => {}
                other => panic!("{expect}: {other}"),
            }
        }
        for expect in [
            "Expect: 100-continue\u{b}",
            "Expect : 100-continue",
            "Expect: 100-\0continue",
        ] {
            let mut client = Client::connect(stage.program.addr());
            put(
                &mut client,
                &stage.fill_in(&post(&format!("{expect}\r\nContent-Length: 5"), "hello")),
            );
            assert_eq!(client.response().status, 400, "{expect:?}");
            client.expect_close();
        }
        assert_eq!(stage.origin.count("/smuggled"), 0);
        assert_eq!(stage.origin.malformed(), Vec::<String>::new());
        unhurt(&mut stage.program);
    }
}
