//! The forward proxy's HTTP/1: versions, framing, keep-alive, uploads, the fields that are added and taken away.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use testkit::{Client, Gate, Origin, Pattern, Program, Reply, Request};

use crate::support::{Entry, client, forward, results};

/// An origin that answers everything with `x`.
fn plain() -> Origin {
    Origin::start(|_: &Request| Reply::ok("x"))
}

/// Sends one GET with these fields through a program of this configuration; gives it as the origin saw it.
fn passed_on(conf: &str, fields: &[(&str, &str)]) -> Request {
    let origin = plain();
    let program = forward(conf);
    assert_eq!(
        client(&program)
            .request("GET", &origin.url("/"), fields)
            .status,
        200
    );
    origin.last()
}

/// The reply that a client gets through a program of this configuration.
fn passed_back(conf: &str, reply: Reply) -> testkit::Response {
    let origin = Origin::start(move |_: &Request| reply.clone());
    let program = forward(conf);
    client(&program).get(&origin.url("/"))
}

/// A request of HTTP/1.0 without keep-alive gets its answer and the end of the connection.
#[test]
fn old_clients_are_closed() {
    let origin = Origin::start(|_: &Request| Reply::ok("ab").send("cd").chunked());
    let program = forward("");
    let mut client = client(&program);
    client.send(format!("GET {} HTTP/1.0\r\n\r\n", origin.url("/")));
    let answer = client.response();
    assert_eq!(answer.text(), "abcd");
    assert_eq!(answer.field("Transfer-Encoding"), None);
    client.expect_close();
}

/// HTTP/1.0 with `Connection: keep-alive` (or, from old programs, `Proxy-Connection`) goes on.
#[test]
fn old_clients_may_stay() {
    let origin = plain();
    let program = forward("");
    for field in ["Connection", "Proxy-Connection"] {
        let mut client = client(&program);
        for _ in 0..2 {
            client.send(format!(
                "GET {} HTTP/1.0\r\n{field}: keep-alive\r\n\r\n",
                origin.url("/")
            ));
            let answer = client.response();
            assert_eq!(answer.text(), "x");
            assert!(answer.head.has("Connection", "keep-alive"));
        }
    }
}

/// `Connection: close` ends the connection after the answer, and says so.
#[test]
fn a_client_may_ask_for_the_end() {
    let origin = plain();
    let program = forward("");
    let mut client = client(&program);
    let answer = client.request("GET", &origin.url("/"), &[("Connection", "close")]);
    assert!(answer.head.has("Connection", "close"));
    client.expect_close();
}

/// An answer of unknown length comes in chunks to HTTP/1.1.
#[test]
fn chunks_go_to_new_clients() {
    let gate = Gate::new();
    let reply = Reply::ok("ab").pass(&gate).send("cd").chunked();
    let origin = Origin::start(move |_: &Request| reply.clone());
    let program = forward("");
    let mut client = client(&program);
    client.send_request("GET", &origin.url("/"), &[]);
    gate.wait_for_arrivals(1);
    gate.open();
    let answer = client.response();
    assert_eq!(
        (answer.text().as_str(), answer.field("Transfer-Encoding")),
        ("abcd", Some("chunked"))
    );
    assert_eq!(client.get(&origin.url("/")).text(), "abcd");
}

/// Trailers of a chunked answer or upload do no harm.
#[test]
fn trailers_do_no_harm() {
    let raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3;a=b\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n";
    let origin = Origin::start(move |_: &Request| raw);
    let program = forward("");
    let mut client = client(&program);
    for _ in 0..2 {
        assert_eq!(client.get(&origin.url("/")).text(), "abc");
    }
    client.send_request(
        "POST",
        &origin.url("/up"),
        &[("Transfer-Encoding", "chunked")],
    );
    client.send("3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n");
    assert_eq!(client.response_to("POST").text(), "abc");
    assert_eq!(origin.last().content.kept, b"abc");
    assert_eq!(client.get(&origin.url("/")).text(), "abc");
    // The upload had a connection of its own, since it could not have been sent twice.
    assert_eq!(origin.connections(), 2);
}

/// Requests that come before the answers are answered in their order.
#[test]
fn pipelined_requests() {
    let origin = Origin::start(|request: &Request| Reply::ok(&request.target));
    let program = forward("");
    let mut client = client(&program);
    let request = |path: &str| {
        format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n",
            origin.url(path),
            origin.addr()
        )
    };
    let all: String = (0..20)
        .map(|number| request(&format!("/{number}")))
        .collect();
    client.send(all);
    for number in 0..20 {
        assert_eq!(client.response().text(), format!("/{number}"));
    }
}

/// A pipelined request behind an upload isn't taken for a part of it.
#[test]
fn a_request_behind_an_upload() {
    let origin = Origin::start(|request: &Request| {
        Reply::ok(format!("{} {}", request.method, request.content.len))
    });
    let program = forward("");
    let mut client = client(&program);
    let (host, url) = (origin.addr(), origin.url("/"));
    client.send(format!(
        "POST {url} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\n\r\nhelloGET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n"
    ));
    assert_eq!(client.response_to("POST").text(), "POST 5");
    assert_eq!(client.response().text(), "GET 0");
}

/// Connections to origins are used again, by other clients too.
#[test]
fn origin_connections_are_reused() {
    let origin = plain();
    let program = forward("workers 1");
    for _ in 0..5 {
        client(&program).get(&origin.url("/"));
    }
    assert_eq!((origin.total(), origin.connections()), (5, 1));
    let program = forward("server_persistent_connections off");
    for _ in 0..2 {
        client(&program).get(&origin.url("/"));
    }
    assert_eq!(origin.connections(), 3);
}

/// Content reaches the origin as it came, with a length or in chunks, and is asked for with 100 (Continue).
#[test]
fn uploads() {
    let origin = Origin::start(|request: &Request| {
        Reply::ok(format!(
            "{} {:x}",
            request.content.len,
            request.content.hash()
        ))
    });
    let program = forward("");
    let mut client = client(&program);
    let upload = Pattern::new("upload", 3_000_000);
    let expected = format!("{} {:x}", upload.len(), upload.hash());
    let length = upload.len().to_string();
    client.send_request("PUT", &origin.url("/"), &[("Content-Length", &length)]);
    client.send_from(upload.clone());
    assert_eq!(client.response_to("PUT").text(), expected);

    client.send_request("PUT", &origin.url("/"), &[("Transfer-Encoding", "chunked")]);
    for piece in upload.to_vec().chunks(70_001) {
        client.send(format!("{:x}\r\n", piece.len()));
        client.send(piece);
        client.send("\r\n");
    }
    client.send("0\r\n\r\n");
    assert_eq!(client.response_to("PUT").text(), expected);

    let fields = [
        ("Content-Length", length.as_str()),
        ("Expect", "100-continue"),
    ];
    client.send_request("PUT", &origin.url("/"), &fields);
    // Nothing is sent before the word comes.
    assert_eq!(client.read_exact(25), b"HTTP/1.1 100 Continue\r\n\r\n");
    client.send_from(upload.clone());
    assert_eq!(client.response_to("PUT").text(), expected);
}

/// An origin that refuses at the head is heard while the content is still being sent.
#[test]
fn an_early_refusal_is_passed_on() {
    let origin = Origin::start_early(|_: &Request| Reply::new("413 Content Too Large").close());
    let program = forward("");
    let mut client = client(&program);
    client.send_request("PUT", &origin.url("/"), &[("Content-Length", "100000000")]);
    assert_eq!(client.response_to("PUT").status, 413);
}

/// Interim answers other than 100 are passed on to clients that know them.
#[test]
fn interim_answers() {
    let raw = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let origin = Origin::start(move |_: &Request| raw);
    let program = forward("");
    let answer = client(&program).get(&origin.url("/"));
    assert_eq!((answer.text().as_str(), answer.interim.len()), ("x", 1));
    assert_eq!(answer.interim[0].field("Link"), Some("</a>"));
}

/// What belongs to one connection stays there, with all that `Connection` names.
#[test]
fn hop_by_hop_fields_stay_behind() {
    let seen = passed_on(
        "",
        &[
            ("Connection", "X-Mine, keep-alive"),
            ("X-Mine", "1"),
            ("Keep-Alive", "timeout=5"),
            ("Proxy-Connection", "keep-alive"),
            ("TE", "trailers"),
            ("Upgrade", "websocket"),
            ("Proxy-Authorization", "Basic YTpi"),
            ("X-Other", "2"),
        ],
    );
    for name in [
        "X-Mine",
        "Keep-Alive",
        "Proxy-Connection",
        "TE",
        "Upgrade",
        "Proxy-Authorization",
    ] {
        assert_eq!(seen.field(name), None, "{name}");
    }
    assert_eq!(seen.field("X-Other"), Some("2"));
    let reply = Reply::ok("x")
        .field("Connection", "X-Theirs")
        .field("X-Theirs", "1")
        .field("Keep-Alive", "timeout=5")
        .field("Proxy-Authenticate", "Basic")
        .field("X-Other", "2");
    let answer = passed_back("", reply);
    for name in ["X-Theirs", "Keep-Alive", "Proxy-Authenticate"] {
        assert_eq!(answer.field(name), None, "{name}");
    }
    assert_eq!(answer.field("X-Other"), Some("2"));
}

/// Order and letter case of fields are kept.
#[test]
fn fields_keep_order_and_case() {
    let seen = passed_on("", &[("x-b", "1"), ("X-A", "2"), ("x-B", "3")]);
    let names: Vec<_> = seen
        .head
        .fields
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let ours: Vec<_> = names
        .iter()
        .filter(|name| name.to_ascii_lowercase().starts_with("x-") && name.len() == 3)
        .collect();
    assert_eq!(ours, [&"x-b", &"X-A", &"x-B"]);
    assert_eq!(seen.head.all("X-B"), ["1", "3"]);
}

/// The origin is asked in origin form, with the URL's host, whatever the client's `Host` says.
#[test]
fn the_url_rules_the_host() {
    let origin = plain();
    let program = forward("");
    client(&program).request(
        "GET",
        &origin.url("/a?b=c"),
        &[("Host", "elsewhere.example")],
    );
    let seen = origin.last();
    assert_eq!(seen.target, "/a?b=c");
    assert_eq!(seen.head.all("Host"), [origin.addr().to_string()]);
}

/// Each way of `forwarded_for`.
#[test]
fn forwarded_for() {
    let before = [("X-Forwarded-For", "192.0.2.1")];
    for (conf, expected) in [
        ("", Some("192.0.2.1, 127.0.0.1")),
        ("forwarded_for on", Some("192.0.2.1, 127.0.0.1")),
        ("forwarded_for off", Some("192.0.2.1, unknown")),
        ("forwarded_for transparent", Some("192.0.2.1")),
        ("forwarded_for delete", None),
        ("forwarded_for truncate", Some("127.0.0.1")),
    ] {
        assert_eq!(
            passed_on(conf, &before).field("X-Forwarded-For"),
            expected,
            "{conf}"
        );
    }
    assert_eq!(
        passed_on("", &[]).field("X-Forwarded-For"),
        Some("127.0.0.1")
    );
}

/// Via names us, behind who came before; `via off` is silent both ways.
#[test]
fn via() {
    let conf = "visible_hostname proxy.example\nhttpd_suppress_version_string on";
    let seen = passed_on(conf, &[("Via", "1.0 first")]);
    assert_eq!(
        seen.field("Via"),
        Some("1.0 first, 1.1 proxy.example (squall)")
    );
    let off = format!("{conf}\nvia off");
    assert_eq!(passed_on(&off, &[]).field("Via"), None);
    assert_eq!(passed_back(&off, Reply::ok("x")).field("Via"), None);
    let answer = passed_back(conf, Reply::ok("x"));
    assert_eq!(answer.field("Via"), Some("1.1 proxy.example (squall)"));
}

/// Header rules take fields out, replace and add them, both ways, on misses and hits alike.
#[test]
fn header_rules() {
    let conf = "request_header_access Referer deny all
request_header_access User-Agent deny all
request_header_replace User-Agent Nobody/1
request_header_add X-Added \"here\" all
";
    let fields = [
        ("Referer", "http://a/"),
        ("User-Agent", "Me/2"),
        ("X-Kept", "1"),
    ];
    let seen = passed_on(conf, &fields);
    assert_eq!(seen.field("Referer"), None);
    assert_eq!(seen.field("User-Agent"), Some("Nobody/1"));
    assert_eq!(seen.field("X-Added"), Some("here"));
    assert_eq!(seen.field("X-Kept"), Some("1"));

    let reply = Reply::ok("x")
        .field("Cache-Control", "max-age=600")
        .field("Server", "Secret/1")
        .field("X-Powered-By", "y")
        .field("X-Kept", "1");
    let origin = Origin::start(move |_: &Request| reply.clone());
    let program = forward(
        "reply_header_access Server deny all
reply_header_replace Server Hidden
reply_header_access X-Powered-By deny all
reply_header_add X-Added \"there\" all
",
    );
    let mut client = client(&program);
    for _ in 0..2 {
        let answer = client.get(&origin.url("/"));
        assert_eq!(answer.field("Server"), Some("Hidden"));
        assert_eq!(answer.field("X-Powered-By"), None);
        assert_eq!(answer.field("X-Added"), Some("there"));
        assert_eq!(answer.field("X-Kept"), Some("1"));
        assert_eq!(answer.text(), "x");
    }
    assert_eq!(results(&program, 2)[1], "TCP_MEM_HIT/200");
}

/// A proxy that is asked to fetch through itself ends the loop: it is told of by the log, not by a flood.
#[test]
fn a_loop_is_ended() {
    let program = forward("workers 1\nvisible_hostname loop.example");
    let url = format!("http://{}/", program.addr());
    let answer = client(&program).get(&url);
    assert!(answer.status >= 400, "{}", answer.status);
    assert!(program.access_log_lines().len() < 5);

    let accel = Program::start(
        "http_port 127.0.0.1:{port} accel vhost allow-direct\nhttp_access allow all\nvisible_hostname loop.example",
    );
    let own = accel.addr().to_string();
    let answer = client(&accel).request("GET", "/", &[("Host", &own)]);
    assert_eq!(answer.status, 403);
    let lines = accel.wait_for_log_lines(2);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(accel.read("cache.log").contains("Forwarding loop detected"));
}

/// A reused connection that the origin has closed meanwhile costs the client nothing: GET is sent again, once.
#[test]
fn a_get_on_a_dead_connection_is_sent_again() {
    // The second request on a connection is answered by a reset.
    let origin = Origin::start(
        |request: &Request| match (request.connection, &*request.target) {
            (0, "/second") => Reply::raw("").reset(),
            _ => Reply::ok("x"),
        },
    );
    let program = forward("workers 1");
    let mut client = client(&program);
    assert_eq!(client.get(&origin.url("/first")).text(), "x");
    assert_eq!(client.get(&origin.url("/second")).text(), "x");
    assert_eq!((origin.count("/second"), origin.connections()), (2, 2));
}

/// An origin that closes every connection unanswered is asked a bounded number of times, and 502 is the answer.
#[test]
fn a_hopeless_origin_is_given_up() {
    let origin = Origin::start(|_: &Request| Reply::raw("").close());
    let program = forward("");
    let answer = client(&program).get(&origin.url("/"));
    assert_eq!(answer.status, 502);
    assert!(origin.total() <= 2, "{}", origin.total());
}

/// POST isn't sent twice, and not risked on a connection that may be closing.
#[test]
fn a_post_is_sent_once() {
    let origin = Origin::start(|request: &Request| match request.method.as_str() {
        "POST" => Reply::raw("").reset(),
        _ => Reply::ok("x"),
    });
    let program = forward("workers 1");
    let mut client = client(&program);
    client.get(&origin.url("/"));
    client.send_request("POST", &origin.url("/post"), &[("Content-Length", "2")]);
    client.send("hi");
    assert_eq!(client.response_to("POST").status, 502);
    assert_eq!((origin.count("/post"), origin.connections()), (1, 2));
}

/// Nobody listening, or a name that doesn't exist, is an error page with Squid's name for it.
#[test]
fn unreachable_origins() {
    let program = forward("hosts_file none\ndns_nameservers 127.0.0.1");
    let port = testkit::free_port();
    let refused = client(&program).get(&format!("http://127.0.0.1:{port}/"));
    assert_eq!(refused.status, 503);
    assert!(
        refused
            .field("X-Squid-Error")
            .unwrap()
            .starts_with("ERR_CONNECT_FAIL")
    );
    let line = program.wait_for_log(|line| line.contains("/503"));
    let entry = Entry::of(&line);
    assert_eq!(
        (entry.result.as_str(), entry.hierarchy.as_str()),
        ("TCP_MISS/503", "HIER_DIRECT/127.0.0.1")
    );
}

/// TRACE and OPTIONS with `Max-Forwards: 0` end here; otherwise they are counted down.
#[test]
fn max_forwards() {
    let origin = plain();
    let program = forward("");
    let mut client = client(&program);
    let fields = [("Max-Forwards", "0"), ("Cookie", "secret"), ("X-Mine", "1")];
    let trace = client.request("TRACE", &origin.url("/"), &fields);
    assert_eq!(trace.status, 200);
    assert!(trace.text().contains("X-Mine: 1") && !trace.text().contains("secret"));
    assert_eq!(
        client
            .request("OPTIONS", &origin.url("/"), &[("Max-Forwards", "0")])
            .status,
        200
    );
    assert_eq!(origin.total(), 0);
    client.request("OPTIONS", &origin.url("/"), &[("Max-Forwards", "3")]);
    assert_eq!(origin.last().field("Max-Forwards"), Some("2"));
}

/// What can't be understood gets a page, a log line of its own kind, and the end of the connection.
#[test]
fn rubbish_is_refused() {
    let program = forward("");
    for rubbish in [
        "GET / HTTP/1.1\r\nA : b\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        "GET /path HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        let mut client = client(&program);
        client.send(rubbish);
        assert_eq!(client.response().status, 400, "{rubbish:?}");
        client.expect_close();
    }
    let lines = program.wait_for_log_lines(3);
    let first = lines
        .iter()
        .find(|line| line.contains("error:invalid-request"))
        .unwrap();
    let entry = Entry::of(first);
    assert_eq!(
        (entry.result.as_str(), entry.hierarchy.as_str()),
        ("NONE_NONE/400", "HIER_NONE/-")
    );
}

/// Several clients on one worker don't wait for each other.
#[test]
fn a_slow_origin_holds_nobody_back() {
    let gate = Gate::new();
    let held = gate.clone();
    let slow = Origin::start(move |_: &Request| {
        held.pass();
        Reply::ok("slow")
    });
    let fast = plain();
    let program = forward("workers 1");
    let (addr, url) = (program.addr(), slow.url("/"));
    let waiting = thread::spawn(move || Client::connect(addr).get(&url).text());
    gate.wait_for_arrivals(1);
    assert_eq!(client(&program).get(&fast.url("/")).text(), "x");
    gate.open();
    assert_eq!(waiting.join().unwrap(), "slow");
}

/// curl itself, by `-x`, against nginx itself: a miss, a hit, and HEAD.
#[test]
fn curl_and_nginx() {
    let dir = tempfile::tempdir().unwrap();
    let port = testkit::free_port();
    let root = dir.path().display();
    std::fs::write(dir.path().join("page.txt"), "from nginx").unwrap();
    let conf = format!(
        "daemon off; master_process off; pid {root}/pid; error_log {root}/error.log;
events {{}}
http {{
    access_log {root}/access.log;
    client_body_temp_path {root}/1; proxy_temp_path {root}/2; fastcgi_temp_path {root}/3;
    uwsgi_temp_path {root}/4; scgi_temp_path {root}/5;
    server {{ listen 127.0.0.1:{port}; root {root}; expires 1h; }}
}}"
    );
    std::fs::write(dir.path().join("nginx.conf"), conf).unwrap();
    let mut nginx = Command::new("nginx")
        .arg("-c")
        .arg(dir.path().join("nginx.conf"))
        .spawn()
        .unwrap();
    testkit::until("nginx", || testkit::is_listening(port).then_some(()));
    let program = forward("");
    let curl = |more: &[&str]| {
        let output = Command::new("curl")
            .args(["-sS", "-x", &format!("http://{}", program.addr())])
            .args(more)
            .arg(format!("http://127.0.0.1:{port}/page.txt"))
            .env_remove("no_proxy")
            .env_remove("NO_PROXY")
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (first, second) = (curl(&[]), curl(&["-i"]));
    let head = curl(&["-I"]);
    nginx.kill().unwrap();
    nginx.wait().unwrap();
    assert_eq!(first, "from nginx");
    assert!(
        second.ends_with("from nginx") && second.contains(";hit"),
        "{second}"
    );
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    program.wait_for_log(|line| line.contains("TCP_MISS/200"));
    program.wait_for_log(|line| line.contains("TCP_MEM_HIT/200") && line.contains(" GET "));
    program.wait_for_log(|line| line.contains("TCP_MEM_HIT/200") && line.contains(" HEAD "));
}

/// A client that leaves while its answer stands still lets go of the origin at once.
#[test]
fn a_client_that_leaves_is_missed() {
    let gate = Gate::new();
    let reply = Reply::ok("first ")
        .field("Cache-Control", "no-store")
        .pass(&gate)
        .send("last");
    let origin = Origin::start(move |_: &Request| reply.clone());
    let program = forward("");
    let mut client = client(&program);
    client.send_request("GET", &origin.url("/"), &[]);
    gate.wait_for_arrivals(1);
    client.read_exact(10);
    drop(client);
    program.wait_for_log(|line| line.contains("TCP_MISS_ABORTED/200"));
    gate.open();
}

/// `tcp_outgoing_address`: whom the origin sees, by ACL.
#[test]
fn outgoing_addresses() {
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = origin.local_addr().unwrap().port();
    let program =
        forward("acl special urlpath_regex ^/special\ntcp_outgoing_address 127.0.0.7 special");
    for (path, seen) in [("/special", "127.0.0.7"), ("/usual", "127.0.0.1")] {
        let mut client = client(&program);
        client.send(
            format!("GET http://127.0.0.1:{port}{path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes(),
        );
        let (_, from) = origin.accept().unwrap();
        assert_eq!(from.ip().to_string(), seen, "{path}");
    }
}

/// `client_lifetime` ends a connection in the middle of a reply, and the log says so.
#[test]
fn the_lifetime_of_a_connection() {
    let origin = Origin::start(|_: &Request| {
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234").stall()
    });
    let program = forward("client_lifetime 1 second");
    let mut client = client(&program);
    client.send(format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", origin.url("/")).as_bytes());
    let line = program.wait_for_log(|line| line.contains("TIMEDOUT"));
    assert!(line.contains(" TCP_MISS_TIMEDOUT/"), "{line}");
    assert!(client.read_to_close().ends_with(b"01234"));
}

/// `broken_posts`: behind the content of a POST a line's end is sent to whom an ACL names, and to nobody else.
#[test]
fn broken_posts_get_a_line_end() {
    for (method, allowed, expected) in [
        ("POST", "allow", "hello\r\n"),
        ("POST", "deny", "hello"),
        ("PUT", "allow", "hello"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let program = forward(&format!("broken_posts {allowed} all"));
        let mut client = client(&program);
        client.send(format!(
            "{method} {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
        ));
        let (mut hop, _) = listener.accept().unwrap();
        let mut got = Vec::new();
        while !got.ends_with(expected.as_bytes()) {
            let mut piece = [0; 4096];
            let count = hop.read(&mut piece).unwrap();
            assert!(count > 0, "{method}: {}", String::from_utf8_lossy(&got));
            got.extend_from_slice(&piece[..count]);
        }
        hop.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .unwrap();
        assert_eq!(client.response_to(method).status, 200);
        drop(client);
        drop(program);
        let mut rest = Vec::new();
        hop.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"", "{method} {allowed}");
    }
}
