//! Counts what is sent to each name server and what comes back, in datagrams.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use hickory_resolver::net::runtime::{DnsUdpSocket, RuntimeProvider, TokioRuntimeProvider};

/// A name server, and what was exchanged with it. What went over TCP isn't in it.
#[derive(Debug)]
pub struct NameServer {
    /// Where it is.
    pub addr: SocketAddr,
    queries: AtomicU64,
    replies: AtomicU64,
}

impl NameServer {
    pub(super) const fn new(addr: SocketAddr) -> Self {
        Self {
            addr,
            queries: AtomicU64::new(0),
            replies: AtomicU64::new(0),
        }
    }

    /// Datagrams sent to it.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.queries.load(Relaxed)
    }

    /// Datagrams that came from it.
    #[must_use]
    pub fn replies(&self) -> u64 {
        self.replies.load(Relaxed)
    }
}

/// The usual runtime, counting.
#[derive(Clone)]
pub(super) struct Counting {
    inner: TokioRuntimeProvider,
    servers: Arc<[NameServer]>,
}

impl Counting {
    pub(super) fn new(servers: &Arc<[NameServer]>) -> Self {
        Self {
            inner: TokioRuntimeProvider::default(),
            servers: Arc::clone(servers),
        }
    }
}

type Made<T> = Pin<Box<dyn Send + Future<Output = io::Result<T>>>>;

impl RuntimeProvider for Counting {
    type Handle = <TokioRuntimeProvider as RuntimeProvider>::Handle;
    type Timer = <TokioRuntimeProvider as RuntimeProvider>::Timer;
    type Udp = Counted;
    type Tcp = <TokioRuntimeProvider as RuntimeProvider>::Tcp;

    fn create_handle(&self) -> Self::Handle {
        self.inner.create_handle()
    }

    fn connect_tcp(
        &self,
        server: SocketAddr,
        bind: Option<SocketAddr>,
        timeout: Option<Duration>,
    ) -> Made<Self::Tcp> {
        self.inner.connect_tcp(server, bind, timeout)
    }

    fn bind_udp(&self, local: SocketAddr, server: SocketAddr) -> Made<Counted> {
        let binding = self.inner.bind_udp(local, server);
        let place = self.servers.iter().position(|known| known.addr == server);
        let servers = Arc::clone(&self.servers);
        Box::pin(async move {
            Ok(Counted {
                inner: binding.await?,
                servers,
                place,
            })
        })
    }
}

/// A socket toward one server.
pub(super) struct Counted {
    inner: <TokioRuntimeProvider as RuntimeProvider>::Udp,
    servers: Arc<[NameServer]>,
    place: Option<usize>,
}

impl Counted {
    fn count(&self, counter: fn(&NameServer) -> &AtomicU64) {
        if let Some(server) = self.place.and_then(|place| self.servers.get(place)) {
            counter(server).fetch_add(1, Relaxed);
        }
    }
}

impl DnsUdpSocket for Counted {
    type Time = <TokioRuntimeProvider as RuntimeProvider>::Timer;

    fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let received = DnsUdpSocket::poll_recv_from(&self.inner, cx, buf);
        if matches!(received, Poll::Ready(Ok(_))) {
            self.count(|server| &server.replies);
        }
        received
    }

    fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        let sent = DnsUdpSocket::poll_send_to(&self.inner, cx, buf, target);
        if matches!(sent, Poll::Ready(Ok(_))) {
            self.count(|server| &server.queries);
        }
        sent
    }
}
