//! One program with all patterns: started, asked twice for each case, ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use testkit::{Client, Origin, Program, Reply, Request};

use super::matrix::{Case, fields, lines};
use crate::programs::{Service, Side, serves};

/// What both need besides.
const COMMON: &str = "\
http_access allow all
cache_mem 256 MB
memory_cache_shared off
logformat verdict %Ss %ru
access_log stdio:{dir}/access.log verdict
";

/// What the origin knows of the paths that it was asked for.
type Seen = Arc<Mutex<HashMap<String, Known>>>;

struct Known {
    /// How often it was asked.
    times: usize,
    /// How it was asked the last time.
    view: View,
    /// The reply's fields, with dates as of the first time.
    given: Vec<(&'static str, String)>,
}

/// What the origin saw of the second request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Asked,
    /// With conditions that are not the client's.
    Validated,
}

/// The verdict of each case's second request.
///
/// # Errors
/// When the program doesn't serve.
pub(crate) fn verdicts(
    side: Side,
    binary: &std::path::Path,
    cases: &[Case],
) -> Result<Vec<String>> {
    let seen = Seen::default();
    let origin = origin(cases, &seen);
    let service = Service::default();
    let conf = format!("{COMMON}{}", lines());
    let mut program = side.builder(binary, &service, &conf).arg("-N").launch();
    let port = program.port();
    ensure!(
        serves(&mut program, &[port]),
        "{side:?} doesn't serve:\n{}",
        program.read("cache.log")
    );
    let mut client = Client::connect(program.addr());
    let answers: Vec<Answer> = cases
        .iter()
        .map(|case| ask_twice(&mut client, &origin, &seen, case))
        .collect();
    let tags = second_tags(&program, cases);
    drop(program);
    let both = answers.into_iter().zip(tags);
    Ok(both.map(|(answer, tag)| answer.verdict(&tag)).collect())
}

/// An origin that answers each case's path by its reply, conditions of a cache by 304, and fails when it shall.
fn origin(cases: &[Case], seen: &Seen) -> Origin {
    let by_path: HashMap<String, Case> = cases
        .iter()
        .map(|case| (case.path.clone(), case.clone()))
        .collect();
    let seen = Arc::clone(seen);
    Origin::start(move |request: &Request| {
        let Some(case) = by_path.get(&request.target) else {
            return Reply::new("400 Bad Request");
        };
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let path = seen.entry(case.path.clone()).or_insert_with(|| Known {
            times: 0,
            view: View::Asked,
            given: fields(case.reply),
        });
        path.times += 1;
        path.view = view(request, &path.given);
        if path.times > 1 && case.again.fails {
            return Reply::new("503 Service Unavailable").send("no\n");
        }
        let reply = match path.view {
            View::Validated => Reply::new("304 Not Modified"),
            View::Asked => Reply::ok("given"),
        };
        let given = path.given.iter();
        given.fold(reply, |reply, (name, value)| reply.field(name, value))
    })
}

/// A cache asks by the validators that it was given; we ask by the second before the Date.
fn view(request: &Request, given: &[(&str, String)]) -> View {
    let by_tag = request.field("If-None-Match").is_some();
    let by_date = request.field("If-Modified-Since").is_some_and(|since| {
        let mut dates = given
            .iter()
            .filter(|(name, _)| matches!(*name, "Last-Modified" | "Date"));
        let is_just_before = |value: &str| {
            let [value, since] = [value, since].map(|date| httpdate::parse_http_date(date).ok());
            value.is_some() && value == since.map(|since| since + Duration::from_secs(1))
        };
        dates.any(|(_, value)| value == since || is_just_before(value))
    });
    if by_tag || by_date {
        View::Validated
    } else {
        View::Asked
    }
}

/// What came of a second request.
struct Answer {
    status: u16,
    view: Option<View>,
}

impl Answer {
    fn verdict(&self, tag: &str) -> String {
        let view = match self.view {
            None => "stored",
            Some(View::Validated) => "validated",
            Some(View::Asked) => "fetched",
        };
        format!("{view} {} {tag}", self.status)
    }
}

fn ask_twice(client: &mut Client, origin: &Origin, seen: &Seen, case: &Case) -> Answer {
    let url = origin.url(&case.path);
    drop(client.get(&url));
    let given = fields(case.again.fields);
    let given: Vec<(&str, &str)> = given
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let status = client.request("GET", &url, &given).status;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    let path = seen.get(&case.path).filter(|path| path.times > 1);
    Answer {
        status,
        view: path.map(|path| path.view),
    }
}

/// The log tags of the second requests.
fn second_tags(program: &Program, cases: &[Case]) -> Vec<String> {
    let log = program.wait_for_log_lines(cases.len() * 2);
    let second = log.chunks(2).filter_map(|two| two.get(1));
    let tag = |line: &String| line.split(' ').next().unwrap_or_default().to_owned();
    second.map(tag).collect()
}
