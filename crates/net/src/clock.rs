//! The clock of the program. Ages and timeouts use the monotonic time; the wall time is derived
//! from it by an offset that is read again on every tick, so that one call gives both and a jump
//! of the wall clock changes no age.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A wall clock that moved by less than this since the last look did not move: reading two clocks
/// takes time.
const STEP_NS_MIN: i64 = 2_000_000;

/// Tells the time. Copied freely; all copies share one offset.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    /// Wall time at `start` by the latest look, in nanoseconds since 1970.
    unix_start_ns: &'static AtomicI64,
}

/// One moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    /// Nanoseconds since the clock was made; never goes back.
    pub mono_ns: u64,
    /// Milliseconds since 1970; follows the wall clock within a tick.
    pub unix_ms: i64,
}

impl Clock {
    /// Starts at 0. Made once per program: its offset (8 bytes) is never freed.
    #[must_use]
    pub fn new() -> Self {
        let clock = Self {
            start: Instant::now(),
            unix_start_ns: Box::leak(Box::new(AtomicI64::new(0))),
        };
        clock.follow(wall_ns());
        clock
    }

    /// The time now, by one reading of the monotonic clock.
    #[must_use]
    pub fn now(&self) -> Now {
        let mono_ns = self.mono_ns();
        let since_start = i64::try_from(mono_ns).unwrap_or(i64::MAX);
        let unix_ns = self.unix_start_ns.load(Relaxed).saturating_add(since_start);
        Now {
            mono_ns,
            unix_ms: unix_ns.div_euclid(1_000_000),
        }
    }

    /// Looks at the wall clock again. The ticker of each worker calls this.
    pub fn resync(&self) {
        self.follow(wall_ns());
    }

    fn mono_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn follow(&self, unix_ns: i64) {
        let since_start = i64::try_from(self.mono_ns()).unwrap_or(i64::MAX);
        let seen = unix_ns.saturating_sub(since_start);
        let known = self.unix_start_ns.load(Relaxed);
        if seen.saturating_sub(known).saturating_abs() >= STEP_NS_MIN {
            self.unix_start_ns.store(seen, Relaxed);
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Now {
    /// Time since the clock was made.
    #[must_use]
    pub const fn mono(self) -> Duration {
        Duration::from_nanos(self.mono_ns)
    }

    /// Whole seconds since 1970.
    #[must_use]
    pub const fn unix_secs(self) -> i64 {
        self.unix_ms.div_euclid(1000)
    }

    /// Time that passed since `earlier`; zero if it is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.mono_ns.saturating_sub(earlier.mono_ns))
    }
}

fn wall_ns() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_is_that_of_the_system() {
        let (clock, wall) = (Clock::new(), wall_ns() / 1_000_000);
        assert!(clock.now().unix_ms.abs_diff(wall) < 1000);
        assert_eq!(clock.now().unix_secs(), clock.now().unix_ms / 1000);
    }

    #[test]
    fn a_jump_of_the_wall_clock_moves_no_age() {
        let clock = Clock::new();
        let before = clock.now();
        for years in [10, -10] {
            clock.follow(wall_ns() + years * 365 * 86_400 * 1_000_000_000);
            let after = clock.now();
            assert!(after.mono_ns >= before.mono_ns);
            assert!(after.since(before) < Duration::from_secs(60));
            let jumped_days = (after.unix_ms - before.unix_ms) / 86_400_000;
            assert_eq!(jumped_days, years * 365, "the wall time follows");
        }
    }

    #[test]
    fn small_differences_between_the_clocks_are_left_alone() {
        let clock = Clock::new();
        let known = clock.unix_start_ns.load(Relaxed);
        clock.follow(known + i64::try_from(clock.mono_ns()).unwrap() + STEP_NS_MIN / 2);
        assert_eq!(clock.unix_start_ns.load(Relaxed), known);
    }
}
