//! Takes connections from a listening socket and gives each a task.

use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;

use net::listener::accept::{Acceptor, Pressure};
use stats::Cells;

use crate::flow::Connection;
use crate::listen::http1::serve_connection;
use crate::worker::Worker;

/// Takes a listening socket over, on the worker's runtime.
///
/// # Errors
///
/// It can't be watched.
pub(crate) fn open(
    listener: TcpListener,
    pressure: &Pressure,
    cells: &Arc<Cells>,
) -> io::Result<Acceptor> {
    Acceptor::new(listener, pressure, cells)
}

/// Accepts until the task is aborted.
pub(crate) async fn run(worker: Rc<Worker>, mut acceptor: Acceptor, port: usize) {
    let mut batch = Vec::new();
    loop {
        acceptor.accept(&mut batch).await;
        for stream in batch.drain(..) {
            let connection = Connection {
                client: stream.peer_addr(),
                local: stream.local_addr(),
                port,
            };
            tokio::task::spawn_local(serve_connection(Rc::clone(&worker), stream, connection));
        }
    }
}
