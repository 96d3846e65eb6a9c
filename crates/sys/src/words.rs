//! Atomic words in mapped memory: zero at first, given pages as they are touched.
//!
//! All access is by atomic operations through shared references, and every pattern of bits is a value of a word. So
//! what another process, or a former one, has written there is data like any other.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A word that can be mapped.
///
/// # Safety
/// Without padding; all patterns of bits are values of it, and all zeros is one; at most as aligned as a page.
pub unsafe trait Word: Sync {}

// SAFETY: an integer.
unsafe impl Word for AtomicU32 {}
// SAFETY: an integer.
unsafe impl Word for AtomicU64 {}

/// A slice of words that are mapped as long as this lives.
#[derive(Debug)]
pub struct Words<W: Word> {
    start: NonNull<W>,
    len: usize,
}

// SAFETY: it owns its mapping, which belongs to no thread.
unsafe impl<W: Word> Send for Words<W> {}
// SAFETY: a shared reference gives shared references to words that are `Sync`, nothing else.
unsafe impl<W: Word> Sync for Words<W> {}

impl<W: Word> Words<W> {
    /// Words of this process alone, all zero. Those that are never touched take no memory.
    ///
    /// # Errors
    /// Those of mmap(2); and if `len` is zero or too large for any memory.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        let start = map::anonymous(bytes_of::<W>(len)?)?;
        Ok(Self {
            start: start.cast(),
            len,
        })
    }

    /// Words of `file`, from `offset` on, shared with all who map them.
    ///
    /// The file must keep its length as long as this lives, and have its blocks: the access of words beyond its end,
    /// or of such that its file system finds no room for, ends the process (SIGBUS). So the caller allocates what it
    /// uses, and locks the file against those who would shorten it.
    ///
    /// # Errors
    /// Those of mmap(2); and if the file ends before the words do, or `offset` isn't at a page.
    pub fn of_file(file: &File, offset: u64, len: usize) -> io::Result<Self> {
        let bytes = bytes_of::<W>(len)?;
        let end = offset.checked_add(bytes as u64);
        let length = file.metadata()?.len();
        if end.is_none_or(|end| end > length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let start = map::of_file(file, offset, bytes)?;
        Ok(Self {
            start: start.cast(),
            len,
        })
    }

    /// Asks for large pages, which spare lookups of page tables in random access. A hint, no more.
    pub fn prefer_large_pages(&self) {
        map::prefer_large_pages(self.start.cast(), self.len * size_of::<W>());
    }
}

/// Bytes of so many words: never none, never more than a slice may have.
fn bytes_of<W>(len: usize) -> io::Result<usize> {
    len.checked_mul(size_of::<W>())
        .filter(|bytes| (1..=isize::MAX.unsigned_abs()).contains(bytes))
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

impl<W: Word> Deref for Words<W> {
    type Target = [W];

    #[inline]
    fn deref(&self) -> &[W] {
        // SAFETY: `len` words are mapped from `start` on until the drop of `self`, at an address of a page, which is
        // aligned for them. They are initialised whatever they hold (see `Word`), and only ever changed as atomics.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<W: Word> Drop for Words<W> {
    fn drop(&mut self) {
        map::unmap(self.start.cast(), self.len * size_of::<W>());
    }
}

#[cfg(not(miri))]
mod map {
    //! By mmap(2).

    use std::ffi::c_void;
    use std::fs::File;
    use std::io;
    use std::ptr::{NonNull, null_mut};

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

    const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

    fn mapped(start: *mut c_void) -> io::Result<NonNull<c_void>> {
        NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    pub(super) fn anonymous(bytes: usize) -> io::Result<NonNull<c_void>> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at a place of the kernel's choice touches no memory that there is.
        mapped(unsafe { mmap_anonymous(null_mut(), bytes, READ_WRITE, flags) }?)
    }

    pub(super) fn of_file(file: &File, offset: u64, bytes: usize) -> io::Result<NonNull<c_void>> {
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

    pub(super) fn prefer_large_pages(start: NonNull<c_void>, bytes: usize) {
        // SAFETY: this advice changes the size of pages, not what they hold.
        let _advised = unsafe { madvise(start.as_ptr(), bytes, Advice::LinuxHugepage) };
        // Kernels without large pages refuse it, and nothing is lost.
    }

    pub(super) fn unmap(start: NonNull<c_void>, bytes: usize) {
        // SAFETY: the mapping was made with these bounds, and its only owner is being dropped.
        let unmapped = unsafe { munmap(start.as_ptr(), bytes) };
        debug_assert!(unmapped.is_ok(), "a mapping of ours can be unmapped");
    }
}

#[cfg(miri)]
mod map {
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

    pub(super) fn anonymous(bytes: usize) -> io::Result<NonNull<c_void>> {
        // SAFETY: never of no size.
        let start = unsafe { alloc_zeroed(layout(bytes)) };
        NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    pub(super) fn of_file(_: &File, _: u64, _: usize) -> io::Result<NonNull<c_void>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn prefer_large_pages(_: NonNull<c_void>, _: usize) {}

    pub(super) fn unmap(start: NonNull<c_void>, bytes: usize) {
        // SAFETY: allocated with this layout, and dropped once.
        unsafe { dealloc(start.as_ptr().cast(), layout(bytes)) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
    use std::thread;

    use super::*;

    #[test]
    fn words_begin_as_zeros_and_keep_what_is_stored() {
        let words = Words::<AtomicU64>::anonymous(10_000).unwrap();
        assert_eq!(words.len(), 10_000);
        assert!(words.iter().all(|word| word.load(Relaxed) == 0));
        words[9_999].store(7, Relaxed);
        assert_eq!(words[9_999].load(Relaxed), 7);
        words.prefer_large_pages();
        assert_eq!(words[9_999].load(Relaxed), 7);
    }

    #[test]
    fn threads_see_what_others_publish() {
        let words = Words::<AtomicU32>::anonymous(2).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                words[0].store(42, Relaxed);
                words[1].store(1, Release);
            });
            while words[1].load(Acquire) == 0 {
                thread::yield_now();
            }
            assert_eq!(words[0].load(Relaxed), 42);
        });
    }

    #[test]
    fn no_words_and_more_words_than_memory_are_refused() {
        for len in [0, usize::MAX, isize::MAX as usize / 4] {
            assert!(Words::<AtomicU64>::anonymous(len).is_err(), "{len}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no shared mappings")]
    fn words_of_a_file_outlive_their_mapping() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let words = Words::<AtomicU64>::of_file(&file, 4096, 512).unwrap();
        words[511].store(u64::MAX, Relaxed);
        let again = Words::<AtomicU32>::of_file(&file, 4096, 1024).unwrap();
        assert_eq!(again[1023].load(Relaxed), u32::MAX);
        drop((words, again));
        let again = Words::<AtomicU64>::of_file(&file, 0, 1024).unwrap();
        assert_eq!(again[1023].load(Relaxed), u64::MAX);
        assert_eq!(again[0].load(Relaxed), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no shared mappings")]
    fn a_file_that_is_too_short_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        assert!(Words::<AtomicU64>::of_file(&file, 0, 513).is_err());
        assert!(Words::<AtomicU64>::of_file(&file, 4096, 1).is_err());
        assert!(Words::<AtomicU64>::of_file(&file, u64::MAX, 1).is_err());
    }
}
