//! `bench ratios`: what each replacement policy hits, in memory and on disk, beside caches that do exactly what a policy says,
//! and beside a log as COSS overwrites it. The memory cache and the volume are the store's own; only the requests are a trace.

mod engines;
mod model;
mod score;
mod table;
mod trace;
mod web;

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use store::Policy;

use crate::machine::Machine;
use model::Model;
use table::{Report, Row};
pub(crate) use trace::{Options as TraceOptions, write as write_trace};
use trace::{Source, Trace};

/// Policies by their names in `squid.conf`.
const POLICIES: [(&str, Policy); 4] = [
    // `heap LRU` is the same order.
    ("lru", Policy::Lru),
    ("heap LFUDA", Policy::HeapLfuda),
    ("heap GDSF", Policy::HeapGdsf),
    ("default", Policy::Default),
];
const EXACT: [Model; 3] = [Model::Lru, Model::HeapLfuda, Model::HeapGdsf];
const DISK_MODELS: [Model; 3] = [Model::Lru, Model::Fifo, Model::Coss];

/// Which traces, and caches of which sizes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Traces whose lines end in `object,bytes`, beside the mixes
    #[arg(long, value_delimiter = ',')]
    traces: Vec<PathBuf>,
    /// Mixes to draw requests from
    #[arg(long, value_delimiter = ',', value_enum, default_value = "polymix,web")]
    mixes: Vec<Source>,
    /// Requests of each mix
    #[arg(long, default_value_t = 1_500_000)]
    requests: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Sizes of memory, in hundredths of all objects' bytes
    #[arg(long, value_delimiter = ',', default_value = "1,3,10,30")]
    memory: Vec<u64>,
    /// Sizes of the disk
    #[arg(long, value_delimiter = ',', default_value = "3,10,30")]
    disk: Vec<u64>,
    /// Where volumes lie, in a folder of their own
    #[arg(long, default_value = "/dev/shm")]
    place: PathBuf,
    /// Where the results go
    #[arg(long, default_value = "bench/results")]
    results: PathBuf,
}

/// Measures, prints, and writes the results.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut report = Report::new(Machine::read(Vec::new()));
    for path in &options.traces {
        measure(options, &Trace::read(path)?, &mut report)?;
    }
    for mix in &options.mixes {
        let trace = Trace::drawn(*mix, options.requests, options.seed);
        measure(options, &trace, &mut report)?;
    }
    print!("{}", report.render());
    fs::create_dir_all(&options.results)?;
    let path = |name: &str| options.results.join(name);
    for (name, plot) in report.plots() {
        fs::write(path(&name), plot)?;
    }
    fs::write(path("hit-ratios.md"), report.render())?;
    let json = serde_json::to_string_pretty(&report)?;
    Ok(fs::write(path("hit-ratios.json"), json + "\n")?)
}

fn measure(options: &Options, trace: &Trace, report: &mut Report) -> Result<()> {
    let place = tempfile::tempdir_in(&options.place)?;
    let content = engines::content(trace);
    let table = report.begin(trace);
    for percent in &options.memory {
        let bytes = trace.share(*percent);
        for (name, policy) in POLICIES {
            let score = engines::memory(policy, trace, &content, bytes);
            eprintln!("{} memory {percent} % {name}: {score}", trace.name);
            table.memory.push(Row::ours(name, *percent, score));
        }
        let models = EXACT.map(|model| Row::of(model, *percent, model.run(trace, bytes)));
        table.memory.extend(models);
    }
    for percent in &options.disk {
        let bytes = trace.share(*percent);
        for (name, policy) in POLICIES {
            let score = engines::disk(policy, trace, &content, bytes, place.path())?;
            eprintln!("{} disk {percent} % {name}: {score}", trace.name);
            table.disk.push(Row::ours(name, *percent, score));
        }
        let models = DISK_MODELS.map(|model| Row::of(model, *percent, model.run(trace, bytes)));
        table.disk.extend(models);
    }
    Ok(())
}
