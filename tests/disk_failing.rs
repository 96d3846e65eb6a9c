//! One of two disks fails, on read, on write, on fsync: what was on it is a miss, it is left out, which is told once, and
//! the other goes on. When it works again, it is used again. And a clock that jumps.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::{Advice, fadvise};
use tempfile::TempDir;
use testkit::{Program, until_within};

use crate::disk::{FOUND, cache, logged, open_to_all};
use crate::disk_ring::reads;
use crate::support::client;
use crate::versions::Versions;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/disk_failing/shim.c");
/// A directory that failed is tried again by then.
const RETRIED: Duration = Duration::from_secs(20);
const TEN_YEARS: i64 = 10 * 365 * 86_400;
/// What is stored is on its way to the disk within a second.
const SETTLED: Duration = Duration::from_millis(1500);

/// Two disks, of which one does as it is told, and a clock.
#[derive(Debug)]
struct Bench {
    dir: TempDir,
}

impl Bench {
    /// `None`, with the reason told, where there is no compiler.
    fn new() -> Option<Self> {
        let dir = cache();
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", SOURCE, "-ldl", "-o"])
            .arg(dir.path().join("shim.so"))
            .output();
        match built {
            Err(error) => {
                println!("skipped: no C compiler: {error}");
                return None;
            }
            Ok(output) => assert!(output.status.success(), "{output:?}"),
        }
        for name in ["orders", "good", "bad"] {
            fs::create_dir(dir.path().join(name)).unwrap();
            open_to_all(&dir.path().join(name));
        }
        Some(Self { dir })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn order(&self, name: &str, content: &str) {
        // At once, not in two steps.
        fs::write(self.path("new"), content).unwrap();
        fs::rename(self.path("new"), self.path("orders").join(name)).unwrap();
    }

    fn revoke(&self, name: &str) {
        fs::remove_file(self.path("orders").join(name)).unwrap();
    }

    /// A program whose every hit is one of the disk; it knows all that is stored.
    fn program(&self) -> Program {
        let conf = format!(
            "http_access allow all\nmemory_cache_mode never\nworkers 1\n\
             store_dir_select_algorithm round-robin\n\
             cache_dir aufs {} 16 16 256\ncache_dir aufs {} 16 16 256",
            self.path("good").display(),
            self.path("bad").display()
        );
        let program = Program::builder(&conf)
            .env("LD_PRELOAD", self.path("shim.so"))
            .env("SHIM_ORDERS", self.path("orders"))
            .env("SHIM_DISK", self.path("bad"))
            .start();
        logged(&program, FOUND, 2);
        program
    }
}

/// Has the kernel forget what it has of a file.
fn forget(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
}

fn told(program: &Program) -> usize {
    program.read("cache.log").matches("its disk failed").count()
}

/// Fetches what `path` names, in new connections, until the disk is left out; all that comes is right.
fn fetch_until_told(program: &Program, origin: &Versions, path: impl Fn(usize) -> String) {
    let mut client = client(program).keep_no_bodies();
    let mut number = 0;
    let left_out = until_within(Duration::from_secs(60), || {
        for _ in 0..20 {
            number += 1;
            origin.fetch(&mut client, &path(number));
        }
        (told(program) > 0).then_some(())
    });
    assert!(left_out.is_some(), "{}", program.read("cache.log"));
}

/// Waits until all of some new responses are stored; what comes too fast for a disk isn't.
fn stores(program: &Program, origin: &Versions, name: &str) {
    let mut client = client(program).keep_no_bodies();
    let mut round = 0;
    let stored = until_within(RETRIED, || {
        round += 1;
        let paths = (0..20).map(|number| format!("/3000/{name}-{round}-{number}"));
        let paths: Vec<String> = paths.collect();
        for path in &paths {
            origin.fetch(&mut client, path);
        }
        std::thread::sleep(SETTLED);
        let all = paths.iter().all(|path| origin.is_hit(&mut client, path));
        all.then_some(())
    });
    assert!(stored.is_some(), "{name}: nothing is stored");
}

/// The rest of the story: it was told once, the other disk goes on, and the failed one comes back.
fn goes_on_and_comes_back(bench: &Bench, mut program: Program, origin: &Versions, order: &str) {
    stores(&program, origin, "without");
    assert_eq!(told(&program), 1);
    bench.revoke(order);
    let back = until_within(RETRIED, || {
        let log = program.read("cache.log");
        log.contains("back in service").then_some(())
    });
    assert!(back.is_some(), "{}", program.read("cache.log"));
    stores(&program, origin, "after");
    assert_eq!(told(&program), 1);
    assert!(program.stop().success());
    let log = program.read("cache.log");
    assert!(!log.contains("panic"), "{log}");
}

#[test]
fn a_disk_that_cannot_be_read() {
    let Some(bench) = Bench::new() else { return };
    let (origin, mut program) = (Versions::start(), bench.program());
    let path = |number: usize| format!("/2000/{}", number % 200);
    let mut first = client(&program).keep_no_bodies();
    for number in 0..200 {
        origin.fetch(&mut first, &path(number));
    }
    assert!(program.stop().success());
    let program = bench.program();
    assert!(
        reads(&program).contains(" 0 by io_uring (0 workers)"),
        "it isn't allowed"
    );
    for name in ["good", "bad"] {
        forget(&bench.path(name).join("squall.log"));
    }
    bench.order("read", "");
    let before = origin.latest();
    fetch_until_told(&program, &origin, path);
    assert!(origin.latest() > before);
    goes_on_and_comes_back(&bench, program, &origin, "read");
}

#[test]
fn a_disk_that_cannot_be_written() {
    let Some(bench) = Bench::new() else { return };
    let (origin, program) = (Versions::start(), bench.program());
    stores(&program, &origin, "before");
    bench.order("write", "");
    fetch_until_told(&program, &origin, |number| {
        format!("/{}/{number}", [1000, 60_000, 400_000][number % 3])
    });
    goes_on_and_comes_back(&bench, program, &origin, "write");
}

/// Where nothing is sure to reach the disk, nothing may be overwritten: the log comes to its end, and is left out.
#[test]
fn a_disk_that_cannot_be_synced() {
    let Some(bench) = Bench::new() else { return };
    let (origin, program) = (Versions::start(), bench.program());
    stores(&program, &origin, "before");
    bench.order("sync", "");
    fetch_until_told(&program, &origin, |number| {
        format!("/{}/{number}", [1000, 60_000, 400_000][number % 3])
    });
    goes_on_and_comes_back(&bench, program, &origin, "sync");
}

/// What is on disk is as old as the clock says: it is served while that makes it fresh, and again when the clock is right.
#[test]
fn a_clock_that_jumps() {
    let Some(bench) = Bench::new() else { return };
    let (origin, mut program) = (Versions::start(), bench.program());
    let paths: Vec<String> = (0..20).map(|number| format!("/2000/{number}")).collect();
    let age = |program: &Program, path: &str| {
        let answer = client(program).keep_no_bodies().get(&origin.url(path));
        origin.judge(path, &answer);
        answer.field("Age").and_then(|age| age.parse::<u64>().ok())
    };
    for path in &paths {
        origin.fetch(&mut client(&program).keep_no_bodies(), path);
    }
    let before = origin.latest();
    for (jump, served) in [(3600, true), (-3600, true), (TEN_YEARS, false), (0, false)] {
        bench.order("clock", &jump.to_string());
        std::thread::sleep(SETTLED); // the clock is looked at once a second
        let ages: Vec<Option<u64>> = paths.iter().map(|path| age(&program, path)).collect();
        if served {
            assert_eq!(origin.latest(), before, "{jump}");
            let most = jump.max(0).unsigned_abs() + 60;
            assert!(
                ages.iter().all(|age| age.is_some_and(|age| age < most)),
                "{ages:?}"
            );
        } else {
            assert!(origin.latest() > before, "{jump}: all is out of date");
        }
    }
    // What came while the clock was wrong doesn't stay for ever.
    let before = origin.latest();
    for path in &paths {
        age(&program, path);
    }
    assert_eq!(origin.latest(), before, "what is right again is stored");
    assert!(program.stop().success());
    let log = program.read("cache.log");
    assert!(!log.contains("panic"), "{log}");
}
