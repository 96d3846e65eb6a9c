//! What a log line costs the worker that writes it, by format: `cargo run --release -p proxy --example log_cost`.
//!
//! The line goes to a file in memory, at a speed that its thread keeps up with, so that what is measured is the worker's
//! part: the format, the buffer and its lock.

#![expect(clippy::print_stdout, reason = "it tells its figures")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use proxy::log::{AccessLog, Format, LogFacts, Options, Place, Spec};
use proxy::record::{Hierarchy, HopName, Record, ResultTag};
use stats::{Counter, Registry};

/// Lines between two waits for the writer.
const ROUND: u32 = 2000;
const ROUNDS: u32 = 500;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for name in ["squid", "json", "combined", "none"] {
        let (each, lost) = cost(name)?;
        println!(
            "{name:<10} {:>7.3} µs a line, {lost} lost",
            each.as_secs_f64() * 1e6
        );
    }
    Ok(())
}

fn cost(name: &str) -> Result<(Duration, u64), Box<dyn std::error::Error>> {
    let path = PathBuf::from(format!("/dev/shm/log_cost-{}", std::process::id()));
    let place = Some(Place::File(path.clone())).filter(|_| name != "none");
    let specs = [Spec::new(place, Format::named(name).unwrap_or_default())];
    let registry = Registry::new();
    let log = AccessLog::open(&specs, &Options::default(), &registry)?;
    let handle = log.handle(0);
    let mut record = hit();
    let mut spent = Duration::ZERO;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..ROUND {
            record.finished_unix_ms += 1;
            let mut facts = LogFacts::unreadable(&record, b"http://www.example.com/a/b/page.html");
            facts.method = b"GET";
            facts.version = "1.1";
            facts.user_agent =
                b"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
            handle.write(&facts);
        }
        spent += began.elapsed();
        log.flush(Duration::from_secs(10));
    }
    log.close(Duration::from_secs(10));
    if name != "none" {
        std::fs::remove_file(path)?;
    }
    Ok((
        spent / (ROUND * ROUNDS),
        registry.counter(Counter::LogLinesLost),
    ))
}

fn hit() -> Record {
    let mut record = Record::new(([192, 0, 2, 1], 40_000).into());
    record.begin(1_000_000_000);
    record.finish(1_000_150_000, 1_785_000_000_000);
    record.status = 200;
    record.request_bytes = 300;
    record.head_bytes = 320;
    record.body_bytes = 4096;
    record.tag(ResultTag::MemHit);
    record.went(Hierarchy::None, HopName::None);
    record.set_content_type(b"text/html; charset=utf-8");
    record
}
