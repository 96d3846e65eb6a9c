//! What one client asks for must not change what others get: keys, deceptive paths, errors that someone has provoked,
//! content of GET, and what is for one client alone.

use testkit::{Origin, Reply, Request};

use crate::support::{accelerator, client, forward};

fn fresh(content: &str) -> Reply {
    Reply::ok(content).field("Cache-Control", "max-age=600")
}

/// Each spelling of a target is answered as itself: what is stored under it is what the origin says to it.
#[test]
fn every_spelling_is_answered_as_itself() {
    let origin = Origin::start(|request: &Request| fresh(&request.target));
    let program = forward("");
    let mut client = client(&program);
    let spellings = [
        "/a",
        "/A",
        "/a/",
        "/a?",
        "/a??",
        "/a?x",
        "/a?x;y",
        "/a?x%3By",
        "/a?X",
        "/a?x&y",
        "/a?y&x",
        "/a%2Fb",
        "/a%2fb",
        "/a/b",
        "//a/b",
        "/a//b",
        "/a/./b",
        "/a/c/../b",
        "/a/%2e%2e/b",
        "/a/..;/b",
        "/a%00",
        "/a%20",
        "/a%23x",
        "/%61",
        "/a;x",
        "/a;x.css",
        "/a\\b",
        "/a,b",
        "/a+b",
        "/a%2Bb",
        "/a.css",
        "/a%0d%0aX",
    ];
    let mut told = Vec::new();
    for spelling in spellings {
        told.push(client.get(&origin.url(spelling)).text());
    }
    for (spelling, stored) in spellings.iter().zip(told) {
        let url = origin.url(spelling);
        assert_eq!(client.get(&url).text(), stored, "{spelling}");
        let anew = client.request("GET", &url, &[("Cache-Control", "no-cache")]);
        assert_eq!(anew.text(), stored, "{spelling}");
    }
}

/// Host and port are those of the URL, in any case; a Host field that says otherwise is overruled.
#[test]
fn the_url_names_the_host() {
    let origin =
        Origin::start(|request: &Request| fresh(request.field("Host").unwrap_or_default()));
    let program = forward("");
    let mut client = client(&program);
    let (host, port) = (format!("127.0.0.1:{}", origin.port()), origin.port());
    let get = |client: &mut testkit::Client, url: &str, said: &str| {
        client.send(format!("GET {url} HTTP/1.1\r\nHost: {said}\r\n\r\n"));
        client.response().text()
    };
    assert_eq!(get(&mut client, &origin.url("/"), "evil.example"), host);
    assert_eq!(get(&mut client, &origin.url("/"), &host), host);
    assert_eq!(
        get(&mut client, &format!("HTTP://127.0.0.1:{port}/"), "x"),
        host
    );
    assert_eq!(origin.total(), 1, "one key");
}

/// Sites of an accelerator are apart, however requests name them.
#[test]
fn sites_of_an_accelerator_are_apart() {
    let origin =
        Origin::start(|request: &Request| fresh(request.field("Host").unwrap_or_default()));
    let peer = format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query originserver",
        origin.port()
    );
    let program = accelerator("vhost", &peer);
    let mut client = client(&program);
    for _ in 0..2 {
        for host in ["a.example", "b.example", "a.example:81"] {
            let answer = client.request(
                "GET",
                "/",
                &[("Host", host), ("X-Forwarded-Host", "evil.example")],
            );
            assert_eq!(answer.text(), host);
        }
    }
    assert_eq!(origin.total(), 3);
}

/// Cache deception: the origin's fields say whether a response is for everyone, and how its path looks never does.
#[test]
fn a_path_that_looks_static_is_not() {
    for control in [
        "private",
        "no-store",
        "private=\"x\"",
        "max-age=600, private",
        "PRIVATE",
    ] {
        let origin =
            Origin::start(move |_: &Request| Reply::ok("account").field("Cache-Control", control));
        let program = forward(
            "refresh_pattern -i \\.(css|js|png)$ 1440 100% 10080 override-expire override-lastmod",
        );
        let mut client = client(&program);
        let paths = [
            "/account/x.css",
            "/account;x.css",
            "/account%2Fx.js",
            "/account%00.css",
            "/account%0Ax.css",
            "/account?x.css",
            "/account/%2e%2e/x.png",
            "/account%23.css",
            "/account%3F.css",
        ];
        for path in paths {
            for _ in 0..2 {
                assert_eq!(client.get(&origin.url(path)).text(), "account");
            }
        }
        assert_eq!(origin.total(), 2 * paths.len(), "{control}");
    }
}

/// what says that it is for one, or comes of what only one may see, goes to the origin for each.
#[test]
fn what_is_for_one_is_never_shared() {
    let cases: [(&str, &str, &str, &str); 8] = [
        ("Cache-Control", "private", "X", "1"),
        ("Cache-Control", "no-store", "X", "1"),
        ("Cache-Control", "no-cache", "X", "1"),
        (
            "Cache-Control",
            "max-age=600",
            "Authorization",
            "Basic YTpi",
        ),
        ("Cache-Control", "max-age=600", "Cache-Control", "no-store"),
        ("Vary", "*", "X", "1"),
        ("Pragma", "no-cache", "X", "1"),
        ("Cache-Control", "max-age=0", "X", "1"),
    ];
    for (name, value, asked, with) in cases {
        let origin = Origin::start(move |_: &Request| {
            Reply::ok("x")
                .field(name, value)
                .field("ETag", "\"v1\"")
                .field("Set-Cookie", "id=1")
        });
        let program = forward("collapsed_forwarding on");
        let mut client = client(&program);
        for round in 1..=3 {
            assert_eq!(
                client
                    .request("GET", &origin.url("/x.css"), &[(asked, with)])
                    .status,
                200
            );
            assert_eq!(origin.total(), round, "{name}: {value}, {asked}: {with}");
        }
    }
    // A cookie is for who got it, where the rest is for everyone.
    let origin = Origin::start(|_: &Request| fresh("x").field("Set-Cookie", "id=1"));
    let program = forward("");
    let mut client = client(&program);
    assert_eq!(
        client.get(&origin.url("/")).field("Set-Cookie"),
        Some("id=1")
    );
    assert_eq!(client.get(&origin.url("/")).field("Set-Cookie"), None);
    assert_eq!(origin.total(), 1);
}

/// CPDoS: an error that someone has provoked by a field that plain requests don't have is not kept for them.
#[test]
fn provoked_errors_are_not_kept() {
    let large = "x".repeat(20_000);
    let cases: [(&str, &str, &str); 5] = [
        ("X-Oversized", &large, "400 Bad Request"),
        ("X-Metacharacter", "a\tb\u{ff}", "400 Bad Request"),
        ("X-HTTP-Method-Override", "DELETE", "405 Method Not Allowed"),
        ("Range", "bytes=9-0,x", "416 Range Not Satisfiable"),
        ("Expect", "200-ok", "417 Expectation Failed"),
    ];
    for (name, value, error) in cases {
        let origin = Origin::start(move |request: &Request| match request.field(name) {
            Some(_) => Reply::new(error).send("no"),
            None => fresh("page"),
        });
        let program = forward("");
        let mut attacker = client(&program);
        attacker.request("GET", &origin.url("/"), &[(name, value)]);
        let answer = client(&program).get(&origin.url("/"));
        assert_eq!((answer.status, &*answer.text()), (200, "page"), "{name}");
    }
}

/// A "fat" GET: what the origin makes of content that plain requests don't have isn't kept for them.
#[test]
fn the_answer_to_a_get_with_content_is_not_kept() {
    let origin = Origin::start(|request: &Request| {
        fresh(if request.content.len > 0 {
            "evil"
        } else {
            "page"
        })
    });
    let program = forward("");
    let mut attacker = client(&program);
    attacker.send_request("GET", &origin.url("/"), &[("Content-Length", "4")]);
    attacker.send("evil");
    assert_eq!(attacker.response().text(), "evil");
    for _ in 0..2 {
        assert_eq!(client(&program).get(&origin.url("/")).text(), "page");
    }
    assert_eq!(origin.total(), 2);
}

/// What other methods bring never answers a GET.
#[test]
fn methods_are_apart() {
    let origin = Origin::start(|request: &Request| fresh(&request.method));
    let program = forward("");
    let mut client = client(&program);
    let url = origin.url("/");
    for method in ["HEAD", "POST", "OPTIONS", "PROPFIND", "get"] {
        client.request(method, &url, &[("Content-Length", "0")]);
        let asked = client.request("GET", &url, &[("Cache-Control", "only-if-cached")]);
        assert_eq!(asked.status, 504, "{method}");
    }
}

/// Vary: by everything and by five hundred fields means for nobody else; rubbish harms nothing.
#[test]
fn odd_varies() {
    let many: Vec<String> = (0..500).map(|number| format!("X-{number}")).collect();
    let cases = [
        ("*".to_owned(), 2),
        ("Accept, *".to_owned(), 2),
        (many.join(", "), 2),
        (",, ;=\"x, \u{7f}".replace('\u{7f}', ""), 1),
        (
            "Accept-Encoding, accept-encoding, ACCEPT-ENCODING".to_owned(),
            1,
        ),
    ];
    for (vary, total) in cases {
        let said = vary.clone();
        let origin = Origin::start(move |_: &Request| fresh("x").field("Vary", &said));
        let program = forward("");
        let mut client = client(&program);
        for _ in 0..2 {
            assert_eq!(client.get(&origin.url("/")).text(), "x");
        }
        assert_eq!(origin.total(), total, "{vary}");
    }
}

/// two thousand hops in X-Forwarded-For are followed no further than there is sense in it.
#[test]
fn two_thousand_forwarders() {
    let origin = Origin::start(|_: &Request| fresh("x"));
    let program = forward("follow_x_forwarded_for allow all");
    let hops = vec!["192.0.2.1"; 2000].join(", ");
    let mut client = client(&program);
    for _ in 0..2 {
        let answer = client.request("GET", &origin.url("/"), &[("X-Forwarded-For", &hops)]);
        assert_eq!(answer.status, 200);
    }
    assert_eq!(origin.total(), 1);
}
