//! `5min`, `60min`: what was counted in a second, on average, and medians. `utilization`: the same for longer times.
//! Squid's lines about system calls that nothing here counts are left out.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;
use stats::{Counter, Window};

use super::Report;
use super::counters::{ClientTraffic, Counters, sample_time};
use super::figures::{
    FIVE_MINUTES, HOUR, Quantiles, ServerTraffic, Servers, ServiceTimes, float, secs,
};
use super::info::cpu_percent;
use crate::Scene;

/// Averages over a window. Counts are those of the whole window.
#[derive(Debug, Clone, Serialize)]
struct Averages {
    start_unix_ms: i64,
    end_unix_ms: i64,
    seconds: f64,
    client_http: ClientTraffic,
    medians: Quantiles,
    server: Servers<ServerTraffic>,
    page_faults: u64,
    event_loops: u64,
    swap_outs: u64,
    swap_ins: u64,
    aborted_requests: u64,
    connections_accepted: u64,
    hop_connects: u64,
    cpu_secs: f64,
    cpu_percent: f64,
}

/// `5min`
pub(super) fn five_minutes(scene: &Scene<'_>) -> Report {
    averages(scene, FIVE_MINUTES)
}

/// `60min`
pub(super) fn sixty_minutes(scene: &Scene<'_>) -> Report {
    averages(scene, HOUR)
}

fn averages(scene: &Scene<'_>, length: Duration) -> Report {
    let [window] = scene.windows([length]);
    let averages = Averages::of(scene, &window);
    let mut text = String::new();
    // A String takes all that is written.
    let _ = averages.write(&mut text);
    Report::new(&averages, text)
}

/// `utilization`: a window that is older than the proxy has no averages yet.
#[derive(Debug, Serialize)]
struct Utilization {
    windows: Vec<(&'static str, Option<Averages>)>,
    total: Counters,
}

const MINUTE_SECS: u64 = 60;
const HOUR_SECS: u64 = 60 * MINUTE_SECS;
const DAY_SECS: u64 = 24 * HOUR_SECS;

/// Title and length.
const WINDOWS: [(&str, u64); 6] = [
    ("Last 5 minutes", 5 * MINUTE_SECS),
    ("Last 15 minutes", 15 * MINUTE_SECS),
    ("Last hour", HOUR_SECS),
    ("Last 8 hours", 8 * HOUR_SECS),
    ("Last day", DAY_SECS),
    ("Last 3 days", 3 * DAY_SECS),
];

/// `utilization`
pub(super) fn utilization(scene: &Scene<'_>) -> Report {
    let windows = scene.windows(WINDOWS.map(|(_, length)| Duration::from_secs(length)));
    let age = scene.uptime().as_secs();
    let windows = WINDOWS
        .iter()
        .zip(&windows)
        .map(|((title, length), window)| {
            let averages = (age >= *length).then(|| Averages::of(scene, window));
            (*title, averages)
        });
    let utilization = Utilization {
        windows: windows.collect(),
        total: Counters::of(scene),
    };
    let mut text = String::new();
    // A String takes all that is written.
    let _ = utilization.write(&mut text);
    Report::new(&utilization, text)
}

impl Utilization {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "Cache Utilisation:\n")?;
        for (title, averages) in &self.windows {
            writeln!(out, "{title}:")?;
            match averages {
                Some(averages) => averages.write(out)?,
                None => writeln!(out, "(no values recorded yet)")?,
            }
            writeln!(out)?;
        }
        writeln!(out, "Totals since cache startup:")?;
        self.total.write(out)
    }
}

/// What isn't spoken here: Squid's names for it, in the order of these pages.
const NO_ICP: [&str; 14] = [
    "pkts_sent",
    "pkts_recv",
    "queries_sent",
    "replies_sent",
    "queries_recv",
    "replies_recv",
    "replies_queued",
    "query_timeouts",
    "kbytes_sent",
    "kbytes_recv",
    "q_kbytes_sent",
    "r_kbytes_sent",
    "q_kbytes_recv",
    "r_kbytes_recv",
];

impl Averages {
    fn of(scene: &Scene<'_>, window: &Window) -> Self {
        let count = |counter| window.counter(counter);
        let end_unix_ms = scene.unix_ms();
        let length = Duration::from_secs_f64(window.seconds).as_millis();
        Self {
            start_unix_ms: end_unix_ms.saturating_sub(i64::try_from(length).unwrap_or(0)),
            end_unix_ms,
            seconds: window.seconds,
            client_http: ClientTraffic::of(window),
            medians: ServiceTimes::of(window).quantiles(0.5),
            server: Servers::of(window),
            page_faults: count(Counter::PageFaults),
            event_loops: count(Counter::EventLoops),
            swap_outs: count(Counter::SwapOuts),
            swap_ins: count(Counter::SwapIns),
            aborted_requests: count(Counter::Aborted),
            connections_accepted: count(Counter::ConnectionsAccepted),
            hop_connects: count(Counter::HopConnects),
            cpu_secs: secs(count(Counter::CpuTime)),
            cpu_percent: cpu_percent(window),
        }
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let each = |count: u64| float(count) / self.seconds;
        let kb_each = |bytes: u64| float(bytes) / 1024.0 / self.seconds;
        writeln!(
            out,
            "sample_start_time = {}",
            sample_time(self.start_unix_ms)
        )?;
        writeln!(out, "sample_end_time = {}", sample_time(self.end_unix_ms))?;
        let client = &self.client_http;
        for (name, rate) in [
            ("requests", each(client.requests)),
            ("hits", each(client.hits)),
            ("errors", each(client.errors)),
            ("kbytes_in", kb_each(client.bytes_in)),
            ("kbytes_out", kb_each(client.bytes_out)),
        ] {
            writeln!(out, "client_http.{name} = {rate:.6}/sec")?;
        }
        let medians = &self.medians;
        for (name, median) in [
            ("all", medians.all),
            ("miss", medians.misses),
            ("nm", medians.not_modified),
            ("nh", medians.near_hits),
            ("hit", medians.hits),
        ] {
            writeln!(
                out,
                "client_http.{name}_median_svc_time = {median:.6} seconds"
            )?;
        }
        for (name, server) in self.server.each() {
            writeln!(out, "{name}.requests = {:.6}/sec", each(server.requests))?;
            writeln!(out, "{name}.errors = {:.6}/sec", each(server.errors))?;
            writeln!(
                out,
                "{name}.kbytes_in = {:.6}/sec",
                kb_each(server.bytes_in)
            )?;
            writeln!(
                out,
                "{name}.kbytes_out = {:.6}/sec",
                kb_each(server.bytes_out)
            )?;
        }
        for name in NO_ICP {
            writeln!(out, "icp.{name} = 0.000000/sec")?;
        }
        writeln!(out, "icp.query_median_svc_time = 0.000000 seconds")?;
        writeln!(out, "icp.reply_median_svc_time = 0.000000 seconds")?;
        writeln!(out, "dns.median_svc_time = {:.6} seconds", medians.dns)?;
        for (name, rate) in [
            ("unlink.requests", 0.0),
            ("page_faults", each(self.page_faults)),
            ("select_loops", each(self.event_loops)),
            ("swap.outs", each(self.swap_outs)),
            ("swap.ins", each(self.swap_ins)),
            ("swap.files_cleaned", 0.0),
            ("aborted_requests", each(self.aborted_requests)),
            ("syscalls.sock.accepts", each(self.connections_accepted)),
            ("syscalls.sock.connects", each(self.hop_connects)),
        ] {
            writeln!(out, "{name} = {rate:.6}/sec")?;
        }
        writeln!(out, "cpu_time = {:.6} seconds", self.cpu_secs)?;
        writeln!(out, "wall_time = {:.6} seconds", self.seconds)?;
        writeln!(out, "cpu_usage = {:.6}%", self.cpu_percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn averages() -> Averages {
        Averages {
            start_unix_ms: 784_111_477_000,
            end_unix_ms: 784_111_777_000,
            seconds: 300.0,
            client_http: ClientTraffic {
                requests: 600,
                hits: 150,
                errors: 3,
                bytes_in: 307_200,
                bytes_out: 614_400,
                hit_bytes_out: 1,
            },
            medians: Quantiles {
                all: 0.001,
                misses: 0.002,
                hits: 0.003,
                near_hits: 0.004,
                not_modified: 0.005,
                dns: 0.006,
            },
            server: Servers::default(),
            page_faults: 0,
            event_loops: 900,
            swap_outs: 30,
            swap_ins: 0,
            aborted_requests: 0,
            connections_accepted: 60,
            hop_connects: 30,
            cpu_secs: 3.0,
            cpu_percent: 1.0,
        }
    }

    #[test]
    fn rates_are_those_of_the_window() {
        let mut text = String::new();
        averages().write(&mut text).unwrap();
        for line in [
            "sample_start_time = 784111477.000000 (Sun, 06 Nov 1994 08:44:37 GMT)",
            "sample_end_time = 784111777.000000 (Sun, 06 Nov 1994 08:49:37 GMT)",
            "client_http.requests = 2.000000/sec",
            "client_http.hits = 0.500000/sec",
            "client_http.kbytes_in = 1.000000/sec",
            "client_http.kbytes_out = 2.000000/sec",
            "client_http.all_median_svc_time = 0.001000 seconds",
            "client_http.miss_median_svc_time = 0.002000 seconds",
            "client_http.nm_median_svc_time = 0.005000 seconds",
            "client_http.nh_median_svc_time = 0.004000 seconds",
            "client_http.hit_median_svc_time = 0.003000 seconds",
            "server.all.requests = 0.000000/sec",
            "dns.median_svc_time = 0.006000 seconds",
            "select_loops = 3.000000/sec",
            "swap.outs = 0.100000/sec",
            "syscalls.sock.accepts = 0.200000/sec",
            "cpu_time = 3.000000 seconds",
            "wall_time = 300.000000 seconds",
            "cpu_usage = 1.000000%",
        ] {
            assert!(text.lines().any(|is| is == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_window_longer_than_life_has_no_values() {
        let utilization = Utilization {
            windows: vec![("Last 5 minutes", Some(averages())), ("Last hour", None)],
            total: Counters::default(),
        };
        let mut text = String::new();
        utilization.write(&mut text).unwrap();
        assert!(text.starts_with("Cache Utilisation:\n\nLast 5 minutes:\nsample_start_time = "));
        assert!(text.contains("\n\nLast hour:\n(no values recorded yet)\n\nTotals since cache startup:\nsample_time = "));
    }
}
