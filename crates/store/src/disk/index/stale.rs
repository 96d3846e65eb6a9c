//! Which volume an index in shared memory belongs to, so that those of deleted directories can be told: its head says where
//! the log lies.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::OFlags;

use super::Index;
use super::attach::{MAGIC, open_ours};
use super::table::{HEAD_WORDS, head};

const WORD: usize = size_of::<u64>();
/// A longer path isn't noted.
const PATH_BYTES_MAX: usize = (HEAD_WORDS - head::PATH) * WORD;

/// Whose an index is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Of the volume.
    pub(crate) uuid: [u8; 16],
    pub(crate) log: PathBuf,
}

impl Index {
    /// Notes where the log of its volume lies, for [`owner_of`].
    pub(crate) fn note_log(&self, log: &Path) {
        let bytes = log.as_os_str().as_bytes();
        if !log.is_absolute() || bytes.len() > PATH_BYTES_MAX {
            return;
        }
        for (at, part) in (head::PATH..).zip(bytes.chunks(WORD)) {
            let mut word = [0; WORD];
            for (to, from) in word.iter_mut().zip(part) {
                *to = *from;
            }
            let word = u64::from_ne_bytes(word);
            self.table.head_word(at).store(word, Relaxed);
        }
        let count = self.table.head_word(head::PATH_BYTES);
        count.store(bytes.len() as u64, Relaxed);
    }
}

/// Whose the index in this file is; `None` if it is none, or doesn't say.
///
/// # Errors
/// If it isn't ours, or can't be read.
pub(crate) fn owner_of(path: &Path) -> io::Result<Option<Owner>> {
    let file = open_ours(path, OFlags::empty())?;
    let mut bytes = [0; HEAD_WORDS * WORD];
    file.read_exact_at(&mut bytes, 0)?;
    let word = |name: usize| {
        let part = bytes.get(name * WORD..)?.first_chunk()?;
        Some(u64::from_ne_bytes(*part))
    };
    if word(head::MAGIC) != Some(MAGIC) {
        return Ok(None);
    }
    let owner = || {
        let from = head::PATH * WORD;
        let count = usize::try_from(word(head::PATH_BYTES)?).ok()?;
        let log = bytes.get(from..from.checked_add(count)?)?;
        let volume = [word(head::VOLUME)?, word(head::VOLUME + 1)?];
        let [low, high] = volume.map(u128::from);
        (count > 0).then(|| Owner {
            uuid: (low | high << 64).to_le_bytes(),
            log: OsStr::from_bytes(log).into(),
        })
    };
    Ok(owner())
}

#[cfg(test)]
mod tests {
    use super::{Index, Owner, Path, owner_of};

    const VOLUME: [u8; 16] = *b"0123456789abcdef";

    #[test]
    fn an_index_tells_whose_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let open = || Index::open(Some(&path), &VOLUME, 1_000, 2_000).unwrap().0;
        drop(open());
        assert_eq!(owner_of(&path).unwrap(), None, "it doesn't say");
        let log = Path::new("/var/cache/some where/squall.log");
        open().note_log(log);
        let owner = Owner {
            uuid: VOLUME,
            log: log.into(),
        };
        assert_eq!(owner_of(&path).unwrap(), Some(owner));
        std::fs::write(&path, [0; 5000]).unwrap();
        assert_eq!(owner_of(&path).unwrap(), None);
        std::fs::write(&path, "short").unwrap();
        assert!(owner_of(&path).is_err());
    }
}
