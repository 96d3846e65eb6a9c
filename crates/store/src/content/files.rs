//! Where large bodies lie in files of memory, so that the kernel can send them without a copy.
//!
//! A body has a file of its own, which is never linked anywhere. What the kernel sends from a file is not copied: the
//! pages themselves lie in the socket's queue, possibly long after the last of our references to them. So a byte that
//! was shown to a reader is never written again, and a file is given back as a whole, by closing it: its pages then
//! live on in the queues alone. (Punching holes instead would zero parts of large pages in place, under the readers.)
//!
//! It pays with large pages only. 10 MB to a socket on loopback took 1000 µs of processor time from pages of 64 KiB and
//! more, 1750 from pages of 4 KiB, and as much by copying from the heap. 100 KB took the same from all of them.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, openat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};

/// What the kernel does about large pages in anonymous files of memory.
const LARGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
/// The file system has no limit of its own: the store counts the bytes.
const UNLIMITED: &str = "0";
/// Slices that one call writes.
const WRITE_SLICES_MAX: usize = 64;

/// Makes files of memory. Cheap to clone; clones count their files together.
#[derive(Clone, Debug)]
pub struct Files(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    source: Source,
    open: AtomicUsize,
}

#[derive(Debug)]
enum Source {
    /// A file system in memory that is mounted nowhere.
    Detached(OwnedFd),
    Anonymous,
}

impl Files {
    /// Files in large pages; `None` where the kernel doesn't give them to us. With root's rights it nearly always
    /// does, and what was made with them serves on without them.
    #[must_use]
    pub fn in_large_pages() -> Option<Self> {
        let of_root = detached(UNLIMITED).ok().map(Source::Detached);
        let source = of_root.or_else(|| anonymous_are_large().then_some(Source::Anonymous))?;
        let files = Self::from(source);
        // A sandbox may allow the mount and forbid the file.
        let usable = files.open(usize::MAX).is_some();
        usable.then_some(files)
    }

    /// Files in pages of whatever size the kernel uses.
    #[must_use]
    pub fn in_any_pages() -> Self {
        Self::from(Source::Anonymous)
    }

    /// Files for so many bytes in all; `None` without root's rights.
    #[cfg(test)]
    pub(crate) fn of_size(bytes: u64) -> Option<Self> {
        let root = detached(&bytes.to_string()).ok()?;
        Some(Self::from(Source::Detached(root)))
    }

    /// A new file, if there are fewer than `files_max` and the kernel has one.
    pub(crate) fn open(&self, files_max: usize) -> Option<Arc<BodyFile>> {
        let shared = &self.0;
        let counted = Counted::new(shared, files_max)?;
        let fd = match &shared.source {
            Source::Detached(root) => {
                let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
                openat(root, ".", flags, Mode::RUSR | Mode::WUSR)
            }
            Source::Anonymous => memfd_create("squall-body", MemfdFlags::CLOEXEC),
        };
        let file = File::from(fd.ok()?);
        Some(Arc::new(BodyFile {
            file,
            _counted: counted,
        }))
    }
}

impl From<Source> for Files {
    fn from(source: Source) -> Self {
        Self(Arc::new(Shared {
            source,
            open: AtomicUsize::new(0),
        }))
    }
}

fn detached(size: &str) -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "huge", "within_size")?;
    fsconfig_set_string(&context, "size", size)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOEXEC
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

fn anonymous_are_large() -> bool {
    let setting = std::fs::read_to_string(LARGE_PAGES).unwrap_or_default();
    ["[always]", "[within_size]", "[force]"]
        .iter()
        .any(|large| setting.contains(large))
}

/// One more file, until it is dropped.
#[derive(Debug)]
struct Counted(Arc<Shared>);

impl Counted {
    fn new(shared: &Arc<Shared>, files_max: usize) -> Option<Self> {
        let open = shared.open.fetch_add(1, Relaxed);
        let counted = Self(Arc::clone(shared));
        (open < files_max).then_some(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
    }
}

/// The file of one body; a byte of the body lies at its own offset.
#[derive(Debug)]
pub(crate) struct BodyFile {
    file: File,
    _counted: Counted,
}

impl BodyFile {
    /// Says how much is to come, which lets the kernel take pages that large.
    pub(super) fn expect(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    /// Writes all of `parts`, from `at` on; returns how many bytes they are. In one call, so that the kernel sees how
    /// large a page may be.
    pub(super) fn write(&self, parts: &[Bytes], at: u64) -> io::Result<u64> {
        let mut at = at;
        let mut total = 0;
        for group in parts.chunks(WRITE_SLICES_MAX) {
            let mut slices: Vec<IoSlice<'_>> =
                group.iter().map(|part| IoSlice::new(part)).collect();
            let mut left = slices.as_mut_slice();
            IoSlice::advance_slices(&mut left, 0);
            while !left.is_empty() {
                let written = rustix::io::pwritev(&self.file, left, at)?;
                if written == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                at += written as u64;
                total += written as u64;
                IoSlice::advance_slices(&mut left, written);
            }
        }
        Ok(total)
    }
}

/// A part of a body that lies in a file; the file lives as long as any part of it.
#[derive(Clone, Debug)]
pub struct FileSlice {
    file: Arc<BodyFile>,
    offset: u64,
    bytes: u64,
}

impl FileSlice {
    pub(super) fn new(file: &Arc<BodyFile>, offset: u64, bytes: u64) -> Self {
        Self {
            file: Arc::clone(file),
            offset,
            bytes,
        }
    }

    /// Offset of its first byte in the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Its bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing is left of it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Leaves out its first `bytes`.
    pub fn advance(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.offset += bytes;
        self.bytes -= bytes;
    }

    /// Copies its first bytes into `buf`, as many as fit; returns how many those are.
    ///
    /// # Errors
    /// Where the kernel can't bring a page back from swap.
    pub fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        let bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        let count = bytes.min(buf.len());
        let buf = buf.get_mut(..count).unwrap_or_default();
        self.file.file.read_exact_at(buf, self.offset)?;
        Ok(count)
    }

    /// Takes `later` in, if that goes on where this ends.
    pub(super) fn join(&mut self, later: &Self) -> bool {
        let follows =
            Arc::ptr_eq(&self.file, &later.file) && self.offset + self.bytes == later.offset;
        if follows {
            self.bytes += later.bytes;
        }
        follows
    }

    pub(super) fn part(&self, from: u64, to: u64) -> Self {
        Self::new(&self.file, self.offset + from, to - from)
    }
}

impl AsFd for FileSlice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.file.as_fd()
    }
}
