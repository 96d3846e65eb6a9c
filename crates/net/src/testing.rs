//! What the tests of this crate share.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpStream};

use crate::stream::Stream;

/// Runs a test as a worker runs: one thread, and tasks that stay on it.
pub(crate) fn on_worker<T>(test: impl Future<Output = T>) -> T {
    runtime(false).block_on(test)
}

/// The same with a clock that stands still and jumps to the next timer when nothing else is to do.
pub(crate) fn on_paused_worker<T>(test: impl Future<Output = T>) -> T {
    runtime(true).block_on(test)
}

fn runtime(paused: bool) -> tokio::runtime::LocalRuntime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(paused)
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap()
}

/// Port 0 at 127.0.0.1.
pub(crate) fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Both ends of a connection.
pub(crate) async fn pair() -> (Stream, Stream) {
    let listener = TcpListener::bind(loopback()).await.unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).await;
    let (theirs, _) = listener.accept().await.unwrap();
    let [ours, theirs] = [ours.unwrap(), theirs].map(|tcp| Stream::from_tcp(tcp).unwrap());
    (ours, theirs)
}
