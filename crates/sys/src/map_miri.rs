//! On the heap: Miri knows no shared mappings. All else is then checked as it is.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4096;

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, PAGE_BYTES).expect("bounded by the caller")
}

pub(crate) fn anonymous(bytes: usize) -> io::Result<NonNull<c_void>> {
    // SAFETY: never of no size.
    let start = unsafe { alloc_zeroed(layout(bytes)) };
    NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

pub(crate) fn of_file(_: &File, _: u64, _: usize) -> io::Result<NonNull<c_void>> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn prefer_large_pages(_: NonNull<c_void>, _: usize) {}

pub(crate) fn forget(_: NonNull<c_void>, _: usize) {}

pub(crate) fn unmap(start: NonNull<c_void>, bytes: usize) {
    // SAFETY: allocated with this layout, and dropped once.
    unsafe { dealloc(start.as_ptr().cast(), layout(bytes)) };
}
