//! What is sent, in this order: each case on a connection of its own, and each is a line in the log.

use testkit::{Reply, Request};

/// A case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// `{o}` stands for the origin's host and port, `{closed}` for one that refuses.
    pub(crate) sent: &'static str,
    /// What follows the answer to a CONNECT.
    pub(crate) then: Option<&'static str>,
}

const fn case(name: &'static str, sent: &'static str) -> Case {
    Case {
        name,
        sent,
        then: None,
    }
}

/// Rules that the cases need.
pub(crate) const RULES: &str = "\
auth_param basic program /usr/lib/squid/basic_fake_auth
auth_param basic realm test
acl login urlpath_regex ^/login
acl users proxy_auth REQUIRED
acl refused urlpath_regex ^/refused
acl odd rep_header X-Refuse .
http_access deny refused
http_access allow login users
http_access deny login
http_access allow all
http_reply_access deny odd
negative_ttl 60 seconds
";

pub(crate) const CASES: &[Case] = &[
    case(
        "a miss",
        "GET http://{o}/page HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a hit",
        "GET http://{o}/page HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case("a hit of HTTP/1.0", "GET http://{o}/page HTTP/1.0\r\n\r\n"),
    case(
        "a hit of HEAD",
        "HEAD http://{o}/page HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a hit by date",
        "GET http://{o}/page HTTP/1.1\r\nHost: {o}\r\nIf-Modified-Since: Tue, 01 Jan 2030 00:00:00 GMT\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a hit by tag",
        "GET http://{o}/page HTTP/1.1\r\nHost: {o}\r\nIf-None-Match: \"v\"\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a range of a hit",
        "GET http://{o}/page HTTP/1.1\r\nHost: {o}\r\nRange: bytes=0-1\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a reload",
        "GET http://{o}/page HTTP/1.1\r\nHost: {o}\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a query",
        "GET http://{o}/query?a=1&b=%20 HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "an upload",
        "POST http://{o}/post HTTP/1.1\r\nHost: {o}\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
    ),
    case(
        "an upload in chunks",
        "PUT http://{o}/put HTTP/1.1\r\nHost: {o}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ),
    case(
        "a miss of HEAD",
        "HEAD http://{o}/head HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "not found",
        "GET http://{o}/missing HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "not found again",
        "GET http://{o}/missing HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a redirect",
        "GET http://{o}/moved HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "no content",
        "GET http://{o}/empty HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a reply in chunks",
        "GET http://{o}/chunks HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a reply that breaks off",
        "GET http://{o}/short HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "no reply",
        "GET http://{o}/silent HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a stale one, first",
        "GET http://{o}/stale HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a stale one, unmodified",
        "GET http://{o}/stale HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a changed one, first",
        "GET http://{o}/changes HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a changed one, modified",
        "GET http://{o}/changes HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "refused",
        "GET http://{o}/refused HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a refused reply",
        "GET http://{o}/odd HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "no login",
        "GET http://{o}/login HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a login",
        "GET http://{o}/login HTTP/1.1\r\nHost: {o}\r\nProxy-Authorization: Basic YWxpY2U6cHc=\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a login with blanks",
        "GET http://{o}/login HTTP/1.1\r\nHost: {o}\r\nProxy-Authorization: Basic YWwgaWNlXFsicSVdOnB3\r\nConnection: close\r\n\r\n",
    ),
    case(
        "only if cached",
        "GET http://{o}/nowhere HTTP/1.1\r\nHost: {o}\r\nCache-Control: only-if-cached\r\nConnection: close\r\n\r\n",
    ),
    case(
        "an origin that refuses",
        "GET http://{closed}/page HTTP/1.1\r\nHost: {closed}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a scheme that nobody knows",
        "GET gopher://{o}/page HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a method that nobody knows",
        "FROB http://{o}/frob HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "OPTIONS that end here",
        "OPTIONS http://{o}/page HTTP/1.1\r\nHost: {o}\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n",
    ),
    case(
        "TRACE that ends here",
        "TRACE http://{o}/page HTTP/1.1\r\nHost: {o}\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a browser with quotes",
        "GET http://{o}/agent HTTP/1.1\r\nHost: {o}\r\nUser-Agent: a \"b\" [c] \\ 100% \u{e4}\r\nReferer: http://from/?a%20b\"c\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a URL with odd characters",
        "GET http://{o}/odd\"chars<>[]{}^`~%zz\\ HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a URL beyond ASCII",
        "GET http://{o}/\u{e4}\u{f6} HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a URL with a fragment",
        "GET http://{o}/page2#part HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case(
        "a URL with a user",
        "GET http://me:secret@{o}/page3 HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    case("no HTTP", "\u{16}\u{3}\u{1}garbage\r\n\r\n"),
    case("a request without a version", "GET http://{o}/old\r\n\r\n"),
    case(
        "two lengths",
        "POST http://{o}/post HTTP/1.1\r\nHost: {o}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    ),
    case(
        "a path only",
        "GET /path HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n",
    ),
    Case {
        name: "a tunnel",
        sent: "CONNECT {o} HTTP/1.1\r\nHost: {o}\r\n\r\n",
        then: Some("GET /inside HTTP/1.1\r\nHost: {o}\r\nConnection: close\r\n\r\n"),
    },
    case(
        "a tunnel to nobody",
        "CONNECT {closed} HTTP/1.1\r\nHost: {closed}\r\n\r\n",
    ),
];

/// What the origin says, by path. `before`: how often it was asked for that.
pub(crate) fn reply(request: &Request, before: usize) -> Reply {
    let asked = request.field("If-None-Match").is_some();
    match request.target.as_str() {
        "/page" => Reply::ok("a page\n")
            .field("Content-Type", "text/html; charset=utf-8")
            .field("Cache-Control", "max-age=3600")
            .field("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
            .field("ETag", "\"v\""),
        "/missing" => Reply::new("404 Not Found").field("Content-Type", "text/plain"),
        "/moved" => Reply::new("302 Found").field("Location", "/page"),
        "/empty" => Reply::new("204 No Content"),
        "/chunks" => Reply::raw(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        ),
        "/short" => {
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\nConnection: close\r\n\r\nshort")
        }
        "/silent" => Reply::raw("").close(),
        "/stale" if asked => Reply::new("304 Not Modified").field("ETag", "\"s\""),
        "/stale" => Reply::ok("stale\n")
            .field("Cache-Control", "max-age=0")
            .field("ETag", "\"s\""),
        "/changes" => Reply::ok(format!("change {before}\n"))
            .field("Cache-Control", "max-age=0")
            .field("ETag", &format!("\"{before}\"")),
        "/odd" => Reply::ok("odd\n").field("X-Refuse", "1"),
        _ => Reply::ok("ok\n").field("Content-Type", "text/plain"),
    }
}
