//! Log lines: the same traffic through both programs, and their lines compared field by field, but for times.

mod fields;
mod side;
mod traffic;

use std::thread;

use anyhow::{Result, anyhow};

use crate::expected;
use crate::programs::{Programs, Side};
use crate::report::{Pair, Report};
use fields::FORMATS;

const TABLE: &str = include_str!("../../log/expected.toml");

/// Sends all traffic, and holds the differences against the table.
///
/// # Errors
/// When the table of differences can't be read, or a program doesn't serve.
pub fn compare(programs: &Programs) -> Result<Report> {
    let run = side::logged;
    let (squid, squall) = thread::scope(|scope| {
        let squid = scope.spawn(|| run(Side::Squid, &programs.squid));
        let squall = run(Side::Squall, &programs.squall);
        let squid = squid
            .join()
            .map_err(|_| anyhow!("Squid couldn't be tried; its panic is above"));
        anyhow::Ok((squid??, squall?))
    })?;
    let pairs = squid.into_iter().zip(squall).map(|(squid, squall)| Pair {
        family: squid.format,
        rules: squid.case.to_owned(),
        request: squid.field.to_owned(),
        squid: squid.value,
        squall: squall.value,
    });
    Ok(Report::new(
        FORMATS.len(),
        pairs.collect(),
        expected::table(TABLE)?,
    ))
}
