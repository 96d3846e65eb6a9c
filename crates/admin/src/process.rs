//! What the system says of the process: processor time, memory, descriptors, page faults.

use std::fs;
use std::sync::Arc;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use stats::{Cells, Counter};
use store::VolumeUsage;

/// The process at one moment.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Process {
    /// Processor time, the kernel's share included: millionths of a second.
    pub cpu_us: u64,
    /// Page faults that needed the disk.
    pub page_faults: u64,
    /// The most memory that it ever had, KB.
    pub resident_max_kb: u64,
    /// Memory that it has, KB.
    pub resident_kb: u64,
}

impl Process {
    /// Asks. What the system doesn't tell is 0.
    #[must_use]
    pub fn read() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let kb = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_ascii_whitespace().next());
            number.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        Self {
            cpu_us: cpu_us(),
            page_faults: page_faults(),
            resident_max_kb: kb("VmHWM:"),
            resident_kb: kb("VmRSS:"),
        }
    }
}

fn cpu_us() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let us = time.tv_sec.saturating_mul(1_000_000) + time.tv_nsec / 1000;
    u64::try_from(us).unwrap_or(0)
}

/// The 12th field of `/proc/self/stat`; its second, the name, is in parentheses and may hold blanks.
fn page_faults() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = rest.split_ascii_whitespace().nth(12 - 3);
    field.and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// File descriptors.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Descriptors {
    /// How many there may be.
    pub max: u64,
    /// The largest number in use.
    pub largest: u64,
    /// Those in use.
    pub open: u64,
}

impl Descriptors {
    /// Asks.
    #[must_use]
    pub fn read() -> Self {
        let entries = fs::read_dir("/proc/self/fd")
            .into_iter()
            .flatten()
            .flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let numbers: Vec<u64> = numbers.collect();
        Self {
            max: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
            largest: numbers.iter().copied().max().unwrap_or(0),
            // One is that of the folder itself.
            open: u64::try_from(numbers.len()).unwrap_or(0).saturating_sub(1),
        }
    }
}

/// Carries what the system and the disks have counted over to the counters of the program.
#[derive(Debug)]
pub(crate) struct Watch {
    cells: Arc<Cells>,
}

impl Watch {
    pub(crate) fn new(cells: Arc<Cells>) -> Self {
        Self { cells }
    }

    /// Brings the counters up to date.
    pub(crate) fn look(&self, volumes: Option<&VolumeUsage>) {
        self.raise(Counter::CpuTime, cpu_us());
        self.raise(Counter::PageFaults, page_faults());
        if let Some(usage) = volumes {
            self.raise(Counter::SwapOuts, usage.puts);
            self.raise(Counter::SwapIns, usage.hits);
        }
    }

    /// Nobody else counts these: their value is the last reading. One that fell, as a disk was exchanged, stays.
    fn raise(&self, counter: Counter, reading: u64) {
        let known = self.cells.get(counter);
        self.cells.add(counter, reading.saturating_sub(known));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_of_this_process() {
        let (process, descriptors) = (Process::read(), Descriptors::read());
        assert!(process.cpu_us > 0 && process.resident_kb > 0);
        assert!(process.resident_max_kb >= process.resident_kb);
        assert!(descriptors.open >= 3 && descriptors.largest >= 2);
        assert!(descriptors.max > descriptors.largest);
    }

    #[test]
    fn counters_follow_the_readings() {
        let cells = Arc::<Cells>::default();
        let watch = Watch::new(Arc::clone(&cells));
        for puts in [5, 9, 3, 9, 12] {
            watch.look(Some(&VolumeUsage {
                puts,
                ..VolumeUsage::default()
            }));
        }
        assert_eq!(cells.get(Counter::SwapOuts), 12);
        assert!(cells.get(Counter::CpuTime) > 0);
    }
}
