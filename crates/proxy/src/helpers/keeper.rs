//! Keeps one pool: queues questions, gives them to children, starts children, buries them. One task
//! per pool, on the helper thread.
//!
//! | course | children | ends when |
//! | --- | --- | --- |
//! | `Open` | as many as are needed | nobody can ask any more, or the program stops: `Closing` |
//! | `Closing` | as many as what was asked needs; then they retire | the last child has ended |

use std::ops::ControlFlow;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;

use stats::{Counter, Gauge};
use tokio::sync::mpsc;
use tokio::task::{self, AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::backoff::Backoff;
use super::child::{self, End, Shared, Work};
use super::options::Overload;
use super::process::Process;
use super::question::{Failed, Job};
use super::queue::{Load, Queue};
use super::status::{Desk, Phase};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Open,
    Closing,
}

/// A child that takes questions.
struct Place {
    desk: Arc<Desk>,
    inbox: mpsc::Sender<Work>,
    task: AbortHandle,
}

/// A child that finishes what it has.
struct Retiree {
    desk: Arc<Desk>,
    task: AbortHandle,
}

pub(super) struct Keeper {
    shared: Arc<Shared>,
    jobs: mpsc::Receiver<Job>,
    course: Course,
    queue: Queue,
    /// What the gauge shows of the queue.
    shown: i64,
    backoff: Backoff,
    tasks: JoinSet<End>,
    places: Vec<Place>,
    retirees: Vec<Retiree>,
    /// Children started so far.
    started: u64,
}

impl Keeper {
    pub(super) fn new(shared: Arc<Shared>, jobs: mpsc::Receiver<Job>) -> Self {
        Self {
            queue: Queue::new(shared.options.queue_size()),
            shared,
            jobs,
            course: Course::Open,
            shown: 0,
            backoff: Backoff::default(),
            tasks: JoinSet::new(),
            places: Vec::new(),
            retirees: Vec::new(),
            started: 0,
        }
    }

    /// Serves until nobody asks any more and all children have ended.
    pub(super) async fn run(mut self) {
        while self.look_around().is_continue() {
            let wake = self.next_look();
            tokio::select! {
                job = self.jobs.recv(), if self.course == Course::Open => match job {
                    Some(job) => self.admit(job),
                    None => self.course = Course::Closing,
                },
                Some(ended) = self.tasks.join_next_with_id() => match ended {
                    Ok((task, end)) => self.bury(task, Ok(end)),
                    Err(error) => self.bury(error.id(), Err(&error)),
                },
                () = self.shared.board.bell.notified() => {}
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
        }
    }

    /// Does what there is to do now, without waiting.
    fn look_around(&mut self) -> ControlFlow<()> {
        let now = Instant::now();
        if self.shared.board.takes_end() {
            // What was asked before is still answered.
            self.jobs.close();
        }
        for question in self.shared.board.take_returned() {
            self.queue.put_back(Job::Ask(question));
        }
        if self.shared.board.takes_restart() {
            self.retire_all();
        }
        self.expire(now);
        self.note_success();
        self.hand_out();
        self.start_wanted(now);
        if self.places.is_empty() && self.backoff.is_down() {
            self.refuse_all();
        }
        self.show();
        if self.course == Course::Closing && self.queue.len() == 0 {
            self.retire_all();
            if self.tasks.is_empty() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// When to look around even if nothing happens.
    fn next_look(&self) -> Option<Instant> {
        let oldest = self.queue.since();
        let expires = oldest.and_then(|since| since.checked_add(self.shared.options.answer_wait()));
        let starts = self.backoff.not_before().filter(|_| self.wanted() > 0);
        expires.into_iter().chain(starts).min()
    }

    fn admit(&mut self, job: Job) {
        let Shared {
            options,
            board,
            cells,
        } = &*self.shared;
        cells.count(Counter::HelperQuestions);
        if self.queue.len() == 0 && self.freest().is_some() {
            self.queue.put_back(job);
            return;
        }
        let before = self.queue.load();
        if let Err(job) = self.queue.admit(job, Instant::now()) {
            cells.count(Counter::LimitHelperQueue);
            board.count_refused();
            job.fail(Failed::Overloaded, cells);
        }
        let label = options.label();
        match (before, self.queue.load()) {
            (Load::Normal, Load::Over { .. }) => tracing::warn!(
                "{label}: {} questions wait for {} processes; consider more children",
                self.queue.len(),
                self.places.len()
            ),
            (Load::Over { .. }, Load::Refusing) => match options.children.overload {
                Overload::Refuse => tracing::error!("{label}: overloaded for long; refusing"),
                Overload::Die => tracing::error!(
                    "{label}: overloaded for long; refusing (on-persistent-overload=die would end Squid)"
                ),
            },
            _ => {}
        }
    }

    /// Tells those who have waited too long for a free child.
    fn expire(&mut self, now: Instant) {
        let Shared {
            options,
            board,
            cells,
        } = &*self.shared;
        let Some(before) = now.checked_sub(options.answer_wait()) else {
            return;
        };
        while let Some(job) = self.queue.take_expired(before) {
            if !job.is_withdrawn() {
                cells.count(Counter::HelperTimeouts);
                board.count_timed_out(None);
                job.fail(Failed::TimedOut, cells);
            }
        }
    }

    /// The child with the fewest questions that can take one more.
    fn freest(&self) -> Option<&Place> {
        let slots = self.shared.options.slots();
        let free = self.places.iter().filter_map(|place| {
            let status = place.desk.status();
            let is_free = status.phase == Phase::Ready && status.pending < slots;
            (is_free && !place.inbox.is_closed()).then_some((status.pending, place))
        });
        free.min_by_key(|(pending, _)| *pending)
            .map(|(_, place)| place)
    }

    /// Gives what waits to children that are free.
    fn hand_out(&mut self) {
        while self.freest().is_some()
            && let Some(job) = self.queue.take()
        {
            let Some(Place { desk, inbox, .. }) = self.freest() else {
                return;
            };
            let work = match job {
                Job::Ask(question) => {
                    desk.status().pending += 1;
                    self.shared.cells.up(Gauge::HelperInFlight);
                    Work::Ask(question)
                }
                Job::Reserve { reply, .. } => {
                    desk.status().phase = Phase::Reserved;
                    let (seat, questions) = mpsc::channel(1);
                    // Without a holder the reservation ends by itself.
                    drop(reply.send(Ok(seat)));
                    Work::Serve(questions)
                }
            };
            // There is room for as many as the child has slots. If it has just ended, its task is
            // still to give back what it has; this one comes back here.
            if let Err(mpsc::error::TrySendError::Closed(Work::Ask(question))) =
                inbox.try_send(work)
            {
                self.queue.put_back(Job::Ask(question));
            }
        }
    }

    /// How many children should be started.
    fn wanted(&self) -> usize {
        let options = &self.shared.options;
        let room = options.children_max().saturating_sub(self.places.len());
        let to_keep = match self.course {
            Course::Open => options.children.startup.saturating_sub(self.places.len()),
            Course::Closing => 0,
        };
        let for_queue = match self.queue.len() {
            0 => 0,
            waiting => waiting.div_ceil(options.slots()).max(options.children.idle),
        };
        let wanted = room.min(to_keep.max(for_queue));
        if !self.backoff.is_on() {
            return wanted;
        }
        // After a setback one is tried; the others follow when it has answered.
        let is_untried = |place: &Place| place.desk.status().received == 0;
        wanted.min(usize::from(!self.places.iter().any(is_untried)))
    }

    fn start_wanted(&mut self, now: Instant) {
        let wanted = self.wanted();
        if wanted == 0 || !self.backoff.may_start(now) {
            return;
        }
        let options = &self.shared.options;
        tracing::info!(
            "{}: starting {wanted} of at most {} processes",
            options.label(),
            options.children_max()
        );
        for _ in 0..wanted {
            if !self.start() {
                break;
            }
        }
        self.hand_out();
    }

    fn start(&mut self) -> bool {
        let Shared {
            options,
            board,
            cells,
        } = &*self.shared;
        let (process, pipes) = match Process::start(&options.command) {
            Ok(started) => started,
            Err(error) => {
                cells.count(Counter::HelperStartFailures);
                let program = options.command.first().map(|word| word.display());
                match program {
                    Some(program) => {
                        tracing::error!("{}: cannot start {program}: {error}", options.label());
                    }
                    None => tracing::error!("{}: no program to start", options.label()),
                }
                let now = Instant::now();
                self.backoff.failed(now, now);
                return false;
            }
        };
        self.started += 1;
        cells.count(Counter::HelperStarts);
        cells.up(Gauge::HelperChildren);
        let desk = Arc::new(Desk::new(
            self.started,
            process.pid,
            pipes.stdin.as_raw_fd(),
        ));
        board.add(Arc::clone(&desk));
        let (inbox, work) = mpsc::channel(options.slots());
        let life = child::run(
            Arc::clone(&self.shared),
            Arc::clone(&desk),
            work,
            (process, pipes),
        );
        let task = self.tasks.spawn(life);
        self.places.push(Place { desk, inbox, task });
        true
    }

    /// Lets all children finish what they have; new ones take their places. Of those that were told
    /// so before and haven't ended yet, no more are borne than a pool may have children.
    fn retire_all(&mut self) {
        for Place { desk, task, .. } in self.places.drain(..) {
            desk.status().phase = Phase::Retiring;
            self.retirees.push(Retiree { desk, task });
        }
        let surplus = self
            .retirees
            .len()
            .saturating_sub(self.shared.options.children_max());
        for retiree in self.retirees.iter().take(surplus) {
            retiree.task.abort();
        }
    }

    /// A child's task has ended.
    fn bury(&mut self, task: task::Id, end: Result<End, &task::JoinError>) {
        let Shared { board, cells, .. } = &*self.shared;
        let place = self.places.iter().position(|place| place.task.id() == task);
        let retiree = self.retirees.iter().position(|one| one.task.id() == task);
        let desk = match (place, retiree) {
            (Some(place), _) => self.places.swap_remove(place).desk,
            (_, Some(retiree)) => self.retirees.remove(retiree).desk,
            (None, None) => return,
        };
        let status = *desk.status();
        board.remove(&desk);
        cells.down(Gauge::HelperChildren);
        let pending = i64::try_from(status.pending).unwrap_or(0);
        cells.shift(Gauge::HelperInFlight, -pending);
        match end {
            Ok(End::Retired) => return,
            Err(error) if error.is_panic() => cells.count(Counter::PanicsCaught),
            _ => {}
        }
        board.count_death();
        if place.is_some() && status.received == 0 {
            self.backoff.failed(desk.started, Instant::now());
            if self.backoff.is_down()
                && let Some(next) = self.backoff.not_before()
            {
                let pause = next.saturating_duration_since(Instant::now());
                let label = self.shared.options.label();
                tracing::error!(
                    "{label}: processes end without an answer; next try in {pause:.1?}"
                );
            }
        }
    }

    fn note_success(&mut self) {
        if !self.backoff.is_on() {
            return;
        }
        for place in &self.places {
            if place.desk.status().received > 0 {
                self.backoff.succeeded(place.desk.started);
            }
        }
    }

    fn refuse_all(&mut self) {
        while let Some(job) = self.queue.take() {
            job.fail(Failed::CannotStart, &self.shared.cells);
        }
    }

    fn show(&mut self) {
        let length = self.queue.len();
        self.shared.board.show_queue(length, self.queue.is_full());
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let change = length - self.shown;
        self.shared.cells.shift(Gauge::HelperQueue, change);
        self.shown = length;
    }
}
