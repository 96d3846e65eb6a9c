//! `bench hits` and `bench access`: every workload of the suite, every server, round by round.

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use testkit::{free_port, until_within};

use crate::load::Load;
use crate::machine::Machine;
use crate::probe;
use crate::process::{Tree, ended_children_time, machine_time};
use crate::report::{Line, Report, Sample, Table};
use crate::scaling;
use crate::server::{Cores, Running, Server};
use crate::workload::{Kind, Suite, Workload};

/// What to measure, and for how long.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Workloads, by name or the beginning of one. Of hits: 600, 600-log, 200-50, new, 16k, 100k, 10m, denied, miss,
    /// scaling; of access: helper-16k, helper-blocked, lists-none, lists-names, lists-urls
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Servers
    #[arg(long, value_delimiter = ',')]
    servers: Vec<Server>,
    /// Rounds; the table shows medians
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds per round, workload and server
    #[arg(long, default_value_t = 3)]
    seconds: u32,
    /// Where the results go
    #[arg(long, default_value = "bench/results")]
    results: PathBuf,
    /// Name of the two files there; by default that of the suite, with -partial if not all was measured
    #[arg(long)]
    save: Option<String>,
}

/// The origin's process, and its port.
pub(crate) struct Origin {
    pub(crate) port: u16,
    pub(crate) tree: Tree,
}

impl Origin {
    pub(crate) fn start() -> Result<Self> {
        let port = free_port();
        let program = env::current_exe()?.display().to_string();
        let command = [program, "origin".to_owned(), format!("--port={port}")];
        let tree = Tree::start("1", &command, tempfile::tempfile()?)?;
        let ready = until_within(testkit::WAIT, || probe::origin_count(port).ok());
        ready.context("the origin didn't start")?;
        Ok(Self { port, tree })
    }
}

/// Measures, prints, and writes the results.
pub(crate) fn run(suite: &Suite, options: &Options) -> Result<()> {
    let mut servers = Vec::new();
    let mut missing = Vec::new();
    for server in Server::ALL {
        if !options.servers.is_empty() && !options.servers.contains(&server) {
            continue;
        }
        match server.program() {
            Ok(_) => servers.push(server),
            Err(why) => missing.push((server.name().to_owned(), why.to_string())),
        }
    }
    for (server, why) in &missing {
        eprintln!("{server} is absent: {why}");
    }
    let versions = servers
        .iter()
        .map(|server| (server.name().to_owned(), server.version()))
        .collect();
    let machine = Machine::read(versions);
    let origin = Origin::start()?;
    let mut report = Report {
        title: suite.title.to_owned(),
        machine,
        rounds: options.rounds,
        seconds: options.seconds,
        tables: Vec::new(),
        scaling: Vec::new(),
    };
    let load = Load::new("1", 1, options.seconds)?;
    let workloads = suite.workloads.iter();
    for workload in workloads.filter(|workload| workload.is_chosen(&options.only)) {
        let mut table = measure(workload, &servers, &origin, &load, options.rounds)?;
        table.absent.extend(missing.iter().cloned());
        println!("{}", table.render());
        report.tables.push(table);
    }
    let asked = options.only.is_empty() || options.only.iter().any(|name| name == "scaling");
    if suite.scales && asked {
        report.scaling = scaling::measure(&servers, &origin, options.rounds, options.seconds)?;
    }
    save(&report, suite, options)
}

/// One workload: all servers started and warmed, then loaded in turn.
fn measure(
    workload: &Workload,
    servers: &[Server],
    origin: &Origin,
    load: &Load,
    rounds: usize,
) -> Result<Table> {
    let mut running = Vec::new();
    let mut absent = Vec::new();
    for server in servers.iter().filter(|server| server.takes(workload)) {
        match start(*server, workload, Cores::One, origin) {
            Ok(started) => running.push((started, Vec::new())),
            Err(why) => absent.push((server.name().to_owned(), format!("{why:#}"))),
        }
    }
    for round in 1..=rounds {
        for (server, samples) in &mut running {
            eprintln!(
                "{}: round {round}, {}",
                workload.title,
                server.server.name()
            );
            samples.push(sample(
                server,
                workload,
                workload.connections,
                origin,
                load,
            )?);
        }
    }
    let lines = running
        .into_iter()
        .map(|(running, samples)| Line::new(running.server, samples))
        .collect();
    // A miss is two exchanges: with the client and with the origin.
    let floors = if workload.kind == Kind::Miss {
        2.0
    } else {
        1.0
    };
    Ok(Table {
        name: workload.name.to_owned(),
        title: workload.title.to_owned(),
        floors,
        lines,
        absent,
    })
}

/// Starts a server, fills its cache, and sees that it answers from there.
pub(crate) fn start(
    server: Server,
    workload: &Workload,
    cores: Cores,
    origin: &Origin,
) -> Result<Running> {
    let running = server.start(workload, cores, origin.port)?;
    if server == Server::Floor {
        return Ok(running);
    }
    let paths = workload.paths();
    // Two workers may have a cache each.
    for _ in 0..8 * cores.workers() {
        let before = probe::origin_count(origin.port)?;
        probe::expect(running.port, &paths, workload.status(), workload.content())?;
        let asked = probe::origin_count(origin.port)? - before;
        if cores == Cores::One && (asked == 0 || workload.kind == Kind::Miss) {
            return Ok(running);
        }
    }
    anyhow::ensure!(cores == Cores::Two, "it doesn't keep these in its cache");
    Ok(running)
}

/// One round: time and memory of the server over the time of the load.
pub(crate) fn sample(
    running: &Running,
    workload: &Workload,
    connections: u32,
    origin: &Origin,
    load: &Load,
) -> Result<Sample> {
    let asked = probe::origin_count(origin.port)?;
    let known = || origin.tree.usage().time() + ended_children_time();
    let (before, ours, all) = (running.tree.usage(), known(), machine_time());
    let seen = load.run(workload, connections, running.port)?;
    let (used, ours, all) = (
        running.tree.usage() - before,
        known() - ours,
        machine_time() - all,
    );
    let others = all.saturating_sub(ours + used.time());
    let asked = probe::origin_count(origin.port)? - asked;
    let completed = seen.completed(workload);
    let name = running.server.name();
    if seen.errors(workload) > 0 {
        eprintln!("{name}: {seen:?}");
    }
    if workload.kind == Kind::Hit && asked > 0 {
        eprintln!("{name} asked the origin {asked} times under load");
    }
    let mut sample = rates(&seen, completed, used, seen.errors(workload));
    sample.others = share(others, seen.micros * 2);
    Ok(sample)
}

/// Hundredths of `whole`.
#[expect(clippy::cast_precision_loss, reason = "a measurement")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "a measurement")]
fn rates(
    seen: &crate::load::Seen,
    completed: f64,
    used: crate::process::Usage,
    errors: u64,
) -> Sample {
    let each = completed.max(1.0);
    Sample {
        requests_per_second: completed * 1e6 / seen.micros.max(1) as f64,
        user: used.user as f64 / each,
        system: used.system as f64 / each,
        p50: seen.p50 as f64,
        p99: seen.p99 as f64,
        rss_mib: used.rss_kib as f64 / 1024.0,
        errors: errors as f64,
        others: 0.0,
    }
}

fn save(report: &Report, suite: &Suite, options: &Options) -> Result<()> {
    let whole = options.only.is_empty() && options.servers.is_empty();
    let ending = if whole { "" } else { "-partial" };
    let usual = || format!("{}{ending}", suite.name);
    let name = options.save.clone().unwrap_or_else(usual);
    println!("{}", report.head());
    let text = report.render();
    fs::create_dir_all(&options.results)?;
    let path = |ending: &str| options.results.join(format!("{name}.{ending}"));
    fs::write(path("md"), &text)?;
    fs::write(path("json"), serde_json::to_string_pretty(report)? + "\n")?;
    eprintln!("written to {} and .json", path("md").display());
    Ok(())
}
