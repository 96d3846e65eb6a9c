//! Memory for bytes that are written once and then read: blocks in classes of size that are a sixteenth apart.
//!
//! General allocators have four classes from one power of two to the next, which for sizes that are spread evenly leaves
//! a tenth unused; here it is a thirtieth. A page of 1 MiB holds blocks of one class. They are given out from its start
//! on, so that what wasn't needed yet isn't touched; a page that is empty again goes to whatever class needs one next.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::map;

const PAGE_BYTES: usize = 1 << 20;
/// Pages that are asked of the kernel at a time.
const PAGES_AT_ONCE: usize = if cfg!(miri) { 2 } else { 16 };
const CHUNK_BYTES: usize = PAGE_BYTES * PAGES_AT_ONCE;
const SMALLEST_LOG2: u32 = 6;
/// From 64 bytes to 128 KiB.
const DOUBLINGS: usize = 11;
const CLASSES_PER_DOUBLING: usize = 16;
const CLASSES: usize = DOUBLINGS * CLASSES_PER_DOUBLING;

/// Memory in blocks. It grows as it is needed, and is given back to the kernel by pages.
pub struct Blocks {
    classes: [Mutex<Class>; CLASSES],
    pool: Mutex<Pool>,
}

/// Bytes in a block; the block is free again when this is dropped.
pub struct Block {
    start: NonNull<u8>,
    len: u32,
    page: u32,
    blocks: Arc<Blocks>,
}

// SAFETY: a block is the only one that refers to its bytes, and never changes them.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

#[derive(Default)]
struct Class {
    pages: Vec<Page>,
    /// Those with room; the first is used, so that the last become empty.
    with_room: BTreeSet<u32>,
    /// Numbers of pages that were given back.
    vacant: Vec<u32>,
}

struct Page {
    start: PageStart,
    used: u32,
    /// Blocks from the start that were ever in use.
    touched: u32,
    free: Vec<u32>,
}

/// A page that belongs to whoever holds this.
#[derive(Clone, Copy)]
struct PageStart(NonNull<u8>);

// SAFETY: an address; what is done with it is said where it is done.
unsafe impl Send for PageStart {}

#[derive(Default)]
struct Pool {
    chunks: Vec<PageStart>,
    free: Vec<PageStart>,
}

impl Blocks {
    /// Copies these parts, one after the other, into a block.
    ///
    /// # Errors
    /// If they are more than 126 KiB together, or the kernel has no memory.
    pub fn copy(self: &Arc<Self>, parts: &[&[u8]]) -> io::Result<Block> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let (start, page) = self.take(len)?;
        let mut at = start;
        for part in parts {
            // SAFETY: the block was just taken and is large enough for all parts; nothing else refers to it.
            unsafe { at.copy_from_nonoverlapping(NonNull::from(*part).cast(), part.len()) };
            // SAFETY: within the block, or just behind it.
            at = unsafe { at.add(part.len()) };
        }
        Ok(Block {
            start,
            len: u32::try_from(len).unwrap_or(0),
            page,
            blocks: Arc::clone(self),
        })
    }

    /// Bytes of pages that are in use, with what is unused in them.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        let pages = |class: &Mutex<Class>| {
            let class = lock(class);
            class.pages.len() - class.vacant.len()
        };
        self.classes.iter().map(pages).sum::<usize>() * PAGE_BYTES
    }

    /// A free block of so many bytes, and the number of its page.
    fn take(&self, len: usize) -> io::Result<(NonNull<u8>, u32)> {
        let number = class_of(len);
        let class = self.classes.get(number);
        let mut class = lock(class.ok_or(io::ErrorKind::InvalidInput)?);
        let bytes = class_bytes(number);
        if class.with_room.is_empty() {
            let start = lock(&self.pool).take()?;
            class.add(start);
        }
        let (start, block, page) = class.take(bytes).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a class gives numbers of blocks that lie in the page as a whole.
        let start = unsafe { start.0.add(block as usize * bytes) };
        Ok((start, page))
    }

    fn free(&self, start: NonNull<u8>, len: usize, page: u32) {
        let number = class_of(len);
        let Some(class) = self.classes.get(number) else {
            return;
        };
        let mut class = lock(class);
        if let Some(empty) = class.free(start, class_bytes(number), page) {
            map::forget(empty.0.cast(), PAGE_BYTES);
            lock(&self.pool).free.push(empty);
        }
    }
}

impl Default for Blocks {
    /// No memory yet.
    fn default() -> Self {
        Self {
            classes: std::array::from_fn(|_| Mutex::default()),
            pool: Mutex::default(),
        }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        // Each block keeps this alive, so none is left.
        for chunk in lock(&self.pool).chunks.drain(..) {
            map::unmap(chunk.0.cast(), CHUNK_BYTES);
        }
    }
}

impl Class {
    fn add(&mut self, start: PageStart) {
        let page = Page {
            start,
            used: 0,
            touched: 0,
            free: Vec::new(),
        };
        let number = match self.vacant.pop() {
            Some(number) => number,
            None => u32::try_from(self.pages.len()).unwrap_or(u32::MAX),
        };
        match self.pages.get_mut(number as usize) {
            Some(vacant) => *vacant = page,
            None => self.pages.push(page),
        }
        self.with_room.insert(number);
    }

    /// A free block of the first page with room.
    fn take(&mut self, bytes: usize) -> Option<(PageStart, u32, u32)> {
        let number = *self.with_room.first()?;
        let page = self.pages.get_mut(number as usize)?;
        let block = page.free.pop().unwrap_or_else(|| {
            page.touched += 1;
            page.touched - 1
        });
        page.used += 1;
        if page.used as usize == PAGE_BYTES / bytes {
            self.with_room.remove(&number);
        }
        Some((page.start, block, number))
    }

    /// Frees a block; gives its page if that is empty now, and not the only one with room.
    fn free(&mut self, start: NonNull<u8>, bytes: usize, number: u32) -> Option<PageStart> {
        let page = self.pages.get_mut(number as usize)?;
        let at = start.addr().get() - page.start.0.addr().get();
        page.free.push(u32::try_from(at / bytes).unwrap_or(0));
        page.used -= 1;
        self.with_room.insert(number);
        if page.used > 0 || self.with_room.len() == 1 {
            return None;
        }
        page.free = Vec::new();
        let start = page.start;
        self.with_room.remove(&number);
        self.vacant.push(number);
        Some(start)
    }
}

impl Pool {
    fn take(&mut self) -> io::Result<PageStart> {
        if let Some(page) = self.free.pop() {
            return Ok(page);
        }
        let chunk: NonNull<u8> = map::anonymous(CHUNK_BYTES)?.cast();
        self.chunks.push(PageStart(chunk));
        for page in (1..PAGES_AT_ONCE).rev() {
            // SAFETY: within the chunk.
            let start = unsafe { chunk.add(page * PAGE_BYTES) };
            self.free.push(PageStart(start));
        }
        Ok(PageStart(chunk))
    }
}

/// The number of the class for so many bytes; beyond the last one for what is too large.
fn class_of(len: usize) -> usize {
    let smallest = 1 << SMALLEST_LOG2;
    if len <= smallest {
        return 0;
    }
    let doubling = (len - 1).ilog2() - SMALLEST_LOG2;
    let step = smallest << doubling >> CLASSES_PER_DOUBLING.ilog2();
    doubling as usize * CLASSES_PER_DOUBLING + len.div_ceil(step) - CLASSES_PER_DOUBLING
}

fn class_bytes(number: usize) -> usize {
    let (doubling, step) = (number / CLASSES_PER_DOUBLING, number % CLASSES_PER_DOUBLING);
    ((CLASSES_PER_DOUBLING + step) << SMALLEST_LOG2 << doubling) / CLASSES_PER_DOUBLING
}

/// Also after a panic elsewhere: no critical section here panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Deref for Block {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes of the block were written when it was made, and nothing writes to it until it is dropped.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len as usize) }
    }
}

impl AsRef<[u8]> for Block {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.blocks.free(self.start, self.len as usize, self.page);
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks")
            .field("page_bytes", &self.page_bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn pattern(seed: usize, len: usize) -> Vec<u8> {
        (0..len)
            .map(|at| u8::try_from((at * 31 + seed * 7) % 251).unwrap())
            .collect()
    }

    #[test]
    fn a_class_is_large_enough_and_little_larger() {
        for len in (0..=class_bytes(CLASSES - 1)).step_by(if cfg!(miri) { 997 } else { 1 }) {
            let class = class_of(len);
            let bytes = class_bytes(class);
            assert!(bytes >= len, "{len}");
            assert!(bytes <= 64.max(len + len / 16 + 1), "{bytes} for {len}");
            assert!(class == 0 || class_bytes(class - 1) < len, "{len}");
        }
        assert!(class_of(class_bytes(CLASSES - 1) + 1) >= CLASSES);
    }

    #[test]
    fn a_block_holds_its_parts() {
        let blocks = Arc::<Blocks>::default();
        for len in [0, 1, 64, 65, 5_000, 100_000] {
            let bytes = pattern(len, len);
            let (first, second) = bytes.split_at(len / 3);
            assert_eq!(*blocks.copy(&[first, second]).unwrap(), bytes);
        }
        let too_large = vec![0; class_bytes(CLASSES - 1) + 1];
        assert!(blocks.copy(&[&too_large]).is_err());
    }

    #[test]
    fn blocks_come_and_go_without_touching_each_other() {
        let blocks = Arc::<Blocks>::default();
        let mut held: Vec<Option<(usize, Block)>> = Vec::new();
        held.resize_with(if cfg!(miri) { 20 } else { 2_000 }, || None);
        let rounds = if cfg!(miri) { 300 } else { 60_000 };
        let mut random = 1_usize;
        for round in 0..rounds {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (slot, len) = ((random >> 33) % held.len(), (random >> 20) % 3_000);
            let block = blocks.copy(&[&pattern(round, len)]).unwrap();
            if let Some((seed, old)) = held[slot].replace((round, block)) {
                assert_eq!(*old, pattern(seed, old.len()));
            }
        }
        for (seed, block) in held.into_iter().flatten() {
            assert_eq!(*block, pattern(seed, block.len()));
        }
        // One page may stay with each class.
        assert!(blocks.page_bytes() <= CLASSES * PAGE_BYTES);
    }

    #[test]
    fn empty_pages_go_to_other_classes() {
        let blocks = Arc::<Blocks>::default();
        let held: Vec<_> = (0..100)
            .map(|_| blocks.copy(&[&vec![0; 100_000]]).unwrap())
            .collect();
        let most = blocks.page_bytes();
        assert_eq!(most, 10 * PAGE_BYTES);
        drop(held);
        assert_eq!(blocks.page_bytes(), PAGE_BYTES);
        let held: Vec<_> = (0..300)
            .map(|_| blocks.copy(&[&vec![0; 30_000]]).unwrap())
            .collect();
        assert!(blocks.page_bytes() <= most + PAGE_BYTES);
        let chunks = lock(&blocks.pool).chunks.len();
        assert!(chunks * CHUNK_BYTES <= most + CHUNK_BYTES, "{chunks}");
        drop(held);
    }

    #[test]
    fn threads_give_each_other_blocks() {
        let blocks = Arc::<Blocks>::default();
        let rounds = if cfg!(miri) { 10 } else { 2_000 };
        thread::scope(|scope| {
            for thread in 0..3 {
                let (blocks, mut held) = (&blocks, Vec::new());
                scope.spawn(move || {
                    for round in 0..rounds {
                        let bytes = pattern(thread + round, 200 + round % 500);
                        let block = blocks.copy(&[&bytes]).unwrap();
                        if round % 2 == 0 {
                            held.push(block);
                        } else {
                            let other = thread::scope(|scope| {
                                scope.spawn(move || assert_eq!(*block, bytes)).join()
                            });
                            assert!(other.is_ok());
                        }
                    }
                });
            }
        });
        assert!(blocks.page_bytes() <= CLASSES * PAGE_BYTES);
    }
}
