//! The life of one helper process: writes its questions, reads its answers, notices when it is of no
//! use any more.
//!
//! | inbox | mode | what is done |
//! | --- | --- | --- |
//! | open | `Shared` | the keeper's questions, as many as there are channels |
//! | open | `Reserved` | one asker's questions, one after the other |
//! | closed | either | what was asked is finished; then standard input is closed, and the process ends |
//!
//! A process that says what nobody asked, or what is no answer, is out of step: its next line could be
//! taken for the answer to another user's question. So it is killed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use stats::{Cells, Counter, Gauge, Histogram};
use tokio::io::{AsyncReadExt as _, Interest};
use tokio::net::unix::pipe;
use tokio::process::ChildStdout;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout};
use wire::helper::{Answer, Lines, write_question};

use super::asked::{AskedTable, Matched};
use super::options::Options;
use super::process::{Pipes, Process};
use super::question::{Failed, Question};
use super::status::{Board, Desk, Phase};
use super::{ANSWER_BYTES_MAX, END_GRACE, RETIRE_MAX, stderr};

/// Bytes read at a time.
const READ_BYTES: usize = 4096;

/// What a pool's tasks share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) board: Arc<Board>,
    pub(super) cells: Arc<Cells>,
}

/// What the keeper gives a child to do.
#[derive(Debug)]
pub(super) enum Work {
    Ask(Question),
    /// All that comes in here, and nothing else until its sender is gone.
    Serve(mpsc::Receiver<Question>),
}

#[derive(Debug)]
enum Mode {
    Shared,
    Reserved {
        questions: mpsc::Receiver<Question>,
        used: Instant,
    },
}

#[derive(Debug)]
enum Inbox {
    Open(mpsc::Receiver<Work>),
    Closed { since: Instant },
}

/// Why a child's life is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum End {
    #[error("retired")]
    Retired,
    #[error("ended by itself")]
    Gone,
    #[error("killed: it said nothing for too long")]
    Hung,
    #[error("killed: it did not end in time")]
    Lingered,
    #[error("killed: it wrote what nobody asked for")]
    Unasked,
    #[error("killed: it wrote what is no answer ({0})")]
    Garbage(wire::helper::Malformed),
    #[error("killed: it wrote a line without an end")]
    TooLong,
}

enum Event {
    Read(io::Result<usize>),
    Wrote(io::Result<usize>),
    Given(Option<Work>),
    Asked(Option<Question>),
    Tick,
}

pub(super) struct Child {
    shared: Arc<Shared>,
    desk: Arc<Desk>,
    inbox: Inbox,
    mode: Mode,
    asked: AskedTable,
    stdin: pipe::Sender,
    stdout: ChildStdout,
    out: Vec<u8>,
    lines: Lines,
    ticks: Interval,
}

/// Runs a child to its end. Its questions are answered, or back on the board, before this returns.
pub(super) async fn run(
    shared: Arc<Shared>,
    desk: Arc<Desk>,
    inbox: mpsc::Receiver<Work>,
    (mut process, pipes): (Process, Pipes),
) -> End {
    let label = shared.options.label();
    let source = format!("{label} #{} (pid {})", desk.status().id, process.pid);
    let mut log = JoinSet::new();
    let cells = Arc::clone(&shared.cells);
    let name = source.clone();
    drop(log.spawn(async move { stderr::log(pipes.stderr, &name, &cells).await }));
    let options = &shared.options;
    let mut ticks = interval(tick(options.answer_wait()));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut child = Child {
        inbox: Inbox::Open(inbox),
        mode: Mode::Shared,
        asked: AskedTable::new(options.has_channels()),
        stdin: pipes.stdin,
        stdout: pipes.stdout,
        out: Vec::new(),
        lines: Lines::new(options.kind.terminator(), ANSWER_BYTES_MAX),
        ticks,
        shared,
        desk,
    };
    let end = child.live().await;
    let cells = Arc::clone(&child.shared.cells);
    child.close();
    let grace = match end {
        End::Retired => RETIRE_MAX,
        End::Gone => END_GRACE,
        _ => Duration::ZERO,
    };
    let status = process.end(grace).await;
    let end = match end {
        End::Retired if status.is_none() => End::Lingered,
        end => end,
    };
    // Its last words are often the most useful ones.
    drop(timeout(END_GRACE, log.join_next()).await);
    tell(&source, end, status, &cells);
    end
}

/// Deadlines are looked at so often.
fn tick(wait: Duration) -> Duration {
    (wait / 8).clamp(Duration::from_millis(20), Duration::from_secs(1))
}

fn tell(source: &str, end: End, status: Option<std::process::ExitStatus>, cells: &Cells) {
    match end {
        End::Retired => return,
        End::Gone => {}
        End::Hung | End::Lingered => cells.count(Counter::HelperHung),
        End::Unasked | End::Garbage(_) => cells.count(Counter::HelperGarbage),
        End::TooLong => {
            cells.count(Counter::HelperGarbage);
            cells.count(Counter::LimitHelperLine);
        }
    }
    cells.count(Counter::HelperDeaths);
    match status {
        Some(status) => tracing::warn!("{source} {end}: {status}"),
        None => tracing::warn!("{source} {end}"),
    }
}

impl Child {
    async fn live(&mut self) -> End {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            if let Inbox::Closed { .. } = self.inbox
                && self.asked.is_empty()
                && matches!(self.mode, Mode::Shared)
            {
                return End::Retired;
            }
            let event = self.next(&mut buffer).await;
            let read = buffer.as_slice();
            if let Err(end) = self.take(event, read) {
                return end;
            }
        }
    }

    /// Reading comes first: what a child says before it is asked must not pass for an answer.
    async fn next(&mut self, buffer: &mut [u8]) -> Event {
        let Self {
            inbox,
            mode,
            asked,
            stdin,
            stdout,
            out,
            ticks,
            ..
        } = self;
        let is_waiting = !asked.is_empty()
            || matches!(inbox, Inbox::Closed { .. })
            || matches!(mode, Mode::Reserved { .. });
        tokio::select! {
            biased;
            read = stdout.read(buffer) => Event::Read(read),
            wrote = write(stdin, out), if !out.is_empty() => Event::Wrote(wrote),
            closed = closed(stdin) => Event::Wrote(Err(closed)),
            work = given(inbox) => Event::Given(work),
            question = asked_by_holder(mode), if asked.is_empty() => Event::Asked(question),
            _ = ticks.tick(), if is_waiting => Event::Tick,
        }
    }

    fn take(&mut self, event: Event, read: &[u8]) -> Result<(), End> {
        match event {
            Event::Read(Ok(0) | Err(_)) | Event::Wrote(Err(_)) => return Err(End::Gone),
            Event::Read(Ok(count)) => return self.read(read.get(..count).unwrap_or_default()),
            Event::Wrote(Ok(count)) => drop(self.out.drain(..count)),
            Event::Given(Some(Work::Ask(question))) | Event::Asked(Some(question)) => {
                self.write(question);
            }
            Event::Given(Some(Work::Serve(questions))) => {
                let used = Instant::now();
                self.mode = Mode::Reserved { questions, used };
            }
            Event::Given(None) => {
                let since = Instant::now();
                self.inbox = Inbox::Closed { since };
            }
            Event::Asked(None) => self.release(),
            Event::Tick => return self.look_at_deadlines(),
        }
        Ok(())
    }

    fn write(&mut self, question: Question) {
        let now = Instant::now();
        let reserved = match &mut self.mode {
            Mode::Shared => false,
            Mode::Reserved { used, .. } => {
                *used = now;
                true
            }
        };
        // The keeper has counted its own before they came here.
        if reserved {
            self.desk.status().pending += 1;
            self.shared.cells.up(Gauge::HelperInFlight);
        }
        self.shared.board.count_sent(&self.desk);
        let channel = self.asked.next_channel();
        let terminator = self.shared.options.kind.terminator();
        write_question(channel, &question.line, terminator, &mut self.out);
        self.asked.insert(question, now);
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), End> {
        if !self.out.is_empty() && !self.shared.options.has_channels() {
            // It can't be the answer to a question that it hasn't read to the end.
            return Err(End::Unasked);
        }
        self.lines.push(bytes);
        let now = Instant::now();
        while let Some(line) = self.lines.next_line().map_err(|_| End::TooLong)? {
            let matched = self.asked.take(line, now);
            let Matched::Answer(question, line, took) = matched else {
                if matches!(matched, Matched::Unasked) {
                    return Err(End::Unasked);
                }
                self.shared.cells.count(Counter::HelperLate);
                self.desk.status().pending -= 1;
                self.shared.cells.down(Gauge::HelperInFlight);
                continue;
            };
            let answer = Answer::parse(line, self.shared.options.kind.dialect());
            self.answered(question, answer, took)?;
        }
        if self.asked.is_empty() && self.lines.has_rest() {
            return Err(End::Unasked);
        }
        self.shared.board.bell.notify_one();
        Ok(())
    }

    fn answered(
        &mut self,
        question: Question,
        answer: Result<Answer, wire::helper::Malformed>,
        took: Duration,
    ) -> Result<(), End> {
        let Shared { board, cells, .. } = &*self.shared;
        self.desk.status().pending -= 1;
        cells.down(Gauge::HelperInFlight);
        let answer = match answer {
            Ok(answer) => answer,
            Err(malformed) => {
                question.settle(Err(Failed::Garbage), cells);
                return Err(End::Garbage(malformed));
            }
        };
        board.count_received(&self.desk, took);
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        cells.record(Histogram::HelperTime, took_us);
        match self.mode {
            Mode::Reserved { .. } => question.settle(Ok(answer), cells),
            Mode::Shared => {
                if let Some(again) = question.settle_or_retry(answer, cells) {
                    board.give_back(again);
                }
            }
        }
        Ok(())
    }

    fn look_at_deadlines(&mut self) -> Result<(), End> {
        let now = Instant::now();
        let Shared {
            options,
            board,
            cells,
        } = &*self.shared;
        let wait = options.answer_wait();
        for _ in 0..self.asked.expire(wait, now, cells) {
            board.count_timed_out(Some(&self.desk));
        }
        if self.asked.is_hung(wait, options.slots(), now) {
            return Err(End::Hung);
        }
        let is_closed = match self.inbox {
            Inbox::Open(_) => false,
            Inbox::Closed { since } if now.duration_since(since) >= RETIRE_MAX => {
                return Err(End::Lingered);
            }
            Inbox::Closed { .. } => true,
        };
        if let Mode::Reserved { used, .. } = self.mode
            && self.asked.is_empty()
            && now.duration_since(used) >= options.reservation
            && (is_closed || board.has_queue())
        {
            self.release();
        }
        Ok(())
    }

    /// Ends a reservation: by its holder, or because it was left unused while others wait.
    fn release(&mut self) {
        self.mode = Mode::Shared;
        let mut status = self.desk.status();
        if status.phase == Phase::Reserved {
            status.phase = Phase::Ready;
        }
        drop(status);
        self.shared.board.bell.notify_one();
    }

    /// Closes standard input and output. What was not answered is asked of others, unless it belongs
    /// to a reservation; what never reached the process is asked of others in any case.
    fn close(mut self) {
        let Shared { board, cells, .. } = &*self.shared;
        for question in self.asked.take_open() {
            match self.mode {
                Mode::Shared => {
                    if let Some(again) = question.survive(cells) {
                        board.give_back(again);
                    }
                }
                Mode::Reserved { .. } => question.settle(Err(Failed::Died), cells),
            }
        }
        if let Inbox::Open(inbox) = &mut self.inbox {
            inbox.close();
            while let Ok(work) = inbox.try_recv() {
                if let Work::Ask(question) = work {
                    board.give_back(question);
                }
            }
        }
    }
}

async fn write(stdin: &pipe::Sender, bytes: &[u8]) -> io::Result<usize> {
    loop {
        stdin.writable().await?;
        match stdin.try_write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            wrote => return wrote,
        }
    }
}

/// Resolves when the process reads no more: what it has been asked, it may never have seen.
async fn closed(stdin: &pipe::Sender) -> io::Error {
    match stdin.ready(Interest::ERROR).await {
        Ok(_) => io::ErrorKind::BrokenPipe.into(),
        Err(error) => error,
    }
}

async fn given(inbox: &mut Inbox) -> Option<Work> {
    match inbox {
        Inbox::Open(inbox) => inbox.recv().await,
        Inbox::Closed { .. } => std::future::pending().await,
    }
}

async fn asked_by_holder(mode: &mut Mode) -> Option<Question> {
    match mode {
        Mode::Reserved { questions, .. } => questions.recv().await,
        Mode::Shared => std::future::pending().await,
    }
}
