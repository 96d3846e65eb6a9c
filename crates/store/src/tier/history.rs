//! Numbers of bans that outlive the process. In memory they count from 1 in each life of it; on disk each life has a range
//! of its own, above those of all lives before.
//!
//! What a ban by key removes is gone from disk at once. Other bans are carried out on disk as responses are read, as long
//! as the process remembers them. The next life knows only when the last of them was made: what is older isn't trusted.
//!
//! A file beside each volume holds it: the beginning of the life's range, and the last such ban, in decimal.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Numbers between the beginnings of two lives, at least.
const LIFE: u64 = 1 << 32;
/// Numbers that belong to a second, so that lives begin above each other even where a file was lost.
const PER_SECOND_LOG2: u32 = 24;

/// See the module.
#[derive(Debug)]
pub(super) struct History {
    files: Vec<PathBuf>,
    base: u64,
    /// The last ban of lives before that wasn't by key.
    before: u64,
    /// The same, of this life too.
    last: AtomicU64,
}

impl History {
    /// Reads what the files beside these volumes say, and begins a life, or goes on with that of `so_far`.
    pub(super) fn new(volumes: &[PathBuf], now_secs: u64, so_far: Option<&Self>) -> Self {
        let files: Vec<PathBuf> = volumes.iter().map(|path| beside(path)).collect();
        let (mut base, mut before) = (0, 0);
        for (begun, last) in files.iter().filter_map(|file| read(file)) {
            base = base.max(begun.saturating_add(LIFE));
            before = before.max(last);
        }
        let history = match so_far {
            Some(so_far) => Self {
                files,
                base: so_far.base,
                before: before.max(so_far.before),
                last: AtomicU64::new(so_far.last.load(Relaxed).max(before)),
            },
            None => Self {
                files,
                base: base.max(now_secs << PER_SECOND_LOG2),
                before,
                last: AtomicU64::new(before),
            },
        };
        history.write();
        history
    }

    /// The number for the disk.
    pub(super) fn absolute(&self, judged: u64) -> u64 {
        self.base.saturating_add(judged)
    }

    /// The number of this life; `None`: it isn't to be trusted.
    pub(super) fn of_this_life(&self, absolute: u64) -> Option<u64> {
        (absolute >= self.before).then(|| absolute.saturating_sub(self.base))
    }

    /// A ban that isn't by key.
    pub(super) fn note(&self, number: u64) {
        self.last.fetch_max(self.absolute(number), Relaxed);
        self.write();
    }

    /// A file that can't be written is that of a volume that can't be either: it will say so.
    fn write(&self) {
        let text = format!("{} {}\n", self.base, self.last.load(Relaxed));
        for file in &self.files {
            let new = file.with_extension("new");
            if fs::write(&new, &text).is_ok() {
                let _said_by_the_volume = fs::rename(&new, file);
            }
        }
    }
}

fn read(file: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(file).ok()?;
    let (base, last) = text.trim_end().split_once(' ')?;
    Some((base.parse().ok()?, last.parse().ok()?))
}

/// In the directory; beside a file.
fn beside(volume: &Path) -> PathBuf {
    if volume.is_dir() {
        return volume.join("squall.bans");
    }
    let mut name = volume.as_os_str().to_owned();
    name.push(".bans");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_the_last_ban_of_another_life_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let volumes = [dir.path().to_owned()];
        let first = History::new(&volumes, 1000, None);
        let (old, new) = (first.absolute(3), first.absolute(5));
        assert_eq!(first.of_this_life(old), Some(3));
        first.note(4);
        assert_eq!(first.of_this_life(old), Some(3), "it is judged in memory");
        // The clock may go back.
        let second = History::new(&volumes, 10, None);
        assert_eq!(second.of_this_life(old), None);
        assert_eq!(second.of_this_life(new), Some(0));
        assert!(second.absolute(0) > new);
        let third = History::new(&volumes, 2000, Some(&second));
        assert_eq!(third.absolute(1), second.absolute(1));
    }

    #[test]
    fn a_file_that_makes_no_sense_is_as_none() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("squall.bans"), "x").unwrap();
        let history = History::new(&[dir.path().to_owned()], 1, None);
        assert_eq!(history.of_this_life(0), Some(0));
    }
}
