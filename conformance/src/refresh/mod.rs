//! The matrix of freshness: each `refresh_pattern`, each reply of the origin and each way to ask for it again, put to
//! both programs. Ages are those that the replies state, so that nothing waits.

mod matrix;
mod side;

use std::thread;

use anyhow::{Result, anyhow};

use crate::expected;
use crate::programs::{Programs, Side};
use crate::report::{Pair, Report};
use matrix::{Case, PATTERNS};

const TABLE: &str = include_str!("../../refresh/expected.toml");

/// Runs all cases, and holds the differences against the table.
///
/// # Errors
/// When the table of differences can't be read, or a program doesn't serve.
pub fn compare(programs: &Programs) -> Result<Report> {
    let cases = matrix::all();
    let run = |side, binary| side::verdicts(side, binary, &cases);
    let (squid, squall) = thread::scope(|scope| {
        let squid = scope.spawn(|| run(Side::Squid, &programs.squid));
        let squall = run(Side::Squall, &programs.squall);
        let squid = squid
            .join()
            .map_err(|_| anyhow!("Squid couldn't be tried; its panic is above"));
        anyhow::Ok((squid??, squall?))
    })?;
    let both = squid.into_iter().zip(squall);
    let pairs = cases.iter().zip(both).map(pair).collect();
    Ok(Report::new(PATTERNS.len(), pairs, expected::table(TABLE)?))
}

fn pair((case, (squid, squall)): (&Case, (String, String))) -> Pair {
    Pair {
        family: case.again.family,
        rules: case.pattern.to_owned(),
        request: case.to_string(),
        squid,
        squall,
    }
}
