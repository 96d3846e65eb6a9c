//! `info`: the page that most tools read. Squid's layout of today, and that of 2.7 with `?layout=2.7`.

use std::fmt::Write as _;

use serde::Serialize;
use stats::{Counter, Window};
use store::VolumesUsage;

use super::Report;
use super::figures::{
    FIVE_MINUTES, HOUR, HitRatios, Quantiles, ServiceTimes, float, http_date, kb, percent, secs,
};
use crate::process::{Descriptors, Process};
use crate::{Names, Scene};

/// Which Squid's page it looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// 3 and later.
    Today,
    /// 2.7
    Old,
}

/// See the module.
#[derive(Debug, Clone, Serialize)]
struct Info {
    squid_version: &'static str,
    version: &'static str,
    service_name: String,
    start_unix_ms: i64,
    now_unix_ms: i64,
    clients: usize,
    requests: u64,
    /// Failures of servers for each request that one has got, in five minutes.
    failure_ratio: f64,
    requests_per_minute: f64,
    event_loops: u64,
    event_loop_ms: f64,
    hit_ratios_5min: HitRatios,
    hit_ratios_60min: HitRatios,
    disk_bytes: u64,
    disk_bytes_max: u64,
    memory_bytes: u64,
    memory_bytes_max: u64,
    mean_object_bytes: f64,
    medians_5min: Quantiles,
    medians_60min: Quantiles,
    uptime_secs: f64,
    cpu_secs: f64,
    cpu_percent: f64,
    cpu_percent_5min: f64,
    cpu_percent_60min: f64,
    process: Process,
    descriptors: Descriptors,
    memory_objects: u64,
    memory_objects_alive: u64,
    disk_objects: u64,
}

/// `info`
pub(super) fn info(scene: &Scene<'_>) -> Report {
    let layout = match scene.parameter("layout") {
        Some("2.7") => Layout::Old,
        _ => Layout::Today,
    };
    let info = Info::of(scene);
    Report::new(&info, info.text(layout))
}

impl Info {
    fn of(scene: &Scene<'_>) -> Self {
        let [five, sixty] = scene.windows([FIVE_MINUTES, HOUR]);
        let total = scene.total();
        let Names {
            version,
            squid,
            ref service,
        } = *scene.names();
        let (memory, VolumesUsage { total: disk, .. }) = (scene.memory(), scene.volumes());
        let (uptime, process) = (scene.uptime().as_secs_f64(), Process::read());
        let loops = total.counter(Counter::EventLoops);
        let requests = total.counter(Counter::ClientRequests);
        // Whichever holds more of them. Space on disk is taken in large pieces: of few, it says little.
        let (bytes, objects) = if disk.objects > memory.objects {
            (disk.bytes, disk.objects)
        } else {
            (memory.bytes, memory.objects)
        };
        Self {
            squid_version: squid,
            version,
            service_name: service.clone(),
            start_unix_ms: scene.started_unix_ms(),
            now_unix_ms: scene.unix_ms(),
            clients: scene
                .plan()
                .clients
                .as_ref()
                .map_or(0, |clients| clients.len()),
            requests,
            failure_ratio: failures(&five),
            requests_per_minute: float(requests) / (uptime / 60.0).max(f64::EPSILON),
            event_loops: loops,
            event_loop_ms: if loops == 0 {
                0.0
            } else {
                1000.0 * uptime / float(loops)
            },
            hit_ratios_5min: HitRatios::of(&five),
            hit_ratios_60min: HitRatios::of(&sixty),
            disk_bytes: disk.bytes,
            disk_bytes_max: disk.bytes_max,
            memory_bytes: memory.bytes,
            memory_bytes_max: memory.bytes_max,
            mean_object_bytes: if objects == 0 {
                0.0
            } else {
                float(bytes) / float(objects)
            },
            medians_5min: ServiceTimes::of(&five).quantiles(0.5),
            medians_60min: ServiceTimes::of(&sixty).quantiles(0.5),
            uptime_secs: uptime,
            cpu_secs: secs(process.cpu_us),
            cpu_percent: percent(secs(process.cpu_us), uptime),
            cpu_percent_5min: cpu_percent(&five),
            cpu_percent_60min: cpu_percent(&sixty),
            process,
            descriptors: Descriptors::read(),
            memory_objects: memory.objects,
            memory_objects_alive: memory.objects_alive,
            disk_objects: disk.objects,
        }
    }
}

/// Processor time in a window, percent of one core.
pub(crate) fn cpu_percent(window: &Window) -> f64 {
    percent(secs(window.counter(Counter::CpuTime)), window.seconds)
}

/// Failures of servers for each request that one has got.
fn failures(window: &Window) -> f64 {
    let sent = window.counter(Counter::HopRequests);
    float(window.counter(Counter::HopErrors)) / float(sent.max(1))
}

impl Info {
    fn text(&self, layout: Layout) -> String {
        let mut text = String::new();
        // A String takes all that is written.
        let _ = self.write(layout, &mut text);
        text
    }

    fn write(&self, layout: Layout, out: &mut String) -> std::fmt::Result {
        self.write_head(layout, out)?;
        self.write_connections(out)?;
        match layout {
            Layout::Today => self.write_cache(out)?,
            Layout::Old => self.write_old_cache(out)?,
        }
        self.write_medians(out)?;
        self.write_process(out)?;
        self.write_descriptors(out)
    }

    fn write_head(&self, layout: Layout, out: &mut String) -> std::fmt::Result {
        let Self {
            squid_version,
            version,
            service_name,
            ..
        } = self;
        writeln!(out, "Squid Object Cache: Version {squid_version}")?;
        if layout == Layout::Today {
            writeln!(out, "Build Info: Squall {version}")?;
            writeln!(out, "Service Name: {service_name}")?;
        }
        writeln!(out, "Start Time:\t{}", http_date(self.start_unix_ms))?;
        writeln!(out, "Current Time:\t{}", http_date(self.now_unix_ms))
    }

    fn write_connections(&self, out: &mut String) -> std::fmt::Result {
        write!(
            out,
            "Connection information for squid:\n\
             \tNumber of clients accessing cache:\t{}\n\
             \tNumber of HTTP requests received:\t{}\n\
             \tNumber of ICP messages received:\t0\n\
             \tNumber of ICP messages sent:\t0\n\
             \tNumber of queued ICP replies:\t0\n\
             \tNumber of HTCP messages received:\t0\n\
             \tNumber of HTCP messages sent:\t0\n\
             \tRequest failure ratio:\t{:5.2}\n\
             \tAverage HTTP requests per minute since start:\t{:.1}\n\
             \tAverage ICP messages per minute since start:\t0.0\n\
             \tSelect loop called: {} times, {:.3} ms avg\n",
            self.clients,
            self.requests,
            self.failure_ratio,
            self.requests_per_minute,
            self.event_loops,
            self.event_loop_ms,
        )
    }

    fn write_cache(&self, out: &mut String) -> std::fmt::Result {
        let (five, sixty) = (&self.hit_ratios_5min, &self.hit_ratios_60min);
        writeln!(out, "Cache information for squid:")?;
        for (name, five, sixty) in [
            ("Hits as % of all requests", five.requests, sixty.requests),
            ("Hits as % of bytes sent", five.bytes, sixty.bytes),
            (
                "Memory hits as % of hit requests",
                five.memory,
                sixty.memory,
            ),
            ("Disk hits as % of hit requests", five.disk, sixty.disk),
        ] {
            writeln!(out, "\t{name}:\t5min: {five:.1}%, 60min: {sixty:.1}%")?;
        }
        let disk = percent(float(self.disk_bytes), float(self.disk_bytes_max));
        let disk_free = if self.disk_bytes_max == 0 {
            0.0
        } else {
            100.0 - disk
        };
        let memory = percent(float(self.memory_bytes), float(self.memory_bytes_max));
        let memory_free = if self.memory_bytes_max == 0 {
            0.0
        } else {
            100.0 - memory
        };
        write!(
            out,
            "\tStorage Swap size:\t{} KB\n\
             \tStorage Swap capacity:\t{disk:4.1}% used, {disk_free:4.1}% free\n\
             \tStorage Mem size:\t{} KB\n\
             \tStorage Mem capacity:\t{memory:4.1}% used, {memory_free:4.1}% free\n\
             \tMean Object Size:\t{:.2} KB\n\
             \tRequests given to unlinkd:\t0\n",
            kb(self.disk_bytes),
            kb(self.memory_bytes),
            self.mean_object_bytes / 1024.0,
        )
    }

    fn write_old_cache(&self, out: &mut String) -> std::fmt::Result {
        let (five, sixty) = (&self.hit_ratios_5min, &self.hit_ratios_60min);
        writeln!(out, "Cache information for squid:")?;
        for (name, five, sixty) in [
            ("Request Hit Ratios", five.requests, sixty.requests),
            ("Byte Hit Ratios", five.bytes, sixty.bytes),
            ("Request Memory Hit Ratios", five.memory, sixty.memory),
            ("Request Disk Hit Ratios", five.disk, sixty.disk),
        ] {
            writeln!(out, "\t{name}:\t5min: {five:.1}%, 60min: {sixty:.1}%")?;
        }
        write!(
            out,
            "\tStorage Swap size:\t{} KB\n\
             \tStorage Mem size:\t{} KB\n\
             \tMean Object Size:\t{:.2} KB\n\
             \tRequests given to unlinkd:\t0\n",
            kb(self.disk_bytes),
            kb(self.memory_bytes),
            self.mean_object_bytes / 1024.0,
        )
    }

    fn write_medians(&self, out: &mut String) -> std::fmt::Result {
        let (five, sixty) = (&self.medians_5min, &self.medians_60min);
        writeln!(out, "Median Service Times (seconds)  5 min    60 min:")?;
        for (name, five, sixty) in [
            ("HTTP Requests (All):", five.all, sixty.all),
            ("Cache Misses:", five.misses, sixty.misses),
            ("Cache Hits:", five.hits, sixty.hits),
            ("Near Hits:", five.near_hits, sixty.near_hits),
            (
                "Not-Modified Replies:",
                five.not_modified,
                sixty.not_modified,
            ),
            ("DNS Lookups:", five.dns, sixty.dns),
            ("ICP Queries:", 0.0, 0.0),
        ] {
            writeln!(out, "\t{name:<21}{five:9.5}{sixty:9.5}")?;
        }
        Ok(())
    }

    fn write_process(&self, out: &mut String) -> std::fmt::Result {
        write!(
            out,
            "Resource usage for squid:\n\
             \tUP Time:\t{:.3} seconds\n\
             \tCPU Time:\t{:.3} seconds\n\
             \tCPU Usage:\t{:.2}%\n\
             \tCPU Usage, 5 minute avg:\t{:.2}%\n\
             \tCPU Usage, 60 minute avg:\t{:.2}%\n\
             \tMaximum Resident Size: {} KB\n\
             \tPage faults with physical i/o: {}\n\
             Memory accounted for:\n\
             \tTotal accounted:       {:6} KB\n",
            self.uptime_secs,
            self.cpu_secs,
            self.cpu_percent,
            self.cpu_percent_5min,
            self.cpu_percent_60min,
            self.process.resident_max_kb,
            self.process.page_faults,
            kb(self.memory_bytes),
        )
    }

    fn write_descriptors(&self, out: &mut String) -> std::fmt::Result {
        let Descriptors { max, largest, open } = self.descriptors;
        write!(
            out,
            "File descriptor usage for squid:\n\
             \tMaximum number of file descriptors:   {max:4}\n\
             \tLargest file desc currently in use:   {largest:4}\n\
             \tNumber of file desc currently in use: {open:4}\n\
             \tFiles queued for open:                {:4}\n\
             \tAvailable number of file descriptors: {:4}\n\
             \tReserved number of file descriptors:  {:4}\n\
             \tStore Disk files open:                {:4}\n\
             Internal Data Structures:\n\
             \t{:6} StoreEntries\n\
             \t{:6} StoreEntries with MemObjects\n\
             \t{:6} Hot Object Cache Items\n\
             \t{:6} on-disk objects\n",
            0,
            max.saturating_sub(open),
            0,
            0,
            self.memory_objects + self.disk_objects,
            self.memory_objects_alive,
            self.memory_objects,
            self.disk_objects,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> Info {
        let ratios = |requests| HitRatios {
            requests,
            bytes: -5.0,
            memory: 75.0,
            disk: 25.0,
        };
        let medians = |all| Quantiles {
            all,
            misses: 0.5,
            hits: 0.000_92,
            near_hits: 0.002,
            not_modified: 0.003,
            dns: 12.345_678,
        };
        Info {
            squid_version: "6.13",
            version: "0.1.0",
            service_name: "edge".to_owned(),
            start_unix_ms: 784_111_777_000,
            now_unix_ms: 784_111_837_500,
            clients: 2,
            requests: 600,
            failure_ratio: 0.256,
            requests_per_minute: 595.04,
            event_loops: 91,
            event_loop_ms: 39.4021,
            hit_ratios_5min: ratios(40.04),
            hit_ratios_60min: ratios(50.0),
            disk_bytes: 86_016,
            disk_bytes_max: 20 << 20,
            memory_bytes: 311_296,
            memory_bytes_max: 256 << 20,
            mean_object_bytes: 28_672.0,
            medians_5min: medians(0.001),
            medians_60min: medians(0.002),
            uptime_secs: 60.5,
            cpu_secs: 0.605,
            cpu_percent: 1.0,
            cpu_percent_5min: 1.5,
            cpu_percent_60min: 2.25,
            process: Process {
                resident_max_kb: 110_400,
                page_faults: 2,
                ..Process::default()
            },
            descriptors: Descriptors {
                max: 20_000,
                largest: 19,
                open: 14,
            },
            memory_objects: 3,
            memory_objects_alive: 4,
            disk_objects: 5,
        }
    }

    /// As Squid 5.7 writes it, but for pools that aren't there.
    #[test]
    fn the_page_is_laid_out_as_squids() {
        assert_eq!(
            info().text(Layout::Today),
            "Squid Object Cache: Version 6.13\n\
             Build Info: Squall 0.1.0\n\
             Service Name: edge\n\
             Start Time:\tSun, 06 Nov 1994 08:49:37 GMT\n\
             Current Time:\tSun, 06 Nov 1994 08:50:37 GMT\n\
             Connection information for squid:\n\
             \tNumber of clients accessing cache:\t2\n\
             \tNumber of HTTP requests received:\t600\n\
             \tNumber of ICP messages received:\t0\n\
             \tNumber of ICP messages sent:\t0\n\
             \tNumber of queued ICP replies:\t0\n\
             \tNumber of HTCP messages received:\t0\n\
             \tNumber of HTCP messages sent:\t0\n\
             \tRequest failure ratio:\t 0.26\n\
             \tAverage HTTP requests per minute since start:\t595.0\n\
             \tAverage ICP messages per minute since start:\t0.0\n\
             \tSelect loop called: 91 times, 39.402 ms avg\n\
             Cache information for squid:\n\
             \tHits as % of all requests:\t5min: 40.0%, 60min: 50.0%\n\
             \tHits as % of bytes sent:\t5min: -5.0%, 60min: -5.0%\n\
             \tMemory hits as % of hit requests:\t5min: 75.0%, 60min: 75.0%\n\
             \tDisk hits as % of hit requests:\t5min: 25.0%, 60min: 25.0%\n\
             \tStorage Swap size:\t84 KB\n\
             \tStorage Swap capacity:\t 0.4% used, 99.6% free\n\
             \tStorage Mem size:\t304 KB\n\
             \tStorage Mem capacity:\t 0.1% used, 99.9% free\n\
             \tMean Object Size:\t28.00 KB\n\
             \tRequests given to unlinkd:\t0\n\
             Median Service Times (seconds)  5 min    60 min:\n\
             \tHTTP Requests (All):   0.00100  0.00200\n\
             \tCache Misses:          0.50000  0.50000\n\
             \tCache Hits:            0.00092  0.00092\n\
             \tNear Hits:             0.00200  0.00200\n\
             \tNot-Modified Replies:  0.00300  0.00300\n\
             \tDNS Lookups:          12.34568 12.34568\n\
             \tICP Queries:           0.00000  0.00000\n\
             Resource usage for squid:\n\
             \tUP Time:\t60.500 seconds\n\
             \tCPU Time:\t0.605 seconds\n\
             \tCPU Usage:\t1.00%\n\
             \tCPU Usage, 5 minute avg:\t1.50%\n\
             \tCPU Usage, 60 minute avg:\t2.25%\n\
             \tMaximum Resident Size: 110400 KB\n\
             \tPage faults with physical i/o: 2\n\
             Memory accounted for:\n\
             \tTotal accounted:          304 KB\n\
             File descriptor usage for squid:\n\
             \tMaximum number of file descriptors:   20000\n\
             \tLargest file desc currently in use:     19\n\
             \tNumber of file desc currently in use:   14\n\
             \tFiles queued for open:                   0\n\
             \tAvailable number of file descriptors: 19986\n\
             \tReserved number of file descriptors:     0\n\
             \tStore Disk files open:                   0\n\
             Internal Data Structures:\n\
             \t     8 StoreEntries\n\
             \t     4 StoreEntries with MemObjects\n\
             \t     3 Hot Object Cache Items\n\
             \t     5 on-disk objects\n"
        );
    }

    #[test]
    fn tools_for_squid_2_7_find_its_lines() {
        let old = info().text(Layout::Old);
        for line in [
            "\tRequest Hit Ratios:\t5min: 40.0%, 60min: 50.0%",
            "\tByte Hit Ratios:\t5min: -5.0%, 60min: -5.0%",
            "\tRequest Memory Hit Ratios:\t5min: 75.0%, 60min: 75.0%",
            "\tRequest Disk Hit Ratios:\t5min: 25.0%, 60min: 25.0%",
            "\tStorage Swap size:\t84 KB",
        ] {
            assert!(old.lines().any(|is| is == line), "{line}\n{old}");
        }
        assert!(!old.contains("Build Info") && !old.contains("capacity"));
    }
}
