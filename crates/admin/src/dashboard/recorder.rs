//! What the dashboard remembers between two looks, beyond `stats::History`: the times of each second, and what the
//! workers have said lately. Bounded, and small.

use std::collections::VecDeque;
use std::time::Duration;

use net::clock::Now;
use stats::{Distribution, Histogram, Registry, SERVICE_TIMES};

use crate::manager::figures::float;

/// Seconds that are shown.
pub(super) const SECONDS: usize = 300;
/// Figures of "now" are averages over so many seconds.
pub(super) const LATELY: usize = 10;
/// Readings of the workers that are kept, and the least time between two of them, nanoseconds.
const READINGS: usize = 12;
const READING_NS: u64 = 800_000_000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    /// The times of each second: median, p95, p99, microseconds. By the second's number, oldest first.
    seconds: VecDeque<Times>,
    /// All times since the start, as they were in the last seconds; newest first.
    totals: VecDeque<Distribution>,
    readings: VecDeque<Reading>,
}

/// The times of the requests that ended in a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// When it ended: nanoseconds of the program's clock.
    pub(super) at_ns: u64,
    /// Median, p95, p99, microseconds; `None` when no request ended.
    pub(super) quantiles: Option<[u64; 3]>,
}

/// What the workers have said.
#[derive(Clone, Debug)]
struct Reading {
    at_ns: u64,
    workers: Vec<WorkerLoad>,
}

/// A worker's totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerLoad {
    pub(super) worker: u64,
    pub(super) requests: u64,
    /// Time that it has worked.
    pub(super) busy: Duration,
}

/// What it did lately, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct WorkerPace {
    pub(super) requests: f64,
    /// Share of the time that it worked; `None` when there is nothing to compare with.
    pub(super) busy: Option<f64>,
}

impl Recorder {
    /// Called each second.
    pub(crate) fn tick(&mut self, registry: &Registry, now: Now) {
        let times = SERVICE_TIMES.iter().map(|times| registry.histogram(*times));
        let all = times.fold(Distribution::new(), |all, more| all.plus(&more));
        let second = self.totals.front().map(|before| all.since(before));
        self.totals.truncate(LATELY);
        self.totals.push_front(all);
        if let Some(second) = second {
            if self.seconds.len() >= SECONDS {
                self.seconds.pop_front();
            }
            self.seconds.push_back(Times {
                at_ns: now.mono_ns,
                quantiles: quantiles(&second),
            });
        }
    }

    /// The times of a second, that which ended nearest to `at_ns`.
    pub(super) fn second(&self, at_ns: u64) -> Option<[u64; 3]> {
        let place = self.seconds.partition_point(|times| times.at_ns < at_ns);
        let near = [place.checked_sub(1), Some(place)].into_iter().flatten();
        let near = near.filter_map(|place| self.seconds.get(place));
        let nearest = near.min_by_key(|times| times.at_ns.abs_diff(at_ns))?;
        let close = nearest.at_ns.abs_diff(at_ns) < 500_000_000;
        nearest.quantiles.filter(|_| close)
    }

    /// The times of the last seconds.
    pub(super) fn lately(&self) -> Option<[u64; 3]> {
        let (now, then) = (self.totals.front()?, self.totals.back()?);
        quantiles(&now.since(then))
    }

    /// Takes a reading of the workers, and says what each has done since the oldest one that is kept.
    pub(super) fn pace(&mut self, now: Now, workers: &[WorkerLoad]) -> Vec<WorkerPace> {
        let paces = workers.iter().map(|load| self.pace_of(now, load)).collect();
        let last = self.readings.back().map_or(0, |reading| reading.at_ns);
        if self.readings.is_empty() || now.mono_ns.saturating_sub(last) >= READING_NS {
            if self.readings.len() >= READINGS {
                self.readings.pop_front();
            }
            self.readings.push_back(Reading {
                at_ns: now.mono_ns,
                workers: workers.to_vec(),
            });
        }
        paces
    }

    fn pace_of(&self, now: Now, load: &WorkerLoad) -> WorkerPace {
        let fits = |reading: &&Reading| now.mono_ns.saturating_sub(reading.at_ns) <= OLDEST_NS;
        let mut then = self.readings.iter().filter(fits);
        let found = then.find_map(|reading| {
            let mut known = reading.workers.iter();
            let known = known.find(|known| known.worker == load.worker)?;
            Some((reading.at_ns, *known))
        });
        let Some((at_ns, before)) = found else {
            return WorkerPace::default();
        };
        let secs = Duration::from_nanos(now.mono_ns.saturating_sub(at_ns)).as_secs_f64();
        if secs <= 0.0 {
            return WorkerPace::default();
        }
        let busy = load.busy.saturating_sub(before.busy).as_secs_f64() / secs;
        WorkerPace {
            requests: float(load.requests.saturating_sub(before.requests)) / secs,
            busy: Some(busy.min(1.0)),
        }
    }
}

/// Older readings don't say what is done now.
const OLDEST_NS: u64 = 30_000_000_000;

fn quantiles(times: &Distribution) -> Option<[u64; 3]> {
    (times.count() > 0).then(|| [0.5, 0.95, 0.99].map(|share| times.quantile(share)))
}

/// The histograms that the table of times shows, with their words.
pub(super) const TIMED: [(&str, &[Histogram]); 5] = [
    ("all", &SERVICE_TIMES),
    (
        "from the cache",
        &[Histogram::ServiceTimeHit, Histogram::ServiceTimeNotModified],
    ),
    ("validated", &[Histogram::ServiceTimeNearHit]),
    ("fetched", &[Histogram::ServiceTimeMiss]),
    ("others", &[Histogram::ServiceTimeOther]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Now {
        Now {
            mono_ns: ms * 1_000_000,
            unix_ms: 0,
        }
    }

    #[test]
    fn each_second_has_the_times_of_its_own_requests() {
        let registry = Registry::new();
        let cells = registry.cells();
        let mut recorder = Recorder::default();
        recorder.tick(&registry, at(0));
        cells.record(Histogram::ServiceTimeHit, 100);
        recorder.tick(&registry, at(1000));
        recorder.tick(&registry, at(2000));
        cells.record(Histogram::ServiceTimeMiss, 5000);
        recorder.tick(&registry, at(3000));
        let near = |second: u64, expected: u64| {
            let [median, ..] = recorder.second(second * 1_000_000_000).unwrap();
            assert!(median.abs_diff(expected) * 5 <= expected, "{median}");
        };
        near(1, 100);
        near(3, 5000);
        assert_eq!(recorder.second(2_000_000_000), None);
        assert_eq!(recorder.second(9_000_000_000), None);
        assert!(recorder.lately().is_some());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let registry = Registry::new();
        let mut recorder = Recorder::default();
        for second in 0..1000 {
            recorder.tick(&registry, at(second * 1000));
            recorder.pace(at(second * 1000), &[]);
        }
        assert_eq!(recorder.seconds.len(), SECONDS);
        assert_eq!(recorder.totals.len(), LATELY + 1);
        assert_eq!(recorder.readings.len(), READINGS);
    }

    #[test]
    fn the_pace_of_a_worker_is_that_of_the_last_readings() {
        let mut recorder = Recorder::default();
        let load = |requests, busy_ms| WorkerLoad {
            worker: 1,
            requests,
            busy: Duration::from_millis(busy_ms),
        };
        let first = recorder.pace(at(0), &[load(1000, 0)]);
        assert_eq!(first, [WorkerPace::default()]);
        let second = recorder.pace(at(2000), &[load(3000, 500)]);
        let expected = WorkerPace {
            requests: 1000.0,
            busy: Some(0.25),
        };
        assert_eq!(second, [expected]);
        let late = recorder.pace(at(60_000), &[load(9000, 0)]);
        assert_eq!(late, [WorkerPace::default()]);
    }
}
