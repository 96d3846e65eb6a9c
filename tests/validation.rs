//! Caching to the letter: validation, what a 304 and a response to HEAD change, fields that are for some caches only.

use testkit::{Origin, Reply, Request, until};

use crate::support::{accelerator, client, forward};

/// Stale on arrival, with a validator.
fn stale(content: &str) -> Reply {
    Reply::ok(content)
        .field("Cache-Control", "max-age=60, stale-while-revalidate=600")
        .field("Age", "100")
        .field("ETag", "\"v1\"")
}

fn fresh(content: &str) -> Reply {
    Reply::ok(content).field("Cache-Control", "max-age=600")
}

/// RFC 5861 §3: the stale response at once, one question meanwhile, and the new one afterwards.
#[test]
fn a_stale_response_answers_while_it_is_validated() {
    for status in ["304 Not Modified", "200 OK"] {
        let origin = Origin::start(
            move |request: &Request| match request.field("If-None-Match") {
                Some(_) if status.starts_with("304") => Reply::new(status)
                    .field("ETag", "\"v1\"")
                    .field("Cache-Control", "max-age=600")
                    .field("X-Round", "2"),
                Some(_) => fresh("two").field("X-Round", "2"),
                None => stale("one"),
            },
        );
        let program = forward("");
        let mut client = client(&program);
        let url = origin.url("/");
        client.get(&url);
        let meanwhile = client.get(&url);
        assert_eq!((meanwhile.status, &*meanwhile.text()), (200, "one"));
        assert_eq!(meanwhile.field("X-Round"), None);
        until("validated", || {
            (client.get(&url).field("X-Round") == Some("2")).then_some(())
        });
        assert_eq!(origin.total(), 2, "asked once, {status}");
    }
}

/// A question that fails in the background is asked again with a later request.
#[test]
fn a_failed_background_validation_is_repeated() {
    let origin = Origin::start(|request: &Request| match request.field("If-None-Match") {
        Some(_) => Reply::new("503 Busy"),
        None => stale("one"),
    });
    let program = forward("");
    let mut client = client(&program);
    client.get(&origin.url("/"));
    until("asked again", || {
        let answer = client.get(&origin.url("/"));
        assert_eq!((answer.status, &*answer.text()), (200, "one"));
        (origin.total() > 2).then_some(())
    });
}

/// What comes stale without a validator is kept, asked about by its date (RFC 9110 §13.1.3), and served when the origin
/// dies (RFC 9111 §4.2.4).
#[test]
fn a_spare_is_asked_about_by_its_date() {
    for (control, after) in [("max-age=0", 200), ("max-age=0, must-revalidate", 503)] {
        let origin = Origin::start(move |request: &Request| {
            let reply = match request.field("If-Modified-Since") {
                Some("Sun, 06 Nov 1994 08:49:36 GMT") => Reply::new("304 Not Modified"),
                Some(other) => Reply::ok(other),
                None => Reply::ok("one"),
            };
            reply
                .field("Cache-Control", control)
                .field("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
        });
        let program = forward("connect_timeout 2 seconds\nmax_stale 20000 days");
        let mut client = client(&program);
        let url = origin.url("/");
        for asked in 1..=3 {
            let answer = client.get(&url);
            assert_eq!((answer.status, &*answer.text()), (200, "one"));
            assert_eq!(origin.total(), asked, "{control}");
        }
        origin.stop();
        assert_eq!(client.get(&url).status, after, "{control}");
        let results: Vec<String> = program
            .wait_for_log_lines(4)
            .iter()
            .filter_map(|line| line.split_whitespace().nth(3).map(str::to_owned))
            .collect();
        let failed = match after {
            200 => "TCP_REFRESH_FAIL_OLD/200",
            _ => "TCP_REFRESH_FAIL_ERR/503",
        };
        let unmodified = "TCP_REFRESH_UNMODIFIED/200";
        assert_eq!(results, ["TCP_MISS/200", unmodified, unmodified, failed]);
    }
}

/// Pages that can't be cached take no memory that files need, under any policy.
#[test]
fn spares_push_nothing_out() {
    for policy in ["", "memory_replacement_policy lru"] {
        let origin = Origin::start(|request: &Request| {
            let content = "x".repeat(100_000);
            match request.target.starts_with("/page") {
                true => Reply::ok(&content),
                false => fresh(&content),
            }
        });
        let program = forward(&format!("cache_mem 4 MB\n{policy}"));
        let mut client = client(&program);
        for number in 0..20 {
            client.get(&origin.url(&format!("/file/{number}")));
        }
        for number in 0..100 {
            client.get(&origin.url(&format!("/page/{number}")));
        }
        assert_eq!(origin.total(), 120);
        for number in 0..20 {
            client.get(&origin.url(&format!("/file/{number}")));
        }
        assert_eq!(origin.total(), 120, "{policy}");
    }
}

/// RFC 9111 §4.3.4: a 304 for something that we don't have is not for the client, who has asked no such thing.
#[test]
fn an_unfounded_304_is_asked_about_again() {
    let origin = Origin::start(|request: &Request| match request.field("If-None-Match") {
        Some(_) => Reply::new("304 Not Modified").field("ETag", "\"v9\""),
        None => Reply::ok("one")
            .field("Cache-Control", "max-age=60")
            .field("Age", "100")
            .field("ETag", "\"v1\""),
    });
    let program = forward("");
    let mut client = client(&program);
    for asked in [1, 3] {
        let answer = client.get(&origin.url("/"));
        assert_eq!((answer.status, &*answer.text()), (200, "one"));
        assert_eq!(origin.total(), asked);
    }
    assert_eq!(origin.last().field("If-None-Match"), None);
}

/// A 304 brings a new content type, and its cookie is for the client that asked.
#[test]
fn a_304_brings_fields() {
    let origin = Origin::start(|request: &Request| match request.field("If-None-Match") {
        Some(_) => Reply::new("304 Not Modified")
            .field("ETag", "\"v1\"")
            .field("Cache-Control", "max-age=600")
            .field("Content-Type", "text/html")
            .field("Set-Cookie", "id=2"),
        None => Reply::ok("one")
            .field("Cache-Control", "max-age=60")
            .field("Age", "100")
            .field("Content-Type", "text/plain")
            .field("Set-Cookie", "id=1")
            .field("ETag", "\"v1\""),
    });
    for (conf, kept) in [("", None), ("cache_set_cookie on", Some("id=2"))] {
        let program = forward(conf);
        let mut client = client(&program);
        let url = origin.url("/");
        let first = client.get(&url);
        assert_eq!(first.field("Set-Cookie"), Some("id=1"));
        assert_eq!(first.field("Age"), Some("100"), "as it came");
        let validated = client.get(&url);
        assert_eq!(validated.field("Content-Type"), Some("text/html"));
        assert_eq!(validated.field("Set-Cookie"), Some("id=2"));
        let hit = client.get(&url);
        assert_eq!(hit.field("Content-Type"), Some("text/html"));
        assert_eq!(hit.field("Set-Cookie"), kept);
        assert_eq!(&*hit.text(), "one");
    }
}

/// RFC 9111 §4.3.5: a response to HEAD confirms what is stored, or shows that it is out of date.
#[test]
fn a_response_to_head_tells_of_the_stored_one() {
    for (tag, round, total) in [("\"v1\"", Some("2"), 2), ("\"v2\"", None, 3)] {
        let origin = Origin::start(move |request: &Request| {
            let reply = fresh("12345");
            match &*request.method {
                "HEAD" => reply.field("ETag", tag).field("X-Round", "2"),
                _ => reply.field("ETag", "\"v1\""),
            }
        });
        let program = forward("");
        let mut client = client(&program);
        let url = origin.url("/");
        client.get(&url);
        client.request("HEAD", &url, &[("Cache-Control", "no-cache")]);
        let after = client.get(&url);
        assert_eq!((&*after.text(), after.field("X-Round")), ("12345", round));
        assert_eq!(origin.total(), total);
    }
}

/// RFC 9110 §9.3.3: a response to POST that says to be what GET would get, and for how long.
#[test]
fn a_response_to_post_may_answer_get() {
    for (location, total) in [("/form", 1), ("/other", 2)] {
        let origin =
            Origin::start(move |_: &Request| fresh("posted").field("Content-Location", location));
        let program = forward("");
        let mut client = client(&program);
        let url = origin.url("/form");
        client.request("POST", &url, &[("Content-Length", "0")]);
        assert_eq!(&*client.get(&url).text(), "posted");
        assert_eq!(origin.total(), total, "{location}");
    }
}

/// `CDN-Cache-Control` (RFC 9213) and `Surrogate-Control` count for accelerators, and for nobody else.
#[test]
fn targeted_fields_are_for_accelerators() {
    let targeted = |name: &'static str, value: &'static str| {
        Origin::start(move |_: &Request| {
            Reply::ok("page")
                .field("Cache-Control", "no-store")
                .field(name, value)
        })
    };
    for (name, value, total) in [
        ("CDN-Cache-Control", "max-age=600", 1),
        ("CDN-Cache-Control", "max-age=\"600\"", 2),
        ("CDN-Cache-Control", "MAX-AGE=600", 2),
        ("Surrogate-Control", "max-age=600", 1),
        ("Surrogate-Control", "no-store, max-age=600;edge-7", 1),
        ("Surrogate-Control", "max-age=600;edge-8", 2),
    ] {
        let origin = targeted(name, value);
        let conf = format!(
            "httpd_accel_surrogate_id edge-7\ncache_peer 127.0.0.1 parent {} 0 no-query originserver",
            origin.port()
        );
        let program = accelerator("defaultsite=site.example", &conf);
        let mut client = client(&program);
        for _ in 0..2 {
            assert_eq!(
                &*client
                    .request("GET", "/", &[("Host", "site.example")])
                    .text(),
                "page"
            );
        }
        assert_eq!(origin.total(), total, "{name}: {value}");
        let capability = origin
            .last()
            .field("Surrogate-Capability")
            .map(str::to_owned);
        assert_eq!(capability.as_deref(), Some("edge-7=\"Surrogate/1.0\""));

        let program = forward("");
        let mut client = crate::support::client(&program);
        let before = origin.total();
        for _ in 0..2 {
            client.get(&origin.url("/"));
        }
        assert_eq!(origin.total() - before, 2, "a forward proxy");
        assert_eq!(origin.last().field("Surrogate-Capability"), None);
    }
}

/// RFC 9112 §6.3: content under a coding that nobody here knows ends with the connection, is passed on under that
/// name, and is not stored.
#[test]
fn an_unknown_transfer_coding_is_passed_on() {
    let head =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: x-rot13\r\nCache-Control: max-age=600\r\n\r\nuryyb";
    let origin = Origin::start(move |_: &Request| Reply::raw(head).close());
    let program = forward("");
    for asked in 1..3 {
        let mut client = client(&program);
        client.send_request("GET", &origin.url("/"), &[]);
        let bytes = client.read_to_close();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("Transfer-Encoding: x-rot13\r\n"), "{text}");
        assert!(text.contains("Connection: close\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\nuryyb"), "{text}");
        assert_eq!(origin.total(), asked);
    }
    let mut old = client(&program);
    old.send(format!("GET {} HTTP/1.0\r\n\r\n", origin.url("/")));
    let bytes = old.read_to_close();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.starts_with("HTTP/1.1 502 "), "{text}");
}
