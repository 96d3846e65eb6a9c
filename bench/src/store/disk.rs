//! What lies on the disk, and what of it is still in memory.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rustix::fs::{Advice, fadvise, syncfs};

/// All files below `dir`.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut folders = vec![dir.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files
}

/// Bytes of disk that the files below `dir` take.
pub(crate) fn taken(dir: &Path) -> u64 {
    let blocks = files(dir)
        .into_iter()
        .filter_map(|file| Some(fs::metadata(file).ok()?.blocks()));
    blocks.sum::<u64>() * 512
}

/// Writes out all that waits for the disk.
pub(crate) fn settle(dir: &Path) -> Result<()> {
    Ok(syncfs(File::open(dir)?)?)
}

/// Has the kernel forget the content of the files below `dir`; not their names, and not what a process has mapped.
pub(crate) fn forget(dir: &Path) -> Result<()> {
    settle(dir)?;
    for file in files(dir) {
        fadvise(File::open(file)?, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_folders_count() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("folder")).unwrap();
        fs::write(dir.path().join("folder/one"), [7; 5000]).unwrap();
        fs::write(dir.path().join("two"), [7; 10]).unwrap();
        assert_eq!(files(dir.path()).len(), 2);
        forget(dir.path()).unwrap();
        assert_eq!(fs::read(dir.path().join("two")).unwrap(), [7; 10]);
        assert!(taken(dir.path()) >= 5010, "{}", taken(dir.path()));
    }
}
