//! Origins that stall, drip or die, and clients that do: each wait ends with the status that Squid
//! gives, nothing partial is kept, and everybody else goes on as before.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use testkit::{Client, Failed, Gate, Origin, Pattern, Program, Reply, free_port, until};

use crate::panics::{put, unhurt};

const CONF: &str = "http_access allow all\nworkers 1\nconnect_timeout 1 second\nforward_timeout 4 seconds\nread_timeout 1 second\nwrite_timeout 1 second\n\
                    request_timeout 1 second\nrequest_start_timeout 1 second\nclient_idle_pconn_timeout 1 second\n";

/// An address whose backlog is full: whoever connects there waits.
struct FullBacklog {
    addr: SocketAddr,
    _listener: Socket,
    _waiting: Vec<Socket>,
}

impl FullBacklog {
    fn new() -> Self {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        listener
            .bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())
            .expect("an address");
        listener.listen(0).expect("it listens");
        let addr = listener
            .local_addr()
            .expect("an address")
            .as_socket()
            .expect("an IP address");
        let mut waiting = Vec::new();
        let full = (0..64).any(|_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            let stuck = socket
                .connect_timeout(&addr.into(), Duration::from_millis(200))
                .is_err();
            waiting.push(socket);
            stuck
        });
        assert!(full, "the backlog never filled");
        Self {
            addr,
            _listener: listener,
            _waiting: waiting,
        }
    }
}

/// An origin with every kind of trouble, and `/good` to show that others are served.
fn troubled() -> Origin {
    Origin::start(|request| {
        let stored = Reply::new("200 OK").field("Cache-Control", "max-age=600");
        match request.target.as_str() {
            "/head" => Reply::raw("").stall(),
            "/in-head" => Reply::raw("HTTP/1.1 200 OK\r\nX: ").stall(),
            "/body" => stored.field("Content-Length", "100").send("hello").stall(),
            "/chunks" => stored
                .field("Transfer-Encoding", "chunked")
                .send("5\r\nhello\r\n")
                .stall(),
            "/endless" => stored.until_close().send("hello").stall(),
            "/closed" => Reply::raw("").close(),
            "/reset" => Reply::raw("").reset(),
            "/reset-in-head" => Reply::raw("HTTP/1.1 200 OK\r\nX: ").reset(),
            _ => stored.send("good"),
        }
    })
}

/// an origin that doesn't answer, at whichever point, gives the status that Squid gives.
#[test]
fn stalled_origins_time_out() {
    let origin = troubled();
    let full = FullBacklog::new();
    let mut program = Program::start(CONF);
    for (url, status) in [
        (format!("http://{}/", full.addr), 504),
        (format!("http://127.0.0.1:{}/", free_port()), 503),
        (origin.url("/head"), 504),
        (origin.url("/in-head"), 504),
        (origin.url("/closed"), 502),
        (origin.url("/reset"), 502),
        (origin.url("/reset-in-head"), 502),
    ] {
        let mut client = Client::connect(program.addr());
        assert_eq!(client.get(&url).status, status, "{url}");
        // The failure was the origin's: our client may go on.
        assert_eq!(client.get(&origin.url("/good")).body(), b"good", "{url}");
    }
    unhurt(&mut program);
}

/// an origin that stalls within the content: the client sees a cut, and the store keeps
/// nothing.
#[test]
fn bodies_that_stall_are_cut_and_not_kept() {
    let origin = troubled();
    let mut program = Program::start(CONF);
    for path in ["/body", "/chunks", "/endless"] {
        let url = origin.url(path);
        for turn in 1..=2 {
            let mut client = Client::connect(program.addr());
            client.send_request("GET", &url, &[]);
            match client.try_response_to("GET") {
                Err(Failed::CutBody(part)) => assert_eq!(part.content.kept, b"hello", "{path}"),
                other => panic!("{path}: {other:?}"),
            }
            assert_eq!(origin.count(path), turn, "{path}: nothing is kept");
        }
    }
    unhurt(&mut program);
}

/// while two hundred requests wait for stalled origins, others are served as ever.
#[test]
fn other_traffic_is_unmoved_by_stalled_origins() {
    let origin = troubled();
    let full = FullBacklog::new();
    let mut program = Program::start(&CONF.replace("_timeout 1 second", "_timeout 8 seconds"));
    let stalled: Vec<Client> = (0..200)
        .map(|number| {
            let mut client = Client::connect(program.addr());
            let url = match number % 4 {
                0 => format!("http://{}/{number}", full.addr),
                1 => origin
                    .url(&format!("/head?{number}"))
                    .replace("/head?", "/head/"),
                2 => origin.url("/head"),
                _ => origin.url("/body"),
            };
            client.send_request("GET", &url, &[("Cache-Control", "no-cache")]);
            client
        })
        .collect();
    origin.wait_for_requests(100);
    let mut client = Client::connect(program.addr());
    for number in 0..100 {
        let start = Instant::now();
        assert_eq!(
            client.get(&origin.url(&format!("/good/{number}"))).body(),
            b"good"
        );
        assert_eq!(client.get(&origin.url("/good")).body(), b"good");
        let took = start.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
    drop(stalled);
    unhurt(&mut program);
}

/// a slow drip is passed on byte by byte; nobody waits for the rest of it.
#[test]
fn a_drip_is_passed_on_as_it_comes() {
    let gates: Vec<Gate> = (0..50).map(|_| Gate::new()).collect();
    let shared = gates.clone();
    let origin = Origin::start(move |request| {
        if request.target != "/drip" {
            return Reply::ok("good");
        }
        let mut reply = Reply::ok("")
            .field("Content-Length", "50")
            .field("Cache-Control", "max-age=600");
        for gate in &shared {
            reply = reply.pass(gate).send("x");
        }
        reply
    });
    let mut program = Program::start(CONF);
    let url = origin.url("/drip");
    let mut client = Client::connect(program.addr());
    client.send_request("GET", &url, &[]);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.extend(client.read_exact(1));
    }
    for gate in &gates {
        gate.open();
        // Each byte arrives before the next is sent.
        assert_eq!(client.read_exact(1), b"x");
        assert_eq!(
            Client::connect(program.addr())
                .get(&origin.url("/good"))
                .body(),
            b"good"
        );
    }
    assert_eq!(Client::connect(program.addr()).get(&url).content.len, 50);
    assert_eq!(
        origin.count("/drip"),
        1,
        "what came whole, if slowly, is kept"
    );
    unhurt(&mut program);
}

/// Every Squid time-out of the client's side: half a head is a 408, silence a close, half a content
/// an error.
#[test]
fn stalled_clients_time_out() {
    let origin = troubled();
    let mut program = Program::start(CONF);
    let mut silent = Client::connect(program.addr());
    silent.expect_close();
    let mut half = Client::connect(program.addr());
    half.send("GET http://a/ HTTP/1.1\r\nHost: ");
    assert_eq!(half.response().status, 408);
    half.expect_close();
    let mut idle = Client::connect(program.addr());
    assert_eq!(idle.get(&origin.url("/good")).body(), b"good");
    idle.expect_close();
    let mut upload = Client::connect(program.addr());
    upload.send(format!(
        "POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nhello",
        origin.url("/upload")
    ));
    match upload.try_response_to("POST") {
        Ok(answer) => assert!([408, 504].contains(&answer.status), "{}", answer.status),
        Err(Failed::Closed) => {}
        Err(other) => panic!("{other:?}"),
    }
    assert_eq!(origin.count("/upload"), 0, "never whole");
    unhurt(&mut program);
}

/// a client that drips a byte at a time through its head isn't waited for longer than
/// `request_timeout`.
#[test]
fn a_dripping_head_ends_too() {
    let mut program = Program::start(CONF);
    let mut client = Client::connect(program.addr());
    client.send("GET http://a/ HTTP/1.1\r\nX: ");
    until("the end of a dripping head", || {
        client.connection().send(b"x").is_err().then_some(())
    });
    unhurt(&mut program);
}

/// a client that goes on sending after its error isn't listened to for ever.
#[test]
fn a_dripping_client_is_not_listened_to_for_ever() {
    let mut program = Program::start(CONF);
    let mut client = Client::connect(program.addr());
    client.send("NONSENSE\r\n\r\n");
    assert_eq!(client.response().status, 400);
    until("the end of listening", || {
        client.connection().send(b"x").is_err().then_some(())
    });
    unhurt(&mut program);
}

/// a client that stops reading is given up after `write_timeout`, and the log says so.
#[test]
fn stopped_readers_are_given_up() {
    let big = Pattern::new("/big", 64 << 20);
    let origin = Origin::start(move |_| Reply::pattern(&big));
    let mut program = Program::start(CONF);
    let mut client = Client::connect_narrow(program.addr());
    client.send_request("GET", &origin.url("/big"), &[]);
    let line = program.wait_for_log(|line| line.contains("/big"));
    assert!(
        line.contains("_TIMEDOUT/200") || line.contains("_ABORTED/200"),
        "{line}"
    );
    until("the origin's connection to end", || {
        (origin.open_connections() == 0).then_some(())
    });
    unhurt(&mut program);
}

/// Three peers with the same content, in turn.
const PEERS: &str = "http_port 127.0.0.1:{port} accel defaultsite=a.test vhost\nhttp_access allow all\nworkers 1\n\
                     cache_peer 127.0.0.1 parent {one} 0 no-query originserver round-robin name=one connect-fail-limit=2\n\
                     cache_peer 127.0.0.1 parent {two} 0 no-query originserver round-robin name=two connect-fail-limit=2\n\
                     cache_peer 127.0.0.1 parent {three} 0 no-query originserver round-robin name=three connect-fail-limit=2\n";

/// with one origin dead of three no request fails; when it is back it gets its share, and no
/// more.
#[test]
fn one_dead_origin_is_not_noticed() {
    let live = [
        Origin::start(|_| Reply::ok("good")),
        Origin::start(|_| Reply::ok("good")),
    ];
    let port = free_port();
    let mut program = Program::builder(PEERS)
        .with("one", live[0].port())
        .with("two", port)
        .with("three", live[1].port())
        .start();
    let ask = |count: usize| {
        let mut client = Client::connect(program.addr());
        for number in 0..count {
            assert_eq!(
                client.get(&format!("/{number}")).body(),
                b"good",
                "{number}"
            );
        }
    };
    ask(60);
    let cache_log = || program.read("cache.log") + &program.stderr();
    until("the word of its death", || {
        cache_log().contains("DEAD").then_some(())
    });
    for origin in &live {
        assert!(
            origin.total() >= 20,
            "{} requests at one of two",
            origin.total()
        );
    }
    let back = Origin::start_on(port, |_| Reply::ok("good"));
    until("the word of its return", || {
        cache_log().contains("REVIVED").then_some(())
    });
    let before = back.total();
    ask(60);
    let share = back.total() - before;
    assert!(
        (10..=30).contains(&share),
        "{share} of 60 requests at the third"
    );
    assert!(
        back.connections() <= 10,
        "{} connections: a herd",
        back.connections()
    );
    unhurt(&mut program);
}

/// with all origins dead the answer is a 503 page, at once; when they are back all is well
/// again.
#[test]
fn all_dead_origins_give_a_503() {
    let ports = [free_port(), free_port(), free_port()];
    let mut program = Program::builder(PEERS)
        .with("one", ports[0])
        .with("two", ports[1])
        .with("three", ports[2])
        .start();
    let mut client = Client::connect(program.addr());
    for number in 0..20 {
        let start = Instant::now();
        let answer = client.get(&format!("/{number}"));
        assert_eq!(answer.status, 503, "{number}");
        assert!(
            answer
                .field("Content-Type")
                .is_some_and(|value| value.starts_with("text/html"))
        );
        assert!(start.elapsed() < Duration::from_secs(2));
    }
    let _back = Origin::start_on(ports[1], |_| Reply::ok("good"));
    until("an answer", || {
        (client.get("/x").status == 200).then_some(())
    });
    unhurt(&mut program);
}

/// an origin that comes and goes under load costs no request.
#[test]
fn a_flapping_origin_costs_no_request() {
    let steady = Origin::start(|_| Reply::ok("good"));
    let (port, nobody) = (free_port(), free_port());
    let mut program = Program::builder(PEERS)
        .with("one", steady.port())
        .with("two", port)
        .with("three", nobody)
        .start();
    let addr = program.addr();
    let stop = Gate::new();
    let asking: Vec<_> = (0..4)
        .map(|worker| {
            let stop = stop.clone();
            thread::spawn(move || {
                let mut client = Client::connect(addr);
                let mut number = 0;
                while !stop.is_open() {
                    assert_eq!(client.get(&format!("/{worker}/{number}")).status, 200);
                    number += 1;
                }
                number
            })
        })
        .collect();
    for _ in 0..5 {
        let flapping = Origin::start_on(port, |_| Reply::ok("good"));
        // The program looks for dead peers every two seconds.
        until("requests at the flapping one", || {
            (flapping.total() >= 5).then_some(())
        });
        flapping.stop();
    }
    stop.open();
    let asked: usize = asking
        .into_iter()
        .map(|asking| asking.join().expect("all were answered"))
        .sum();
    assert!(asked >= 25, "{asked} requests");
    unhurt(&mut program);
}

/// Bytes that come after a client's last request, or after its end, are nobody's.
#[test]
fn rubbish_after_the_end_is_ignored() {
    let origin = troubled();
    let mut program = Program::start("http_access allow all");
    let mut client = Client::connect(program.addr());
    client.request("GET", &origin.url("/good"), &[("Connection", "close")]);
    for _ in 0..100 {
        put(&mut client, b"rubbish\r\n\r\n");
    }
    client.expect_close();
    drop(client);
    // Ended, and then reset by what was never read.
    let stream = TcpStream::connect(program.addr()).expect("a connection");
    drop(stream);
    assert_eq!(
        Client::connect(program.addr())
            .get(&origin.url("/good"))
            .body(),
        b"good"
    );
    unhurt(&mut program);
}
