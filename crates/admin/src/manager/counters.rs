//! `counters`: totals since the start, `name = value`. Programs that read it want whole numbers, and one `=` in a line.

use std::fmt::Write as _;

use serde::Serialize;
use stats::{Counter, Window};

use super::Report;
use super::figures::{HITS, ServerTraffic, Servers, http_date, kb, secs};
use crate::Scene;

/// See the module.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Counters {
    sample_unix_ms: i64,
    client_http: ClientTraffic,
    server: Servers<ServerTraffic>,
    page_faults: u64,
    event_loops: u64,
    cpu_secs: f64,
    wall_secs: f64,
    swap_outs: u64,
    swap_ins: u64,
    aborted_requests: u64,
}

/// What clients have asked for and got.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct ClientTraffic {
    pub(crate) requests: u64,
    pub(crate) hits: u64,
    pub(crate) errors: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) hit_bytes_out: u64,
}

impl ClientTraffic {
    pub(crate) fn of(window: &Window) -> Self {
        let count = |counter| window.counter(counter);
        Self {
            requests: count(Counter::ClientRequests),
            hits: window.counters(&HITS),
            errors: count(Counter::Errors),
            bytes_in: count(Counter::ClientBytesIn),
            bytes_out: count(Counter::ClientBytesOut),
            hit_bytes_out: count(Counter::HitBytes),
        }
    }
}

/// `counters`
pub(super) fn counters(scene: &Scene<'_>) -> Report {
    let counters = Counters::of(scene);
    let mut text = String::new();
    // A String takes all that is written.
    let _ = counters.write(&mut text);
    Report::new(&counters, text)
}

/// What isn't spoken here: Squid's names for it, with a value that is true.
const NO_ICP: [&str; 22] = [
    "icp.pkts_sent",
    "icp.pkts_recv",
    "icp.queries_sent",
    "icp.replies_sent",
    "icp.queries_recv",
    "icp.replies_recv",
    "icp.query_timeouts",
    "icp.replies_queued",
    "icp.kbytes_sent",
    "icp.kbytes_recv",
    "icp.q_kbytes_sent",
    "icp.r_kbytes_sent",
    "icp.q_kbytes_recv",
    "icp.r_kbytes_recv",
    "icp.times_used",
    "cd.times_used",
    "cd.msgs_sent",
    "cd.msgs_recv",
    "cd.memory",
    "cd.local_memory",
    "cd.kbytes_sent",
    "cd.kbytes_recv",
];

impl Counters {
    pub(crate) fn of(scene: &Scene<'_>) -> Self {
        let total = scene.total();
        Self {
            sample_unix_ms: scene.unix_ms(),
            client_http: ClientTraffic::of(&total),
            server: Servers::of(&total),
            page_faults: total.counter(Counter::PageFaults),
            event_loops: total.counter(Counter::EventLoops),
            cpu_secs: secs(total.counter(Counter::CpuTime)),
            wall_secs: total.seconds,
            swap_outs: total.counter(Counter::SwapOuts),
            swap_ins: total.counter(Counter::SwapIns),
            aborted_requests: total.counter(Counter::Aborted),
        }
    }

    pub(crate) fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "sample_time = {}", sample_time(self.sample_unix_ms))?;
        let client = &self.client_http;
        for (name, value) in [
            ("requests", client.requests),
            ("hits", client.hits),
            ("errors", client.errors),
            ("kbytes_in", kb(client.bytes_in)),
            ("kbytes_out", kb(client.bytes_out)),
            ("hit_kbytes_out", kb(client.hit_bytes_out)),
        ] {
            writeln!(out, "client_http.{name} = {value}")?;
        }
        for (name, server) in self.server.each() {
            writeln!(out, "{name}.requests = {}", server.requests)?;
            writeln!(out, "{name}.errors = {}", server.errors)?;
            writeln!(out, "{name}.kbytes_in = {}", kb(server.bytes_in))?;
            writeln!(out, "{name}.kbytes_out = {}", kb(server.bytes_out))?;
        }
        for name in NO_ICP {
            writeln!(out, "{name} = 0")?;
        }
        writeln!(out, "unlink.requests = 0")?;
        writeln!(out, "page_faults = {}", self.page_faults)?;
        writeln!(out, "select_loops = {}", self.event_loops)?;
        writeln!(out, "cpu_time = {:.6}", self.cpu_secs)?;
        writeln!(out, "wall_time = {:.6}", self.wall_secs)?;
        writeln!(out, "swap.outs = {}", self.swap_outs)?;
        writeln!(out, "swap.ins = {}", self.swap_ins)?;
        writeln!(out, "swap.files_cleaned = 0")?;
        writeln!(out, "aborted_requests = {}", self.aborted_requests)
    }
}

/// `1795214504.226000 (Fri, 20 Nov 2026 22:41:44 GMT)`
pub(super) fn sample_time(unix_ms: i64) -> String {
    let (secs, ms) = (unix_ms.div_euclid(1000), unix_ms.rem_euclid(1000));
    format!("{secs}.{ms:03}000 ({})", http_date(unix_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_one_name_and_one_number() {
        let traffic = |requests, bytes_in| ServerTraffic {
            requests,
            errors: 1,
            bytes_in,
            bytes_out: 2048,
        };
        let counters = Counters {
            sample_unix_ms: 784_111_777_123,
            client_http: ClientTraffic {
                requests: 14,
                hits: 4,
                errors: 3,
                bytes_in: 2047,
                bytes_out: 102_400,
                hit_bytes_out: 6144,
            },
            server: Servers {
                all: traffic(3, 4096),
                http: traffic(2, 2048),
                ftp: ServerTraffic::default(),
                other: traffic(1, 2048),
            },
            page_faults: 2,
            event_loops: 98,
            cpu_secs: 0.035_282,
            wall_secs: 3.333_665,
            swap_outs: 3,
            swap_ins: 1,
            aborted_requests: 5,
        };
        let mut text = String::new();
        counters.write(&mut text).unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(first, format!("sample_time = 784111777.123000 ({date})"));
        let begin = "client_http.requests = 14\nclient_http.hits = 4\nclient_http.errors = 3\n\
                     client_http.kbytes_in = 1\nclient_http.kbytes_out = 100\n\
                     client_http.hit_kbytes_out = 6\nserver.all.requests = 3\n";
        assert!(rest.starts_with(begin), "{rest}");
        let end = "unlink.requests = 0\npage_faults = 2\nselect_loops = 98\ncpu_time = 0.035282\n\
                   wall_time = 3.333665\nswap.outs = 3\nswap.ins = 1\nswap.files_cleaned = 0\n\
                   aborted_requests = 5\n";
        assert!(rest.ends_with(end), "{rest}");
        for line in rest.lines() {
            let (_, value) = line.split_once(" = ").unwrap();
            assert!(
                value.parse::<f64>().is_ok() && line.matches('=').count() == 1,
                "{line}"
            );
        }
        // As many as Squid 5.7 has.
        assert_eq!(text.lines().count(), 54);
    }
}
