//! Pages of our own: who may see them by whatever spelling, and whether their figures are those that clients count.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use testkit::{Client, Origin, Program, Reply, Request, Response, until};

use crate::support::{Entry, accelerator, client};

const FOREIGN: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Only this host may see the pages; everyone may use the proxy.
const RULES: &str = "visible_hostname proxy.test
unique_hostname unique.test
hostname_aliases alias.test
manager_port 127.0.0.1:{port2}
http_access allow localhost manager
http_access deny manager
http_access allow all
workers 1";

/// The second port that a configuration was given.
fn second_port(program: &Program) -> u16 {
    let conf = program.read("squid.conf");
    let line = conf
        .lines()
        .find_map(|line| line.strip_prefix("manager_port 127.0.0.1:"));
    line.unwrap().trim().parse().unwrap()
}

fn page(program: &Program, name: &str) -> Response {
    client(program).get(&format!("/squid-internal-mgr/{name}"))
}

fn json(program: &Program, name: &str) -> serde_json::Value {
    let response = page(program, &format!("{name}?format=json"));
    assert_eq!(response.status, 200, "{name}: {}", response.text());
    serde_json::from_slice(response.body()).unwrap()
}

/// Whatever the spelling, this host gets the page, and others get 403 (with `Host` and without, by names, addresses and
/// detours through the proxy itself).
#[test]
fn a_foreign_client_gets_no_page_by_any_spelling() {
    let program = Program::start(RULES);
    let (port, second) = (program.port(), second_port(&program));
    let ours = [
        "/squid-internal-mgr/menu".to_owned(),
        "/squid-internal-mgr/".to_owned(),
        "/squid-internal-mgr".to_owned(),
        "/squid-internal-mgr/m%65nu?x=1".to_owned(),
        format!("http://proxy.test:{port}/squid-internal-mgr/menu"),
        format!("http://PROXY.test:{port}/squid-internal-mgr/menu"),
        format!("http://unique.test:{port}/squid-internal-mgr/menu"),
        format!("http://alias.test:{port}/squid-internal-mgr/menu"),
        format!("http://alias.test:{second}/squid-internal-mgr/menu"),
        format!("http://127.0.0.1:{port}/squid-internal-mgr/menu"),
        "cache_object://proxy.test/menu".to_owned(),
        "CACHE_object://anywhere/menu".to_owned(),
        format!("cache_object://127.0.0.1:{port}/menu@password"),
    ];
    for url in &ours {
        assert_eq!(client(&program).get(url).status, 200, "{url}");
    }
    let detours = [
        "/metrics".to_owned(),
        "/healthz".to_owned(),
        "/readyz?x".to_owned(),
        "/squall".to_owned(),
        "/squall/app.js".to_owned(),
        format!("http://localhost:{port}/squid-internal-mgr/menu"),
        format!("http://localhost:{port}/metrics"),
        format!("http://127.0.0.1:{port}/metrics"),
        format!("http://0.0.0.0:{port}/metrics"),
        format!("http://[::ffff:127.0.0.1]:{port}/metrics"),
        format!("http://127.0.0.1:{second}/menu"),
        format!("http://localhost:{second}/metrics"),
    ];
    for url in ours.iter().chain(&detours) {
        let mut foreign = Client::connect_from(FOREIGN, program.addr());
        let answer = foreign.get(url);
        assert_eq!(answer.status, 403, "{url}: {}", answer.text());
        assert!(!answer.text().contains("Cache Manager Menu"), "{url}");
    }
    for target in [format!("127.0.0.1:{port}"), format!("localhost:{second}")] {
        let mut foreign = Client::connect_from(FOREIGN, program.addr());
        assert_eq!(
            foreign.request("CONNECT", &target, &[]).status,
            403,
            "{target}"
        );
    }
    let at_second = SocketAddr::new(program.addr().ip(), second);
    for path in ["/menu", "/metrics", "/squid-internal-mgr/menu", "/"] {
        let mut foreign = Client::connect_from(FOREIGN, at_second);
        assert_eq!(foreign.get(path).status, 403, "{path}");
    }
}

/// The rules that Squid comes with let this host see its pages, as squidclient and others ask for them.
#[test]
fn stock_rules_let_this_host_in() {
    let program = Program::start(
        "acl SSL_ports port 443
acl Safe_ports port 80 443 1025-65535
http_access deny !Safe_ports
http_access deny CONNECT !SSL_ports
http_access allow localhost manager
http_access deny manager
http_access deny all",
    );
    let port = program.port();
    for url in [
        "cache_object://localhost/info".to_owned(),
        format!("cache_object://localhost:{port}/info"),
        "/squid-internal-mgr/info".to_owned(),
        format!("http://localhost:{port}/squid-internal-mgr/info"),
        format!("http://127.0.0.1:{port}/squid-internal-mgr/info"),
        "/metrics".to_owned(),
        "/squall/".to_owned(),
    ] {
        assert_eq!(client(&program).get(&url).status, 200, "{url}");
    }
}

/// Hosts that aren't ours have pages of their own under the same path.
#[test]
fn other_hosts_keep_their_pages() {
    let origin = Origin::start(|request: &Request| Reply::ok(&request.target));
    let program = Program::start("http_access allow all");
    let url = origin.url("/squid-internal-mgr/info");
    assert_eq!(
        client(&program).get(&url).text(),
        "/squid-internal-mgr/info"
    );
    let refused = client(&program).get("/other");
    assert_eq!(refused.status, 400, "a proxy port has no other paths");
    let peer = format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query originserver",
        origin.port()
    );
    let program = accelerator("defaultsite=site.test", &peer);
    let ours = client(&program).get("/squid-internal-mgr/menu");
    assert!(ours.text().contains("Cache Manager Menu"), "by our address");
    for path in ["/squid-internal-mgr/menu", "/metrics"] {
        let fields = [("Host", "site.test")];
        let theirs = client(&program).request("GET", path, &fields);
        assert_eq!(theirs.text(), path, "by the site's name");
    }
}

/// A `manager_port` has pages under their short names, and nothing else; `/` leads to the dashboard.
#[test]
fn a_port_of_its_own() {
    let program = Program::start(RULES);
    let at = SocketAddr::new(program.addr().ip(), second_port(&program));
    let get = |path: &str| Client::connect(at).get(path);
    assert_eq!(get("/menu").status, 200);
    assert_eq!(get("/squid-internal-mgr/menu").text(), get("/menu").text());
    assert_eq!(get("cache_object://x/menu").status, 200);
    assert_eq!(get("http://elsewhere.test/menu").status, 200);
    let front = get("/");
    assert_eq!(
        (front.status, front.field("Location")),
        (302, Some("/squall/"))
    );
    assert_eq!(get("/nothing").status, 404);
    let tunnel = Client::connect(at).request("CONNECT", "127.0.0.1:80", &[]);
    assert_eq!(tunnel.status, 405);
    let program = Program::start(
        "manager_port 127.0.0.1:{port2}\nacl other src 127.0.0.2\nmanager_access allow other",
    );
    let at = SocketAddr::new(program.addr().ip(), second_port(&program));
    assert_eq!(Client::connect(at).get("/menu").status, 403);
    assert_eq!(Client::connect_from(FOREIGN, at).get("/menu").status, 200);
}

/// A page goes to HTTP/1.0 without chunks, is stored by nobody, and has no content for HEAD.
#[test]
fn a_page_is_a_plain_reply() {
    let program = Program::start(RULES);
    let mut old = client(&program);
    old.send("GET cache_object://proxy.test/menu HTTP/1.0\r\n\r\n");
    let answer = old.response();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.field("Transfer-Encoding"), None);
    assert_eq!(answer.field("Content-Length"), None);
    assert_eq!(
        answer.field("Content-Type"),
        Some("text/plain;charset=utf-8")
    );
    assert_eq!(answer.field("Cache-Control"), Some("no-cache, no-store"));
    assert!(
        answer
            .text()
            .contains("\n menu                  \tCache Manager Menu")
    );
    old.expect_close();
    let head = client(&program).request("HEAD", "/squid-internal-mgr/menu", &[]);
    assert_eq!((head.status, head.body().len()), (200, 0));
    let fields = [("Origin", "http://other.test")];
    let shared = client(&program).request("GET", "/squid-internal-mgr/menu", &fields);
    assert_eq!(
        shared.field("Access-Control-Allow-Origin"),
        Some("http://other.test")
    );
    let missing = page(&program, "nothing");
    assert_eq!(missing.status, 404);
    assert!(missing.text().contains("ERR_INVALID_URL") || missing.text().contains("Invalid URL"));
    let deleted = client(&program).request("DELETE", "/squid-internal-mgr/menu", &[]);
    assert_eq!(deleted.status, 405);
    let logged = program.wait_for_log(|line| line.contains("cache_object"));
    let logged = Entry::of(&logged);
    assert_eq!(logged.url, "cache_object://proxy.test/menu");
    assert_eq!(
        (&*logged.hierarchy, &*logged.kind),
        ("HIER_NONE/-", "text/plain")
    );
}

/// `cachemgr_passwd`: disabled and hidden actions aren't there, a password is asked for by its action's name, and is
/// taken from the URL, too; it is in no log.
#[test]
fn actions_may_have_passwords() {
    let program = Program::start(
        "cachemgr_passwd disable offline_toggle
cachemgr_passwd hunter2 shutdown counters
cachemgr_passwd none reconfigure
http_access allow all
visible_hostname proxy.test",
    );
    let status = |url: &str| client(&program).get(url).status;
    assert_eq!(page(&program, "offline_toggle").status, 404);
    assert_eq!(
        page(&program, "rotate").status,
        404,
        "hidden without a line"
    );
    let refused = page(&program, "counters");
    assert_eq!(refused.status, 401);
    assert_eq!(
        refused.field("WWW-Authenticate"),
        Some("Basic realm=\"counters\"")
    );
    assert_eq!(status("cache_object://proxy.test/counters@wrong"), 401);
    assert_eq!(status("cache_object://proxy.test/counters@hunter2"), 200);
    let login = |password: &str| {
        let token = format!("Basic {}", STANDARD.encode(format!("me:{password}")));
        let fields = [("Authorization", &*token)];
        let mut client = client(&program);
        client
            .request("GET", "/squid-internal-mgr/counters", &fields)
            .status
    };
    assert_eq!(
        (login("hunter2"), login("hunter"), login("")),
        (200, 401, 401)
    );
    let menu = page(&program, "menu").text();
    for (action, word) in [
        ("offline_toggle", "disabled"),
        ("shutdown", "protected"),
        ("counters", "protected"),
        ("reconfigure", "public"),
        ("rotate", "hidden"),
        ("info", "public"),
    ] {
        let line = menu
            .lines()
            .find(|line| line.split_whitespace().next() == Some(action));
        assert_eq!(
            line.unwrap().split('\t').next_back(),
            Some(word),
            "{action}"
        );
    }
    program.wait_for_log_lines(8);
    let logs = program.read("access.log") + &program.read("cache.log");
    assert!(!logs.contains("hunter2"), "{logs}");
    assert!(!page(&program, "config").text().contains("hunter2"));
}

/// `reconfigure`, `rotate`, `offline_toggle` and `shutdown` do what they say.
#[test]
fn actions_act() {
    let origin = Origin::start(|_: &Request| {
        let reply = Reply::ok("x").field("Cache-Control", "max-age=0");
        reply.field("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
    });
    let mut program = Program::start("cachemgr_passwd none all\nhttp_access allow all");
    let url = origin.url("/");
    let said = |name: &str| page(&program, name).text();
    for _ in 0..2 {
        client(&program).get(&url);
    }
    assert_eq!(said("offline_toggle"), "offline_mode is now ON\n");
    client(&program).get(&url);
    assert_eq!(origin.total(), 2, "what is stored isn't validated any more");
    assert_eq!(said("offline_toggle"), "offline_mode is now OFF\n");
    client(&program).get(&url);
    assert_eq!(origin.total(), 3);
    assert_eq!(said("rotate"), "Rotating Squid Process Logs ....");
    until("a rotated log", || {
        program.dir().join("access.log.0").exists().then_some(())
    });
    assert_eq!(said("reconfigure"), "Reconfiguring Squid Process ....");
    until("a reload", || {
        program
            .read("cache.log")
            .contains("Reconfigured.")
            .then_some(())
    });
    assert_eq!(said("shutdown"), "");
    assert!(program.wait().success());
}

/// Requests, hits, errors and bytes on the pages are exactly those that a client has counted.
#[test]
fn figures_are_those_of_the_client() {
    let origin = Origin::start(|request: &Request| {
        let length = 1000 * request.target.len();
        Reply::ok(vec![b'x'; length]).field("Cache-Control", "max-age=600")
    });
    let program = Program::start(
        "http_access allow all\nworkers 1\nacl no dstdomain no.test\nhttp_access deny no",
    );
    let mut client = client(&program);
    let (mut requests, mut bytes_out, mut hits, mut hit_bytes) = (0_u64, 0, 0, 0);
    for round in 0..5 {
        for path in ["/a", "/bb", "/ccc"] {
            let answer = client.get(&origin.url(path));
            let bytes = answer.head.raw.len() as u64 + answer.content.len;
            requests += 1;
            bytes_out += bytes;
            if round > 0 {
                hits += 1;
                hit_bytes += bytes;
            }
        }
    }
    let counters = json(&program, "counters");
    let traffic = &counters["client_http"];
    let number = |name: &str| traffic[name].as_u64().unwrap();
    assert_eq!(number("requests"), requests);
    assert_eq!(number("hits"), hits);
    assert_eq!(number("bytes_out"), bytes_out);
    assert_eq!(number("hit_bytes_out"), hit_bytes);
    assert_eq!(number("errors"), 0);
    assert_eq!(counters["server"]["http"]["requests"].as_u64(), Some(3));
    assert_eq!(counters["server"]["all"]["requests"].as_u64(), Some(3));
    // The page itself counts once it is sent.
    let info = json(&program, "info");
    assert_eq!(info["requests"].as_u64(), Some(requests + 1));
    assert_eq!(info["clients"].as_u64(), Some(1));
    let share = info["hit_ratios_5min"]["requests"].as_f64().unwrap();
    assert!((share - 100.0 * hits as f64 / (requests + 1) as f64).abs() < 1e-9);
    let text = page(&program, "info").text();
    assert!(
        text.contains(&format!(
            "\tNumber of HTTP requests received:\t{}\n",
            requests + 2
        )),
        "{text}"
    );
}

/// `stats_collection`: what isn't to be counted isn't.
#[test]
fn some_requests_may_count_for_nothing() {
    let origin = Origin::start(|_: &Request| Reply::ok("x"));
    let program = Program::start(
        "http_access allow all\nworkers 1\nacl quiet urlpath_regex ^/quiet\nstats_collection deny quiet",
    );
    let mut client = client(&program);
    for path in ["/quiet", "/loud", "/quiet"] {
        client.get(&origin.url(path));
    }
    let counters = json(&program, "counters");
    assert_eq!(counters["client_http"]["requests"].as_u64(), Some(1));
    program.wait_for_log_lines(3);
}

/// Every page has a text and a JSON form, named in the URL or by `Accept`.
#[test]
fn every_page_has_two_forms() {
    let program = Program::start("cachemgr_passwd none config\nhttp_access allow all");
    let menu = json(&program, "menu");
    let names = menu
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["protection"] == "public");
    let names: Vec<&str> = names.map(|item| item["action"].as_str().unwrap()).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let path = format!("/squid-internal-mgr/{name}");
        let plain = client(&program).get(&path);
        // The dashboard is a folder, and leads there.
        let expected = if name == "squall" { 302 } else { 200 };
        assert_eq!(plain.status, expected, "{name}");
        let fields = [("Accept", "application/json")];
        let other = client(&program).request("GET", &path, &fields);
        if other.field("Content-Type") == Some("application/json") {
            serde_json::from_slice::<serde_json::Value>(other.body()).unwrap();
            let kind = plain.field("Content-Type");
            assert_eq!(kind, Some("text/plain;charset=utf-8"), "{name}");
        }
    }
}

/// Debian's squidclient, both of whose ways of asking work: `mgr:` and a password behind `@`.
#[test]
fn squidclient_reads_the_pages() {
    let program = Program::start("cachemgr_passwd hunter2 config\nhttp_access allow all");
    let ask = |words: &[&str]| {
        let port = program.port().to_string();
        let mut command = Command::new("squidclient");
        command.args(["-h", "127.0.0.1", "-p", &port]).args(words);
        let output = command.output().expect("squidclient is installed");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for (action, line) in [
        ("info", "\tNumber of HTTP requests received:\t"),
        ("counters", "client_http.requests = "),
        ("5min", "client_http.requests = "),
        ("60min", "client_http.requests = "),
        ("utilization", "Cache Utilisation:"),
        (
            "service_times",
            "Service Time Percentiles            5 min    60 min:",
        ),
        ("histograms", "client_http.allSvcTime histogram:"),
        ("io", "HTTP I/O"),
        ("storedir", "Store Directory Statistics:"),
        ("menu", "General Runtime Information"),
    ] {
        let text = ask(&[&format!("mgr:{action}")]);
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{action}: {text}");
        assert!(text.contains(line), "{action}: {text}");
    }
    assert!(ask(&["mgr:config"]).starts_with("HTTP/1.1 401"));
    assert!(ask(&["mgr:config@hunter2"]).contains("http_access allow all"));
    assert!(ask(&["-U", "me", "-W", "hunter2", "mgr:config"]).starts_with("HTTP/1.1 200"));
}

/// Debian's cachemgr.cgi shows the menu with what protects each page, a page as a table, and asks for a password.
#[test]
fn cachemgr_cgi_shows_the_pages() {
    let program = Program::builder("cachemgr_passwd hunter2 config\nhttp_access allow all")
        .file("cachemgr.conf", "127.0.0.1:*\n")
        .start();
    let ask = |operation: &str| {
        let port = program.port();
        let query = format!("host=127.0.0.1&port={port}&user_name=me&operation={operation}&auth=");
        let mut command = Command::new("/usr/lib/cgi-bin/cachemgr.cgi");
        command.env_clear().current_dir(program.dir());
        command
            .env("REQUEST_METHOD", "GET")
            .env("QUERY_STRING", query);
        let output = command.output().expect("cachemgr.cgi is installed");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let menu = ask("menu");
    let (head, page) = menu.split_once("\r\n\r\n").expect(&menu);
    assert!(
        head.contains("Status: 200") && !head.contains("Content-Length"),
        "{head}"
    );
    assert!(page.contains("General Runtime Information</A>"), "{page}");
    assert!(
        page.contains("Shut Down the Squid Process (hidden)"),
        "{page}"
    );
    assert!(
        page.contains("Current Squid Configuration (requires <a"),
        "{page}"
    );
    let info = ask("info");
    assert!(info.contains("Start Time:</td>"), "{info}");
    assert!(ask("counters").contains("client_http.requests = "));
    assert!(!ask("config").contains("http_access allow all"));
}
