//! What the index of a disk volume costs: bytes per object, time per operation, places given up. Times are those of the
//! processor on the thread that works, so that other work on the machine adds little.
//!
//! `cargo run --release -p store --example index_cost`

#![expect(
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "it is what an example is for"
)]

use std::fs::{self, File};
use std::hint::black_box;
use std::path::Path;
use std::thread;
use std::time::Instant;

use store::{ImageReader, ImageWriter, Place, SizeCode, Title, VolumeIndex as Index};

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

/// Of this thread.
fn processor_nanos() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|first| first.parse().ok());
    nanos.unwrap_or(0)
}

/// Nanoseconds of each of so many calls.
fn nanos(rounds: u64, mut call: impl FnMut(u64)) -> f64 {
    let start = processor_nanos();
    for round in 0..rounds {
        call(round);
    }
    (processor_nanos() - start) as f64 / rounds as f64
}

/// A key that is in, at random.
fn some_key(round: u64) -> u64 {
    hash(round ^ 0x5555) % OBJECTS
}

fn fill(slots: usize) -> std::io::Result<Index> {
    let before = resident_bytes();
    let index = Index::new(slots, 40 * OBJECTS as usize)?;
    let insert = nanos(OBJECTS, |key| {
        index.insert(hash(key), place(key));
    });
    let resident = resident_bytes() - before;
    let objects = index.len() as u64;
    println!(
        "from {slots} slots to {}: {insert:.0} ns per insertion; load {:.1} %, {:.2} bytes per object, {:.2} resident; {} given up",
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

const VOLUME: [u8; 16] = [7; 16];

fn checkpoint(index: &Index, path: &Path) -> std::io::Result<()> {
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    let start = Instant::now();
    let mut writer = ImageWriter::new(index, 1, 0);
    let mut slowest = 0;
    loop {
        let step = Instant::now();
        if !writer.step(index, &file)? {
            break;
        }
        slowest = slowest.max(step.elapsed().as_micros());
    }
    let written = start.elapsed().as_millis();
    writer.finish(index, &VOLUME, &file)?;
    println!(
        "image: {} MB written in {written} ms, the slowest block {slowest} µs; with fdatasync {} ms",
        file.metadata()?.len() >> 20,
        start.elapsed().as_millis()
    );
    let (start, processor) = (Instant::now(), processor_nanos());
    let restored = Index::new(SLOTS_SMALL, 40 * OBJECTS as usize)?;
    if let Some(title) = Title::read(&file, &VOLUME)?
        && let Some(mut reader) = ImageReader::new(&restored, title)
    {
        while reader.step(&restored, &file, |_, _| true)? {}
    }
    println!(
        "image read: {} of {} places in {} ms, {} ms of the processor",
        restored.len(),
        index.len(),
        start.elapsed().as_millis(),
        (processor_nanos() - processor) / 1_000_000
    );
    fs::remove_file(path)
}

fn attach(path: &Path) -> std::io::Result<()> {
    let (index, origin) = Index::open(Some(path), &VOLUME, SLOTS_SMALL, 40 * OBJECTS as usize)?;
    println!("in shared memory: {origin:?}");
    for key in 0..OBJECTS {
        index.insert(hash(key), place(key));
    }
    drop(index);
    let start = Instant::now();
    let (index, origin) = Index::open(Some(path), &VOLUME, SLOTS_SMALL, 40 * OBJECTS as usize)?;
    let attached = start.elapsed().as_micros();
    let first = index.find(hash(1)).len();
    println!(
        "attached again: {origin:?} with {} places in {attached} µs, first find of {first} after {} µs",
        index.len(),
        start.elapsed().as_micros()
    );
    fs::remove_file(path)
}

fn main() -> std::io::Result<()> {
    drop(fill(12 * OBJECTS as usize / 10)?);
    let index = fill(SLOTS_SMALL)?;
    checkpoint(&index, &std::env::temp_dir().join("squall-index-cost"))?;
    attach(Path::new("/dev/shm/squall-index-cost"))?;
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
