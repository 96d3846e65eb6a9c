//! What a volume costs: objects stored and found per second, processor time of each, how long it takes to open.
//!
//! `cargo run --release -p store --example disk_cost -- DIRECTORY [MIB] [OBJECTS] [BYTES]`

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program to be read by people"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use store::{Found, Refused, Ring, Stamps, StoredBody, Volume, VolumeOptions, VolumeState};

const BODY_BYTES: u64 = 1500;
const LARGE_BYTES: usize = 256 << 20;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().expect("a directory"));
    let mut number = |usual: u64| args.next().map_or(usual, |arg| arg.parse().unwrap());
    let options = VolumeOptions {
        path,
        bytes: number(4096) << 20,
        ..VolumeOptions::default()
    };
    let objects = number(1_000_000);
    let body_bytes = usize::try_from(number(BODY_BYTES)).unwrap();
    Volume::create(&options).unwrap();
    let volume = open(&options);
    store(&volume, objects, body_bytes);
    find(&volume, objects);
    large(&volume);
    println!("{:#?}", volume.usage());
    timed("close", 1, || volume.close().unwrap());
    drop(volume);
    let ring = Ring::new().ok();
    println!("From a checkpoint:");
    let volume = open(&options);
    find(&volume, objects);
    for _ in 0..2 {
        forget(&options);
        find_cold(&volume, objects, None);
        if let Some(ring) = &ring {
            forget(&options);
            find_cold(&volume, objects, Some(ring));
        }
    }
    drop(volume);
    println!("From the log, of {objects} objects:");
    forget_images(&options);
    let volume = timed("open", objects, || open(&options));
    println!("found: {}", volume.usage().objects);
    drop(volume);
    println!("The same, when the kernel has nothing of it in memory:");
    forget(&options);
    drop(timed("open", objects, || open(&options)));
    println!("From shared memory, first and second time:");
    let options = VolumeOptions {
        shared_memory: Some(PathBuf::from("/dev/shm")),
        ..options
    };
    drop(open(&options));
    let volume = open(&options);
    find(&volume, objects);
    println!("{:#?}", volume.usage());
}

/// Wall and processor time of `act`, of which there are `count`.
fn timed<T>(what: &str, count: u64, act: impl FnOnce() -> T) -> T {
    let (begun, cpu) = (Instant::now(), cpu_time());
    let done = act();
    let (wall, cpu) = (begun.elapsed(), cpu_time() - cpu);
    let each = |time: Duration| time.as_secs_f64() / count.max(1) as f64 * 1e6;
    let rate = count as f64 / wall.as_secs_f64();
    println!(
        "{what}: {wall:.2?}, {rate:.0}/s, {:.2} us each, {:.2} us of processor",
        each(wall),
        each(cpu)
    );
    done
}

fn cpu_time() -> Duration {
    let usage = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = usage.split(' ').collect();
    let ticks = |at: usize| fields.get(at).unwrap().parse::<u64>().unwrap();
    Duration::from_millis((ticks(13) + ticks(14)) * 10)
}

fn open(options: &VolumeOptions) -> Arc<Volume> {
    timed("open", 1, || {
        let volume = Volume::open(options.clone()).unwrap();
        while volume.usage().state != VolumeState::Serving {
            std::thread::sleep(Duration::from_millis(1));
        }
        volume
    })
}

fn key(number: u64) -> String {
    format!("GET http://www.example.com/folder/{number}.html")
}

fn store(volume: &Volume, objects: u64, body_bytes: usize) {
    let body = vec![7; body_bytes];
    timed("store", objects, || {
        for number in 0..objects {
            let key = key(number);
            loop {
                match volume.put(key.as_bytes(), &[1; 200], &[&body], Stamps::default()) {
                    Ok(()) => break,
                    Err(Refused::Busy | Refused::Full | Refused::Opening) => {
                        std::thread::sleep(Duration::from_micros(100))
                    }
                    Err(refused) => panic!("{refused}"),
                }
            }
        }
        volume.flush().unwrap();
    });
}

fn wait<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = poll(&mut cx) {
            return value;
        }
        std::thread::yield_now();
    }
}

fn find(volume: &Volume, objects: u64) {
    let finds = objects.min(500_000);
    let mut found = 0;
    timed("find", finds, || {
        let mut number = 12345u64;
        for _ in 0..finds {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            found += match volume.find(key((number >> 32) % objects).as_bytes(), 1, None) {
                Found::Nothing => 0,
                Found::Here(_) => 1,
                Found::Later(reading) => {
                    let mut reading = std::pin::pin!(reading);
                    u64::from(wait(|cx| reading.as_mut().poll(cx)).is_some())
                }
            }
        }
    });
    println!("found {found} of {finds}");
}

/// Two were not taken, if there was too little to store.
fn forget_images(options: &VolumeOptions) {
    for ending in ["a", "b"] {
        drop(std::fs::remove_file(
            options.path.join(format!("squall.log.index-{ending}")),
        ));
    }
}

/// Has the kernel forget the log.
fn forget(options: &VolumeOptions) {
    let log = std::fs::File::open(options.path.join("squall.log")).unwrap();
    log.sync_all().unwrap();
    rustix::fs::fadvise(&log, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

/// Many finds at a time, of a log that lies on the disk alone.
fn find_cold(volume: &Volume, objects: u64, ring: Option<&Ring>) {
    let finds = objects.min(100_000);
    let mut number = 54321u64;
    let mut found = 0;
    let mut begun = 0;
    let mut readings = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    let by = if ring.is_some() { "a ring" } else { "threads" };
    timed(
        &format!("find on the disk, 64 at a time, by {by}"),
        finds,
        || {
            while begun < finds || !readings.is_empty() {
                while begun < finds && readings.len() < 64 {
                    begun += 1;
                    number = number
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    match volume.find(key((number >> 32) % objects).as_bytes(), 1, ring) {
                        Found::Nothing => {}
                        Found::Here(_) => found += 1,
                        Found::Later(reading) => readings.push(Box::pin(reading)),
                    }
                }
                readings.retain_mut(|reading| match reading.as_mut().poll(&mut cx) {
                    Poll::Pending => true,
                    Poll::Ready(stored) => {
                        found += u64::from(stored.is_some());
                        false
                    }
                });
                match ring {
                    Some(ring) => ring.wait(Duration::from_secs(1)),
                    None => std::thread::yield_now(),
                }
            }
        },
    );
    println!("found {found} of {finds}");
}

fn large(volume: &Volume) {
    let piece = Bytes::from(vec![9; 64 << 10]);
    let mib = (LARGE_BYTES >> 20) as u64;
    timed("store large, MiB", mib, || {
        let mut writing = volume.begin(b"large", None).unwrap();
        for _ in 0..LARGE_BYTES / piece.len() {
            let mut piece = piece.clone();
            wait(|cx| writing.poll_append(&mut piece, cx)).unwrap();
        }
        wait(|cx| writing.poll_finish(b"meta", Stamps::default(), cx)).unwrap();
    });
    let Found::Here(stored) = volume.find(b"large", 1, None) else {
        panic!("the large body is not found at once");
    };
    let StoredBody::Extents(extents) = stored.body else {
        panic!("the large body is whole");
    };
    let mut reader = extents.reader();
    timed("read large, MiB", mib, || {
        let mut at = 0;
        while at < extents.len() {
            at += wait(|cx| reader.poll_read(at, u64::MAX, cx)).unwrap().len() as u64;
        }
    });
}
