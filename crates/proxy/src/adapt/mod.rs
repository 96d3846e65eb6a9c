//! The station between access and cache: what others make of a request before it is looked up and
//! sent. `url_rewrite_program` gives it another target, or sends the client elsewhere.
//!
//! The client's own target isn't changed: later stations get a [`Received`] with another one, which
//! lies in [`Adapted`] until the transaction's end.

mod location;
mod meaning;
mod rewriter;

use std::cell::OnceCell;

use http::Method;
use wire::field::FieldId;
use wire::http1::{ProxyAuth, ResponseHead, reason_phrase};
use wire::target::{BadTarget, Target};

use crate::access;
use crate::context::Context;
use crate::failure::Failure;
use crate::flow::{Content, Head, Received, Response};
use crate::record::{Hierarchy, Record, ResultTag};
use rules::List;

pub(crate) use location::{LocationRewriter, location};
use meaning::Meaning;
pub(crate) use rewriter::Rewriter;

/// What adaptation has made of a request.
#[derive(Debug, Default)]
pub(crate) struct Adapted {
    target: OnceCell<Box<Target>>,
}

impl Adapted {
    /// The request as it is now.
    pub(crate) fn of<'c>(&'c self, received: &Received<'c>) -> Received<'c> {
        match self.target.get() {
            None => *received,
            Some(target) => Received {
                target,
                asked: Some(received.target),
                ..*received
            },
        }
    }
}

/// Where the client is to go instead.
#[derive(Debug)]
pub(crate) struct Redirect {
    status: u16,
    location: Vec<u8>,
}

/// Asks the rewriter, if there is one and it is to be asked about this request. Another target goes
/// into `adapted`.
///
/// # Errors
///
/// There is no answer, and the configuration doesn't say that this means no change.
pub(crate) async fn request(
    cx: &Context,
    received: &Received<'_>,
    adapted: &Adapted,
) -> Result<Option<Redirect>, Failure> {
    match &cx.plan.rewriter {
        None => Ok(None),
        Some(rewriter) => Box::pin(rewrite(cx, rewriter, received, adapted)).await,
    }
}

async fn rewrite(
    cx: &Context,
    rewriter: &Rewriter,
    received: &Received<'_>,
    adapted: &Adapted,
) -> Result<Option<Redirect>, Failure> {
    if !access::permits(cx, List::UrlRewriteAccess, received).await {
        return Ok(None);
    }
    let Some(answer) = rewriter.ask(received).await? else {
        return Ok(None);
    };
    crate::helpers::note(received, &answer);
    match meaning::of(&answer) {
        Meaning::Unchanged => {}
        Meaning::Redirect(status, location) => return Ok(Some(Redirect { status, location })),
        Meaning::BadRedirect(status, location) => tracing::error!(
            "URL-rewrite produces invalid {} redirect Location: {}",
            status.escape_ascii(),
            location.escape_ascii()
        ),
        Meaning::Broken(message) => {
            tracing::error!("URL rewrite helper: BH {}", message.escape_ascii());
        }
        Meaning::Target(url) if url == received.target.url() => {}
        Meaning::Target(url) => match parse(cx, &received.head.method, url) {
            Ok(target) => {
                received.learnt.forget_target();
                adapted.target.get_or_init(|| Box::new(target));
            }
            Err(bad) => tracing::error!(
                "URL-rewrite produces invalid request: {} {}: {bad}",
                received.head.method,
                url.escape_ascii()
            ),
        },
    }
    Ok(None)
}

/// The helper's URL, held to the same rules as a client's.
fn parse(cx: &Context, method: &Method, url: &[u8]) -> Result<Target, BadTarget> {
    let mut target = Target::new();
    if *method == Method::CONNECT {
        target.set_authority(url)?;
    } else {
        target.set_absolute(url, cx.plan.uri_whitespace)?;
    }
    Ok(target)
}

/// The reply that sends the client elsewhere: without content, as Squid's.
pub(crate) fn redirected<'c>(cx: &Context, to: &Redirect, record: &mut Record) -> Response<'c> {
    record.tag(ResultTag::Redirect);
    record.hierarchy = Hierarchy::None;
    let mut head = Box::new(ResponseHead::with_status(to.status));
    head.set_reason(reason_phrase(to.status).as_bytes());
    let lines = &cx.plan.lines;
    head.fields
        .push_id(FieldId::Server, lines.software.as_bytes());
    head.fields.push_id(FieldId::Location, &to.location);
    crate::reply::clean(cx, &mut head, ProxyAuth::Drop);
    let via = lines.via(wire::http1::Version::H11);
    if !via.is_empty() {
        head.fields.push_id(FieldId::Via, via);
    }
    Response {
        head: Head::Built(head),
        content: Content::Empty,
        length: Some(0),
        content_max: None,
        close: false,
    }
}
