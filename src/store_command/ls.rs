//! `store ls` and `store grep`.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::process::ExitCode;

use config::Config;
use proxy::flow::Summary;
use rules::caching::purge;
use store::{Closeness, Listed, ListedContent, Listing, Survey};

use super::listed::{escaped, facts, selection};

pub(super) fn run(config: &Config, regex: Option<&str>, long: bool) -> anyhow::Result<ExitCode> {
    let regex = regex.map(purge::compile).transpose()?;
    let wanted = |url: &[u8]| regex.as_ref().is_none_or(|regex| regex.is_match(url));
    let (mut out, mut all_read, mut shown) = (super::output(), true, 0_u64);
    for survey in super::surveys(config) {
        let Some(survey) = survey else {
            all_read = false;
            continue;
        };
        let mut written = Ok(());
        survey.each(Closeness::Heads, |listed| {
            written = line(&survey, &listed, wanted, long)
                .into_iter()
                .inspect(|_| shown += 1)
                .try_for_each(|line| writeln!(out, "{line}"));
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        written?;
    }
    out.flush()?;
    // As grep: nothing found is no success.
    Ok(super::code(all_read && (shown > 0 || regex.is_none())))
}

/// The line of a response that is wanted.
fn line(
    survey: &Survey,
    listed: &Listed,
    wanted: impl Fn(&[u8]) -> bool,
    long: bool,
) -> Option<String> {
    let ListedContent::Sound { body_bytes, .. } = listed.content else {
        return None;
    };
    let (url, meta, bytes) = match Listing::of(listed, survey)? {
        Listing::Response { url, meta, .. } => (url, meta, body_bytes),
        Listing::Parts {
            url, meta, bytes, ..
        } => (url, meta, bytes),
        Listing::Piece { .. }
        | Listing::Fork { .. }
        | Listing::Lost { .. }
        | Listing::Grave
        | Listing::Strange => return None,
    };
    if !wanted(url) {
        return None;
    }
    let url = escaped(url);
    if !long {
        return Some(url);
    }
    let summary = Summary::of(meta)?;
    let line = format!("{} {url} {}", facts(&summary, bytes), selection(&summary));
    Some(line.trim_end().to_owned())
}
