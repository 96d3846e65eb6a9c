//! Our answers beside those of `http-cache-semantics`, over random requests, responses and moments. Where the two
//! differ, [`DIFFERENCES`] says which RFC section decides; a difference without a row fails, and so does a row without
//! a difference.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_cache_semantics::{AfterResponse, BeforeRequest, CacheOptions, CachePolicy};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use wire::Fields;

use super::freshness::{Freshness, is_negative};
use super::reuse::Reuse;
use super::validate::{confirms, update};
use super::vary::Vary;
use super::{CachingRules, Exchange};
use crate::testing::{NOON, rules};

const URL: &str = "http://example.com/";
const CASES: u32 = 30_000;

/// What both are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// May it be stored?
    Storable,
    /// How old is it at the second request?
    Age,
    /// For how many seconds is it fresh when it comes?
    Lifetime,
    /// Does it answer a second request with the same selecting fields?
    Fresh,
    /// Are the selecting fields those of the stored response?
    Vary,
    /// Does a 304 speak of it?
    Confirms,
    /// Which fields has it after that 304?
    Updated,
}

type Lines = Vec<(&'static str, String)>;

/// A response to a request, a second request some time later, and a 304 to that.
#[derive(Clone, Debug)]
struct Scene {
    method: Method,
    request: Lines,
    status: u16,
    reply: Lines,
    later_secs: i64,
    again: Lines,
    not_modified: Lines,
}

impl Scene {
    fn reply(&self, name: &str) -> Option<&str> {
        value(&self.reply, name)
    }

    fn says(&self, directive: &str) -> bool {
        says(&self.reply, directive)
    }

    fn asks(&self, directive: &str) -> bool {
        says(&self.again, directive)
    }

    fn again_has(&self, name: &str) -> bool {
        value(&self.again, name).is_some()
    }
}

fn value<'a>(lines: &'a Lines, name: &str) -> Option<&'a str> {
    let mut lines = lines.iter();
    lines
        .find(|(other, _)| *other == name)
        .map(|(_, value)| value.as_str())
}

fn says(lines: &Lines, directive: &str) -> bool {
    let mut listed = value(lines, "cache-control")
        .unwrap_or_default()
        .split(", ");
    listed.any(|one| one.split('=').next() == Some(directive))
}

/// A row: where we answer otherwise, and why.
struct Difference {
    question: Question,
    /// What the scene, and our answers, are like.
    when: fn(&Scene, &Answers) -> bool,
    decides: &'static str,
}

const fn row(
    question: Question,
    when: fn(&Scene, &Answers) -> bool,
    decides: &'static str,
) -> Difference {
    Difference {
        question,
        when,
        decides,
    }
}

/// The known differences; the first that covers one counts it.
const DIFFERENCES: &[Difference] = &[
    row(
        Question::Storable,
        |scene, _| scene.method == Method::HEAD,
        "RFC 9111 §4.3.5: a response to HEAD updates what is stored, it is nothing to store",
    ),
    row(
        Question::Storable,
        |scene, _| scene.reply("vary") == Some("*"),
        "RFC 9111 §4.1: no request matches `*`, so that nothing can come of it",
    ),
    row(
        Question::Storable,
        |scene, _| !THEIR_STATUSES.contains(&scene.status),
        "RFC 9111 §3: any final status will do when the lifetime is stated, but with must-understand",
    ),
    row(
        Question::Storable,
        |scene, _| is_negative(scene.status) && scene.reply("last-modified").is_none(),
        "RFC 9111 §4.2.2: guessing is optional; errors without Last-Modified are for `negative_ttl`",
    ),
    row(
        Question::Storable,
        |scene, ours| {
            let none = |name| scene.reply(name).is_none();
            none("etag") && none("last-modified") && ours.lifetime == 0
        },
        "RFC 9111 §3: optional; stale on arrival, and nothing to validate it with",
    ),
    row(
        Question::Age,
        is_older_than_it_says,
        "RFC 9111 §4.2.3: the apparent age counts where it is more than Age",
    ),
    row(
        Question::Lifetime,
        is_older_than_it_says,
        "RFC 9111 §4.2.3: as above",
    ),
    row(
        Question::Lifetime,
        |scene, _| scene.reply("set-cookie").is_some(),
        "RFC 9111 §7.3: Set-Cookie doesn't keep a response from being stored",
    ),
    row(
        Question::Lifetime,
        |scene, _| scene.says("proxy-revalidate"),
        "RFC 9111 §5.2.2.8: to be validated once it is stale, not at once",
    ),
    row(
        Question::Vary,
        selects_alike,
        "RFC 9111 §4.1: white space, order of lines and case where it means nothing make no difference",
    ),
    row(
        Question::Fresh,
        is_older_than_it_says,
        "RFC 9111 §4.2.3: as above",
    ),
    row(
        Question::Fresh,
        |scene, _| scene.reply("set-cookie").is_some(),
        "RFC 9111 §7.3: as above",
    ),
    row(
        Question::Fresh,
        |scene, _| scene.says("proxy-revalidate"),
        "RFC 9111 §5.2.2.8: as above",
    ),
    row(
        Question::Fresh,
        |scene, _| {
            let forbids = ["no-cache", "s-maxage"];
            let pragma = scene.reply("pragma").is_some();
            scene.asks("max-stale") && (pragma || forbids.iter().any(|name| scene.says(name)))
        },
        "RFC 9111 §5.2.2.4, §5.2.2.10: these forbid stale use as must-revalidate does",
    ),
    row(
        Question::Fresh,
        |scene, _| scene.again_has("pragma") && scene.again_has("cache-control"),
        "RFC 9111 §5.4: Pragma says nothing beside Cache-Control",
    ),
    row(
        Question::Fresh,
        |scene, _| scene.says("immutable") && scene.asks("max-age"),
        "RFC 8246 §2: what doesn't change needs no validation while it is fresh",
    ),
    row(
        Question::Fresh,
        |scene, _| {
            value(&scene.again, "cache-control").is_some_and(|text| text.contains("max-age=0"))
        },
        "RFC 9111 §5.2.1.1: a client that takes nothing older than 0 s wants it validated, even in its first second",
    ),
    row(
        Question::Fresh,
        |scene, _| {
            value(&scene.again, "cache-control").is_some_and(|text| text.contains("max-stale=60"))
        },
        "RFC 9111 §5.2.1.2: stale by no more than that, so exactly that will do",
    ),
    row(
        Question::Confirms,
        |scene, _| {
            let none = |name| value(&scene.not_modified, name).is_none();
            none("etag") && none("last-modified")
        },
        "RFC 9111 §4.3.3: a 304 without validators answers the question that we asked",
    ),
    row(
        Question::Confirms,
        |scene, _| {
            let new = value(&scene.not_modified, "etag");
            new.is_none_or(|tag| tag.starts_with("W/"))
        },
        "RFC 9111 §4.3.4: only a strong validator that we don't have must not update",
    ),
    row(
        Question::Confirms,
        |scene, _| value(&scene.not_modified, "last-modified") == scene.reply("last-modified"),
        "RFC 9111 §4.3.4: one validator that both have is enough",
    ),
    row(
        Question::Updated,
        |scene, _| {
            let new = |name: &&str| {
                value(&scene.not_modified, name).is_some() && scene.reply(name).is_none()
            };
            NAMES.iter().any(new)
        },
        "RFC 9111 §3.2: a 304 adds fields too",
    ),
];

/// What the oracle calls understood.
const THEIR_STATUSES: [u16; 14] = [
    200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501,
];

fn is_older_than_it_says(scene: &Scene, _: &Answers) -> bool {
    let date = scene
        .reply("date")
        .and_then(|date| wire::value::date::parse(date.as_bytes()));
    let age = scene.reply("age").map_or(0, |age| age.parse().unwrap());
    date.is_some_and(|date| NOON - date > age)
}

/// Do the two requests differ only where it doesn't matter?
fn selects_alike(scene: &Scene, _: &Answers) -> bool {
    let vary = scene.reply("vary").unwrap_or_default().to_ascii_lowercase();
    vary.split(", ").all(|name| {
        let plain = |lines: &Lines| {
            value(lines, name).map(|value| {
                let bare: String = value.split(", ").collect::<Vec<_>>().join(",");
                let bare = bare.split_whitespace().collect::<Vec<_>>().join(" ");
                if name == "accept-encoding" {
                    bare.to_ascii_lowercase()
                } else {
                    bare
                }
            })
        };
        plain(&scene.request) == plain(&scene.again)
    })
}

/// What one of the two says of a scene, by question.
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "an answer to each question")]
struct Answers {
    storable: bool,
    age: i64,
    lifetime: i64,
    fresh: bool,
    vary: bool,
    confirms: bool,
    updated: Vec<(String, Vec<String>)>,
}

fn ours(caching: &CachingRules, scene: &Scene) -> Answers {
    let (request, reply) = (fields(&scene.request), fields(&scene.reply));
    let exchange = Exchange {
        method: &scene.method,
        url: URL.as_bytes(),
        request: &request,
        status: scene.status,
        reply: &reply,
        request_time: NOON,
        response_time: NOON,
        surrogate_id: None,
    };
    let now = NOON + scene.later_secs;
    let freshness = Freshness::of(caching, &exchange);
    let again = fields(&scene.again);
    let reuse = caching.reuse(&freshness, &again, now);
    let not_modified = fields(&scene.not_modified);
    let mut updated = reply.clone();
    update(&mut updated, &not_modified);
    Answers {
        storable: caching.storable(&exchange).is_ok(),
        age: freshness.age_secs(now),
        lifetime: freshness.fresh_until.saturating_sub(NOON).max(0),
        fresh: matches!(reuse, Reuse::Fresh | Reuse::Stale),
        vary: Vary::of(&reply, &request).is_some_and(|vary| vary.matches(&again)),
        confirms: confirms(&not_modified, &reply),
        updated: NAMES
            .iter()
            .map(|name| {
                let values = updated.all_named(name.as_bytes());
                let text = values.map(|value| String::from_utf8_lossy(value).into_owned());
                ((*name).to_owned(), text.collect())
            })
            .collect(),
    }
}

/// Fields of a stored response whose fate after a 304 is compared. The oracle drops Date.
const NAMES: [&str; 6] = [
    "cache-control",
    "content-length",
    "content-type",
    "etag",
    "last-modified",
    "x-some",
];

fn theirs(scene: &Scene) -> Answers {
    let options = CacheOptions {
        cache_heuristic: 0.2,
        immutable_min_time_to_live: Duration::ZERO,
        ..CacheOptions::default()
    };
    let now = moment(NOON + scene.later_secs);
    let request = message(&scene.method, &scene.request);
    let response = answer(scene.status, &scene.reply);
    let policy = CachePolicy::new_options(&request, &response, moment(NOON), options);
    let again = message(&scene.method, &scene.again);
    let before = policy.before_request(&again, now);
    let not_modified = answer(304, &scene.not_modified);
    let (confirms, parts) = match policy.after_response(&again, &not_modified, now) {
        AfterResponse::NotModified(_, parts) => (true, parts),
        AfterResponse::Modified(_, parts) => (false, parts),
    };
    Answers {
        storable: policy.is_storable(),
        age: i64::try_from(policy.age(now).as_secs()).unwrap(),
        lifetime: i64::try_from(policy.time_to_live(moment(NOON)).as_secs()).unwrap(),
        fresh: matches!(before, BeforeRequest::Fresh(_)),
        vary: match before {
            BeforeRequest::Fresh(_) => true,
            BeforeRequest::Stale { matches, .. } => matches,
        },
        confirms,
        updated: NAMES
            .iter()
            .map(|name| {
                let values = parts.headers.get_all(*name).iter();
                let text = values.map(|value| value.to_str().unwrap().to_owned());
                ((*name).to_owned(), text.collect())
            })
            .collect(),
    }
}

fn moment(secs: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(secs).unwrap())
}

fn fields(lines: &Lines) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in lines {
        fields.push(name.as_bytes(), value.as_bytes());
    }
    fields
}

fn headers(lines: &Lines) -> HeaderMap {
    let header = |(name, value): &(&'static str, String)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_str(value).unwrap(),
        )
    };
    lines.iter().map(header).collect()
}

fn message(method: &Method, lines: &Lines) -> Request<()> {
    let mut message = Request::builder().method(method).uri(URL).body(()).unwrap();
    *message.headers_mut() = headers(lines);
    message
}

fn answer(status: u16, lines: &Lines) -> Response<()> {
    let mut answer = Response::builder().status(status).body(()).unwrap();
    *answer.headers_mut() = headers(lines);
    answer
}

/// A field that is there one time in so many.
fn field(
    name: &'static str,
    one_in: u32,
    value: impl Strategy<Value = String> + 'static,
) -> BoxedStrategy<Option<(&'static str, String)>> {
    let there = value.prop_map(move |value| Some((name, value)));
    prop_oneof![(one_in - 1) => Just(None), 1 => there].boxed()
}

fn lines(all: Vec<BoxedStrategy<Option<(&'static str, String)>>>) -> impl Strategy<Value = Lines> {
    all.prop_map(|lines| lines.into_iter().flatten().collect())
}

fn one_of(values: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(values).prop_map(str::to_owned)
}

/// A directive of which there is one, at most, of each name.
fn directives(all: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    prop::sample::subsequence(all, 1..=most)
        .prop_shuffle()
        .prop_map(|listed| {
            let mut names: Vec<&str> = Vec::new();
            let mut kept: Vec<&str> = Vec::new();
            for one in listed {
                let name = one.split('=').next().unwrap_or_default();
                if !names.contains(&name) {
                    names.push(name);
                    kept.push(one);
                }
            }
            kept.join(", ")
        })
}

fn date(from: i64, to: i64) -> impl Strategy<Value = String> {
    (from..to).prop_map(|secs| {
        let mut text = Vec::new();
        wire::value::date::write(NOON + secs, &mut text);
        String::from_utf8(text).unwrap()
    })
}

/// A few, so that some are the same.
fn modified() -> impl Strategy<Value = String> {
    prop::sample::select(&[-3000, -1000, -500][..]).prop_flat_map(|secs| date(secs, secs + 1))
}

fn secs(to: i64) -> impl Strategy<Value = String> {
    (0..to).prop_map(|secs| secs.to_string())
}

const OF_REPLIES: &[&str] = &[
    "max-age=0",
    "max-age=100",
    "max-age=300",
    "s-maxage=0",
    "s-maxage=200",
    "no-store",
    "private",
    "no-cache",
    "must-revalidate",
    "proxy-revalidate",
    "public",
    "immutable",
    "x-unknown=1",
];

const OF_REQUESTS: &[&str] = &[
    "no-cache",
    "no-store",
    "max-age=0",
    "max-age=150",
    "min-fresh=50",
    "max-stale",
    "max-stale=60",
];

fn selecting() -> Vec<BoxedStrategy<Option<(&'static str, String)>>> {
    vec![
        field(
            "accept",
            2,
            one_of(&["text/html", "text/html, text/*", "text/html,text/*"]),
        ),
        field("accept-encoding", 2, one_of(&["gzip", "GZIP", "br"])),
        field("x-some", 3, one_of(&["a", "A", "a  b", "a b"])),
    ]
}

fn scenes() -> impl Strategy<Value = Scene> {
    let method = prop_oneof![
        8 => Just(Method::GET),
        1 => Just(Method::HEAD),
        1 => Just(Method::POST),
        1 => Just(Method::PUT),
    ];
    let mut request = selecting();
    request.push(field("authorization", 6, one_of(&["Basic YTpi"])));
    request.push(field("cache-control", 6, directives(OF_REQUESTS, 2)));
    let mut again = selecting();
    again.push(field("cache-control", 2, directives(OF_REQUESTS, 3)));
    again.push(field("pragma", 8, one_of(&["no-cache"])));
    let status = prop_oneof![
        6 => Just(200u16),
        4 => prop::sample::select(&[203, 204, 206, 299, 300, 301, 302, 307, 308, 404, 410, 429, 500, 501, 503][..]),
    ];
    let reply = vec![
        field("date", 2, date(-400, 1)),
        field("age", 2, secs(400)),
        field("cache-control", 2, directives(OF_REPLIES, 3)),
        field("expires", 3, date(-200, 500)),
        field("last-modified", 2, modified()),
        field("etag", 3, one_of(&["\"a\"", "\"b\"", "W/\"a\""])),
        field(
            "vary",
            3,
            one_of(&["accept", "Accept-Encoding, X-Some", "x-some", "*"]),
        ),
        field("pragma", 8, one_of(&["no-cache"])),
        field("set-cookie", 8, one_of(&["a=b"])),
        field("content-type", 2, one_of(&["text/plain"])),
        field("content-length", 2, one_of(&["5"])),
        field("x-some", 3, one_of(&["old"])),
    ];
    let not_modified = vec![
        field("etag", 3, one_of(&["\"a\"", "\"b\"", "W/\"a\""])),
        field("last-modified", 3, modified()),
        field("cache-control", 2, directives(OF_REPLIES, 2)),
        field("content-type", 2, one_of(&["text/html"])),
        field("content-length", 2, one_of(&["0"])),
        field("x-some", 2, one_of(&["new"])),
    ];
    (
        method,
        lines(request),
        status,
        lines(reply),
        // Moments at the limits that directives name, and all others.
        prop_oneof![2 => prop::sample::select(&[0, 60, 160, 360][..]), 3 => 0i64..600],
        lines(again),
        lines(not_modified),
    )
        .prop_map(
            |(method, request, status, reply, later_secs, again, not_modified)| Scene {
                method,
                request,
                status,
                reply,
                later_secs,
                again,
                not_modified,
            },
        )
}

/// The questions to which the two answer differently. What follows from an earlier answer isn't asked.
fn differences(scene: &Scene, ours: &Answers, theirs: &Answers) -> Vec<Question> {
    let both_store = ours.storable && theirs.storable;
    let selected = both_store && ours.vary && theirs.vary;
    let confirmed = ours.confirms && theirs.confirms;
    let read = scene.method == Method::GET;
    [
        (Question::Storable, ours.storable != theirs.storable),
        (Question::Age, ours.age != theirs.age),
        (
            Question::Lifetime,
            both_store && ours.lifetime != theirs.lifetime,
        ),
        (
            Question::Vary,
            read && both_store && ours.vary != theirs.vary,
        ),
        (
            Question::Fresh,
            read && selected && ours.fresh != theirs.fresh,
        ),
        (Question::Confirms, ours.confirms != theirs.confirms),
        (
            Question::Updated,
            confirmed && ours.updated != theirs.updated,
        ),
    ]
    .into_iter()
    .filter_map(|(question, differs)| differs.then_some(question))
    .collect()
}

#[test]
fn differences_from_the_oracle_are_those_of_the_table() {
    let compiled = rules("refresh_pattern . 0 20% 525600\nmax_stale 1 year\n");
    let seen = RefCell::new(vec![0u32; DIFFERENCES.len()]);
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let outcome = runner.run(&scenes(), |scene| {
        let (ours, theirs) = (ours(&compiled.caching, &scene), theirs(&scene));
        for question in differences(&scene, &ours, &theirs) {
            let known = DIFFERENCES
                .iter()
                .position(|row| row.question == question && (row.when)(&scene, &ours));
            match known {
                Some(row) => seen.borrow_mut()[row] += 1,
                None => {
                    return Err(TestCaseError::fail(format!(
                        "{question:?}:\nours   {ours:?}\ntheirs {theirs:?}"
                    )));
                }
            }
        }
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, scene)) => panic!("{why}\n{scene:#?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
    for (row, times) in DIFFERENCES.iter().zip(seen.into_inner()) {
        assert!(times > 0, "no difference any more: {}", row.decides);
    }
}
