//! Bytes read from a connection and not yet understood. Used for clients and hops alike.

use std::io;
use std::mem;
use std::task::{Context, Poll};

use net::half::ReadHalf;

use crate::recycle::Recycle;

/// Room made for a read when nothing says how much will come, bytes.
pub(crate) const READ_BYTES: usize = 16 * 1024;
/// Room made for a read once a body has shown to be large, bytes.
pub(crate) const READ_LARGE_BYTES: usize = 128 * 1024;

/// A read buffer: bytes before `at` are done with.
#[derive(Debug, Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    at: usize,
}

impl Input {
    /// A buffer around a recycled vector.
    pub(crate) fn over(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self { bytes, at: 0 }
    }

    /// The vector, for recycling. What was unread is lost.
    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.bytes
    }

    /// What has been read and not consumed.
    pub(crate) fn unread(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Is there nothing unread?
    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Marks `count` unread bytes as done with.
    pub(crate) fn consume(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.bytes.len());
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
        }
    }

    /// Reads once, behind what is unread; 0 is the end. Who waits with nothing unread holds no buffer meanwhile.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        read: &mut ReadHalf,
        room: usize,
        buffers: &Recycle<Vec<u8>>,
    ) -> Poll<io::Result<usize>> {
        let polled = match read.poll_ready(cx) {
            Poll::Ready(Ok(())) => {
                self.borrow_from(buffers);
                read.poll_read(cx, self.room(room))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        };
        if polled.is_pending() {
            self.give_back(buffers);
        }
        polled
    }

    /// Takes a used buffer, if there is none.
    pub(crate) fn borrow_from(&mut self, buffers: &Recycle<Vec<u8>>) {
        if self.bytes.capacity() == 0 {
            self.bytes = buffers.take();
        }
    }

    /// Lets the buffer go round, if nothing in it is unread.
    pub(crate) fn give_back(&mut self, buffers: &Recycle<Vec<u8>>) {
        if self.is_empty() && self.bytes.capacity() > 0 {
            buffers.give(mem::take(&mut self.bytes));
            self.at = 0;
        }
    }

    /// The vector to append a read to, with at least `room` bytes of spare capacity.
    pub(crate) fn room(&mut self, room: usize) -> &mut Vec<u8> {
        if self.at > 0 && self.bytes.capacity() - self.bytes.len() < room {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.reserve(room);
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consuming_all_starts_over_at_the_front() {
        let mut input = Input::default();
        input.room(8).extend_from_slice(b"abc");
        input.consume(2);
        assert_eq!(input.unread(), b"c");
        input.consume(9);
        assert!(input.is_empty());
        input.room(8).extend_from_slice(b"d");
        assert_eq!(input.unread(), b"d");
    }

    #[test]
    fn making_room_keeps_what_is_unread() {
        let mut input = Input::over(Vec::with_capacity(4));
        input.room(4).extend_from_slice(b"abcd");
        input.consume(3);
        input.room(64).extend_from_slice(b"ef");
        assert_eq!(input.unread(), b"def");
    }
}
