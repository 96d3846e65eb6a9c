//! What the index of a disk volume costs: bytes per object, nanoseconds per operation, places given up.
//!
//! `cargo run --release -p store --example index_cost`

#![expect(
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "it is what an example is for"
)]

use std::fs;
use std::hint::black_box;
use std::thread;
use std::time::Instant;

use store::{Place, SizeCode, VolumeIndex as Index};

const OBJECTS: u64 = 10_000_000;
/// Slots at first, when it is to grow.
const SLOTS_SMALL: usize = 1_000_000;
/// Operations of which the mean is taken.
const ROUNDS: u64 = 4_000_000;

/// A bijection, so that all keys are different; its upper bits are as good as those of a hash.
fn hash(key: u64) -> u64 {
    let mixed = (key ^ key >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

fn place(key: u64) -> Place {
    Place {
        granule: key as u32,
        size: SizeCode::of_bytes(2_300),
    }
}

fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Nanoseconds of each of so many calls.
fn nanos(rounds: u64, mut call: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for round in 0..rounds {
        call(round);
    }
    start.elapsed().as_nanos() as f64 / rounds as f64
}

/// A key that is in, at random.
fn some_key(round: u64) -> u64 {
    hash(round ^ 0x5555) % OBJECTS
}

fn fill(slots: usize) -> std::io::Result<Index> {
    let before = resident_bytes();
    let index = Index::new(slots, 40 * OBJECTS as usize)?;
    let mut slowest = 0;
    let insert = nanos(OBJECTS, |key| {
        let start = Instant::now();
        index.insert(hash(key), place(key));
        slowest = slowest.max(start.elapsed().as_micros());
    });
    let resident = resident_bytes() - before;
    let objects = index.len() as u64;
    println!(
        "from {slots} slots to {}: {insert:.0} ns per insertion, the slowest {slowest} µs; load {:.1} %, {:.2} bytes per object, {:.2} resident; {} given up",
        index.slots(),
        100.0 * objects as f64 / index.slots() as f64,
        index.bytes() as f64 / objects as f64,
        resident as f64 / objects as f64,
        index.dropped(),
    );
    Ok(index)
}

fn find_while_others(index: &Index, others: &str, other: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        let other = scope.spawn(|| nanos(ROUNDS / 2, &other));
        let find = nanos(ROUNDS / 2, |round| {
            black_box(index.find(hash(some_key(round))));
        });
        let other = other.join().unwrap_or(f64::NAN);
        println!("find beside {others}: {find:.0} ns; that: {other:.0} ns");
    });
}

fn main() -> std::io::Result<()> {
    drop(fill(12 * OBJECTS as usize / 10)?);
    let index = fill(SLOTS_SMALL)?;
    let hit = nanos(ROUNDS, |round| {
        black_box(index.find(hash(some_key(round))));
    });
    let miss = nanos(ROUNDS, |round| {
        black_box(index.find(hash(OBJECTS + round)));
    });
    let used = nanos(ROUNDS, |round| {
        let key = some_key(round);
        index.used(hash(key), place(key), round as u32 >> 10);
    });
    let wrong: usize = (0..ROUNDS)
        .map(|round| index.find(hash(OBJECTS + round)).len())
        .sum();
    let lost = (0..OBJECTS)
        .filter(|&key| !index.find(hash(key)).contains(&place(key)))
        .count();
    println!(
        "find: {hit:.0} ns, of nothing {miss:.0} ns; used: {used:.0} ns; {wrong} found wrongly in {ROUNDS}, {lost} lost of {OBJECTS}"
    );
    find_while_others(&index, "find", |round| {
        black_box(index.find(hash(some_key(round + ROUNDS))));
    });
    find_while_others(&index, "replacement", |round| {
        let key = some_key(round + ROUNDS);
        index.replace(hash(key), place(key), place(key));
    });
    find_while_others(&index, "insertion, with growth", |round| {
        index.insert(hash(OBJECTS + round), place(OBJECTS + round));
    });
    let sweep = Instant::now();
    let swept = index.remove_all_in(0..100_000);
    println!(
        "sweep of {} slots: {} ms, {swept} removed",
        index.slots(),
        sweep.elapsed().as_millis()
    );
    Ok(())
}
