//! The two directions of one connection as two values, so that reading and writing can go on side
//! by side in one task. Both belong to one worker.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::BufMut;

use crate::mark::Marks;
use crate::stream::{Idle, Stream};

/// Slices that one write takes at most; more are written in turn.
const PARTS_MAX: usize = 8;

/// The direction from the peer to us.
#[derive(Debug)]
pub struct ReadHalf(Rc<RefCell<Stream>>);

/// The direction from us to the peer.
#[derive(Debug)]
pub struct WriteHalf(Rc<RefCell<Stream>>);

/// Parts a connection into its directions.
#[must_use]
pub fn split(stream: Stream) -> (ReadHalf, WriteHalf) {
    let shared = Rc::new(RefCell::new(stream));
    (ReadHalf(Rc::clone(&shared)), WriteHalf(shared))
}

/// Puts the directions together again. `None` when they were of two connections.
#[must_use]
pub fn reunite(read: ReadHalf, write: WriteHalf) -> Option<Stream> {
    if !Rc::ptr_eq(&read.0, &write.0) {
        return None;
    }
    drop(read);
    Rc::into_inner(write.0).map(RefCell::into_inner)
}

impl ReadHalf {
    /// Waits until there may be something to read, or the peer has closed. Needs no buffer.
    ///
    /// # Errors
    /// When the runtime shuts down.
    pub async fn read_ready(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_ready(cx)).await
    }

    /// See [`ReadHalf::read_ready`].
    pub fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow().poll_read_ready(cx)
    }

    /// Reads once into the free capacity of `buf`; 0 is the end. See [`Stream::read`].
    ///
    /// # Errors
    /// Those of the socket.
    pub async fn read<B: BufMut>(&mut self, buf: &mut B) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, buf)).await
    }

    /// See [`ReadHalf::read`].
    pub fn poll_read<B: BufMut>(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut B,
    ) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().poll_read_into(cx, buf)
    }

    /// What an idle connection is found to be. One system call.
    #[must_use]
    pub fn idle_state(&self) -> Idle {
        self.0.borrow().idle_state()
    }
}

impl WriteHalf {
    /// Writes all parts in order, with one call if the socket takes them. Empty parts cost nothing.
    ///
    /// # Errors
    /// Those of the socket; `WriteZero` where it takes nothing.
    pub async fn write_parts(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let mut done = 0;
        poll_fn(|cx| self.poll_write_parts(cx, parts, &mut done)).await
    }

    /// See [`WriteHalf::write_parts`]; `done` counts the bytes that are written, from 0.
    pub fn poll_write_parts(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[&[u8]],
        done: &mut usize,
    ) -> Poll<io::Result<()>> {
        if let [part] = parts {
            return self.poll_write_all(cx, part, done);
        }
        loop {
            let mut skip = *done;
            let left = parts.iter().filter_map(|part| {
                let skipped = skip.min(part.len());
                skip -= skipped;
                part.get(skipped..).filter(|left| !left.is_empty())
            });
            let mut slices = [IoSlice::new(&[]); PARTS_MAX];
            let mut count = 0;
            for (slot, part) in slices.iter_mut().zip(left) {
                *slot = IoSlice::new(part);
                count += 1;
            }
            let slices = slices.get(..count).unwrap_or_default();
            if slices.is_empty() {
                return Poll::Ready(Ok(()));
            }
            *done += ready!(self.poll_write_some(cx, slices, false))?;
        }
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// Those of the socket; `WriteZero` where it takes nothing.
    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        poll_fn(|cx| self.poll_write_all(cx, bytes, &mut done)).await
    }

    /// See [`WriteHalf::write_all`]; `done` counts the bytes that are written, from 0.
    pub fn poll_write_all(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        done: &mut usize,
    ) -> Poll<io::Result<()>> {
        while let Some(left) = bytes.get(*done..).filter(|left| !left.is_empty()) {
            match ready!(self.0.borrow_mut().poll_write(cx, left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => *done += written,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what the socket takes now, waiting until it takes something; returns how much. With `more`, bytes
    /// follow at once, and what doesn't fill a packet waits for them.
    ///
    /// # Errors
    /// Those of the socket; `WriteZero` where it takes nothing.
    pub async fn write_some(&mut self, slices: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        poll_fn(|cx| self.poll_write_some(cx, slices, more)).await
    }

    /// See [`WriteHalf::write_some`].
    pub fn poll_write_some(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
        more: bool,
    ) -> Poll<io::Result<usize>> {
        let mut stream = self.0.borrow_mut();
        let written = if more {
            stream.poll_write_before_more(cx, slices)
        } else {
            stream.poll_write_vectored(cx, slices)
        };
        written.map(|written| some(written?, io::ErrorKind::WriteZero))
    }

    /// Sends what the socket takes now of `bytes` from `offset` of a file, waiting until it takes something; returns
    /// how much. See [`Stream::poll_send_file`].
    ///
    /// # Errors
    /// Those of the socket and of the file; `UnexpectedEof` where that has nothing at `offset`.
    pub async fn send_file(
        &mut self,
        file: BorrowedFd<'_>,
        offset: u64,
        bytes: u64,
    ) -> io::Result<usize> {
        poll_fn(|cx| self.poll_send_file(cx, file, offset, bytes)).await
    }

    /// See [`WriteHalf::send_file`].
    pub fn poll_send_file(
        &mut self,
        cx: &mut Context<'_>,
        file: BorrowedFd<'_>,
        offset: u64,
        bytes: u64,
    ) -> Poll<io::Result<usize>> {
        let mut stream = self.0.borrow_mut();
        let sent = stream.poll_send_file(cx, file, offset, bytes);
        sent.map(|sent| some(sent?, io::ErrorKind::UnexpectedEof))
    }

    /// Waits until the peer has closed its direction, or the connection broke. What it sends meanwhile stays unread,
    /// and an end behind that is not seen.
    pub async fn peer_gone(&self) {
        poll_fn(|cx| self.poll_peer_gone(cx)).await;
    }

    /// See [`WriteHalf::peer_gone`].
    pub fn poll_peer_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        let stream = self.0.borrow();
        loop {
            if ready!(stream.poll_read_ready(cx)).is_err() {
                return Poll::Ready(());
            }
            match stream.idle_state_by_events() {
                Idle::Closed => return Poll::Ready(()),
                Idle::Surplus => return Poll::Pending,
                Idle::Quiet => {} // an event of the past, used up now
            }
        }
    }

    /// Tells the peer that no more bytes will come from us; reading goes on.
    ///
    /// # Errors
    /// Those of the socket, such as that the peer is gone.
    pub fn shutdown(&self) -> io::Result<()> {
        self.0.borrow().shutdown_write()
    }

    /// Makes the connection end by a reset once both halves are dropped, so that the peer can't
    /// take what it got for whole.
    pub fn reset_on_close(&self) {
        self.0.borrow().reset_on_close();
    }

    /// See [`Stream::set_marks`].
    ///
    /// # Errors
    /// What the system refused.
    pub fn set_marks(&self, marks: Marks) -> io::Result<()> {
        self.0.borrow().set_marks(marks)
    }

    /// Bounds the bytes that wait unsent in the kernel. See [`Stream::set_unsent_bytes_max`].
    ///
    /// # Errors
    /// Those of the socket.
    pub fn set_unsent_bytes_max(&self, bytes: u32) -> io::Result<()> {
        self.0.borrow().set_unsent_bytes_max(bytes)
    }
}

fn some(count: usize, otherwise: io::ErrorKind) -> io::Result<usize> {
    if count == 0 {
        return Err(otherwise.into());
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{on_worker, pair};

    #[test]
    fn the_end_of_the_peer_is_seen_while_there_is_nothing_to_write() {
        on_worker(async {
            let (ours, theirs) = pair().await;
            let (_our_read, our_write) = split(ours);
            let leaving = async {
                tokio::task::yield_now().await;
                drop(theirs);
            };
            tokio::join!(our_write.peer_gone(), leaving);
        });
    }

    #[test]
    fn both_directions_work_side_by_side_and_come_together_again() {
        on_worker(async {
            let (ours, theirs) = pair().await;
            let (mut our_read, mut our_write) = split(ours);
            let (mut their_read, mut their_write) = split(theirs);
            let many = vec![b'x'; 3_000_000];
            let parts = [&b"head"[..], b"", &many, b"tail"];
            let mut got = Vec::with_capacity(4_000_000);
            let reading = async {
                while their_read.read(&mut got).await.unwrap() > 0 {}
                their_write.write_parts(&[b"thanks"]).await.unwrap();
            };
            let writing = async {
                our_write.write_parts(&parts).await.unwrap();
                our_write.shutdown().unwrap();
            };
            let mut answer = Vec::with_capacity(16);
            let answering = our_read.read(&mut answer);
            let ((), (), answered) = tokio::join!(reading, writing, answering);
            assert_eq!((answered.unwrap(), answer.as_slice()), (6, &b"thanks"[..]));
            assert!(got == parts.concat());
            assert!(reunite(our_read, our_write).is_some());
            let (other_read, _other_write) = split(pair().await.0);
            assert!(reunite(other_read, their_write).is_none());
        });
    }

    #[test]
    fn a_file_goes_out_behind_its_head_to_a_slow_reader() {
        use std::os::fd::AsFd;
        on_worker(async {
            let (ours, theirs) = pair().await;
            let (_our_read, mut our_write) = split(ours);
            let (mut their_read, _their_write) = split(theirs);
            let content: Vec<u8> = (0..=255).cycle().take(9_000_001).collect();
            let path = tempfile::tempdir().unwrap().keep().join("content");
            std::fs::write(&path, &content).unwrap();
            let file = std::fs::File::open(&path).unwrap();
            std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
            let mut got = Vec::with_capacity(10_000_000);
            let reading = async { while their_read.read(&mut got).await.unwrap() > 0 {} };
            let writing = async {
                let head = [IoSlice::new(b"he"), IoSlice::new(b"ad")];
                assert_eq!(our_write.write_some(&head, true).await.unwrap(), 4);
                let (mut offset, end) = (3, content.len() as u64);
                while offset < end {
                    let sent = our_write.send_file(file.as_fd(), offset, end - offset);
                    offset += sent.await.unwrap() as u64;
                }
                let error = our_write.send_file(file.as_fd(), end, 1).await.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
                our_write.shutdown().unwrap();
            };
            tokio::join!(writing, reading);
            assert!(got == [b"head", content.get(3..).unwrap()].concat());
        });
    }
}
