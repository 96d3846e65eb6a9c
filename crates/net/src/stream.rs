//! A connection's byte stream: one read per wake, one `writev` per reply, and no buffer held while
//! there is nothing to read.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::BorrowedFd;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BufMut;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::buffers::{Buffer, Buffers};
use crate::mark::Marks;

/// Up to so many slices and bytes, a short write means that the socket is full; beyond, it may
/// mean that the kernel takes no more in one call.
const WRITE_SLICES_MAX: usize = 1024;
const WRITE_BYTES_MAX: usize = 1 << 30;

/// Bytes of a file that are sent in one call, so that a fast reader of a large one leaves others their turn.
const SEND_FILE_BYTES_MAX: usize = 2 << 20;

/// A connection, with its addresses known from the start.
#[derive(Debug)]
pub struct Stream {
    transport: Transport,
    peer: SocketAddr,
    local: SocketAddr,
}

/// What carries the bytes. TLS becomes a second variant.
#[derive(Debug)]
enum Transport {
    Tcp(TcpStream),
}

/// What an idle connection is found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Open, and nothing to read: may be used.
    Quiet,
    /// The peer has closed or reset it.
    Closed,
    /// There are bytes that nobody asked for: must not be used.
    Surplus,
}

impl Stream {
    /// Wraps a TCP connection whose addresses the caller knows. IPv4-mapped addresses become IPv4.
    #[must_use]
    pub fn tcp(stream: TcpStream, peer: SocketAddr, local: SocketAddr) -> Self {
        Self {
            transport: Transport::Tcp(stream),
            peer: canonical(peer),
            local: canonical(local),
        }
    }

    /// Wraps a TCP connection and asks the kernel for its addresses.
    ///
    /// # Errors
    /// Where the connection is already gone.
    pub fn from_tcp(stream: TcpStream) -> io::Result<Self> {
        let (peer, local) = (stream.peer_addr()?, stream.local_addr()?);
        Ok(Self::tcp(stream, peer, local))
    }

    /// Address of the other side.
    #[must_use]
    pub const fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// Address of our side.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Waits until there may be something to read, or the peer has closed. Needs no buffer. May be
    /// wrong once on a fresh connection, where the first read is tried at once.
    ///
    /// # Errors
    /// When the runtime shuts down.
    pub async fn read_ready(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_read_ready(cx)).await
    }

    /// See [`Stream::read_ready`].
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.poll_read_ready(cx),
        }
    }

    /// Reads once into the free capacity of `buf` (a full `Vec` grows by 64 bytes: reserve before,
    /// or use `BufMut::limit`). 0 is the end. A read that leaves room is known to have emptied the
    /// socket: the next one waits for an event first.
    ///
    /// # Errors
    /// Those of the socket.
    pub async fn read<B: BufMut>(&mut self, buf: &mut B) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read_into(cx, buf)).await
    }

    /// See [`Stream::read`].
    pub fn poll_read_into<B: BufMut>(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut B,
    ) -> Poll<io::Result<usize>> {
        match &mut self.transport {
            Transport::Tcp(tcp) => pin!(tcp.read_buf(buf)).poll(cx),
        }
    }

    /// Reads once, behind what `slot` holds already, with a buffer from the pool that is held only
    /// while it has bytes in it. 0 is the end.
    ///
    /// # Errors
    /// Those of the socket.
    pub async fn read_pooled(
        &mut self,
        slot: &mut Option<Buffer>,
        buffers: &Buffers,
    ) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read_pooled(cx, slot, buffers)).await
    }

    /// See [`Stream::read_pooled`].
    pub fn poll_read_pooled(
        &mut self,
        cx: &mut Context<'_>,
        slot: &mut Option<Buffer>,
        buffers: &Buffers,
    ) -> Poll<io::Result<usize>> {
        let buffer = slot.get_or_insert_with(|| buffers.take());
        let polled = self.poll_read_into(cx, &mut **buffer);
        if buffer.is_empty() {
            *slot = None;
        }
        polled
    }

    /// Writes what the socket takes now.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.transport {
            Transport::Tcp(tcp) => poll_write_tcp(tcp, cx, bufs),
        }
    }

    /// The same for one slice, which the kernel takes for less.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.transport {
            Transport::Tcp(tcp) => {
                let polled = Pin::new(&mut *tcp).poll_write(cx, bytes);
                if let Poll::Ready(Ok(written)) = polled {
                    mark_full(tcp, written, bytes.len());
                }
                polled
            }
        }
    }

    /// The same for slices behind which more follows at once: what doesn't fill a packet waits for it.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn poll_write_before_more(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.transport {
            Transport::Tcp(tcp) => {
                let given = bufs.iter().map(|buf| buf.len()).sum();
                let flags = SendFlags::MORE | SendFlags::NOSIGNAL;
                poll_send(tcp, cx, given, |tcp| {
                    let mut control = SendAncillaryBuffer::default();
                    rustix::net::sendmsg(tcp, bufs, &mut control, flags)
                })
            }
        }
    }

    /// Sends up to `bytes` from `offset` of a file, without copying them: they must not change in the file afterwards.
    /// Takes what the socket takes now, and at most 2 MiB in one go. Zero means that the
    /// file ends there.
    ///
    /// # Errors
    /// Those of the socket and of the file.
    pub fn poll_send_file(
        &mut self,
        cx: &mut Context<'_>,
        file: BorrowedFd<'_>,
        offset: u64,
        bytes: u64,
    ) -> Poll<io::Result<usize>> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let bytes = bytes.min(SEND_FILE_BYTES_MAX);
        match &mut self.transport {
            Transport::Tcp(tcp) => poll_send(tcp, cx, bytes, |tcp| {
                rustix::fs::sendfile(tcp, file, Some(&mut offset.clone()), bytes)
            }),
        }
    }

    /// Writes everything, with one call if the socket takes it. The slices are used up.
    ///
    /// # Errors
    /// Those of the socket; `WriteZero` where it takes nothing.
    pub async fn write_all_vectored(&mut self, mut bufs: &mut [IoSlice<'_>]) -> io::Result<()> {
        IoSlice::advance_slices(&mut bufs, 0);
        poll_fn(|cx| {
            while !bufs.is_empty() {
                match ready!(self.poll_write_vectored(cx, bufs))? {
                    0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    written => IoSlice::advance_slices(&mut bufs, written),
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// Those of the socket; `WriteZero` where it takes nothing.
    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all_vectored(&mut [IoSlice::new(bytes)]).await
    }

    /// Tells the peer that no more bytes will come from us; reading goes on.
    ///
    /// # Errors
    /// Those of the socket, such as that the peer is gone.
    pub fn shutdown_write(&self) -> io::Result<()> {
        match &self.transport {
            Transport::Tcp(tcp) => SockRef::from(tcp).shutdown(Shutdown::Write),
        }
    }

    /// Ends the connection by a reset, so that the peer can't take what it got for whole.
    pub fn abort(self) {
        self.reset_on_close();
    }

    /// The same, once the stream is dropped.
    pub fn reset_on_close(&self) {
        match &self.transport {
            // Where the option can't be set, the connection is gone already.
            Transport::Tcp(tcp) => drop(tcp.set_zero_linger()),
        }
    }

    /// Looks, by one system call, whether an idle connection is still good.
    #[must_use]
    pub fn idle_state(&self) -> Idle {
        match &self.transport {
            Transport::Tcp(tcp) => peek(tcp).unwrap_or(Idle::Quiet),
        }
    }

    /// The same without a system call where no event came since the last look. May be late, so use
    /// it for housekeeping only.
    #[must_use]
    pub fn idle_state_by_events(&self) -> Idle {
        match &self.transport {
            Transport::Tcp(tcp) => tcp
                .try_io(Interest::READABLE, || peek(tcp).map_err(io::Error::from))
                .unwrap_or(Idle::Quiet),
        }
    }

    /// Sends small writes at once.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.set_nodelay(on),
        }
    }

    /// The socket, for tests.
    #[cfg(test)]
    pub(crate) fn socket(&self) -> SockRef<'_> {
        match &self.transport {
            Transport::Tcp(tcp) => SockRef::from(tcp),
        }
    }

    /// Marks the packets that are sent from now on.
    ///
    /// # Errors
    /// What the system refused; see [`Marks`].
    pub fn set_marks(&self, marks: Marks) -> io::Result<()> {
        match &self.transport {
            Transport::Tcp(tcp) => marks.set_on(&SockRef::from(tcp), self.peer.ip()),
        }
    }

    /// Bounds the bytes that wait unsent in the kernel, for big transfers: the socket counts as
    /// full beyond. Without it a slow reader can have megabytes there.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn set_unsent_bytes_max(&self, bytes: u32) -> io::Result<()> {
        match &self.transport {
            Transport::Tcp(tcp) => SockRef::from(tcp).set_tcp_notsent_lowat(bytes),
        }
    }

    /// Probes a silent peer: first after `idle`, then every `interval`, up to `probes` times.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn set_keepalive(&self, idle: Duration, interval: Duration, probes: u32) -> io::Result<()> {
        let keepalive = socket2::TcpKeepalive::new()
            .with_time(idle)
            .with_interval(interval)
            .with_retries(probes);
        match &self.transport {
            Transport::Tcp(tcp) => SockRef::from(tcp).set_tcp_keepalive(&keepalive),
        }
    }
}

fn canonical(addr: SocketAddr) -> SocketAddr {
    SocketAddr::new(addr.ip().to_canonical(), addr.port())
}

/// Sends by a call that the runtime doesn't know, once the socket takes something.
fn poll_send(
    tcp: &TcpStream,
    cx: &mut Context<'_>,
    given: usize,
    mut send: impl FnMut(&TcpStream) -> rustix::io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(tcp.poll_write_ready(cx))?;
        match tcp.try_io(Interest::WRITABLE, || Ok(send(tcp)?)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            sent => {
                if let Ok(sent) = sent {
                    mark_full(tcp, sent, given);
                }
                return Poll::Ready(sent);
            }
        }
    }
}

fn poll_write_tcp(
    tcp: &mut TcpStream,
    cx: &mut Context<'_>,
    bufs: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    let polled = Pin::new(&mut *tcp).poll_write_vectored(cx, bufs);
    if let Poll::Ready(Ok(written)) = polled
        && bufs.len() <= WRITE_SLICES_MAX
    {
        mark_full(tcp, written, bufs.iter().map(|buf| buf.len()).sum());
    }
    polled
}

/// After a short write the socket is full. Saying so spares the call that would only find that out.
fn mark_full(tcp: &TcpStream, written: usize, given: usize) {
    if 0 < written && written < given && given <= WRITE_BYTES_MAX {
        let full = tcp.try_io(Interest::WRITABLE, || {
            Err::<(), _>(io::ErrorKind::WouldBlock.into())
        });
        drop(full);
    }
}

/// `Err(WouldBlock)` stands for a quiet connection, as the runtime's readiness wants it.
fn peek(tcp: &TcpStream) -> rustix::io::Result<Idle> {
    let mut byte = [0_u8; 1];
    match rustix::net::recv(tcp, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((0, _)) => Ok(Idle::Closed),
        Ok(_) => Ok(Idle::Surplus),
        Err(rustix::io::Errno::INTR) => Ok(Idle::Quiet),
        Err(rustix::io::Errno::AGAIN) => Err(rustix::io::Errno::AGAIN),
        Err(_) => Ok(Idle::Closed),
    }
}

/// For code that is generic over streams, such as tests' clients and TLS.
impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.transport {
            Transport::Tcp(tcp) => Pin::new(tcp).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.transport {
            Transport::Tcp(tcp) => Pin::new(tcp).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Self::poll_write_vectored(&mut self, cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.shutdown_write())
    }
}

#[cfg(test)]
mod tests;
