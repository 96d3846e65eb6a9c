//! Responses that are stored in parts: ranges joined and completed (RFC 9111 §3.3, §3.4).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

use testkit::{Client, Origin, Reply, Request};

use crate::support::{client, forward, results};

/// A byte for each place, so that a wrong offset shows.
fn byte_at(at: u64) -> u8 {
    (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]
}

pub(crate) fn bytes(first: u64, last: u64) -> Vec<u8> {
    (first..=last).map(byte_at).collect()
}

/// An origin whose only content is `length` bytes long, and answers ranges; it counts the bytes it sends.
pub(crate) struct Ranges {
    pub(crate) origin: Origin,
    sent: Arc<AtomicU64>,
    /// Number of the content: in its ETag.
    round: Arc<AtomicUsize>,
}

impl Ranges {
    pub(crate) fn new(length: u64, validator: bool) -> Self {
        let (sent, round) = (Arc::<AtomicU64>::default(), Arc::<AtomicUsize>::default());
        let (count, now) = (Arc::clone(&sent), Arc::clone(&round));
        let origin = Origin::start(move |request: &Request| {
            let tag = format!("\"v{}\"", now.load(SeqCst));
            let asked = request
                .field("Range")
                .and_then(|range| parse(range, length));
            let same = request.field("If-Range").is_none_or(|guard| guard == tag);
            let (first, last) = asked.filter(|_| same).unwrap_or((0, length - 1));
            count.fetch_add(last + 1 - first, SeqCst);
            let body = bytes(first, last);
            let reply = if asked.is_some() && same {
                let range = format!("bytes {first}-{last}/{length}");
                Reply::new("206 Partial Content")
                    .field("Content-Length", &body.len().to_string())
                    .field("Content-Range", &range)
                    .send(body)
            } else {
                Reply::ok(body)
            };
            let reply = reply.field("Cache-Control", "max-age=600");
            let reply = reply.field("Content-Type", "text/x-bytes");
            match validator {
                true => reply.field("ETag", &tag),
                false => reply,
            }
        });
        Self {
            origin,
            sent,
            round,
        }
    }

    pub(crate) fn url(&self) -> String {
        self.origin.url("/big")
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(SeqCst)
    }

    /// From now on it has other content, as far as its ETag says.
    pub(crate) fn change(&self) {
        self.round.fetch_add(1, SeqCst);
    }

    /// The range that was asked for last.
    pub(crate) fn last_range(&self) -> Option<String> {
        self.origin.last().field("Range").map(str::to_owned)
    }
}

pub(crate) fn parse(range: &str, length: u64) -> Option<(u64, u64)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    match (first.parse(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) => Some((first, last.min(length - 1))),
        (Ok(first), Err(_)) => Some((first, length - 1)),
        (Err(_), Ok(count)) => Some((length - count, length - 1)),
        _ => None,
    }
}

/// Asks for a range, and checks what comes.
fn get(client: &mut Client, url: &str, first: u64, last: u64, length: u64) {
    let range = format!("bytes={first}-{last}");
    let answer = client.request("GET", url, &[("Range", &range)]);
    assert_eq!(answer.status, 206, "{range}");
    let stated = format!("bytes {first}-{last}/{length}");
    assert_eq!(answer.field("Content-Range"), Some(&*stated));
    assert!(answer.body() == bytes(first, last), "{range}");
}

/// What was asked for once is not asked for again, nor what lies in it.
#[test]
fn a_stored_part_answers() {
    let ranges = Ranges::new(1000, false);
    let program = forward("workers 1");
    let mut client = client(&program);
    let url = ranges.url();
    get(&mut client, &url, 100, 199, 1000);
    get(&mut client, &url, 100, 199, 1000);
    get(&mut client, &url, 150, 160, 1000);
    let cached = [
        ("Range", "bytes=120-129"),
        ("Cache-Control", "only-if-cached"),
    ];
    assert_eq!(client.request("GET", &url, &cached).status, 206);
    let beyond = [("Range", "bytes=0-9"), ("Cache-Control", "only-if-cached")];
    assert_eq!(client.request("GET", &url, &beyond).status, 504);
    assert_eq!(ranges.origin.total(), 1);
    assert_eq!(
        results(&program, 5),
        [
            "TCP_MISS/206",
            "TCP_MEM_HIT/206",
            "TCP_MEM_HIT/206",
            "TCP_MEM_HIT/206",
            "TCP_MISS/504"
        ]
    );
    // Without a validator nothing is joined.
    get(&mut client, &url, 150, 250, 1000);
    assert_eq!(ranges.last_range().as_deref(), Some("bytes=150-250"));
}

/// What is missing is asked for, and no more; in the end the whole is there.
#[test]
fn missing_parts_are_fetched() {
    let ranges = Ranges::new(1000, true);
    let program = forward("");
    let mut client = client(&program);
    let url = ranges.url();
    get(&mut client, &url, 100, 199, 1000);
    get(&mut client, &url, 300, 399, 1000);
    get(&mut client, &url, 150, 349, 1000);
    assert_eq!(ranges.last_range().as_deref(), Some("bytes=200-299"));
    assert_eq!(ranges.origin.last().field("If-Range"), Some("\"v0\""));
    get(&mut client, &url, 390, 999, 1000);
    assert_eq!(ranges.last_range().as_deref(), Some("bytes=400-"));
    let whole = client.get(&url);
    assert_eq!(ranges.last_range().as_deref(), Some("bytes=0-99"));
    assert_eq!((whole.status, whole.field("Content-Range")), (200, None));
    assert!(whole.body() == bytes(0, 999));
    let again = client.get(&url);
    assert!(again.body() == bytes(0, 999) && again.field("Age").is_some());
    let suffix = client.request("GET", &url, &[("Range", "bytes=-10")]);
    assert!(suffix.body() == bytes(990, 999));
    assert_eq!((ranges.origin.total(), ranges.sent()), (5, 1000));
}

/// Large holes are fetched one after another while nobody reads the first yet.
#[test]
fn several_large_holes_are_filled() {
    const LENGTH: u64 = 8_000_000;
    let ranges = Ranges::new(LENGTH, true);
    let program = forward("maximum_object_size_in_memory 8 MB\nmaximum_object_size 8 MB");
    let mut client = client(&program);
    let url = ranges.url();
    for first in [2_000_000, 4_000_000, 6_000_000] {
        get(&mut client, &url, first, first + 9, LENGTH);
    }
    let whole = client.get(&url);
    assert!(whole.status == 200 && whole.body() == bytes(0, LENGTH - 1));
    assert_eq!((ranges.origin.total(), ranges.sent()), (7, LENGTH));
}

/// Content that has changed meanwhile is never mixed with what was stored.
#[test]
fn parts_of_another_time_are_forgotten() {
    for heeds_if_range in [true, false] {
        let ranges = Ranges::new(1000, true);
        let deaf = Origin::start({
            let round = Arc::clone(&ranges.round);
            move |request: &Request| {
                let (first, last) = request
                    .field("Range")
                    .and_then(|range| parse(range, 1000))
                    .unwrap_or((0, 999));
                let body = bytes(first, last);
                Reply::new("206 Partial Content")
                    .field("Content-Length", &body.len().to_string())
                    .field("Content-Range", &format!("bytes {first}-{last}/1000"))
                    .field("ETag", &format!("\"v{}\"", round.load(SeqCst)))
                    .field("Cache-Control", "max-age=600")
                    .send(body)
            }
        });
        let program = forward("");
        let mut client = client(&program);
        let (url, origin) = match heeds_if_range {
            true => (ranges.url(), &ranges.origin),
            false => (deaf.url("/big"), &deaf),
        };
        get(&mut client, &url, 0, 99, 1000);
        ranges.round.store(1, SeqCst);
        get(&mut client, &url, 50, 149, 1000);
        let asked: Vec<_> = origin
            .requests()
            .iter()
            .map(|request| request.field("Range").map(str::to_owned))
            .collect();
        let missing = Some("bytes=100-149".to_owned());
        assert_eq!(asked[1], missing);
        if !heeds_if_range {
            assert_eq!(asked[2].as_deref(), Some("bytes=50-149"), "as it was asked");
        }
        let tag = client.request("GET", &url, &[("Range", "bytes=60-69")]);
        assert_eq!(tag.field("ETag"), Some("\"v1\""));
    }
}

/// `range_offset_limit` fetches the whole for those who ask for a part near its beginning.
#[test]
fn the_whole_is_fetched_when_told() {
    for (limit, first, whole) in [
        ("0", 0, false),
        ("1 KB", 1000, true),
        ("1 KB", 2000, false),
        ("none", 2000, true),
    ] {
        let ranges = Ranges::new(4000, true);
        let program = forward(&format!("range_offset_limit {limit}"));
        let mut client = client(&program);
        get(&mut client, &ranges.url(), first, first + 99, 4000);
        let asked = ranges.last_range();
        assert_eq!(asked.is_none(), whole, "{limit} {first}: {asked:?}");
    }
}

/// Many ranges by several clients at once: every byte right, and each fetched about once.
#[test]
fn random_ranges_cost_the_origin_each_byte_once() {
    const LENGTH: u64 = 2_000_000;
    let ranges = Ranges::new(LENGTH, true);
    let program = forward("maximum_object_size_in_memory 8 MB\nmaximum_object_size 8 MB");
    let url = ranges.url();
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut client = client(&program);
    for _ in 0..100 {
        let first = random(LENGTH);
        let last = (first + random(200_000)).min(LENGTH - 1);
        get(&mut client, &url, first, last, LENGTH);
    }
    assert!(ranges.sent() <= LENGTH, "{} bytes sent", ranges.sent());
    let whole = client.get(&url);
    assert!(whole.body() == bytes(0, LENGTH - 1));
    assert_eq!(ranges.sent(), LENGTH);
}
