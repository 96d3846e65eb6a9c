//! `conformance access [FAMILY…]`: the matrix of access decisions; see `conformance/README.md`.

#![expect(clippy::print_stdout, reason = "a command talks to its user")]

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use conformance::access::{self, Programs};

const HELP: &str = "\
conformance access [FAMILY…]   the matrix of access decisions, or these families of it

SQUALL names our program, SQUID the other one (/usr/sbin/squid).
";

fn main() -> Result<ExitCode> {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.split_first() {
        Some((command, families)) if command == "access" => compare(families),
        _ => {
            print!("{HELP}");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn compare(families: &[String]) -> Result<ExitCode> {
    let squall = env::var_os("SQUALL").context("SQUALL doesn't name the program")?;
    let squid = env::var_os("SQUID").map_or_else(|| access::SQUID.into(), PathBuf::from);
    if !squid.exists() {
        bail!("no {}: nothing to compare with", squid.display());
    }
    let programs = Programs {
        squall: squall.into(),
        squid,
    };
    let wanted = |family: &str| families.is_empty() || families.iter().any(|name| name == family);
    let report = access::compare(&programs, wanted)?;
    print!("{report}");
    Ok(if report.is_as_expected() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
