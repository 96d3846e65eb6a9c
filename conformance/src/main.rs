//! `conformance access [FAMILY…]` and `conformance refresh`: the matrices of access decisions and of freshness; see
//! `conformance/README.md`.

#![expect(clippy::print_stdout, reason = "a command talks to its user")]

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use conformance::{Programs, SQUID, access, refresh};

const HELP: &str = "\
conformance access [FAMILY…]    the matrix of access decisions, or these families of it
conformance refresh             the matrix of freshness

SQUALL names our program, SQUID the other one (/usr/sbin/squid).
";

fn main() -> Result<ExitCode> {
    let args: Vec<String> = env::args().skip(1).collect();
    let Some((command, families)) = args.split_first() else {
        print!("{HELP}");
        return Ok(ExitCode::FAILURE);
    };
    let wanted = |family: &str| families.is_empty() || families.iter().any(|name| name == family);
    let report = match command.as_str() {
        "access" => access::compare(&programs()?, wanted)?,
        "refresh" if families.is_empty() => refresh::compare(&programs()?)?,
        _ => {
            print!("{HELP}");
            return Ok(ExitCode::FAILURE);
        }
    };
    print!("{report}");
    Ok(if report.is_as_expected() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn programs() -> Result<Programs> {
    let squall = env::var_os("SQUALL").context("SQUALL doesn't name the program")?;
    let squid = env::var_os("SQUID").map_or_else(|| SQUID.into(), PathBuf::from);
    if !squid.exists() {
        bail!("no {}: nothing to compare with", squid.display());
    }
    Ok(Programs {
        squall: squall.into(),
        squid,
    })
}
