//! The matrix of access decisions: rule sets of all families, each run by both programs, each request's verdict
//! compared.

mod expected;
mod families;
mod report;
mod rule_set;
mod side;
mod verdict;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow};

pub use report::Report;
use rule_set::RuleSet;
pub(crate) use side::forget;
use side::{Side, verdicts};

/// Where Debian has it.
pub const SQUID: &str = "/usr/sbin/squid";

/// How many rule sets are tried at a time.
const THREADS: usize = 4;

/// The two programs.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Ours.
    pub squall: PathBuf,
    /// The other.
    pub squid: PathBuf,
}

/// A request to a rule set, and the two verdicts. Where there is no request, it is whether the program would start.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) family: &'static str,
    pub(crate) rules: String,
    pub(crate) request: String,
    pub(crate) squid: String,
    pub(crate) squall: String,
}

impl Pair {
    fn differs(&self) -> bool {
        self.squid != self.squall
    }
}

/// Runs the families that are wanted, and holds the differences against the table.
///
/// # Errors
/// When the table of differences can't be read.
pub fn compare(programs: &Programs, wanted: impl Fn(&str) -> bool) -> Result<Report> {
    let mut sets = families::all();
    sets.retain(|set| wanted(set.family));
    let next = AtomicUsize::new(0);
    let work = || {
        let mut pairs = Vec::new();
        while let Some((place, set)) = take(&next, &sets) {
            pairs.push((place, side_by_side(programs, set)));
        }
        pairs
    };
    let mut done = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .map_err(|_| anyhow!("a rule set couldn't be tried; its panic is above"))
        });
        joined.collect::<Result<Vec<_>>>()
    })?
    .concat();
    done.sort_by_key(|(place, _)| *place);
    let pairs = done.into_iter().flat_map(|(_, pairs)| pairs).collect();
    let mut table = expected::table()?;
    table.retain(|row| wanted(&row.family));
    Ok(Report::new(sets.len(), pairs, table))
}

fn take<'a>(next: &AtomicUsize, sets: &'a [RuleSet]) -> Option<(usize, &'a RuleSet)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    sets.get(place).map(|set| (place, set))
}

fn side_by_side(programs: &Programs, set: &RuleSet) -> Vec<Pair> {
    let squid = verdicts(Side::Squid, &programs.squid, set);
    let squall = verdicts(Side::Squall, &programs.squall, set);
    let mut requests: Vec<String> = set.asks.iter().map(ToString::to_string).collect();
    if requests.is_empty() {
        requests.push("-k parse".to_owned());
    }
    let both = squid.into_iter().zip(squall);
    let pair = |(request, (squid, squall))| Pair {
        family: set.family,
        rules: set.name.clone(),
        request,
        squid,
        squall,
    };
    requests.into_iter().zip(both).map(pair).collect()
}
