//! Buffers that are read into. Those for fragments of large bodies go round: a fresh one each time would be made of fresh
//! pages by one thread and given up by another, and the allocator keeps more of such than is in use.

use bytes::Bytes;

use crate::sync::{Arc, Mutex, lock};

/// Buffers of a volume that wait to be used again: 4 MiB of them.
const IDLE_MAX: usize = 16;

/// Those that wait to be used again.
#[derive(Debug)]
pub(crate) struct Buffers {
    /// Of each.
    bytes: usize,
    idle: Mutex<Vec<Vec<u8>>>,
}

/// Room to read into.
#[derive(Debug)]
pub(crate) enum Buffer {
    /// It goes with what it holds.
    Own(Vec<u8>),
    Lent(Lent),
}

/// It is given back when the last slice of what it holds is dropped.
#[derive(Debug)]
pub(crate) struct Lent {
    buffer: Vec<u8>,
    filled: usize,
    home: Arc<Buffers>,
}

impl Buffers {
    /// None yet; of so many bytes each.
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes,
            idle: Mutex::default(),
        })
    }

    pub(crate) fn lend(self: &Arc<Self>) -> Buffer {
        let idle = lock(&self.idle).pop();
        Buffer::Lent(Lent {
            buffer: idle.unwrap_or_else(|| vec![0; self.bytes]),
            filled: 0,
            home: Arc::clone(self),
        })
    }
}

impl Buffer {
    pub(crate) fn own(bytes: usize) -> Self {
        Self::Own(vec![0; bytes])
    }

    /// Up to so many bytes of it.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        let (Self::Own(buffer) | Self::Lent(Lent { buffer, .. })) = self;
        let bytes = bytes.min(buffer.len());
        buffer.get_mut(..bytes).unwrap_or_default()
    }

    /// It alone, to be read into by the kernel.
    pub(crate) fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Own(buffer) => buffer,
            Self::Lent(mut lent) => std::mem::take(&mut lent.buffer),
        }
    }

    /// What was read into it.
    pub(crate) fn filled(self, bytes: usize) -> Bytes {
        match self {
            Self::Own(mut buffer) => {
                buffer.truncate(bytes);
                buffer.into()
            }
            Self::Lent(mut lent) => {
                lent.filled = bytes;
                Bytes::from_owner(lent)
            }
        }
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut idle = lock(&self.home.idle);
        if idle.len() < IDLE_MAX && !self.buffer.is_empty() {
            idle.push(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Buffer, Buffers, IDLE_MAX, lock};

    #[test]
    fn a_buffer_comes_back_with_the_last_slice_of_it() {
        let buffers = Buffers::new(10);
        let mut lent = buffers.lend();
        lent.room(4).copy_from_slice(b"abcd");
        let bytes = lent.filled(4);
        let slice = bytes.slice(1..2);
        drop(bytes);
        assert!(lock(&buffers.idle).is_empty());
        assert_eq!(slice, "b");
        drop(slice);
        assert_eq!(lock(&buffers.idle).len(), 1);
        assert_eq!(buffers.lend().room(100).len(), 10);
    }

    #[test]
    fn only_some_wait_to_be_used_again() {
        let buffers = Buffers::new(1);
        let lent: Vec<Buffer> = (0..2 * IDLE_MAX).map(|_| buffers.lend()).collect();
        drop(lent);
        assert_eq!(lock(&buffers.idle).len(), IDLE_MAX);
    }
}
