//! `io`: how many bytes a read from a server gave. Squid has sixteen sizes; larger ones have a line where there are any.

use std::fmt::Write as _;

use serde::Serialize;
use stats::{Distribution, Histogram, bucket_of};

use super::Report;
use super::figures::{float, percent};
use crate::Scene;

/// Lines that are always there: up to 32 KB.
const LINES_MIN: usize = 16;
/// Lines at most; the last has all that is larger.
const LINES_MAX: usize = 32;

/// See the module.
#[derive(Debug, Serialize)]
struct Protocol {
    name: &'static str,
    reads: u64,
    sizes: Vec<Size>,
}

/// Reads of so many bytes.
#[derive(Debug, Clone, Copy, Serialize)]
struct Size {
    from: u64,
    to: u64,
    reads: u64,
}

/// `io`
pub(super) fn io(scene: &Scene<'_>) -> Report {
    let http = scene.total().histogram(Histogram::HopReadSize);
    let protocols = [
        Protocol::of("HTTP", &http),
        Protocol::of("FTP", &Distribution::new()),
    ];
    let text = protocols.iter().map(Protocol::text).collect::<String>();
    Report::new(&protocols, text)
}

impl Protocol {
    /// `reads` has each size less one, so that its powers of two are the ends of lines here.
    fn of(name: &'static str, reads: &Distribution) -> Self {
        let sizes = (0..LINES_MAX).map(|line| {
            let to = 1_u64 << line;
            let from = if line == 0 { 1 } else { to / 2 + 1 };
            let buckets = bucket_of(from - 1)..=bucket_of(to - 1);
            let counts = reads.counts.get(buckets).unwrap_or_default();
            let reads = counts.iter().sum();
            Size { from, to, reads }
        });
        let mut sizes: Vec<Size> = sizes.collect();
        let used = sizes.iter().rposition(|size| size.reads > 0);
        sizes.truncate(used.map_or(0, |last| last + 1).max(LINES_MIN));
        Self {
            name,
            reads: reads.count(),
            sizes,
        }
    }

    fn text(&self) -> String {
        let Self { name, reads, .. } = self;
        let mut text = format!("{name} I/O\nnumber of reads: {reads}\nRead Histogram:\n");
        for size in &self.sizes {
            let share = percent(float(size.reads), float(*reads)).round();
            let Size { from, to, reads } = size;
            // A String takes all that is written.
            let _ = writeln!(text, "{from:5}-{to:5}: {reads:9} {share:2.0}%");
        }
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use stats::Cells;

    use super::*;

    #[test]
    fn a_power_of_two_is_the_end_of_a_line() {
        let registry = stats::Registry::new();
        let cells = registry.cells();
        let read = |cells: &Cells, size: u64| cells.record(Histogram::HopReadSize, size - 1);
        for size in [1, 2, 3, 4, 5, 8, 9, 16_384, 16_385, 65_536] {
            read(&cells, size);
        }
        let http = Protocol::of("HTTP", &registry.histogram(Histogram::HopReadSize));
        let found: Vec<_> = http.sizes.iter().filter(|size| size.reads > 0).collect();
        let found: Vec<_> = found.iter().map(|size| (size.to, size.reads)).collect();
        let expected = [
            (1, 1),
            (2, 1),
            (4, 2),
            (8, 2),
            (16, 1),
            (16_384, 1),
            (32_768, 1),
            (65_536, 1),
        ];
        assert_eq!(found, expected);
        let text = http.text();
        assert!(text.starts_with(
            "HTTP I/O\nnumber of reads: 10\nRead Histogram:\n    1-    1:         1 10%\n"
        ));
        assert!(text.contains("\n    3-    4:         2 20%\n"), "{text}");
        assert!(
            text.contains("\n8193-16384:         1 10%\n")
                || text.contains("\n 8193-16384:         1 10%\n")
        );
        assert!(text.ends_with("32769-65536:         1 10%\n\n"), "{text}");
        let none = Protocol::of("FTP", &Distribution::new());
        assert_eq!(none.sizes.len(), LINES_MIN);
    }
}
