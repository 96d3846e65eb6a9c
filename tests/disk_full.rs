//! A disk that is full: at the start, under load, and no more. Replies are whole all the time, and what comes is stored
//! again soon after there is room.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use testkit::{Program, until_within};

use crate::disk::{cache, logged, open_to_all};
use crate::support::{client, forward};
use crate::versions::Versions;

/// So soon something is stored again.
const SOON: Duration = Duration::from_secs(30);
const DISK_MIB: usize = 24;

/// A small disk of its own.
#[derive(Debug)]
struct Disk(TempDir);

impl Disk {
    /// `None`, with the reason told, where none can be made.
    fn new() -> Option<Self> {
        let dir = cache();
        let options = format!("size={DISK_MIB}m,mode=777");
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]);
        match mount.arg(dir.path()).output() {
            Ok(output) if output.status.success() => Some(Self(dir)),
            other => {
                println!("skipped: only root can mount a small disk: {other:?}");
                None
            }
        }
    }

    fn spool(&self) -> std::path::PathBuf {
        self.0.path().join("spool")
    }

    /// Leaves no room.
    fn fill(&self) {
        let mut ballast = File::create(self.0.path().join("ballast")).unwrap();
        while ballast.write_all(&[1; 4096]).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.0.path().join("ballast")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(self.0.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

/// A program whose every hit is one of the disk.
fn with_spool(spool: &Path) -> Program {
    forward(&format!(
        "memory_cache_mode never\ncache_dir aufs {} 64 16 256\nworkers 1",
        spool.display()
    ))
}

/// Fetches what is new: small, middling and large responses; each comes whole.
fn fetch_some(program: &Program, origin: &Versions, name: &str) {
    let mut client = client(program).keep_no_bodies();
    for number in 0..40 {
        let bytes = [500, 20_000, 700_000, 2_000_000][number % 4];
        origin.fetch(&mut client, &format!("/{bytes}/{name}-{number}"));
    }
}

/// Waits until something that is new is stored.
fn stores_soon(program: &Program, origin: &Versions, name: &str) {
    let mut number = 0;
    let began = std::time::Instant::now();
    let stored = until_within(SOON, || {
        number += 1;
        std::thread::sleep(Duration::from_millis(100));
        let path = format!("/300000/{name}-{number}");
        let mut client = client(program).keep_no_bodies();
        origin.fetch(&mut client, &path);
        // It is in memory until it is written, or can't be.
        std::thread::sleep(Duration::from_millis(1500));
        origin.is_hit(&mut client, &path).then_some(())
    });
    assert!(stored.is_some(), "nothing is stored");
    println!("{name}: stores after {:?}", began.elapsed());
}

#[test]
fn full_at_the_start() {
    let Some(disk) = Disk::new() else { return };
    fs::create_dir(disk.spool()).unwrap();
    open_to_all(&disk.spool());
    disk.fill();
    let (origin, mut program) = (Versions::start(), with_spool(&disk.spool()));
    logged(&program, "going on without it", 1);
    fetch_some(&program, &origin, "full");
    disk.free();
    stores_soon(&program, &origin, "freed");
    assert!(program.stop().success());
}

/// Full when the log has hardly begun: what it has got is too little to go round in.
#[test]
fn full_from_the_beginning_on() {
    let Some(disk) = Disk::new() else { return };
    fs::create_dir(disk.spool()).unwrap();
    open_to_all(&disk.spool());
    let (origin, mut program) = (Versions::start(), with_spool(&disk.spool()));
    disk.fill();
    fetch_some(&program, &origin, "full");
    disk.free();
    stores_soon(&program, &origin, "freed");
    let log = program.read("cache.log");
    assert!(!log.contains("going on without it"), "{log}");
    assert!(program.stop().success());
}

/// Full under load: the cache is as large as the disk lets it be, and grows when there is room.
#[test]
fn full_under_load() {
    let Some(disk) = Disk::new() else { return };
    fs::create_dir(disk.spool()).unwrap();
    open_to_all(&disk.spool());
    let (origin, mut program) = (Versions::start(), with_spool(&disk.spool()));
    fs::write(disk.0.path().join("ballast"), vec![1; DISK_MIB << 19]).unwrap();
    for round in 0..3 {
        fetch_some(&program, &origin, &format!("round-{round}"));
    }
    stores_soon(&program, &origin, "in-half");
    // Of what it has, not how far it reaches: the file has holes.
    let taken = || {
        fs::metadata(disk.spool().join("squall.log"))
            .unwrap()
            .blocks()
            * 512
    };
    let half = taken();
    disk.free();
    let mut round = 0;
    let grown = until_within(SOON, || {
        round += 1;
        fetch_some(&program, &origin, &format!("freed-{round}"));
        (taken() > half + (1 << 20)).then_some(())
    });
    assert!(grown.is_some(), "the cache doesn't grow");
    stores_soon(&program, &origin, "in-whole");
    let log = program.read("cache.log");
    assert!(
        !log.contains("going on without it") && !log.contains("panic"),
        "{log}"
    );
    assert!(program.stop().success());
}
