//! The buckets that a collector sees: fewer than are counted in, at bounds that are bounds of those
//! too, so that each count is exact.

use stats::{BUCKETS, Distribution, Unit, bucket_start};

/// Powers of two at which buckets of a unit end, and what a value is divided by for display.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets {
    /// Of the first bound.
    first: u32,
    /// Of the last bound.
    last: u32,
    /// From one bound to the next.
    step: usize,
    /// Counted units in a shown one.
    scale: f64,
}

/// 64 µs to 67 s.
const TIMES: Buckets = Buckets {
    first: 6,
    last: 26,
    step: 1,
    scale: 1e6,
};

/// 256 bytes to 4 GiB.
const SIZES: Buckets = Buckets {
    first: 8,
    last: 32,
    step: 2,
    scale: 1.0,
};

/// 1 to a million.
const COUNTS: Buckets = Buckets {
    first: 0,
    last: 20,
    step: 2,
    scale: 1.0,
};

impl Buckets {
    pub(super) const fn of(unit: Unit) -> Self {
        match unit {
            Unit::Microseconds => TIMES,
            Unit::Bytes => SIZES,
            Unit::Count => COUNTS,
        }
    }

    /// Upper bounds as text, each with the number of values up to it.
    pub(super) fn cumulate(self, values: &Distribution) -> Vec<(String, f64)> {
        let mut bounds = (self.first..=self.last)
            .step_by(self.step)
            .map(|power| 1_u64 << power);
        let mut next = bounds.next();
        let (mut shown, mut sum) = (Vec::new(), 0_u64);
        for (bucket, count) in values.counts.iter().enumerate().take(BUCKETS) {
            if next == Some(bucket_start(bucket)) {
                shown.push((self.bound(bucket_start(bucket)), float(sum)));
                next = bounds.next();
            }
            sum += count;
        }
        shown.push(("+Inf".to_owned(), float(sum)));
        shown
    }

    /// Values are cut to whole units: times below a bound were below it, whole numbers at most one less.
    fn bound(self, start: u64) -> String {
        if self.scale > 1.0 {
            (float(start) / self.scale).to_string()
        } else {
            (start - 1).to_string()
        }
    }

    /// Sum and number of all values.
    pub(super) fn totals(self, values: &Distribution) -> (f64, f64) {
        (float(values.sum) / self.scale, float(values.count()))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "what is lost is less than a billionth of it"
)]
const fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use stats::{Cells, Histogram, Registry};

    use super::*;

    fn recorded(histogram: Histogram, values: &[u64]) -> Distribution {
        let registry = Registry::new();
        let cells: std::sync::Arc<Cells> = registry.cells();
        values
            .iter()
            .for_each(|&value| cells.record(histogram, value));
        registry.histogram(histogram)
    }

    #[test]
    fn counts_are_exact_at_every_bound() {
        let values = [1, 63, 64, 127, 128, 1 << 26, u64::MAX];
        let times = recorded(Histogram::ServiceTimeHit, &values);
        let shown = Buckets::of(Unit::Microseconds).cumulate(&times);
        assert_eq!(shown.len(), 22);
        let at = |bound: &str| {
            shown
                .iter()
                .find(|(text, _)| text == bound)
                .map(|(_, count)| *count)
        };
        assert_eq!(at("0.000064"), Some(2.0));
        assert_eq!(at("0.000128"), Some(4.0));
        assert_eq!(at("67.108864"), Some(5.0));
        assert_eq!(at("+Inf"), Some(7.0));
        assert!(shown.is_sorted_by(|(_, one), (_, other)| one <= other));
    }

    #[test]
    fn sizes_are_whole_numbers() {
        let sizes = recorded(Histogram::ReplySize, &[255, 256, 1023]);
        let buckets = Buckets::of(Unit::Bytes);
        let shown = buckets.cumulate(&sizes);
        assert_eq!(shown[0], ("255".to_owned(), 1.0));
        assert_eq!(shown[1], ("1023".to_owned(), 3.0));
        assert_eq!(shown.len(), 14);
        assert_eq!(buckets.totals(&sizes), (1534.0, 3.0));
    }

    #[test]
    fn every_unit_begins_and_ends_at_its_bounds() {
        let none = recorded(Histogram::ServiceTimeHit, &[]);
        for unit in [Unit::Count, Unit::Bytes, Unit::Microseconds] {
            let shown = Buckets::of(unit).cumulate(&none);
            assert!(shown.len() <= 22, "{unit:?}");
        }
        assert_eq!(Buckets::of(Unit::Count).cumulate(&none)[0].0, "0");
    }
}
