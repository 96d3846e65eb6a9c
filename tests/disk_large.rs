//! A body much larger than the memory: to disk and back, whole and in ranges, with little of it in memory at a time. A
//! larger one by `SQUALL_MIB`.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use testkit::{Client, Origin, Pattern, Program, Reply, Request};

use crate::disk::{FOUND, cache, logged};
use crate::support::{client, forward};

/// Who reads at the same time, and how much memory each may take.
const READERS: u64 = 6;
const KIB_PER_READER: u64 = 2 << 10;
/// Chunks that may wait for the disk, all together, and what the allocator keeps of those that did.
const KIB_QUEUED: u64 = 66 << 10;
/// What the program may take besides while it stores, for its pools.
const KIB_BESIDES: u64 = 16 << 10;

/// The most memory that the program has while something is done.
pub(crate) fn watched<T>(program: &Program, act: impl FnOnce() -> T) -> (T, u64) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = 0;
            while !over.load(Relaxed) {
                most = most.max(program.rss_kib());
                thread::sleep(Duration::from_millis(2));
            }
            most
        });
        let done = act();
        over.store(true, Relaxed);
        (done, watcher.join().unwrap())
    })
}

fn reader(program: &Program) -> Client {
    client(program)
        .keep_no_bodies()
        .wait(Duration::from_secs(60))
}

#[test]
fn a_large_body_comes_and_goes_in_pieces() {
    let mib = std::env::var("SQUALL_MIB").ok();
    let mib: u64 = mib.and_then(|text| text.parse().ok()).unwrap_or(300);
    let pattern = Pattern::new("large", mib << 20);
    let reply = Reply::pattern(&pattern).field("Cache-Control", "max-age=86400");
    let origin = Origin::start(move |_: &Request| reply.clone());
    let (dir, url, hash) = (cache(), origin.url("/"), pattern.hash());
    let conf = format!(
        "cache_dir aufs {} {} 16 256\nmaximum_object_size {} MB\nworkers 1",
        dir.path().display(),
        2 * mib + 100, // half of it may be one response's
        mib + 1
    );
    let mut program = forward(&conf);
    let check = |client: &mut Client| {
        let began = Instant::now();
        let answer = client.get(&url);
        assert_eq!((answer.status, answer.content.len), (200, mib << 20));
        assert!(answer.content.hash() == hash);
        began.elapsed()
    };
    let before = program.rss_kib();
    let (stored, most) = watched(&program, || check(&mut reader(&program)));
    println!("stored {mib} MiB in {stored:?}: {before} KiB before, at most {most}");
    assert!(
        most < before + KIB_PER_READER + KIB_QUEUED + KIB_BESIDES,
        "{before} {most}"
    );

    // In a life of its own, in which nothing is written: what was queued would hide what readers take.
    assert!(program.stop().success());
    let program = forward(&conf);
    logged(&program, FOUND, 1);
    let part = reader(&program).request("GET", &url, &[("Range", "bytes=0-9")]);
    assert_eq!(part.status, 206);
    let before = program.rss_kib();
    let (read, most) = watched(&program, || {
        thread::scope(|scope| {
            let readers = (0..READERS).map(|_| scope.spawn(|| check(&mut reader(&program))));
            let readers: Vec<_> = readers.collect();
            let times = readers.into_iter().map(|reader| reader.join().unwrap());
            times.max().unwrap_or_default()
        })
    });
    let each = most.saturating_sub(before) / READERS;
    println!("read by {READERS} in {read:?}: {before} KiB before, at most {most}, {each} each");
    assert!(each <= KIB_PER_READER, "{before} {most}");

    let mut ranges = reader(&program);
    for first in [0, 1, (mib << 19) - 7, (mib << 20) - 100_000] {
        let range = format!("bytes={first}-{}", first + 99_999);
        let began = Instant::now();
        let part = ranges.request("GET", &url, &[("Range", &range)]);
        println!("{range} in {:?}", began.elapsed());
        assert_eq!((part.status, part.content.len), (206, 100_000));
        let mut expected = vec![0; 100_000];
        std::io::Read::read_exact(&mut pattern.from(first), &mut expected).unwrap();
        assert!(part.content.hash() == testkit::hash(&expected), "{range}");
    }
    assert_eq!(origin.total(), 1);
    if let Ok(log) = std::fs::metadata(dir.path().join("squall.log")) {
        println!("on disk: {} bytes", log.len());
    }
}
