//! Caching to the letter, requirement by requirement, where no other module has it: what is sent with hits, what
//! invalidates, conditions and ranges on hits, directives of requests and replies, what may be guessed.

use testkit::{Client, Origin, Program, Reply, Request};

use crate::support::{client, forward};

const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

fn fresh(content: &str) -> Reply {
    Reply::ok(content).field("Cache-Control", "max-age=600")
}

/// A program with something stored, whose origin is asked no more.
struct Stored {
    origin: Origin,
    _program: Program,
    client: Client,
    url: String,
}

impl Stored {
    fn new(reply: Reply) -> Self {
        let origin = Origin::start(move |_: &Request| reply.clone());
        let program = forward("");
        let mut client = client(&program);
        let url = origin.url("/");
        client.get(&url);
        Self {
            origin,
            _program: program,
            client,
            url,
        }
    }

    /// Status and content of the answer, which must come from the store.
    fn ask(&mut self, method: &str, fields: &[(&str, &str)]) -> (u16, String) {
        let answer = self.client.request(method, &self.url, fields);
        assert_eq!(self.origin.total(), 1, "{method} {fields:?}");
        (answer.status, answer.text())
    }
}

/// How often an origin is asked for two requests with these fields.
fn asked_twice(conf: &str, reply: Reply, fields: &[(&str, &str)]) -> usize {
    let origin = Origin::start(move |_: &Request| reply.clone());
    let program = forward(conf);
    let mut client = client(&program);
    for _ in 0..2 {
        client.request("GET", &origin.url("/"), fields);
    }
    origin.total()
}

/// RFC 9111 §3.1: fields of the connection that brought the response are not stored; others are, unknown ones too.
#[test]
fn hits_carry_nothing_of_a_connection() {
    let reply = fresh("x")
        .field("Connection", "X-Hop, keep-alive")
        .field("Keep-Alive", "timeout=77")
        .field("Proxy-Connection", "keep-alive")
        .field("X-Hop", "1")
        .field("TE", "trailers")
        .field("Upgrade", "h2c")
        .field("Proxy-Authentication-Info", "nextnonce=\"1\"")
        .field("X-End", "2");
    let mut stored = Stored::new(reply);
    let hit = stored.client.get(&stored.url);
    assert_eq!(stored.origin.total(), 1);
    for name in [
        "X-Hop",
        "TE",
        "Upgrade",
        "Proxy-Connection",
        "Proxy-Authentication-Info",
    ] {
        assert_eq!(hit.field(name), None, "{name}");
    }
    assert_ne!(hit.field("Keep-Alive"), Some("timeout=77"));
    assert_eq!(hit.field("X-End"), Some("2"));
}

/// RFC 9111 §4.4: safe methods invalidate nothing, whatever they bring, nor do unsafe ones that fail; what succeeds does.
#[test]
fn safe_methods_invalidate_nothing() {
    let origin = Origin::start(|request: &Request| match request.method.as_str() {
        "GET" => fresh("x"),
        "DELETE" => Reply::new("404 Not Found"),
        "PATCH" => Reply::new("500 No"),
        _ => Reply::ok("").field("Location", "/a"),
    });
    let program = forward("");
    let mut client = client(&program);
    let url = origin.url("/a");
    client.get(&url);
    for (method, kept) in [
        ("HEAD", true),
        ("OPTIONS", true),
        ("TRACE", true),
        ("DELETE", true),
        ("PATCH", true),
        ("PUT", false),
        ("FROB", false),
    ] {
        let fields: &[(&str, &str)] = match method {
            "PATCH" | "PUT" | "FROB" => &[("Content-Length", "0")],
            _ => &[],
        };
        client.request(method, &url, fields);
        let before = origin.total();
        assert_eq!(client.get(&url).text(), "x", "{method}");
        assert_eq!(origin.total() == before, kept, "{method}");
    }
}

/// RFC 9111 §5.2.1.7: what is stored but would have to be validated is not asked about.
#[test]
fn only_if_cached_of_what_is_stale() {
    let origin =
        Origin::start(|_: &Request| fresh("x").field("Age", "1000").field("ETag", "\"a\""));
    let program = forward("");
    let mut client = client(&program);
    let url = origin.url("/");
    client.get(&url);
    for (control, status) in [
        ("only-if-cached", 504),
        ("only-if-cached, no-cache", 504),
        ("only-if-cached, max-stale", 200),
    ] {
        let answer = client.request("GET", &url, &[("Cache-Control", control)]);
        assert_eq!(answer.status, status, "{control}");
    }
    assert_eq!(origin.total(), 1);
}

/// RFC 9110 §13.2.2: all conditions are answered from what is stored, in their order.
#[test]
fn conditions_on_a_hit() {
    let mut stored = Stored::new(
        fresh("abc")
            .field("ETag", "\"t\"")
            .field("Last-Modified", MODIFIED),
    );
    for (fields, expected) in [
        (&[("If-Match", "\"t\"")] as &[(&str, &str)], 200),
        (&[("If-Match", "*")], 200),
        (&[("If-Match", "\"s\", \"u\"")], 412),
        (&[("If-Match", "W/\"t\"")], 412),
        (&[("If-Unmodified-Since", MODIFIED)], 200),
        (&[("If-Unmodified-Since", LATER)], 200),
        (&[("If-Unmodified-Since", EARLIER)], 412),
        (&[("If-Unmodified-Since", "yesterday")], 200),
        (
            &[("If-Match", "\"t\""), ("If-Unmodified-Since", EARLIER)],
            200,
        ),
        (&[("If-None-Match", "*")], 304),
        (&[("If-None-Match", "\"t\"")], 304),
        (&[("If-None-Match", "\"s\"")], 200),
        (&[("If-Modified-Since", EARLIER)], 200),
        (&[("If-Modified-Since", MODIFIED)], 304),
        (
            &[("If-None-Match", "\"s\""), ("If-Modified-Since", MODIFIED)],
            200,
        ),
        (&[("If-Match", "\"t\""), ("If-None-Match", "*")], 304),
    ] {
        for method in ["GET", "HEAD"] {
            let (status, content) = stored.ask(method, fields);
            assert_eq!(status, expected, "{method} {fields:?}");
            let has_content = method == "GET" && status == 200;
            assert_eq!(content == "abc", has_content, "{method} {fields:?}");
        }
    }
}

/// RFC 9110 §13.1.5: a part only of the very same response, by a strong validator.
#[test]
fn if_range_on_a_hit() {
    let reply = |etag| {
        fresh("0123456789")
            .field("ETag", etag)
            .field("Last-Modified", MODIFIED)
    };
    for (etag, guard, part) in [
        ("\"t\"", "\"t\"", true),
        ("\"t\"", "\"u\"", false),
        ("\"t\"", "W/\"t\"", false),
        ("W/\"t\"", "W/\"t\"", false),
        ("\"t\"", MODIFIED, true),
        ("\"t\"", LATER, false),
        ("\"t\"", EARLIER, false),
        ("\"t\"", "rubbish", false),
    ] {
        let mut stored = Stored::new(reply(etag));
        let fields = [("Range", "bytes=2-3"), ("If-Range", guard)];
        let expected = match part {
            true => (206, "23".to_owned()),
            false => (200, "0123456789".to_owned()),
        };
        assert_eq!(stored.ask("GET", &fields), expected, "{etag} {guard}");
    }
}

/// RFC 9111 §5.2.2.4, §5.2.2.7: with a list of fields, too, as a cache may take both for all of the response.
#[test]
fn directives_about_fields() {
    for (control, total) in [
        ("max-age=600, private=\"Set-Cookie\"", 2),
        ("max-age=600, no-cache=\"Set-Cookie\"", 2),
        ("max-age=600, private=\"\"", 2),
        ("max-age=600, x-private=\"Set-Cookie\"", 1),
    ] {
        let reply = Reply::ok("x")
            .field("Cache-Control", control)
            .field("ETag", "\"a\"");
        assert_eq!(asked_twice("", reply, &[]), total, "{control}");
    }
}

/// RFC 9111 §5.2.1.2: as stale as the client says, or however stale; never what must be revalidated.
#[test]
fn max_stale_has_a_measure() {
    for (reply_says, request_says, total) in [
        ("max-age=100", "max-stale", 1),
        ("max-age=100", "max-stale=300", 1),
        ("max-age=100", "max-stale=100", 2),
        ("max-age=100", "max-stale=0", 2),
        ("max-age=100", "max-stale=x", 2),
        ("max-age=100, must-revalidate", "max-stale", 2),
        ("max-age=100, proxy-revalidate", "max-stale", 2),
        ("s-maxage=100", "max-stale", 2),
        ("no-cache", "max-stale", 2),
    ] {
        let reply = Reply::ok("x")
            .field("Cache-Control", reply_says)
            .field("Age", "300")
            .field("ETag", "\"a\"");
        let asked = asked_twice("", reply, &[("Cache-Control", request_says)]);
        assert_eq!(asked, total, "{reply_says}, {request_says}");
    }
}

/// RFC 9111 §4.1: the names in Vary have no case, and the fields are found in any.
#[test]
fn vary_has_no_case() {
    let reply = |request: &Request| {
        let language = request.field("Accept-Language").unwrap_or("none");
        fresh(language).field("Vary", "ACCEPT-language, x-Other")
    };
    let origin = Origin::start(reply);
    let program = forward("");
    let mut client = client(&program);
    let url = origin.url("/");
    for (name, value, total) in [
        ("Accept-Language", "de", 1),
        ("accept-language", "de", 1),
        ("ACCEPT-LANGUAGE", "fr", 2),
        ("Accept-language", "fr", 2),
        ("Accept-Language", "de", 2),
    ] {
        let answer = client.request("GET", &url, &[(name, value)]);
        assert_eq!(answer.text(), value, "{name}");
        assert_eq!(origin.total(), total, "{name}: {value}");
    }
}

/// RFC 9110 §15.1: without a word on freshness, age lets us guess for some statuses, and for no others.
#[test]
fn some_statuses_are_guessed_about() {
    for (status, total) in [
        ("200 OK", 1),
        ("203 Non-Authoritative Information", 1),
        ("300 Multiple Choices", 1),
        ("301 Moved Permanently", 1),
        ("308 Permanent Redirect", 1),
        ("404 Not Found", 1),
        ("405 Method Not Allowed", 1),
        ("410 Gone", 1),
        ("414 URI Too Long", 1),
        ("501 Not Implemented", 1),
        ("302 Found", 2),
        ("303 See Other", 2),
        ("307 Temporary Redirect", 2),
        ("400 Bad Request", 2),
        ("500 Internal Server Error", 2),
        ("503 Service Unavailable", 2),
    ] {
        let reply = Reply::new(status)
            .field("Last-Modified", MODIFIED)
            .field("Location", "/elsewhere")
            .send("x");
        assert_eq!(asked_twice("", reply, &[]), total, "{status}");
    }
    let part = Reply::new("206 Partial Content")
        .field("Last-Modified", MODIFIED)
        .field("Content-Range", "bytes 0-0/9")
        .send("x");
    let range = [("Range", "bytes=0-0")];
    assert_eq!(asked_twice("", part, &range), 1, "206");
}

/// What is kept for want of anything better is kept for nobody whose cookie it may hold.
#[test]
fn a_page_with_a_cookie_is_no_spare() {
    for (cookie, status) in [(None, 200), (Some("id=1"), 503)] {
        let origin = Origin::start(move |_: &Request| {
            let page = Reply::ok("account");
            match cookie {
                Some(cookie) => page.field("Set-Cookie", cookie),
                None => page,
            }
        });
        let program = forward("connect_timeout 2 seconds");
        let mut client = client(&program);
        let url = origin.url("/account/x.css");
        client.get(&url);
        origin.stop();
        assert_eq!(client.get(&url).status, status, "{cookie:?}");
    }
}
