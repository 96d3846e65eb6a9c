//! Request framing beside the classifier `http_desync_guardian`: what it calls severe, we refuse.

use super::common;
use http_desync_guardian::RequestSafetyTier;
use http_desync_guardian::request_analyzer::HttpRequestData;
use wire::http1::{
    Limits, Parsed, Relaxed, RequestHead, check_host, parse_request, request_framing,
};

/// Length of the head that we accept, `None` when we refuse or wait.
fn accepted(bytes: &[u8], limits: &Limits) -> Option<usize> {
    let mut head = RequestHead::new();
    let parsed = parse_request(bytes, limits, &mut head).ok()?;
    request_framing(&head).ok()?;
    check_host(&head).ok()?;
    match parsed {
        Parsed::Complete(consumed) => Some(consumed),
        Parsed::Partial => None,
    }
}

#[test]
fn what_the_classifier_calls_severe_is_refused() {
    let (mut severe, mut severe_taken, mut ambiguous_taken, mut total) =
        (0, Vec::new(), Vec::new(), 0);
    for relaxed in [Relaxed::Off, Relaxed::On] {
        let limits = Limits {
            relaxed,
            ..Limits::default()
        };
        for request in common::requests() {
            total += 1;
            let taken = accepted(&request, &limits);
            let head = taken.map_or(&request[..], |consumed| &request[..consumed]);
            let verdict = HttpRequestData::analyze_raw_request(head);
            match (verdict.tier, taken) {
                (RequestSafetyTier::Severe, Some(_)) => severe_taken.push(request.clone()),
                (RequestSafetyTier::Severe, None) => severe += 1,
                (RequestSafetyTier::Ambiguous, Some(_)) => {
                    ambiguous_taken.push(format!("{:?}", verdict.reason));
                }
                _ => {}
            }
        }
    }
    assert!(
        severe > total / 4,
        "the requests are nasty enough: {severe} of {total}"
    );
    ambiguous_taken.sort();
    ambiguous_taken.dedup();
    let expected: Vec<_> = TAKEN_ALTHOUGH_AMBIGUOUS
        .iter()
        .map(|(reason, _)| *reason)
        .collect();
    assert_eq!(
        ambiguous_taken, expected,
        "each difference has its reason below"
    );
}

/// What the classifier calls ambiguous (not severe) and we take, and why.
const TAKEN_ALTHOUGH_AMBIGUOUS: &[(&str, &str)] = &[
    (
        "DuplicateContentLength",
        "equal lengths become one before forwarding (RFC 9112 §6.3)",
    ),
    (
        "MissingUri",
        "the empty line before a request line, which RFC 9112 §2.2 wants skipped",
    ),
    (
        "UndefinedContentLengthSemantics",
        "GET with a body: unusual, but framed as any other",
    ),
    (
        "UndefinedTransferEncodingSemantics",
        "GET with a chunked body: the same",
    ),
];
