//! Every counter, gauge and histogram of the program: one row each in [`table`](crate::COUNTERS),
//! counted in per-worker [`Cells`] and read as a sum over workers from the [`Registry`].
//!
//! Anyone may write (through the cells of its own thread); `admin` reads.

mod cells;
mod histogram;
mod history;
mod registry;
mod table;

pub use cells::{Cells, During};
pub use histogram::{BUCKETS, Distribution, bucket_of, bucket_start};
pub use history::{History, Sample, Window};
pub use registry::{Registry, Snapshot};
pub use table::{
    COUNTERS, Counter, GAUGES, Gauge, HISTOGRAMS, Histogram, Row, SERVICE_TIMES, Unit,
};
