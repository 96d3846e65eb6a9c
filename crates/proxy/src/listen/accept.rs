//! The listening sockets of a worker: takes connections from each and gives every one a task. A reload
//! opens new sockets, closes others, and leaves alone what stays.

use std::cell::RefCell;
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;

use net::listener::accept::{Acceptor, Pressure};
use net::stream::Stream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::flow::Connection;
use crate::listen::http1::serve_connection;
use crate::plan::{Plan, PortPlan};
use crate::worker::Worker;

/// The sockets of each `http_port`, in the order of the plan's ports.
pub type Sockets = Arc<[Vec<Arc<TcpListener>>]>;

/// What a worker listens at.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    open: Vec<Open>,
    pressure: Pressure,
}

/// A socket that connections are taken from.
#[derive(Debug)]
struct Open {
    socket: Arc<TcpListener>,
    port: Rc<RefCell<Rc<PortPlan>>>,
    closing: Rc<Notify>,
    task: JoinHandle<()>,
}

impl Listening {
    /// Listens at exactly these sockets, each with the index of its port: opens those that are new
    /// and closes those that are gone.
    ///
    /// # Errors
    ///
    /// A socket that can't be watched; the others are served.
    pub(crate) fn arrange<'s>(
        &mut self,
        worker: &Rc<Worker>,
        plan: &Plan,
        sockets: impl Iterator<Item = (usize, &'s Arc<TcpListener>)>,
    ) -> io::Result<()> {
        let mut outcome = Ok(());
        let mut before = std::mem::take(&mut self.open);
        for (port, socket) in sockets {
            let Some(port) = plan.ports.get(port) else {
                continue;
            };
            let port = Rc::new(port.clone());
            let known = before
                .iter()
                .position(|open| Arc::ptr_eq(&open.socket, socket));
            match known {
                Some(known) => {
                    let open = before.swap_remove(known);
                    open.port.replace(port);
                    self.open.push(open);
                }
                None => match self.open(worker, socket, port) {
                    Ok(open) => self.open.push(open),
                    Err(error) => outcome = Err(error),
                },
            }
        }
        for gone in before {
            gone.closing.notify_one();
        }
        outcome
    }

    /// Takes what waits, and listens no more.
    pub(crate) async fn close(self) {
        for open in &self.open {
            open.closing.notify_one();
        }
        for open in self.open {
            // A task that panicked has closed its socket too.
            drop(open.task.await);
        }
    }

    fn open(
        &self,
        worker: &Rc<Worker>,
        socket: &Arc<TcpListener>,
        port: Rc<PortPlan>,
    ) -> io::Result<Open> {
        let acceptor = Acceptor::new(socket.try_clone()?, &self.pressure, &worker.cells)?;
        let port = Rc::new(RefCell::new(port));
        let closing = Rc::default();
        let task = run(
            Rc::clone(worker),
            acceptor,
            Rc::clone(&port),
            Rc::clone(&closing),
        );
        Ok(Open {
            socket: Arc::clone(socket),
            port,
            closing,
            task: tokio::task::spawn_local(task),
        })
    }
}

/// Accepts until it is told to close.
async fn run(
    worker: Rc<Worker>,
    mut acceptor: Acceptor,
    port: Rc<RefCell<Rc<PortPlan>>>,
    closing: Rc<Notify>,
) {
    let mut batch = Vec::new();
    let mut open = true;
    while open {
        tokio::select! {
            biased;
            () = closing.notified() => {
                acceptor.take_waiting(&mut batch);
                open = false;
            }
            () = acceptor.accept(&mut batch) => {}
        }
        for stream in batch.drain(..) {
            begin(&worker, stream, Rc::clone(&port.borrow()));
        }
    }
}

fn begin(worker: &Rc<Worker>, stream: Stream, port: Rc<PortPlan>) {
    let connection = Connection {
        client: stream.peer_addr(),
        local: stream.local_addr(),
        port,
    };
    // Counted before its task first runs: a worker that ends waits for it.
    let open = worker.count_connection();
    tokio::task::spawn_local(serve_connection(
        Rc::clone(worker),
        stream,
        connection,
        open,
    ));
}
