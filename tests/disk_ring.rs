//! Hits that have to wait for the disk: read by the kernel while the worker goes on, or by threads (`disk_io_uring`).

use std::fs::File;

use rustix::fs::{Advice, fadvise};
use tempfile::TempDir;
use testkit::{Origin, Program, Reply, Request};

use crate::disk::{FOUND, cache, logged};
use crate::support::{client, forward};

const URLS: usize = 40;

/// A program that knows what lies in `dir`.
fn started(dir: &TempDir, conf: &str) -> Program {
    let path = dir.path().display();
    let program = forward(&format!(
        "cache_dir aufs {path} 64 16 256\nworkers 1\n{conf}"
    ));
    logged(&program, FOUND, 1);
    program
}

/// Has the kernel forget what it has of the cache, as far as it does.
fn forget(dir: &TempDir) {
    let log = File::open(dir.path().join("squall.log")).unwrap();
    log.sync_all().unwrap();
    fadvise(&log, 0, None, Advice::DontNeed).unwrap();
}

/// What `storedir` says of reads.
pub(crate) fn reads(program: &Program) -> String {
    let page = client(program).get("/squid-internal-mgr/storedir").text();
    let line = page
        .lines()
        .find(|line| line.starts_with("Reads from disk"));
    line.unwrap().to_owned()
}

/// Hits from a disk that has to be waited for are what was stored, whoever reads; who did is told.
#[test]
fn hits_are_the_same_whoever_reads() {
    let dir = cache();
    let origin = Origin::start(|request: &Request| {
        Reply::ok(request.target.repeat(300)).field("Cache-Control", "max-age=600")
    });
    let url = |number: usize| origin.url(&format!("/{number}"));
    let mut program = started(&dir, "");
    for number in 0..URLS {
        client(&program).get(&url(number));
    }
    assert!(program.stop().success());
    for conf in ["disk_io_uring on", "disk_io_uring off"] {
        forget(&dir);
        let mut program = started(&dir, conf);
        for number in 0..URLS {
            let text = client(&program).get(&url(number)).text();
            assert_eq!(text, format!("/{number}").repeat(300), "{conf}");
        }
        let told = reads(&program);
        let by_ring = conf.ends_with("on") && store::Ring::new().is_ok();
        let none = match by_ring {
            true => " 0 by threads",
            false => " 0 by io_uring (0 workers)",
        };
        assert!(told.ends_with(none) || told.contains(&none[1..]), "{told}");
        assert!(program.stop().success());
    }
    assert_eq!(origin.total(), URLS);
}
