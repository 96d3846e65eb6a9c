//! Readings of all numbers, kept for a while: what was counted within a window is the difference of two of them.
//!
//! | kept | how often | with histograms |
//! | --- | --- | --- |
//! | 5 minutes | each second | no |
//! | an hour | each minute | yes |
//! | three days | each hour | yes |

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::histogram::Distribution;
use crate::{Counter, Histogram, Registry, Snapshot};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// Readings kept of each kind: a window needs one from before its begin.
const SECONDS_MAX: usize = 302;
const MINUTES_MAX: usize = 62;
const HOURS_MAX: usize = 74;

/// A reading.
#[derive(Debug)]
pub struct Sample {
    /// When it was taken: time of the program's clock.
    pub at: Duration,
    /// What it says.
    pub snapshot: Snapshot,
}

/// See the module.
#[derive(Debug)]
pub struct History {
    /// All zero, when the program started.
    start: Arc<Sample>,
    seconds: VecDeque<Arc<Sample>>,
    minutes: VecDeque<Arc<Sample>>,
    hours: VecDeque<Arc<Sample>>,
}

/// What was counted between two readings.
#[derive(Debug, Clone)]
pub struct Window {
    /// Length of the window; of a program that is younger, its age. Never 0.
    pub seconds: f64,
    levels: Arc<Sample>,
    histograms: Arc<Sample>,
    now: Arc<Snapshot>,
}

impl History {
    /// Begins at `now`, of the program's clock.
    #[must_use]
    pub fn new(now: Duration) -> Self {
        Self {
            start: Arc::new(Sample {
                at: now,
                snapshot: Snapshot::default(),
            }),
            seconds: VecDeque::new(),
            minutes: VecDeque::new(),
            hours: VecDeque::new(),
        }
    }

    /// Takes a reading. To be called once a second.
    pub fn tick(&mut self, registry: &Registry, now: Duration) {
        let levels = Arc::new(Sample {
            at: now,
            snapshot: registry.levels(),
        });
        push(&mut self.seconds, levels, SECONDS_MAX);
        let due = |kept: &VecDeque<Arc<Sample>>, every| {
            let last = kept.back().unwrap_or(&self.start).at;
            now.saturating_sub(last) >= every
        };
        let (minute, hour) = (due(&self.minutes, MINUTE), due(&self.hours, HOUR));
        if minute || hour {
            let full = Arc::new(Sample {
                at: now,
                snapshot: registry.snapshot(),
            });
            if hour {
                push(&mut self.hours, Arc::clone(&full), HOURS_MAX);
            }
            if minute {
                push(&mut self.minutes, full, MINUTES_MAX);
            }
        }
    }

    /// What was counted in the last `length`, up to `now`; since the start where that is not so long ago. Histograms
    /// reach back further by up to a minute, and beyond an hour by up to an hour.
    #[must_use]
    pub fn window(&self, registry: &Registry, now: Duration, length: Duration) -> Window {
        self.window_to(Arc::new(registry.snapshot()), now, length)
    }

    /// Several windows that end with the same reading.
    #[must_use]
    pub fn windows<const N: usize>(
        &self,
        registry: &Registry,
        now: Duration,
        lengths: [Duration; N],
    ) -> [Window; N] {
        let snapshot = Arc::new(registry.snapshot());
        lengths.map(|length| self.window_to(Arc::clone(&snapshot), now, length))
    }

    /// Everything since the start.
    #[must_use]
    pub fn total(&self, registry: &Registry, now: Duration) -> Window {
        self.window(registry, now, Duration::MAX)
    }

    /// The readings of the last five minutes, one for each second, the oldest first; without histograms.
    pub fn seconds(&self) -> impl DoubleEndedIterator<Item = &Sample> {
        self.seconds.iter().map(|sample| &**sample)
    }

    fn window_to(&self, snapshot: Arc<Snapshot>, now: Duration, length: Duration) -> Window {
        let begin = now.saturating_sub(length);
        let last_before = |kept: &VecDeque<Arc<Sample>>| {
            let mut before = kept.iter().rev().filter(|sample| sample.at <= begin);
            before.next().cloned()
        };
        let full = last_before(&self.minutes).or_else(|| last_before(&self.hours));
        let full = full.unwrap_or_else(|| Arc::clone(&self.start));
        let levels = last_before(&self.seconds).unwrap_or_else(|| Arc::clone(&full));
        Window {
            seconds: now.saturating_sub(levels.at).as_secs_f64().max(0.001),
            levels,
            histograms: full,
            now: snapshot,
        }
    }
}

fn push(kept: &mut VecDeque<Arc<Sample>>, sample: Arc<Sample>, max: usize) {
    if kept.len() >= max {
        kept.pop_front();
    }
    kept.push_back(sample);
}

impl Window {
    /// What a counter was raised by.
    #[must_use]
    pub fn counter(&self, counter: Counter) -> u64 {
        let before = self.levels.snapshot.counter(counter);
        self.now.counter(counter).saturating_sub(before)
    }

    /// The same of several, all together.
    #[must_use]
    pub fn counters(&self, counters: &[Counter]) -> u64 {
        counters.iter().map(|&counter| self.counter(counter)).sum()
    }

    /// What it was raised by in a second, on average.
    #[must_use]
    pub fn per_second(&self, counter: Counter) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
        let count = self.counter(counter) as f64;
        count / self.seconds
    }

    /// The values that were added to a histogram.
    #[must_use]
    pub fn histogram(&self, histogram: Histogram) -> Distribution {
        let now = self.now.histogram(histogram).cloned().unwrap_or_default();
        match self.histograms.snapshot.histogram(histogram) {
            Some(before) => now.since(before),
            None => now,
        }
    }

    /// The values that were added to any of these.
    #[must_use]
    pub fn histograms(&self, histograms: &[Histogram]) -> Distribution {
        let each = histograms
            .iter()
            .map(|&histogram| self.histogram(histogram));
        each.fold(Distribution::new(), |all, more| all.plus(&more))
    }

    /// The reading at the window's end.
    #[must_use]
    pub fn now(&self) -> &Snapshot {
        &self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    /// A request and a service time of so many microseconds in each second.
    fn lived(seconds: u64) -> (Registry, History) {
        let registry = Registry::new();
        let cells = registry.cells();
        let mut history = History::new(secs(0));
        for second in 1..=seconds {
            cells.count(Counter::ClientRequests);
            cells.record(Histogram::ServiceTimeHit, second);
            history.tick(&registry, secs(second));
        }
        (registry, history)
    }

    #[test]
    fn a_window_has_what_was_counted_in_it() {
        let (registry, history) = lived(4000);
        let check = |length: u64, counted: u64, timed: u64| {
            let window = history.window(&registry, secs(4000), secs(length));
            let requests = window.counter(Counter::ClientRequests);
            let times = window.histogram(Histogram::ServiceTimeHit).count();
            assert_eq!((requests, times), (counted, timed), "{length}");
            assert!((window.per_second(Counter::ClientRequests) - 1.0).abs() < 1e-9);
        };
        check(1, 1, 40);
        check(10, 10, 40);
        check(300, 300, 340);
        check(3600, 3640, 3640);
        check(100_000, 4000, 4000);
    }

    #[test]
    fn a_young_program_has_its_whole_life_in_every_window() {
        let (registry, history) = lived(7);
        let [five, sixty] = history.windows(&registry, secs(9), [secs(300), secs(3600)]);
        for window in [five, sixty, history.total(&registry, secs(9))] {
            assert_eq!(window.counter(Counter::ClientRequests), 7);
            assert_eq!(window.histogram(Histogram::ServiceTimeHit).count(), 7);
            assert!((window.seconds - 9.0).abs() < 1e-9);
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (registry, mut history) = lived(1000);
        for hour in 1..200 {
            history.tick(&registry, secs(hour * 3600));
        }
        let kept = [
            history.seconds.len(),
            history.minutes.len(),
            history.hours.len(),
        ];
        assert_eq!(kept, [SECONDS_MAX, MINUTES_MAX, HOURS_MAX]);
    }
}
