//! A worker's read buffers, so that a connection without bytes holds none.

use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// Sizes of the pool.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Capacity of a fresh buffer.
    pub buffer_bytes: usize,
    /// How many free buffers are kept.
    pub free_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            buffer_bytes: 16 * 1024,
            free_max: 256,
        }
    }
}

/// The free buffers of one worker; clones share them.
#[derive(Clone, Debug)]
pub struct Buffers {
    shelf: Rc<Shelf>,
}

#[derive(Debug)]
struct Shelf {
    options: Options,
    free: RefCell<Vec<Vec<u8>>>,
    out: Cell<usize>,
}

/// An empty `Vec<u8>` with room, until filled; goes back to its worker's pool when dropped.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    shelf: Rc<Shelf>,
}

impl Buffers {
    /// No buffer is made before it is asked for.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            shelf: Rc::new(Shelf {
                options,
                free: RefCell::default(),
                out: Cell::new(0),
            }),
        }
    }

    /// An empty buffer.
    #[must_use]
    pub fn take(&self) -> Buffer {
        let bytes = self
            .shelf
            .free
            .borrow_mut()
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(self.shelf.options.buffer_bytes));
        self.shelf.out.set(self.shelf.out.get() + 1);
        Buffer {
            bytes,
            shelf: Rc::clone(&self.shelf),
        }
    }

    /// How many buffers are in use.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.shelf.out.get()
    }

    /// How many buffers wait for use.
    #[must_use]
    pub fn free(&self) -> usize {
        self.shelf.free.borrow().len()
    }
}

impl Default for Buffers {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        self.shelf.out.set(self.shelf.out.get() - 1);
        let options = &self.shelf.options;
        let mut free = self.shelf.free.borrow_mut();
        // A buffer that had to grow is not kept: one big head must not make every later one big.
        let fits = bytes.capacity() >= options.buffer_bytes
            && bytes.capacity() <= options.buffer_bytes.saturating_mul(2);
        if fits && free.len() < options.free_max {
            bytes.clear();
            free.push(bytes);
        }
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_buffer_is_used_again_and_empty() {
        let buffers = Buffers::default();
        let mut first = buffers.take();
        first.extend_from_slice(b"old bytes");
        let place = first.as_ptr();
        drop(first);
        let second = buffers.take();
        assert_eq!((second.as_ptr(), second.len()), (place, 0));
        assert_eq!((buffers.in_use(), buffers.free()), (1, 0));
    }

    #[test]
    fn grown_buffers_and_those_too_many_are_freed() {
        let buffers = Buffers::new(Options {
            buffer_bytes: 64,
            free_max: 1,
        });
        buffers.take().reserve(10_000);
        assert_eq!(buffers.free(), 0);
        let (one, two) = (buffers.take(), buffers.take());
        drop((one, two));
        assert_eq!((buffers.in_use(), buffers.free()), (0, 1));
    }
}
