//! Parts of responses on disk: what is asked for in ranges outlives the process, and objects much larger than the memory.

use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;
use testkit::{Client, Program};

use crate::disk::{FOUND, cache, logged};
use crate::parts::{Ranges, bytes};
use crate::support::{client, forward, results};

/// What is stored is on its way to the disk within a second.
const COMMITTED: Duration = Duration::from_millis(1500);

/// Much more than the memory, and pieces of which some are whole.
const LENGTH: u64 = 6_000_000;

fn start(dir: &TempDir) -> Program {
    forward(&format!(
        "cache_dir aufs {} 128 16 256\ncache_mem 1 MB\nworkers 1\nacl purge method PURGE",
        dir.path().display()
    ))
}

fn again(dir: &TempDir) -> Program {
    let program = start(dir);
    logged(&program, FOUND, 1);
    program
}

fn kill(program: &mut Program) {
    std::thread::sleep(COMMITTED);
    program.signal(Signal::KILL);
    program.wait();
}

/// Asks for a range, and checks what comes.
fn get(client: &mut Client, ranges: &Ranges, first: u64, last: u64) {
    let range = format!("bytes={first}-{last}");
    let answer = client.request("GET", &ranges.url(), &[("Range", &range)]);
    assert_eq!(answer.status, 206, "{range}");
    let stated = format!("bytes {first}-{last}/{LENGTH}");
    assert_eq!(answer.field("Content-Range"), Some(&*stated));
    assert!(answer.body() == bytes(first, last), "{range}");
}

fn whole(client: &mut Client, ranges: &Ranges) {
    let answer = client.get(&ranges.url());
    assert_eq!((answer.status, answer.field("Content-Range")), (200, None));
    assert!(answer.body() == bytes(0, LENGTH - 1));
}

/// What came before SIGKILL isn't asked for again: ranges, ranges across several of those, and in the end the whole.
#[test]
fn parts_outlive_the_process() {
    let (dir, ranges) = (cache(), Ranges::new(LENGTH, true));
    let mut program = start(&dir);
    let mut ask = client(&program);
    for (first, last) in [
        (100, 199),
        (1_000_000, 1_999_999),
        (2_000_000, 2_999_999),
        (131_072, 262_143),
    ] {
        get(&mut ask, &ranges, first, last);
    }
    let sent = ranges.sent();
    kill(&mut program);
    let mut program = again(&dir);
    let mut ask = client(&program);
    for (first, last) in [
        (100, 199),
        (150, 160),
        (1_500_000, 2_500_000),
        (1_000_000, 2_999_999),
        (200_000, 200_009),
    ] {
        get(&mut ask, &ranges, first, last);
    }
    assert_eq!(ranges.sent(), sent, "all of it was there");
    let results = results(&program, 5);
    assert!(
        results.iter().all(|result| result == "TCP_HIT/206"),
        "{results:?}"
    );
    // What is missing, and no more.
    get(&mut ask, &ranges, 2_900_000, 3_099_999);
    assert_eq!(
        ranges.last_range().as_deref(),
        Some("bytes=3000000-3099999")
    );
    whole(&mut ask, &ranges);
    assert_eq!(ranges.sent(), LENGTH);
    kill(&mut program);
    let program = again(&dir);
    whole(&mut client(&program), &ranges);
    get(&mut client(&program), &ranges, 0, LENGTH - 1);
    assert_eq!(ranges.sent(), LENGTH);
}

/// `If-Range` is compared with what is on disk; another validator is another response, of which nothing was stored.
#[test]
fn parts_of_another_time_are_not_mixed() {
    let (dir, ranges) = (cache(), Ranges::new(LENGTH, true));
    let mut program = start(&dir);
    get(&mut client(&program), &ranges, 0, 999_999);
    kill(&mut program);
    let program = again(&dir);
    let mut ask = client(&program);
    let guarded = |ask: &mut Client, tag: &str| {
        let fields = [("Range", "bytes=500-599"), ("If-Range", tag)];
        ask.request("GET", &ranges.url(), &fields)
    };
    let same = guarded(&mut ask, "\"v0\"");
    assert!(same.status == 206 && same.body() == bytes(500, 599));
    assert_eq!(ranges.origin.total(), 1);
    ranges.change();
    // The missing end belongs to another response: the beginning is out of date.
    let range = [("Range", "bytes=900000-1099999")];
    let answer = ask.request("GET", &ranges.url(), &range);
    assert_eq!(answer.field("ETag"), Some("\"v1\""));
    let before = ranges.origin.total();
    let answer = ask.request("GET", &ranges.url(), &[("Range", "bytes=0-9")]);
    assert_eq!(answer.field("ETag"), Some("\"v1\""));
    drop(program);
    assert!(ranges.origin.total() >= before);
}

/// A purge of the URL is one of all its parts, also for the next life.
#[test]
fn purged_parts_stay_away() {
    let (dir, ranges) = (cache(), Ranges::new(LENGTH, true));
    let mut program = start(&dir);
    get(&mut client(&program), &ranges, 1_000_000, 1_999_999);
    kill(&mut program);
    let mut program = again(&dir);
    let purged = client(&program).request("PURGE", &ranges.url(), &[]);
    assert_eq!(purged.status, 200, "{}", purged.text());
    get(&mut client(&program), &ranges, 1_000_000, 1_999_999);
    assert_eq!(ranges.origin.total(), 2);
    let purged = client(&program).request("PURGE", &ranges.url(), &[]);
    assert_eq!(purged.status, 200, "{}", purged.text());
    kill(&mut program);
    let program = again(&dir);
    get(&mut client(&program), &ranges, 1_000_000, 1_000_009);
    assert_eq!(ranges.origin.total(), 3);
}

/// Several who fetch different parts at the same time: all of them are there after that, each byte once from the origin.
#[test]
fn parts_that_come_at_the_same_time() {
    let (dir, ranges) = (cache(), Ranges::new(LENGTH, true));
    let mut program = start(&dir);
    std::thread::scope(|scope| {
        for first in 0..6 {
            let (program, ranges) = (&program, &ranges);
            scope.spawn(move || {
                let first = first * 1_000_000;
                get(&mut client(program), ranges, first, first + 999_999);
            });
        }
    });
    kill(&mut program);
    let program = again(&dir);
    whole(&mut client(&program), &ranges);
    assert_eq!(ranges.sent(), LENGTH);
}
