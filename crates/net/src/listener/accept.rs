//! Takes connections from a listening socket, in batches, and stops for a while when the process
//! runs out of file descriptors.
//!
//! The kernel gives out the lowest free descriptor. So a new connection whose number is above the
//! limit less a reserve says that only the reserve is left: it is kept, and accepting pauses until
//! a lower number is free. DNS, origins, disk and helpers live on the reserve meanwhile, clients
//! wait in the backlog, and nothing has to count descriptors.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::process::Resource;
use socket2::SockRef;
use stats::{Cells, Counter, Gauge};
use tokio::net::{TcpListener, TcpStream};

use crate::stream::Stream;

/// Connections taken per call, so that others get their turn.
pub const BATCH_MAX: usize = 64;

/// Pauses while descriptors are short: the first, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// The part of the descriptors that is left to others, as a share and at most.
const RESERVE_SHARE: u64 = 4;
const RESERVE_MAX: u64 = 100;

/// Connections taken at once from a listener that is given up.
const WAITING_MAX: usize = 65_536;

/// Takes the connections of one listening socket on one worker.
#[derive(Debug)]
pub struct Acceptor {
    listener: TcpListener,
    local: SocketAddr,
    /// Lowest descriptor of the reserve.
    reserve_start: i32,
    /// The reserve was touched, or there was no descriptor at all.
    short: bool,
    pressure: Pressure,
    cells: Arc<Cells>,
}

impl Acceptor {
    /// Takes over a listening socket; the caller keeps a handle of its own (`try_clone`) where it
    /// wants to hand the socket on. Must be called on the worker's runtime.
    ///
    /// # Errors
    /// Where the socket can't be watched.
    pub fn new(
        listener: std::net::TcpListener,
        pressure: &Pressure,
        cells: &Arc<Cells>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let local = listener.local_addr()?;
        Ok(Self {
            listener,
            local,
            reserve_start: reserve_start(),
            short: false,
            pressure: pressure.clone(),
            cells: Arc::clone(cells),
        })
    }

    /// The address that it listens at.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Waits for connections and adds up to [`BATCH_MAX`] of them to `batch`. While descriptors
    /// are short it waits for those, too. Failures of single connections are counted and passed
    /// over. May be dropped at any time: what is in `batch` stays there.
    pub async fn accept(&mut self, batch: &mut Vec<Stream>) {
        let before = batch.len();
        while batch.len() == before {
            if self.short {
                self.wait_for_descriptors().await;
            }
            poll_fn(|cx| self.poll_batch(cx, batch)).await;
        }
    }

    /// Adds the connections that wait already, before the listener is given up: what the kernel holds
    /// when a socket closes, it resets. At most a queue's length of them.
    pub fn take_waiting(&mut self, batch: &mut Vec<Stream>) {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        while batch.len() < WAITING_MAX && !self.short {
            let before = batch.len();
            if self.poll_batch(&mut cx, batch).is_pending() || batch.len() == before {
                return;
            }
        }
    }

    /// Ends the listening itself, whoever else holds the socket.
    pub fn shut(&self) {
        // It fails only where nobody listens any more.
        drop(SockRef::from(&self.listener).shutdown(std::net::Shutdown::Both));
    }

    /// Ready with something new in the batch, or `short`.
    fn poll_batch(&mut self, cx: &mut Context<'_>, batch: &mut Vec<Stream>) -> Poll<()> {
        let before = batch.len();
        for _ in 0..BATCH_MAX {
            match self.listener.poll_accept(cx) {
                Poll::Pending if batch.len() == before => return Poll::Pending,
                Poll::Pending => break,
                Poll::Ready(Ok((tcp, peer))) => {
                    self.cells.count(Counter::ConnectionsAccepted);
                    self.short = tcp.as_raw_fd() >= self.reserve_start;
                    batch.extend(self.admit(tcp, peer));
                }
                Poll::Ready(Err(error)) => {
                    self.cells.count(Counter::AcceptErrors);
                    self.short = is_exhaustion(&error);
                }
            }
            if self.short {
                break;
            }
        }
        Poll::Ready(())
    }

    /// Asks the kernel for our address only where we don't know it. `None` where the connection is
    /// gone already.
    fn admit(&self, tcp: TcpStream, peer: SocketAddr) -> Option<Stream> {
        let local = if self.local.ip().is_unspecified() {
            tcp.local_addr().ok()?
        } else {
            self.local
        };
        Some(Stream::tcp(tcp, peer, local))
    }

    async fn wait_for_descriptors(&mut self) {
        let _pausing = Pausing::begin(&self.pressure, &self.cells);
        let mut pause = PAUSE_MIN;
        loop {
            tokio::time::sleep(pause).await;
            if next_descriptor().is_some_and(|next| next < self.reserve_start) {
                break;
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
        self.short = false;
    }
}

/// Whether descriptors are short; shared by all acceptors of a worker. While it is on, connections
/// should be closed after their reply and idle ones given up.
#[derive(Clone, Debug, Default)]
pub struct Pressure {
    paused: Rc<Cell<usize>>,
}

impl Pressure {
    /// Whether accepting is paused for want of descriptors.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.paused.get() > 0
    }
}

/// Counts in while an acceptor pauses; counts out also when it is dropped meanwhile.
struct Pausing {
    pressure: Pressure,
    cells: Arc<Cells>,
}

impl Pausing {
    fn begin(pressure: &Pressure, cells: &Arc<Cells>) -> Self {
        pressure.paused.set(pressure.paused.get() + 1);
        cells.count(Counter::AcceptPauses);
        cells.up(Gauge::AcceptPaused);
        Self {
            pressure: pressure.clone(),
            cells: Arc::clone(cells),
        }
    }
}

impl Drop for Pausing {
    fn drop(&mut self) {
        let paused = &self.pressure.paused;
        paused.set(paused.get() - 1);
        self.cells.down(Gauge::AcceptPaused);
    }
}

fn reserve_start() -> i32 {
    let limit = rustix::process::getrlimit(Resource::Nofile).current;
    limit.map_or(i32::MAX, |limit| {
        let reserve = (limit / RESERVE_SHARE).min(RESERVE_MAX);
        i32::try_from(limit - reserve).unwrap_or(i32::MAX)
    })
}

/// The lowest free descriptor; `None` where there is none, in the process or in the system.
fn next_descriptor() -> Option<i32> {
    let probe = eventfd(0, EventfdFlags::CLOEXEC).ok()?;
    Some(probe.as_raw_fd())
}

fn is_exhaustion(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests;
