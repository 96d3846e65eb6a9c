//! The accelerator: whom a request in origin form is for, and what the ports' options say about it.

use std::net::{Ipv6Addr, SocketAddr, TcpListener};

use testkit::{Client, Origin, Program, Reply, Request};

use crate::support::{accelerator, client};

/// An origin that tells what it was asked: host and path.
fn telling() -> Origin {
    Origin::start(|request: &Request| {
        let host = request.field("Host").unwrap_or_default();
        Reply::ok(format!("{host} {}", request.target)).field("Cache-Control", "max-age=600")
    })
}

/// The one origin of these accelerators.
fn peer(origin: &Origin) -> String {
    format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query originserver",
        origin.port()
    )
}

/// What the origin is told for a request with this `Host`, through a port with these options.
fn told(options: &str, host: &str) -> String {
    let origin = telling();
    let program = accelerator(options, &peer(&origin));
    client(&program)
        .request("GET", "/p?q", &[("Host", host)])
        .text()
}

/// Each choice of `http_port … accel`.
#[test]
fn hosts() {
    assert_eq!(told("vhost", "a.example"), "a.example /p?q");
    assert_eq!(told("vhost", "a.example:8080"), "a.example:8080 /p?q");
    assert_eq!(
        told("defaultsite=site.example", "a.example"),
        "a.example /p?q"
    );
    assert_eq!(
        told("defaultsite=site.example no-vhost", "a.example"),
        "site.example /p?q"
    );
    assert_eq!(
        told("defaultsite=site.example:81 no-vhost", "a.example"),
        "site.example:81 /p?q"
    );
    assert_eq!(
        told("vhost vport=8000", "a.example:1"),
        "a.example:8000 /p?q"
    );
    assert_eq!(told("", "a.example"), "a.example /p?q");
}

/// An old client that names no host gets the default site.
#[test]
fn the_default_site() {
    let origin = telling();
    let program = accelerator("defaultsite=site.example", &peer(&origin));
    let mut client = client(&program);
    client.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(client.response().text(), "site.example /");
}

/// `vport` alone is the port that the client connected to.
#[test]
fn the_listening_port() {
    let origin = telling();
    let program = accelerator("vhost vport", &peer(&origin));
    let answer = client(&program).request("GET", "/", &[("Host", "a.example")]);
    assert_eq!(answer.text(), format!("a.example:{} /", program.port()));
}

/// Sites are stored apart, and one site under two ports of ours once.
#[test]
fn sites_are_stored_apart() {
    let origin = telling();
    let program = accelerator("vhost", &peer(&origin));
    let mut client = client(&program);
    for _ in 0..2 {
        for host in ["a.example", "b.example", "A.Example"] {
            let answer = client.request("GET", "/", &[("Host", host)]);
            assert_eq!(answer.text(), format!("{} /", host.to_lowercase()));
        }
    }
    assert_eq!(origin.total(), 2);
}

/// Without a peer that takes it, an accelerator goes nowhere by the client's word, unless told `allow-direct`.
#[test]
fn the_way_out_is_the_peer() {
    let origin = telling();
    let host = origin.addr().to_string();
    let closed = accelerator("vhost", "");
    let answer = client(&closed).request("GET", "/", &[("Host", &host)]);
    assert!(answer.status >= 500, "{}", answer.status);
    assert_eq!(origin.total(), 0);
    let open = accelerator("vhost allow-direct", "");
    let answer = client(&open).request("GET", "/", &[("Host", &host)]);
    assert_eq!(answer.text(), format!("{host} /"));
}

/// Accelerator ports collapse from the start.
#[test]
fn accelerators_collapse() {
    let gate = testkit::Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |_: &Request| {
        held.pass();
        Reply::ok("x").field("Cache-Control", "max-age=600")
    });
    let program = accelerator("vhost", &format!("{}\nworkers 1", peer(&origin)));
    let mut clients: Vec<_> = (0..20).map(|_| client(&program)).collect();
    for client in &mut clients {
        client.send_request("GET", "/", &[("Host", "a")]);
    }
    gate.wait_for_arrivals(1);
    gate.open();
    for client in &mut clients {
        assert_eq!(client.response().text(), "x");
    }
    assert_eq!(origin.total(), 1);
}

/// An accelerator is no open proxy: by default what an absolute URL asks of it goes to its peer all the same.
#[test]
fn an_accelerator_is_no_open_proxy() {
    let (site, elsewhere) = (telling(), telling());
    let program = accelerator("defaultsite=site.example", &peer(&site));
    client(&program).get(&elsewhere.url("/"));
    assert_eq!(elsewhere.total(), 0);
}

/// Several ports at once, each with its own ways and name.
#[test]
fn several_ports() {
    let origin = telling();
    let other = testkit::free_port();
    let program = Program::builder(
        "http_port 127.0.0.1:{port} accel vhost name=public
http_port 127.0.0.1:{other} name=inside
acl inside myportname inside
http_access allow inside
acl get method GET
http_access allow get
{peer}
",
    )
    .with("other", other)
    .with("peer", peer(&origin))
    .start();
    let answer = client(&program).request("GET", "/", &[("Host", "a.example")]);
    assert_eq!(answer.text(), "a.example /");
    let inside: SocketAddr = ([127, 0, 0, 1], other).into();
    assert_eq!(Client::connect(inside).get(&origin.url("/x")).status, 200);
    // The lists tell the ports apart.
    assert_eq!(
        client(&program)
            .request("DELETE", "/", &[("Host", "a")])
            .status,
        403
    );
    assert_eq!(
        Client::connect(inside)
            .request("DELETE", &origin.url("/"), &[])
            .status,
        200
    );
}

/// A port on `[::1]`, and one on all addresses.
#[test]
fn ipv6() {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return; // there is no IPv6 here
    }
    let origin = telling();
    let program = Program::start("http_port [::1]:{port}\nhttp_access allow all");
    let six: SocketAddr = (Ipv6Addr::LOCALHOST, program.port()).into();
    assert_eq!(Client::connect(six).get(&origin.url("/")).status, 200);
    let line = program.wait_for_log(|line| line.contains("TCP_MISS/200"));
    assert!(line.contains(" ::1 "), "{line}");
    let both = Program::start("http_port {port}\nhttp_access allow all");
    let six: SocketAddr = (Ipv6Addr::LOCALHOST, both.port()).into();
    for addr in [six, both.addr()] {
        assert_eq!(Client::connect(addr).get(&origin.url("/")).status, 200);
    }
    // A client over IPv4 is one, whatever socket took it.
    both.wait_for_log(|line| line.contains(" 127.0.0.1 "));
}

/// Links and redirects of the origin go out as they are: nothing is rewritten.
#[test]
fn redirects_pass() {
    let origin = Origin::start(|_: &Request| {
        Reply::new("302 Found").field("Location", "http://inside.example:81/x")
    });
    let program = accelerator("vhost", &peer(&origin));
    let answer = client(&program).request("GET", "/", &[("Host", "a.example")]);
    assert_eq!(
        (answer.status, answer.field("Location")),
        (302, Some("http://inside.example:81/x"))
    );
}
