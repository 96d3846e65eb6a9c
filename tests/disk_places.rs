//! A `cache_dir` that can't be used as it is, or is taken away: one line for each, and the proxy goes on with the others.
//! When it can be used, it is.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testkit::{Program, until_within};

use crate::disk::{FOUND, cache, logged, open_to_all};
use crate::disk_injuries::shared_index;
use crate::support::{client, forward};
use crate::versions::Versions;

use std::time::Duration;

/// Directories that failed are tried again by then.
const RETRIED: Duration = Duration::from_secs(20);

const WITHOUT: &str = "going on without it";

fn make(path: &Path) {
    fs::create_dir(path).unwrap();
    open_to_all(path);
}

fn forbid(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A program with these directories, whose every hit is one of the disk.
fn with_spools<'a>(spools: impl IntoIterator<Item = &'a Path>) -> Program {
    let lines = spools
        .into_iter()
        .map(|path| format!("cache_dir aufs {} 16 16 256\n", path.display()));
    forward(&format!(
        "memory_cache_mode never\nworkers 1\nstore_dir_select_algorithm round-robin\n{}",
        lines.collect::<String>()
    ))
}

/// What is new is stored, each time.
fn all_is_stored(program: &Program, origin: &Versions, name: &str) {
    let mut client = client(program).keep_no_bodies();
    for number in 0..20 {
        let path = format!("/1000/{name}-{number}");
        origin.fetch(&mut client, &path);
        assert!(origin.is_hit(&mut client, &path), "{path}");
    }
}

#[test]
fn places_that_cannot_be_used() {
    let (parent, origin) = (cache(), Versions::start());
    let at = |name: &str| parent.path().join(name);
    let [good, locked, missing, foreign, taken, empty, damaged, file] = [
        "good", "locked", "missing", "foreign", "taken", "empty", "damaged", "file",
    ]
    .map(at);
    for path in [&good, &locked, &foreign, &taken, &empty, &damaged] {
        make(path);
    }
    forbid(&locked, 0o555);
    forbid(&foreign, 0o000);
    fs::create_dir(taken.join("squall.log")).unwrap();
    // What was left by who could make it and not fill it.
    for (path, content) in [(&empty, &b""[..]), (&damaged, &[7; 100_000])] {
        fs::write(path.join("squall.log"), content).unwrap();
        forbid(&path.join("squall.log"), 0o666);
    }
    fs::write(&file, "somebody's own").unwrap();
    forbid(&file, 0o666);
    let all = [
        &good, &locked, &missing, &foreign, &taken, &empty, &damaged, &file,
    ];
    let mut program = with_spools(all.map(|path| path.as_path()));
    all_is_stored(&program, &origin, "before");
    let log = program.read("cache.log");
    for path in [&locked, &missing, &foreign, &taken, &file] {
        let told = format!("cache_dir {}", path.display());
        let lines = log.lines().filter(|line| line.contains(&told));
        assert_eq!(
            lines.filter(|line| line.contains(WITHOUT)).count(),
            1,
            "{log}"
        );
    }
    assert_eq!(log.matches(WITHOUT).count(), 5, "{log}");

    forbid(&locked, 0o777);
    forbid(&foreign, 0o777);
    make(&missing);
    fs::remove_dir(taken.join("squall.log")).unwrap();
    let back = until_within(RETRIED, || {
        let log = program.read("cache.log");
        (log.matches("back in service").count() == 4).then_some(())
    });
    assert!(back.is_some(), "{}", program.read("cache.log"));
    all_is_stored(&program, &origin, "after");
    assert!(program.stop().success());
    let log = program.read("cache.log");
    assert_eq!(log.matches(WITHOUT).count(), 5, "{log}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "somebody's own");
    for path in [&good, &locked, &missing, &foreign, &taken, &empty, &damaged] {
        let log = fs::metadata(path.join("squall.log")).unwrap();
        assert!(log.len() > 64 << 10, "{} was used", path.display());
    }
}

/// A directory that is removed while the program uses it.
#[test]
fn a_place_that_vanishes() {
    let (parent, origin) = (cache(), Versions::start());
    let [stays, goes] = ["stays", "goes"].map(|name| parent.path().join(name));
    make(&stays);
    make(&goes);
    let mut program = with_spools([stays.as_path(), goes.as_path()]);
    all_is_stored(&program, &origin, "before");
    let mut client = client(&program).keep_no_bodies();
    fs::remove_dir_all(&goes).unwrap();
    logged(&program, WITHOUT, 1);
    let mut lost = 0;
    for number in 0..20 {
        let hit = origin.is_hit(&mut client, &format!("/1000/before-{number}"));
        lost += usize::from(!hit);
    }
    assert_eq!(lost, 10, "those of one of two");
    all_is_stored(&program, &origin, "without");
    make(&goes);
    let back = until_within(RETRIED, || {
        let log = program.read("cache.log");
        log.contains("back in service").then_some(())
    });
    assert!(back.is_some(), "{}", program.read("cache.log"));
    all_is_stored(&program, &origin, "after");
    assert!(goes.join("squall.log").is_file());
    assert!(program.stop().success());
    assert_eq!(program.read("cache.log").matches(WITHOUT).count(), 1);
}

/// What a directory that was deleted has left in shared memory goes with the next start; that of others stays.
#[test]
fn what_is_left_of_deleted_directories() {
    let parent = cache();
    let [stays, goes] = ["stays", "goes"].map(|name| parent.path().join(name));
    make(&stays);
    make(&goes);
    let mut program = with_spools([stays.as_path(), goes.as_path()]);
    logged(&program, FOUND, 2);
    assert!(program.stop().success());
    let [kept, stale] = [&stays, &goes].map(|path| shared_index(&path.join("squall.log")).unwrap());
    if !stale.is_file() {
        return; // there is no shared memory here
    }
    fs::remove_dir_all(&goes).unwrap();
    let program = with_spools([stays.as_path()]);
    logged(&program, FOUND, 1);
    assert!(kept.is_file() && !stale.exists());
}
