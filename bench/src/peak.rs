//! `bench peak`: the most that a proxy with a disk cache can do before it makes its clients wait, by the method that
//! *Squid: The Definitive Guide* compared storage schemes with: robots ask for a mix of the web's objects; there are
//! more of them while answers take less time than a threshold, fewer while they take more; it ends when twice the
//! cache's size has been fetched, and the last quarter counts.

mod cage;
mod mix;
mod robots;
mod table;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use rustix::thread::{CpuSet, sched_setaffinity};
use testkit::until_within;

use crate::hits::Origin;
use crate::machine::Machine;
use crate::probe;
use crate::store::{Home, Room, SCHEMES, Scheme};
use cage::Cage;
pub(crate) use mix::{Mix, Object};
use robots::Robots;
use table::{Report, Window};

/// Answers take so many milliseconds in the mean, if the finder has its way: 1.5 s to 1.75 s of a web that is ten times
/// as fast.
const ANSWER_MS: (f64, f64) = (150.0, 175.0);
/// Robots that come or go after a window, at least, and more of them the further off the answers are.
const UP: f64 = 1.05;
const DOWN: f64 = 0.95;
const ROBOTS: (f64, f64) = (64.0, 3500.0);
const WINDOW: Duration = Duration::from_secs(1);
/// Until so many times the cache's size has been fetched.
const FILL: f64 = 2.0;
/// The working set takes half of the cache, at 8 KB for each object that is kept.
const WORKING_SET_BYTES_EACH: u64 = 16 << 10;
const START: Duration = Duration::from_secs(60);

/// What to measure, and for how long.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Servers and their ways to store, by name or the beginning of one, as in `bench store`
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Size of each cache
    #[arg(long, default_value_t = 512)]
    mib: u64,
    /// Memory for a server and its page cache, by a control group; 0: not limited
    #[arg(long, default_value_t = 0)]
    memory_mib: u64,
    /// The most seconds that a server may take
    #[arg(long, default_value_t = 240)]
    seconds: u64,
    /// Where the caches lie
    #[arg(long)]
    place: Option<PathBuf>,
    /// Where the results go
    #[arg(long, default_value = "bench/results")]
    results: PathBuf,
}

/// Measures, prints, and writes the results.
pub(crate) fn run(options: &Options) -> Result<()> {
    let chosen = |scheme: &&Scheme| {
        let mut names = options.only.iter();
        options.only.is_empty() || names.any(|name| scheme.name.starts_with(name))
    };
    let schemes: Vec<&'static Scheme> = SCHEMES.iter().filter(chosen).collect();
    let mut versions = Vec::new();
    for scheme in &schemes {
        let version = scheme.program.version();
        if scheme.program.path().is_ok() && !versions.contains(&version) {
            versions.push(version);
        }
    }
    let origin = Origin::start()?;
    // The server has the other core for itself.
    let mut second = CpuSet::new();
    second.set(1);
    sched_setaffinity(None, &second)?;
    let mut report = Report::new(Machine::read(versions), options.mib, options.memory_mib);
    for scheme in schemes {
        eprintln!("{}", scheme.title);
        match measure(scheme, options, &origin, &mut report) {
            Ok(windows) => report.trace(scheme, windows),
            Err(why) => report.absent(scheme, &why),
        }
        save(&report, options)?;
    }
    print!("{}", report.render());
    Ok(())
}

fn save(report: &Report, options: &Options) -> Result<()> {
    let name = if options.only.is_empty() {
        "peak"
    } else {
        "peak-partial"
    };
    fs::create_dir_all(&options.results)?;
    let path = |ending: &str| options.results.join(format!("{name}.{ending}"));
    fs::write(path("md"), report.render())?;
    fs::write(path("svg"), report.plot())?;
    fs::write(path("json"), serde_json::to_string_pretty(report)? + "\n")?;
    Ok(())
}

/// One server's trace, from its first request until its cache was filled twice.
fn measure(
    scheme: &'static Scheme,
    options: &Options,
    origin: &Origin,
    report: &mut Report,
) -> Result<Vec<Window>> {
    scheme.program.path()?;
    let place = options.place.clone().unwrap_or_else(env::temp_dir);
    let room = Room {
        mib: options.mib,
        rock_mib: options.mib,
    };
    let cage = match options.memory_mib {
        0 => None,
        mib => Some(Cage::new(mib << 20).context("cannot make a control group")?),
    };
    let home = Home::new(scheme, &place, origin.port, room)?;
    let mut tree = home.start_in(|command| match &cage {
        Some(cage) => cage.around(command),
        None => command,
    })?;
    let ready = until_within(START, || {
        let ended = tree.has_ended();
        let answers = probe::get(home.port, "/count").is_ok_and(|it| it.status == 200);
        (ended || answers).then_some(answers)
    });
    if ready != Some(true) {
        bail!("it didn't start:\n{}", home.told());
    }
    let bytes = options.mib << 20;
    let working_set = usize::try_from(bytes / WORKING_SET_BYTES_EACH)?;
    let mut robots = Robots::new(home.port, Mix::new(1, working_set))?;
    let begun = Instant::now();
    let (count_before, kept_before) = origin_told(origin)?;
    let (mut wanted, mut count, mut fill) = (ROBOTS.0, count_before, 0.0);
    let mut windows = Vec::new();
    while fill < FILL {
        if begun.elapsed() > Duration::from_secs(options.seconds) {
            report.cut(scheme, fill);
            break;
        }
        let (used, from) = (tree.usage(), Instant::now());
        let seen = robots.work(whole(wanted), from + WINDOW);
        let seen = seen.with_context(|| home.told())?;
        let took = from.elapsed().as_secs_f64();
        let (count_now, kept) = origin_told(origin)?;
        fill = real(kept - kept_before) / real(bytes);
        let answers = real(seen.answers).max(1.0);
        let answer_ms = real(seen.micros) / answers / 1e3;
        windows.push(Window {
            fill,
            per_second: real(seen.answers) / took,
            answer_ms,
            robots: wanted,
            hits: 100.0 - 100.0 * real(count_now - count) / answers,
            micros: real((tree.usage() - used).time()) / answers,
            rss_mib: real(tree.usage().rss_kib) / 1024.0,
            answers,
        });
        count = count_now;
        let change = match answer_ms {
            ms if ms > ANSWER_MS.1 => DOWN - (ms - ANSWER_MS.1) / ms / 2.0,
            ms if ms > ANSWER_MS.0 => 1.0,
            ms => UP + (ANSWER_MS.0 - ms) / ANSWER_MS.0,
        };
        wanted = (wanted * change).clamp(ROBOTS.0, ROBOTS.1);
    }
    drop(robots);
    tree.kill();
    Ok(windows)
}

fn origin_told(origin: &Origin) -> Result<(u64, u64)> {
    let count = probe::origin_count(origin.port)?;
    Ok((count, probe::origin_kept_bytes(origin.port)?))
}

#[expect(clippy::cast_precision_loss, reason = "a measurement")]
fn real(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 64 and 3,500"
)]
fn whole(robots: f64) -> usize {
    robots as usize
}
