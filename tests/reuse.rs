//! A connection is used again only where the message before it ended exactly, on both sides. A
//! mistake here hands one client's answer to another.

use testkit::{Client, Failed, Gate, Origin, Program, Reply, until};

use crate::panics::{put, unhurt};

/// One worker, so that all clients share its idle connections.
const CONF: &str = "http_access allow all\nworkers 1";

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Used,
    Closed,
}
use Fate::{Closed, Used};

/// A way in which an exchange may go. What the origin answers is in [`answer`], by the same name.
#[derive(Clone, Copy, Debug)]
struct Kind {
    name: &'static str,
    method: &'static str,
    fields: &'static str,
    body: &'static str,
    status: u16,
    /// Content as the client gets it; `None` where it is cut.
    content: Option<&'static str>,
    /// The connection to the origin, and that to the client, afterwards.
    origin: Fate,
    client: Fate,
}

const fn kind(
    name: &'static str,
    method: &'static str,
    status: u16,
    content: Option<&'static str>,
    origin: Fate,
    client: Fate,
) -> Kind {
    Kind {
        name,
        method,
        fields: "",
        body: "",
        status,
        content,
        origin,
        client,
    }
}

const fn with(kind: Kind, fields: &'static str, body: &'static str) -> Kind {
    Kind {
        fields,
        body,
        ..kind
    }
}

/// All of them. A client's connection outlives whatever was whole for the client.
const KINDS: &[Kind] = &[
    kind("length", "GET", 200, Some("hello"), Used, Used),
    kind("empty", "GET", 200, Some(""), Used, Used),
    kind("chunks", "GET", 200, Some("hello"), Used, Used),
    kind("trailers", "GET", 200, Some("hello"), Used, Used),
    kind("until-close", "GET", 200, Some("hello"), Closed, Used),
    kind("close", "GET", 200, Some("hello"), Closed, Used),
    kind("old", "GET", 200, Some("hello"), Closed, Used),
    kind("none", "GET", 204, Some(""), Used, Used),
    with(
        kind("unchanged", "GET", 304, Some(""), Used, Used),
        "If-None-Match: \"a\"\r\n",
        "",
    ),
    kind("head", "HEAD", 200, Some(""), Used, Used),
    kind("head-chunks", "HEAD", 200, Some(""), Used, Used),
    kind("interim", "GET", 200, Some("hello"), Used, Used),
    kind("missing", "GET", 404, Some("hello"), Used, Used),
    kind("surplus", "GET", 200, Some("hello"), Closed, Used),
    kind("none-surplus", "GET", 204, Some(""), Closed, Used),
    kind("head-surplus", "HEAD", 200, Some(""), Closed, Used),
    kind("cut", "GET", 200, None, Closed, Closed),
    kind("cut-chunks", "GET", 200, None, Closed, Closed),
    kind("bad-chunk", "GET", 200, None, Closed, Closed),
    kind("rubbish", "GET", 502, None, Closed, Used),
    kind("unasked-101", "GET", 502, None, Closed, Used),
    with(
        kind("upgrade", "GET", 200, Some("hello"), Used, Used),
        "Connection: Upgrade\r\nUpgrade: websocket\r\n",
        "",
    ),
    with(
        kind("upload", "POST", 201, Some("hello"), Used, Used),
        "Content-Length: 5\r\n",
        "hello",
    ),
    with(
        kind("upload-chunks", "POST", 201, Some("hello"), Used, Used),
        "Transfer-Encoding: chunked\r\n",
        "5\r\nhello\r\n0\r\n\r\n",
    ),
    with(
        kind("expected", "POST", 201, Some("hello"), Used, Used),
        "Expect: 100-continue\r\nContent-Length: 5\r\n",
        "hello",
    ),
    with(
        kind("early", "POST", 413, Some("hello"), Closed, Closed),
        "Content-Length: 500\r\n",
        "hello",
    ),
    with(
        kind("early-chunks", "POST", 413, Some("hello"), Closed, Closed),
        "Transfer-Encoding: chunked\r\n",
        "5\r\nhello\r\n",
    ),
    with(
        kind("bad-upload", "POST", 400, None, Closed, Closed),
        "Transfer-Encoding: chunked\r\n",
        "5\r\nhelloXX",
    ),
];

fn answer(name: &str) -> Reply {
    let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    match name {
        "empty" => Reply::ok(""),
        "chunks" => Reply::ok("hello").chunked(),
        "trailers" => Reply::raw(format!("{chunks}0\r\nX-T: 1\r\n\r\n")),
        "until-close" => Reply::ok("hello").until_close(),
        "close" => Reply::ok("hello").field("Connection", "close").close(),
        "old" => Reply::raw("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        "none" => Reply::new("204 No Content"),
        "unchanged" => {
            Reply::raw("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\n")
        }
        "head" => Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        "head-chunks" => Reply::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        "interim" => Reply::raw(
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        ),
        "missing" => Reply::new("404 Not Found").send("hello"),
        "surplus" => Reply::raw(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello{evil}"
        )),
        "none-surplus" => Reply::raw(format!("HTTP/1.1 204 No Content\r\n\r\n{evil}")),
        "head-surplus" => Reply::raw(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n{evil}"
        )),
        "cut" => Reply::ok("hello").field("Content-Length", "50").close(),
        "cut-chunks" => Reply::raw(chunks).close(),
        "bad-chunk" => Reply::raw(format!("{chunks}XX\r\n")),
        "rubbish" => Reply::raw("rubbish\r\n\r\n"),
        "unasked-101" => Reply::raw(format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n{evil}"
        )),
        "upload" | "upload-chunks" | "expected" => Reply::new("201 Created").send("hello"),
        "early" | "early-chunks" => Reply::new("413 Content Too Large").send("hello"),
        _ => Reply::ok("hello"),
    }
}

/// Two origins: one reads requests whole, the other answers at the head.
struct Stage {
    origin: Origin,
    early: Origin,
    program: Program,
}

impl Stage {
    fn new() -> Self {
        let name = |target: &str| target.split('/').nth(1).unwrap_or_default().to_owned();
        Self {
            origin: Origin::start(move |request| answer(&name(&request.target))),
            early: Origin::start_early(move |request| answer(&name(&request.target))),
            program: Program::start(CONF),
        }
    }

    fn origin_of(&self, kind: Kind) -> &Origin {
        if kind.name.starts_with("early") {
            &self.early
        } else {
            &self.origin
        }
    }

    fn connect(&self) -> Client {
        Client::connect(self.program.addr())
    }

    /// Goes through an exchange; says whether the client's connection can still be used.
    #[track_caller]
    fn exchange(&self, client: &mut Client, kind: Kind, number: usize) -> Fate {
        let Kind {
            name,
            method,
            fields,
            body,
            ..
        } = kind;
        let origin = self.origin_of(kind);
        let path = format!("/{name}/{number}");
        put(
            client,
            format!(
                "{method} {} HTTP/1.1\r\nHost: {}\r\n{fields}\r\n{body}",
                origin.url(&path),
                origin.addr()
            )
            .as_bytes(),
        );
        match (client.try_response_to(method), kind.content) {
            (Ok(answer), Some(content)) => {
                assert_eq!(
                    (answer.status, answer.body()),
                    (kind.status, content.as_bytes()),
                    "{path}"
                );
            }
            (Ok(answer), None) => assert_eq!(
                answer.status,
                if kind.status == 200 { 502 } else { kind.status },
                "{path}"
            ),
            (Err(Failed::CutBody(part)), None) => assert_eq!(part.status, 200, "{path}"),
            (other, _) => panic!("{path}: {other:?}"),
        }
        if kind.client == Closed {
            client.expect_close();
        }
        kind.client
    }
}

/// after each kind of exchange, the origin's connection is used again, or never, as it must
/// be.
#[test]
fn origin_connections_are_used_again_at_boundaries_only() {
    let mut stage = Stage::new();
    let mut faults = Vec::new();
    for kind in KINDS {
        let origin = stage.origin_of(*kind);
        let before = origin.total();
        stage.exchange(&mut stage.connect(), *kind, 0);
        // A request that broke off isn't counted, and its connection is closed.
        let Some(request) = origin.requests().into_iter().nth(before) else {
            assert_eq!(kind.origin, Closed, "{}", kind.name);
            continue;
        };
        if kind.origin == Closed {
            // Not only unused: closed, without anybody asking.
            let gone = testkit::until_within(testkit::WAIT, || {
                (origin.open_connections() == 0).then_some(())
            });
            if gone.is_none() {
                faults.push(format!("{}: still open", kind.name));
            }
        }
        stage.exchange(
            &mut stage.connect(),
            Kind {
                name: if kind.name.starts_with("early") {
                    "early-not"
                } else {
                    "length"
                },
                ..KINDS[0]
            },
            1,
        );
        let fate = if origin.last().connection == request.connection {
            Used
        } else {
            Closed
        };
        if fate != kind.origin {
            faults.push(format!(
                "{}: {fate:?} instead of {:?}",
                kind.name, kind.origin
            ));
        }
        stage.origin.disconnect();
        stage.early.disconnect();
        until("quiet origins", || {
            (stage.origin.open_connections() + stage.early.open_connections() == 0).then_some(())
        });
    }
    assert_eq!(faults, Vec::<String>::new());
    unhurt(&mut stage.program);
}

/// all sequences of three exchanges on one client's connection: each answer belongs to its
/// question.
#[test]
fn answers_stay_in_step_in_every_order() {
    let mut stage = Stage::new();
    let mut client = stage.connect();
    let mut number = 0;
    // The kinds whose ends differ; the others differ from these by their first line only.
    let names = [
        "length",
        "chunks",
        "none",
        "head",
        "unchanged",
        "surplus",
        "none-surplus",
        "cut",
        "bad-chunk",
        "upload-chunks",
        "early",
        "bad-upload",
        "rubbish",
        "upgrade",
    ];
    let kinds: Vec<Kind> = KINDS
        .iter()
        .filter(|kind| names.contains(&kind.name))
        .copied()
        .collect();
    for first in &kinds {
        for second in &kinds {
            for third in &kinds {
                for kind in [first, second, third] {
                    number += 1;
                    if stage.exchange(&mut client, *kind, number) == Closed {
                        client = stage.connect();
                    }
                }
            }
        }
    }
    unhurt(&mut stage.program);
}

/// pipelined requests of every kind are answered one by one, in order, up to the first that
/// ends the connection.
#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut stage = Stage::new();
    let kinds: Vec<&Kind> = KINDS.iter().filter(|kind| kind.client == Used).collect();
    let mut client = stage.connect();
    let mut raw = String::new();
    for (number, kind) in kinds.iter().enumerate() {
        let origin = stage.origin_of(**kind);
        raw += &format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\n{}\r\n{}",
            kind.method,
            origin.url(&format!("/{}/{number}", kind.name)),
            origin.addr(),
            kind.fields,
            kind.body
        );
    }
    put(&mut client, raw.as_bytes());
    for kind in kinds {
        let answer = client.response_to(kind.method);
        assert_eq!(answer.status, kind.status, "{}", kind.name);
        if let Some(content) = kind.content {
            assert_eq!(answer.text(), content, "{}", kind.name);
        }
    }
    unhurt(&mut stage.program);
}

/// after an early answer the rest of the content is no request, and both connections end.
#[test]
fn the_rest_after_an_early_answer_is_no_request() {
    let mut stage = Stage::new();
    for (fields, start) in [
        ("Content-Length: 500", "hello"),
        ("Transfer-Encoding: chunked", "1f4\r\nhello"),
        ("Expect: 100-continue\r\nContent-Length: 500", ""),
    ] {
        let mut client = stage.connect();
        let smuggled = format!(
            "GET {} HTTP/1.1\r\nHost: a\r\n\r\n",
            stage.early.url("/smuggled")
        );
        put(
            &mut client,
            format!(
                "POST {} HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n{start}",
                stage.early.url("/early")
            )
            .as_bytes(),
        );
        assert_eq!(client.response().status, 413, "{fields}");
        let connection = stage.early.last().connection;
        put(&mut client, smuggled.as_bytes());
        put(&mut client, smuggled.as_bytes());
        client.expect_close();
        stage.connect().get(&stage.early.url("/next"));
        assert_ne!(stage.early.last().connection, connection, "{fields}");
    }
    assert_eq!(stage.early.count("/smuggled"), 0);
    assert_eq!(stage.early.malformed(), Vec::<String>::new());
    unhurt(&mut stage.program);
}

/// a client that leaves in the middle, of its request or of the answer, leaves no connection
/// behind that is used.
#[test]
fn what_a_leaving_client_left_half_done_is_not_used() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |request| match request.target.as_str() {
        "/held" => Reply::ok("a").pass(&held).send("b"),
        "/half" => Reply::ok("a")
            .pass(&held)
            .send("b")
            .field("Cache-Control", "no-store"),
        _ => Reply::ok("good"),
    });
    let mut program = Program::start(&format!(
        "{CONF}\nquick_abort_min 0 KB\nquick_abort_max 0 KB\ncollapsed_forwarding off"
    ));
    for path in ["/held", "/half"] {
        let mut client = Client::connect(program.addr());
        client.send_request("GET", &origin.url(path), &[]);
        client.read_exact(1);
        let left = origin.last().connection;
        client.reset();
        assert_eq!(
            Client::connect(program.addr())
                .get(&origin.url("/next"))
                .body(),
            b"good"
        );
        assert_ne!(origin.last().connection, left, "{path}");
    }
    let mut client = Client::connect(program.addr());
    client.send(format!(
        "POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nhello",
        origin.url("/upload")
    ));
    until("the head at the origin", || {
        (origin.open_connections() >= 1).then_some(())
    });
    client.reset();
    assert_eq!(
        Client::connect(program.addr())
            .get(&origin.url("/next"))
            .body(),
        b"good"
    );
    assert_eq!(origin.count("/upload"), 0, "never whole");
    gate.open();
    unhurt(&mut program);
}

/// a connection that the origin closes under the next request costs the client nothing: one
/// more try on a fresh
/// one, for requests that may be repeated.
#[test]
fn a_reused_connection_that_fails_is_replaced_once() {
    let origin = Origin::start(|request| {
        // Each connection serves one request, and breaks under the second.
        if request.target == "/second" && request.connection == 0 {
            Reply::raw("").close()
        } else {
            Reply::ok("good")
        }
    });
    let mut program = Program::start(CONF);
    Client::connect(program.addr()).get(&origin.url("/first"));
    assert_eq!(
        Client::connect(program.addr())
            .get(&origin.url("/second"))
            .body(),
        b"good"
    );
    assert_eq!((origin.count("/second"), origin.connections()), (2, 2));
    // POST isn't risked on a used connection at all.
    let answer = Client::connect(program.addr()).request(
        "POST",
        &origin.url("/post"),
        &[("Content-Length", "0")],
    );
    assert_eq!(answer.body(), b"good");
    assert_eq!((origin.count("/post"), origin.last().connection), (1, 2));
    unhurt(&mut program);
}

/// on a fresh connection a request that may have been acted on isn't repeated.
#[test]
fn a_post_is_never_repeated() {
    let origin = Origin::start(|_| Reply::raw("").close());
    let mut program = Program::start(CONF);
    let answer = Client::connect(program.addr()).request(
        "POST",
        &origin.url("/post"),
        &[("Content-Length", "0")],
    );
    assert_eq!((answer.status, origin.total()), (502, 1));
    unhurt(&mut program);
}

/// an idle connection that the origin closes is given up, and nobody notices.
#[test]
fn idle_connections_that_close_are_forgotten() {
    let origin = Origin::start(|_| Reply::ok("good"));
    let mut program = Program::start(CONF);
    for turn in 0..20 {
        assert_eq!(
            Client::connect(program.addr())
                .get(&origin.url(&format!("/{turn}")))
                .body(),
            b"good"
        );
        origin.disconnect();
    }
    assert_eq!(origin.total(), 20, "no request was lost or sent twice");
    unhurt(&mut program);
}
