//! A worker: one thread, one current-thread runtime, its own listening sockets, connection pools and
//! counters. All workers share the store, the name cache and the plan.

//!
//! | phase | moved on by |
//! | --- | --- |
//! | serve: obeys each new plan | an order without the worker: retire; [`Phase`] |
//! | retire: takes no more connections, ends those there are after their next reply | the end of all that keeps it busy (`busy.rs`) |
//! | drain: the same, and closes idle ones | the same; the end of the grace |

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use net::affinity::Affinity;
use net::clock::Clock;
use net::deadline::{TICK, Ticker};
use net::dns::Resolver;
use stats::{Cells, Counter, Gauge};
use tokio::runtime::Handle;
use tokio::sync::watch;
use wire::value::date::DATE_BYTES;

use crate::busy::{Busy, Hold};
use crate::context::Context;
use crate::disk_ring::DiskRing;
use crate::flow::Store;
use crate::hops::{Pool, peer::PROBE_SECS};
use crate::internal::seat::{Seats, TOLD_MAX};
use crate::internal::{IdleHop, Letters, Pages, Roll, WorkerReport};
use crate::listen::accept::Listening;
use crate::listen::client::ClientIn;
use crate::listen::http1::Scratch;
use crate::log::AccessLog;
use crate::plan::Plan;
use crate::recycle::Recycle;
use crate::watch::Watch;

pub use crate::listen::accept::Sockets;

/// Idle hop connections kept by a worker: to one address, and in all.
const IDLE_PER_HOP_MAX: usize = 256;
const IDLE_MAX: usize = 4096;
/// Idle hop connections are looked through this often.
const SWEEP: Duration = Duration::from_secs(1);
/// How often the rounds of the event loop are counted, and memory is given back.
const LOOK: Duration = Duration::from_secs(1);
/// How long a worker that is about to end waits for a request that may be on its way.
const LAST_LOOK: Duration = Duration::from_millis(100);

/// What the program tells its workers: all that a reload can change.
#[derive(Debug, Clone)]
pub struct Orders {
    /// The plan for transactions that begin now.
    pub plan: Arc<Plan>,
    /// The access logs of that plan.
    pub log: AccessLog,
    /// The shared name cache.
    pub resolver: Resolver,
    /// Where to listen. Socket `n` of a port is for the member `n` of the crew, counted in a circle.
    pub sockets: Sockets,
    /// Who serves.
    pub crew: Arc<[Member]>,
    /// What to do.
    pub phase: Phase,
}

/// A worker as its orders name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Never used again.
    pub id: u64,
    /// The core that it is to run on, from 0 (`cpu_affinity_map`).
    pub core: Option<usize>,
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
    /// Who it is.
    pub id: u64,
    /// What to do.
    pub orders: watch::Receiver<Orders>,
    /// The shared cache.
    pub store: Arc<Store>,
    /// The program's clock.
    pub clock: Clock,
    /// This worker's counters.
    pub cells: Arc<Cells>,
    /// Whom transactions are told of while somebody looks.
    pub watch: Watch,
    /// Who makes pages of our own.
    pub pages: Arc<dyn Pages>,
    /// Where all workers can be asked what they do.
    pub roll: Roll,
    /// Gives back what the thread's memory holds for nobody. Called now and then.
    pub tidy: fn(),
}

/// A running worker.
#[derive(Debug)]
pub(crate) struct Worker {
    id: u64,
    context: RefCell<Rc<Context>>,
    pub(crate) ticker: Ticker,
    /// Deadlines of connections that wait for a request: all expire when the worker drains.
    pub(crate) idle_ticker: Ticker,
    pub(crate) scratch: Recycle<Box<Scratch>>,
    pub(crate) cells: Arc<Cells>,
    disk_ring: DiskRing,
    /// What its connections do.
    pub(crate) seats: Seats,
    /// No reply keeps its connection open.
    draining: Rc<Cell<bool>>,
    /// Connections between two requests have only [`LAST_LOOK`] left.
    closing: Cell<bool>,
    busy: Rc<Busy>,
}

/// Runs a worker to its end, on the runtime of the calling thread.
///
/// # Errors
///
/// A listening socket that can't be used at the start.
pub async fn run(setup: Setup) -> std::io::Result<()> {
    let mut orders = setup.orders.clone();
    let first = orders.borrow_and_update().clone();
    let letters = setup.roll.join();
    let tidy = setup.tidy;
    let worker = Worker::new(setup, &first);
    tokio::task::spawn_local(answer(Rc::clone(&worker), letters, tidy));
    let mut listening = Listening::default();
    let mut affinity = Affinity::of_current_thread()?;
    let Some(place) = worker.place(&first) else {
        return Ok(());
    };
    worker.listen(&mut listening, &first, place)?;
    pin(&mut affinity, &first, place);
    if first.phase != Phase::Serve {
        orders.mark_changed(); // an order to end that came before this worker
    }
    // Orders hold a plan and sockets: they are let go as soon as they are obeyed.
    drop(first);
    let probing = (place == 0).then(|| tokio::task::spawn_local(probe(Rc::clone(&worker))));
    let leave = loop {
        if orders.changed().await.is_err() {
            break Leave::Drain(Duration::ZERO);
        }
        let now = orders.borrow_and_update().clone();
        match now.phase {
            Phase::Serve => {}
            Phase::Drain(grace) => break Leave::Drain(grace),
            Phase::Stop => break Leave::Drain(Duration::ZERO),
        }
        worker.obey(&now);
        let Some(place) = worker.place(&now) else {
            break Leave::Retire;
        };
        if let Err(error) = worker.listen(&mut listening, &now, place) {
            tracing::error!("cannot listen: {error}");
        }
        pin(&mut affinity, &now, place);
    };
    worker.draining.set(true);
    listening.close(matches!(leave, Leave::Drain(_))).await;
    if let Some(probing) = probing {
        probing.abort();
    }
    let grace = match leave {
        Leave::Drain(grace) => Some(grace),
        Leave::Retire => worker.retire(&mut orders).await,
    };
    if let Some(grace) = grace {
        worker.drain(grace, &mut orders).await;
    }
    Ok(())
}

/// How a worker comes to its end.
enum Leave {
    Retire,
    Drain(Duration),
}

fn pin(affinity: &mut Affinity, orders: &Orders, place: usize) {
    let core = orders.crew.get(place).and_then(|member| member.core);
    if let Err(error) = affinity.pin(core) {
        let core = core.map_or(0, |core| core + 1);
        tracing::error!("cpu_affinity_map: cannot use core {core}: {error}");
    }
}

impl Worker {
    fn new(setup: Setup, orders: &Orders) -> Rc<Self> {
        let ticker = Ticker::new(TICK, Some(setup.clock));
        let idle_ticker = Ticker::new(TICK, None);
        tokio::task::spawn_local(ticker.clone().run());
        tokio::task::spawn_local(idle_ticker.clone().run());
        let pool = Pool::new(pool_options(&orders.plan), &setup.cells);
        tokio::task::spawn_local(pool.clone().tend());
        let draining = Rc::new(Cell::new(false));
        let disk_ring = DiskRing::new(&setup.cells);
        let busy = Rc::<Busy>::default();
        let context = Context {
            plan: Arc::clone(&orders.plan),
            store: setup.store,
            ring: disk_ring.arrange(&orders.plan.config),
            clock: setup.clock,
            ticker: ticker.clone(),
            resolver: orders.resolver.counting_in(&setup.cells),
            pool: Rc::new(pool),
            cells: Arc::clone(&setup.cells),
            tally: Rc::default(),
            log: Rc::new(orders.log.handle(place(orders, setup.id).unwrap_or(0))),
            buffers: Rc::default(),
            heads: Rc::default(),
            draining: Rc::clone(&draining),
            background: Rc::default(),
            busy: Rc::clone(&busy),
            date: Cell::new((0, [b' '; DATE_BYTES])),
            refusals: RefCell::default(),
            lookout: setup.watch.lookout(setup.id + 1),
            pages: setup.pages,
            roll: setup.roll,
        };
        Rc::new(Self {
            id: setup.id,
            context: RefCell::new(Rc::new(context)),
            ticker,
            idle_ticker,
            scratch: Recycle::default(),
            cells: setup.cells,
            disk_ring,
            seats: Seats::default(),
            draining,
            closing: Cell::new(false),
            busy,
        })
    }

    /// Our place in the crew, if we have one still.
    fn place(&self, orders: &Orders) -> Option<usize> {
        place(orders, self.id)
    }

    /// Listens where the orders say.
    fn listen(
        self: &Rc<Self>,
        listening: &mut Listening,
        orders: &Orders,
        place: usize,
    ) -> std::io::Result<()> {
        let size = orders.crew.len();
        let ports = orders.sockets.iter().enumerate();
        let mine = ports.flat_map(|(port, sockets)| {
            let mine = sockets.iter().skip(place).step_by(size);
            mine.map(move |socket| (port, socket))
        });
        listening.arrange(self, &orders.plan, &orders.sockets, mine)
    }

    /// The snapshot for a transaction that begins now.
    pub(crate) fn context(&self) -> Rc<Context> {
        Rc::clone(&self.context.borrow())
    }

    /// Brings the count of the event loop's rounds up to date.
    fn count_loops(&self) {
        let rounds = Handle::current().metrics().worker_park_count(0);
        let known = self.cells.get(Counter::EventLoops);
        let more = rounds.saturating_sub(known);
        self.cells.add(Counter::EventLoops, more);
    }

    /// What it does now.
    fn report(&self) -> WorkerReport {
        self.count_loops();
        let mut report = WorkerReport {
            worker: self.id,
            requests: self.cells.get(Counter::ClientRequests),
            busy: Handle::current().metrics().worker_total_busy_duration(0),
            tasks: Handle::current().metrics().num_alive_tasks(),
            tally: self.context().tally.borrow().clone(),
            ..WorkerReport::default()
        };
        self.seats.tell(&mut report);
        self.context().pool.each(|address, open, idle| {
            if report.hops.len() < TOLD_MAX {
                report.hops.push(IdleHop {
                    address: *address,
                    open,
                    idle,
                });
            }
        });
        report
    }

    /// Waits for a request on an idle connection. `false`: it closed, waited too long, or is to
    /// close because the worker ends.
    pub(crate) async fn idle_wait(&self, input: &mut ClientIn, wait: Duration) -> bool {
        let wait = if self.closing.get() {
            wait.min(LAST_LOOK)
        } else {
            wait
        };
        self.cells.up(Gauge::ClientConnectionsIdle);
        let ready = input.ready(wait).await;
        self.cells.down(Gauge::ClientConnectionsIdle);
        ready
    }

    /// Counts a client connection until the guard is dropped.
    pub(crate) fn count_connection(self: &Rc<Self>) -> OpenConnection {
        self.cells.up(Gauge::ClientConnections);
        OpenConnection {
            worker: Rc::clone(self),
            _hold: self.busy.hold(),
        }
    }

    /// Later transactions go by these orders; all else stays.
    fn obey(&self, orders: &Orders) {
        let before = self.context();
        // Any place will do for the few lines of a worker that has none.
        let place = self.place(orders).unwrap_or(0);
        before
            .pool
            .set_idle(orders.plan.config.server_idle_pconn_timeout);
        let context = Context {
            plan: Arc::clone(&orders.plan),
            store: Arc::clone(&before.store),
            ring: self.disk_ring.arrange(&orders.plan.config),
            clock: before.clock,
            ticker: before.ticker.clone(),
            resolver: orders.resolver.counting_in(&before.cells),
            pool: Rc::clone(&before.pool),
            cells: Arc::clone(&before.cells),
            tally: Rc::clone(&before.tally),
            log: Rc::new(orders.log.handle(place)),
            buffers: Rc::clone(&before.buffers),
            heads: Rc::clone(&before.heads),
            draining: Rc::clone(&before.draining),
            background: Rc::clone(&before.background),
            busy: Rc::clone(&before.busy),
            date: before.date.clone(),
            refusals: RefCell::default(),
            lookout: Arc::clone(&before.lookout),
            pages: Arc::clone(&before.pages),
            roll: before.roll.clone(),
        };
        self.context.replace(Rc::new(context));
    }

    /// Waits for the end of all that it has. What connections still ask for goes by the orders of the day.
    /// Gives the grace when there is no more time.
    async fn retire(&self, orders: &mut watch::Receiver<Orders>) -> Option<Duration> {
        loop {
            tokio::select! {
                () = self.busy.over() => return None,
                changed = orders.changed() => {
                    let now = orders.borrow_and_update().clone();
                    match now.phase {
                        Phase::Serve if changed.is_ok() => self.obey(&now),
                        Phase::Drain(grace) => return Some(grace),
                        Phase::Serve | Phase::Stop => return Some(Duration::ZERO),
                    }
                }
            }
        }
    }

    /// Closes idle connections, and waits for the others until `grace` is over or a second order
    /// comes.
    async fn drain(&self, grace: Duration, orders: &mut watch::Receiver<Orders>) {
        self.closing.set(true);
        self.idle_ticker.expire_all();
        let over = tokio::time::sleep(grace);
        tokio::pin!(over);
        loop {
            tokio::select! {
                () = self.busy.over() => return,
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
pub(crate) struct OpenConnection {
    worker: Rc<Worker>,
    _hold: Hold,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let worker = &self.worker;
        worker.cells.down(Gauge::ClientConnections);
        if std::thread::panicking() {
            worker.cells.count(Counter::PanicsCaught);
        }
    }
}

fn place(orders: &Orders, id: u64) -> Option<usize> {
    orders.crew.iter().position(|member| member.id == id)
}

fn pool_options(plan: &Plan) -> net::pool::Options {
    net::pool::Options {
        idle_per_hop_max: IDLE_PER_HOP_MAX,
        idle_max: IDLE_MAX,
        idle: plan.config.server_idle_pconn_timeout,
        sweep: SWEEP,
    }
}

/// Says what the worker does, to whoever calls the roll; and cleans up now and then.
async fn answer(worker: Rc<Worker>, mut letters: Letters, tidy: fn()) {
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            letter = letters.recv() => match letter {
                // Who has asked may have gone.
                Some(letter) => drop(letter.send(worker.report())),
                None => return,
            },
            _ = look.tick() => {
                worker.count_loops();
                tidy();
            }
        }
    }
}

/// Finds peers by their names, so that it is known where they are before they are needed. Tries dead ones now and
/// then; one that can be connected to is up again.
async fn probe(worker: Rc<Worker>) {
    loop {
        let cx = worker.context();
        for peer in cx.plan.peers.iter().filter(|peer| !peer.is_found()) {
            // A failure is remembered by the name cache for a while, and told where the peer is used.
            if let Ok(addresses) = cx.resolver.resolve(&peer.config.host).await {
                peer.is_at(&addresses);
            }
        }
        drop(cx);
        tokio::time::sleep(Duration::from_secs(PROBE_SECS)).await;
        let cx = worker.context();
        for peer in cx.plan.peers.iter().filter(|peer| !peer.is_up()) {
            if crate::fetch::can_connect(&cx, peer).await {
                peer.worked();
            }
        }
    }
}
