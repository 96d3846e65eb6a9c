//! `/squall/`: a page worth looking at.
//!
//! | page | is |
//! | --- | --- |
//! | `squall/` | how it goes: rates, shares, times, hosts, clients, store, peers, helpers, workers |
//! | `squall/transactions` | the latest, slowest and largest transactions |
//! | `squall/transaction?id=1-42` | one of them |
//! | `squall/live` | all of that as JSON: what the script of these pages and `squall top` read each second |
//! | `squall/app.js`, `squall/app.css`, `squall/icon.svg` | what the pages are made with |
//!
//! Pages come whole, tables and charts in them; the script only keeps them up to date. Nothing is asked of any other
//! host, and the browser is told so (`Content-Security-Policy`). Whoever looks makes the workers tell of single
//! transactions for a minute ([`proxy::watch`]).

mod collect;
mod figures;
mod html;
pub mod live;
mod query;
mod recorder;
mod tables;

use proxy::internal::{Answer, WorkerReport};
use proxy::watch::TransactionId;
use serde_json::Value as Json;

use crate::{Scene, lock};
use collect::Sources;
use html::Page;

pub use figures::Kind;
pub(crate) use recorder::Recorder;

const HTML: &str = "text/html;charset=utf-8";

/// Nothing but what comes from here.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file that is built in.
struct File {
    name: &'static str,
    media_type: &'static str,
    content: &'static str,
}

const FILES: [File; 3] = [
    File {
        name: "app.js",
        media_type: "text/javascript;charset=utf-8",
        content: include_str!("static/app.js"),
    },
    File {
        name: "app.css",
        media_type: "text/css;charset=utf-8",
        content: include_str!("static/app.css"),
    },
    File {
        name: "icon.svg",
        media_type: "image/svg+xml",
        content: include_str!("static/icon.svg"),
    },
];

/// `squall` and all below it.
pub(crate) fn answer(scene: &Scene<'_>, reports: &[WorkerReport]) -> Answer {
    let Some(page) = scene.ask.page.strip_prefix("squall/") else {
        return moved();
    };
    if let Some(file) = FILES.iter().find(|file| file.name == page) {
        return with_policy(200, file.media_type, file.content.into());
    }
    let query = scene.ask.query;
    let live = || json(&live(scene, reports, page == "transactions"));
    let text = match page {
        "live" => return with_policy(200, crate::manager::JSON, live().to_string().into_bytes()),
        "" => html::page(Page::Overview, &live()),
        "transactions" => html::page(Page::Transactions, &live()),
        "transaction" => {
            let id = query::value(query, "id").unwrap_or_default();
            let found = id.parse::<TransactionId>().ok();
            let found = found.and_then(|id| scene.watch().find(id));
            let row = found.map(|found| json(&collect::transaction(&found)));
            html::transaction(&live(), id, row.as_ref())
        }
        _ => {
            return with_policy(
                404,
                HTML,
                b"<!DOCTYPE html><title>404</title>No such page.".into(),
            );
        }
    };
    with_policy(200, HTML, text.into_bytes())
}

fn live(scene: &Scene<'_>, reports: &[WorkerReport], of_transactions: bool) -> live::Live {
    let now = scene.now();
    scene.watch().look(now);
    scene.admin.look();
    let wish = query::wish(scene.ask.query, query::rows(of_transactions));
    let names = scene.names();
    scene.with_history(|history| {
        let sources = Sources {
            registry: scene.registry(),
            history,
            store: scene.store(),
            helpers: scene.helpers(),
            watch: scene.watch(),
            plan: scene.plan(),
            reports,
            version: &format!("Squall {}", names.version),
            now,
        };
        collect::live(&sources, &mut lock(&scene.admin.recorder), wish)
    })
}

fn json(value: &impl serde::Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

/// Links of these pages are relative to the folder.
fn moved() -> Answer {
    let mut answer = with_policy(302, HTML, Vec::new());
    answer.fields.push(("Location", "squall/".to_owned()));
    answer
}

fn with_policy(status: u16, media_type: &'static str, content: Vec<u8>) -> Answer {
    let fields = [
        ("Content-Security-Policy", POLICY),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        // What clients ask for is nothing for scripts of the sites that an operator visits.
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Referrer-Policy", "no-referrer"),
    ];
    Answer {
        status,
        media_type,
        fields: fields
            .map(|(name, value)| (name, value.to_owned()))
            .to_vec(),
        content,
    }
}
