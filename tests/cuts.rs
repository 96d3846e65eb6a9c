//! Responses that end before their end: what has come is kept where the rest can be asked for (RFC 9111 §3.3).

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use testkit::{Client, Failed, Gate, Origin, Reply, Request, until};

use crate::parts::{bytes, parse};
use crate::support::{client, forward, results};

const LENGTH: u64 = 100_000;

/// How an origin behaves.
#[derive(Clone)]
struct Manner {
    /// Bytes after which its first reply ends.
    cut_at: u64,
    /// The field that says which version it is.
    validator: (&'static str, &'static str),
    chunked: bool,
    /// Later ones wait for it.
    gate: Option<Gate>,
    /// It falls silent there, and doesn't close.
    stalls: bool,
}

const TAG: (&str, &str) = ("ETag", "\"a\"");

impl Manner {
    fn cutting(cut_at: u64) -> Self {
        Self {
            cut_at,
            validator: TAG,
            chunked: false,
            gate: None,
            stalls: false,
        }
    }
}

/// An origin that cuts its first reply, and answers ranges.
struct Cutting {
    origin: Origin,
    /// Bytes of the replies after the first.
    sent: Arc<Mutex<Vec<u64>>>,
}

impl Cutting {
    fn new(mut manner: Manner) -> Self {
        let gate = manner.gate.take();
        let sent = Arc::<Mutex<Vec<u64>>>::default();
        let (counts, replies) = (Arc::clone(&sent), AtomicUsize::new(0));
        let origin = Origin::start(move |request: &Request| {
            let asked = request
                .field("Range")
                .and_then(|range| parse(range, LENGTH));
            let (first, last) = asked.unwrap_or((0, LENGTH - 1));
            let mut reply = match asked {
                Some(_) => Reply::new("206 Partial Content")
                    .field("Content-Range", &format!("bytes {first}-{last}/{LENGTH}")),
                // What describes the whole, a 206 to If-Range doesn't repeat (RFC 9110 §15.3.7).
                None => Reply::new("200 OK").field("Content-Type", "text/x-bytes"),
            };
            reply = match manner.chunked {
                true => reply.chunked(),
                false => reply.field("Content-Length", &(last - first + 1).to_string()),
            };
            let (name, value) = manner.validator;
            reply = reply
                .field("Cache-Control", "max-age=600")
                .field(name, value);
            if replies.fetch_add(1, SeqCst) > 0 {
                if let Some(gate) = &gate {
                    gate.pass();
                }
                counts.lock().unwrap().push(last - first + 1);
                return reply.send(bytes(first, last));
            }
            let reply = reply.send(bytes(first, first + manner.cut_at - 1));
            match manner.stalls {
                true => reply.stall(),
                false => reply.close(),
            }
        });
        Self { origin, sent }
    }

    fn url(&self) -> String {
        self.origin.url("/big")
    }

    fn sent(&self) -> Vec<u64> {
        self.sent.lock().unwrap().clone()
    }
}

/// Asks, and sees that it is cut.
fn cut(client: &mut Client, url: &str, fields: &[(&str, &str)]) {
    client.send_request("GET", url, fields);
    match client.try_response_to("GET") {
        Err(Failed::CutBody(_)) => {}
        other => panic!("not cut: {other:?}"),
    }
}

/// What an origin has broken off is completed by a request for the rest, and no more.
#[test]
fn the_rest_of_a_cut_reply_is_fetched() {
    let cutting = Cutting::new(Manner::cutting(40_000));
    let program = forward("workers 1");
    let url = cutting.url();
    cut(&mut client(&program), &url, &[]);
    let mut client = client(&program);
    let part = client.request("GET", &url, &[("Range", "bytes=100-199")]);
    assert!(part.status == 206 && part.body() == bytes(100, 199));
    assert_eq!(cutting.origin.total(), 1);
    let whole = client.get(&url);
    assert_eq!((whole.status, whole.field("Content-Range")), (200, None));
    assert!(whole.body() == bytes(0, LENGTH - 1));
    let status = whole.field("Cache-Status").unwrap();
    assert!(status.contains(";fwd=partial"), "{status}");
    let asked = cutting.origin.last();
    assert_eq!(asked.field("Range"), Some("bytes=40000-"));
    assert_eq!(asked.field("If-Range"), Some("\"a\""));
    assert_eq!(cutting.sent(), [60_000]);
    let again = client.get(&url);
    assert!(again.body() == bytes(0, LENGTH - 1));
    for answer in [whole, again] {
        assert_eq!(answer.field("Content-Type"), Some("text/x-bytes"));
    }
    // It is one again, as only what is whole answers HEAD.
    let head = client.request("HEAD", &url, &[]);
    assert_eq!(head.field("Content-Length"), Some("100000"));
    assert!(client.get(&url).body() == bytes(0, LENGTH - 1));
    assert_eq!(cutting.origin.total(), 2);
    let expected = [
        "TCP_MISS_ABORTED/200",
        "TCP_MEM_HIT/206",
        "TCP_MISS/200",
        "TCP_MEM_HIT/200",
    ];
    assert_eq!(results(&program, 4), expected);
}

/// The same for a range that was broken off.
#[test]
fn the_rest_of_a_cut_part_is_fetched() {
    let cutting = Cutting::new(Manner::cutting(1_000));
    let program = forward("");
    let url = cutting.url();
    let asked = [("Range", "bytes=50000-59999")];
    cut(&mut client(&program), &url, &asked);
    let part = client(&program).request("GET", &url, &asked);
    assert_eq!(
        part.field("Content-Range"),
        Some("bytes 50000-59999/100000")
    );
    assert!(part.body() == bytes(50_000, 59_999));
    assert_eq!(
        cutting.origin.last().field("Range"),
        Some("bytes=51000-59999")
    );
    assert_eq!(cutting.sent(), [9_000]);
}

/// Of those who miss the same, one fetches it.
#[test]
fn the_rest_is_fetched_once_for_all() {
    for collapses in [true, false] {
        let gate = Gate::new();
        let cutting = Cutting::new(Manner {
            gate: Some(gate.clone()),
            ..Manner::cutting(40_000)
        });
        let mode = if collapses { "on" } else { "off" };
        let program = forward(&format!("workers 1\ncollapsed_forwarding {mode}"));
        let url = cutting.url();
        cut(&mut client(&program), &url, &[]);
        let (mut one, mut two) = (client(&program), client(&program));
        one.send_request("GET", &url, &[]);
        gate.wait_for_arrivals(1);
        two.send_request("GET", &url, &[]);
        // The second is known to wait when another one has been answered.
        let part = client(&program).request("GET", &url, &[("Range", "bytes=0-9")]);
        assert_eq!(part.body(), bytes(0, 9));
        gate.open();
        for client in [&mut one, &mut two] {
            let answer = client.response();
            assert!(answer.status == 200 && answer.body() == bytes(0, LENGTH - 1));
        }
        let fetches = if collapses { 1 } else { 2 };
        assert_eq!(cutting.sent(), vec![60_000; fetches]);
        if collapses {
            let found = results(&program, 4);
            let count = |wanted: &str| found.iter().filter(|found| *found == wanted).count();
            assert_eq!((count("TCP_MISS/200"), count("TCP_CF_MISS/200")), (1, 1));
        }
    }
}

/// Without a strong validator, or without a length, nobody could tell whether the rest belongs to it.
#[test]
fn what_cannot_be_completed_is_not_kept() {
    let cutting = Manner::cutting(40_000);
    let weak = Manner {
        validator: ("ETag", "W/\"a\""),
        ..cutting.clone()
    };
    let none = Manner {
        validator: ("X-Nothing", "0"),
        ..cutting.clone()
    };
    let endless = Manner {
        chunked: true,
        ..cutting
    };
    for manner in [weak, none, endless] {
        let cutting = Cutting::new(manner);
        let program = forward("");
        let url = cutting.url();
        cut(&mut client(&program), &url, &[]);
        assert!(client(&program).get(&url).body() == bytes(0, LENGTH - 1));
        assert_eq!(cutting.origin.last().field("Range"), None);
        assert_eq!(cutting.sent(), [LENGTH]);
    }
}

/// When its client has left and `quick_abort_*` ends the fetch, what has come isn't fetched again.
#[test]
fn what_quick_abort_ends_is_completed_later() {
    let cutting = Cutting::new(Manner {
        stalls: true,
        ..Manner::cutting(40_000)
    });
    let program = forward("quick_abort_min 0 KB\nquick_abort_max 0 KB");
    let url = cutting.url();
    let mut leaving = client(&program);
    leaving.send_request("GET", &url, &[]);
    leaving.read_exact(40_000);
    leaving.reset();
    until("the origin's connection to close", || {
        (cutting.origin.open_connections() == 0).then_some(())
    });
    assert!(client(&program).get(&url).body() == bytes(0, LENGTH - 1));
    let asked = cutting.origin.last();
    let range = asked.field("Range").unwrap();
    let first: u64 = range
        .strip_prefix("bytes=")
        .unwrap()
        .trim_end_matches('-')
        .parse()
        .unwrap();
    assert!((30_000..=40_000).contains(&first), "{range}");
    assert_eq!(cutting.sent(), [LENGTH - first]);
}

/// A fetch that a client has forced and left doesn't push out what is stored whole.
#[test]
fn a_cut_reload_leaves_what_is_stored() {
    let count = AtomicUsize::new(0);
    let origin = Origin::start(move |_: &Request| {
        let reply = Reply::ok(bytes(0, 999));
        let reply = reply
            .field("Cache-Control", "max-age=600")
            .field("ETag", "\"a\"");
        match count.fetch_add(1, SeqCst) {
            0 => reply,
            _ => reply.field("Content-Length", "2000").close(),
        }
    });
    let program = forward("");
    let url = origin.url("/");
    client(&program).get(&url);
    cut(
        &mut client(&program),
        &url,
        &[("Cache-Control", "no-cache")],
    );
    let again = client(&program).get(&url);
    assert!(again.field("Age").is_some() && again.body() == bytes(0, 999));
    assert_eq!(origin.total(), 2);
}

/// The origin has another version by now: the client gets that, whole.
#[test]
fn another_version_is_never_mixed_in() {
    let count = AtomicUsize::new(0);
    let origin = Origin::start(move |request: &Request| {
        let first = count.fetch_add(1, SeqCst) == 0;
        let tag = if first { "\"old\"" } else { "\"new\"" };
        let reply = match first {
            true => Reply::ok(vec![b'o'; 500])
                .field("Content-Length", "1000")
                .close(),
            false => {
                assert_eq!(request.field("If-Range"), Some("\"old\""));
                Reply::ok(vec![b'n'; 1000])
            }
        };
        reply
            .field("Cache-Control", "max-age=600")
            .field("ETag", tag)
    });
    let program = forward("");
    let url = origin.url("/");
    cut(&mut client(&program), &url, &[]);
    let mut client = client(&program);
    for _ in 0..2 {
        assert_eq!(client.get(&url).body(), vec![b'n'; 1000]);
    }
    assert_eq!(origin.total(), 2);
}
