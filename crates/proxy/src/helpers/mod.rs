//! Child processes that answer questions: authenticators, external ACLs, rewriters, store-ID,
//! certificate helpers. One implementation for all kinds; the stations that ask know what the words
//! mean, `wire::helper` how they are written.
//!
//! ```text
//!  workers        helper thread
//!  Pool::ask ──▶  keeper ──▶ child ⇄ process
//!      ▲          queue        │
//!      └───────────────────────┘ answer, or why there is none
//! ```
//!
//! All pools live on one thread with a runtime of its own, and are shared by all workers. Helpers are
//! not trusted to live, to answer, to answer in time or to make sense: whatever they do costs their
//! own questions, and every wait and buffer has a bound.

mod asked;
mod backoff;
mod child;
mod keeper;
mod options;
mod pool;
mod process;
mod question;
mod queue;
mod status;
mod stderr;
mod url;

use std::convert::Infallible;
use std::io;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use stats::{Cells, Counter};
use tokio::sync::{Notify, mpsc};

use child::Shared;
use keeper::Keeper;
pub use options::{Children, Kind, Options, Overload};
pub use pool::{Pool, Reserved};
pub use question::Failed;
pub use status::{ChildStatus, Phase, Status};
pub(crate) use url::{UrlHelper, UrlHelperLines, note};

/// The longest answer; Squid's buffer. A child that writes a longer line is killed.
pub const ANSWER_BYTES_MAX: usize = 32 * 1024;

/// So long is waited for an answer where no timeout is set. Squid waits for ever.
pub const ANSWER_WAIT_MAX: Duration = Duration::from_secs(180);

/// A child that shall end may take so long to answer what it has, and again to end after that.
const RETIRE_MAX: Duration = Duration::from_secs(30);

/// A process that has closed its output, or was killed, is given so long to be gone.
const END_GRACE: Duration = Duration::from_millis(500);

/// All pools of the program, and their thread; without a pool there is none. Clones are the same.
/// Call [`Helpers::stop`] before the program ends, or a helper that hangs outlives it.
#[derive(Clone, Debug)]
pub struct Helpers(Arc<Hall>);

#[derive(Debug)]
struct Hall {
    /// The helper thread counts here.
    cells: Arc<Cells>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    thread: Option<Thread>,
    pools: Vec<Weak<Pool>>,
}

/// The helper thread, from outside.
#[derive(Debug)]
struct Thread {
    runtime: tokio::runtime::Handle,
    /// The thread ends when all clones of this are gone; every pool has one.
    alive: mpsc::Sender<Infallible>,
    /// Ends the thread at once; its processes are killed.
    abort: Arc<Notify>,
    ended: std::sync::mpsc::Receiver<Infallible>,
}

impl Helpers {
    /// No pools yet. Their thread will count in `cells`.
    pub fn new(cells: Arc<Cells>) -> Self {
        let state = Mutex::default();
        Self(Arc::new(Hall { cells, state }))
    }

    /// The pool with these options: the running one if there is one, else a new one. So a reload
    /// restarts a pool only if its line has changed: ask for the new configuration's pools, then
    /// drop the old ones.
    ///
    /// # Errors
    /// When the helper thread can't be started. A program that can't be started is no error here:
    /// it is tried again, and questions say so.
    pub fn pool(&self, options: &Options) -> io::Result<Arc<Pool>> {
        let mut state = self.lock();
        state.pools.retain(|pool| pool.strong_count() > 0);
        let mut running = state.pools.iter().filter_map(Weak::upgrade);
        if let Some(pool) = running.find(|pool| pool.options() == options) {
            return Ok(pool);
        }
        let thread = match state.thread.take() {
            Some(thread) => thread,
            None => Thread::start()?,
        };
        let pool = Arc::new(self.open(&thread, options));
        state.pools.push(Arc::downgrade(&pool));
        state.thread = Some(thread);
        Ok(pool)
    }

    fn open(&self, thread: &Thread, options: &Options) -> Pool {
        let (jobs, queue) = mpsc::channel(pool::JOBS_ON_THE_WAY);
        let board = Arc::default();
        let cells = Arc::clone(&self.0.cells);
        let shared = Arc::new(Shared {
            options: options.clone(),
            board: Arc::clone(&board),
            cells: Arc::clone(&cells),
        });
        let keeper = thread.runtime.spawn(Keeper::new(shared, queue).run());
        let alive = thread.alive.clone();
        drop(thread.runtime.spawn(async move {
            if keeper.await.is_err_and(|error| error.is_panic()) {
                cells.count(Counter::PanicsCaught);
            }
            drop(alive);
        }));
        Pool::new(options.clone(), board, jobs)
    }

    /// Every pool that is in use.
    pub fn pools(&self) -> Vec<Arc<Pool>> {
        self.lock().pools.iter().filter_map(Weak::upgrade).collect()
    }

    /// Restarts every pool's children (log rotation).
    pub fn restart(&self) {
        for pool in self.pools() {
            pool.restart();
        }
    }

    /// Ends all pools: what was asked is answered, standard inputs are closed, processes end. After
    /// `grace` those that are left are killed. Did all end by themselves?
    pub fn stop(&self, grace: Duration) -> bool {
        for pool in self.pools() {
            pool.end();
        }
        let Some(thread) = self.lock().thread.take() else {
            return true;
        };
        drop(thread.alive);
        let in_time = is_over(&thread.ended, grace);
        if !in_time {
            thread.abort.notify_one();
            is_over(&thread.ended, END_GRACE);
        }
        in_time
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_over(ended: &std::sync::mpsc::Receiver<Infallible>, grace: Duration) -> bool {
    matches!(
        ended.recv_timeout(grace),
        Err(RecvTimeoutError::Disconnected)
    )
}

impl Thread {
    fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        let (alive, mut living) = mpsc::channel::<Infallible>(1);
        let (end, ended) = std::sync::mpsc::channel();
        let abort = Arc::new(Notify::new());
        let aborted = Arc::clone(&abort);
        let run = move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = living.recv() => {}
                    () = aborted.notified() => {}
                }
            });
            // Tasks that are left drop their processes, which kills them.
            drop(runtime);
            drop(end);
        };
        // Nobody joins the thread: `ended` says when it is over.
        drop(
            std::thread::Builder::new()
                .name("helpers".into())
                .spawn(run)?,
        );
        Ok(Self {
            runtime: handle,
            alive,
            abort,
            ended,
        })
    }
}

#[cfg(test)]
mod tests;
