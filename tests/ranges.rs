//! Several ranges in one request (RFC 9110 §14.2, §14.6, §15.3.7.2), from what is stored whole, in parts, or is still
//! arriving.

use testkit::{Client, Gate, Origin, Program, Reply, Request, Response};

use crate::parts::{Ranges, bytes};
use crate::support::{Entry, client, forward, results};

/// The parts of a multipart/byteranges, each with its Content-Range and its bytes, and how many bytes the whole has
/// beside them. Panics if it isn't one.
fn parts(answer: &Response) -> (Vec<(String, Vec<u8>)>, usize) {
    assert_eq!(answer.status, 206);
    assert_eq!(answer.field("Content-Range"), None, "RFC 9110 §15.3.7.2");
    let body = answer.body();
    let length = body.len().to_string();
    assert_eq!(answer.field("Content-Length"), Some(&*length));
    let delimiter = format!("\r\n--{}", boundary(answer));
    let find = |from: usize, what: &str| {
        let mut places = body[from..].windows(what.len());
        places.position(|place| place == what.as_bytes()).unwrap() + from
    };
    let (mut found, mut at) = (Vec::new(), 0);
    assert!(body.starts_with(delimiter.as_bytes()));
    loop {
        at += delimiter.len();
        if &body[at..] == b"--\r\n" {
            break;
        }
        let start = find(at, "\r\n\r\n");
        let head = String::from_utf8(body[at..start].to_vec()).unwrap();
        let field = |name: &str| {
            let mut lines = head.split("\r\n");
            let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.map(str::to_owned)
        };
        assert_eq!(field("Content-Type").as_deref(), Some("text/x-bytes"));
        at = find(start, &delimiter);
        let part = body[start + 4..at].to_vec();
        found.push((field("Content-Range").unwrap(), part));
    }
    let inside: usize = found.iter().map(|(_, part)| part.len()).sum();
    (found, body.len() - inside)
}

fn boundary(answer: &Response) -> String {
    let content_type = answer.field("Content-Type").unwrap();
    let boundary = content_type.strip_prefix("multipart/byteranges; boundary=");
    boundary.expect("several ranges").to_owned()
}

/// Asks for these ranges of content of that length, and checks that these come, in that order.
#[track_caller]
fn several(client: &mut Client, url: &str, length: u64, asked: &str, expected: &[(u64, u64)]) {
    let answer = client.request("GET", url, &[("Range", asked)]);
    let expected: Vec<_> = expected
        .iter()
        .map(|(first, last)| {
            (
                format!("bytes {first}-{last}/{length}"),
                bytes(*first, *last),
            )
        })
        .collect();
    assert!(parts(&answer).0 == expected, "{asked}");
}

/// What is stored whole gives several ranges as parts, in the order asked for; what overlaps or is near is one.
#[test]
fn several_ranges_are_parts() {
    let ranges = Ranges::new(1000, true);
    let program = forward("workers 1");
    let mut client = client(&program);
    let url = ranges.url();
    client.get(&url);
    let mut ask = |asked: &str| client.request("GET", &url, &[("Range", asked)]);
    let first = ask("bytes=0-9,500-509,-5");
    let (found, beside) = parts(&first);
    let stated: Vec<_> = found.iter().map(|(range, _)| range.as_str()).collect();
    let all = ["bytes 0-9/1000", "bytes 500-509/1000", "bytes 995-999/1000"];
    assert_eq!(stated, all);
    let sent: Vec<_> = found.into_iter().flat_map(|(_, part)| part).collect();
    assert!(sent == [bytes(0, 9), bytes(500, 509), bytes(995, 999)].concat());
    assert!(beside < 4 * 120, "{beside} bytes between 3 parts");
    let status = first.field("Cache-Status").unwrap();
    assert!(status.contains(";hit;ttl="), "{status}");
    assert!(first.field("Age").is_some());
    let again = ask("bytes=0-9,500-509,-5");
    assert_ne!(boundary(&first), boundary(&again), "nobody can guess it");
    // One that is left of several is sent as one.
    for (asked, range, content) in [
        ("bytes=0-9,10-19", "bytes 0-19/1000", bytes(0, 19)),
        ("bytes=40-49,0-9", "bytes 0-49/1000", bytes(0, 49)),
        ("bytes=0-9,5000-", "bytes 0-9/1000", bytes(0, 9)),
    ] {
        let one = ask(asked);
        assert_eq!((one.status, one.field("Content-Range")), (206, Some(range)));
        assert_eq!(one.field("Content-Type"), Some("text/x-bytes"));
        assert!(one.body() == content);
    }
    let none = ask("bytes=5000-,6000-6001");
    assert_eq!(
        (none.status, none.field("Content-Range")),
        (416, Some("bytes */1000"))
    );
    assert_eq!(ranges.origin.total(), 1);
    let mut expected = vec!["TCP_MISS/200"];
    expected.extend(["TCP_MEM_HIT/206"; 5]);
    expected.push("TCP_MEM_HIT/416");
    assert_eq!(results(&program, 7), expected);
    let line = Entry::of(&program.wait_for_log_lines(7)[1]);
    assert_eq!(line.kind, "text/x-bytes", "as in Squid");
    assert!(line.bytes > first.body().len() as u64);
}

/// RFC 9110 §14.2, §17.15: what only a broken or hostile client asks is answered with the whole; so are HEAD, If-Range
/// with another tag, and other units.
#[test]
fn some_ranges_are_not_heeded() {
    let ranges = Ranges::new(1000, true);
    let program = forward("");
    let mut client = client(&program);
    let url = ranges.url();
    client.get(&url);
    let backwards: Vec<_> = (0..20).rev().map(|n| format!("{0}-{0}", n * 50)).collect();
    let endless: Vec<_> = (0..100).map(|n| format!("{0}-{0}", n * 9)).collect();
    for asked in [
        "bytes=0-,0-,0-".to_owned(),
        "bytes=0-500,100-600,200-700".to_owned(),
        format!("bytes={}", backwards.join(",")),
        format!("bytes={}", endless.join(",")),
        "lines=0-9,500-509".to_owned(),
    ] {
        let answer = client.request("GET", &url, &[("Range", &asked)]);
        assert_eq!((answer.status, answer.content.len), (200, 1000), "{asked}");
        assert!(answer.body() == bytes(0, 999));
    }
    let several = ("Range", "bytes=0-9,500-509");
    let other = [several, ("If-Range", "\"other\"")];
    assert_eq!(client.request("GET", &url, &other).status, 200);
    let same = [several, ("If-Range", "\"v0\"")];
    assert_eq!(parts(&client.request("GET", &url, &same)).0.len(), 2);
    let held = [several, ("If-None-Match", "\"v0\"")];
    assert_eq!(client.request("GET", &url, &held).status, 304);
    let head = client.request("HEAD", &url, &[several]);
    assert_eq!(
        (head.status, head.field("Content-Length")),
        (200, Some("1000"))
    );
    assert_eq!(ranges.origin.total(), 1);
}

/// Any ranges of any length: the parts are the slices of the content, and the connection stays in step.
#[test]
fn parts_are_slices_of_the_content() {
    let mut seed = 11_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let program = forward("maximum_object_size_in_memory 8 MB\nmaximum_object_size 8 MB");
    let mut client = client(&program);
    for length in [700, 300_000, 3_000_000] {
        let ranges = Ranges::new(length, true);
        let url = ranges.url();
        client.get(&url);
        for _ in 0..60 {
            let asked: Vec<_> = (0..2 + random(12))
                .map(|_| {
                    let first = random(length);
                    (first, first + random(1 + length / 20))
                })
                .collect();
            let list: Vec<_> = asked
                .iter()
                .map(|(from, to)| format!("{from}-{to}"))
                .collect();
            let answer = client.request(
                "GET",
                &url,
                &[("Range", &format!("bytes={}", list.join(",")))],
            );
            let sent = match (answer.status, answer.field("Content-Range")) {
                (200, None) => vec![(
                    format!("bytes 0-{}/{length}", length - 1),
                    answer.body().to_vec(),
                )],
                (206, Some(range)) => vec![(range.to_owned(), answer.body().to_vec())],
                _ => parts(&answer).0,
            };
            let mut spans = Vec::new();
            for (range, part) in sent {
                let (first, last) = range
                    .strip_prefix("bytes ")
                    .unwrap()
                    .split_once('-')
                    .unwrap();
                let (last, complete) = last.split_once('/').unwrap();
                let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
                assert_eq!(complete, length.to_string());
                assert!(part == bytes(first, last), "{list:?}: {range}");
                spans.push((first, last));
            }
            for (from, to) in asked {
                let to = to.min(length - 1);
                let within = |(first, last): &(u64, u64)| *first <= from && to <= *last;
                assert!(
                    spans.iter().any(within),
                    "{list:?}: {from}-{to} of {spans:?}"
                );
            }
        }
        assert_eq!(ranges.origin.total(), 1);
    }
}

/// Stored parts give several ranges; what is missing of them is fetched, and no more.
#[test]
fn several_ranges_come_from_stored_parts() {
    let ranges = Ranges::new(1000, true);
    let program = forward("workers 1");
    let mut client = client(&program);
    let url = ranges.url();
    for (first, last) in [(0, 99), (500, 599)] {
        let range = format!("bytes={first}-{last}");
        client.request("GET", &url, &[("Range", &range)]);
    }
    several(
        &mut client,
        &url,
        1000,
        "bytes=510-519,0-9",
        &[(510, 519), (0, 9)],
    );
    assert_eq!(ranges.origin.total(), 2);
    let missing = [(90, 109), (590, 609)];
    several(&mut client, &url, 1000, "bytes=90-109,590-609", &missing);
    assert_eq!((ranges.origin.total(), ranges.sent()), (4, 220));
    assert_eq!(ranges.last_range().as_deref(), Some("bytes=600-609"));
    assert_eq!(ranges.origin.last().field("If-Range"), Some("\"v0\""));
    several(&mut client, &url, 1000, "bytes=90-109,590-609", &missing);
    assert_eq!(ranges.origin.total(), 4);
}

/// While a response arrives, ranges of what is here go out at once, and the others when their bytes come.
#[test]
fn several_ranges_of_what_is_arriving() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start(move |_: &Request| {
        Reply::new("200 OK")
            .field("Content-Length", "100000")
            .field("Content-Type", "text/x-bytes")
            .field("Cache-Control", "max-age=600")
            .send(bytes(0, 49_999))
            .pass(&held)
            .send(bytes(50_000, 99_999))
    });
    let program = forward("");
    let url = origin.url("/");
    let mut first = client(&program);
    first.send_request("GET", &url, &[]);
    gate.wait_for_arrivals(1);
    first.read_exact(40_000);
    let mut second = client(&program);
    // Backwards, which what still arrives can't be read.
    second.send_request("GET", &url, &[("Range", "bytes=90000-90009,10-19")]);
    let mut came = Vec::new();
    while !came.ends_with(&bytes(10, 19)) {
        came.extend(second.read_exact(1));
    }
    let head = String::from_utf8_lossy(&came).into_owned();
    assert!(
        head.starts_with("HTTP/1.1 206 ")
            && head.contains("\r\nContent-Range: bytes 10-19/100000\r\n")
    );
    gate.open();
    while !came.ends_with(&bytes(90_000, 90_009)) {
        came.extend(second.read_exact(1));
    }
    drop(first);
    assert_eq!(origin.total(), 1);
}

/// A response larger than memory may hold is shared while it arrives; nobody who reads ranges of it holds up the rest.
#[test]
fn several_ranges_of_what_is_not_kept() {
    const LENGTH: u64 = 12 << 20;
    let origin = Origin::start(move |_: &Request| {
        Reply::ok(bytes(0, LENGTH - 1))
            .field("Content-Type", "text/x-bytes")
            .field("Cache-Control", "max-age=600")
    });
    let program =
        forward("cache_mem 16 MB\nmaximum_object_size_in_memory 1 MB\nrange_offset_limit none");
    let mut client = client(&program);
    let last = LENGTH - 10;
    let asked = format!("bytes={last}-,0-9,6000000-6000009");
    let expected = [(0, 9), (6_000_000, 6_000_009), (last, LENGTH - 1)];
    several(&mut client, &origin.url("/"), LENGTH, &asked, &expected);
}

/// Rules about replies see what the parts are, not that they are several.
#[test]
fn rules_see_the_type_of_the_parts() {
    let ranges = Ranges::new(1000, true);
    let program = Program::start(
        "acl bytes rep_mime_type ^text/x-bytes$\nhttp_reply_access deny bytes\nhttp_access allow all",
    );
    let mut client = client(&program);
    let url = ranges.url();
    assert_eq!(client.get(&url).status, 403);
    let several = [("Range", "bytes=0-9,500-509")];
    assert_eq!(client.request("GET", &url, &several).status, 403);
    assert_eq!(ranges.origin.total(), 1);
}

/// What an origin sends as several ranges goes through as it is, and isn't taken for anything else.
#[test]
fn an_origins_own_parts_pass() {
    const BODY: &str = "\r\n--x\r\nContent-Range: bytes 0-0/9\r\n\r\na\r\n--x\r\nContent-Range: bytes 8-8/9\r\n\r\ni\r\n--x--\r\n";
    let origin = Origin::start(|_: &Request| {
        Reply::new("206 Partial Content")
            .field("Content-Type", "multipart/byteranges; boundary=x")
            .field("Content-Range", "bytes 0-0/9")
            .field("ETag", "\"a\"")
            .field("Cache-Control", "max-age=600")
            .send(BODY)
    });
    let program = forward("");
    let mut client = client(&program);
    for asked in ["bytes=0-0,8-8", "bytes=0-0,8-8", "bytes=0-0"] {
        let answer = client.request("GET", &origin.url("/"), &[("Range", asked)]);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (206, BODY),
            "{asked}"
        );
    }
    assert_eq!(origin.total(), 3);
}
