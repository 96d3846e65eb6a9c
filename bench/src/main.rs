//! The load harness: the same work for Squall, its peers, and a server that does nothing but read and write.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command talks to its user"
)]

mod engine;
mod floods;
mod floor;
mod helper;
mod hits;
mod lists;
mod load;
mod machine;
mod origin;
mod peak;
mod plot;
mod probe;
mod process;
mod ratios;
mod report;
mod scaling;
mod server;
mod space;
mod store;
mod workload;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures Squall beside its peers.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Hits, misses and refusals: requests/s, and processor time per request
    Hits(hits::Options),
    /// Access control: a helper's answers, long lists
    Access(hits::Options),
    /// What floods of variants, of URLs and of forwarders cost
    Floods(floods::Options),
    /// The disk store: fill, hits from disk, restarts
    Store(store::Options),
    /// The most that a proxy with a disk cache does before its clients wait
    Peak(peak::Options),
    /// Hit ratios of every policy, in memory and on disk, beside models of other caches
    Ratios(ratios::Options),
    /// How many small responses fit into a gigabyte of disk
    Space(space::Options),
    /// Requests of a mix as lines of `turn,object,bytes`
    Trace(ratios::TraceOptions),
    /// The least that a server can do: one read, one write. Started by the harness
    #[command(hide = true)]
    Floor(floor::Options),
    /// The web server behind all of them. Started by the harness
    #[command(hide = true)]
    Origin(origin::Options),
    /// The helper of an external ACL. Started by the servers
    #[command(hide = true)]
    Helper,
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Hits(options) => hits::run(&workload::HITS, &options),
        Command::Access(options) => hits::run(&workload::ACCESS, &options),
        Command::Floods(options) => floods::run(&options),
        Command::Store(options) => store::run(&options),
        Command::Peak(options) => peak::run(&options),
        Command::Ratios(options) => ratios::run(&options),
        Command::Space(options) => space::run(&options),
        Command::Trace(options) => ratios::write_trace(&options),
        Command::Floor(options) => floor::run(&options),
        Command::Origin(options) => origin::run(options.port),
        Command::Helper => helper::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
