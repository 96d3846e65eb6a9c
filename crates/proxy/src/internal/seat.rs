//! What a worker does now: a seat for each client connection, written by the connection as its requests come and go, and
//! read when somebody calls the roll.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use http::Method;
use slab::Slab;

use crate::plan::PortPlan;
use crate::record::Record;
use crate::tally::Tally;

/// Connections, transactions and hops that a worker tells of, each.
pub(crate) const TOLD_MAX: usize = 10_000;
/// Bytes of a URL that are shown.
const URL_BYTES_MAX: usize = 2048;

/// What a worker has to say.
#[derive(Debug, Clone, Default)]
pub struct WorkerReport {
    /// The worker's number; never used again.
    pub worker: u64,
    /// Requests that it has answered.
    pub requests: u64,
    /// Time that it has worked, and not waited for events.
    pub busy: Duration,
    /// Open client connections, those beyond the bound of the list included.
    pub connections_open: usize,
    /// Client connections, 10,000 at most.
    pub connections: Vec<ConnectionReport>,
    /// Requests that are being answered, 10,000 at most.
    pub transactions: Vec<TransactionReport>,
    /// Connections to hops, by address, 10,000 at most.
    pub hops: Vec<IdleHop>,
    /// Tasks of its runtime: connections, and what serves them all.
    pub tasks: usize,
    /// What it has counted of misses.
    pub tally: Tally,
}

/// A client connection.
#[derive(Debug, Clone)]
pub struct ConnectionReport {
    /// Its number on this worker; used again.
    pub id: usize,
    /// Who connected.
    pub client: SocketAddr,
    /// To which of our addresses.
    pub local: SocketAddr,
    /// Name of the port.
    pub port: String,
    /// When it was accepted: nanoseconds of the program's clock.
    pub opened_ns: u64,
    /// Requests answered.
    pub requests: u64,
    /// Bytes of those requests.
    pub bytes_in: u64,
    /// Bytes of their replies.
    pub bytes_out: u64,
    /// Is a request being answered?
    pub busy: bool,
}

/// A request that is being answered.
#[derive(Debug, Clone)]
pub struct TransactionReport {
    /// The connection that it came by.
    pub connection: usize,
    /// Who asked.
    pub client: SocketAddr,
    /// To which of our addresses.
    pub local: SocketAddr,
    /// Its method.
    pub method: String,
    /// Its URL, the first 2048 bytes; visible ASCII.
    pub url: String,
    /// When its first byte came: nanoseconds of the program's clock.
    pub started_ns: u64,
    /// Bytes of the reply that have gone out.
    pub bytes_out: u64,
    /// Requests that the connection had before it.
    pub requests_before: u64,
}

/// Connections to a hop.
#[derive(Debug, Clone, Copy)]
pub struct IdleHop {
    /// Its address.
    pub address: SocketAddr,
    /// Open ones, idle ones included.
    pub open: usize,
    /// Those that wait for a request.
    pub idle: usize,
}

/// The seats of a worker.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seats(Rc<RefCell<Slab<Rc<Sitting>>>>);

/// A connection's seat, until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Seats,
    place: usize,
    sitting: Rc<Sitting>,
}

/// What a seat shows.
#[derive(Debug)]
struct Sitting {
    client: SocketAddr,
    local: SocketAddr,
    port: Rc<PortPlan>,
    opened_ns: u64,
    requests: Cell<u64>,
    bytes_in: Cell<u64>,
    bytes_out: Cell<u64>,
    progress: Progress,
    serving: RefCell<Option<Serving>>,
}

/// Bytes of a reply that have gone out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(pub(crate) Rc<Cell<u64>>);

#[derive(Debug)]
struct Serving {
    method: Method,
    url: Vec<u8>,
    started_ns: u64,
}

impl Seats {
    /// A seat for a connection.
    pub(crate) fn take(
        &self,
        (client, local): (SocketAddr, SocketAddr),
        port: &Rc<PortPlan>,
        opened_ns: u64,
    ) -> Seat {
        let sitting = Rc::new(Sitting {
            client,
            local,
            port: Rc::clone(port),
            opened_ns,
            requests: Cell::new(0),
            bytes_in: Cell::new(0),
            bytes_out: Cell::new(0),
            progress: Progress::default(),
            serving: RefCell::new(None),
        });
        Seat {
            place: self.0.borrow_mut().insert(Rc::clone(&sitting)),
            seats: self.clone(),
            sitting,
        }
    }

    /// Tells of all connections and their transactions.
    pub(crate) fn tell(&self, report: &mut WorkerReport) {
        let seats = self.0.borrow();
        report.connections_open = seats.len();
        for (id, sitting) in seats.iter().take(TOLD_MAX) {
            let transaction = sitting.transaction(id);
            report.connections.push(ConnectionReport {
                id,
                client: sitting.client,
                local: sitting.local,
                port: sitting.port.name.clone(),
                opened_ns: sitting.opened_ns,
                requests: sitting.requests.get(),
                bytes_in: sitting.bytes_in.get(),
                bytes_out: sitting.bytes_out.get(),
                busy: transaction.is_some(),
            });
            report.transactions.extend(transaction);
        }
    }
}

impl Sitting {
    fn transaction(&self, connection: usize) -> Option<TransactionReport> {
        let serving = self.serving.borrow();
        let serving = serving.as_ref()?;
        Some(TransactionReport {
            connection,
            client: self.client,
            local: self.local,
            method: serving.method.as_str().to_owned(),
            url: String::from_utf8_lossy(&serving.url).into_owned(),
            started_ns: serving.started_ns,
            bytes_out: self.progress.0.get(),
            requests_before: self.requests.get(),
        })
    }
}

impl Seat {
    /// A request begins. `room` is lent until its end: an idle connection holds no buffer.
    pub(crate) fn begin(&self, started_ns: u64, method: &Method, url: &[u8], room: &mut Vec<u8>) {
        let mut shown = std::mem::take(room);
        shown.clear();
        shown.extend_from_slice(url.get(..URL_BYTES_MAX).unwrap_or(url));
        self.sitting.progress.0.set(0);
        self.sitting.serving.replace(Some(Serving {
            method: method.clone(),
            url: shown,
            started_ns,
        }));
    }

    /// How far the reply has come.
    pub(crate) fn progress(&self) -> Progress {
        self.sitting.progress.clone()
    }

    /// How many requests have ended.
    pub(crate) fn requests(&self) -> u64 {
        self.sitting.requests.get()
    }

    /// It has ended; gives the room back.
    pub(crate) fn end(&self, record: &Record, room: &mut Vec<u8>) {
        let sitting = &self.sitting;
        if let Some(serving) = sitting.serving.take() {
            *room = serving.url;
        }
        let add = |cell: &Cell<u64>, more| cell.set(cell.get().saturating_add(more));
        add(&sitting.requests, 1);
        add(&sitting.bytes_in, record.request_bytes);
        add(&sitting.bytes_out, record.sent_bytes());
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        drop(self.seats.0.borrow_mut().try_remove(self.place));
    }
}
