//! A worker's store of used buffers, so that the path allocates only while it grows.

use std::cell::{Cell, RefCell};

use wire::http1::ResponseHead;

/// Things of one kind kept for reuse, and bytes of them all.
const FREE_MAX: usize = 256;
const FREE_BYTES_MAX: usize = 4 << 20;
/// What is larger is given back to the allocator, bytes.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// What can be used again.
pub(crate) trait Recyclable: Default {
    /// Forgets what it holds, keeping its room.
    fn empty(&mut self);

    /// Its room, as far as it varies. None: not worth keeping.
    fn room_bytes(&self) -> usize;
}

impl Recyclable for Vec<u8> {
    fn empty(&mut self) {
        self.clear();
    }

    fn room_bytes(&self) -> usize {
        self.capacity()
    }
}

impl Recyclable for Box<ResponseHead> {
    fn empty(&mut self) {
        self.clear();
    }

    fn room_bytes(&self) -> usize {
        size_of::<ResponseHead>() + self.fields.memory_bytes()
    }
}

/// A pool of one kind of buffer.
#[derive(Debug, Default)]
pub(crate) struct Recycle<T> {
    free: RefCell<Vec<T>>,
    free_bytes: Cell<usize>,
}

impl<T: Recyclable> Recycle<T> {
    /// A used one or a new one, empty.
    pub(crate) fn take(&self) -> T {
        let Some(item) = self.free.borrow_mut().pop() else {
            return T::default();
        };
        self.free_bytes
            .set(self.free_bytes.get() - item.room_bytes());
        item
    }

    /// Gives one back.
    pub(crate) fn give(&self, mut item: T) {
        let mut free = self.free.borrow_mut();
        let bytes = item.room_bytes();
        let free_bytes = self.free_bytes.get() + bytes;
        if free.len() < FREE_MAX
            && (1..=KEPT_BYTES_MAX).contains(&bytes)
            && free_bytes <= FREE_BYTES_MAX
        {
            item.empty();
            self.free_bytes.set(free_bytes);
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

    #[test]
    fn what_is_kept_is_bounded_by_its_bytes() {
        let pool = Recycle::<Vec<u8>>::default();
        for _ in 0..FREE_MAX {
            pool.give(Vec::with_capacity(KEPT_BYTES_MAX));
        }
        let taken = std::iter::from_fn(|| Some(pool.take()).filter(|item| item.capacity() > 0));
        assert_eq!(taken.count(), FREE_BYTES_MAX / KEPT_BYTES_MAX);
        pool.give(Vec::with_capacity(1));
        assert_eq!(pool.take().capacity(), 1);
    }
}
