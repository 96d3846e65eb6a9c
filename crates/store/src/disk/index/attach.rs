//! An index in shared memory: a file, as a rule in `/dev/shm`, that outlives the process and not the machine.
//!
//! It may be left in the middle of anything, as the process may be killed at any time: what a slot says is compared
//! with the record each time it is read, so a slot that is wrong costs one read. What is not in the index yet, because
//! it lay in memory only or was written after the last [`Index::set_lsn`], the caller finds in the log.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, fstat, open};
use rustix::process::geteuid;

use super::form::{Form, Shape};
use super::image::Passage;
use super::table::{Layout, Table, head};
use super::{Index, WAYS};
use crate::sync::of_index::Mutex;

/// "squall", and a number that changes with the meaning of any word.
pub(super) const MAGIC: u64 = u64::from_be_bytes(*b"squall\x00\x01");

/// Where the memory of an index comes from, and what is in it.
#[derive(Debug)]
pub enum Origin {
    /// As the last process left it.
    Attached,
    /// Empty, in shared memory.
    Fresh,
    /// Empty, of this process alone: no shared memory was asked for.
    Private,
    /// Empty, of this process alone: shared memory was asked for and can't be had. The caller says why in its log.
    Instead(io::Error),
}

impl Index {
    /// The index of a volume, in the file `shared` if that can be.
    ///
    /// # Errors
    /// Only if there isn't even memory of this process, as [`Index::new`].
    pub fn open(
        shared: Option<&Path>,
        volume: &[u8; 16],
        slots: usize,
        slots_max: usize,
    ) -> io::Result<(Self, Origin)> {
        let Some(path) = shared else {
            return Ok((Self::new(slots, slots_max)?, Origin::Private));
        };
        let form = Form::new(slots.div_ceil(WAYS));
        let last_step = form.last_step(slots_max.div_ceil(WAYS));
        match attach(path, volume, form, last_step) {
            Ok((table, origin)) => Ok((Self::of_table(table), origin)),
            Err(error) => Ok((Self::new(slots, slots_max)?, Origin::Instead(error))),
        }
    }

    pub(super) fn of_table(table: Table) -> Self {
        Self {
            form: table.form,
            table,
            writer: Mutex::new(()),
            passage: Passage::default(),
        }
    }

    /// Up to where the log is known to be in the index; 0 in an empty one.
    #[must_use]
    pub fn lsn(&self) -> u64 {
        self.table.head_word(head::LSN).load(Acquire)
    }

    /// What was last said to be the end of a life in which the log came to say all that the index does; 0 if none was.
    #[must_use]
    pub fn closed(&self) -> u64 {
        self.table.head_word(head::CLOSED).load(Acquire)
    }

    /// Says that the log says all that the index does.
    pub fn set_closed(&self, epoch: u64) {
        self.table.head_word(head::CLOSED).store(epoch, Release);
    }

    /// Says that the log is in the index up to there.
    pub fn set_lsn(&self, lsn: u64) {
        self.table.head_word(head::LSN).store(lsn, Release);
    }
}

fn attach(
    path: &Path,
    volume: &[u8; 16],
    form: Form,
    last_step: u32,
) -> io::Result<(Table, Origin)> {
    let file = open_alone(path)?;
    let layout = Layout::of(form.lines(last_step));
    if file.metadata()?.len() == layout.end {
        let table = Table::of_file(form, last_step, file.try_clone()?)?;
        if is_sound(&table, volume) {
            let shape = table.shape();
            let growing = shape.frontier < form.buckets(shape.step);
            table.reserve(shape.step + u32::from(growing))?;
            return Ok((table, Origin::Attached));
        }
    }
    // Of another volume, another size, or half made.
    file.set_len(0)?;
    file.set_len(layout.end)?;
    let table = Table::of_file(form, last_step, file.try_clone()?)?;
    if let Err(error) = table.reserve(0) {
        // What little it holds would be missed by others.
        file.set_len(0)?;
        return Err(error);
    }
    describe(&table, volume);
    Ok((table, Origin::Fresh))
}

/// Opens a file that is ours alone. The directory may be one where everybody writes, and the file that of another user
/// who shortens it one day, which would end this process.
fn open_alone(path: &Path) -> io::Result<File> {
    let file = open_ours(path, OFlags::CREATE)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// The same, whoever else of us has it open.
pub(super) fn open_ours(path: &Path, create: OFlags) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | create;
    let file = File::from(open(path, flags, Mode::RUSR | Mode::WUSR)?);
    let stat = fstat(&file)?;
    let others = Mode::RWXG | Mode::RWXO;
    let ours = FileType::from_raw_mode(stat.st_mode).is_file()
        && stat.st_uid == geteuid().as_raw()
        && !Mode::from_raw_mode(stat.st_mode).intersects(others);
    if !ours {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(file)
}

fn words_of(volume: &[u8; 16]) -> [u64; 2] {
    let number = u128::from_le_bytes(*volume);
    let [low, high] = [number, number >> 64].map(|half| half & u128::from(u64::MAX));
    [low, high].map(|half| u64::try_from(half).unwrap_or_default())
}

fn describe(table: &Table, volume: &[u8; 16]) {
    let [low, high] = words_of(volume);
    for (name, value) in [
        (head::SHAPE, Shape::at(table.form, 0).bits()),
        (head::VOLUME, low),
        (head::VOLUME + 1, high),
        (head::EIGHTH, u64::from(table.form.eighth())),
        (head::LAST_STEP, u64::from(table.last_step())),
    ] {
        table.head_word(name).store(value, Relaxed);
    }
    table.head_word(head::MAGIC).store(MAGIC, Release);
}

/// Whether it was made for this volume and form, and has a shape that can be.
fn is_sound(table: &Table, volume: &[u8; 16]) -> bool {
    let word = |name| table.head_word(name).load(Acquire);
    word(head::MAGIC) == MAGIC
        && [word(head::VOLUME), word(head::VOLUME + 1)] == words_of(volume)
        && word(head::EIGHTH) == u64::from(table.form.eighth())
        && word(head::LAST_STEP) == u64::from(table.last_step())
        && table.shape().is_sound(table.form, table.last_step())
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, metadata, set_permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::disk::index::{Place, SizeCode};

    const VOLUME: [u8; 16] = *b"0123456789abcdef";

    fn open(path: &Path, volume: &[u8; 16], slots_max: usize) -> (Index, Origin) {
        Index::open(Some(path), volume, 1_000, slots_max).unwrap()
    }

    fn hash(key: u32) -> u64 {
        u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn place(granule: u32) -> Place {
        let size = SizeCode::of_bytes(100);
        Place { granule, size }
    }

    /// An index with so many places, left behind without a word.
    fn left(path: &Path, keys: u32) {
        let (index, _) = open(path, &VOLUME, 100_000);
        for key in 0..keys {
            index.insert(hash(key), place(key));
            index.used(hash(key), place(key), 64);
        }
        index.set_lsn(77);
    }

    fn is_fresh(path: &Path, volume: &[u8; 16], slots_max: usize) {
        let (index, origin) = open(path, volume, slots_max);
        assert!(matches!(origin, Origin::Fresh), "{origin:?}");
        assert!(index.is_empty());
        assert_eq!(index.lsn(), 0);
        assert!(index.find(hash(1)).is_empty());
    }

    #[test]
    fn the_next_process_finds_what_was_left() {
        // After that many the index is in the middle of its growth, at some of them.
        for keys in [0, 10, 905, 920, 950, 5_000] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("index");
            left(&path, keys);
            let (index, origin) = open(&path, &VOLUME, 100_000);
            assert!(matches!(origin, Origin::Attached), "{origin:?}");
            assert_eq!((index.lsn(), index.len()), (77, keys as usize));
            for key in 0..keys {
                assert!(
                    index.find(hash(key)).contains(&place(key)),
                    "{key} of {keys}"
                );
                let uses = index.uses(hash(key), place(key)).unwrap();
                assert_eq!(uses.count(), 1);
            }
            for key in keys..keys + 3_000 {
                index.insert(hash(key), place(key));
            }
            assert!((0..keys + 3_000).all(|key| index.find(hash(key)).contains(&place(key))));
        }
    }

    #[test]
    fn what_is_another_s_is_not_attached() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        left(&path, 10);
        is_fresh(&path, b"another volume..", 100_000);
        left(&path, 10);
        is_fresh(&path, &VOLUME, 200_000);
    }

    #[test]
    fn a_head_that_can_not_be_is_not_attached() {
        let shapes = [
            Shape {
                step: 900,
                frontier: 1,
            },
            Shape {
                step: 1,
                frontier: 1_000,
            },
        ];
        let mut breaks = vec![(head::MAGIC, 0), (head::EIGHTH, 0), (head::LAST_STEP, 1)];
        breaks.extend(shapes.map(|shape| (head::SHAPE, shape.bits())));
        for (name, value) in breaks {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("index");
            let (index, _) = open(&path, &VOLUME, 100_000);
            index.insert(hash(1), place(1));
            index.table.head_word(name).store(value, Relaxed);
            drop(index);
            is_fresh(&path, &VOLUME, 100_000);
        }
    }

    /// Slots of chance, as memory or a bug may leave them: nothing panics, and it goes on working.
    #[test]
    fn any_slots_are_borne() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let (index, _) = open(&path, &VOLUME, 100_000);
        for line in 0..index.table.lines() {
            for (way, slot) in index.table.line(line).iter().enumerate() {
                slot.store(hash(u32::try_from(line * WAYS + way + 1).unwrap()), Relaxed);
            }
        }
        drop(index);
        let (index, origin) = open(&path, &VOLUME, 100_000);
        assert!(matches!(origin, Origin::Attached), "{origin:?}");
        for key in 0..5_000 {
            index.insert(hash(key), place(key));
            assert!(index.find(hash(key)).contains(&place(key)), "{key}");
        }
        index.for_each(|_, _| {});
        index.remove_all_in(0..u32::MAX);
        index.insert(hash(1), place(1));
        assert_eq!(index.find(hash(1)).as_slice(), [place(1)]);
    }

    #[test]
    fn two_do_not_share_it_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let first = open(&path, &VOLUME, 100_000);
        let (second, origin) = open(&path, &VOLUME, 100_000);
        assert!(matches!(origin, Origin::Instead(_)), "{origin:?}");
        second.insert(hash(1), place(1));
        assert!(first.0.is_empty());
        let link = folder.path().join("link");
        symlink(folder.path().join("elsewhere"), &link).unwrap();
        assert!(matches!(
            open(&link, &VOLUME, 100_000).1,
            Origin::Instead(_)
        ));
        assert!(!folder.path().join("elsewhere").exists());
        drop(first);
        set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(
            open(&path, &VOLUME, 100_000).1,
            Origin::Instead(_)
        ));
    }

    /// `mount -t tmpfs -o size=1m,mode=700 tmpfs DIR`, then `SQUALL_SMALL_DIR=DIR cargo test -p store full -- --ignored`.
    #[test]
    #[ignore = "needs a file system of 1 MiB"]
    fn in_a_full_file_system_it_stays_as_large_as_it_is() {
        let folder = std::env::var_os("SQUALL_SMALL_DIR").expect("see above");
        let path = Path::new(&folder).join("index");
        let (index, origin) = open(&path, &VOLUME, 10_000_000);
        assert!(matches!(origin, Origin::Fresh), "{origin:?}");
        for key in 0..200_000 {
            index.insert(hash(key), place(key));
            assert!(index.find(hash(key)).contains(&place(key)), "{key}");
        }
        assert!(index.is_confined());
        assert!(index.bytes() > 700_000 && index.bytes() < 1 << 20);
        assert_eq!(index.dropped() + index.len() as u64, 200_000);
        let too_large = Path::new(&folder).join("another");
        let (_, origin) = Index::open(Some(&too_large), &VOLUME, 200_000, 10_000_000).unwrap();
        assert!(matches!(origin, Origin::Instead(_)), "{origin:?}");
        assert_eq!(metadata(&too_large).unwrap().len(), 0);
    }
}
