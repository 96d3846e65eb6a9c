//! Indexes in shared memory whose volumes are gone: of directories that were deleted, or got a new volume.

use std::io;
use std::path::Path;

use super::device::Device;
use super::format::Superblock;
use super::index::{Owner, owner_of};
use super::options::INDEX_PREFIX;

/// Removes those in `memory` whose volume isn't where it was any more; says how many. What isn't ours, or doesn't say whose
/// it is, stays. So does that of a volume that can't be looked at; of one whose disk is only not mounted, the index is made
/// anew when it is.
#[must_use]
pub fn sweep(memory: &Path) -> usize {
    let files = std::fs::read_dir(memory).into_iter().flatten().flatten();
    let ours = files.filter(|file| file.file_name().to_string_lossy().starts_with(INDEX_PREFIX));
    let stale = ours.filter(|file| {
        let owner = owner_of(&file.path()).ok().flatten();
        owner.is_some_and(|owner| is_gone(&owner))
    });
    stale
        .filter(|file| std::fs::remove_file(file.path()).is_ok())
        .count()
}

fn is_gone(owner: &Owner) -> bool {
    let device = match Device::open_to_look(&owner.log) {
        Ok(device) => device,
        Err(error) => return error.kind() == io::ErrorKind::NotFound,
    };
    matches!(Superblock::read(&device), Ok(Some(volume)) if volume.uuid != owner.uuid)
}
