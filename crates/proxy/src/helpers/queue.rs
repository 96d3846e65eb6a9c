//! Questions that wait for a free child, and when there are too many of them.
//!
//! | load | new questions | moves on when |
//! | --- | --- | --- |
//! | `Normal` | wait | `queue-size` wait: `Over` |
//! | `Over` | wait, up to the hard limits | fewer wait: `Normal`; after [`OVERLOAD_MAX`]: `Refusing` |
//! | `Refusing` | are refused | fewer wait: `Normal` |

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::question::Job;

/// So long may more than `queue-size` questions wait before new ones are refused, as in Squid.
pub(super) const OVERLOAD_MAX: Duration = Duration::from_secs(180);

/// Questions that wait at most, whatever `queue-size` says; Squid has no such limit.
const JOBS_MAX: usize = 8192;

/// Bytes of the questions that wait, at most.
const BYTES_MAX: usize = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    Normal,
    Over { since: Instant },
    Refusing,
}

#[derive(Debug)]
pub(super) struct Queue {
    jobs: VecDeque<Job>,
    bytes: usize,
    /// `queue-size`
    size: usize,
    load: Load,
}

impl Queue {
    pub(super) const fn new(size: usize) -> Self {
        Self {
            jobs: VecDeque::new(),
            bytes: 0,
            size,
            load: Load::Normal,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(super) fn load(&self) -> Load {
        self.load
    }

    /// Are there as many as `queue-size` allows?
    pub(super) fn is_full(&self) -> bool {
        self.jobs.len() >= self.size
    }

    /// Takes a job to the end of the queue, or gives it back when it is refused.
    pub(super) fn admit(&mut self, job: Job, now: Instant) -> Result<(), Job> {
        self.load = match self.load {
            _ if !self.is_full() => Load::Normal,
            Load::Normal => Load::Over { since: now },
            Load::Over { since } if now.duration_since(since) >= OVERLOAD_MAX => Load::Refusing,
            load => load,
        };
        let fits = self.jobs.len() < JOBS_MAX && self.bytes + job.bytes() <= BYTES_MAX;
        if self.load == Load::Refusing || !fits {
            return Err(job);
        }
        self.bytes += job.bytes();
        self.jobs.push_back(job);
        Ok(())
    }

    /// Takes a job that was in work already to the front. It is never refused: there are no more of
    /// them than children could work on.
    pub(super) fn put_back(&mut self, job: Job) {
        self.bytes += job.bytes();
        self.jobs.push_front(job);
    }

    /// The oldest job that somebody still waits for.
    pub(super) fn take(&mut self) -> Option<Job> {
        loop {
            let job = self.pop()?;
            if !job.is_withdrawn() {
                return Some(job);
            }
        }
    }

    /// The oldest job, if it came at `before` or earlier.
    pub(super) fn take_expired(&mut self, before: Instant) -> Option<Job> {
        let is_expired = self.since()? <= before;
        is_expired.then(|| self.pop())?
    }

    /// Since when the oldest job waits.
    pub(super) fn since(&self) -> Option<Instant> {
        self.jobs.front().map(Job::since)
    }

    fn pop(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front()?;
        self.bytes = self.bytes.saturating_sub(job.bytes());
        if !self.is_full() || self.jobs.is_empty() {
            self.load = Load::Normal;
        }
        Some(job)
    }
}

#[cfg(test)]
mod tests {
    use super::super::question::Question;
    use super::*;

    fn job(line: &[u8]) -> (Job, impl Sized + use<>) {
        let (question, outcome) = Question::new(line);
        (Job::Ask(question), outcome)
    }

    #[test]
    fn overload_is_borne_for_three_minutes_then_refused_until_fewer_wait() {
        let mut queue = Queue::new(2);
        let mut outcomes = Vec::new();
        let mut admit = |queue: &mut Queue, now| {
            let (job, outcome) = job(b"x");
            outcomes.push(outcome);
            queue.admit(job, now).is_ok()
        };
        let start = Instant::now();
        for _ in 0..5 {
            assert!(admit(&mut queue, start));
        }
        assert_eq!(queue.load(), Load::Over { since: start });
        assert!(admit(
            &mut queue,
            start + OVERLOAD_MAX - Duration::from_secs(1)
        ));
        assert!(!admit(&mut queue, start + OVERLOAD_MAX));
        assert_eq!((queue.len(), queue.load()), (6, Load::Refusing));
        for _ in 0..5 {
            assert!(queue.take().is_some());
        }
        assert_eq!(queue.load(), Load::Normal);
        assert!(admit(&mut queue, start + OVERLOAD_MAX));
    }

    #[test]
    fn a_queue_of_size_zero_recovers_when_it_is_empty() {
        let mut queue = Queue::new(0);
        let start = Instant::now();
        let (first, _one) = job(b"x");
        let (second, _two) = job(b"x");
        assert!(queue.admit(first, start).is_ok());
        assert!(queue.admit(second, start + OVERLOAD_MAX).is_err());
        assert!(queue.take().is_some());
        assert_eq!(queue.load(), Load::Normal);
    }

    #[test]
    fn bytes_and_jobs_have_hard_limits() {
        let now = Instant::now();
        let mut queue = Queue::new(usize::MAX);
        let (big, _one) = job(&vec![b'x'; BYTES_MAX]);
        let (small, _two) = job(b"x");
        assert!(queue.admit(big, now).is_ok());
        assert!(queue.admit(small, now).is_err());
        drop(queue.take());
        let kept: Vec<_> = (0..JOBS_MAX)
            .map(|_| {
                let (job, outcome) = job(b"");
                assert!(queue.admit(job, now).is_ok());
                outcome
            })
            .collect();
        let (surplus, _three) = job(b"");
        assert!(queue.admit(surplus, now).is_err());
        assert_eq!(kept.len(), queue.len());
    }

    #[test]
    fn what_nobody_waits_for_is_passed_over_and_what_was_in_work_comes_first() {
        let now = Instant::now();
        let mut queue = Queue::new(9);
        let (withdrawn, outcome) = job(b"withdrawn");
        drop(outcome);
        let (second, _two) = job(b"second");
        let (back, _three) = job(b"back");
        for job in [withdrawn, second] {
            assert!(queue.admit(job, now).is_ok());
        }
        queue.put_back(back);
        assert_eq!(queue.take().map(|job| job.bytes()), Some(4));
        assert_eq!(queue.take().map(|job| job.bytes()), Some(6));
        assert!(queue.take().is_none());
        assert_eq!(queue.bytes, 0);
    }
}
