//! `conformance access [FAMILY…]` and `conformance refresh`: the matrices of access decisions and of freshness.
//! `conformance log`: log lines of both.
//! `conformance monitoring`: what tools that watch a Squid see of both. `conformance cache`: the public suite for HTTP caches. See `conformance/README.md`.

#![expect(clippy::print_stdout, reason = "a command talks to its user")]

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use conformance::cache::{self, Suite};
use conformance::{Programs, Report, SQUID, access, log, monitoring, refresh};

const HELP: &str = "\
conformance access [FAMILY…]    the matrix of access decisions, or these families of it
conformance refresh             the matrix of freshness
conformance log                 log lines, field by field
conformance monitoring          what tools that watch a Squid see, item by item
conformance cache [--beside]    the public suite for HTTP caches; Squid, Varnish and nginx beside us

SQUALL names our program, SQUID the other one of the matrix (/usr/sbin/squid).
";

fn main() -> Result<ExitCode> {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.split_first() {
        Some((command, families)) if command == "access" => {
            let wanted =
                |family: &str| families.is_empty() || families.iter().any(|name| name == family);
            tell(&access::compare(&programs()?, wanted)?)
        }
        Some((command, [])) if command == "refresh" => tell(&refresh::compare(&programs()?)?),
        Some((command, [])) if command == "log" => tell(&log::compare(&programs()?)?),
        Some((command, [])) if command == "monitoring" => {
            let outcome = monitoring::compare(&programs()?)?;
            print!("{outcome}");
            Ok(exit_code(outcome.is_as_expected()))
        }
        Some((command, [])) if command == "cache" => suite(false),
        Some((command, [beside])) if command == "cache" && beside == "--beside" => suite(true),
        _ => {
            print!("{HELP}");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn tell(report: &Report) -> Result<ExitCode> {
    print!("{report}");
    Ok(exit_code(report.is_as_expected()))
}

fn suite(beside: bool) -> Result<ExitCode> {
    let suite = Suite::find().map_err(|missing| anyhow!("{missing}"))?;
    let report = cache::run(&suite, &squall()?, beside)?;
    print!("{report}");
    Ok(exit_code(report.is_as_expected()))
}

fn squall() -> Result<PathBuf> {
    let named = env::var_os("SQUALL").context("SQUALL doesn't name the program")?;
    Ok(named.into())
}

fn exit_code(fine: bool) -> ExitCode {
    if fine {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn programs() -> Result<Programs> {
    let squid = env::var_os("SQUID").map_or_else(|| SQUID.into(), PathBuf::from);
    if !squid.exists() {
        bail!("no {}: nothing to compare with", squid.display());
    }
    Ok(Programs {
        squall: squall()?,
        squid,
    })
}
