//! `bench store`: what it costs to store on disk, to find it there, and how soon it is found after a restart.

mod asker;
mod disk;
mod home;
mod life;
mod measures;
mod mix;
mod scheme;
mod table;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::hits::Origin;
use crate::machine::Machine;
use life::{Life, Plan};
use measures::{Ending, Pass};
use table::Report;

pub(crate) use home::{Home, Room};
pub(crate) use mix::mixed;
pub(crate) use scheme::{SCHEMES, Scheme};

/// What to measure, and for how long.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Servers and their ways to store, by name or the beginning of one: squall, squall-threads, squid-aufs, squid-ufs, squid-diskd,
    /// squid-rock, nginx, trafficserver, varnish-file, varnish-malloc, squall-null, squid-null
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Rounds; the tables show medians
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Objects that are stored, of 2.4 KB on average
    #[arg(long, default_value_t = 100_000)]
    objects: u32,
    /// The most seconds that a pass may take
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Connections
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Objects that are stored before the restarts, for which a server has ten times as long; 0: no restarts
    #[arg(long, default_value_t = 500_000)]
    restart_objects: u32,
    /// Where the caches lie
    #[arg(long)]
    place: Option<PathBuf>,
    /// Where the results go
    #[arg(long, default_value = "bench/results")]
    results: PathBuf,
    /// Name of the two files there; by default store, or store-partial if not all was measured
    #[arg(long)]
    save: Option<String>,
}

/// Measures, prints, and writes the results.
pub(crate) fn run(options: &Options) -> Result<()> {
    let chosen = |scheme: &&Scheme| {
        options.only.is_empty()
            || options
                .only
                .iter()
                .any(|name| scheme.name.starts_with(name))
    };
    let mut versions = Vec::new();
    let mut schemes = Vec::new();
    let mut report = Report::new(options);
    for scheme in SCHEMES.iter().filter(chosen) {
        match scheme.program.path() {
            Ok(_) => {
                let version = scheme.program.version();
                if !versions.contains(&version) {
                    versions.push(version);
                }
                schemes.push(scheme);
            }
            Err(why) => report.absent(scheme, &why),
        }
    }
    report.machine = Some(Machine::read(versions));
    let origin = Origin::start()?;
    // The server has the other core for itself.
    let mut second = CpuSet::new();
    second.set(1);
    sched_setaffinity(None, &second)?;
    for round in 1..=options.rounds {
        for scheme in &schemes {
            eprintln!("round {round}, {}", scheme.title);
            let plan = options.plan(options.objects, 1, 4, round as u64);
            let done = passes(scheme, &plan, &origin, &mut report);
            if let Err(why) = done {
                report.absent(scheme, &why);
            }
            save(&report, options)?;
        }
    }
    let lasting = schemes.iter().filter(|scheme| life::restarts(scheme));
    for scheme in lasting.filter(|_| options.restart_objects > 0) {
        eprintln!("restarts, {}", scheme.title);
        let plan = options.plan(options.restart_objects, 10, 1, 0);
        let done = restarts(scheme, &plan, &origin, &mut report);
        if let Err(why) = done {
            report.absent(scheme, &why);
        }
        save(&report, options)?;
    }
    print!("{}", report.render());
    Ok(())
}

/// Writes what there is so far, so that a run that is ended early has not been for nothing.
fn save(report: &Report, options: &Options) -> Result<()> {
    let whole = options.only.is_empty();
    let usual = if whole { "store" } else { "store-partial" };
    let name = options.save.as_deref().unwrap_or(usual);
    fs::create_dir_all(&options.results)?;
    let path = |ending: &str| options.results.join(format!("{name}.{ending}"));
    fs::write(path("md"), report.render())?;
    fs::write(path("json"), serde_json::to_string_pretty(report)? + "\n")?;
    for (end, plot) in report.plots() {
        fs::write(options.results.join(format!("{name}-{end}.svg")), plot)?;
    }
    Ok(())
}

impl Options {
    fn plan(&self, objects: u32, times: u64, rock_rooms: u64, seed: u64) -> Plan {
        Plan {
            place: self.place.clone().unwrap_or_else(env::temp_dir),
            objects,
            rock_kib_each: life::KIB_EACH * rock_rooms,
            connections: self.connections,
            most: Duration::from_secs(self.seconds * times),
            seed,
        }
    }
}

/// All passes of one round; before the hits it is started anew, so that its memory holds none of them.
fn passes(
    scheme: &'static Scheme,
    plan: &Plan,
    origin: &Origin,
    report: &mut Report,
) -> Result<()> {
    let mut life = Life::begin(scheme, plan, origin)?;
    for pass in [Pass::Fill, Pass::Cold, Pass::Warm, Pass::Hot] {
        if !life::takes(scheme, pass) {
            continue;
        }
        if pass == Pass::Cold {
            life.complete()?;
            life.restart(Ending::Stop)?;
        }
        let sample = life.pass(pass)?;
        report.pass(scheme, pass, sample);
    }
    Ok(())
}

/// One restart of each kind, all on the same objects.
fn restarts(
    scheme: &'static Scheme,
    plan: &Plan,
    origin: &Origin,
    report: &mut Report,
) -> Result<()> {
    let mut life = Life::begin(scheme, plan, origin)?;
    life.pass(Pass::Fill)?;
    life.complete()?;
    for ending in [Ending::Stop, Ending::Kill, Ending::Reboot] {
        let restart = life.restart(ending)?;
        let kept = life.look(ending as u64)?;
        report.restart(scheme, ending, life.stored_count(), restart, kept);
    }
    Ok(())
}
