//! Requests whose end two readers may see at different places, and all the other malformed ones:
//! each is answered with an error and a closed connection, and no origin ever sees what was
//! smuggled in. The whole table is tried on a forward port and on an accelerator port.

mod limits;
mod passing;

use testkit::{Client, Origin, Program, Reply, free_port};

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

/// A row for each element of `list`, whose elements stand between bars.
fn rows_of(list: &str, want: Want, raw: impl Fn(&str) -> String) -> Vec<Row> {
    let make = |element: &str| row(format!("{element:?}"), raw(element), want);
    list.split('|').map(make).collect()
}

/// What a coding that nobody knows may get.
const NO_FRAMING: Want = Refused(&[400, 501]);

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

/// a length and a coding together, in whichever order, end the connection.
#[test]
fn length_and_coding_together_are_refused() {
    let rest = format!("0\r\n\r\n{SMUGGLED}");
    let chunk = format!("{:x}\r\n{SMUGGLED}\r\n0\r\n\r\n", SMUGGLED.len() + 40);
    let mut rows = Vec::new();
    rows.extend(rows_of(
        "Content-Length: 6\r\nTransfer-Encoding: chunked|Content-Length: 6\r\nTransfer-Encoding: x|\
         Content-Length: 0\r\nTransfer-Encoding: chunked",
        NO_FRAMING,
        |fields| post(fields, &rest),
    ));
    rows.extend(rows_of(
        "Transfer-Encoding: chunked\r\nContent-Length: 4",
        Unreadable,
        |fields| post(fields, &chunk),
    ));
    rows.extend(rows_of(
        "Content-Length: 0\r\nTransfer-Encoding: chunked",
        Unreadable,
        get,
    ));
    try_both(&rows);
}

/// whatever someone might take for `chunked`, and isn't, is refused.
#[test]
fn obscured_codings_are_refused() {
    let body = format!("0\r\n\r\n{SMUGGLED}");
    let values = "\u{b}chunked|chunked\u{b}|\u{c}chunked|chunked\u{c}|\u{a0}chunked|chunked\u{a0}|\
                  \0chunked|chunked\0|\"chunked\"|'chunked'|chunked;a=b|xchunked|chunkedx|x||\
                  chunked, identity|identity, chunked|identity|chunked, chunked|gzip, chunked|\
                  gzip|,chunked|chunked,|chunk|chunked x|\u{e7}hunked|chunked\r\n |\r\n chunked|\
                  \r\n\tchunked|chu\r\n nked|chunked\nX: y|chunked\rX: y|\
                  x\nTransfer-Encoding: chunked|chunked\r\nTransfer-Encoding: chunked|\
                  chunked\r\nTransfer-Encoding: identity|x\r\nTransfer-Encoding: chunked";
    let lines = "Transfer-Encoding : chunked|Transfer-Encoding\t: chunked|\
                 Transfer-Encoding\u{b}: chunked|Transfer_Encoding: chunked|\
                 \u{20}Transfer-Encoding: chunked|X: y\nTransfer-Encoding: chunked|\
                 X: y\rTransfer-Encoding: chunked|X: y\r\n Transfer-Encoding: chunked|\
                 X: y\r\n\r Transfer-Encoding: chunked";
    let mut rows = Vec::new();
    rows.extend(rows_of(values, NO_FRAMING, |value| {
        post(&format!("Transfer-Encoding: {value}"), &body)
    }));
    rows.extend(rows_of(values, NO_FRAMING, |value| {
        post(
            &format!("Content-Length: 5\r\nTransfer-Encoding: {value}"),
            &body,
        )
    }));
    rows.extend(rows_of(lines, NO_FRAMING, |fields| post(fields, &body)));
    rows.extend(rows_of("HTTP/1.0", Unreadable, |version| {
        let fields = "Connection: keep-alive\r\nTransfer-Encoding: chunked";
        post(fields, &body).replace("HTTP/1.1\r\nHost", &format!("{version}\r\nHost"))
    }));
    rows.extend(rows_of("\t ChUnKeD \t", Passed, |value| {
        post(
            &format!("TRANSFER-ENCODING: {value}"),
            "5\r\nhello\r\n0\r\n\r\n",
        )
    }));
    try_both(&rows);
}

/// a length is one number of digits, said once or always the same.
#[test]
fn lengths_are_plain_numbers() {
    let body = format!("hello{SMUGGLED}");
    let values = "5, 6|5,6|6, 5|+5|-5|0x5|5.0|5e0|\u{ef}\u{bc}\u{95}|5\0|\u{0}5|\u{b}5|5\u{b}|5\u{c}||\
                  5 5|5;a|\"5\"|five|9223372036854775808|18446744073709551616|\
                  18446744073709551621|99999999999999999999999999999|1_0|5\u{a0}|\r\n 5|\r\n\t5|\
                  5\r\n 5|5\r\nContent-Length: 6|6\r\nContent-Length: 5|5\r\nContent-Length:|\
                  5\r\ncontent-length: 0x5";
    let lines = "Content-Length : 5|Content-Length\t: 5|Content_Length: 5|\u{20}Content-Length: 5";
    let mut rows = Vec::new();
    rows.extend(rows_of(values, Unreadable, |value| {
        post(&format!("Content-Length: {value}"), &body)
    }));
    rows.extend(rows_of(lines, Unreadable, |fields| post(fields, &body)));
    // Merged or refused: in either case the rest isn't taken for content, nor twice.
    rows.extend(rows_of("5, 5|5\r\nContent-Length: 5|5,", Either, |value| {
        post(&format!("Content-Length: {value}"), "hello")
    }));
    try_both(&rows);
}

/// chunks are as RFC 9112 §7.1 has them, to the byte.
#[test]
fn chunks_are_read_to_the_letter() {
    const BAD: Want = Refused(&[400]);
    let coded = |body: String| post("Transfer-Encoding: chunked", &body);
    let sizes = "0x5|+5|-5|_|5_|5g|g5|| 5|\t5|00000000000000005|10000000000000005|\
                 ffffffffffffffff|8000000000000000|5 5|5\0|5\u{b}|\u{ff}5|5,|0x";
    let data_ends = "X\r\n|XX|\n|\r||\r\r\n|\n\r|\u{b}\r\n";
    let size_ends = "\n|\r|;a\rb\r\n|;a\nb\r\n|;a=\0\r\n|;a=\"x\r\ny\"\r\n|;a=\"x\\\r\ny\"\r\n|\
                     ;a=\"x\r\n|;\r\r\n|;a=b\u{7f}\r\n";
    let ends = "0\n\n|0\r\n\n|0\r\n\rX|0\r\nno colon\r\n\r\n|0\r\nX : y\r\n\r\n|0\r\nX: y\n\r\n|\
                0\r\nX: \0\r\n\r\n|0\r\n X: y\r\n\r\n|0\r\nX: y\r\n z\r\n\r\n|0\r\n: y\r\n\r\n";
    let mut rows = Vec::new();
    rows.extend(rows_of(sizes, BAD, |size| {
        coded(format!("{size}\r\nhello\r\n0\r\n\r\n{SMUGGLED}"))
    }));
    rows.extend(rows_of(data_ends, BAD, |end| {
        coded(format!("5\r\nhello{end}0\r\n\r\n{SMUGGLED}"))
    }));
    rows.extend(rows_of(size_ends, BAD, |end| {
        coded(format!("5{end}hello\r\n0\r\n\r\n{SMUGGLED}"))
    }));
    rows.extend(rows_of(ends, BAD, |end| {
        coded(format!("5\r\nhello\r\n{end}{SMUGGLED}"))
    }));
    rows.extend(rows_of(
        ";a|;a=b|;a=b;c=\"d e\"|;a=\"\\\"\"",
        Passed,
        |extension| coded(format!("5{extension}\r\nhello\r\n0\r\n\r\n")),
    ));
    rows.extend(rows_of("X-T: 1", Passed, |trailer| {
        coded(format!("5\r\nhello\r\n0\r\n{trailer}\r\n\r\n"))
    }));
    try_both(&rows);
}

/// a head consists of lines that end with CR LF and fields as RFC 9112 §5 has them.
#[test]
fn heads_are_read_to_the_letter() {
    let lines = "X: y\nX-A: b|X: y\n|X: y\rX-A: b|X: y\r|X: \ry|X: y\r\r\nX-A: b|X: y\0|X: \u{b}y|\
                 X: y\u{1}|X: y\u{7f}|X: y\r\n z|X: y\r\n\tz| X: y|\tX: y|X: y\r\n |\
                 X: y\r\n \r\nX-A: b|X : y|X\t: y|X|X y|: y|X\u{e9}: y|X\0: y|X(: y|X): y|X/: y|\
                 X\": y|X Y: z|X@: y|{X}: y|X[: y|X=: y|X?: y|X,: y|X;: y|X\u{b}: y|\u{ff}X: y";
    let request_lines = "GET {u}/x HTTP/1.1\nHost: {h}\r\n\r\n|GET {u}/x HTTP/1.1\rHost: {h}\r\r|\
                         GET {u}/x HTTP/1.1\r\nHost: {h}\r\n\nX|GET  {u}/x HTTP/1.1\r\n|\
                         GET {u}/x  HTTP/1.1\r\n| GET {u}/x HTTP/1.1\r\n|GET\t{u}/x HTTP/1.1\r\n|\
                         GET {u}/x\tHTTP/1.1\r\n|GET {u}/x HTTP/1.1 \r\n|GET {u}/\r HTTP/1.1\r\n|\
                         GET {u}/\0 HTTP/1.1\r\n|GET {u}/\u{b} HTTP/1.1\r\n|\
                         GET {u}/\u{7f} HTTP/1.1\r\n|GET {u}/x\r\n|GET {u}/x HTTP/1.10\r\n|\
                         GET {u}/x http/1.1\r\n|GET {u}/x HTTP/1,1\r\n|GET {u}/x HTTP/ 1.1\r\n|\
                         GET {u}/x HTTP/+1.1\r\n|GET {u}/x HTTP/1\r\n|GET {u}/x HTTP/01.1\r\n|\
                         GET {u}/x HTTP/1.\u{b1}\r\n|GET {u}/x HTTPS/1.1\r\n|\
                         GET {u}/x XHTTP/1.1\r\n|G(T {u}/x HTTP/1.1\r\n|G\0T {u}/x HTTP/1.1\r\n|\
                         G\u{c9}T {u}/x HTTP/1.1\r\n|GET HTTP/1.1\r\n|GET\r\n|{u}/x HTTP/1.1\r\n";
    let mut rows = Vec::new();
    rows.extend(rows_of(lines, Unreadable, get));
    rows.extend(rows_of(request_lines, Unreadable, |line| {
        format!("{line}Host: {{h}}\r\n\r\n{SMUGGLED}")
    }));
    rows.extend(rows_of(
        "HTTP/0.9|HTTP/2.0|HTTP/3.0|HTTP/9.9",
        Refused(&[505]),
        |version| format!("GET {{u}}/x {version}\r\nHost: {{h}}\r\n\r\n{SMUGGLED}"),
    ));
    rows.extend(rows_of("PRI", Refused(&[400, 505]), |method| {
        format!("{method} * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    }));
    rows.extend(rows_of(&"M".repeat(200), NO_FRAMING, |method| {
        format!("{method} {{u}}/x HTTP/1.1\r\nHost: {{h}}\r\n\r\n")
    }));
    rows.extend(rows_of(
        "GET {u}/x HTTP/1.2\r\n|\r\nGET {u}/x HTTP/1.1\r\n|GET {u}/x HTTP/1.1\r\nX: \u{e9}\r\n",
        Passed,
        |line| format!("{line}Host: {{h}}\r\nConnection: close\r\n\r\n"),
    ));
    try_both(&rows);
    // What is taken in addition by default; see the test below.
    rows.extend(rows_of(
        "GET {u}/x HTTP/1.1\nHost: {h}\n\n|GET {u}/a b HTTP/1.1\r\n",
        Unreadable,
        |line| format!("{line}Host: {{h}}\r\n\r\n{SMUGGLED}"),
    ));
    for forward in [true, false] {
        Stage::with(forward, "relaxed_header_parser off").try_all(&rows);
    }
}

/// what `relaxed_header_parser on` takes in addition is forwarded clean, and ends where it
/// seems to end.
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

/// a request says once, and plainly, which host it is for.
#[test]
fn hosts_are_plain() {
    let hosts = "{h}, {h}|a, b|a/b|/|u@{h}|@|:80|:x|a:x|a:0|a:99999|a:-1|a:1:2|[::1|::1|[x]|a b|\
                 http://a|a?b|a#b|a%00b|a\\b|\u{e9}|a..b|{h}\r\nHost: {h}";
    let mut rows = Vec::new();
    rows.extend(rows_of(hosts, Unreadable, |host| {
        format!("GET {{u}}/x HTTP/1.1\r\nHost: {host}\r\n\r\n{SMUGGLED}")
    }));
    rows.extend(rows_of(
        "HTTP/1.1\r\n|HTTP/1.0\r\nHost: {h}\r\nHost: b\r\n",
        Unreadable,
        |rest| format!("GET {{u}}/x {rest}\r\n{SMUGGLED}"),
    ));
    try_both(&rows);
}

/// URLs that name no host, or hide one, are the client's fault: refused, never a 5xx.
#[test]
fn urls_are_plain() {
    let urls = "http:///x|http://|http://:80/|http://{h}99999/|http://a:99999/|http://a:0/|\
                http://a:-1/|http://a:8x/|http://[::1/|http://::1/|http://[x]/|http://u@{h}/x|\
                http://u:p@{h}/x|http://a\\@{h}/x|http://{h}\\@a/x|http://{h}%0d%0aX:%20y/|\
                http://a%00/|http://a,b/|http://a..b/|http://\u{e9}/|http:/{h}/x|http:{h}/x|\
                ://{h}/x|1http://{h}/x|x|{h}|*|//{h}/x|/x||\\x|ftp://u\u{e9}@a/|ftp://\u{e9}/|\
                ftp:///x|http://256.1.1.1/|http://1.2.3.4.5/|http://0177.0.0.1/";
    let mut rows = Vec::new();
    rows.extend(rows_of(urls, Unreadable, |url| {
        format!("GET {url} HTTP/1.1\r\nHost: {{h}}\r\n\r\n{SMUGGLED}")
    }));
    rows.extend(rows_of("{u}/x#y", Passed, |url| {
        format!("GET {url} HTTP/1.1\r\nHost: {{h}}\r\nConnection: close\r\n\r\n")
    }));
    Stage::new(true).try_all(&rows);
}

/// CONNECT names a host and a port and nothing else.
#[test]
fn connect_takes_host_and_port_only() {
    let targets = "a|127.0.0.1|{h}/|{h}/x|http://{h}|http://{h}/|*|/|a:0|a:99999|a:x|a:|:443|u@{h}|\
                   [::1]|[::1:443|a:1:2|a,b:443|{h}?x|{h}#x";
    let mut rows = Vec::new();
    rows.extend(rows_of(targets, Unreadable, |target| {
        format!("CONNECT {target} HTTP/1.1\r\nHost: {{h}}\r\n\r\n{SMUGGLED}")
    }));
    rows.extend(rows_of("Host: {h}\r\nHost: {h}", Unreadable, |hosts| {
        format!("CONNECT {{h}} HTTP/1.1\r\n{hosts}\r\n\r\n{SMUGGLED}")
    }));
    Stage::new(true).try_all(&rows);
}

/// an accelerator opens no tunnels: nothing unread gets to its origin.
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

/// what follows a CONNECT before its answer is for the tunnel, and for nobody if there is
/// none.
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
