//! The error page for programs: `application/problem+json` (RFC 9457), when the client would rather have JSON.

use serde::Serialize;
use wire::Fields;
use wire::field::FieldId;
use wire::http1::reason_phrase;
use wire::value::weighted::ranked;

use super::facts::PageFacts;

/// What it is called.
pub(super) const CONTENT_TYPE: &[u8] = b"application/problem+json";

/// The members, in order.
#[derive(Serialize)]
struct Problem<'p> {
    title: &'p str,
    status: u16,
    detail: &'p str,
    /// Name of the page.
    error: &'p str,
    /// `squid.conf:12`
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'p str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    url: &'p str,
}

/// Would the client rather have JSON than HTML? Of what it likes equally, the first counts.
pub(super) fn is_wanted(request: &Fields) -> bool {
    let mut values = request.get_all(FieldId::Accept);
    if !values.any(|value| memchr::memmem::find(value, b"json").is_some()) {
        return false;
    }
    let ranked = ranked(request.get_all(FieldId::Accept));
    let mut known = ranked.iter().filter_map(|(range, weight)| match *range {
        _ if *weight == 0 => None,
        b"application/json" | b"application/problem+json" => Some(true),
        b"text/html" | b"application/xhtml+xml" | b"text/*" | b"*/*" => Some(false),
        _ => None,
    });
    known.next().unwrap_or(false)
}

/// Appends it. `title` says what the page says in a few words.
pub(super) fn render(
    facts: &PageFacts<'_>,
    (error, title, status): (&str, &str, u16),
    out: &mut Vec<u8>,
) {
    let system_error = facts.system_error();
    let details = [&*system_error, facts.helper_message, facts.message, title];
    let detail = details.into_iter().find(|detail| !detail.is_empty());
    let url = facts.clean_url().concat();
    let refusal = facts.failure.refusal.as_ref();
    let problem = Problem {
        title: reason_phrase(status),
        status,
        detail: detail.unwrap_or_default(),
        error,
        rule: refusal.and_then(|refusal| refusal.told_place.as_deref()),
        url: &String::from_utf8_lossy(&url),
    };
    serde_json::to_writer(&mut *out, &problem).expect("a Vec takes all that is written");
    out.push(b'\n');
}
