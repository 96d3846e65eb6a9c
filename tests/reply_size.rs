//! `reply_body_max_size`: replies that say that they are too long are refused, those that don't say are cut.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use testkit::{Client, Origin, Program, Reply, Request, Response};

use crate::support::{Entry, client, results};

/// `/N` has N bytes and says so; `/chunked/N` doesn't, nor does `/close/N`. `/kept/…` may be stored.
fn origin() -> Origin {
    Origin::start(|request: &Request| {
        let (kind, length) = request.target.rsplit_once('/').unwrap();
        let content = vec![b'x'; length.parse().unwrap()];
        let reply = Reply::ok(&content);
        let reply = match kind.trim_start_matches("/kept") {
            "/chunked" => Reply::new("200 OK").chunked().drip(&content, 1000),
            "/close" => Reply::new("200 OK").until_close().drip(&content, 1000),
            _ => reply,
        };
        if kind.starts_with("/kept") {
            reply.field("Cache-Control", "max-age=600")
        } else {
            reply
        }
    })
}

fn program(conf: &str) -> Program {
    Program::start(&format!("{conf}\nhttp_access allow all"))
}

fn refused(response: &Response) -> bool {
    let error = response.field("X-Squid-Error");
    (response.status, error) == (403, Some("ERR_TOO_BIG 0"))
}

/// A length over the limit is refused, as Squid does; the limit itself is not over it. HEAD has no content.
#[test]
fn a_length_over_the_limit_is_refused() {
    let origin = origin();
    let program = program("reply_body_max_size 4 KB");
    let mut client = client(&program);
    assert_eq!(client.get(&origin.url("/4096")).status, 200);
    let answer = client.get(&origin.url("/4097"));
    assert!(refused(&answer), "{answer:?}");
    assert_eq!(
        answer
            .field("Proxy-Status")
            .map(|value| value.contains("error=http_response_body_size")),
        Some(true)
    );
    let head = client.request("HEAD", &origin.url("/5000"), &[]);
    assert_eq!((head.status, head.body().len()), (200, 0));
    assert_eq!(
        results(&program, 3),
        ["TCP_MISS/200", "TCP_DENIED_REPLY/403", "TCP_MISS/200"]
    );
}

/// What a response is stored as doesn't matter: hits have the same limit, and a part of one counts as a part.
#[test]
fn hits_are_limited_too() {
    let origin = origin();
    let program = program("acl small src 127.0.0.1\nreply_body_max_size 4 KB small");
    let stored = origin.url("/kept/5000");
    let mut other = Client::connect_from([127, 0, 0, 2].into(), program.addr());
    assert_eq!(other.get(&stored).body().len(), 5000);
    let mut client = client(&program);
    assert!(refused(&client.get(&stored)));
    let part = client.request("GET", &stored, &[("Range", "bytes=0-99")]);
    assert_eq!((part.status, part.body().len()), (206, 100));
    assert_eq!(other.get(&stored).body().len(), 5000);
    assert_eq!(origin.total(), 1);
}

/// Content of unknown length is cut where the limit is, in chunks or up to the end of the connection, stored or not;
/// the client can tell.
#[test]
fn content_of_unknown_length_is_cut_visibly() {
    let origin = origin();
    let program = program("reply_body_max_size 4 KB");
    for path in ["/chunked", "/close", "/kept/chunked"] {
        let answer = client(&program).get(&origin.url(&format!("{path}/4000")));
        assert_eq!((answer.status, answer.body().len()), (200, 4000), "{path}");
        let url = origin.url(&format!("{path}/50000"));
        let mut in_chunks = client(&program);
        in_chunks.send_request("GET", &url, &[]);
        let answer = in_chunks.try_response_to("GET");
        assert!(answer.is_err(), "{path}: {answer:?}");
        // HTTP/1.0 knows no chunks: there the connection is reset.
        let url = origin.url(&format!("{path}/50001"));
        let mut old = TcpStream::connect(program.addr()).unwrap();
        write!(old, "GET {url} HTTP/1.0\r\n\r\n").unwrap();
        let read = old.read_to_end(&mut Vec::new());
        let kind = read.map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::ConnectionReset), "{path}");
    }
    let cut = program.wait_for_log(|line| line.contains("/close/50000"));
    let entry = Entry::of(&cut);
    assert_eq!(entry.result, "TCP_MISS_ABORTED/200");
    assert!(entry.bytes < 5000, "{cut}");
}

/// The first line whose ACLs match says it; `none` is no limit, and the ACLs may ask about the reply.
#[test]
fn the_first_line_that_matches_counts() {
    let origin = origin();
    let program = program(
        "acl free urlpath_regex ^/free/
acl html rep_mime_type text/html
reply_body_max_size none free
reply_body_max_size 10 KB html
reply_body_max_size 1 KB",
    );
    let mut client = client(&program);
    assert_eq!(client.get(&origin.url("/free/20000")).status, 200);
    assert!(refused(&client.get(&origin.url("/2000"))));
    assert_eq!(client.get(&origin.url("/1000")).status, 200);
}
