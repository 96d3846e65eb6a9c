//! What an answer says about the rules, as a line of text: status, page, Location, schemes, and what the origin saw.

use testkit::{Failed, Reply, Request, Response};

/// Where the origin lets its answer be stored, it counts how often it was asked.
const STORABLE: &str = "max-age";

/// The fields that header rules are tried with begin so.
const TRIED: &str = "T-";

/// What the origin answers: as `X-Give` asks, with the request line and the fields that reached it.
pub(crate) fn answer(request: &Request, serial: usize) -> Reply {
    let give = request.field("X-Give").unwrap_or("200");
    let (status, fields) = give.split_once(' ').unwrap_or((give, ""));
    let mut came: Vec<&str> = request
        .head
        .fields
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| is_tried(name))
        .collect();
    came.sort_unstable();
    let reply = Reply::new(&format!("{status} Given"))
        .field("X-Line", &format!("{} {}", request.method, request.target))
        .field("X-Came", &came.join(","));
    let reply = if fields.contains(STORABLE) {
        reply.field("X-Serial", &serial.to_string())
    } else {
        reply
    };
    let pairs = fields
        .split(';')
        .filter_map(|field| field.trim().split_once('='));
    let reply = match status {
        "204" | "304" => reply,
        _ => reply.send("given"),
    };
    pairs.fold(reply, |reply, (name, value)| reply.field(name, value))
}

fn is_tried(name: &str) -> bool {
    name.get(..TRIED.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(TRIED))
}

/// The verdict that an answer, or its absence, shows.
pub(crate) fn verdict(answer: &Result<Response, Failed>) -> String {
    match answer {
        Ok(response) => told(response),
        Err(Failed::Closed) => "closed".to_owned(),
        Err(Failed::CutHead(_) | Failed::CutBody(_)) => "cut".to_owned(),
        Err(Failed::TimedOut(_)) => "no answer".to_owned(),
        Err(Failed::Malformed(what)) => format!("malformed: {what}"),
    }
}

fn told(response: &Response) -> String {
    let mut said = response.status.to_string();
    let mut say = |what: &str| {
        said.push(' ');
        said.push_str(what);
    };
    if let Some(page) = response.field("X-Squid-Error") {
        say(page.split(' ').next().unwrap_or_default());
    }
    if let Some(place) = response.field("Location") {
        say(place);
    }
    for name in ["Proxy-Authenticate", "WWW-Authenticate"] {
        for offer in response.head.all(name) {
            say(offer);
        }
    }
    if let Some(line) = response.field("X-Line") {
        say(line);
    }
    if let Some(came) = response.field("X-Came").filter(|came| !came.is_empty()) {
        say(&format!("came {came}"));
    }
    if let Some(serial) = response.field("X-Serial") {
        say(&format!("#{serial}"));
    }
    let mut given: Vec<String> = response
        .head
        .fields
        .iter()
        .filter(|(name, _)| is_tried(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    given.sort_unstable();
    for field in given {
        say(&field);
    }
    said
}
