//! What a device does by itself, and what a volume on it does with that: random reads at depth 64 and their 99th
//! percentile, at rest and while something writes at half of its bandwidth; and one large file, written and read.
//!
//! `cargo run --release -p store --example device_cost -- DIRECTORY [MIB] [ROUNDS]`

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a program to be read by people"
)]

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use store::{
    Found, Reading, Ring, Stamps, StoredBody, Volume, VolumeOptions, VolumeState, VolumeUsage,
};

const DEPTH: usize = 64;
const PAGE: usize = 4096;
const PIECE: usize = 1 << 20;
const BODY_BYTES: usize = 3500;
const LARGE_BYTES: u64 = 1 << 30;
const SPAN: Duration = Duration::from_secs(3);
/// Of the C library's fcntl.h, on all but a few machines.
const O_DIRECT: i32 = rustix::fs::OFlags::DIRECT.bits() as i32;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().expect("a directory"));
    let mut number = |usual: u64| args.next().map_or(usual, |arg| arg.parse().unwrap());
    let (mib, rounds) = (number(6144), number(3));
    let options = VolumeOptions {
        path,
        bytes: mib << 20,
        ..VolumeOptions::default()
    };
    Volume::create(&options).unwrap();
    let volume = Volume::open(options.clone()).unwrap();
    let log = options.path.join("squall.log");
    let objects = (mib << 20) / 4 / BODY_BYTES as u64;
    let raw = options.path.join("raw");
    let mut bandwidth = 0.0;
    for _ in 0..rounds {
        let (wrote, read) = sequential(&raw);
        println!("device: {wrote:.0} MB/s written, {read:.0} MB/s read, of one file");
        bandwidth += wrote / rounds as f64;
        let (wrote, read) = large(&volume, &log);
        println!("volume: {wrote:.0} MB/s written, {read:.0} MB/s read, of one body");
    }
    for _ in 0..rounds {
        let half = bandwidth / 2.0;
        // Anew: what is written beside the finds drives out what is older.
        (0..objects).for_each(|number| put(&volume, number));
        volume.flush().unwrap();
        forget(&log);
        tell("device", "", random(&log));
        forget(&log);
        tell("volume", "", finds(&volume, objects));
        let what = format!(", {half:.0} MB/s written meanwhile");
        forget(&log);
        let device = beside(|stop| write_raw(&raw, half, stop), || random(&log));
        tell("device", &what, device);
        forget(&log);
        let found = beside(
            |stop| write_volume(&volume, half, stop),
            || finds(&volume, objects),
        );
        tell("volume", &what, found);
    }
    let VolumeUsage {
        reads_by_rings,
        reads_by_threads,
        ..
    } = volume.usage();
    println!("volume: {reads_by_rings} reads by io_uring, {reads_by_threads} by threads");
    std::fs::remove_file(raw).unwrap();
}

fn tell(who: &str, what: &str, mut waits: Vec<Duration>) {
    waits.sort_unstable();
    let at = |share: f64| waits[(waits.len() as f64 * share) as usize].as_micros();
    println!(
        "{who}: {:.0} reads/s, p50 {} us, p99 {} us{what}",
        waits.len() as f64 / SPAN.as_secs_f64(),
        at(0.5),
        at(0.99),
    );
}

fn key(number: u64) -> String {
    format!("GET http://www.example.com/folder/{number}.html")
}

fn put(volume: &Volume, number: u64) {
    let body = [7; BODY_BYTES];
    while volume
        .put(
            key(number).as_bytes(),
            &[1; 200],
            &[&body],
            Stamps::default(),
        )
        .is_err()
    {
        thread::sleep(Duration::from_micros(100));
    }
}

fn direct(path: &Path) -> File {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true);
    options.custom_flags(O_DIRECT).open(path).unwrap()
}

/// Room for a transfer, at an address that the device takes.
fn aligned(buffer: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    buffer.resize(bytes + PAGE, 7);
    let begin = buffer.as_ptr().align_offset(PAGE);
    &mut buffer[begin..begin + bytes]
}

/// Has the kernel forget what it has of the file.
fn forget(path: &Path) {
    let log = File::open(path).unwrap();
    log.sync_all().unwrap();
    rustix::fs::fadvise(&log, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

fn next(chance: &mut u64) -> u64 {
    *chance = chance
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    *chance >> 32
}

/// As many threads as reads are to be under way.
fn random(path: &Path) -> Vec<Duration> {
    let pages = File::open(path).unwrap().metadata().unwrap().len() / PAGE as u64;
    let until = Instant::now() + SPAN;
    let read = |thread: usize| {
        let (file, mut buffer, mut waits) = (direct(path), Vec::new(), Vec::new());
        let mut chance = thread as u64 * 77_777;
        while Instant::now() < until {
            let begun = Instant::now();
            let at = next(&mut chance) % pages * PAGE as u64;
            file.read_exact_at(aligned(&mut buffer, PAGE), at).unwrap();
            waits.push(begun.elapsed());
        }
        waits
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..DEPTH)
            .map(|thread| scope.spawn(move || read(thread)))
            .collect();
        let waits = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        waits.collect()
    })
}

/// A thread for each core, as the program has workers.
fn finds(volume: &Volume, objects: u64) -> Vec<Duration> {
    let cores = thread::available_parallelism().unwrap().get();
    thread::scope(|scope| {
        let find = |core| move || finds_of(core as u64, DEPTH / cores, volume, objects);
        let threads: Vec<_> = (0..cores).map(|core| scope.spawn(find(core))).collect();
        let waits = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        waits.collect()
    })
}

/// So many at a time, by a ring if the kernel has such.
fn finds_of(core: u64, depth: usize, volume: &Volume, objects: u64) -> Vec<Duration> {
    let ring = Ring::new().ok();
    let until = Instant::now() + SPAN;
    let (mut chance, mut waits, mut absent) = (objects + core, Vec::new(), 0);
    let mut readings: Vec<(Instant, Reading)> = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    while Instant::now() < until {
        while readings.len() < depth {
            let key = key(next(&mut chance) % objects);
            let begun = Instant::now();
            // What the kernel has in memory already says nothing of the disk.
            match volume.find(key.as_bytes(), 1, ring.as_ref()) {
                Found::Later(reading) => readings.push((begun, reading)),
                Found::Here(_) => {}
                // Keys that the index can't tell apart.
                Found::Nothing => absent += 1,
            }
        }
        match &ring {
            Some(ring) => ring.wait(Duration::from_secs(1)),
            None => thread::yield_now(),
        }
        readings.retain_mut(|(begun, reading)| match Pin::new(reading).poll(&mut cx) {
            Poll::Pending => true,
            Poll::Ready(stored) => {
                assert!(stored.is_some(), "it is there");
                waits.push(begun.elapsed());
                false
            }
        });
    }
    assert!(absent * 1000 <= waits.len(), "{absent} are gone");
    waits
}

/// Runs `act` while something writes.
fn beside<T>(write: impl FnOnce(&AtomicBool) + Send, act: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| write(&stop));
        let done = act();
        stop.store(true, Relaxed);
        done
    })
}

/// Waits until so many bytes are due, at so many MB each second.
fn pace(begun: Instant, bytes: u64, rate: f64) {
    let due = Duration::from_secs_f64(bytes as f64 / rate / 1e6);
    thread::sleep(due.saturating_sub(begun.elapsed()));
}

fn write_raw(path: &Path, rate: f64, stop: &AtomicBool) {
    let (file, mut buffer, begun) = (direct(path), Vec::new(), Instant::now());
    let mut bytes = 0;
    while !stop.load(Relaxed) {
        let at = bytes % LARGE_BYTES;
        file.write_all_at(aligned(&mut buffer, PIECE), at).unwrap();
        bytes += PIECE as u64;
        pace(begun, bytes, rate);
    }
}

fn write_volume(volume: &Volume, rate: f64, stop: &AtomicBool) {
    static ROUND: AtomicU64 = AtomicU64::new(0);
    let (body, begun) = (vec![7; 100_000], Instant::now());
    let mut bytes = 0;
    while !stop.load(Relaxed) {
        let key = format!("filler {}", ROUND.fetch_add(1, Relaxed) % 1000);
        let put = volume.put(key.as_bytes(), b"", &[&body], Stamps::default());
        bytes += if put.is_ok() { 100_000 } else { 0 };
        pace(begun, bytes, rate);
    }
}

fn rate(bytes: u64, begun: Instant) -> f64 {
    bytes as f64 / begun.elapsed().as_secs_f64() / 1e6
}

/// MB a second, written and read, with four transfers under way.
fn sequential(path: &Path) -> (f64, f64) {
    // As new as a volume's log: a file that has its room is written faster.
    std::fs::remove_file(path).ok();
    let each = |write: bool| {
        let begun = Instant::now();
        let next = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let (file, mut buffer) = (direct(path), Vec::new());
                    let buffer = aligned(&mut buffer, PIECE);
                    loop {
                        let at = next.fetch_add(PIECE as u64, Relaxed);
                        match at < LARGE_BYTES {
                            true if write => file.write_all_at(buffer, at).unwrap(),
                            true => file.read_exact_at(buffer, at).unwrap(),
                            false => break,
                        }
                    }
                });
            }
        });
        rate(LARGE_BYTES, begun)
    };
    (each(true), each(false))
}

fn wait<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    struct Unpark(thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match poll(&mut cx) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park_timeout(Duration::from_secs(1)),
        }
    }
}

fn large(volume: &Volume, log: &Path) -> (f64, f64) {
    assert_eq!(volume.usage().state, VolumeState::Serving);
    let piece = Bytes::from(vec![9; 64 << 10]);
    let begun = Instant::now();
    let mut writing = volume.begin(b"large", None).unwrap();
    for _ in 0..LARGE_BYTES / piece.len() as u64 {
        let mut piece = piece.clone();
        wait(|cx| writing.poll_append(&mut piece, cx)).unwrap();
    }
    wait(|cx| writing.poll_finish(b"meta", Stamps::default(), cx)).unwrap();
    volume.flush().unwrap();
    File::open(log).unwrap().sync_data().unwrap();
    let written = rate(LARGE_BYTES, begun);
    forget(log);
    let begun = Instant::now();
    let body = match volume.find(b"large", 1, None) {
        Found::Here(stored) => Some(stored.body),
        Found::Later(mut reading) => wait(|cx| Pin::new(&mut reading).poll(cx)).map(|it| it.body),
        Found::Nothing => None,
    };
    let Some(StoredBody::Extents(extents)) = body else {
        panic!("the large body is not found");
    };
    let mut reader = extents.reader();
    let mut at = 0;
    while at < extents.len() {
        at += wait(|cx| reader.poll_read(at, u64::MAX, cx)).unwrap().len() as u64;
    }
    (written, rate(LARGE_BYTES, begun))
}
