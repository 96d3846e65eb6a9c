//! A question on its way, and what it may end with.

use stats::{Cells, Counter};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use wire::helper::{Answer, Verdict};

/// A question is asked anew so often after the child that had it ended. One that kills every child
/// it meets must not meet them all.
const DEATHS_MAX: u8 = 1;

/// A question is asked anew so often after the answer `BH`, as Squid does.
const BROKEN_MAX: u8 = 2;

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// Too many questions wait, and have done so for long.
    #[error("too many questions wait for a helper")]
    Overloaded,
    /// No answer came in time.
    #[error("the helper did not answer in time")]
    TimedOut,
    /// The process ended, twice; or the reserved one did, or its reservation timed out.
    #[error("the helper process ended")]
    Died,
    /// The process said what is no answer.
    #[error("the helper's answer makes no sense")]
    Garbage,
    /// No process can be started, or those that are end at once; it is tried again, ever less often.
    #[error("the helper program cannot be started")]
    CannotStart,
    /// The question is too long, or holds what ends a message; it wasn't asked.
    #[error("not a question for a helper")]
    BadQuestion,
    /// The program is stopping, or its helper thread is lost.
    #[error("helpers are not available")]
    Unavailable,
}

/// What asking ends with.
pub(super) type Outcome = Result<Answer, Failed>;

/// A question, from the asker to the child that answers it.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) line: Box<[u8]>,
    pub(super) asked: Instant,
    reply: oneshot::Sender<Outcome>,
    deaths: u8,
    broken: u8,
}

impl Question {
    pub(super) fn new(line: &[u8]) -> (Self, oneshot::Receiver<Outcome>) {
        let (reply, outcome) = oneshot::channel();
        let question = Self {
            line: line.into(),
            asked: Instant::now(),
            reply,
            deaths: 0,
            broken: 0,
        };
        (question, outcome)
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        self.reply.is_closed()
    }

    pub(super) fn settle(self, outcome: Outcome, cells: &Cells) {
        cells.count(match &outcome {
            Ok(_) => Counter::HelperAnswers,
            Err(_) => Counter::HelperFailures,
        });
        if self.reply.send(outcome).is_err() {
            cells.count(Counter::HelperLate);
        }
    }

    /// Settles the question unless it was answered `BH` and deserves another try: then it is back.
    pub(super) fn settle_or_retry(mut self, answer: Answer, cells: &Cells) -> Option<Self> {
        if answer.verdict == Verdict::Bh && self.broken < BROKEN_MAX {
            self.broken += 1;
            cells.count(Counter::HelperRetries);
            return Some(self);
        }
        self.settle(Ok(answer), cells);
        None
    }

    /// The child that worked on it is gone: the question is back if it deserves another try.
    pub(super) fn survive(mut self, cells: &Cells) -> Option<Self> {
        if self.deaths < DEATHS_MAX {
            self.deaths += 1;
            cells.count(Counter::HelperRetries);
            return Some(self);
        }
        self.settle(Err(Failed::Died), cells);
        None
    }
}

/// A child of one's own: what is sent here, it is asked. Dropping this gives the child back.
pub(super) type Seat = mpsc::Sender<Question>;

/// What waits for a free child.
#[derive(Debug)]
pub(super) enum Job {
    Ask(Question),
    Reserve {
        since: Instant,
        reply: oneshot::Sender<Result<Seat, Failed>>,
    },
}

impl Job {
    pub(super) fn since(&self) -> Instant {
        match self {
            Self::Ask(question) => question.asked,
            Self::Reserve { since, .. } => *since,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Ask(question) => question.line.len(),
            Self::Reserve { .. } => 0,
        }
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        match self {
            Self::Ask(question) => question.is_withdrawn(),
            Self::Reserve { reply, .. } => reply.is_closed(),
        }
    }

    pub(super) fn fail(self, failed: Failed, cells: &Cells) {
        match self {
            Self::Ask(question) => question.settle(Err(failed), cells),
            Self::Reserve { reply, .. } => {
                cells.count(Counter::HelperFailures);
                // Who no longer waits needs no answer.
                drop(reply.send(Err(failed)));
            }
        }
    }
}
