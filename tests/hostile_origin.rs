//! Origins that lie, break off or talk too much: the client sees an error or a visible cut, the
//! store keeps nothing of it, and no other client is ever given a byte of it.

use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;

use testkit::{Client, Failed, Gate, Origin, Program, Reply, WAIT, until};

use crate::panics::{bytes, unhurt};

/// The answer behind the answer, which nobody asked for.
const EVIL: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nCache-Control: max-age=600\r\n\r\nevil";

/// One worker, so that all clients share its idle connections.
const CONF: &str = "http_access allow all\nworkers 1\nmaximum_object_size_in_memory 4 MB";

/// Starts an origin that answers the first request for each path by `first`, and later ones with a
/// good answer.
fn first_then_good(first: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Origin {
    let seen = Mutex::new(HashSet::new());
    Origin::start(move |request| {
        let is_first = seen
            .lock()
            .expect("no panic holds it")
            .insert(request.target.clone());
        if is_first {
            first(&request.target)
        } else {
            Reply::ok("good").field("Cache-Control", "max-age=600")
        }
    })
}

/// Asks for each of the raw answers twice: both times the client must get one of `statuses`, and
/// the origin must be asked.
#[track_caller]
fn refused(answers: &[(String, Vec<u8>)], statuses: &[u16]) {
    let table: Vec<Vec<u8>> = answers.iter().map(|(_, raw)| raw.clone()).collect();
    let origin = Origin::start(move |request| {
        let number: Option<usize> = request.target.trim_start_matches('/').parse().ok();
        match number.and_then(|number| table.get(number)) {
            Some(raw) => Reply::raw(raw).close(),
            None => Reply::ok("fine"),
        }
    });
    let mut program = Program::start(CONF);
    let mut faults = Vec::new();
    for (number, (name, _)) in answers.iter().enumerate() {
        let url = origin.url(&format!("/{number}"));
        for turn in 1..=2 {
            let mut client = Client::connect(program.addr());
            client.send_request("GET", &url, &[]);
            match client.try_response_to("GET") {
                Ok(answer) if statuses.contains(&answer.status) => {}
                Ok(answer) => faults.push(format!("{name}: {} {:?}", answer.status, answer.head)),
                Err(failed) => faults.push(format!("{name}: {failed:?}")),
            }
            let asked = origin.count(&format!("/{number}"));
            if asked != turn {
                faults.push(format!("{name}: asked {asked} times for {turn} requests"));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert_eq!(
        Client::connect(program.addr())
            .get(&origin.url("/after"))
            .body(),
        b"fine"
    );
    unhurt(&mut program);
}

/// `200 OK` that may be stored, with these field lines and this body.
fn ok(fields: &str, body: &str) -> Vec<u8> {
    bytes(&format!(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n{fields}\r\n\r\n{body}"
    ))
}

/// a response whose end two readers may see at different places is a 502 and is not stored.
#[test]
fn ambiguous_framing_is_refused() {
    let mut answers = Vec::new();
    for fields in "Content-Length: 5\r\nTransfer-Encoding: chunked|\
         Transfer-Encoding: chunked\r\nContent-Length: 5|\
         Content-Length: 5\r\nContent-Length: 6|Content-Length: 5, 6|Content-Length: -5|\
         Content-Length: +5|Content-Length: 18446744073709551621|\
         Content-Length: 9223372036854775808|Content-Length: 0x5|Content-Length: 5.0|\
         Content-Length: five|Content-Length:|Content-Length: 5 5|Content-Length: \u{b}5|\
         Content-Length : 5|Content-Length:\r\n 5|Content-Length: 5\r\n 5|\
         Transfer-Encoding: gzip, chunked|Transfer-Encoding: chunked, identity|\
         Transfer-Encoding: identity|Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked|\
         Transfer-Encoding: xchunked|Transfer-Encoding: \u{b}chunked|\
         Transfer-Encoding: \"chunked\"|Transfer-Encoding: chunked;a=b|\
         Transfer-Encoding : chunked|Transfer-Encoding:|Transfer-Encoding:\r\n chunked"
        .split('|')
    {
        answers.push((format!("{fields:?}"), ok(fields, "5\r\nhello\r\n0\r\n\r\n")));
    }
    answers.push((
        "coding in HTTP/1.0".into(),
        bytes("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    ));
    refused(&answers, &[502]);
}

/// what is no HTTP/1 response head is a 502; so are HTTP/0.9 and nothing at all.
#[test]
fn malformed_heads_are_refused() {
    let mut answers = Vec::new();
    for fields in "X: a\0b|X: a\rb|X: a\u{1}|X\0: a|X\u{e9}: a|X Y: a|no colon|: a|X(: a".split('|')
    {
        answers.push((
            format!("{fields:?}"),
            ok(&format!("{fields}\r\nContent-Length: 5"), "hello"),
        ));
    }
    for start in "hello|<html>hello</html>\r\n\r\n|HTTP/1.1\r\n\r\n|HTTP/1.1 99 x\r\n\r\n|\
         HTTP/1.1 2000 OK\r\n\r\n|HTTP/1.1 -20 OK\r\n\r\n|HTTP/1.1 2 0 OK\r\n\r\n|\
         HTTP/2.0 200 OK\r\n\r\n|HTTP/0.9 200 OK\r\n\r\n|ICY 200 OK\r\n\r\n|\
         http/1.1 200 OK\r\n\r\n|HTTP/1.1 200 a\0b\r\n\r\n|HTTP/1.1 200 a\rb\r\n\r\n|\
         XHTTP/1.1 200 OK\r\n\r\n| HTTP/1.1 200 OK\r\n\r\n|HTTP/1.1  200 OK\r\n\r\n|\
         HTTP/1.1 200 OK\r\n X: a\r\n\r\n|HTTP/1.1 200 OK\r\n \r\nX: a\r\n\r\n|\
         \u{16}\u{3}\u{3}\0\u{2}|HTTP/1.1 200 OK\r\nX: a|\r\n\r\n"
        .split('|')
    {
        answers.push((format!("{start:?}"), bytes(start)));
    }
    refused(&answers, &[502]);
}

/// odd but harmless heads are cleaned, or refused: what the client gets is strict either way.
#[test]
fn odd_heads_are_cleaned_or_refused() {
    let mut answers = Vec::new();
    for fields in "X: a\r\n b|X : a|X: a\nY: b|X: \u{e9}|X:|X: a\u{b}b".split('|') {
        answers.push((
            format!("{fields:?}"),
            ok(
                &format!("Vary: *\r\n{fields}\r\nContent-Length: 5"),
                "hello",
            ),
        ));
    }
    answers.push((
        "LF alone".into(),
        bytes("HTTP/1.1 200 OK\nContent-Length: 5\nVary: *\n\nhello"),
    ));
    answers.push((
        "no reason".into(),
        bytes("HTTP/1.1 200\r\nContent-Length: 5\r\nVary: *\r\n\r\nhello"),
    ));
    answers.push((
        "minor version".into(),
        bytes("HTTP/1.7 200 OK\r\nContent-Length: 5\r\nVary: *\r\n\r\nhello"),
    ));
    refused(&answers, &[200, 502]);
}

/// heads of 10 MB, or of 20,000 fields, are a 502 in bounded memory.
#[test]
fn huge_heads_are_refused() {
    let origin = Origin::start(|request| match request.target.as_str() {
        "/long" => Reply::raw(format!(
            "HTTP/1.1 200 OK\r\nX: {}\r\n\r\n",
            "x".repeat(10 << 20)
        ))
        .close(),
        "/endless" => Reply::raw("HTTP/1.1 200 OK\r\n")
            .send("X: a\r\n".repeat(2 << 20))
            .close(),
        "/many" => Reply::raw(format!(
            "HTTP/1.1 200 OK\r\n{}\r\n",
            "X: a\r\n".repeat(20_000)
        ))
        .close(),
        "/few-bytes" => {
            Reply::raw(format!("HTTP/1.1 200 OK\r\n{}\r\n", "a:\r\n".repeat(9_000))).close()
        }
        _ => Reply::ok("fine"),
    });
    let mut program = Program::start(CONF);
    let before = program.rss_kib();
    for path in ["/long", "/endless", "/many", "/few-bytes"] {
        assert_eq!(
            Client::connect(program.addr())
                .get(&origin.url(path))
                .status,
            502,
            "{path}"
        );
    }
    let grown = program.rss_kib().saturating_sub(before);
    assert!(grown < 8192, "{grown} KiB more in use");
    assert_eq!(
        Client::connect(program.addr())
            .get(&origin.url("/after"))
            .body(),
        b"fine"
    );
    unhurt(&mut program);
}

/// a few interim responses pass, twenty thousand are a 502.
#[test]
fn a_flood_of_interim_responses_is_refused() {
    let origin = Origin::start(|request| {
        let count = if request.target == "/flood" {
            20_000
        } else {
            3
        };
        Reply::raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(count))
            .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    });
    let mut program = Program::start(CONF);
    let few = Client::connect(program.addr()).get(&origin.url("/few"));
    assert_eq!((few.status, few.interim.len()), (200, 3));
    assert_eq!(few.interim[0].field("Link"), Some("</a>"));
    let flood = Client::connect(program.addr()).get(&origin.url("/flood"));
    assert_eq!(flood.status, 502);
    assert!(
        flood.interim.len() <= 32,
        "{} interim responses",
        flood.interim.len()
    );
    // HTTP/1.0 knows none.
    let mut old = Client::connect(program.addr());
    old.send(format!(
        "GET {} HTTP/1.0\r\nHost: a\r\n\r\n",
        origin.url("/few")
    ));
    let answer = old.response();
    assert_eq!((answer.status, answer.interim.len()), (200, 0));
    unhurt(&mut program);
}

/// an interim response has neither length nor coding nor fields of its own connection.
#[test]
fn interim_responses_are_cleaned() {
    let origin = Origin::start(|_| {
        Reply::raw("HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close, X-A\r\nX-A: 1\r\nKeep-Alive: 5\r\nLink: </a>\r\n\r\n")
            .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    });
    let program = Program::start(CONF);
    let mut client = Client::connect(program.addr());
    for _ in 0..2 {
        let answer = client.get(&origin.url("/x"));
        assert_eq!(answer.body(), b"hello");
        let interim = answer.interim.first().expect("the 103 passes");
        assert_eq!(interim.field("Link"), Some("</a>"));
        for name in [
            "Content-Length",
            "Transfer-Encoding",
            "X-A",
            "Connection",
            "Keep-Alive",
        ] {
            assert_eq!(interim.field(name), None, "{name}");
        }
    }
}

/// a change of protocol that nobody asked for is a 502, whatever it promises.
#[test]
fn unasked_protocol_changes_are_refused() {
    let switch =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nraw";
    refused(
        &[
            ("101".into(), bytes(switch)),
            ("101 and 200".into(), bytes(&format!("{switch}{EVIL}"))),
        ],
        &[502],
    );
}

/// a body that is cut short is seen to be cut, and the store keeps none of it.
#[test]
fn cut_bodies_are_seen_and_not_kept() {
    let origin = first_then_good(|path| {
        let good = Reply::new("200 OK").field("Cache-Control", "max-age=600");
        match path {
            "/length" => good.field("Content-Length", "100").send("hello").close(),
            "/nothing" => good.field("Content-Length", "100").close(),
            "/length-reset" => good.field("Content-Length", "100").send("hello").reset(),
            "/one-short" => good.field("Content-Length", "6").send("hello").close(),
            "/huge" => good
                .field("Content-Length", "9223372036854775807")
                .send("hello")
                .close(),
            "/chunks" => good
                .field("Transfer-Encoding", "chunked")
                .send("5\r\nhello\r\n")
                .close(),
            "/chunks-reset" => good
                .field("Transfer-Encoding", "chunked")
                .send("5\r\nhello\r\n")
                .reset(),
            "/in-chunk" => good
                .field("Transfer-Encoding", "chunked")
                .send("50\r\nhello")
                .close(),
            "/bad-chunk" => good
                .field("Transfer-Encoding", "chunked")
                .send("5\r\nhello\r\nX\r\n")
                .close(),
            "/bad-end" => good
                .field("Transfer-Encoding", "chunked")
                .send("5\r\nhelloXX0\r\n\r\n")
                .close(),
            "/big-chunk" => good
                .field("Transfer-Encoding", "chunked")
                .send("5\r\nhello\r\n10000000000000005\r\nhello\r\n0\r\n\r\n")
                .close(),
            "/no-blank-line" => good
                .field("Transfer-Encoding", "chunked")
                .send("5\r\nhello\r\n0\r\n")
                .close(),
            "/bad-trailer" => good
                .field("Transfer-Encoding", "chunked")
                .send("5\r\nhello\r\n0\r\nno colon\r\n\r\n")
                .close(),
            other => panic!("{other}"),
        }
    });
    let mut program = Program::start(CONF);
    for path in "/length|/nothing|/length-reset|/one-short|/huge|/chunks|/chunks-reset|/in-chunk|\
         /bad-chunk|/bad-end|/big-chunk|/no-blank-line|/bad-trailer"
        .split('|')
    {
        let url = origin.url(path);
        let mut client = Client::connect(program.addr());
        client.send_request("GET", &url, &[]);
        match client.try_response_to("GET") {
            Err(Failed::CutBody(part)) => {
                assert!(part.content.len <= 5, "{path}: {}", part.content.len)
            }
            // Told before a byte of it went out.
            Ok(answer) if answer.status == 502 => {}
            other => panic!("{path}: {other:?}"),
        }
        let again = Client::connect(program.addr()).get(&url);
        assert_eq!(again.body(), b"good", "{path}");
        assert_eq!(origin.count(path), 2, "{path}");
    }
    unhurt(&mut program);
}

/// a client of HTTP/1.0, which knows no chunks, sees a cut as a reset.
#[test]
fn old_clients_see_a_cut_as_a_reset() {
    let origin = first_then_good(|_| {
        Reply::new("200 OK")
            .field("Transfer-Encoding", "chunked")
            .send("5\r\nhello\r\n")
            .close()
    });
    let program = Program::start(CONF);
    let mut stream = TcpStream::connect(program.addr()).expect("a connection");
    stream.set_read_timeout(Some(WAIT)).expect("a time-out");
    stream
        .write_all(format!("GET {} HTTP/1.0\r\n\r\n", origin.url("/x")).as_bytes())
        .expect("it listens");
    let mut got = Vec::new();
    let error = stream.read_to_end(&mut got).expect_err("no clean end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// those who joined a response that is cut see the cut, too.
#[test]
fn everyone_who_joined_sees_the_cut() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = first_then_good(move |_| {
        Reply::new("200 OK")
            .field("Cache-Control", "max-age=600")
            .field("Content-Length", "100")
            .send("hello")
            .pass(&held)
            .close()
    });
    let mut program = Program::start("http_access allow all\ncollapsed_forwarding on\nworkers 1");
    let url = origin.url("/x");
    let mut clients: Vec<Client> = (0..20)
        .map(|_| {
            let mut client = Client::connect(program.addr());
            client.send_request("GET", &url, &[]);
            client
        })
        .collect();
    gate.wait_for_arrivals(1);
    for client in &mut clients {
        // The head and the first bytes come at once, to all.
        let mut start = Vec::new();
        while !start.ends_with(b"\r\n\r\nhello") {
            start.extend(client.read_exact(1));
        }
    }
    gate.open();
    for mut client in clients {
        assert_eq!(client.read_to_close(), b"");
    }
    assert_eq!(origin.total(), 1);
    assert_eq!(Client::connect(program.addr()).get(&url).body(), b"good");
    unhurt(&mut program);
}

/// A whole response, to be followed by more.
#[derive(Clone, Copy)]
struct Surplus {
    path: &'static str,
    method: &'static str,
    /// A request field.
    field: (&'static str, &'static str),
    answer: &'static str,
    status: u16,
}

const fn surplus(path: &'static str, status: u16, answer: &'static str) -> Surplus {
    Surplus {
        path,
        method: "GET",
        field: ("Accept", "*/*"),
        answer,
        status,
    }
}

const SURPLUS: [Surplus; 10] = [
    surplus(
        "/length",
        200,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ),
    surplus(
        "/stored",
        200,
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nhello",
    ),
    surplus(
        "/chunks",
        200,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ),
    surplus(
        "/empty",
        200,
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ),
    surplus("/204", 204, "HTTP/1.1 204 No Content\r\n\r\n"),
    surplus(
        "/204-length",
        204,
        "HTTP/1.1 204 No Content\r\nContent-Length: 77\r\n\r\n",
    ),
    Surplus {
        field: ("If-None-Match", "\"a\""),
        ..surplus(
            "/304",
            304,
            "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 77\r\n\r\n",
        )
    },
    Surplus {
        method: "HEAD",
        ..surplus(
            "/head",
            200,
            "HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n",
        )
    },
    Surplus {
        method: "HEAD",
        ..surplus(
            "/head-chunks",
            200,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
    },
    Surplus {
        method: "POST",
        field: ("Content-Length", "0"),
        ..surplus(
            "/post",
            201,
            "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello",
        )
    },
];

/// bytes behind a complete response, in the same packet, are thrown away with their
/// connection.
#[test]
fn surplus_bytes_are_seen_by_nobody() {
    let origin = Origin::start(|request| {
        let case = SURPLUS.iter().find(|case| case.path == request.target);
        case.map_or(Reply::ok("good"), |case| {
            Reply::raw(format!("{}{EVIL}{EVIL}", case.answer))
        })
    });
    let mut program = Program::start(CONF);
    for case in SURPLUS {
        let mut client = Client::connect(program.addr());
        let answer = client.request(case.method, &origin.url(case.path), &[case.field]);
        assert_eq!(answer.status, case.status, "{}", case.path);
        let connection = origin.last().connection;
        // Neither this client nor another gets it.
        let good = origin.url("/good");
        assert_eq!(client.get(&good).body(), b"good", "{}", case.path);
        let mut other = Client::connect(program.addr());
        assert_eq!(other.get(&good).body(), b"good", "{}", case.path);
        let next = origin.last().connection;
        assert_ne!(next, connection, "{}: must not be used again", case.path);
    }
    unhurt(&mut program);
}

/// the same when they come late, while the connection waits for its next request.
#[test]
fn late_surplus_bytes_are_seen_by_nobody() {
    let gates: Vec<Gate> = SURPLUS.iter().map(|_| Gate::new()).collect();
    let shared = gates.clone();
    let origin = Origin::start(move |request| {
        let mut cases = SURPLUS.iter().zip(&shared);
        match cases.find(|(case, _)| case.path == request.target) {
            Some((case, gate)) => Reply::raw(case.answer).pass(gate).send(EVIL),
            None => Reply::ok("good"),
        }
    });
    let mut program = Program::start(CONF);
    let quiet = || {
        until("the end of the connections", || {
            (origin.open_connections() == 0).then_some(())
        });
    };
    for (case, gate) in SURPLUS.iter().zip(&gates) {
        let mut client = Client::connect(program.addr());
        let answer = client.request(case.method, &origin.url(case.path), &[case.field]);
        assert_eq!(answer.status, case.status, "{}", case.path);
        let connection = origin.last().connection;
        gate.open();
        quiet();
        let next = client.get(&origin.url("/good"));
        assert_eq!(next.body(), b"good", "{}", case.path);
        assert_ne!(origin.last().connection, connection, "{}", case.path);
        origin.disconnect();
        quiet();
    }
    unhurt(&mut program);
}

/// a part that was not asked for, or isn't the part asked for, never becomes the whole or
/// another part.
#[test]
fn odd_parts_are_used_for_nothing_else() {
    let odd = [
        "bytes 0-4/10",
        "bytes 4-0/10",
        "bytes 0-18446744073709551616/18446744073709551617",
        "bytes 0-4/3",
        "bytes 5-9/10",
        "lines 0-4/10",
        "bytes */10",
        "bytes 0-4",
        "bytes",
        "",
        "bytes -5-4/10",
        "bytes 0-4/*",
        "bytes 0-9223372036854775807/*",
        "0-4/10",
    ];
    let origin = Origin::start(move |request| {
        let number: Option<usize> = request.target.trim_start_matches('/').parse().ok();
        match number.and_then(|number| odd.get(number)) {
            Some(range) => Reply::new("206 Partial Content")
                .field("Cache-Control", "max-age=600")
                .field("ETag", "\"a\"")
                .field("Content-Range", range)
                .send("hello"),
            None => Reply::ok("fine"),
        }
    });
    let mut program = Program::start(CONF);
    for (number, range) in odd.iter().enumerate() {
        let path = format!("/{number}");
        let url = origin.url(&path);
        for (turn, fields) in [
            &[][..],
            &[("Range", "bytes=0-4")],
            &[("Range", "bytes=5-9")],
            &[("Range", "bytes=0-")],
            &[],
        ]
        .into_iter()
        .enumerate()
        {
            let answer = Client::connect(program.addr()).request("GET", &url, fields);
            assert!(
                [206, 502].contains(&answer.status),
                "{range}: {}",
                answer.status
            );
            let is_answer = ["bytes 0-4/10", "bytes 0-4/*", "bytes 5-9/10"].contains(range);
            if is_answer && answer.status == 206 {
                assert_eq!(answer.field("Content-Range"), Some(*range));
                assert_eq!(&*answer.text(), "hello");
            } else {
                let asked = origin.count(&path);
                assert_eq!(asked, turn + 1, "{range}: nothing of it is stored");
            }
        }
    }
    unhurt(&mut program);
}
