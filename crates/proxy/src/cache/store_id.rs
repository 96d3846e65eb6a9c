//! `store_id_program`: what a response is stored under, in place of its URL. Without an answer it is
//! the URL: at worst something is fetched that was there.

use config::{Config, Problems};
use http::Method;
use rules::List;
use wire::helper::Verdict;

use crate::access;
use crate::context::Context;
use crate::flow::Received;
use crate::helpers::{Helpers, Kind, UrlHelper, UrlHelperLines, note};

/// The helper that names cache keys.
#[derive(Debug)]
pub(crate) struct StoreId {
    helper: UrlHelper,
    bypass: bool,
}

impl StoreId {
    /// That of a configuration, if it has one.
    ///
    /// # Errors
    /// What can't be done.
    pub(crate) fn new(config: &Config, helpers: &Helpers) -> Result<Option<Self>, Problems> {
        let Some(program) = &config.store_id_program else {
            return Ok(None);
        };
        let lines = UrlHelperLines {
            kind: Kind::StoreId,
            directive: "store_id_program",
            program,
            children: &config.store_id_children,
            extras: &config.store_id_extras,
            timeout: None,
        };
        Ok(Some(Self {
            helper: UrlHelper::new(&lines, helpers)?,
            bypass: config.store_id_bypass,
        }))
    }
}

/// Learns what the response is to be stored under, if somebody has a word in it.
pub(crate) async fn learn_store_id(cx: &Context, received: &Received<'_>) {
    if let Some(store_id) = &cx.plan.store_id
        && received.head.method != Method::CONNECT
    {
        Box::pin(ask(cx, store_id, received)).await;
    }
}

async fn ask(cx: &Context, store_id: &StoreId, received: &Received<'_>) {
    if !access::permits(cx, List::StoreIdAccess, received).await
        || (store_id.bypass && !store_id.helper.has_room())
    {
        return;
    }
    let answer = match store_id.helper.ask(received).await {
        Ok(answer) => answer,
        Err(failed) => {
            let url = received.target.url().escape_ascii();
            return tracing::error!("no store-ID for {url}: {failed}");
        }
    };
    note(received, &answer);
    match answer.get("store-id") {
        Some(id) if answer.verdict == Verdict::Ok && !id.is_empty() => {
            received.learnt.learn_store_id(id);
        }
        _ => {}
    }
}
