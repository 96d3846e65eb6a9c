//! `store dump`: a response as it is stored.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use config::Config;
use proxy::flow::Summary;
use store::{Closeness, Listed, ListedContent, Listing, Survey};

use super::listed::{escaped, facts, selection};
use crate::console;

/// One of a URL.
struct Found {
    listed: Listed,
    body_bytes: u64,
    summary: Summary,
    variant: Vec<u8>,
}

pub(super) fn run(config: &Config, url: &str, variant: Option<usize>) -> anyhow::Result<ExitCode> {
    for survey in super::surveys(config).into_iter().flatten() {
        let found = all_of(&survey, url.as_bytes());
        let chosen = match (found.as_slice(), variant) {
            ([], _) => continue,
            ([one], None) => one,
            (all, None) => return Ok(name(all)),
            (all, Some(number)) => {
                let place = number.checked_sub(1);
                let chosen = place.and_then(|place| all.get(place));
                chosen.with_context(|| format!("there are variants 1 to {}", all.len()))?
            }
        };
        return write(&survey, chosen);
    }
    bail!("{}: not stored", escaped(url.as_bytes()))
}

/// The response under `url`, or all its variants, in an order that lasts.
fn all_of(survey: &Survey, url: &[u8]) -> Vec<Found> {
    let Some(first) = survey.find(url) else {
        return Vec::new();
    };
    if let Some(Listing::Fork { .. }) = Listing::of(&first, survey) {
        let mut all = Vec::new();
        survey.each(Closeness::Heads, |listed| {
            all.extend(found(survey, &listed, url));
            ControlFlow::Continue(())
        });
        all.sort_by(|one, other| one.variant.cmp(&other.variant));
        return all;
    }
    found(survey, &first, url).into_iter().collect()
}

fn found(survey: &Survey, listed: &Listed, asked: &[u8]) -> Option<Found> {
    let ListedContent::Sound {
        key, body_bytes, ..
    } = &listed.content
    else {
        return None;
    };
    if !key.starts_with(asked) {
        return None;
    }
    match Listing::of(listed, survey)? {
        Listing::Response { url, variant, meta } if url == asked => Some(Found {
            listed: listed.clone(),
            body_bytes: *body_bytes,
            summary: Summary::of(meta)?,
            variant: variant.to_vec(),
        }),
        _ => None,
    }
}

/// There are several.
fn name(all: &[Found]) -> ExitCode {
    console::plain("squall store: it has variants; choose one by --variant N");
    for (number, found) in (1..).zip(all) {
        let facts = facts(&found.summary, found.body_bytes);
        console::plain(format_args!(
            "{number:>3} {facts} {}",
            selection(&found.summary)
        ));
    }
    ExitCode::FAILURE
}

fn write(survey: &Survey, found: &Found) -> anyhow::Result<ExitCode> {
    let mut out = super::output();
    out.write_all(&found.summary.head)?;
    out.write_all(b"\r\n")?;
    survey.read_body(&found.listed, |piece| out.write_all(piece))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
