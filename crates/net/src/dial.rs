//! Connects to the first of several addresses that answers (RFC 8305): attempts start one after
//! the other, families in turn, a short time apart, and run side by side.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::io::Errno;
use smallvec::SmallVec;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use stats::{Cells, Counter, Histogram};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::mark::Marks;
use crate::stream::Stream;

/// Attempts under way at once, for one connection.
pub const ATTEMPTS_MAX: usize = 4;

/// Pause before an address is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// How to connect.
#[derive(Clone, Copy, Debug)]
pub struct DialOptions {
    /// Greatest time for one attempt.
    pub attempt: Duration,
    /// Greatest time for all.
    pub overall: Duration,
    /// Time from the start of an attempt to the start of the next.
    pub gap: Duration,
    /// How often an address that refused is tried again (`connect_retries`).
    pub retries: u8,
    /// Our address where the other one is IPv4, and where it is IPv6.
    pub local_v4: Option<std::net::Ipv4Addr>,
    /// See `local_v4`.
    pub local_v6: Option<std::net::Ipv6Addr>,
    /// What packets carry, from the first one. What the system refuses is left out: set it again on the
    /// connection to hear of that.
    pub marks: Marks,
}

impl Default for DialOptions {
    fn default() -> Self {
        Self {
            attempt: Duration::from_secs(60),
            overall: Duration::from_secs(60),
            gap: Duration::from_millis(250),
            retries: 0,
            local_v4: None,
            local_v6: None,
            marks: Marks::default(),
        }
    }
}

/// A connection that was made.
#[derive(Debug)]
pub struct Dialed {
    /// The connection; its peer address is the address used.
    pub stream: Stream,
    /// Addresses that failed before.
    pub failed: SmallVec<[SocketAddr; 2]>,
}

/// No address could be connected to.
#[derive(Debug, thiserror::Error)]
#[error("{kind}")]
pub struct DialError {
    /// What the last failure was.
    pub kind: DialFailure,
    /// The address that failed last; `None` where there was none to try.
    pub addr: Option<SocketAddr>,
    /// All that failed.
    pub failed: SmallVec<[SocketAddr; 2]>,
    /// The operating system's error, where there was one.
    pub source: Option<io::Error>,
}

/// Why connecting failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialFailure {
    /// There was no address to try.
    #[error("no address to connect to")]
    NoAddress,
    /// Nobody listens there.
    #[error("connection refused")]
    Refused,
    /// No answer in time.
    #[error("connection timed out")]
    TimedOut,
    /// There is no way there.
    #[error("network or host unreachable")]
    Unreachable,
    /// The connection was reset while it was made.
    #[error("connection reset")]
    Reset,
    /// Our own address can't be used, or its ports are used up.
    #[error("local address not available")]
    LocalAddress,
    /// No descriptor or memory was left for a socket.
    #[error("out of descriptors or memory")]
    Exhausted,
    /// Something else; see the source.
    #[error("connection failed")]
    Other,
}

impl DialFailure {
    fn of(error: &io::Error) -> Self {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::CONNREFUSED) => Self::Refused,
            Some(Errno::TIMEDOUT) => Self::TimedOut,
            Some(Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::NETDOWN | Errno::HOSTDOWN) => {
                Self::Unreachable
            }
            Some(Errno::CONNRESET | Errno::CONNABORTED | Errno::PIPE) => Self::Reset,
            Some(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => Self::LocalAddress,
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Self::Exhausted,
            _ => Self::Other,
        }
    }
}

/// Connects to one of `addrs`, which are in order of preference.
///
/// # Errors
/// When all have failed or the time is over.
pub async fn connect(
    addrs: &[SocketAddr],
    options: &DialOptions,
    cells: &Arc<Cells>,
) -> Result<Dialed, DialError> {
    let started = Instant::now();
    let mut race = Race::new(addrs, options, started);
    let mut timer = pin!(sleep_until(race.next_event()));
    let result = poll_fn(|cx| race.poll(cx, timer.as_mut())).await;
    let failed = race.failed;
    match result {
        Ok(stream) => {
            cells.count(Counter::HopConnects);
            let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            cells.record(Histogram::ConnectTime, micros);
            Ok(Dialed { stream, failed })
        }
        Err(last) => {
            cells.count(Counter::HopConnectFailures);
            if last.kind == DialFailure::TimedOut {
                cells.count(Counter::TimeoutsConnect);
            }
            Err(DialError {
                kind: last.kind,
                addr: last.addr,
                failed,
                source: last.source,
            })
        }
    }
}

/// The failure that is told if no attempt succeeds.
struct Last {
    kind: DialFailure,
    addr: Option<SocketAddr>,
    source: Option<io::Error>,
}

/// An address that waits for its turn.
#[derive(Clone, Copy)]
struct Turn {
    addr: SocketAddr,
    retries_left: u8,
    not_before: Instant,
}

/// An attempt under way.
struct Attempt {
    turn: Turn,
    tcp: TcpStream,
    until: Instant,
}

struct Race<'a> {
    options: &'a DialOptions,
    waiting: VecDeque<Turn>,
    running: SmallVec<[Attempt; 2]>,
    failed: SmallVec<[SocketAddr; 2]>,
    last: Last,
    next_start: Instant,
    until: Instant,
}

impl<'a> Race<'a> {
    fn new(addrs: &[SocketAddr], options: &'a DialOptions, now: Instant) -> Self {
        let turn = |addr| Turn {
            addr,
            retries_left: options.retries,
            not_before: now,
        };
        Self {
            options,
            waiting: interleaved(addrs).into_iter().map(turn).collect(),
            running: SmallVec::new(),
            failed: SmallVec::new(),
            last: Last {
                kind: DialFailure::NoAddress,
                addr: None,
                source: None,
            },
            next_start: now,
            until: now + options.overall,
        }
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut timer: Pin<&mut Sleep>,
    ) -> Poll<Result<Stream, Last>> {
        loop {
            let now = Instant::now();
            if let Some(stream) = self.poll_running(cx, now) {
                return Poll::Ready(Ok(stream));
            }
            if now >= self.until {
                self.give_up();
                return Poll::Ready(Err(self.take_last()));
            }
            if self.start_due(now) {
                continue;
            }
            if self.running.is_empty() && self.waiting.is_empty() {
                return Poll::Ready(Err(self.take_last()));
            }
            timer.as_mut().reset(self.next_event());
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// The first attempt that has succeeded; takes out those that failed.
    fn poll_running(&mut self, cx: &mut Context<'_>, now: Instant) -> Option<Stream> {
        let mut at = 0;
        while let Some(attempt) = self.running.get(at) {
            let outcome = match attempt.tcp.poll_write_ready(cx) {
                Poll::Ready(ready) => Some(ready.and_then(|()| outcome(&attempt.tcp))),
                Poll::Pending if now >= attempt.until => Some(Err(Errno::TIMEDOUT.into())),
                Poll::Pending => None,
            };
            let Some(outcome) = outcome else {
                at += 1;
                continue;
            };
            let Attempt { turn, tcp, .. } = self.running.remove(at);
            match outcome.and_then(|()| Ok((tcp.local_addr()?, tcp))) {
                Ok((local, tcp)) => return Some(Stream::tcp(tcp, turn.addr, local)),
                Err(error) => self.note_failure(turn, error, now),
            }
        }
        None
    }

    /// Starts the next attempt if it is time; tells whether it did.
    fn start_due(&mut self, now: Instant) -> bool {
        let due = self.running.is_empty() || now >= self.next_start;
        let ready = self
            .waiting
            .front()
            .is_some_and(|turn| now >= turn.not_before);
        if !due || !ready || self.running.len() >= ATTEMPTS_MAX {
            return false;
        }
        let Some(turn) = self.waiting.pop_front() else {
            return false;
        };
        self.next_start = now + self.options.gap;
        match begin(turn.addr, self.options) {
            Ok(tcp) => self.running.push(Attempt {
                turn,
                tcp,
                until: now + self.options.attempt,
            }),
            Err(error) => self.note_failure(turn, error, now),
        }
        true
    }

    fn note_failure(&mut self, turn: Turn, error: io::Error, now: Instant) {
        let kind = DialFailure::of(&error);
        self.last = Last {
            kind,
            addr: Some(turn.addr),
            source: Some(error),
        };
        if !self.failed.contains(&turn.addr) {
            self.failed.push(turn.addr);
        }
        if turn.retries_left > 0 && kind != DialFailure::TimedOut {
            self.waiting.push_back(Turn {
                retries_left: turn.retries_left - 1,
                not_before: now + RETRY_PAUSE,
                ..turn
            });
        }
        // The next need not wait for the rest of the gap.
        self.next_start = now;
    }

    /// The overall time is over: what still runs has failed, too.
    fn give_up(&mut self) {
        for attempt in self.running.drain(..) {
            if !self.failed.contains(&attempt.turn.addr) {
                self.failed.push(attempt.turn.addr);
            }
            self.last = Last {
                kind: DialFailure::TimedOut,
                addr: Some(attempt.turn.addr),
                source: None,
            };
        }
    }

    fn take_last(&mut self) -> Last {
        let none = Last {
            kind: DialFailure::NoAddress,
            addr: None,
            source: None,
        };
        std::mem::replace(&mut self.last, none)
    }

    /// When there is something to do even if no socket has news.
    fn next_event(&self) -> Instant {
        let mut next = self.until;
        for attempt in &self.running {
            next = next.min(attempt.until);
        }
        if let Some(turn) = self.waiting.front()
            && self.running.len() < ATTEMPTS_MAX
        {
            let start = if self.running.is_empty() {
                turn.not_before
            } else {
                self.next_start.max(turn.not_before)
            };
            next = next.min(start);
        }
        next
    }
}

/// The families in turn, beginning with that of the first address; order kept within each.
fn interleaved(addrs: &[SocketAddr]) -> Vec<SocketAddr> {
    let first_is_v4 = addrs.first().is_some_and(SocketAddr::is_ipv4);
    let (mut these, mut those): (VecDeque<_>, VecDeque<_>) = addrs
        .iter()
        .copied()
        .partition(|addr| addr.is_ipv4() == first_is_v4);
    let mut all = Vec::with_capacity(addrs.len());
    while !these.is_empty() || !those.is_empty() {
        all.extend(these.pop_front());
        all.extend(those.pop_front());
    }
    all
}

/// Starts connecting; the socket becomes writable when that has ended.
fn begin(addr: SocketAddr, options: &DialOptions) -> io::Result<TcpStream> {
    let socket = Socket::new(
        Domain::for_address(addr),
        Type::STREAM.nonblocking(),
        Some(Protocol::TCP),
    )?;
    socket.set_tcp_nodelay(true)?;
    let local: Option<IpAddr> = match addr {
        SocketAddr::V4(_) => options.local_v4.map(IpAddr::V4),
        SocketAddr::V6(_) => options.local_v6.map(IpAddr::V6),
    };
    if let Some(local) = local {
        socket.bind(&SocketAddr::new(local, 0).into())?;
    }
    let _refused = options.marks.set_on(&SockRef::from(&socket), addr.ip());
    match socket.connect(&addr.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
        _ => TcpStream::from_std(socket.into()),
    }
}

fn outcome(tcp: &TcpStream) -> io::Result<()> {
    tcp.take_error()?.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests;
