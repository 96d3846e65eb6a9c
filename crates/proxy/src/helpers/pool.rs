//! The askers' side of a pool: from any thread, with an answer or the reason why there is none.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use wire::helper::Answer;

use super::options::{Kind, Options};
use super::question::{Failed, Job, Outcome, Question, Seat};
use super::status::{Board, Status};

/// Questions on their way to the keeper; beyond that askers wait for it.
pub(super) const JOBS_ON_THE_WAY: usize = 256;

/// Child processes that run the same program and answer the same kind of question. Shared by all
/// workers. When the last holder drops it, what was asked is answered and the processes end.
#[derive(Debug)]
pub struct Pool {
    options: Options,
    board: Arc<Board>,
    jobs: mpsc::Sender<Job>,
}

impl Pool {
    pub(super) const fn new(options: Options, board: Arc<Board>, jobs: mpsc::Sender<Job>) -> Self {
        Self {
            options,
            board,
            jobs,
        }
    }

    /// What it was started with.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Asks a question: a line without channel and terminator, worded with [`wire::helper::quote`].
    /// Dropping the future withdraws it.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn ask(&self, line: &[u8]) -> Result<Answer, Failed> {
        if self.options.kind.is_stateful() {
            return self.reserve().await?.ask(line).await;
        }
        check(line, self.options.kind)?;
        let (question, outcome) = Question::new(line);
        self.send(Job::Ask(question)).await?;
        outcome_of(outcome).await
    }

    /// Reserves a child for questions that belong together (the handshakes of NTLM and Negotiate).
    ///
    /// # Errors
    /// Why there is none.
    pub async fn reserve(&self) -> Result<Reserved, Failed> {
        let (reply, seat) = oneshot::channel();
        let since = Instant::now();
        self.send(Job::Reserve { since, reply }).await?;
        let seat = seat.await.unwrap_or(Err(Failed::Unavailable))?;
        let kind = self.options.kind;
        Ok(Reserved { seat, kind })
    }

    /// Do fewer questions wait than `queue-size`? If not, a station with a bypass may go without.
    pub fn has_room(&self) -> bool {
        !self.board.is_full()
    }

    /// Ends the children when they have answered what they have, and starts new ones (log rotation).
    pub fn restart(&self) {
        self.board.order_restart();
    }

    /// What the manager's pages show.
    pub fn status(&self) -> Status {
        self.board.status()
    }

    pub(super) fn end(&self) {
        self.board.order_end();
    }

    async fn send(&self, job: Job) -> Result<(), Failed> {
        let sent = self.jobs.send(job).await;
        sent.map_err(|_| Failed::Unavailable)
    }
}

/// A child of one's own, until it is dropped.
#[derive(Debug)]
pub struct Reserved {
    seat: Seat,
    kind: Kind,
}

impl Reserved {
    /// Asks the reserved child. Dropping the future withdraws the question.
    ///
    /// # Errors
    /// Why there is no answer. After [`Failed::Died`] the reservation is over.
    pub async fn ask(&mut self, line: &[u8]) -> Result<Answer, Failed> {
        check(line, self.kind)?;
        let (question, outcome) = Question::new(line);
        let sent = self.seat.send(question).await;
        sent.map_err(|_| Failed::Died)?;
        outcome_of(outcome).await
    }

    /// Has the child ended, or has the reservation timed out?
    pub fn is_over(&self) -> bool {
        self.seat.is_closed()
    }
}

/// A question is one message of bounded length. One that holds what ends a message would be two.
fn check(line: &[u8], kind: Kind) -> Result<(), Failed> {
    let is_one = !line.contains(&kind.terminator());
    if is_one && line.len() <= kind.question_bytes_max() {
        Ok(())
    } else {
        Err(Failed::BadQuestion)
    }
}

async fn outcome_of(outcome: oneshot::Receiver<Outcome>) -> Outcome {
    // Who had the question is gone without a word: its task was ended.
    outcome.await.unwrap_or(Err(Failed::Died))
}
