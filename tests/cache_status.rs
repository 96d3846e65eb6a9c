//! What replies say of the cache's part: `Cache-Status` (RFC 9211), member by member, and `X-Cache` for old scripts.

use testkit::{Gate, Origin, Program, Reply, Request, Response};

use crate::support::{client, forward};

/// A forward proxy of a known name.
fn named(conf: &str) -> Program {
    forward(&format!("visible_hostname proxy.example\n{conf}"))
}

/// What our member says, less the name; numbers that depend on the clock are `N`.
fn said(answer: &Response) -> String {
    let last = answer.head.all("Cache-Status");
    let last = last.last().expect("a Cache-Status");
    let said = last.strip_prefix("proxy.example;").expect(last);
    let members = said.split(';').map(|member| match member.split_once('=') {
        Some(("ttl", secs)) if secs.starts_with('-') => "ttl=-N".to_owned(),
        Some(("ttl", _)) => "ttl=N".to_owned(),
        _ => member.to_owned(),
    });
    members.collect::<Vec<_>>().join(";")
}

fn origin(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Origin {
    Origin::start(reply)
}

/// Not stored, stored, and answered from what is stored.
#[test]
fn misses_and_hits() {
    let origin = origin(|_| {
        Reply::ok("x")
            .field("Cache-Control", "max-age=600")
            .field("Cache-Status", "origin;hit")
            .field("ETag", "\"v1\"")
            .field("Vary", "Accept")
    });
    let program = named("");
    let (mut client, url) = (client(&program), origin.url("/"));
    let miss = client.get(&url);
    assert_eq!(said(&miss), "fwd=uri-miss;stored;ttl=N");
    assert_eq!(
        miss.head.all("Cache-Status")[0],
        "origin;hit",
        "our member is the last"
    );
    let hit = client.get(&url);
    assert_eq!(said(&hit), "hit;ttl=N");
    assert_eq!(hit.head.all("Cache-Status").len(), 2);
    let other = client.request("GET", &url, &[("Accept", "a/b"), ("Range", "bytes=0-0")]);
    assert_eq!(said(&other), "fwd=vary-miss;fwd-status=200;stored;ttl=N");
    let known = client.request("GET", &url, &[("If-None-Match", "\"v1\"")]);
    assert_eq!((known.status, &*said(&known)), (304, "hit;ttl=N"));
    let part = client.request("GET", &url, &[("Range", "bytes=0-0")]);
    assert_eq!((part.status, &*said(&part)), (206, "hit;ttl=N"));
    let reload = client.request("GET", &url, &[("Cache-Control", "no-cache")]);
    assert_eq!(said(&reload), "fwd=request;stored;ttl=N");
    let head = client.request("HEAD", &origin.url("/head"), &[]);
    assert_eq!(said(&head), "fwd=uri-miss");
    let post = client.request("POST", &origin.url("/post"), &[("Content-Length", "0")]);
    assert_eq!(said(&post), "fwd=method");
}

/// Why a response isn't stored, by a word.
#[test]
fn reasons_against_storing() {
    let origin = origin(|request| {
        let said = request.field("X-Say").unwrap_or_default();
        let (name, value) = said.split_once(": ").unwrap_or(("X-None", ""));
        Reply::ok("x").field(name, value)
    });
    let program = named(
        "acl bypassed urlpath_regex ^/bypassed\ncache deny bypassed\nacl kept urlpath_regex ^/kept\nstore_miss deny kept\n\
         maximum_object_size_in_memory 0 KB",
    );
    let mut client = client(&program);
    for (path, say, expected) in [
        (
            "/1",
            "Cache-Control: no-store",
            "fwd=uri-miss;detail=no-store",
        ),
        (
            "/2",
            "Cache-Control: private",
            "fwd=uri-miss;detail=private",
        ),
        ("/3", "Vary: *", "fwd=uri-miss;detail=vary"),
        ("/4", "Set-Cookie: a=b", "fwd=uri-miss;detail=stale-at-once"),
        (
            "/5",
            "Content-Type: text/event-stream",
            "fwd=uri-miss;detail=stale-at-once",
        ),
        (
            "/6",
            "Cache-Control: max-age=600",
            "fwd=uri-miss;ttl=N;detail=too-large",
        ),
        (
            "/kept",
            "Cache-Control: max-age=600",
            "fwd=uri-miss;detail=store_miss",
        ),
        ("/bypassed", "Cache-Control: max-age=600", "fwd=bypass"),
    ] {
        let answer = client.request("GET", &origin.url(path), &[("X-Say", say)]);
        assert_eq!(said(&answer), expected, "{path} {say}");
    }
}

/// Validated, replaced, and used in spite of all.
#[test]
fn stale_responses() {
    let origin = origin(
        |request| match (&*request.target, request.field("If-None-Match")) {
            ("/same", Some(_)) => {
                Reply::new("304 Not Modified").field("Cache-Control", "max-age=600")
            }
            ("/failing", Some(_)) => Reply::new("503 Busy"),
            _ => Reply::ok("x")
                .field("Cache-Control", "max-age=60")
                .field("Age", "100")
                .field("ETag", "\"v1\""),
        },
    );
    let program = named("");
    let mut client = client(&program);
    for (path, expected) in [
        ("/same", "fwd=stale;fwd-status=304;stored;ttl=N"),
        ("/same", "hit;ttl=N"),
        ("/other", "fwd=stale;stored;ttl=-N"),
        ("/failing", "fwd=stale;fwd-status=503;ttl=-N"),
    ] {
        let url = origin.url(path);
        if expected.starts_with("fwd") {
            assert_eq!(said(&client.get(&url)), "fwd=uri-miss;stored;ttl=-N");
        }
        assert_eq!(said(&client.get(&url)), expected, "{path}");
    }
    client.get(&origin.url("/dead"));
    origin.stop();
    let dead = client.get(&origin.url("/dead"));
    assert_eq!(said(&dead), "hit;ttl=-N;detail=origin-failed");
}

/// A lifetime that was guessed names the line that did.
#[test]
fn guesses_name_their_line() {
    let origin = origin(|_| Reply::ok("x").field("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"));
    let program = named("refresh_pattern ^ftp: 1 2% 3\nrefresh_pattern ^http:.*/page 0 20% 4320");
    let mut client = client(&program);
    let page = client.get(&origin.url("/page"));
    assert_eq!(
        said(&page),
        "fwd=uri-miss;stored;ttl=N;detail=refresh_pattern:2"
    );
    let other = client.get(&origin.url("/other"));
    assert_eq!(
        said(&other),
        "fwd=uri-miss;stored;ttl=N",
        "the one that is built in"
    );
}

/// Who waited for another's fetch.
#[test]
fn collapsed_requests() {
    for (control, expected) in [
        ("max-age=600", "fwd=uri-miss;collapsed;ttl=N"),
        ("private", "fwd=uri-miss;collapsed=?0;detail=private"),
    ] {
        let gate = Gate::new();
        let held = gate.clone();
        let origin = origin(move |request| {
            if request.target == "/" {
                held.pass();
            }
            Reply::ok("x").field("Cache-Control", control)
        });
        let program = named("collapsed_forwarding on\nworkers 1");
        let (mut one, mut two) = (client(&program), client(&program));
        one.send_request("GET", &origin.url("/"), &[]);
        gate.wait_for_arrivals(1);
        two.send_request("GET", &origin.url("/"), &[]);
        client(&program).get(&origin.url("/behind"));
        gate.open();
        one.response();
        let answer = two.response();
        // What is passed on unstored says nothing of why: the first one's answer does.
        let expected = if control == "private" {
            "fwd=uri-miss;collapsed=?0"
        } else {
            expected
        };
        assert_eq!(said(&answer), expected);
    }
}

/// `cache_status_detail off` keeps reasons to ourselves.
#[test]
fn reasons_need_not_be_told() {
    let origin = origin(|request| {
        let control = match &*request.target {
            "/private" => "private",
            _ => "max-age=0",
        };
        Reply::ok("x").field("Cache-Control", control)
    });
    let program = named("cache_status_detail off");
    let mut client = client(&program);
    let private = client.get(&origin.url("/private"));
    assert_eq!(said(&private), "fwd=uri-miss");
    client.get(&origin.url("/"));
    origin.stop();
    let old = client.get(&origin.url("/"));
    assert_eq!(said(&old), "hit;ttl=N");
}

/// `cache_status_key` tells the key; a name that is no token is a string.
#[test]
fn keys_and_names() {
    let origin = origin(|_| Reply::ok("x").field("Cache-Control", "max-age=600"));
    let program = forward("visible_hostname 10.0.0.1\ncache_status_key on");
    let (mut client, url) = (client(&program), origin.url("/a?b=%22"));
    client.get(&url);
    let hit = client.get(&url);
    let said = hit.field("Cache-Status").unwrap();
    assert!(said.starts_with("\"10.0.0.1\";hit;ttl="), "{said}");
    assert!(said.ends_with(&format!(";key=\"{url}\"")), "{said}");
}

/// `x_cache_headers on`: as Squids up to 5 said it, on pages of ours too.
#[test]
fn x_cache_for_old_scripts() {
    let origin = origin(|_| Reply::ok("x").field("Cache-Control", "max-age=600"));
    let program = named("x_cache_headers on");
    let (mut client, url) = (client(&program), origin.url("/"));
    let port = program.port();
    let mut check = |url: &str, cache: &str, lookup: &str| {
        let answer = client.get(url);
        let cache = format!("{cache} from proxy.example");
        let lookup = format!("{lookup} from proxy.example:{port}");
        assert_eq!(answer.field("X-Cache"), Some(&*cache));
        assert_eq!(answer.field("X-Cache-Lookup"), Some(&*lookup));
    };
    check(&url, "MISS", "MISS");
    check(&url, "HIT", "HIT");
    check("http://127.0.0.1:1/", "MISS", "NONE");
}

/// RFC 9111 §5.5: nobody is warned by `Warning` any more, not even of what is stale.
#[test]
fn nothing_warns() {
    let origin = origin(|_| {
        Reply::ok("x")
            .field("Cache-Control", "max-age=60, stale-while-revalidate=600")
            .field("ETag", "\"v1\"")
            .field("Age", "100")
    });
    let program = named("");
    let mut client = client(&program);
    client.get(&origin.url("/"));
    let stale = client.get(&origin.url("/"));
    assert_eq!(said(&stale), "hit;ttl=-N");
    assert_eq!(stale.field("Warning"), None);
}
