//! A worker's store of used buffers, so that the path allocates only while it grows.

use std::cell::RefCell;

use wire::http1::ResponseHead;

/// Buffers kept for reuse.
const FREE_MAX: usize = 256;
/// A larger buffer is given back to the allocator, bytes.
const KEPT_BYTES_MAX: usize = 256 * 1024;

/// What can be used again.
pub(crate) trait Recyclable: Default {
    /// Forgets what it holds, keeping its room.
    fn empty(&mut self);

    /// Is it worth keeping?
    fn is_worth_keeping(&self) -> bool {
        true
    }
}

impl Recyclable for Vec<u8> {
    fn empty(&mut self) {
        self.clear();
    }

    fn is_worth_keeping(&self) -> bool {
        self.capacity() > 0 && self.capacity() <= KEPT_BYTES_MAX
    }
}

impl Recyclable for Box<ResponseHead> {
    fn empty(&mut self) {
        self.clear();
    }
}

/// A pool of one kind of buffer.
#[derive(Debug, Default)]
pub(crate) struct Recycle<T> {
    free: RefCell<Vec<T>>,
}

impl<T: Recyclable> Recycle<T> {
    /// A used one or a new one, empty.
    pub(crate) fn take(&self) -> T {
        self.free.borrow_mut().pop().unwrap_or_default()
    }

    /// Gives one back.
    pub(crate) fn give(&self, mut item: T) {
        let mut free = self.free.borrow_mut();
        if free.len() < FREE_MAX && item.is_worth_keeping() {
            item.empty();
            free.push(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_unless_it_grew_too_large() {
        let pool = Recycle::<Vec<u8>>::default();
        let mut buffer = Vec::with_capacity(100);
        buffer.push(1);
        pool.give(buffer);
        let buffer = pool.take();
        assert!(buffer.capacity() >= 100 && buffer.is_empty());
        pool.give(Vec::with_capacity(KEPT_BYTES_MAX + 1));
        assert_eq!(pool.take().capacity(), 0);
    }
}
