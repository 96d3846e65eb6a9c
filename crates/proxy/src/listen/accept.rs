//! The listening sockets of a worker: takes connections from each and gives every one a task. A reload
//! opens new sockets, closes others, and leaves alone what stays.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;

use net::listener::accept::{Acceptor, Pressure};
use net::stream::Stream;
use stats::Counter;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::access::ConnectionLogin;
use crate::clients::Visit;
use crate::context::Context;
use crate::fetch::Pinned;
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
    closing: Rc<Closing>,
    task: JoinHandle<()>,
}

/// What ends a task that accepts.
#[derive(Debug, Default)]
struct Closing {
    asked: Notify,
    /// The socket goes to nobody else: it is shut.
    for_good: Cell<bool>,
}

impl Listening {
    /// Listens at exactly `mine`, each with the index of its port: opens those that are new and closes
    /// those that are gone; for good, unless they are among `all` and so another worker's.
    ///
    /// # Errors
    ///
    /// A socket that can't be watched; the others are served.
    pub(crate) fn arrange<'s>(
        &mut self,
        worker: &Rc<Worker>,
        plan: &Plan,
        all: &Sockets,
        mine: impl Iterator<Item = (usize, &'s Arc<TcpListener>)>,
    ) -> io::Result<()> {
        let mut outcome = Ok(());
        let mut before = std::mem::take(&mut self.open);
        for (port, socket) in mine {
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
            let mut others = all.iter().flatten();
            let goes_on = others.any(|socket| Arc::ptr_eq(socket, &gone.socket));
            gone.ask_to_close(!goes_on);
        }
        outcome
    }

    /// Takes what waits, and listens no more. `for_good`: nor does anybody else.
    pub(crate) async fn close(self, for_good: bool) {
        for open in &self.open {
            open.ask_to_close(for_good);
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
        let closing = Rc::<Closing>::default();
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

impl Open {
    fn ask_to_close(&self, for_good: bool) {
        self.closing.for_good.set(for_good);
        self.closing.asked.notify_one();
    }
}

/// Accepts until it is told to close.
async fn run(
    worker: Rc<Worker>,
    mut acceptor: Acceptor,
    port: Rc<RefCell<Rc<PortPlan>>>,
    closing: Rc<Closing>,
) {
    let mut batch = Vec::new();
    let mut open = true;
    while open {
        tokio::select! {
            biased;
            () = closing.asked.notified() => {
                acceptor.take_waiting(&mut batch);
                if closing.for_good.get() {
                    acceptor.shut();
                }
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
    let now_ns = worker.context().clock.now().mono_ns;
    let Ok(visit) = enter(&worker.context(), stream.peer_addr(), now_ns) else {
        return;
    };
    let addresses = (stream.peer_addr(), stream.local_addr());
    let seat = worker.seats.take(addresses, &port, now_ns);
    let connection = Connection {
        login: ConnectionLogin::default(),
        client: stream.peer_addr(),
        local: stream.local_addr(),
        port,
        visit,
        seat: Some(seat),
        pinned: Pinned::default(),
        notes: RefCell::default(),
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

/// A client has as many connections as it may have (`client_ip_max_connections`).
struct TooMany;

/// Enters the connection among those of its client, where these are counted.
fn enter(cx: &Context, client: SocketAddr, now_ns: u64) -> Result<Option<Visit>, TooMany> {
    let Some(clients) = &cx.plan.clients else {
        return Ok(None);
    };
    let limit = cx.plan.config.client_ip_max_connections;
    let visit = clients.enter(client.ip(), limit, now_ns);
    if visit.is_none() {
        cx.cells.count(Counter::LimitClientConnections);
        if clients.may_complain(now_ns) {
            let (client, limit) = (client.ip(), limit.unwrap_or_default());
            tracing::warn!("{client} attempting more than {limit} connections.");
        }
    }
    visit.map(Some).ok_or(TooMany)
}
