//! Calls the roll: asks all workers at once what they do. Each has a small letter box, emptied by a task of its own; who
//! doesn't answer in time is left out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::seat::WorkerReport;

/// How long is waited for all of them.
const PATIENCE: Duration = Duration::from_secs(1);
/// Calls that wait for a worker; who calls then does without it.
const LETTERS_MAX: usize = 16;

/// Asks for a report.
pub(crate) type Letter = oneshot::Sender<WorkerReport>;
/// A worker's letter box.
pub(crate) type Letters = mpsc::Receiver<Letter>;

/// The workers of the program. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Roll(Arc<Mutex<Vec<mpsc::Sender<Letter>>>>);

impl Roll {
    /// Puts a worker on the roll, until it drops its letter box.
    pub(crate) fn join(&self) -> Letters {
        let (sender, letters) = mpsc::channel(LETTERS_MAX);
        self.lock().push(sender);
        letters
    }

    /// Asks all workers at once, and gives what they say within a second, by their numbers.
    pub async fn call(&self) -> Vec<WorkerReport> {
        let mut awaited = Vec::new();
        {
            let mut boxes = self.lock();
            boxes.retain(|sender| !sender.is_closed());
            for sender in boxes.iter() {
                let (letter, answer) = oneshot::channel();
                if sender.try_send(letter).is_ok() {
                    awaited.push(answer);
                }
            }
        }
        let end = Instant::now() + PATIENCE;
        let mut reports = Vec::new();
        for answer in awaited {
            if let Ok(Ok(report)) = timeout_at(end, answer).await {
                reports.push(report);
            }
        }
        reports.sort_by_key(|report| report.worker);
        reports
    }

    fn lock(&self) -> MutexGuard<'_, Vec<mpsc::Sender<Letter>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_is_there_answers_and_nobody_waits_for_the_others() {
        let roll = Roll::default();
        let (mut there, _silent, gone) = (roll.join(), roll.join(), roll.join());
        drop(gone);
        let answering = async {
            let letter = there.recv().await.unwrap();
            letter
                .send(WorkerReport {
                    worker: 7,
                    ..WorkerReport::default()
                })
                .unwrap();
        };
        let (reports, ()) = tokio::join!(roll.call(), answering);
        assert_eq!(reports.len(), 1);
        assert_eq!(reports[0].worker, 7);
        assert_eq!(roll.lock().len(), 2);
    }
}
