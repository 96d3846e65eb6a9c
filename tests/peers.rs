//! `cache_peer`: whose turn it is, who may be used for what, what a peer is told, and what happens when one dies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use testkit::{Client, Origin, Program, Reply, Request, Response, until};

use crate::support::{Entry, accelerator, client, forward};

/// An origin that answers with its own name, and isn't cached.
fn named(name: &'static str) -> Origin {
    Origin::start(move |_: &Request| Reply::ok(name).field("Cache-Control", "no-store"))
}

/// A `cache_peer` line for an origin.
fn origin_peer(origin: &Origin, options: &str) -> String {
    format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query originserver {options}\n",
        origin.port()
    )
}

/// A `cache_peer` line for another proxy.
fn proxy_peer(program: &Program, options: &str) -> String {
    format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query {options}\n",
        program.port()
    )
}

fn ask(client: &mut Client, path: &str) -> Response {
    client.request("GET", path, &[("Host", "site.example")])
}

/// How often each origin answered `count` requests.
fn shares(program: &Program, count: usize) -> HashMap<String, usize> {
    let mut shares = HashMap::new();
    let mut client = client(program);
    for number in 0..count {
        let text = ask(&mut client, &format!("/{number}")).text();
        *shares.entry(text).or_insert(0) += 1;
    }
    shares
}

/// `round-robin` takes turns; two lines for one host differ by `name=`.
#[test]
fn round_robin() {
    let (one, two) = (named("one"), named("two"));
    let conf = origin_peer(&one, "name=a round-robin") + &origin_peer(&two, "name=b round-robin");
    let program = accelerator("vhost", &conf);
    let shares = shares(&program, 20);
    assert_eq!((shares["one"], shares["two"]), (10, 10));
    let line = program.wait_for_log(|line| line.contains("/19 "));
    assert_eq!(Entry::of(&line).hierarchy, "ROUNDROBIN_PARENT/127.0.0.1");
}

/// `weight=3` gets three turns of four.
#[test]
fn weights() {
    let (one, two) = (named("one"), named("two"));
    let conf =
        origin_peer(&one, "name=a round-robin weight=3") + &origin_peer(&two, "name=b round-robin");
    let shares = shares(&accelerator("vhost", &conf), 40);
    assert_eq!((shares["one"], shares["two"]), (30, 10));
}

/// Without `round-robin`, the first peer that is up gets everything.
#[test]
fn the_first_peer() {
    let (one, two) = (named("one"), named("two"));
    let conf = origin_peer(&one, "name=a") + &origin_peer(&two, "name=b");
    let program = accelerator("vhost", &conf);
    assert_eq!(shares(&program, 5)["one"], 5);
    let line = program.wait_for_log(|line| line.contains("/4 "));
    assert_eq!(Entry::of(&line).hierarchy, "FIRSTUP_PARENT/127.0.0.1");
}

/// `cache_peer_access` says which peer gets what.
#[test]
fn access_by_peer() {
    let (images, pages) = (named("images"), named("pages"));
    let conf = origin_peer(&images, "name=images")
        + &origin_peer(&pages, "name=pages")
        + "acl pictures urlpath_regex -i \\.(png|gif)$
cache_peer_access images allow pictures
cache_peer_access images deny all
cache_peer_access pages deny pictures
cache_peer_access pages allow all
";
    let program = accelerator("vhost", &conf);
    let mut client = client(&program);
    for (path, expected) in [
        ("/a.PNG", "images"),
        ("/a.html", "pages"),
        ("/b.gif", "images"),
    ] {
        assert_eq!(ask(&mut client, path).text(), expected, "{path}");
    }
}

/// `max-conn=` is the most that a peer is asked at once; more goes to the next.
#[test]
fn busy_peers_are_passed_by() {
    let gate = testkit::Gate::new();
    let held = gate.clone();
    let busy = Origin::start(move |_: &Request| {
        held.pass();
        Reply::ok("busy").field("Cache-Control", "no-store")
    });
    let other = named("other");
    let conf = origin_peer(&busy, "name=a max-conn=1") + &origin_peer(&other, "name=b");
    let program = accelerator("vhost", &conf);
    let mut waiting = client(&program);
    waiting.send_request("GET", "/1", &[("Host", "site.example")]);
    gate.wait_for_arrivals(1);
    assert_eq!(ask(&mut client(&program), "/2").text(), "other");
    gate.open();
    assert_eq!(waiting.response().text(), "busy");
    // The client may have the answer before the proxy is done with the peer.
    until("the end of that", || {
        (ask(&mut client(&program), "/3").text() == "busy").then_some(())
    });
}

/// `login=` and `forceddomain=` change what the peer is told; the client's own secrets don't go on to it.
#[test]
fn logins_and_domains() {
    let origin = named("x");
    let conf = origin_peer(&origin, "login=user:secret forceddomain=inside.example");
    let program = accelerator("vhost", &conf);
    ask(&mut client(&program), "/");
    let seen = origin.last();
    assert_eq!(seen.field("Authorization"), Some("Basic dXNlcjpzZWNyZXQ="));
    assert_eq!(seen.field("Host"), Some("inside.example"));
}

/// A request goes through a parent proxy, which fetches; each signs it, and each has it in its log.
#[test]
fn through_a_parent() {
    let origin = named("far");
    let parent = forward("visible_hostname parent.example");
    let child = forward(&format!(
        "visible_hostname child.example\nnever_direct allow all\n{}",
        proxy_peer(&parent, "login=me:secret")
    ));
    let answer = client(&child).get(&origin.url("/a"));
    assert_eq!(answer.text(), "far");
    let via = origin.last().field("Via").unwrap_or_default().to_owned();
    let (first, last) = (via.find("child.example"), via.find("parent.example"));
    assert!(first.is_some() && first < last, "{via}");
    let line = child.wait_for_log(|line| line.contains("TCP_MISS/200"));
    assert_eq!(Entry::of(&line).hierarchy, "FIRSTUP_PARENT/127.0.0.1");
    let line = parent.wait_for_log(|line| line.contains("TCP_MISS/200"));
    assert_eq!(Entry::of(&line).hierarchy, "HIER_DIRECT/127.0.0.1");
    // The login was for the parent alone.
    assert_eq!(origin.last().field("Proxy-Authorization"), None);
}

/// The parent is told the login.
#[test]
fn a_login_for_the_parent() {
    let parent = named("parent");
    let child = forward(&format!(
        "never_direct allow all\ncache_peer 127.0.0.1 parent {} 0 no-query login=me:secret",
        parent.port()
    ));
    let answer = client(&child).get("http://far.example/path");
    assert_eq!(answer.text(), "parent");
    let seen = parent.last();
    assert_eq!(seen.target, "http://far.example/path");
    assert_eq!(
        seen.field("Proxy-Authorization"),
        Some("Basic bWU6c2VjcmV0")
    );
}

/// CONNECT through a parent proxy.
#[test]
fn a_tunnel_through_a_parent() {
    let origin = named("inside the tunnel");
    let parent = forward("");
    let child = forward(&format!(
        "never_direct allow all\n{}",
        proxy_peer(&parent, "")
    ));
    let mut client = client(&child);
    let answer = client.request("CONNECT", &origin.addr().to_string(), &[]);
    assert_eq!(answer.status, 200);
    assert_eq!(client.get("/").text(), "inside the tunnel");
    drop(client);
    for program in [&parent, &child] {
        program.wait_for_log(|line| line.contains("TCP_TUNNEL/200"));
    }
}

/// A parent that refuses the tunnel refuses it for the client.
#[test]
fn a_parent_that_refuses() {
    let parent = Program::start("http_access deny all");
    let child = forward(&format!(
        "never_direct allow all\n{}",
        proxy_peer(&parent, "")
    ));
    let mut tunnel = client(&child);
    tunnel.send_request("CONNECT", "127.0.0.1:1", &[]);
    assert_eq!(tunnel.response().status, 403);
    assert_eq!(client(&child).get("http://127.0.0.1:1/").status, 403);
}

/// `never_direct` without a parent that is up is an error, not a way around it.
#[test]
fn never_direct_means_it() {
    let origin = named("x");
    let program = forward("never_direct allow all");
    let answer = client(&program).get(&origin.url("/"));
    assert_eq!(answer.status, 500);
    assert!(
        answer
            .field("X-Squid-Error")
            .unwrap()
            .starts_with("ERR_CANNOT_FORWARD")
    );
    assert_eq!(origin.total(), 0);
}

/// `always_direct` goes past the parent; `prefer_direct` tries the origin first; else the parent is first and the
/// origin the way out when it is dead.
#[test]
fn direct_or_not() {
    let origin = named("origin");
    let parent = named("parent");
    let peer = format!("cache_peer 127.0.0.1 parent {} 0 no-query\n", parent.port());
    for (conf, expected) in [
        ("", "parent"),
        ("always_direct allow all", "origin"),
        ("prefer_direct on", "origin"),
        (
            "acl local dst 127.0.0.0/8\nalways_direct allow local",
            "origin",
        ),
    ] {
        let program = forward(&format!("{peer}{conf}"));
        assert_eq!(
            client(&program).get(&origin.url("/")).text(),
            expected,
            "{conf}"
        );
    }
    parent.stop();
    let program = forward(&peer);
    assert_eq!(client(&program).get(&origin.url("/")).text(), "origin");
}

/// One of two origins dies while many clients ask: not one of them sees it. The log tells of the death, and of the
/// return once it is back and has its share again.
#[test]
fn one_of_two_origins_dies() {
    let reply = |_: &Request| Reply::ok("fine").field("Cache-Control", "no-store");
    let (mortal, other) = (Origin::start(reply), Origin::start(reply));
    let conf = origin_peer(&mortal, "name=mortal round-robin")
        + &origin_peer(&other, "name=other round-robin");
    let program = accelerator("vhost", &conf);
    let addr = program.addr();
    let (over, done) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let load: Vec<_> = (0..8)
        .map(|number| {
            let (over, done) = (Arc::clone(&over), Arc::clone(&done));
            thread::spawn(move || {
                let mut client = Client::connect(addr);
                let mut round = 0;
                while !over.load(Ordering::Relaxed) {
                    let answer = ask(&mut client, &format!("/{number}/{round}"));
                    assert_eq!((answer.status, answer.text().as_str()), (200, "fine"));
                    done.fetch_add(1, Ordering::Relaxed);
                    round += 1;
                }
            })
        })
        .collect();
    let progress = |more: usize| {
        let before = done.load(Ordering::Relaxed);
        until("progress", || {
            let now = done.load(Ordering::Relaxed);
            let dead = load.iter().any(thread::JoinHandle::is_finished);
            (now >= before + more || dead).then_some(())
        });
    };
    progress(200);
    assert!(mortal.total() > 0);
    mortal.stop();
    progress(500);
    until("the word of its death", || {
        program
            .read("cache.log")
            .contains("Detected DEAD Parent: mortal")
            .then_some(())
    });
    progress(200);
    let back = Origin::start_on(mortal.port(), reply);
    until("its return", || (back.total() > 0).then_some(()));
    progress(200);
    over.store(true, Ordering::Relaxed);
    for thread in load {
        thread.join().unwrap();
    }
    assert!(
        program
            .read("cache.log")
            .contains("Detected REVIVED Parent: mortal")
    );
}

/// A configuration as people have it: two nginx-like origins, a site, everything else refused; lines for what is
/// still to come are answered by a warning each, not by an end.
#[test]
fn lines_that_are_yet_to_come() {
    let (one, two) = (named("one"), named("two"));
    let conf = origin_peer(&one, "name=a round-robin")
        + &origin_peer(&two, "name=b round-robin")
        + "acl site dstdomain site.example
cache_peer_access a allow site
cache_peer_access b allow site
cache_peer 127.0.0.1 sibling {port2} {port3} proxy-only
digest_generation on
";
    let program = accelerator("vhost defaultsite=site.example", &conf);
    let shares = shares(&program, 10);
    assert_eq!((shares["one"], shares["two"]), (5, 5));
    let log = program.read("cache.log");
    for directive in ["sibling", "digest"] {
        let told = log
            .lines()
            .filter(|line| line.contains("WARNING") && line.contains(directive))
            .count();
        assert_eq!(told, 1, "{directive}: {log}");
    }
}

/// `proxy-only`: what the peer answers is passed on and not stored.
#[test]
fn proxy_only() {
    let origin = Origin::start(|_: &Request| Reply::ok("x").field("Cache-Control", "max-age=600"));
    for (options, asked) in [("proxy-only", 2), ("", 1)] {
        let before = origin.total();
        let program = accelerator("vhost", &origin_peer(&origin, options));
        let mut client = client(&program);
        for _ in 0..2 {
            assert_eq!(ask(&mut client, "/").status, 200);
        }
        assert_eq!(origin.total() - before, asked, "{options}");
    }
}
