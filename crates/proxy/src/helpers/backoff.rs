//! When the next child may be started, after children that were of no use.

use std::time::Duration;

use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// After so many generations of useless children, questions don't wait for the next one.
const PATIENCE: u32 = 3;

/// Counts generations of children that ended without an answer, or could not be started at all.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    generations: u32,
    last: Option<Instant>,
}

impl Backoff {
    /// A child that was started at `started` was of no use. Those that were started before the
    /// latest setback are of the same generation: when all twenty are killed, that is one.
    pub(super) fn failed(&mut self, started: Instant, now: Instant) {
        if self.is_since_setback(started) {
            self.generations += 1;
            self.last = Some(now);
        }
    }

    /// A child that was started at `started` has answered.
    pub(super) fn succeeded(&mut self, started: Instant) {
        if self.is_since_setback(started) {
            *self = Self::default();
        }
    }

    /// Was any child of no use lately?
    pub(super) const fn is_on(&self) -> bool {
        self.generations > 0
    }

    /// No child may be started before; `None` when one may at any time.
    pub(super) fn not_before(&self) -> Option<Instant> {
        let doublings = self.generations.saturating_sub(1).min(16);
        Some(self.last? + LONGEST_PAUSE.min(FIRST_PAUSE * 2_u32.pow(doublings)))
    }

    pub(super) fn may_start(&self, now: Instant) -> bool {
        self.not_before().is_none_or(|not_before| now >= not_before)
    }

    /// Has it failed so often that questions should not wait?
    pub(super) const fn is_down(&self) -> bool {
        self.generations >= PATIENCE
    }

    fn is_since_setback(&self, started: Instant) -> bool {
        self.last.is_none_or(|last| started >= last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_end_with_an_answer() {
        let mut backoff = Backoff::default();
        let mut now = Instant::now();
        assert!(backoff.may_start(now));
        let mut pauses = Vec::new();
        for _ in 0..12 {
            backoff.failed(now, now);
            let next = backoff.not_before().expect("it failed");
            assert!(!backoff.may_start(now) && backoff.may_start(next));
            pauses.push((next - now).as_millis());
            now = next;
        }
        assert_eq!(pauses[..4], [100, 200, 400, 800]);
        assert_eq!(pauses[10..], [30_000, 30_000]);
        assert!(backoff.is_down());
        backoff.succeeded(now);
        assert!(backoff.may_start(now) && !backoff.is_on());
    }

    #[test]
    fn children_of_one_generation_count_once_and_older_ones_excuse_nothing() {
        let mut backoff = Backoff::default();
        let start = Instant::now();
        let later = start + Duration::from_secs(1);
        for _ in 0..20 {
            backoff.failed(start, later);
        }
        assert_eq!(backoff.not_before(), Some(later + FIRST_PAUSE));
        assert!(!backoff.is_down());
        backoff.succeeded(start);
        assert!(backoff.is_on(), "a veteran says nothing about the new ones");
    }
}
