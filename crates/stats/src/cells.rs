//! One thread's share of every counter, gauge and histogram.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use crate::histogram::{Buckets, Distribution};
use crate::{Counter, Gauge, Histogram};

/// The numbers of one thread. Only that thread writes, with a plain load and store, so that
/// counting takes no lock and no locked instruction; anyone may read. A second writer would lose
/// counts, nothing worse. Aligned so that two threads never share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct Cells {
    counters: [AtomicU64; Counter::COUNT],
    gauges: [AtomicI64; Gauge::COUNT],
    histograms: [Buckets; Histogram::COUNT],
}

impl Cells {
    /// All zero, and in no registry: for tests and for threads that nobody watches.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            counters: [const { AtomicU64::new(0) }; Counter::COUNT],
            gauges: [const { AtomicI64::new(0) }; Gauge::COUNT],
            histograms: [const { Buckets::new() }; Histogram::COUNT],
        }
    }

    /// Counts one.
    #[inline]
    pub fn count(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Counts `amount`.
    #[inline]
    pub fn add(&self, counter: Counter, amount: u64) {
        if let Some(cell) = self.counters.get(counter as usize) {
            cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
        }
    }

    /// What this thread has counted.
    #[must_use]
    pub fn get(&self, counter: Counter) -> u64 {
        self.counters
            .get(counter as usize)
            .map_or(0, |cell| cell.load(Relaxed))
    }

    /// Moves a gauge by `change`.
    #[inline]
    pub fn shift(&self, gauge: Gauge, change: i64) {
        if let Some(cell) = self.gauges.get(gauge as usize) {
            cell.store(cell.load(Relaxed).wrapping_add(change), Relaxed);
        }
    }

    /// One more.
    #[inline]
    pub fn up(&self, gauge: Gauge) {
        self.shift(gauge, 1);
    }

    /// One less.
    #[inline]
    pub fn down(&self, gauge: Gauge) {
        self.shift(gauge, -1);
    }

    /// One more until the guard is dropped.
    #[inline]
    #[must_use]
    pub fn during(&self, gauge: Gauge) -> During<'_> {
        self.up(gauge);
        During { cells: self, gauge }
    }

    /// This thread's share of a gauge; may be negative where one thread counts up and another down.
    #[must_use]
    pub fn level(&self, gauge: Gauge) -> i64 {
        self.gauges
            .get(gauge as usize)
            .map_or(0, |cell| cell.load(Relaxed))
    }

    /// Adds a value to a histogram.
    #[inline]
    pub fn record(&self, histogram: Histogram, value: u64) {
        if let Some(buckets) = self.histograms.get(histogram as usize) {
            buckets.record(value);
        }
    }

    /// This thread's share of a histogram.
    #[must_use]
    pub fn histogram(&self, histogram: Histogram) -> Distribution {
        let mut share = Distribution::new();
        self.add_to(histogram, &mut share);
        share
    }

    pub(crate) fn add_to(&self, histogram: Histogram, into: &mut Distribution) {
        if let Some(buckets) = self.histograms.get(histogram as usize) {
            buckets.add_to(into);
        }
    }
}

/// Something that a gauge counts while it lasts.
#[derive(Debug)]
pub struct During<'c> {
    cells: &'c Cells,
    gauge: Gauge,
}

impl Drop for During<'_> {
    fn drop(&mut self) {
        self.cells.down(self.gauge);
    }
}

impl Default for Cells {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_gauges_and_histograms_keep_apart() {
        let cells = Cells::new();
        cells.count(Counter::ClientRequests);
        cells.add(Counter::HitBytes, 600);
        cells.up(Gauge::ClientConnections);
        cells.up(Gauge::ClientConnections);
        cells.down(Gauge::ClientConnections);
        cells.record(Histogram::ServiceTimeMiss, 9);
        assert_eq!(cells.get(Counter::ClientRequests), 1);
        assert_eq!(cells.get(Counter::HitBytes), 600);
        assert_eq!(cells.get(Counter::Misses), 0);
        assert_eq!(cells.level(Gauge::ClientConnections), 1);
    }
}
