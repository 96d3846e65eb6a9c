//! Files of a cache that somebody damaged between two lives of the program: bits that flipped, ranges that are zero or
//! noise, tails that were torn off. It starts, serves, and whatever it serves is what the origin gave.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use tempfile::TempDir;
use testkit::Program;

use crate::disk::{cache, open_to_all};
use crate::support::{client, forward};
use crate::versions::{Versions, ask};

const URLS: u64 = 300;
const ROUNDS: u64 = 20;
const INJURIES_PER_ROUND: u64 = 10;

/// Numbers by chance, always the same.
#[derive(Debug)]
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 += 1;
        testkit::hash(&self.0.to_le_bytes()) % end.max(1)
    }
}

/// Where the volume's index outlives the process, by what the log's superblock says.
pub(crate) fn shared_index(log: &Path) -> Option<PathBuf> {
    let mut uuid = [0; 16];
    fs::File::open(log)
        .ok()?
        .read_exact_at(&mut uuid, 24)
        .ok()?;
    let number = u128::from_be_bytes(uuid);
    Some(PathBuf::from(format!("/dev/shm/squall-{number:032x}")))
}

fn files(dir: &TempDir) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let log = dir.path().join("squall.log");
    files.extend(shared_index(&log).filter(|path| path.is_file()));
    // What most of the bytes are in gets most of the injuries.
    files.extend([log.clone(), log.clone(), log]);
    files.retain(|path| path.is_file());
    files
}

fn injure(path: &Path, chance: &mut Chance) {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let end = file.metadata().unwrap().len();
    // One in eight begins at the beginning, where what matters most lies.
    let beginning = chance.below(8) == 0;
    let at = chance.below(if beginning { 100_000 } else { end });
    let mut bytes = vec![0; chance.below(5000) as usize + 1];
    let read = file.read_at(&mut bytes, at).unwrap();
    bytes.truncate(read);
    match chance.below(8) {
        0..4 => bytes
            .iter_mut()
            .take(1)
            .for_each(|byte| *byte ^= 1 << chance.below(8)),
        4 => bytes.fill(0),
        5 => bytes.fill_with(|| chance.below(256) as u8),
        // A tail is torn off.
        6 => return file.set_len(end - chance.below(end / 16)).unwrap(),
        _ => return file.set_len(chance.below(end)).unwrap(),
    }
    file.write_all_at(&bytes, at).unwrap();
}

fn path(number: u64) -> String {
    let bytes = if number.is_multiple_of(40) {
        300_000
    } else {
        number * 50
    };
    format!("/{bytes}/{number}")
}

/// Fetches everything; tells how much of it was a hit. What is large may be cut where it is damaged, but not again.
fn fetch_all(program: &Program, origin: &Versions) -> usize {
    let mut hits = 0;
    for number in 0..URLS {
        let (path, before) = (path(number), origin.latest());
        let mut again = client(program).keep_no_bodies();
        let first = ask(&mut again, "GET", &origin.url(&path), &[]);
        let version = match first {
            Ok(answer) => origin.judge(&path, &answer),
            Err(_) if number.is_multiple_of(40) => {
                origin.fetch(&mut client(program).keep_no_bodies(), &path)
            }
            Err(failed) => panic!("{path}: {failed:?}"),
        };
        hits += usize::from(version <= before);
    }
    hits
}

#[test]
fn injured_files_never_give_a_wrong_byte() {
    let rounds = std::env::var("SQUALL_FAULTS").ok();
    let rounds = rounds.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let (dir, origin, mut chance) = (cache(), Versions::start(), Chance(0));
    let log = dir.path().join("squall.log");
    let conf = format!(
        "cache_dir aufs {} 32 16 256\nworkers 1",
        dir.path().display()
    );
    let mut hits = Vec::new();
    for round in 0..rounds {
        let mut program = forward(&conf);
        hits.push(fetch_all(&program, &origin));
        assert!(program.try_wait().is_none());
        let told = program.read("cache.log");
        assert!(!told.contains("panic"), "{told}");
        match round % 3 {
            0 => program.signal(Signal::KILL),
            _ => program.signal(Signal::TERM),
        }
        program.wait();
        let files = files(&dir);
        for _ in 0..INJURIES_PER_ROUND {
            let file = &files[chance.below(files.len() as u64) as usize];
            injure(file, &mut chance);
        }
        open_to_all(dir.path());
    }
    println!("hits of {URLS}: {hits:?}");
    assert!(hits.iter().sum::<usize>() > 0);
    drop(shared_index(&log).map(fs::remove_file));
}
