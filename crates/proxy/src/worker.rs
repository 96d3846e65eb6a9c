//! A worker: one thread, one current-thread runtime, its own listening sockets, connection pools and
//! counters. All workers share the store, the name cache and the plan.

use std::cell::{Cell, RefCell};
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use net::clock::Clock;
use net::deadline::{TICK, Ticker};
use net::dns::Resolver;
use net::listener::accept::Pressure;
use stats::{Cells, Counter, Gauge};
use tokio::sync::{Notify, watch};
use wire::value::date::DATE_BYTES;

use crate::context::Context;
use crate::flow::Store;
use crate::hops::{Pool, peer::PROBE_SECS};
use crate::listen::accept;
use crate::listen::client::ClientIn;
use crate::listen::http1::Scratch;
use crate::log::LogHandle;
use crate::plan::Plan;
use crate::recycle::Recycle;

/// Idle hop connections kept by a worker: to one address, and in all.
const IDLE_PER_HOP_MAX: usize = 256;
const IDLE_MAX: usize = 4096;
/// Idle hop connections are looked through this often.
const SWEEP: Duration = Duration::from_secs(1);

/// What the program tells its workers.
#[derive(Debug, Clone)]
pub struct Orders {
    /// The plan for transactions that begin now.
    pub plan: Arc<Plan>,
    /// What to do.
    pub phase: Phase,
}

/// What a worker is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Serve.
    Serve,
    /// Take no more connections, finish what is under way for so long, and end.
    Drain(Duration),
    /// End.
    Stop,
}

/// What a worker is made from.
#[derive(Debug)]
pub struct Setup {
    /// Number of the worker, from 0.
    pub worker: usize,
    /// One socket for each `http_port`, in their order.
    pub listeners: Vec<TcpListener>,
    /// The plan, and what to do.
    pub orders: watch::Receiver<Orders>,
    /// The shared cache.
    pub store: Arc<Store>,
    /// The shared name cache.
    pub resolver: Resolver,
    /// The program's clock.
    pub clock: Clock,
    /// This worker's counters.
    pub cells: Arc<Cells>,
    /// Way to the access logs.
    pub log: LogHandle,
}

/// A running worker.
#[derive(Debug)]
pub(crate) struct Worker {
    context: RefCell<Rc<Context>>,
    pub(crate) ticker: Ticker,
    /// Deadlines of connections that wait for a request: all expire when the worker drains.
    pub(crate) idle_ticker: Ticker,
    pub(crate) scratch: Recycle<Box<Scratch>>,
    pub(crate) cells: Arc<Cells>,
    draining: Rc<Cell<bool>>,
    connections: Cell<usize>,
    last_closed: Notify,
}

/// Runs a worker to its end, on the runtime of the calling thread.
///
/// # Errors
///
/// A listening socket that can't be used.
pub async fn run(setup: Setup) -> std::io::Result<()> {
    let mut orders = setup.orders;
    let ticker = Ticker::new(TICK, Some(setup.clock));
    let idle_ticker = Ticker::new(TICK, None);
    tokio::task::spawn_local(ticker.clone().run());
    tokio::task::spawn_local(idle_ticker.clone().run());
    let plan = Arc::clone(&orders.borrow_and_update().plan);
    let pool = Pool::new(pool_options(&plan), &setup.cells);
    tokio::task::spawn_local(pool.clone().tend());
    let draining = Rc::new(Cell::new(false));
    let context = Context {
        plan,
        store: setup.store,
        clock: setup.clock,
        ticker: ticker.clone(),
        resolver: setup.resolver,
        pool: Rc::new(pool),
        cells: Arc::clone(&setup.cells),
        log: Rc::new(setup.log),
        buffers: Rc::default(),
        heads: Rc::default(),
        draining: Rc::clone(&draining),
        date: Cell::new((0, [b' '; DATE_BYTES])),
        rule_texts: RefCell::default(),
    };
    let worker = Rc::new(Worker {
        context: RefCell::new(Rc::new(context)),
        ticker,
        idle_ticker,
        scratch: Recycle::default(),
        cells: setup.cells,
        draining,
        connections: Cell::new(0),
        last_closed: Notify::new(),
    });
    let pressure = Pressure::default();
    let mut accepting = Vec::new();
    for (port, listener) in setup.listeners.into_iter().enumerate() {
        let acceptor = accept::open(listener, &pressure, &worker.cells)?;
        let task = accept::run(Rc::clone(&worker), acceptor, port);
        accepting.push(tokio::task::spawn_local(task));
    }
    let probing = (setup.worker == 0).then(|| tokio::task::spawn_local(probe(Rc::clone(&worker))));
    let grace = loop {
        if orders.changed().await.is_err() {
            break Duration::ZERO;
        }
        let now = orders.borrow_and_update().clone();
        match now.phase {
            Phase::Serve => worker.reload(now.plan),
            Phase::Drain(grace) => break grace,
            Phase::Stop => break Duration::ZERO,
        }
    };
    for task in accepting.iter().chain(&probing) {
        task.abort();
    }
    worker.drain(grace, &mut orders).await;
    Ok(())
}

impl Worker {
    /// The snapshot for a transaction that begins now.
    pub(crate) fn context(&self) -> Rc<Context> {
        Rc::clone(&self.context.borrow())
    }

    /// Waits for a request on an idle connection. `false`: it closed, waited too long, or is to
    /// close because the worker ends.
    pub(crate) async fn idle_wait(&self, input: &mut ClientIn, wait: Duration) -> bool {
        if self.draining.get() {
            return false;
        }
        self.cells.up(Gauge::ClientConnectionsIdle);
        let ready = input.ready(wait).await;
        self.cells.down(Gauge::ClientConnectionsIdle);
        ready
    }

    /// Counts a client connection until the guard is dropped.
    pub(crate) fn count_connection(self: &Rc<Self>) -> OpenConnection {
        self.connections.set(self.connections.get() + 1);
        self.cells.up(Gauge::ClientConnections);
        OpenConnection(Rc::clone(self))
    }

    /// Later transactions go by `plan`; all else stays.
    fn reload(&self, plan: Arc<Plan>) {
        let before = self.context();
        let context = Context {
            plan,
            store: Arc::clone(&before.store),
            clock: before.clock,
            ticker: before.ticker.clone(),
            resolver: before.resolver.clone(),
            pool: Rc::clone(&before.pool),
            cells: Arc::clone(&before.cells),
            log: Rc::clone(&before.log),
            buffers: Rc::clone(&before.buffers),
            heads: Rc::clone(&before.heads),
            draining: Rc::clone(&before.draining),
            date: before.date.clone(),
            rule_texts: RefCell::default(),
        };
        self.context.replace(Rc::new(context));
    }

    /// Closes idle connections, and waits for the others until `grace` is over or a second order
    /// comes.
    async fn drain(&self, grace: Duration, orders: &mut watch::Receiver<Orders>) {
        self.draining.set(true);
        self.idle_ticker.expire_all();
        let over = tokio::time::sleep(grace);
        tokio::pin!(over);
        while self.connections.get() > 0 {
            tokio::select! {
                () = self.last_closed.notified() => {}
                () = &mut over => return,
                changed = orders.changed() => {
                    if changed.is_err() || orders.borrow_and_update().phase == Phase::Stop {
                        return;
                    }
                }
            }
        }
    }
}

/// A client connection that counts as open.
#[derive(Debug)]
pub(crate) struct OpenConnection(Rc<Worker>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let worker = &self.0;
        worker.connections.set(worker.connections.get() - 1);
        worker.cells.down(Gauge::ClientConnections);
        if std::thread::panicking() {
            worker.cells.count(Counter::PanicsCaught);
        }
        if worker.connections.get() == 0 {
            worker.last_closed.notify_one();
        }
    }
}

fn pool_options(plan: &Plan) -> net::pool::Options {
    net::pool::Options {
        idle_per_hop_max: IDLE_PER_HOP_MAX,
        idle_max: IDLE_MAX,
        idle: plan.config.server_idle_pconn_timeout,
        sweep: SWEEP,
    }
}

/// Tries dead peers now and then; one that can be connected to is up again.
async fn probe(worker: Rc<Worker>) {
    loop {
        tokio::time::sleep(Duration::from_secs(PROBE_SECS)).await;
        let cx = worker.context();
        for peer in cx.plan.peers.iter().filter(|peer| !peer.is_up()) {
            if crate::fetch::can_connect(&cx, peer).await {
                peer.worked();
            }
        }
    }
}
