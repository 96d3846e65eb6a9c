//! `cargo xtask`: the chores of this repository.

#![expect(clippy::print_stdout, reason = "a command talks to its user")]

mod docs;
mod npm;
mod packages;
mod steps;

use std::env;
use std::process::ExitCode;

use anyhow::Result;

const HELP: &str = "\
cargo xtask test [ARGS]   install what the tests plug in (as root), then `cargo test --workspace ARGS`
cargo xtask ci            what CI does: format, lints, tests, documentation
cargo xtask models        try the orders in which threads may meet in the disk store, by loom and shuttle
cargo xtask docs          write the pages that come from tables
cargo xtask conformance access [FAMILY…]   decide beside Squid, and tell where the two differ
cargo xtask conformance refresh   the same for what is fresh, by refresh_pattern
cargo xtask conformance log       the same for lines of logs
cargo xtask conformance monitoring   what tools that watch a Squid see of both
cargo xtask conformance cache [--beside]   run the public suite for HTTP caches; --beside: against others too
cargo xtask bench hits    measure Squall beside its peers; `cargo xtask bench hits --help` names the options
cargo xtask bench access  measure what access control costs, beside Squid
cargo xtask bench floods  measure what floods of variants, of URLs and of forwarders cost, beside Squid
cargo xtask bench peak    find the most that a disk cache does before its clients wait, beside its peers
cargo xtask bench store   measure the disk store: fill, hits from disk, restarts, beside its peers
";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match chore(&args) {
        Ok(code) => code,
        Err(error) => {
            println!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn chore(args: &[String]) -> Result<ExitCode> {
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    match command {
        "test" => steps::test(rest)?,
        "ci" => steps::ci()?,
        "models" => steps::models()?,
        "docs" => docs::write()?,
        "bench" => steps::bench(rest)?,
        "conformance" => steps::conformance(rest)?,
        "help" | "-h" | "--help" => print!("{HELP}"),
        other => {
            print!("no such chore: {other}\n\n{HELP}");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
