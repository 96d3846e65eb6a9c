//! `location_rewrite_program` of Squid 2.6 and 2.7: gives Location fields of replies another value. Without an answer
//! they stay as they are.

use config::{Config, Problems};
use rules::List;
use wire::field::FieldId;

use super::meaning::{self, Meaning};
use crate::access;
use crate::context::Context;
use crate::flow::{Head, Received, Response};
use crate::helpers::{Helpers, Kind, UrlHelper, UrlHelperLines};
use crate::record::Record;
use crate::reply;

/// What follows the Location in a question: the request's URL, and its group as a URL rewriter has named it.
const EXTRAS: &str = "%<ru %note{urlgroup}";

/// See the module.
#[derive(Debug)]
pub(crate) struct LocationRewriter(UrlHelper);

impl LocationRewriter {
    /// That of a configuration, if it has one.
    ///
    /// # Errors
    /// What can't be done.
    pub(crate) fn new(config: &Config, helpers: &Helpers) -> Result<Option<Self>, Problems> {
        let Some(program) = &config.location_rewrite_program else {
            return Ok(None);
        };
        let lines = UrlHelperLines {
            kind: Kind::LocationRewrite,
            directive: "location_rewrite_program",
            program,
            children: &config.location_rewrite_children,
            extras: EXTRAS,
            timeout: None,
        };
        UrlHelper::new(&lines, helpers).map(|helper| Some(Self(helper)))
    }
}

/// Lets the helper, if there is one, rewrite the reply's Location.
pub(crate) async fn location(
    cx: &Context,
    received: &Received<'_>,
    response: &mut Response<'_>,
    record: &Record,
) {
    if let Some(rewriter) = &cx.plan.location_rewriter {
        Box::pin(rewrite(cx, rewriter, received, response, record)).await;
    }
}

async fn rewrite(
    cx: &Context,
    rewriter: &LocationRewriter,
    received: &Received<'_>,
    response: &mut Response<'_>,
    record: &Record,
) {
    if let Head::Stored(object) = &response.head
        && matches!(object.meta.status, 201 | 300..=399)
    {
        response.head = Head::Built(reply::stored_head(cx, object, record));
    }
    let Head::Built(head) = &mut response.head else {
        return; // no status that has a Location
    };
    let Some(location) = head.fields.get(FieldId::Location) else {
        return;
    };
    if !access::permits(cx, List::LocationRewriteAccess, received).await {
        return;
    }
    let answer = match rewriter.0.ask_about(location, received).await {
        Ok(answer) => answer,
        Err(failed) => {
            let location = location.escape_ascii();
            return tracing::error!("no other Location for {location}: {failed}");
        }
    };
    let Meaning::Target(url) = meaning::of(&answer) else {
        return;
    };
    match meaning::location(url) {
        Some(url) => {
            head.fields.remove(FieldId::Location);
            head.fields.push_id(FieldId::Location, &url);
        }
        None => {
            let url = url.escape_ascii();
            tracing::error!("the Location rewriter produces an invalid Location: {url}");
        }
    }
}
