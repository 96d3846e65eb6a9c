//! Requests whose end two readers may see at different places, and all the other malformed ones:
//! each is answered with an error and a closed connection, and no origin ever sees what was
//! smuggled in. The whole table is tried on a forward port and on an accelerator port.

use testkit::{Client, Failed, Origin, Program, Reply, free_port};

use crate::panics::{bytes, put, unhurt};

/// What must become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// One of these statuses, then a closed connection; nothing at the origin.
    Refused(&'static [u16]),
    /// As `Refused(400)`, and told to the log as a request that can't be read.
    Unreadable,
    /// Answered by the origin, which sees this request only.
    Passed,
    /// Either of the two.
    Either,
}
use Want::{Either, Passed, Refused, Unreadable};

/// A request of the table. `{u}` is the origin's URL on a forward port and nothing on an
/// accelerator port, `{h}` the origin's authority; bytes as [`bytes`] reads them.
struct Row {
    name: String,
    raw: String,
    want: Want,
}

fn row(name: impl Into<String>, raw: impl Into<String>, want: Want) -> Row {
    Row {
        name: name.into(),
        raw: raw.into(),
        want,
    }
}

/// The request that must never arrive.
const SMUGGLED: &str = "GET {u}/smuggled HTTP/1.1\r\nHost: {h}\r\n\r\n";

/// `POST` with these field lines and this body.
fn post(fields: &str, body: &str) -> String {
    format!("POST {{u}}/x HTTP/1.1\r\nHost: {{h}}\r\n{fields}\r\n\r\n{body}")
}

fn get(fields: &str) -> String {
    format!("GET {{u}}/x HTTP/1.1\r\nHost: {{h}}\r\n{fields}\r\n\r\n{SMUGGLED}")
}

/// The program between client and origin, in one of the two ways.
struct Stage {
    origin: Origin,
    program: Program,
    forward: bool,
}

impl Stage {
    fn new(forward: bool) -> Self {
        Self::with(forward, "")
    }

    /// With more lines of configuration.
    fn with(forward: bool, more: &str) -> Self {
        let origin = Origin::start(|request| match request.target.as_str() {
            "/cached" => Reply::ok("from the store").field("Cache-Control", "max-age=600"),
            _ => Reply::ok("fine"),
        });
        let program = if forward {
            Program::start(&format!("http_access allow all\n{more}"))
        } else {
            let conf = "http_port 127.0.0.1:{port} accel defaultsite=127.0.0.1 vhost\n\
                        cache_peer 127.0.0.1 parent {origin} 0 no-query originserver\n\
                        http_access allow all\n";
            Program::builder(&(conf.to_owned() + more))
                .with("origin", origin.port())
                .start()
        };
        Self {
            origin,
            program,
            forward,
        }
    }

    fn fill_in(&self, raw: &str) -> Vec<u8> {
        let host = self.origin.addr().to_string();
        let url = if self.forward {
            format!("http://{host}")
        } else {
            String::new()
        };
        bytes(&raw.replace("{u}", &url).replace("{h}", &host))
    }

    /// What is wrong with the way in which a request was treated.
    fn fault(&self, row: &Row) -> Option<String> {
        let before = self.origin.total();
        let mut client = Client::connect(self.program.addr());
        put(&mut client, &self.fill_in(&row.raw));
        let status = match client.try_response_to("GET") {
            Ok(answer) => answer.status,
            Err(failed) => return Some(format!("no answer: {failed:?}")),
        };
        // Whoever ends its direction sooner is taken for gone (`half_closed_clients off`).
        client.finish();
        let mut more = Vec::new();
        while let Ok(answer) = client.try_response_to("GET") {
            more.push(answer.status);
        }
        let seen: Vec<_> = self.origin.requests().split_off(before);
        let targets: Vec<_> = seen.iter().map(|request| request.target.as_str()).collect();
        let refused = match row.want {
            Refused(statuses) => statuses.contains(&status),
            Unreadable | Either => status == 400,
            Passed => false,
        };
        let refused = refused && more.is_empty() && targets.is_empty();
        // The origin answers 404 to nothing: its answer is 200 whatever it was asked.
        let passed = matches!(row.want, Passed | Either)
            && status == 200
            && targets.len() == 1
            && !targets[0].contains("smuggled");
        let fault = format!("{status}, then {more:?}; the origin saw {targets:?}");
        (!refused && !passed).then_some(fault)
    }

    /// Tries all rows, and tells all that went wrong at once.
    #[track_caller]
    fn try_all(mut self, rows: &[Row]) {
        let faults: Vec<String> = rows
            .iter()
            .filter_map(|row| {
                Some(format!(
                    "{} ({:?}): {}",
                    row.name,
                    row.want,
                    self.fault(row)?
                ))
            })
            .collect();
        assert!(
            faults.is_empty(),
            "{} of {}:\n{}",
            faults.len(),
            rows.len(),
            faults.join("\n")
        );
        assert_eq!(self.origin.malformed(), Vec::<String>::new());
        let unreadable = rows.iter().filter(|row| row.want == Unreadable).count();
        let lines = self.program.wait_for_log_lines(rows.len());
        let told = lines.iter().filter(|line| {
            line.contains(" NONE_NONE/400 ") && line.contains(" error:invalid-request ")
        });
        assert!(told.count() >= unreadable, "{}", lines.join("\n"));
        let url = String::from_utf8(self.fill_in("{u}/after")).expect("a URL");
        assert_eq!(
            Client::connect(self.program.addr()).get(&url).body(),
            b"fine"
        );
        unhurt(&mut self.program);
    }
}

#[track_caller]
fn try_both(rows: &[Row]) {
    Stage::new(true).try_all(rows);
    Stage::new(false).try_all(rows);
}

/// A-3: a length and a coding together, in whichever order, end the connection.
#[test]
fn length_and_coding_together_are_refused() {
    let chunk = format!("{:x}\r\n{SMUGGLED}\r\n0\r\n\r\n", SMUGGLED.len() + 40);
    try_both(&[
        row(
            "CL.TE",
            post(
                "Content-Length: 6\r\nTransfer-Encoding: chunked",
                &format!("0\r\n\r\n{SMUGGLED}"),
            ),
            Unreadable,
        ),
        row(
            "TE.CL",
            post("Transfer-Encoding: chunked\r\nContent-Length: 4", &chunk),
            Unreadable,
        ),
        row(
            "CL.TE with unknown coding",
            post(
                "Content-Length: 6\r\nTransfer-Encoding: x",
                &format!("0\r\n\r\n{SMUGGLED}"),
            ),
            Refused(&[400, 501]),
        ),
        row(
            "CL 0 with TE",
            post(
                "Content-Length: 0\r\nTransfer-Encoding: chunked",
                &format!("0\r\n\r\n{SMUGGLED}"),
            ),
            Unreadable,
        ),
        row(
            "GET with both",
            get("Content-Length: 0\r\nTransfer-Encoding: chunked"),
            Unreadable,
        ),
    ]);
}

/// A-3: whatever someone might take for `chunked`, and isn't, is refused.
#[test]
fn obscured_codings_are_refused() {
    let body = format!("0\r\n\r\n{SMUGGLED}");
    let mut rows = vec![row(
        "plain",
        post(
            "TRANSFER-ENCODING: \t ChUnKeD \t",
            "5\r\nhello\r\n0\r\n\r\n",
        ),
        Passed,
    )];
    for value in [
        "\u{b}chunked",
        "chunked\u{b}",
        "\u{c}chunked",
        "chunked\u{c}",
        "\u{a0}chunked",
        "chunked\u{a0}",
        "\0chunked",
        "chunked\0",
        "\"chunked\"",
        "'chunked'",
        "chunked;a=b",
        "xchunked",
        "chunkedx",
        "x",
        "chunked, identity",
        "identity, chunked",
        "identity",
        "chunked, chunked",
        "gzip, chunked",
        "gzip",
        ",chunked",
        "chunked,",
        "",
        "chunk",
        "chunked x",
        "\u{e7}hunked",
        "chunked\r\n ",
        "\r\n chunked",
        "\r\n\tchunked",
        "chu\r\n nked",
        "chunked\nX: y",
        "chunked\rX: y",
        "x\nTransfer-Encoding: chunked",
    ] {
        let fields = format!("Transfer-Encoding: {value}");
        rows.push(row(
            format!("TE {value:?}"),
            post(&fields, &body),
            Refused(&[400, 501]),
        ));
        rows.push(row(
            format!("CL and TE {value:?}"),
            post(&format!("Content-Length: 5\r\n{fields}"), &body),
            Refused(&[400, 501]),
        ));
    }
    for fields in [
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding\t: chunked",
        "Transfer-Encoding\u{b}: chunked",
        "Transfer_Encoding: chunked",
        " Transfer-Encoding: chunked",
        "X: y\nTransfer-Encoding: chunked",
        "X: y\rTransfer-Encoding: chunked",
        "X: y\r\n Transfer-Encoding: chunked",
        "X: y\r\n\r Transfer-Encoding: chunked",
    ] {
        rows.push(row(
            format!("{fields:?}"),
            post(fields, &body),
            Refused(&[400, 501]),
        ));
    }
    rows.push(row(
        "TE in HTTP/1.0",
        format!("POST {{u}}/x HTTP/1.0\r\nHost: {{h}}\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n{body}"),
        Unreadable,
    ));
    try_both(&rows);
}

/// A-3: a length is one number of digits, said once or always the same.
#[test]
fn lengths_are_plain_numbers() {
    let body = format!("hello{SMUGGLED}");
    let mut rows = Vec::new();
    for value in [
        "5, 6",
        "5,6",
        "6, 5",
        "+5",
        "-5",
        "0x5",
        "5.0",
        "5e0",
        "\u{ef}\u{bc}\u{95}",
        "5\0",
        "\05",
        "\u{b}5",
        "5\u{b}",
        "5\u{c}",
        "",
        "5 5",
        "5;a",
        "\"5\"",
        "five",
        "9223372036854775808",
        "18446744073709551616",
        "18446744073709551621",
        "99999999999999999999999999999",
        "1_0",
        "5\u{a0}",
        "\r\n 5",
        "\r\n\t5",
        "5\r\n 5",
    ] {
        rows.push(row(
            format!("CL {value:?}"),
            post(&format!("Content-Length: {value}"), &body),
            Unreadable,
        ));
    }
    for fields in [
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 6\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length:",
        "Content-Length : 5",
        "Content-Length\t: 5",
        "Content_Length: 5",
        " Content-Length: 5",
        "Content-Length: 5\r\ncontent-length: 0x5",
    ] {
        rows.push(row(format!("{fields:?}"), post(fields, &body), Unreadable));
    }
    for fields in [
        "Content-Length: 5, 5",
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5,",
    ] {
        // Merged or refused: in either case the rest isn't taken for content, nor twice.
        rows.push(row(format!("{fields:?}"), post(fields, "hello"), Either));
    }
    try_both(&rows);
}

/// A-3: chunks are as RFC 9112 §7.1 has them, to the byte.
#[test]
fn chunks_are_read_to_the_letter() {
    let coded = |body: String| post("Transfer-Encoding: chunked", &body);
    let mut rows = Vec::new();
    for size in [
        "0x5",
        "+5",
        "-5",
        "_",
        "5_",
        "5g",
        "g5",
        "",
        " 5",
        "\t5",
        "00000000000000005",
        "10000000000000005",
        "ffffffffffffffff",
        "8000000000000000",
        "5 5",
        "5\0",
        "5\u{b}",
        "\u{ff}5",
        "5,",
        "0x",
    ] {
        rows.push(row(
            format!("size {size:?}"),
            coded(format!("{size}\r\nhello\r\n0\r\n\r\n{SMUGGLED}")),
            Refused(&[400]),
        ));
    }
    for end in ["X\r\n", "XX", "\n", "\r", "", "\r\r\n", "\n\r", "\u{b}\r\n"] {
        rows.push(row(
            format!("data end {end:?}"),
            coded(format!("5\r\nhello{end}0\r\n\r\n{SMUGGLED}")),
            Refused(&[400]),
        ));
    }
    for end in [
        "\n",
        "\r",
        ";a\rb\r\n",
        ";a\nb\r\n",
        ";a=\0\r\n",
        ";a=\"x\r\ny\"\r\n",
        ";a=\"x\\\r\ny\"\r\n",
        ";a=\"x\r\n",
        ";\r\r\n",
        ";a=b\u{7f}\r\n",
    ] {
        rows.push(row(
            format!("size end {end:?}"),
            coded(format!("5{end}hello\r\n0\r\n\r\n{SMUGGLED}")),
            Refused(&[400]),
        ));
    }
    for end in [
        "0\n\n",
        "0\r\n\n",
        "0\r\n\rX",
        "0\r\nno colon\r\n\r\n",
        "0\r\nX : y\r\n\r\n",
        "0\r\nX: y\n\r\n",
        "0\r\nX: \0\r\n\r\n",
        "0\r\n X: y\r\n\r\n",
        "0\r\nX: y\r\n z\r\n\r\n",
        "0\r\n: y\r\n\r\n",
    ] {
        rows.push(row(
            format!("end {end:?}"),
            coded(format!("5\r\nhello\r\n{end}{SMUGGLED}")),
            Refused(&[400]),
        ));
    }
    for extension in [";a", ";a=b", ";a=b;c=\"d e\"", ";a=\"\\\"\""] {
        rows.push(row(
            format!("extension {extension:?}"),
            coded(format!("5{extension}\r\nhello\r\n0\r\n\r\n")),
            Passed,
        ));
    }
    rows.push(row(
        "trailers",
        coded("5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n".to_owned()),
        Passed,
    ));
    try_both(&rows);
}

/// A-3: a head consists of lines that end with CR LF and fields as RFC 9112 §5 has them.
#[test]
fn heads_are_read_to_the_letter() {
    let mut rows = Vec::new();
    for fields in [
        "X: y\nX-A: b",
        "X: y\n",
        "X: y\rX-A: b",
        "X: y\r",
        "X: \ry",
        "X: y\r\r\nX-A: b",
        "X: y\0",
        "X: \u{b}y",
        "X: y\u{1}",
        "X: y\u{7f}",
        "X: y\r\n z",
        "X: y\r\n\tz",
        " X: y",
        "\tX: y",
        "X: y\r\n ",
        "X: y\r\n \r\nX-A: b",
        "X : y",
        "X\t: y",
        "X",
        "X y",
        ": y",
        "X\u{e9}: y",
        "X\0: y",
        "X(: y",
        "X): y",
        "X/: y",
        "X\": y",
        "X Y: z",
        "X@: y",
        "{X}: y",
        "X[: y",
        "X=: y",
        "X?: y",
        "X,: y",
        "X;: y",
        "X\u{b}: y",
        "\u{ff}X: y",
    ] {
        rows.push(row(format!("{fields:?}"), get(fields), Unreadable));
    }
    for raw in [
        "GET {u}/x HTTP/1.1\nHost: {h}\n\n",
        "GET {u}/x HTTP/1.1\nHost: {h}\r\n\r\n",
        "GET {u}/x HTTP/1.1\r\nHost: {h}\r\n\nX",
        "GET {u}/x HTTP/1.1\rHost: {h}\r\r",
        "GET  {u}/x HTTP/1.1\r\n",
        "GET {u}/x  HTTP/1.1\r\n",
        " GET {u}/x HTTP/1.1\r\n",
        "GET\t{u}/x HTTP/1.1\r\n",
        "GET {u}/x\tHTTP/1.1\r\n",
        "GET {u}/x HTTP/1.1 \r\n",
        "GET {u}/\r HTTP/1.1\r\n",
        "GET {u}/\0 HTTP/1.1\r\n",
        "GET {u}/\u{b} HTTP/1.1\r\n",
        "GET {u}/\u{7f} HTTP/1.1\r\n",
        "GET {u}/a b HTTP/1.1\r\n",
        "GET {u}/x\r\n",
        "GET {u}/x HTTP/1.10\r\n",
        "GET {u}/x http/1.1\r\n",
        "GET {u}/x HTTP/1,1\r\n",
        "GET {u}/x HTTP/ 1.1\r\n",
        "GET {u}/x HTTP/+1.1\r\n",
        "GET {u}/x HTTP/1\r\n",
        "GET {u}/x HTTP/01.1\r\n",
        "GET {u}/x HTTP/1.\u{b1}\r\n",
        "GET {u}/x HTTPS/1.1\r\n",
        "GET {u}/x XHTTP/1.1\r\n",
        "G(T {u}/x HTTP/1.1\r\n",
        "G\0T {u}/x HTTP/1.1\r\n",
        "G\u{c9}T {u}/x HTTP/1.1\r\n",
        "GET HTTP/1.1\r\n",
        "GET\r\n",
        "{u}/x HTTP/1.1\r\n",
    ] {
        rows.push(row(
            format!("{raw:?}"),
            format!("{raw}Host: {{h}}\r\n\r\n{SMUGGLED}"),
            Unreadable,
        ));
    }
    for (version, want) in [
        ("HTTP/2.0", 505),
        ("HTTP/0.9", 505),
        ("HTTP/3.0", 505),
        ("HTTP/9.9", 505),
    ] {
        let wanted: &'static [u16] = if want == 505 { &[505] } else { &[400] };
        rows.push(row(
            version,
            format!("GET {{u}}/x {version}\r\nHost: {{h}}\r\n\r\n{SMUGGLED}"),
            Refused(wanted),
        ));
    }
    rows.push(row(
        "h2 preface",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        Refused(&[400, 505]),
    ));
    rows.push(row(
        "a long method",
        format!(
            "{} {{u}}/x HTTP/1.1\r\nHost: {{h}}\r\n\r\n",
            "M".repeat(200)
        ),
        Refused(&[400, 501]),
    ));
    rows.push(row(
        "HTTP/1.2",
        "GET {u}/x HTTP/1.2\r\nHost: {h}\r\nConnection: close\r\n\r\n",
        Passed,
    ));
    rows.push(row(
        "empty line before",
        "\r\nGET {u}/x HTTP/1.1\r\nHost: {h}\r\nConnection: close\r\n\r\n",
        Passed,
    ));
    rows.push(row(
        "8-bit value",
        "GET {u}/x HTTP/1.1\r\nHost: {h}\r\nX: \u{e9}\r\nConnection: close\r\n\r\n",
        Passed,
    ));
    for forward in [true, false] {
        Stage::with(forward, "relaxed_header_parser off").try_all(&rows);
    }
    // Relaxed, the parser takes these two in addition; see the test below.
    rows.retain(|row| {
        !row.raw.starts_with("GET {u}/x HTTP/1.1\nHost: {h}\n\n")
            && !row.raw.starts_with("GET {u}/a b ")
    });
    try_both(&rows);
}

/// A-3: what `relaxed_header_parser on` takes in addition is forwarded clean, and ends where it seems to end.
#[test]
fn relaxed_reading_forwards_cleanly() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        for raw in [
            "GET {u}/x HTTP/1.1\nHost: {h}\nX: y\n\n",
            "GET {u}/a b HTTP/1.1\r\nHost: {h}\r\nX: y\r\n\r\n",
        ] {
            let mut client = Client::connect(stage.program.addr());
            put(
                &mut client,
                &stage.fill_in(&format!(
                    "{raw}GET {{u}}/next HTTP/1.1\r\nHost: {{h}}\r\nConnection: close\r\n\r\n"
                )),
            );
            assert_eq!(
                (client.response().status, client.response().status),
                (200, 200)
            );
            client.expect_close();
            let seen = stage.origin.requests();
            let [.., first, next] = seen.as_slice() else {
                panic!("two requests")
            };
            assert_eq!(
                (first.field("X"), next.target.as_str()),
                (Some("y"), "/next")
            );
            assert!(
                ["/x", "/ab", "/a%20b"].contains(&first.target.as_str()),
                "{}",
                first.target
            );
        }
        assert_eq!(stage.origin.malformed(), Vec::<String>::new());
    }
}

/// A-3: a request says once, and plainly, which host it is for.
#[test]
fn hosts_are_plain() {
    let line = "GET {u}/x HTTP/1.1\r\n";
    let mut rows = vec![
        row("no Host", format!("{line}\r\n{SMUGGLED}"), Unreadable),
        row(
            "two Hosts",
            format!("{line}Host: {{h}}\r\nHost: {{h}}\r\n\r\n{SMUGGLED}"),
            Unreadable,
        ),
        row(
            "two Hosts in HTTP/1.0",
            format!("GET {{u}}/x HTTP/1.0\r\nHost: {{h}}\r\nHost: b\r\n\r\n{SMUGGLED}"),
            Unreadable,
        ),
    ];
    for host in [
        "{h}, {h}", "a, b", "a/b", "/", "u@{h}", "@", ":80", ":x", "a:x", "a:0", "a:99999", "a:-1",
        "a:1:2", "[::1", "::1", "[x]", "a b", "http://a", "a?b", "a#b", "a%00b", "a\\b", "\u{e9}",
        "a..b",
    ] {
        rows.push(row(
            format!("Host {host:?}"),
            format!("{line}Host: {host}\r\n\r\n{SMUGGLED}"),
            Unreadable,
        ));
    }
    try_both(&rows);
}

/// A-3: URLs that name no host, or hide one, are the client's fault: refused, never a 5xx.
#[test]
fn urls_are_plain() {
    let mut rows = Vec::new();
    for url in [
        "http:///x",
        "http://",
        "http://:80/",
        "http://{h}99999/",
        "http://a:99999/",
        "http://a:0/",
        "http://a:-1/",
        "http://a:8x/",
        "http://[::1/",
        "http://::1/",
        "http://[x]/",
        "http://u@{h}/x",
        "http://u:p@{h}/x",
        "http://a\\@{h}/x",
        "http://{h}\\@a/x",
        "http://{h}%0d%0aX:%20y/",
        "http://a%00/",
        "http://a,b/",
        "http://a..b/",
        "http://\u{e9}/",
        "http:/{h}/x",
        "http:{h}/x",
        "://{h}/x",
        "1http://{h}/x",
        "x",
        "{h}",
        "*",
        "//{h}/x",
        "/x",
        "",
        "\\x",
        "ftp://u\u{e9}@a/",
        "ftp://\u{e9}/",
        "ftp:///x",
        "http://256.1.1.1/",
        "http://1.2.3.4.5/",
        "http://0177.0.0.1/",
    ] {
        rows.push(row(
            format!("{url:?}"),
            format!("GET {url} HTTP/1.1\r\nHost: {{h}}\r\n\r\n{SMUGGLED}"),
            Unreadable,
        ));
    }
    rows.push(row(
        "fragment",
        "GET {u}/x#y HTTP/1.1\r\nHost: {h}\r\nConnection: close\r\n\r\n",
        Passed,
    ));
    Stage::new(true).try_all(&rows);
}

/// A-3: CONNECT names a host and a port and nothing else.
#[test]
fn connect_takes_host_and_port_only() {
    let mut rows = Vec::new();
    for target in [
        "a",
        "127.0.0.1",
        "{h}/",
        "{h}/x",
        "http://{h}",
        "http://{h}/",
        "*",
        "/",
        "a:0",
        "a:99999",
        "a:x",
        "a:",
        ":443",
        "u@{h}",
        "[::1]",
        "[::1:443",
        "a:1:2",
        "a,b:443",
        "{h}?x",
        "{h}#x",
    ] {
        rows.push(row(
            format!("{target:?}"),
            format!("CONNECT {target} HTTP/1.1\r\nHost: {{h}}\r\n\r\n{SMUGGLED}"),
            Unreadable,
        ));
    }
    rows.push(row(
        "two Hosts",
        format!("CONNECT {{h}} HTTP/1.1\r\nHost: {{h}}\r\nHost: {{h}}\r\n\r\n{SMUGGLED}"),
        Unreadable,
    ));
    Stage::new(true).try_all(&rows);
}

/// A-3: an accelerator opens no tunnels: nothing unread gets to its origin.
#[test]
fn accelerators_refuse_connect() {
    let rows = [row(
        "CONNECT",
        format!("CONNECT {{h}} HTTP/1.1\r\nHost: {{h}}\r\n\r\n{SMUGGLED}"),
        Refused(&[400, 403, 405]),
    )];
    let stage = Stage::new(false);
    let fault = stage.fault(&rows[0]);
    assert_eq!(fault, None);
    assert_eq!(
        stage.origin.connections(),
        0,
        "the origin must not even be connected to"
    );
}

/// A-3: what follows a CONNECT before its answer is for the tunnel, and for nobody if there is none.
#[test]
fn bytes_behind_a_failed_connect_are_no_request() {
    let stage = Stage::new(true);
    let nobody = free_port();
    let mut client = Client::connect(stage.program.addr());
    let raw = format!(
        "CONNECT 127.0.0.1:{nobody} HTTP/1.1\r\nHost: 127.0.0.1:{nobody}\r\n\r\n{SMUGGLED}"
    );
    put(&mut client, &stage.fill_in(&raw));
    assert_eq!(client.response().status, 503);
    client.expect_close();
    assert_eq!(stage.origin.total(), 0);
}

/// A-3: a body on a method that needs none is a body, not the next request.
#[test]
fn content_of_any_method_stays_content() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        let smuggled = stage.fill_in(SMUGGLED);
        let chunk = format!("{:x}\r\n", smuggled.len());
        for method in ["GET", "HEAD", "OPTIONS", "DELETE", "POST", "FROB"] {
            for chunked in [false, true] {
                let mut client = Client::connect(stage.program.addr());
                let fields = if chunked {
                    "Transfer-Encoding: chunked".to_owned()
                } else {
                    format!("Content-Length: {}", smuggled.len())
                };
                let head =
                    format!("{method} {{u}}/content HTTP/1.1\r\nHost: {{h}}\r\n{fields}\r\n\r\n");
                let mut raw = stage.fill_in(&head);
                if chunked {
                    raw.extend(chunk.as_bytes());
                }
                raw.extend(&smuggled);
                if chunked {
                    raw.extend(b"\r\n0\r\n\r\n");
                }
                put(&mut client, &raw);
                let answer = client.response_to(method);
                assert_eq!(answer.status, 200, "{method}");
                let last = stage.origin.last();
                assert_eq!(
                    (last.method.as_str(), last.target.as_str()),
                    (method, "/content")
                );
                assert_eq!(last.content.kept, smuggled, "{method}");
                // Either the connection goes on with the next request, or it is closed.
                put(
                    &mut client,
                    &stage
                        .fill_in("GET {u}/next HTTP/1.1\r\nHost: {h}\r\nConnection: close\r\n\r\n"),
                );
                match client.try_response_to("GET") {
                    Ok(answer) => assert_eq!(answer.status, 200),
                    Err(Failed::Closed) => {}
                    Err(other) => panic!("{method}: {other:?}"),
                }
            }
        }
        assert_eq!(stage.origin.count("/smuggled"), 0);
    }
}

/// A-3 (CL.0): content of a request that the store answers is passed over, not read as a request.
#[test]
fn content_of_a_hit_is_passed_over() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        let url = String::from_utf8(stage.fill_in("{u}/cached")).expect("a URL");
        let host = stage.origin.addr().to_string();
        let ask = |client: &mut Client| client.request("GET", &url, &[("Host", &host)]);
        ask(&mut Client::connect(stage.program.addr()));
        assert_eq!(
            ask(&mut Client::connect(stage.program.addr())).body(),
            b"from the store"
        );
        assert_eq!(stage.origin.total(), 1, "the second was a hit");
        let smuggled = stage.fill_in(SMUGGLED);
        for fields in [
            format!("Content-Length: {}", smuggled.len()),
            format!(
                "Content-Length: {}\r\nConnection: content-length",
                smuggled.len()
            ),
        ] {
            let mut client = Client::connect(stage.program.addr());
            let mut raw = stage.fill_in(&format!(
                "GET {{u}}/cached HTTP/1.1\r\nHost: {{h}}\r\n{fields}\r\n\r\n"
            ));
            raw.extend(&smuggled);
            put(&mut client, &raw);
            assert_eq!(client.response().status, 200);
            put(
                &mut client,
                &stage.fill_in("GET {u}/next HTTP/1.1\r\nHost: {h}\r\nConnection: close\r\n\r\n"),
            );
            match client.try_response_to("GET") {
                Ok(answer) => assert_eq!(answer.body(), b"fine"),
                Err(Failed::Closed) => {}
                Err(other) => panic!("{fields}: {other:?}"),
            }
        }
        assert_eq!(stage.origin.count("/smuggled"), 0);
    }
}

/// A-3: trailers never reach the head, and those that would mean something never get through.
#[test]
fn trailers_stay_behind() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        let mut client = Client::connect(stage.program.addr());
        put(&mut client, &stage.fill_in(
            "POST {u}/x HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: chunked\r\nTrailer: Host, X-T\r\n\r\n5\r\nhello\r\n0\r\n\
             Content-Length: 50\r\nTransfer-Encoding: x\r\nHost: evil\r\nAuthorization: Basic x\r\nCookie: a=b\r\nX-T: 1\r\n\r\n"));
        assert_eq!(client.response().status, 200);
        let last = stage.origin.last();
        assert_eq!(last.content.kept, b"hello");
        assert_eq!(last.head.all("Host"), [stage.origin.addr().to_string()]);
        for name in ["Authorization", "Cookie", "Content-Length", "X-T"] {
            assert_eq!(last.field(name), None, "{name}");
        }
        let named = |name: &str| {
            last.content
                .trailers
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        for name in [
            "Host",
            "Authorization",
            "Cookie",
            "Content-Length",
            "Transfer-Encoding",
        ] {
            assert!(!named(name), "trailer {name}");
        }
    }
}

/// A-3: extensions and trailers of megabytes are not gathered.
#[test]
fn endless_extensions_and_trailers_are_refused() {
    for forward in [true, false] {
        let mut stage = Stage::new(forward);
        let before = stage.program.rss_kib();
        for (name, start) in [
            ("extension", "5;"),
            ("quoted extension", "5;a=\""),
            ("trailer", "5\r\nhello\r\n0\r\nX: "),
            ("trailers", "5\r\nhello\r\n0\r\n"),
        ] {
            let piece = if name == "trailers" {
                "X-T: 1\r\n"
            } else {
                "xxxxxxxx"
            };
            // 32 MB of them.
            let mut client = Client::connect(stage.program.addr());
            let head = post("Transfer-Encoding: chunked", start);
            put(
                &mut client,
                &stage.fill_in(&(head + &piece.repeat(4 << 20))),
            );
            match client.try_response_to("GET") {
                // A client that doesn't stop sending may lose the answer.
                Ok(answer) => assert_eq!(answer.status, 400, "{name}"),
                Err(Failed::Closed) => {}
                Err(other) => panic!("{name}: {other:?}"),
            }
        }
        let grown = stage.program.rss_kib().saturating_sub(before);
        assert!(grown < 16 << 10, "{grown} KiB more in use");
        assert_eq!(stage.origin.total(), 0);
        unhurt(&mut stage.program);
    }
}

/// A-3: an absolute URL wins over `Host`: for the key, and for what the origin is told.
#[test]
fn an_absolute_url_wins_over_host() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        let host = stage.origin.addr().to_string();
        let url = stage.origin.url("/cached");
        let answer = Client::connect(stage.program.addr()).request(
            "GET",
            &url,
            &[("Host", "other.example")],
        );
        assert_eq!(answer.status, 200);
        assert_eq!(stage.origin.last().head.all("Host"), [host.as_str()]);
        // The key is that URL, too: a plain question for it is a hit.
        let url = String::from_utf8(stage.fill_in("{u}/cached")).expect("a URL");
        Client::connect(stage.program.addr()).request("GET", &url, &[("Host", &host)]);
        assert_eq!(stage.origin.total(), 1, "the second was a hit");
    }
}

/// A-3: `Connection` takes away what it names, but neither framing nor `Host`.
#[test]
fn connection_takes_no_framing_away() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        for (fields, body) in [
            ("Content-Length: 5", "hello"),
            ("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
        ] {
            let mut client = Client::connect(stage.program.addr());
            let raw = format!(
                "POST {{u}}/x HTTP/1.1\r\nHost: {{h}}\r\nConnection: X-A, Content-Length, Host, Transfer-Encoding, Via, X-Forwarded-For\r\n\
                 Connection: x-b, close\r\nX-A: 1\r\nX-B: 1\r\nX-C: 1\r\nKeep-Alive: 5\r\nProxy-Connection: keep-alive\r\nTE: gzip\r\n\
                 Proxy-Authorization: Basic x\r\n{fields}\r\n\r\n{body}"
            );
            put(&mut client, &stage.fill_in(&raw));
            assert_eq!(client.response().status, 200);
            let last = stage.origin.last();
            assert_eq!(last.content.kept, b"hello");
            assert_eq!(last.head.all("Host"), [stage.origin.addr().to_string()]);
            assert_eq!(last.field("X-C"), Some("1"));
            for name in [
                "X-A",
                "X-B",
                "Keep-Alive",
                "Proxy-Connection",
                "TE",
                "Proxy-Authorization",
            ] {
                assert_eq!(last.field(name), None, "{name}");
            }
            assert!(
                !last.head.has("Connection", "close"),
                "the client's close is for us"
            );
        }
    }
}

/// A-3: no Upgrade is passed on unless the configuration says so, and never h2c.
#[test]
fn upgrades_are_not_passed_on() {
    for forward in [true, false] {
        let stage = Stage::new(forward);
        for fields in [
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13",
            "Upgrade: h2c",
            "Connection: upgrade, upgrade\r\nUpgrade: x/1, h2c",
        ] {
            let mut client = Client::connect(stage.program.addr());
            let raw = format!(
                "GET {{u}}/x HTTP/1.1\r\nHost: {{h}}\r\n{fields}\r\n\r\nGET {{u}}/next HTTP/1.1\r\nHost: {{h}}\r\nConnection: close\r\n\r\n"
            );
            put(&mut client, &stage.fill_in(&raw));
            assert_eq!(client.response().status, 200, "{fields}");
            assert_eq!(client.response().status, 200, "{fields}");
            client.expect_close();
        }
        for request in stage.origin.requests() {
            for name in ["Upgrade", "HTTP2-Settings"] {
                assert_eq!(request.field(name), None, "{name}");
            }
            assert!(!request.head.has("Connection", "upgrade"));
        }
    }
}

/// A-3: behind an Upgrade that the origin declines, the next bytes are a request like any other.
#[test]
fn nothing_raw_follows_a_declined_upgrade() {
    let origin = Origin::start(|_| Reply::ok("declined"));
    let mut program =
        Program::start("http_access allow all\nhttp_upgrade_request_protocols OTHER allow all");
    let host = origin.addr();
    let upgrade = format!(
        "GET {} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        origin.url("/ws")
    );
    let mut client = Client::connect(program.addr());
    put(
        &mut client,
        format!(
            "{upgrade}GET {} HTTP/1.1\r\nHost: {host}\r\nConnection: X-A\r\nX-A: 1\r\n\r\n",
            origin.url("/next")
        )
        .as_bytes(),
    );
    assert_eq!(client.response().body(), b"declined");
    assert_eq!(origin.last().field("Upgrade"), Some("websocket"));
    if let Ok(answer) = client.try_response_to("GET") {
        assert_eq!(answer.body(), b"declined");
        assert_eq!(
            origin.last().field("X-A"),
            None,
            "it went through our own reading"
        );
    }
    let mut client = Client::connect(program.addr());
    put(&mut client, format!("{upgrade}\u{1}\u{2}raw").as_bytes());
    assert_eq!(client.response().body(), b"declined");
    if let Ok(answer) = client.try_response_to("GET") {
        assert_eq!(answer.status, 400);
    }
    assert_eq!(
        origin.malformed(),
        Vec::<String>::new(),
        "no raw byte reached the origin"
    );
    unhurt(&mut program);
}

/// A-3: `Expect` in every spelling leads to one answer, and never shifts a boundary.
#[test]
fn expectations_shift_no_boundary() {
    for forward in [true, false] {
        let mut stage = Stage::new(forward);
        for expect in [
            "Expect: 100-continue",
            "Expect: 100-Continue",
            "Expect: 100-continue, 100-continue",
            "Expect: 100-continue\r\nExpect: 100-continue",
            "Expect: x",
            "Expect: y 100-continue",
            "Expect: 100-continue;a=b",
            "Expect: \"100-continue\"",
            "Expect:",
            "Expect: 100-continue, x=\"y\"",
        ] {
            let smuggled = stage.fill_in(SMUGGLED);
            let mut client = Client::connect(stage.program.addr());
            let head = format!(
                "POST {{u}}/x HTTP/1.1\r\nHost: {{h}}\r\n{expect}\r\nContent-Length: {}\r\n\r\n",
                smuggled.len()
            );
            let mut raw = stage.fill_in(&head);
            raw.extend(&smuggled);
            raw.extend(
                stage.fill_in("GET {u}/next HTTP/1.1\r\nHost: {h}\r\nConnection: close\r\n\r\n"),
            );
            put(&mut client, &raw);
            let answer = client.response();
            match answer.status {
                200 => {
                    assert_eq!(client.response().status, 200, "{expect}: the pipelined one");
                    client.expect_close();
                }
                417 => {}
                other => panic!("{expect}: {other}"),
            }
        }
        for expect in [
            "Expect: 100-continue\u{b}",
            "Expect : 100-continue",
            "Expect: 100-\0continue",
        ] {
            let mut client = Client::connect(stage.program.addr());
            put(
                &mut client,
                &stage.fill_in(&post(&format!("{expect}\r\nContent-Length: 5"), "hello")),
            );
            assert_eq!(client.response().status, 400, "{expect:?}");
            client.expect_close();
        }
        assert_eq!(stage.origin.count("/smuggled"), 0);
        assert_eq!(stage.origin.malformed(), Vec::<String>::new());
        unhurt(&mut stage.program);
    }
}

/// Must show 8: heads beyond `request_header_max_size`, or with too many fields, are refused in bounded memory.
#[test]
fn huge_heads_are_refused() {
    let origin = Origin::start(|_| Reply::ok("fine"));
    let mut program = Program::start("http_access allow all\nrequest_header_max_size 16 KB");
    let url = origin.url("/x");
    let before = program.rss_kib();
    let long = "x".repeat(10 << 20);
    let many = "X-A: b\r\n".repeat(20_000);
    for (name, raw, statuses) in [
        (
            "one long field",
            format!("GET {url} HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"),
            [431, 400],
        ),
        (
            "many fields",
            format!("GET {url} HTTP/1.1\r\nHost: a\r\n{many}\r\n"),
            [431, 400],
        ),
        (
            "a long URL",
            format!("GET {url}{long} HTTP/1.1\r\nHost: a\r\n\r\n"),
            [414, 431],
        ),
        (
            "a long name",
            format!("GET {url} HTTP/1.1\r\nHost: a\r\n{long}: x\r\n\r\n"),
            [431, 400],
        ),
        (
            "a long method",
            format!("{long} {url} HTTP/1.1\r\nHost: a\r\n\r\n"),
            [501, 400],
        ),
    ] {
        let mut client = Client::connect(program.addr());
        put(&mut client, raw.as_bytes());
        match client.try_response_to("GET") {
            Ok(answer) => assert!(
                statuses.contains(&answer.status),
                "{name}: {}",
                answer.status
            ),
            // The client never stopped sending.
            Err(Failed::Closed) => {}
            Err(other) => panic!("{name}: {other:?}"),
        }
    }
    // Just beyond the limit the answer always arrives.
    let mut client = Client::connect(program.addr());
    put(
        &mut client,
        format!(
            "GET {url} HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
            "x".repeat(17 << 10)
        )
        .as_bytes(),
    );
    let answer = client.response();
    assert_eq!(answer.status, 431);
    client.expect_close();
    program.wait_for_log(|line| line.contains("NONE_NONE/431"));
    let grown = program.rss_kib().saturating_sub(before);
    assert!(grown < 4096, "{grown} KiB more in use");
    assert_eq!(origin.total(), 0);
    unhurt(&mut program);
}

/// Must show 8: content beyond `request_body_max_size` is refused: at once if its length is told, else when it is there.
#[test]
fn huge_contents_are_refused() {
    let origin = Origin::start(|_| Reply::ok("fine"));
    let mut program = Program::start("http_access allow all\nrequest_body_max_size 64 KB");
    let (url, host) = (origin.url("/x"), origin.addr());
    let small = "x".repeat(64 << 10);
    let post = |fields: &str, body: &str| {
        format!("POST {url} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n\r\n{body}")
    };
    let mut client = Client::connect(program.addr());
    put(
        &mut client,
        post("Content-Length: 65536", &small).as_bytes(),
    );
    assert_eq!(client.response().status, 200, "exactly as much is allowed");
    put(&mut client, post("Content-Length: 65537", "").as_bytes());
    assert_eq!(client.response().status, 413);
    client.expect_close();
    assert_eq!(origin.total(), 1);
    let mut client = Client::connect(program.addr());
    put(
        &mut client,
        post(
            "Transfer-Encoding: chunked",
            &format!("10000\r\n{small}\r\n1\r\nx\r\n0\r\n\r\n"),
        )
        .as_bytes(),
    );
    assert_eq!(client.response().status, 413);
    client.expect_close();
    assert_eq!(origin.total(), 1, "the origin never saw a whole request");
    unhurt(&mut program);
}
