//! Request framing beside hyper's server: whatever both accept, both understand alike.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;

use super::common::{self, Seen};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt as _;
use wire::http1::{Limits, Relaxed};

async fn collect(mut body: Incoming) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        if let Ok(data) = frame.ok()?.into_data() {
            content.extend_from_slice(&data);
        }
    }
    Some(content)
}

/// What hyper makes of the bytes of a connection.
async fn hypers(bytes: &[u8]) -> Vec<Seen> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (mut client, server) = tokio::io::duplex(1 << 20);
    client.write_all(bytes).await.expect("room in the pipe");
    client.shutdown().await.expect("an open pipe");
    let service = service_fn(|request: Request<Incoming>| {
        let seen = Rc::clone(&seen);
        async move {
            let (method, target) = (request.method().clone(), request.uri().to_string());
            let body = collect(request.into_body()).await;
            seen.borrow_mut().push(Seen {
                method,
                target,
                body,
            });
            Ok::<_, Infallible>(Response::new(String::new()))
        }
    });
    let connection = http1::Builder::new()
        .half_close(true)
        .serve_connection(TokioIo::new(server), service);
    connection.await.ok();
    seen.take()
}

/// The common part of both readings; targets only where both keep them as sent.
fn check(bytes: &[u8], ours: &[Seen], hypers: &[Seen]) {
    for (one, two) in ours.iter().zip(hypers) {
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(one.method, two.method, "{text:?}");
        assert_eq!(one.body, two.body, "{text:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn what_both_accept_both_understand_alike() {
    let strict = Limits::default();
    let relaxed = Limits {
        relaxed: Relaxed::On,
        ..strict
    };
    let (mut both, mut only_ours) = (0, Vec::new());
    for request in common::requests() {
        let hypers = hypers(&request).await;
        for limits in [&strict, &relaxed] {
            let ours = common::ours(&request, limits);
            check(&request, &ours, &hypers);
            both += usize::from(!ours.is_empty() && !hypers.is_empty());
            if hypers.is_empty() && !ours.is_empty() {
                only_ours.push(String::from_utf8_lossy(&request).into_owned());
            }
        }
    }
    assert!(both > 100, "enough to compare: {both}");
    let has_reason = |request: &String| {
        TAKEN_BY_US_ALONE
            .iter()
            .any(|(mark, _)| request.contains(mark))
    };
    only_ours.retain(|request| !has_reason(request));
    assert!(
        only_ours.is_empty(),
        "hyper refuses, we don't, and no reason is given: {only_ours:#?}"
    );
}

/// Marks of requests that hyper refuses and we take, and why. What we refuse and hyper takes
/// needs no reason here: bare LF, CL with TE, `gzip, chunked`, TE in HTTP/1.0, and others.
const TAKEN_BY_US_ALONE: &[(&str, &str)] = &[
    (
        "HTTP/1.2",
        "a higher minor version counts as 1.1 (RFC 9110 §2.5)",
    ),
    (
        "GET /a b",
        "when relaxed, single spaces are taken and uri_whitespace decides",
    ),
];
