//! `/metrics`, `/healthz` and `/readyz` of the real program.

use std::io::Write as _;
use std::process::{Command, Stdio};

use testkit::{Client, Origin, Program, Reply, Response, free_port, until};

const CONF: &str = "http_access allow all\nworkers 1\n";

fn get(program: &Program, page: &str, accept: &str) -> Response {
    Client::connect(program.addr()).request("GET", page, &[("Accept", accept)])
}

/// The value of a sample.
fn sample(text: &str, name: &str) -> f64 {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in:\n{text}"))
        .parse()
        .unwrap()
}

/// A program that has answered five requests, four of them from memory.
fn busy() -> (Program, Origin) {
    let origin = Origin::start(|_| Reply::ok("x").field("Cache-Control", "max-age=60"));
    let program = Program::start(CONF);
    let mut client = Client::connect(program.addr());
    for _ in 0..5 {
        client.get(&origin.url("/"));
    }
    program.wait_for_log_lines(5);
    (program, origin)
}

#[test]
fn numbers_are_those_of_the_traffic() {
    let (program, _origin) = busy();
    let page = get(&program, "/metrics", "*/*");
    assert_eq!(page.status, 200);
    assert_eq!(
        page.field("Content-Type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let text = page.text();
    assert_eq!(sample(&text, "squall_hits_memory_total"), 4.0);
    assert_eq!(sample(&text, "squall_misses_total"), 1.0);
    assert_eq!(
        sample(&text, "squall_service_time_seconds_count{answer=\"hit\"}"),
        4.0
    );
    assert_eq!(
        sample(
            &text,
            "squall_service_time_seconds_bucket{answer=\"hit\",le=\"+Inf\"}"
        ),
        4.0
    );
    assert_eq!(sample(&text, "squall_panics_caught_total"), 0.0);
    assert_eq!(sample(&text, "squid_client_http_hits_total"), 4.0);
    assert_eq!(
        sample(&text, "squid_info_Hits_as_pct_of_all_requests_5min").round(),
        80.0
    );
    assert!(sample(&text, "process_resident_memory_bytes") > 1e6);
    assert!(text.contains("\nsquid_up{host=\""), "{text}");
}

#[test]
fn who_asks_for_openmetrics_gets_it() {
    let program = Program::start(CONF);
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    let page = get(&program, "/metrics", accept);
    let kind = page.field("Content-Type").unwrap().to_owned();
    assert_eq!(
        kind,
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    let text = page.text();
    assert!(text.ends_with("\n# EOF\n"));
    assert!(text.contains("\n# UNIT squall_hit_bytes bytes\n"));
    // Every sample belongs to the family before it.
    let mut family = "";
    for line in text.lines() {
        match line.strip_prefix("# HELP ") {
            Some(rest) => family = rest.split(' ').next().unwrap(),
            None => assert!(
                line.starts_with('#') || line.starts_with(family),
                "{line} in {family}"
            ),
        }
    }
}

#[test]
fn the_names_of_squid_exporter_can_be_left_out() {
    let program = Program::start(&format!("{CONF}metrics_squid_exporter off\n"));
    let text = get(&program, "/metrics", "*/*").text();
    assert!(text.contains("\nsquall_client_requests_total ") && !text.contains("\nsquid_"));
}

/// Prometheus' own check, where it is installed.
#[test]
fn promtool_finds_nothing_wrong() {
    let (program, _origin) = busy();
    let text = get(&program, "/metrics", "*/*").text();
    let tool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tool) = tool else {
        println!("skipped: no promtool");
        return;
    };
    tool.stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = tool.wait_with_output().unwrap();
    // Squid's names aren't what Prometheus would like; they aren't ours to choose.
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let ours: Vec<_> = said
        .lines()
        .filter(|line| !line.starts_with("squid_"))
        .collect();
    assert!(ours.is_empty(), "{ours:#?}");
}

fn ready(program: &Program) -> (u16, String) {
    let page = get(program, "/readyz", "*/*");
    (page.status, page.text())
}

#[test]
fn a_proxy_with_parents_alone_is_ready_while_one_lives() {
    let port = free_port();
    let program = Program::start(&format!(
        "{CONF}cache_peer 127.0.0.1 parent {port} 0 no-query no-digest connect-fail-limit=1\n\
         never_direct allow all\n"
    ));
    let until_it_is = |wanted: u16| {
        until("the other status", || {
            let (status, text) = ready(&program);
            (status == wanted).then_some(text)
        })
    };
    let text = until_it_is(200);
    assert!(text.contains("hops ok: 1 parents are up\n"), "{text}");
    assert!(text.ends_with("\nready\n"), "{text}");
    assert_eq!(
        Client::connect(program.addr())
            .get("http://192.0.2.1/")
            .status,
        503
    );
    let text = until_it_is(503);
    assert!(
        text.contains("hops failed: only parents may be asked"),
        "{text}"
    );
    assert_eq!(get(&program, "/healthz", "*/*").status, 200);
    let _parent = Origin::start_on(port, |_| Reply::ok("x"));
    until_it_is(200);
}

#[test]
fn name_servers_have_to_answer() {
    let server = testkit::NameServer::start(|_| Vec::<String>::new());
    let with = |addr: String| {
        Program::start(&format!(
            "{CONF}dns_nameservers {addr}\ndns_timeout 1 second\n"
        ))
    };
    let (status, text) = ready(&with(server.addr().to_string()));
    assert_eq!(status, 200, "{text}");
    assert!(text.contains("hops ok: name servers answer\n"), "{text}");
    let (status, text) = ready(&with(format!("127.0.0.1:{}", free_port())));
    assert_eq!(status, 503, "{text}");
    assert!(text.contains("hops failed: "), "{text}");
}

#[test]
fn a_login_helper_that_ends_at_once_makes_it_unready() {
    let program = Program::builder(
        "auth_param basic program {dir}/helper\nauth_param basic children 1 startup=1\n\
         acl users proxy_auth REQUIRED\nacl pages url_regex squid-internal-mgr\n\
         http_access allow pages\nhttp_access allow users\nworkers 1\n\
         cache_peer 127.0.0.1 parent {port2} 0 no-query\nnever_direct allow all\n",
    )
    .file("helper", "#!/bin/sh\nexit 1\n")
    .start();
    until("503", || {
        let (status, text) = ready(&program);
        (status == 503).then(|| {
            assert!(
                text.contains("helpers failed: no process runs for basicauthenticator"),
                "{text}"
            )
        })
    });
}
