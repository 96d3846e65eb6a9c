//! The allocator of the program: mimalloc.
//!
//! Its functions for aligned memory ask for more than is needed unless a block of just that alignment is at hand, and go a
//! longer way. What Rust asks for is nearly always aligned as every block is, so the plain functions do.

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc,
    mi_zalloc_aligned,
};

/// Every block of at least so many bytes is aligned to them; a smaller one to 8, the next power of two.
const BLOCK_ALIGNMENT: usize = 16;

/// See the module.
#[derive(Debug)]
pub struct Allocator;

/// Whether any block of so many bytes is aligned so.
const fn is_plain(bytes: usize, alignment: usize) -> bool {
    alignment <= BLOCK_ALIGNMENT && alignment <= bytes
}

// SAFETY: blocks are of mimalloc alone, which gives them with the size and alignment asked for, or null; none unwinds.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (bytes, alignment) = (layout.size(), layout.align());
        if is_plain(bytes, alignment) {
            // SAFETY: any size may be asked for.
            unsafe { mi_malloc(bytes) }.cast()
        } else {
            // SAFETY: the alignment is a power of two.
            unsafe { mi_malloc_aligned(bytes, alignment) }.cast()
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (bytes, alignment) = (layout.size(), layout.align());
        if is_plain(bytes, alignment) {
            // SAFETY: any size may be asked for.
            unsafe { mi_zalloc(bytes) }.cast()
        } else {
            // SAFETY: the alignment is a power of two.
            unsafe { mi_zalloc_aligned(bytes, alignment) }.cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller's block is one of mimalloc's, and isn't used again.
        unsafe { mi_free(block.cast()) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let alignment = layout.align();
        if is_plain(bytes, alignment) {
            // SAFETY: the caller's block is one of mimalloc's, and isn't used again unless this gives null.
            unsafe { mi_realloc(block.cast(), bytes) }.cast()
        } else {
            // SAFETY: as above; the alignment is a power of two.
            unsafe { mi_realloc_aligned(block.cast(), bytes, alignment) }.cast()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bytes: usize, alignment: usize) -> Layout {
        Layout::from_size_align(bytes, alignment).unwrap()
    }

    /// Blocks of many sizes are live at a time, so that each of a page has its turn.
    #[test]
    #[cfg_attr(miri, ignore = "calls C")]
    fn blocks_are_aligned_as_asked_for() {
        for alignment in [1, 2, 4, 8, 16, 32, 64, 4096] {
            let mut blocks = Vec::new();
            for bytes in (1..600).chain([1000, 1024, 1025, 5000, 70_000, 1 << 20]) {
                let asked = layout(bytes, alignment);
                // SAFETY: of more than no bytes.
                let block = unsafe { Allocator.alloc(asked) };
                assert!(
                    !block.is_null() && block.addr() % alignment == 0,
                    "{asked:?}"
                );
                // SAFETY: so many bytes are ours.
                unsafe { block.write_bytes(7, bytes) };
                // SAFETY: a block of ours of that layout.
                let block = unsafe { Allocator.realloc(block, asked, 3 * bytes) };
                assert!(
                    !block.is_null() && block.addr() % alignment == 0,
                    "{asked:?}"
                );
                // SAFETY: the first bytes were written above.
                let kept = unsafe { std::slice::from_raw_parts(block, bytes) };
                assert!(kept.iter().all(|byte| *byte == 7));
                blocks.push((block, layout(3 * bytes, alignment)));
            }
            for (block, layout) in blocks {
                // SAFETY: a block of ours of that layout.
                unsafe { Allocator.dealloc(block, layout) };
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls C")]
    fn zeroed_blocks_hold_zeros() {
        for (bytes, alignment) in [(1, 1), (24, 8), (24, 32), (5000, 64)] {
            let asked = layout(bytes, alignment);
            for _ in 0..3 {
                // SAFETY: of more than no bytes.
                let block = unsafe { Allocator.alloc_zeroed(asked) };
                // SAFETY: so many bytes are ours, and initialised.
                let all = unsafe { std::slice::from_raw_parts_mut(block, bytes) };
                assert!(all.iter().all(|byte| *byte == 0));
                all.fill(1);
                // SAFETY: a block of ours of that layout.
                unsafe { Allocator.dealloc(block, asked) };
            }
        }
    }
}
