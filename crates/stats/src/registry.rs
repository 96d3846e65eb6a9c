//! Knows the cells of every thread and adds them up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::histogram::Distribution;
use crate::{Cells, Counter, Gauge, Histogram};

/// All cells of the program. Cells are never taken out: what an ended thread counted still counts.
#[derive(Debug, Default)]
pub struct Registry {
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    cells: Vec<Arc<Cells>>,
    /// The latest of each name among them.
    named: BTreeMap<String, Arc<Cells>>,
}

impl Registry {
    /// No cells yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// New cells, for one thread to write.
    pub fn cells(&self) -> Arc<Cells> {
        let cells = Arc::new(Cells::new());
        self.lock().cells.push(Arc::clone(&cells));
        cells
    }

    /// Cells that can be told from others. A thread that takes the place of one with the same name
    /// begins anew.
    pub fn cells_named(&self, name: String) -> Arc<Cells> {
        let cells = self.cells();
        self.lock().named.insert(name, Arc::clone(&cells));
        cells
    }

    /// Cells that have a name, by it.
    pub fn named(&self) -> BTreeMap<String, Arc<Cells>> {
        self.lock().named.clone()
    }

    /// A counter's sum.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.lock()
            .cells
            .iter()
            .map(|cells| cells.get(counter))
            .sum()
    }

    /// A gauge's sum; 0 where the threads' shares, read one after the other, add up to less.
    pub fn gauge(&self, gauge: Gauge) -> u64 {
        let sum: i64 = self
            .lock()
            .cells
            .iter()
            .map(|cells| cells.level(gauge))
            .sum();
        u64::try_from(sum).unwrap_or(0)
    }

    /// A histogram over all threads.
    pub fn histogram(&self, histogram: Histogram) -> Distribution {
        let mut all = Distribution::new();
        for cells in &self.lock().cells {
            cells.add_to(histogram, &mut all);
        }
        all
    }

    /// Everything at (nearly) one moment.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            histograms: Histogram::ALL.iter().map(|&h| self.histogram(h)).collect(),
            ..self.levels()
        }
    }

    /// The same without the histograms: small enough to be kept often.
    pub fn levels(&self) -> Snapshot {
        Snapshot {
            counters: Counter::ALL.iter().map(|&c| self.counter(c)).collect(),
            gauges: Gauge::ALL.iter().map(|&g| self.gauge(g)).collect(),
            histograms: Vec::new(),
        }
    }

    /// Every thread's cells, in the order in which they were made.
    pub fn workers(&self) -> Vec<Arc<Cells>> {
        self.lock().cells.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All numbers at one moment, for rates and listings.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    counters: Vec<u64>,
    gauges: Vec<u64>,
    histograms: Vec<Distribution>,
}

impl Snapshot {
    /// A counter's sum.
    #[must_use]
    pub fn counter(&self, counter: Counter) -> u64 {
        self.counters.get(counter as usize).copied().unwrap_or(0)
    }

    /// A gauge's sum.
    #[must_use]
    pub fn gauge(&self, gauge: Gauge) -> u64 {
        self.gauges.get(gauge as usize).copied().unwrap_or(0)
    }

    /// A histogram over all threads; `None` where only levels were read.
    #[must_use]
    pub fn histogram(&self, histogram: Histogram) -> Option<&Distribution> {
        self.histograms.get(histogram as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_adds_up_its_threads() {
        let registry = Registry::new();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let cells = registry.cells();
                std::thread::spawn(move || {
                    for value in 0..1000 {
                        cells.count(Counter::ClientRequests);
                        cells.record(Histogram::ServiceTimeMiss, value);
                        cells.up(Gauge::Transactions);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("the thread only counts");
        }
        let all = registry.snapshot();
        assert_eq!(all.counter(Counter::ClientRequests), 4000);
        assert_eq!(all.gauge(Gauge::Transactions), 4000);
        let times = all
            .histogram(Histogram::ServiceTimeMiss)
            .map(Distribution::count);
        assert_eq!(times, Some(4000));
    }

    #[test]
    fn named_cells_count_with_the_others() {
        let registry = Registry::new();
        registry
            .cells_named("one".to_owned())
            .count(Counter::Misses);
        registry
            .cells_named("one".to_owned())
            .add(Counter::Misses, 2);
        let named = registry.named();
        let latest = named.get("one").map(|cells| cells.get(Counter::Misses));
        assert_eq!((latest, registry.counter(Counter::Misses)), (Some(2), 3));
    }

    #[test]
    fn a_gauge_below_zero_reads_zero() {
        let registry = Registry::new();
        registry.cells().down(Gauge::Transactions);
        assert_eq!(registry.gauge(Gauge::Transactions), 0);
    }

    #[test]
    fn rows_have_names_of_their_own() {
        let mut names: Vec<_> = [crate::COUNTERS, crate::GAUGES, crate::HISTOGRAMS]
            .concat()
            .iter()
            .map(|row| row.name)
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(Counter::Joins.row().name, "joins");
    }
}
