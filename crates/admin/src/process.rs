//! What the system says of the process: processor time, memory, descriptors, page faults.

use std::fs;
use std::sync::Arc;

use rustix::process::{Resource, getrlimit};
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
        let stat = Stat::read();
        Self {
            cpu_us: stat.cpu_us,
            page_faults: stat.page_faults,
            resident_max_kb: kb("VmHWM:"),
            resident_kb: kb("VmRSS:"),
        }
    }
}

/// Linux tells of processor time in hundredths of a second, whatever its own clock ticks.
const TICK_US: u64 = 10_000;

/// What `/proc/self/stat` tells.
#[derive(Debug, Clone, Copy, Default)]
struct Stat {
    cpu_us: u64,
    page_faults: u64,
}

impl Stat {
    fn read() -> Self {
        Self::of(&fs::read_to_string("/proc/self/stat").unwrap_or_default())
    }

    /// Fields are counted from 1; the second, the name, is in parentheses and may hold blanks.
    fn of(text: &str) -> Self {
        let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
        let field = |number: usize| {
            let field = rest.split_ascii_whitespace().nth(number - 3);
            field
                .and_then(|field| field.parse::<u64>().ok())
                .unwrap_or(0)
        };
        Self {
            cpu_us: (field(14) + field(15)).saturating_mul(TICK_US),
            page_faults: field(12),
        }
    }
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
        let stat = Stat::read();
        self.raise(Counter::CpuTime, stat.cpu_us);
        self.raise(Counter::PageFaults, stat.page_faults);
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
    fn times_and_faults_stand_behind_the_name() {
        let stat =
            Stat::of("7 (a ) 9 name) S 1 7 7 0 -1 4194560 100 0 3 0 250 50 0 0 20 0 1 0 99\n");
        assert_eq!((stat.cpu_us, stat.page_faults), (3_000_000, 3));
        assert_eq!(Stat::of("").cpu_us, 0);
    }

    #[test]
    fn the_system_tells_of_this_process() {
        let (process, descriptors) = (Process::read(), Descriptors::read());
        assert!(process.resident_kb > 0);
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
    }
}
