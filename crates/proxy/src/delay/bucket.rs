//! A bucket of bytes: it fills at a rate up to a size, and streams take from it.
//!
//! Who takes more than there is leaves a debt, and may go on once that is filled up: when, is known at once. Those
//! who come later owe more and go on later, so all have their turns in the order in which they took, on whatever
//! threads, and together get what the bucket got. Nothing ticks: what was added since the last look is worked out.

use std::sync::{Mutex, MutexGuard, PoisonError};

use config::delay::Rate;

/// A byte as levels count it: one byte in a second is one of these in a nanosecond, so that nothing is rounded away.
const BYTE: i128 = 1_000_000_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Bucket {
    /// Bytes in a second.
    rate: u64,
    /// What it holds.
    max: i128,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What is in it; less than nothing is owed.
    level: i128,
    seen_ns: u64,
}

impl Bucket {
    /// A bucket that is filled to so many percent.
    pub(super) fn new(rate: Rate, percent: u32, now_ns: u64) -> Self {
        let max = i128::from(rate.max) * BYTE;
        Self {
            rate: effective(rate),
            max,
            state: Mutex::new(State {
                level: max * i128::from(percent.min(100)) / 100,
                seen_ns: now_ns,
            }),
        }
    }

    /// Takes bytes. Returns when they are the taker's; `u64::MAX` is never.
    pub(super) fn take(&self, bytes: usize, now_ns: u64) -> u64 {
        let mut state = self.filled(now_ns);
        let bytes = i128::try_from(bytes).unwrap_or(i128::MAX / BYTE) * BYTE;
        state.level = state.level.saturating_sub(bytes);
        let owed = -state.level;
        if owed <= 0 {
            return now_ns;
        }
        let rate = i128::from(self.rate);
        let wait = owed
            .checked_add(rate - 1)
            .and_then(|owed| owed.checked_div(rate));
        let wait = wait.and_then(|wait| u64::try_from(wait).ok());
        wait.map_or(u64::MAX, |wait| state.seen_ns.saturating_add(wait))
    }

    /// Is there nothing to remember of it?
    pub(super) fn is_full(&self, now_ns: u64) -> bool {
        self.filled(now_ns).level >= self.max
    }

    /// Bytes in it; less than nothing is owed.
    pub(super) fn level(&self, now_ns: u64) -> i64 {
        let bytes = self.filled(now_ns).level / BYTE;
        i64::try_from(bytes).unwrap_or(i64::MIN)
    }

    /// The state, with what was added since it was last looked at.
    fn filled(&self, now_ns: u64) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves a bucket that counts wrong, nothing worse.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now_ns.saturating_sub(state.seen_ns);
        let added = i128::from(passed) * i128::from(self.rate);
        state.level = state.level.saturating_add(added).min(self.max);
        state.seen_ns = state.seen_ns.max(now_ns);
        state
    }
}

/// Bytes in a second that get through. Squid adds once in a second and keeps no more than fits, so a bucket smaller
/// than what is added slows its takers to its size.
pub(super) fn effective(rate: Rate) -> u64 {
    rate.restore.min(rate.max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn bucket(restore: u64, max: u64, percent: u32) -> Bucket {
        Bucket::new(Rate { restore, max }, percent, 0)
    }

    /// Bytes that so many streams get within `secs`, each going on as soon as it may, but late by
    /// `late_ns` where it has to wait.
    fn run(bucket: &Bucket, streams: usize, step: usize, secs: u64, late_ns: u64) -> Vec<u64> {
        let mut due = vec![0; streams];
        let mut got = vec![0; streams];
        loop {
            let (next, now) = due
                .iter()
                .copied()
                .enumerate()
                .min_by_key(|&(_, at)| at)
                .unwrap();
            if now > secs * SECOND {
                return got;
            }
            let ready = bucket.take(step, now);
            if ready <= secs * SECOND {
                got[next] += step as u64;
            }
            due[next] = if ready > now { ready + late_ns } else { now };
        }
    }

    #[test]
    fn streams_together_get_the_rate_and_each_its_part() {
        for (rate, step) in [(8_000, 512), (100_000, 3_125), (250_000_000, 131_072)] {
            let got = run(&bucket(rate, rate, 0), 8, step, 20, 0);
            let sum: u64 = got.iter().sum();
            let short = (rate * 20)
                .checked_sub(sum)
                .expect("never more than the rate");
            assert!(short < step as u64, "{rate}: short by {short}");
            let (least, most) = (got.iter().min().unwrap(), got.iter().max().unwrap());
            assert!(most - least <= step as u64, "{got:?}");
        }
    }

    #[test]
    fn late_wakers_lose_nothing() {
        let late_ns = 40_000_000;
        let sum: u64 = run(&bucket(100_000, 100_000, 0), 1, 3_125, 20, late_ns)
            .iter()
            .sum();
        assert!(sum.abs_diff(2_000_000) <= 2 * 3_125, "{sum}");
    }

    #[test]
    fn what_is_in_it_is_given_at_once() {
        let bucket = bucket(1_000, 10_000, 50);
        assert_eq!(bucket.take(5_000, 0), 0);
        assert_eq!(bucket.take(500, 0), SECOND / 2);
        // Turns are kept, whoever comes later.
        assert_eq!(bucket.take(250, SECOND / 4), SECOND * 3 / 4);
        assert_eq!(bucket.take(1, 100 * SECOND), 100 * SECOND);
        assert!(!bucket.is_full(100 * SECOND) && bucket.is_full(101 * SECOND));
    }

    #[test]
    fn a_bucket_smaller_than_its_rate_gives_its_size_in_a_second() {
        let sum: u64 = run(&bucket(131_072, 8_192, 50), 2, 512, 10, 0).iter().sum();
        assert!(sum.abs_diff(10 * 8_192 + 4_096) <= 512, "{sum}");
    }

    #[test]
    fn a_bucket_that_never_fills_gives_what_is_in_it_and_no_more() {
        let bucket = bucket(0, 1_000, 100);
        assert_eq!(bucket.take(1_000, 5), 5);
        assert_eq!(bucket.take(1, 1_000 * SECOND), u64::MAX);
        assert_eq!(bucket.take(usize::MAX, u64::MAX), u64::MAX);
    }
}
