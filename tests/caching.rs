//! The memory cache in everyday traffic: what is stored, reused, validated and forgotten.

use testkit::{Client, Origin, Program, Reply, Request, until};

use crate::support::{Entry, client, forward, results};

const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const LATER: &str = "Mon, 07 Nov 1994 08:49:37 GMT";

/// A reply that stays fresh for the test's time.
fn fresh(content: &str) -> Reply {
    Reply::ok(content)
        .field("Cache-Control", "max-age=600")
        .field("Content-Type", "text/plain; charset=utf-8")
}

/// A reply that is stale on arrival, and can be validated.
fn stale(content: &str) -> Reply {
    Reply::ok(content)
        .field("Cache-Control", "max-age=60")
        .field("Age", "100")
        .field("ETag", "\"v1\"")
}

/// An origin that answers every path with the same reply.
fn origin(reply: Reply) -> Origin {
    Origin::start(move |_| reply.clone())
}

/// An origin that answers a validator with 304, and all else with a stale reply.
fn validating() -> Origin {
    Origin::start(|request: &Request| match request.field("If-None-Match") {
        Some(_) => Reply::new("304 Not Modified")
            .field("ETag", "\"v1\"")
            .field("Cache-Control", "max-age=600")
            .field("X-Round", "2"),
        None => stale("one"),
    })
}

/// Fetches a path twice through a fresh program, and gives how often the origin was asked.
fn asked_for_two(reply: Reply, request: &[(&str, &str)]) -> usize {
    let origin = origin(reply);
    let program = forward("");
    let mut client = client(&program);
    for _ in 0..2 {
        let answer = client.request("GET", &origin.url("/"), request);
        assert_eq!(answer.status, 200);
    }
    origin.total()
}

/// The first fetch is a MISS and the second a HIT, and both log lines are Squid's to the letter (which keeps what
/// follows the question mark to itself).
#[test]
fn a_miss_and_then_a_hit() {
    let origin = origin(fresh("hello"));
    let program = forward("");
    let mut client = client(&program);
    let (miss, hit) = (
        client.get(&origin.url("/a?b")),
        client.get(&origin.url("/a?b")),
    );
    assert_eq!((miss.text(), hit.text()), ("hello".into(), "hello".into()));
    assert_eq!(origin.total(), 1);
    let lines = program.wait_for_log_lines(2);
    for (line, answer, result, hierarchy) in [
        (&lines[0], &miss, "TCP_MISS/200", "HIER_DIRECT/127.0.0.1"),
        (&lines[1], &hit, "TCP_MEM_HIT/200", "HIER_NONE/-"),
    ] {
        let entry = Entry::of(line);
        let (seconds, millis) = entry.time.split_once('.').unwrap();
        assert!(seconds.len() == 10 && millis.len() == 3, "{line}");
        let bytes = answer.head.raw.len() + answer.body().len();
        let rest = format!(
            "127.0.0.1 {result} {bytes} GET {} - {hierarchy} text/plain",
            origin.url("/a?")
        );
        let expected = format!("{} {:>6} {rest}", entry.time, entry.elapsed);
        assert_eq!(*line, expected);
    }
}

/// A hit tells its age, who passed it on, and that it is a hit.
#[test]
fn age_via_and_cache_status() {
    let origin = origin(fresh("x").field("Age", "7").field("Via", "1.0 before"));
    let program = forward("visible_hostname proxy.example");
    let mut client = client(&program);
    let (miss, hit) = (client.get(&origin.url("/")), client.get(&origin.url("/")));
    assert_eq!(
        miss.field("Cache-Status"),
        Some("proxy.example;fwd=uri-miss;stored;ttl=593")
    );
    let status = hit.field("Cache-Status").unwrap();
    assert!(status.starts_with("proxy.example;hit;ttl="), "{status}");
    let age: u64 = hit.field("Age").unwrap().parse().unwrap();
    assert!((7..60).contains(&age), "{age}");
    assert_eq!(hit.head.all("Age").len(), 1);
    for answer in [&miss, &hit] {
        let via = answer.head.all("Via").join(", ");
        assert!(
            via.starts_with("1.0 before, 1.1 proxy.example (squall"),
            "{via}"
        );
        assert_eq!(answer.head.all("Date").len(), 1);
    }
}

/// A client that has the stored response is told so, by tag or by date.
#[test]
fn conditions_are_answered_from_the_cache() {
    let reply = fresh("abc")
        .field("ETag", "\"t\"")
        .field("Last-Modified", OLD);
    let origin = origin(reply);
    let program = forward("");
    let mut client = client(&program);
    let url = origin.url("/");
    client.get(&url);
    let by_date = client.request("GET", &url, &[("If-Modified-Since", OLD)]);
    let by_tag = client.request("GET", &url, &[("If-None-Match", "\"s\", W/\"t\"")]);
    let changed = client.request("GET", &url, &[("If-None-Match", "\"s\"")]);
    for answer in [&by_date, &by_tag] {
        assert_eq!((answer.status, answer.field("ETag")), (304, Some("\"t\"")));
    }
    assert_eq!(changed.text(), "abc");
    let failed = client.request("GET", &url, &[("If-Match", "\"s\"")]);
    assert_eq!(failed.status, 412);
    assert_eq!(origin.total(), 1);
    assert_eq!(
        results(&program, 4),
        [
            "TCP_MISS/200",
            "TCP_IMS_HIT/304",
            "TCP_INM_HIT/304",
            "TCP_MEM_HIT/200"
        ]
    );
}

/// Single ranges are cut out of the stored response; one beyond its end is refused.
#[test]
fn ranges_come_from_the_stored_response() {
    let origin = origin(fresh("0123456789").field("ETag", "\"t\""));
    let program = forward("");
    let mut client = client(&program);
    let url = origin.url("/");
    client.get(&url);
    for (range, content, stated) in [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=8-", "89", "bytes 8-9/10"),
        ("bytes=-3", "789", "bytes 7-9/10"),
    ] {
        let part = client.request("GET", &url, &[("Range", range)]);
        assert_eq!(
            (part.status, part.text().as_str()),
            (206, content),
            "{range}"
        );
        assert_eq!(part.field("Content-Range"), Some(stated));
    }
    let beyond = client.request("GET", &url, &[("Range", "bytes=10-")]);
    assert_eq!(
        (beyond.status, beyond.field("Content-Range")),
        (416, Some("bytes */10"))
    );
    let other = [("Range", "bytes=0-0"), ("If-Range", "\"u\"")];
    assert_eq!(client.request("GET", &url, &other).text(), "0123456789");
    assert_eq!(origin.total(), 1);
}

/// A stale response that its origin confirms is used again, and is fresh with the fields of the 304.
#[test]
fn a_stale_response_is_validated() {
    let origin = validating();
    let program = forward("");
    let mut client = client(&program);
    let url = origin.url("/");
    client.get(&url);
    let validated = client.get(&url);
    assert_eq!((validated.status, validated.text().as_str()), (200, "one"));
    assert_eq!(origin.last().field("If-None-Match"), Some("\"v1\""));
    let again = client.get(&url);
    assert_eq!(again.field("X-Round"), Some("2"));
    assert_eq!(origin.total(), 2);
    assert_eq!(
        results(&program, 3),
        [
            "TCP_MISS/200",
            "TCP_REFRESH_UNMODIFIED/200",
            "TCP_MEM_HIT/200"
        ]
    );
}

/// A stale response that its origin has replaced makes way for the new one.
#[test]
fn a_changed_response_replaces_the_stale_one() {
    let origin = Origin::start(|request: &Request| match request.field("If-None-Match") {
        Some(_) => fresh("two").field("ETag", "\"v2\""),
        None => stale("one"),
    });
    let program = forward("");
    let mut client = client(&program);
    let texts = [(); 3].map(|()| client.get(&origin.url("/")).text());
    assert_eq!(texts, ["one", "two", "two"]);
    assert_eq!(
        results(&program, 3),
        [
            "TCP_MISS/200",
            "TCP_REFRESH_MODIFIED/200",
            "TCP_MEM_HIT/200"
        ]
    );
}

/// When the origin is gone, or fails, a stale response is better than none.
#[test]
fn a_dead_origin_leaves_the_stale_response() {
    let dead = validating();
    let program = forward("connect_timeout 2 seconds");
    let mut client = client(&program);
    let url = dead.url("/");
    client.get(&url);
    dead.stop();
    assert_eq!(client.get(&url).text(), "one");
    let failing = Origin::start(|request: &Request| match request.field("If-None-Match") {
        Some(_) => Reply::new("503 Service Unavailable"),
        None => stale("still"),
    });
    client.get(&failing.url("/"));
    assert_eq!(client.get(&failing.url("/")).text(), "still");
    let old = results(&program, 4);
    assert_eq!(old[1], "TCP_REFRESH_FAIL_OLD/200");
    assert_eq!(old[3], "TCP_REFRESH_FAIL_OLD/200");
}

/// `must-revalidate` forbids that: the failure goes out.
#[test]
fn a_strict_response_is_not_used_stale() {
    let origin = origin(stale("one").field("Cache-Control", "must-revalidate"));
    let program = forward("connect_timeout 2 seconds");
    let mut client = client(&program);
    client.get(&origin.url("/"));
    origin.stop();
    let answer = client.get(&origin.url("/"));
    assert_eq!(answer.status, 503);
    assert_eq!(results(&program, 2)[1], "TCP_REFRESH_FAIL_ERR/503");
}

/// A reload goes to the origin, and what it brings is what others get.
#[test]
fn a_reload_fetches_anew() {
    let origin = Origin::start(|request: &Request| match request.field("Cache-Control") {
        Some("no-cache") => fresh("new"),
        _ => fresh("old"),
    });
    let program = forward("");
    let mut client = client(&program);
    let url = origin.url("/");
    assert_eq!(client.get(&url).text(), "old");
    let reloaded = client.request("GET", &url, &[("Cache-Control", "no-cache")]);
    assert_eq!(reloaded.text(), "new");
    assert_eq!(client.get(&url).text(), "new");
    assert_eq!(
        results(&program, 3),
        [
            "TCP_MISS/200",
            "TCP_CLIENT_REFRESH_MISS/200",
            "TCP_MEM_HIT/200"
        ]
    );
}

/// Each variant that `Vary` names is stored beside the others.
#[test]
fn variants_are_kept_apart() {
    let origin = Origin::start(|request: &Request| {
        let language = request.field("Accept-Language").unwrap_or("none");
        fresh(language).field("Vary", "Accept-Language")
    });
    let program = forward("");
    let mut client = client(&program);
    let url = origin.url("/");
    for _ in 0..2 {
        for language in ["de", "en"] {
            let answer = client.request("GET", &url, &[("Accept-Language", language)]);
            assert_eq!(answer.text(), language);
        }
        assert_eq!(client.get(&url).text(), "none");
    }
    assert_eq!(origin.total(), 3);
}

/// What the origin or the client keeps to itself is never shared, whatever the path looks like.
#[test]
fn what_is_private_is_not_shared() {
    for control in ["private, max-age=600", "no-store", "max-age=600, no-store"] {
        let reply = Reply::ok("mine").field("Cache-Control", control);
        assert_eq!(asked_for_two(reply, &[]), 2, "{control}");
    }
    let star = fresh("any").field("Vary", "*");
    assert_eq!(asked_for_two(star, &[]), 2);
    let secret = [("Authorization", "Basic YTpi")];
    assert_eq!(asked_for_two(fresh("theirs"), &secret), 2);
    let allowed = Reply::ok("ours").field("Cache-Control", "public, max-age=600");
    assert_eq!(asked_for_two(allowed, &secret), 1);
    assert_eq!(
        asked_for_two(fresh("x"), &[("Cache-Control", "no-store")]),
        2
    );
}

/// A stored response says nothing of the cookie that its first client got.
#[test]
fn a_cookie_is_for_its_own_client() {
    let origin = origin(fresh("page").field("Set-Cookie", "id=1"));
    let program = forward("");
    let (first, second) = (
        client(&program).get(&origin.url("/")),
        client(&program).get(&origin.url("/")),
    );
    assert_eq!(first.field("Set-Cookie"), Some("id=1"));
    assert_eq!(second.field("Set-Cookie"), None);
    assert_eq!(origin.total(), 1);
}

/// Without a word on freshness, an old page is taken to stay as it is for a while.
#[test]
fn an_old_page_is_fresh_by_guess() {
    let aged = Reply::ok("x").field("Last-Modified", OLD);
    assert_eq!(asked_for_two(aged, &[]), 1);
    assert_eq!(asked_for_two(Reply::ok("x"), &[]), 2);
}

/// A successful POST makes the stored response of its URL, and of the place it names, go.
#[test]
fn a_post_invalidates() {
    let origin = Origin::start(|request: &Request| match request.method.as_str() {
        "POST" => Reply::new("204 No Content").field("Location", "/b"),
        _ => fresh("x"),
    });
    let program = forward("");
    let mut client = client(&program);
    for path in ["/a", "/b", "/c"] {
        client.get(&origin.url(path));
    }
    client.send_request("POST", &origin.url("/a"), &[("Content-Length", "2")]);
    client.send("hi");
    assert_eq!(client.response_to("POST").status, 204);
    for path in ["/a", "/b", "/c"] {
        client.get(&origin.url(path));
    }
    let asked = ["/a", "/b", "/c"].map(|path| origin.count(path));
    assert_eq!(asked, [3, 2, 1]);
}

/// `only-if-cached` gives what is stored, or 504, and never asks the origin.
#[test]
fn only_if_cached() {
    let origin = origin(fresh("x"));
    let program = forward("");
    let mut client = client(&program);
    let only = [("Cache-Control", "only-if-cached")];
    let refused = client.request("GET", &origin.url("/"), &only);
    assert_eq!(refused.status, 504);
    assert_eq!(origin.total(), 0);
    client.get(&origin.url("/"));
    assert_eq!(client.request("GET", &origin.url("/"), &only).text(), "x");
    assert_eq!(origin.total(), 1);
}

/// HEAD is answered by a stored GET, with the length it would have; without one it goes through.
#[test]
fn head_from_the_cache() {
    let origin = origin(fresh("12345"));
    let program = forward("");
    let mut client = client(&program);
    let url = origin.url("/");
    assert_eq!(
        client.request("HEAD", &url, &[]).field("Content-Length"),
        Some("5")
    );
    client.get(&url);
    let head = client.request("HEAD", &url, &[]);
    assert_eq!(head.field("Content-Length"), Some("5"));
    assert!(head.field("Age").is_some());
    assert_eq!(origin.total(), 2);
    assert_eq!(client.get(&url).text(), "12345");
    assert_eq!(results(&program, 3)[2], "TCP_MEM_HIT/200");
}

/// Replies of unknown length are stored, and sent again with the length that they turned out to have, or in chunks.
#[test]
fn chunked_replies_are_stored() {
    let origin = Origin::simple([
        ("/chunked", fresh("abc").send("def").chunked()),
        ("/close", fresh("abcdef").until_close()),
    ]);
    let program = forward("");
    let mut client = client(&program);
    for path in ["/chunked", "/close"] {
        for _ in 0..3 {
            assert_eq!(client.get(&origin.url(path)).text(), "abcdef");
        }
        assert_eq!(origin.count(path), 1, "{path}");
    }
}

/// A reply that its origin cut off is cut for the client too, and isn't stored.
#[test]
fn a_cut_reply_is_not_stored() {
    let cut = |reply: Reply| reply.close();
    let origin = Origin::simple([
        ("/length", cut(fresh("abc").field("Content-Length", "10"))),
        (
            "/chunked",
            Reply::raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").close(),
        ),
    ]);
    let program = forward("");
    for path in ["/length", "/chunked"] {
        for round in 1..=2 {
            let mut client = client(&program);
            client.send_request("GET", &origin.url(path), &[]);
            assert!(client.try_response_to("GET").is_err(), "{path}");
            assert_eq!(origin.count(path), round, "{path}");
        }
    }
    assert!(
        results(&program, 4)
            .iter()
            .all(|result| result == "TCP_MISS_ABORTED/200")
    );
}

/// The `cache` list keeps what it denies out; the rest is stored.
#[test]
fn the_cache_list_decides() {
    let origin = origin(fresh("x"));
    let program = forward("acl dynamic urlpath_regex ^/api/\ncache deny dynamic");
    let mut client = client(&program);
    for _ in 0..2 {
        client.get(&origin.url("/api/1"));
        client.get(&origin.url("/file"));
    }
    assert_eq!((origin.count("/api/1"), origin.count("/file")), (2, 1));
}

/// What is larger than `maximum_object_size_in_memory` goes through whole, and isn't kept.
#[test]
fn large_objects_pass() {
    let large = "x".repeat(200_000);
    let reply = fresh(&large);
    let origin = origin(reply);
    let program = forward("maximum_object_size_in_memory 64 KB");
    let mut client = client(&program);
    for _ in 0..2 {
        assert_eq!(client.get(&origin.url("/")).content.len, 200_000);
    }
    assert_eq!(origin.total(), 2);
}

/// With little `cache_mem`, old objects make room for new ones, and memory stays bounded.
#[test]
fn the_cache_evicts() {
    let body = "y".repeat(64 << 10);
    let origin = origin(fresh(&body));
    let program = forward("cache_mem 4 MB");
    let mut client = client(&program).keep_no_bodies();
    client.get(&origin.url("/0"));
    let before = program.rss_kib();
    for number in 0..400 {
        client.get(&origin.url(&format!("/{number}")));
    }
    let growth = program.rss_kib().saturating_sub(before);
    assert!(growth < 16 << 10, "grew by {growth} KiB for 4 MB of cache");
    let asked = origin.total();
    client.get(&origin.url("/399"));
    assert_eq!(origin.total(), asked, "the newest is there");
}

/// A client that leaves halfway doesn't spoil the object: by `quick_abort_min -1 KB` the fetch goes on.
#[test]
fn a_fetch_outlives_its_client() {
    let gate = testkit::Gate::new();
    let reply = fresh("first ").pass(&gate).send("last");
    let origin = origin(reply);
    let program = forward("quick_abort_min -1 KB");
    let url = origin.url("/");
    let mut leaving = client(&program);
    leaving.send_request("GET", &url, &[]);
    gate.wait_for_arrivals(1);
    leaving.read_exact(10);
    drop(leaving);
    program.wait_for_log_lines(1);
    gate.open();
    let again = Client::connect(program.addr()).get(&url);
    assert_eq!(again.text(), "first last");
    assert_eq!(origin.total(), 1);
}

/// By default little of it being left is a reason to go on too, and much of it one to stop.
#[test]
fn quick_abort_weighs_what_is_left() {
    let gate = testkit::Gate::new();
    let large = fresh("x")
        .send(vec![b'x'; 70_000])
        .pass(&gate)
        .send(vec![b'x'; 3 << 20]);
    let origin = origin(large);
    let program = forward("");
    let mut leaving = client(&program);
    leaving.send_request("GET", &origin.url("/"), &[]);
    gate.wait_for_arrivals(1);
    leaving.read_exact(10);
    leaving.reset();
    until("the origin's connection to close", || {
        // Its end shows once the origin writes into it.
        gate.open();
        (origin.open_connections() == 0).then_some(())
    });
    let mut again = client(&program);
    assert_eq!(again.get(&origin.url("/")).content.len, 70_001 + (3 << 20));
    assert_eq!(origin.total(), 2);
}

/// A date that is in the client's hand decides, not its copy's: newer than asked is sent whole.
#[test]
fn a_newer_response_is_sent() {
    let origin = origin(fresh("new").field("Last-Modified", LATER));
    let program = forward("");
    let mut client = client(&program);
    client.get(&origin.url("/"));
    let answer = client.request("GET", &origin.url("/"), &[("If-Modified-Since", OLD)]);
    assert_eq!((answer.status, answer.text().as_str()), (200, "new"));
    assert_eq!(origin.total(), 1);
}

/// The cache is one for all workers: what one has stored, the others give.
#[test]
fn workers_share_the_cache() {
    let origin = origin(fresh("x"));
    let program = Program::start("http_access allow all\nworkers 3");
    for _ in 0..24 {
        assert_eq!(client(&program).get(&origin.url("/")).text(), "x");
    }
    assert_eq!(origin.total(), 1);
}

/// What is too large to be kept, and even to be held for those who read along, is fetched for each alone.
#[test]
fn too_large_to_be_shared() {
    let origin = Origin::start(|_: &Request| {
        Reply::pattern(&testkit::Pattern::new("/big", 40 << 20))
            .field("Cache-Control", "max-age=600")
    });
    let program = forward("cache_mem 8 MB\nmaximum_object_size_in_memory 1 MB");
    let wanted = testkit::Pattern::new("/big", 40 << 20).hash();
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (mut client, url) = (client(&program).keep_no_bodies(), origin.url("/big"));
            std::thread::spawn(move || client.get(&url).content.hash())
        })
        .collect();
    for reader in readers {
        assert_eq!(reader.join().unwrap(), wanted);
    }
    assert_eq!(origin.total(), 3);
}

/// `send_hit deny`: what is stored isn't sent, by request or by reply, but what is fetched is stored.
#[test]
fn send_hit_decides() {
    for (conf, total) in [
        ("acl a urlpath_regex ^/a\nsend_hit deny a", 3),
        ("acl ok http_status 200\nsend_hit deny ok", 3),
        ("acl b urlpath_regex ^/b\nsend_hit deny b", 1),
    ] {
        let origin = origin(fresh("x"));
        let program = forward(conf);
        let mut client = client(&program);
        for _ in 0..3 {
            assert_eq!(client.get(&origin.url("/a")).text(), "x");
        }
        assert_eq!(origin.total(), total, "{conf}");
        let expected = if total == 3 {
            "TCP_MISS/200"
        } else {
            "TCP_MEM_HIT/200"
        };
        assert_eq!(results(&program, 3)[2], expected);
    }
}

/// `store_miss deny`: what is fetched isn't stored, by request or by reply; what is stored is used.
#[test]
fn store_miss_decides() {
    for (conf, total) in [
        ("acl a urlpath_regex ^/a\nstore_miss deny a", 2),
        ("acl text rep_mime_type ^text/\nstore_miss deny text", 2),
        ("acl error http_status 500-599\nstore_miss deny error", 1),
    ] {
        let origin = origin(fresh("x"));
        let program = forward(conf);
        let mut client = client(&program);
        for _ in 0..2 {
            assert_eq!(client.get(&origin.url("/a")).text(), "x");
        }
        assert_eq!(origin.total(), total, "{conf}");
    }
}

/// `cache_miss_revalidate off`: a client's condition makes no hole in the cache.
#[test]
fn a_condition_need_not_keep_the_cache_empty() {
    for (conf, status, total) in [("", 304, 2), ("cache_miss_revalidate off", 304, 1)] {
        let origin = Origin::start(|request: &Request| match request.field("If-None-Match") {
            Some(_) => Reply::new("304 Not Modified").field("ETag", "\"v1\""),
            None => fresh("one").field("ETag", "\"v1\""),
        });
        let program = forward(conf);
        let mut client = client(&program);
        let url = origin.url("/");
        let known = client.request("GET", &url, &[("If-None-Match", "\"v1\"")]);
        assert_eq!(known.status, status, "{conf}");
        assert_eq!(client.get(&url).text(), "one");
        assert_eq!(origin.total(), total, "{conf}");
    }
}

/// `offline_mode on`: what is stored is never validated. `reload_into_ims on`: a reload asks whether it still holds.
#[test]
fn offline_and_softened_reloads() {
    for (conf, asked, expected) in [
        ("offline_mode on", None, "TCP_OFFLINE_HIT/200"),
        (
            "reload_into_ims on",
            Some("no-cache"),
            "TCP_REFRESH_UNMODIFIED/200",
        ),
        ("", Some("no-cache"), "TCP_CLIENT_REFRESH_MISS/200"),
    ] {
        let origin = validating();
        let program = forward(conf);
        let mut client = client(&program);
        let url = origin.url("/");
        client.get(&url);
        let fields: Vec<(&str, &str)> = asked.iter().map(|said| ("Cache-Control", *said)).collect();
        client.request("GET", &url, &fields);
        assert_eq!(results(&program, 2)[1], expected, "{conf}");
    }
}

/// `negative_ttl` keeps errors, `minimum_expiry_time` keeps nothing out (as in Squid 5), `vary_ignore_expire` lets in what
/// varies and is stale at once.
#[test]
fn times_that_decide_on_storing() {
    let short = || Reply::ok("x").field("Cache-Control", "max-age=30");
    let guessed = || Reply::ok("x");
    let expired = || Reply::ok("x").field("Expires", "0").field("Vary", "Accept");
    for (conf, reply, hits) in [
        ("", Reply::new("404 Not Found").send("x"), 0),
        (
            "negative_ttl 1 minute",
            Reply::new("404 Not Found").send("x"),
            1,
        ),
        ("negative_ttl 1 minute", Reply::new("503 Busy").send("x"), 1),
        ("", short(), 1),
        ("refresh_pattern . 2 20% 2", guessed(), 1),
        (
            "refresh_pattern . 2 20% 2\nminimum_expiry_time 200 seconds",
            guessed(),
            1,
        ),
        ("", expired(), 0),
        ("vary_ignore_expire on\noffline_mode on", expired(), 1),
    ] {
        let said = format!("{conf} {reply:?}");
        assert_eq!(2 - asked_with(conf, reply), hits, "{said}");
    }
}

/// How often an origin is asked for two requests.
fn asked_with(conf: &str, reply: Reply) -> usize {
    let origin = origin(reply);
    let program = forward(conf);
    let mut client = client(&program);
    for _ in 0..2 {
        client.get(&origin.url("/"));
    }
    origin.total()
}
