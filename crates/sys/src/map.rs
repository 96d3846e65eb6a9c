//! Memory from the kernel, by mmap(2).

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

fn mapped(start: *mut c_void) -> io::Result<NonNull<c_void>> {
    NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

pub(crate) fn anonymous(bytes: usize) -> io::Result<NonNull<c_void>> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping at a place of the kernel's choice touches no memory that there is.
    mapped(unsafe { mmap_anonymous(null_mut(), bytes, READ_WRITE, flags) }?)
}

pub(crate) fn of_file(file: &File, offset: u64, bytes: usize) -> io::Result<NonNull<c_void>> {
    // SAFETY: as above. Others may write to the same file: all words are atomic.
    mapped(unsafe {
        mmap(
            null_mut(),
            bytes,
            READ_WRITE,
            MapFlags::SHARED,
            file,
            offset,
        )
    }?)
}

pub(crate) fn prefer_large_pages(start: NonNull<c_void>, bytes: usize) {
    // SAFETY: this advice changes the size of pages, not what they hold.
    let _advised = unsafe { madvise(start.as_ptr(), bytes, Advice::LinuxHugepage) };
    // Kernels without large pages refuse it, and nothing is lost.
}

/// Gives back the pages; they are zeros when they are touched again.
pub(crate) fn forget(start: NonNull<c_void>, bytes: usize) {
    // SAFETY: the caller owns this part of a private mapping, and nothing refers to it any more.
    let _forgotten = unsafe { madvise(start.as_ptr(), bytes, Advice::LinuxDontNeed) };
    // If not, they stay as they are, which nobody minds.
}

pub(crate) fn unmap(start: NonNull<c_void>, bytes: usize) {
    // SAFETY: the mapping was made with these bounds, and its only owner is being dropped.
    let unmapped = unsafe { munmap(start.as_ptr(), bytes) };
    debug_assert!(unmapped.is_ok(), "a mapping of ours can be unmapped");
}
