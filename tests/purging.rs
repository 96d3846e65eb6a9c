//! Invalidation by operators and origins: PURGE by URL, tag, prefix and pattern, hard and soft; groups (RFC 9875).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use testkit::{Client, Gate, Origin, Program, Reply, Request};

use crate::support::{client, forward};

/// A forward proxy that knows PURGE.
fn purging(conf: &str) -> Program {
    forward(&format!("acl purge method PURGE\n{conf}"))
}

fn fresh(content: &str) -> Reply {
    Reply::ok(content).field("Cache-Control", "max-age=600")
}

/// An origin whose replies carry the tags that the query names: `/a?red+blue`.
fn tagging() -> Origin {
    Origin::start(|request: &Request| {
        let tags = request.target.split_once('?').map_or("", |(_, tags)| tags);
        fresh(&request.target).field("Surrogate-Key", &tags.replace('+', " "))
    })
}

/// Asks for a purge; gives the status and the receipt.
fn purge(client: &mut Client, url: &str, fields: &[(&str, &str)]) -> (u16, String) {
    let answer = client.request("PURGE", url, fields);
    (answer.status, answer.text())
}

/// Which of these paths are answered without the origin.
fn kept<'p>(client: &mut Client, origin: &Origin, paths: &[&'p str]) -> Vec<&'p str> {
    let mut is_kept = |path: &&'p str| {
        let before = origin.total();
        assert_eq!(client.get(&origin.url(path)).status, 200);
        origin.total() == before
    };
    let paths = paths.iter().copied();
    paths.filter(|path| is_kept(path)).collect()
}

/// PURGE forgets a URL where an ACL names the method; twice is once too often. Without such an ACL it is a method like
/// others, and goes to the origin.
#[test]
fn by_url() {
    let origin = tagging();
    let program = purging("");
    let mut operator = client(&program);
    let url = origin.url("/");
    operator.get(&url);
    let receipt = format!("objects: 1\nkind: hard\nurl: {url}\n");
    assert_eq!(purge(&mut operator, &url, &[]), (200, receipt));
    let (status, receipt) = purge(&mut operator, &url, &[]);
    assert_eq!(status, 404);
    assert!(receipt.starts_with("objects: 0\n"), "{receipt}");
    assert_eq!(operator.get(&url).status, 200);
    assert_eq!(origin.total(), 2, "fetched anew, and never asked to purge");

    let program = forward("");
    assert_eq!(client(&program).request("PURGE", &url, &[]).status, 200);
    assert_eq!(origin.total(), 3);
}

/// All variants of a URL go, and the receipt counts them.
#[test]
fn by_url_with_variants() {
    let origin = Origin::start(|_: &Request| fresh("x").field("Vary", "Accept-Language"));
    let program = purging("");
    let mut operator = client(&program);
    let url = origin.url("/");
    for language in ["de", "fr", "en"] {
        operator.request("GET", &url, &[("Accept-Language", language)]);
    }
    let receipt = format!("objects: 3\nkind: hard\nurl: {url}\n");
    assert_eq!(purge(&mut operator, &url, &[]), (200, receipt));
}

/// What has one of the tags goes, under whatever URL of the origin; the receipt counts each once.
#[test]
fn by_tag() {
    let origin = tagging();
    let program = purging("");
    let mut operator = client(&program);
    let paths = ["/a?red", "/b?red+blue", "/c?blue", "/d?green", "/e"];
    assert!(kept(&mut operator, &origin, &paths).is_empty());
    let url = origin.url("/whatever");
    let by = [("Surrogate-Key", "red blue")];
    let receipt = "objects: 3\nkind: hard\ntags: red blue\n".to_owned();
    assert_eq!(purge(&mut operator, &url, &by), (200, receipt));
    assert_eq!(kept(&mut operator, &origin, &paths), ["/d?green", "/e"]);
    let by = [("Cache-Tag", "green, none")];
    let receipt = "objects: 1\nkind: hard\ntags: green none\n".to_owned();
    assert_eq!(purge(&mut operator, &url, &by), (200, receipt));
    let receipt = "objects: 0\nkind: hard\ntags: green none\n".to_owned();
    assert_eq!(purge(&mut operator, &url, &by), (200, receipt));
}

/// Tags of another origin are left alone, unless the configuration says that one operator is at home in all.
#[test]
fn tags_belong_to_an_origin() {
    for (conf, objects) in [("", 1), ("purge_all_origins on", 2)] {
        let (here, there) = (tagging(), tagging());
        let program = purging(conf);
        let mut operator = client(&program);
        operator.get(&here.url("/a?red"));
        operator.get(&there.url("/a?red"));
        let by = [("Surrogate-Key", "red")];
        let receipt = format!("objects: {objects}\nkind: hard\ntags: red\n");
        assert_eq!(purge(&mut operator, &here.url("/"), &by), (200, receipt));
        let left = kept(&mut operator, &there, &["/a?red"]);
        assert_eq!(left.len(), 2 - objects);
    }
}

/// URLs that begin so, or match. Programs get the receipt as JSON, and are told what is wrong.
#[test]
fn by_prefix_and_by_pattern() {
    let origin = tagging();
    let program = purging("");
    let mut operator = client(&program);
    let paths = ["/img/a.png", "/img/b.gif", "/img", "/doc/a.png"];
    let url = origin.url("/");
    kept(&mut operator, &origin, &paths);
    let json = ("Accept", "application/json");
    let answer = operator.request("PURGE", &url, &[("X-Purge-Prefix", "/img/"), json]);
    assert_eq!(answer.field("Content-Type"), Some("application/json"));
    let prefix = origin.url("/img/");
    assert_eq!(
        answer.text(),
        format!(r#"{{"kind":"hard","objects":2,"prefix":"{prefix}"}}"#)
    );
    assert_eq!(kept(&mut operator, &origin, &paths), ["/img", "/doc/a.png"]);
    let by = [("X-Purge-Regex", r"\.png$"), json];
    assert_eq!(
        purge(&mut operator, &url, &by).1,
        r#"{"kind":"hard","objects":2,"pattern":"\\.png$"}"#
    );
    assert_eq!(kept(&mut operator, &origin, &paths), ["/img/b.gif", "/img"]);
    for bad in [
        ("X-Purge-Regex", "("),
        ("X-Purge-Prefix", "http://other.example/"),
        ("Cache-Tag", ","),
    ] {
        let (status, receipt) = purge(&mut operator, &url, &[bad, json]);
        assert_eq!(status, 400, "{bad:?}");
        assert!(receipt.starts_with(r#"{"error":""#), "{receipt}");
    }
}

/// What is purged softly is stale: it is validated, and is there when the origin is dead.
#[test]
fn softly() {
    let origin = Origin::start(|request: &Request| match request.field("If-None-Match") {
        Some(_) => Reply::new("304 Not Modified").field("ETag", "\"1\""),
        None => fresh("once").field("ETag", "\"1\""),
    });
    let program = purging("connect_timeout 2 seconds");
    let mut operator = client(&program);
    let url = origin.url("/");
    operator.get(&url);
    let by = [("X-Purge-Soft", "1"), ("X-Purge-Prefix", "/")];
    let receipt = format!("objects: 1\nkind: soft\nprefix: {url}\n");
    assert_eq!(purge(&mut operator, &url, &by), (200, receipt));
    assert_eq!(operator.get(&url).text(), "once");
    assert_eq!(origin.last().field("If-None-Match"), Some("\"1\""));
    assert_eq!(operator.get(&url).text(), "once");
    assert_eq!(origin.total(), 2, "fresh again once it was validated");
    let by_url = [("Fastly-Soft-Purge", "1")];
    assert_eq!(purge(&mut operator, &url, &by_url).0, 200);
    origin.stop();
    assert_eq!(operator.get(&url).text(), "once");
    assert_eq!(purge(&mut operator, &url, &[]).0, 200);
    assert_eq!(operator.get(&url).status, 503);
}

/// With `stale-while-revalidate` it answers at once, and the origin is asked meanwhile.
#[test]
fn softly_with_stale_while_revalidate() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |request: &Request| {
        if request.field("If-None-Match").is_some() {
            held.pass();
            return fresh("new");
        }
        Reply::ok("old")
            .field("Cache-Control", "max-age=600, stale-while-revalidate=600")
            .field("ETag", "\"1\"")
            .field("Cache-Tag", "page")
    });
    let program = purging("");
    let mut operator = client(&program);
    let url = origin.url("/");
    operator.get(&url);
    let by = [("X-Purge-Soft", "1"), ("Cache-Tag", "page")];
    assert_eq!(purge(&mut operator, &url, &by).0, 200);
    assert_eq!(operator.get(&url).text(), "old");
    origin.wait_for_requests(2);
    gate.open();
    testkit::until("the new one", || {
        (operator.get(&url).text() == "new").then_some(())
    });
}

/// What was asked for before a purge and arrives after it goes to those that asked, and to nobody else: neither to those
/// that come later, nor to those that came later and waited.
#[test]
fn what_is_under_way_is_purged_too() {
    let gate = Gate::new();
    let (held, asked) = (gate.clone(), AtomicUsize::new(0));
    let origin = Origin::start(move |request: &Request| {
        let tagged = |content| fresh(content).field("Surrogate-Key", "red");
        if request.target == "/" && asked.fetch_add(1, SeqCst) == 0 {
            held.pass();
            return tagged("old");
        }
        tagged("new")
    });
    let program = purging("collapsed_forwarding on\nworkers 1");
    let url = origin.url("/");
    let mut before = client(&program);
    before.send_request("GET", &url, &[]);
    origin.wait_for_requests(1);
    let mut operator = client(&program);
    let receipt = "objects: 0\nkind: hard\ntags: red\n".to_owned();
    let by = [("Surrogate-Key", "red")];
    assert_eq!(purge(&mut operator, &url, &by), (200, receipt));
    let mut after = client(&program);
    after.send_request("GET", &url, &[]);
    // While this goes to the origin and back, the one before is read.
    operator.get(&origin.url("/other"));
    gate.open();
    assert_eq!(before.response().text(), "old");
    assert_eq!(after.response().text(), "new");
    assert_eq!(operator.get(&url).text(), "new");
    assert_eq!(origin.count("/"), 2);
}

/// An origin's answer to an unsafe request invalidates groups of its own, and of nobody else's (RFC 9875 §3).
#[test]
fn groups_by_the_origin() {
    let grouping = || {
        Origin::start(|request: &Request| {
            let invalidating =
                |reply: Reply| reply.field("Cache-Group-Invalidation", "\"news\", \"none\"");
            match (request.method.as_str(), request.target.as_str()) {
                ("POST", "/fails") => invalidating(Reply::new("500 No")),
                ("POST", _) => invalidating(Reply::new("204 No Content")),
                (_, path) => {
                    let groups = format!("\"{}\"", path.replace('/', "").replace('+', "\", \""));
                    invalidating(fresh("x")).field("Cache-Groups", &groups)
                }
            }
        })
    };
    let (origin, other) = (grouping(), grouping());
    let program = forward("");
    let mut visitor = client(&program);
    let paths = ["/news", "/sports+news", "/News", "/sports"];
    for origin in [&origin, &other] {
        assert!(kept(&mut visitor, origin, &paths).is_empty());
    }
    let empty = [("Content-Length", "0")];
    visitor.request("POST", &origin.url("/fails"), &empty);
    let left = kept(&mut visitor, &origin, &paths);
    assert_eq!(left, paths, "GET and errors invalidate nothing");
    visitor.request("POST", &origin.url("/form"), &empty);
    let left = kept(&mut visitor, &origin, &paths);
    assert_eq!(left, ["/News", "/sports"]);
    assert_eq!(kept(&mut visitor, &other, &paths), paths);
}

/// What an unsafe request invalidates takes with it what shares a group with it (RFC 9875 §2.2.1), but not what that shares
/// other groups with.
#[test]
fn groups_by_an_unsafe_request() {
    let origin = Origin::start(|request: &Request| {
        let groups = match &*request.target {
            "/article" => "\"article\", \"menu\"",
            "/list" => "\"menu\", \"lists\"",
            "/other" => "\"lists\"",
            _ => "\"Menu\"",
        };
        fresh("x").field("Cache-Groups", groups)
    });
    let program = forward("");
    let mut visitor = client(&program);
    let paths = ["/article", "/list", "/other", "/apart"];
    kept(&mut visitor, &origin, &paths);
    for method in ["OPTIONS", "POST"] {
        assert_eq!(kept(&mut visitor, &origin, &paths), paths, "{method}");
        let empty = [("Content-Length", "0")];
        visitor.request(method, &origin.url("/article"), &empty);
    }
    let left = kept(&mut visitor, &origin, &paths);
    assert_eq!(left, ["/other", "/apart"]);
}

/// The operator can say the same.
#[test]
fn groups_by_the_operator() {
    let origin = Origin::start(|_: &Request| fresh("x").field("Cache-Groups", "\"a b\", \"c\""));
    let program = purging("");
    let mut operator = client(&program);
    operator.get(&origin.url("/1"));
    operator.get(&origin.url("/2"));
    let by = [("Cache-Group-Invalidation", "\"a b\"")];
    let receipt = "objects: 2\nkind: hard\ngroups: a b\n".to_owned();
    assert_eq!(purge(&mut operator, &origin.url("/"), &by), (200, receipt));
}

/// Who may purge is for `http_access` to say, and tags need not be shown to clients.
#[test]
fn access_and_what_clients_see() {
    let origin = tagging();
    let program = Program::start(
        "acl purge method PURGE\nhttp_access deny purge\nhttp_access allow all\n\
         reply_header_access Surrogate-Key deny all",
    );
    let mut visitor = client(&program);
    let url = origin.url("/a?red");
    for _ in 0..2 {
        assert_eq!(visitor.get(&url).field("Surrogate-Key"), None);
    }
    let (status, _) = purge(&mut visitor, &url, &[("Surrogate-Key", "red")]);
    assert_eq!(status, 403);
    assert_eq!(kept(&mut visitor, &origin, &["/a?red"]), ["/a?red"]);
}

/// Under load: the receipt has the exact number, and after it nobody gets what was stored before.
#[test]
fn a_tag_under_load() {
    const OBJECTS: usize = 300;
    let version = Arc::new(AtomicUsize::new(1));
    let current = Arc::clone(&version);
    let origin = Origin::start(move |_: &Request| {
        fresh(&current.load(SeqCst).to_string()).field("Surrogate-Key", "all")
    });
    let program = purging("");
    let mut operator = client(&program);
    let url = |number: usize| origin.url(&format!("/{number}"));
    let urls: Vec<String> = (0..OBJECTS).map(url).collect();
    for url in &urls {
        operator.get(url);
    }
    let (receipt, done) = (AtomicUsize::new(1), AtomicUsize::new(0));
    let stored_only = [("Cache-Control", "only-if-cached")];
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut visitor = client(&program);
                while done.load(SeqCst) == 0 {
                    for url in &urls {
                        let least = receipt.load(SeqCst);
                        let answer = visitor.request("GET", url, &stored_only);
                        if answer.status == 504 {
                            continue;
                        }
                        let got: usize = answer.text().parse().unwrap();
                        assert!(got >= least, "{url}: {got} after the purge of {least}");
                    }
                }
            });
        }
        for round in 2..6 {
            version.store(round, SeqCst);
            let soft = if round % 2 == 0 { "1" } else { "0" };
            let by = [("Surrogate-Key", "all"), ("X-Purge-Soft", soft)];
            let (_, lines) = purge(&mut operator, &urls[0], &by);
            let wanted = format!("objects: {OBJECTS}\n");
            assert!(lines.starts_with(&wanted), "{lines}");
            receipt.store(round, SeqCst);
            // So that all are stored anew.
            for url in &urls {
                operator.get(url);
            }
        }
        done.store(1, SeqCst);
    });
}
