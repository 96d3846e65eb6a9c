//! Manager pages about what goes on now: with clients, peers, names, helpers and pools that are there.

use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use testkit::{Client, Gate, NameServer, Origin, Program, Reply, Request, until};

use crate::support::{client, forward};

fn page(program: &Program, name: &str) -> String {
    let answer = client(program).get(&format!("/squid-internal-mgr/{name}"));
    assert_eq!(answer.status, 200, "{name}: {}", answer.text());
    answer.text()
}

fn json(program: &Program, name: &str) -> Value {
    serde_json::from_str(&page(program, &format!("{name}?format=json"))).unwrap()
}

/// The page, once it has the words: what a client was told may come before it is counted.
#[track_caller]
fn page_with(program: &Program, name: &str, words: &[&str]) -> String {
    until(&format!("{words:?} on {name}"), || {
        let text = page(program, name);
        words.iter().all(|word| text.contains(word)).then_some(text)
    })
}

/// `/stored…` may be stored.
fn origin() -> Origin {
    Origin::start(|request: &Request| {
        let stored = request.target.starts_with("/stored");
        let control = if stored { "max-age=600" } else { "no-store" };
        Reply::ok("content").field("Cache-Control", control)
    })
}

/// A helper that agrees with everything, in a folder that it may be run from.
fn helper(dir: &std::path::Path, answer: &str) -> String {
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = dir.join("helper");
    std::fs::write(
        &path,
        format!("#!/bin/sh\nwhile read -r line; do echo {answer}; done\n"),
    )
    .unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Every page of the menu can be had, as a text and as JSON.
#[test]
fn every_page_of_the_menu_is_there_in_both_forms() {
    let program = forward("cachemgr_passwd none all\n");
    let menu = page(&program, "menu");
    let names = menu.lines().filter_map(|line| line.split('\t').next());
    let names: Vec<_> = names.map(str::trim).collect();
    assert!(names.len() > 50, "{names:?}");
    let actions = ["shutdown", "reconfigure", "rotate", "offline_toggle"];
    let raw = ["index", "metrics", "healthz", "readyz", "squall"];
    for name in names {
        if !actions.contains(&name) && !raw.contains(&name) {
            page(&program, name);
            json(&program, name);
        }
    }
}

/// `client_list`: each client with its requests by result, and all together.
#[test]
fn clients_are_listed_with_what_came_of_their_requests() {
    let origin = origin();
    let program = Program::builder("http_access allow all\nhosts_file {dir}/hosts")
        .file("hosts", "127.0.0.1 here.example\n")
        .start();
    let mut one = client(&program);
    one.get(&origin.url("/stored"));
    one.get(&origin.url("/stored"));
    one.get(&origin.url("/other"));
    let mut two = Client::connect_from("127.0.0.2".parse().unwrap(), program.addr());
    two.get(&origin.url("/stored"));
    let second = "Address: 127.0.0.2\nCurrently established connections: 1\n    ICP  Requests 0\n    \
                  HTTP Requests 1\n        TCP_MEM_HIT                1 100%\n\n";
    let text = page_with(&program, "client_list", &[second]);
    let first = "Cache Clients:\nAddress: 127.0.0.1\nName:    here.example\n";
    assert!(text.starts_with(first), "{text}");
    assert!(
        text.contains("        TCP_MEM_HIT                1 "),
        "{text}"
    );
    assert!(
        text.contains("\n\nTOTALS\nICP : 0 Queries, 0 Hits (  0%)\nHTTP: "),
        "{text}"
    );
    assert!(text.contains(" Requests, 2 Hits ("), "{text}");
}

/// `active_requests` and `filedescriptors`: a request that waits for its origin is there, with its connection, until it
/// is answered.
#[test]
fn requests_under_way_are_listed_with_their_descriptors() {
    let gate = Gate::new();
    let shut = gate.clone();
    let origin = Origin::start(move |_: &Request| {
        shut.pass();
        Reply::ok("late")
    });
    let program = forward("");
    let mut waiting = client(&program);
    let url = origin.url("/slow");
    waiting.send_request("GET", &url, &[]);
    gate.wait_for_arrivals(1);
    let remote = waiting.local_addr().unwrap();
    let text = page(&program, "active_requests");
    assert!(text.contains(&format!("uri {url}\nmethod GET\n")), "{text}");
    assert!(text.contains(&format!("\tremote: {remote}\n")), "{text}");
    let text = page(&program, "filedescriptors");
    let is_it = |line: &&str| line.contains(&remote.to_string()) && line.ends_with(&url);
    assert!(
        text.lines()
            .any(|line| is_it(&line) && line.contains(" Socket ")),
        "{text}"
    );
    let server = format!("{:<21} server connection", origin.addr());
    assert!(text.contains(&server), "{text}");
    assert!(text.contains(" HTTP Socket\n"), "{text}");
    gate.open();
    assert_eq!(waiting.response().text(), "late");
    until("the request to be gone", || {
        (!page(&program, "active_requests").contains(&url)).then_some(())
    });
}

/// `server_list`: peers by state, with what was sent to them.
#[test]
fn peers_are_listed_dead_or_alive() {
    let origin = origin();
    let gone = Origin::simple([]);
    let dead = gone.port();
    drop(gone);
    let program = forward(&format!(
        "cache_peer 127.0.0.1 parent {dead} 0 no-query name=first connect-fail-limit=1\n\
         cache_peer localhost parent {} 0 no-query originserver name=second login=joe:secret\n\
         never_direct allow all\nno_cache deny all\nconnect_retries 0\n",
        origin.port()
    ));
    let mut client = client(&program);
    for _ in 0..2 {
        assert_eq!(client.get("http://site.example/x").status, 200);
    }
    let second = format!("Host       : localhost/{}/0\n", origin.port());
    let text = page_with(&program, "server_list", &["FETCHES    : 2\n"]);
    let (one, two) = text.split_once("\nParent     : second\n").unwrap();
    assert!(
        one.starts_with(&format!(
            "\nParent     : first\nHost       : 127.0.0.1/{dead}/0\n"
        )),
        "{one}"
    );
    assert!(
        one.contains("\nAddress[0] : 127.0.0.1\nStatus     : Down\nFETCHES    : 0\n"),
        "{one}"
    );
    assert!(one.contains("\nLast failed connect() at: "), "{one}");
    assert!(two.starts_with(&second), "{two}");
    assert!(
        two.contains("login=joe:***") && !text.contains("secret"),
        "{two}"
    );
    assert!(two.contains("\nStatus     : Up\nFETCHES    : 2\n"), "{two}");
    assert!(two.ends_with("keep-alive ratio: 100%\n"), "{two}");
    let rows = json(&program, "server_list");
    assert_eq!(
        (&rows[0]["up"], &rows[1]["fetches"]),
        (&Value::Bool(false), &Value::from(2))
    );
}

/// `ipcache`, `fqdncache`, `idns`: names that were asked for, that don't exist, and those of the hosts file.
#[test]
fn names_are_listed_with_their_addresses() {
    let origin = origin();
    let server = NameServer::start(|name: &str| match name {
        "site.example" => vec!["127.0.0.1"],
        _ => Vec::new(),
    });
    let conf = "http_access allow all\nhosts_file {dir}/hosts\ndns_nameservers {server}\n\
                positive_dns_ttl 1 hour\nnegative_dns_ttl 1 hour\nworkers 1\n";
    let program = Program::builder(conf)
        .with("server", server.addr())
        .file("hosts", "127.0.0.1 here.example\n")
        .start();
    let mut client = client(&program);
    for host in ["site.example", "here.example"] {
        let url = format!("http://{host}:{}/x", origin.port());
        assert_eq!(client.get(&url).status, 200);
    }
    assert_eq!(client.get("http://nowhere.example/").status, 503);
    let text = page(&program, "ipcache");
    assert!(
        text.starts_with("IP Cache Statistics:\nIPcache Entries Cached:  3\n"),
        "{text}"
    );
    let line = |name: &str| {
        text.lines()
            .find(|line| line.trim_start().starts_with(name))
            .unwrap()
    };
    assert!(
        line("here.example")
            .ends_with("     -1  1( 0)                                     127.0.0.1-OK "),
        "{text}"
    );
    assert!(
        line("site.example").ends_with("  1( 0)                                     127.0.0.1-OK "),
        "{text}"
    );
    assert!(
        line("nowhere.example").contains(" N ") && line("nowhere.example").ends_with("  0( 0)"),
        "{text}"
    );
    let counts = json(&program, "ipcache");
    assert_eq!(
        (&counts["requests"], &counts["hits"], &counts["misses"]),
        (&3.into(), &1.into(), &2.into())
    );
    let text = page(&program, "fqdncache");
    assert!(
        text.contains(
            "\n127.0.0.1                                       H -001   1 here.example\n"
        ),
        "{text}"
    );
    let servers = &json(&program, "idns")["name_servers"];
    assert_eq!(servers[0]["address"], server.addr().to_string());
    assert!(servers[0]["queries"].as_u64().unwrap() >= 2, "{servers}");
}

/// The pages of helpers: what they were asked, and whom they have let in.
#[test]
fn helpers_are_listed_with_what_they_were_asked() {
    let origin = origin();
    let dir = tempfile::tempdir().unwrap();
    let helper = helper(dir.path(), "OK");
    let program = Program::start(&format!(
        "auth_param basic program {helper}\nauth_param basic children 2 startup=1 idle=1\n\
         external_acl_type class children-max=2 children-startup=1 %SRC %PATH {helper}\n\
         acl class external class\nacl user proxy_auth REQUIRED\n\
         http_access allow manager\nhttp_access allow user class\nhttp_access deny all\n"
    ));
    let credentials = format!("Basic {}", STANDARD.encode("ann:secret"));
    let fields = [("Proxy-Authorization", credentials.as_str())];
    let mut client = client(&program);
    for path in ["/a", "/b"] {
        let answer = client.request("GET", &origin.url(path), &fields);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let text = page(&program, "basicauthenticator");
    let head = format!(
        "Basic Authenticator Statistics:\n  program: {helper}\n  number active: 1 of 2 (0 shutting down)\n  \
         requests sent: 1\n  replies received: 1\n  requests timedout: 0\n  queue length: 0\n"
    );
    assert!(text.starts_with(&head), "{text}");
    let text = page(&program, "external_acl");
    let head = format!("External ACL Statistics: class\nCache size: 2\n  program: {helper}\n");
    assert!(
        text.starts_with(&head) && text.contains("\n  requests sent: 2\n"),
        "{text}"
    );
    let text = page(&program, "username_cache");
    assert!(
        text.starts_with("Cached Usernames: 1\n") && text.contains("\nAUTH_BASIC      Ok "),
        "{text}"
    );
    assert!(text.ends_with(" ann\tann\n"), "{text}");
    assert_eq!(page(&program, "redirector"), "No redirectors defined\n");
}

/// `delay`: a bucket that was taken from isn't full.
#[test]
fn delay_pools_are_listed_with_their_buckets() {
    let origin = origin();
    let program = forward(
        "delay_pools 2\ndelay_class 1 2\ndelay_parameters 1 none 1/1000000\ndelay_access 1 allow all\n\
         delay_class 2 1\ndelay_parameters 2 8000/16000\ndelay_access 2 deny all\n\
         delay_initial_bucket_level 100\n",
    );
    client(&program).get(&origin.url("/x"));
    let text = page(&program, "delay");
    let head = "Delay pools configured: 2\n\nPool: 1\n\tClass: 2\n\n\tAggregate:\n\t\tDisabled.\n\n\t\
                Individual:\n\t\tMax: 1000000\n\t\tRestore: 1\n\t\tCurrent: 1:999";
    assert!(text.starts_with(head), "{text}");
    let tail = "\n\nPool: 2\n\tClass: 1\n\n\tAggregate:\n\t\tMax: 16000\n\t\tRestore: 8000\n\t\tCurrent: 16000\n\n";
    assert!(text.ends_with(tail), "{text}");
}

/// What is stored, what hops have answered and which fields came, over all workers.
#[test]
fn misses_and_what_they_left_are_listed() {
    let origin = origin();
    let program = forward("");
    let mut client = client(&program);
    let via = [("Via", "1.0 far.example"), ("X-Forwarded-For", "192.0.2.9")];
    client.request("GET", &origin.url("/stored/a"), &via);
    client.get(&origin.url("/stored/a"));
    client.get(&origin.url("/other"));
    let text = page(&program, "objects");
    assert!(
        text.contains(&format!("\tGET {}\n", origin.url("/stored/a"))),
        "{text}"
    );
    assert!(
        text.starts_with("KEY ") && text.contains("\n\tSTORE_OK      IN_MEMORY "),
        "{text}"
    );
    assert_eq!(
        json(&program, "objects")["objects"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(page(&program, "pending_objects"), "");
    let text = page(&program, "forward");
    assert!(
        text.ends_with("\n200\t2\t0\t0\t0\t0\t0\t0\t0\t0\t0\n"),
        "{text}"
    );
    assert_eq!(page(&program, "via_headers"), "        1 1.0 far.example\n");
    assert_eq!(page(&program, "forw_headers"), "        1 192.0.2.9\n");
    let text = page(&program, "http_headers");
    assert!(
        text.contains("\t Via                 \t     1\t   0.50\n"),
        "{text}"
    );
    assert!(text.contains("\nHeaders Parsed: 2 + 2 = 4\n"), "{text}");
    let text = page(&program, "store_check_cachable_stats");
    assert!(
        text.contains("\nno.no_store\t1\n") && text.ends_with("\nyes.default\t1\n"),
        "{text}"
    );
}

/// `pconn`: connections tell how many requests they carried once they are closed.
#[test]
fn connections_tell_how_many_requests_they_carried() {
    let origin = origin();
    let program = forward("");
    let mut three = client(&program);
    for path in ["/a", "/b", "/c"] {
        three.get(&origin.url(path));
    }
    let text = page(&program, "pconn");
    let item = format!("\t item {}: 1 idle of 1 open\n", origin.addr());
    assert!(text.contains(&item), "{text}");
    drop(three);
    origin.disconnect();
    page_with(
        &program,
        "pconn",
        &["\t   3\t\t   1\n\n Pool 0 Hash Table\n"],
    );
    let clients = json(&program, "pconn")["client_connections"].clone();
    let clients = clients.as_array().unwrap();
    assert!(
        clients.iter().any(|row| row["requests"] == 3),
        "{clients:?}"
    );
}
