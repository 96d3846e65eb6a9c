//! What the next life of the process must know of the bans of this one.
//!
//! What is removed by key is gone from disk at once, and tags have graves there. Other bans are carried out on disk as
//! responses are read, as long as the process remembers them. The next life knows only when the last of them was made: what
//! is older isn't trusted. A file beside each volume says so, in decimal.

use std::fs;
use std::path::{Path, PathBuf};

use crate::moment::Moment;

/// See the module.
#[derive(Debug)]
pub(super) struct History {
    files: Vec<PathBuf>,
    /// The last such ban of the lives before.
    before: Moment,
}

impl History {
    /// Reads what the files beside these volumes say.
    pub(super) fn new(volumes: &[PathBuf]) -> Self {
        let files: Vec<PathBuf> = volumes.iter().map(|path| beside(path)).collect();
        let before = files.iter().filter_map(|file| read(file)).max();
        Self {
            files,
            before: before.unwrap_or_default(),
        }
    }

    /// Goes on where others of the same life were.
    pub(super) fn of_the_same_life(mut self, others: Option<&Self>) -> Self {
        if let Some(others) = others {
            // What was written since is of this life, and is judged in memory.
            self.before = others.before;
        }
        self
    }

    /// May what was written then have been banned in a life before?
    pub(super) fn distrusts(&self, written: Moment) -> bool {
        written < self.before
    }

    /// A ban that leaves no other trace on disk. A file that can't be written is that of a volume that can't be either: it
    /// will say so.
    pub(super) fn note(&self, banned: Moment) {
        for file in &self.files {
            let new = file.with_extension("new");
            if fs::write(&new, format!("{}\n", banned.0)).is_ok() {
                let _said_by_the_volume = fs::rename(&new, file);
            }
        }
    }
}

fn read(file: &Path) -> Option<Moment> {
    let text = fs::read_to_string(file).ok()?;
    text.trim_end().parse().ok().map(Moment)
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
        let first = History::new(&volumes);
        let [old, banned, new] = [(); 3].map(|()| Moment::new());
        first.note(banned);
        assert!(!first.distrusts(old), "it is judged in memory");
        let reloaded = History::new(&volumes).of_the_same_life(Some(&first));
        assert!(!reloaded.distrusts(old));
        let second = History::new(&volumes);
        assert!(second.distrusts(old) && !second.distrusts(new));
    }

    #[test]
    fn a_file_that_makes_no_sense_is_as_none() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("squall.bans"), "x").unwrap();
        assert!(!History::new(&[dir.path().to_owned()]).distrusts(Moment::default()));
    }
}
