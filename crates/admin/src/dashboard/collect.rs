//! From counters and reports to [`Live`].

use std::sync::Arc;
use std::time::Duration;

use net::clock::Now;
use proxy::failure::TABLE;
use proxy::flow::Store;
use proxy::helpers::{Helpers, Pool};
use proxy::internal::{TransactionReport, WorkerReport};
use proxy::plan::Plan;
use proxy::watch::{Counted, Transaction, View, Watch};
use stats::{Counter, Gauge, History, Registry, Sample, Window};
use store::VolumeState;

use super::live::{
    About, ActiveRow, Errors, Figures, HelperRow, Latency, Live, PeerRow, Place, Process, Ranked,
    Series, TransactionRow, WorkerRow,
};
use super::recorder::{LATELY, Recorder, SECONDS, TIMED, WorkerLoad, WorkerPace};
use crate::manager::figures::{FIVE_MINUTES, HITS, float};
use crate::{Descriptors, Process as System};

const LATELY_SECS: Duration = Duration::from_secs(LATELY as u64);

/// Peers, helper pools and volumes that are shown, each.
const ROWS_MAX: usize = 200;

/// Where the figures come from.
#[derive(Debug)]
pub(super) struct Sources<'a> {
    pub(super) registry: &'a Registry,
    pub(super) history: &'a History,
    pub(super) store: &'a Store,
    pub(super) helpers: &'a Helpers,
    pub(super) watch: &'a Watch,
    pub(super) plan: &'a Plan,
    pub(super) reports: &'a [WorkerReport],
    /// Name and version of the program.
    pub(super) version: &'a str,
    /// Of the program's clock, which began with the program.
    pub(super) now: Now,
}

/// What the reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    /// Rank hosts and clients by bytes, not by requests.
    pub(super) by_bytes: bool,
    /// Rows of each list of transactions, hosts and clients.
    pub(super) rows: usize,
    /// Seconds up to and with this one are known already; seconds since 1970.
    pub(super) since: i64,
}

/// All of it.
pub(super) fn live(sources: &Sources<'_>, recorder: &mut Recorder, wish: Wish) -> Live {
    let Sources {
        registry,
        history,
        now,
        ..
    } = *sources;
    let at = Duration::from_nanos(now.mono_ns);
    let [lately, long, all] =
        history.windows(registry, at, [LATELY_SECS, FIVE_MINUTES, Duration::MAX]);
    let view = sources.watch.view(wish.rows);
    let View {
        hosts,
        clients,
        recent,
        slowest,
        largest,
    } = &view;
    let place = usize::from(wish.by_bytes);
    Live {
        program: about(sources),
        now: figures(&lately, &all, recorder),
        series: series(history, recorder, now, wish.since),
        latency: latency(&long),
        by: if wish.by_bytes { "bytes" } else { "requests" }.to_owned(),
        hosts: hosts.get(place).map(|all| ranked(all)).unwrap_or_default(),
        clients: clients
            .get(place)
            .map(|all| ranked(all))
            .unwrap_or_default(),
        errors: errors(&long, &all),
        store: places(sources.store),
        process: process(&lately),
        peers: peers(sources.plan),
        helpers: sources
            .helpers
            .pools()
            .iter()
            .take(ROWS_MAX)
            .map(helper)
            .collect(),
        workers: workers(sources, recorder),
        active: active(sources, wish.rows),
        recent: recent.iter().map(transaction).collect(),
        slowest: slowest.iter().map(transaction).collect(),
        largest: largest.iter().map(transaction).collect(),
    }
}

fn about(sources: &Sources<'_>) -> About {
    About {
        version: sources.version.to_owned(),
        host: sources.plan.visible_hostname().to_owned(),
        pid: std::process::id(),
        uptime_secs: sources.now.mono_ns / 1_000_000_000,
        unix_ms: sources.now.unix_ms,
    }
}

fn figures(lately: &Window, all: &Window, recorder: &Recorder) -> Figures {
    let now = all.now();
    let requests = lately.counter(Counter::ClientRequests);
    let times = recorder.lately();
    let quantile = |place: usize| times.and_then(|times| times.get(place).copied());
    Figures {
        requests: lately.per_second(Counter::ClientRequests),
        requests_total: now.counter(Counter::ClientRequests),
        hit_share: share(lately.counters(&HITS), requests),
        hit_byte_share: share(
            lately.counter(Counter::HitBytes),
            lately.counter(Counter::ClientBytesOut),
        ),
        out_bytes: lately.per_second(Counter::ClientBytesOut),
        hop_bytes: lately.per_second(Counter::HopBytesIn),
        errors: lately.per_second(Counter::Errors),
        error_share: share(lately.counter(Counter::Errors), requests),
        p50_us: quantile(0),
        p95_us: quantile(1),
        p99_us: quantile(2),
        active: now.gauge(Gauge::Transactions),
        connections: now.gauge(Gauge::ClientConnections),
        connections_idle: now.gauge(Gauge::ClientConnectionsIdle),
        hop_connections: now.gauge(Gauge::HopConnections),
        tunnels: now.gauge(Gauge::TunnelsOpen),
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (float(part) / float(whole)).min(1.0))
}

/// A value for each second that isn't known yet.
fn series(history: &History, recorder: &Recorder, now: Now, since: i64) -> Series {
    let mut series = Series::default();
    let samples: Vec<&Sample> = history.seconds().collect();
    let seconds = samples.iter().zip(samples.iter().skip(1));
    let hidden = samples.len().saturating_sub(SECONDS + 1);
    for (before, after) in seconds.skip(hidden) {
        let at_ns = u64::try_from(after.at.as_nanos()).unwrap_or(u64::MAX);
        let ago_ms = now.mono_ns.saturating_sub(at_ns) / 1_000_000;
        let unix_ms = now.unix_ms - i64::try_from(ago_ms).unwrap_or(i64::MAX);
        let unix_secs = unix_ms.div_euclid(1000);
        if unix_secs <= since || series.at.last() == Some(&unix_secs) {
            continue;
        }
        let secs = after.at.saturating_sub(before.at).as_secs_f64().max(0.001);
        let counted = |counter: Counter| {
            let before = before.snapshot.counter(counter);
            after.snapshot.counter(counter).saturating_sub(before)
        };
        let rate = |count: u64| (float(count) / secs * 10.0).round() / 10.0;
        let requests = counted(Counter::ClientRequests);
        let hits: u64 = HITS.iter().map(|hit| counted(*hit)).sum();
        series.at.push(unix_secs);
        series.requests.push(rate(requests));
        series.hits.push(rate(hits));
        series.misses.push(rate(requests.saturating_sub(hits)));
        series.errors.push(rate(counted(Counter::Errors)));
        series
            .out_bytes
            .push(rate(counted(Counter::ClientBytesOut)));
        series.hop_bytes.push(rate(counted(Counter::HopBytesIn)));
        let connections = after.snapshot.gauge(Gauge::ClientConnections);
        series.connections.push(connections);
        series.hit_share.push(share(hits, requests));
        let times = recorder.second(at_ns);
        let quantile = |place: usize| times.and_then(|times| times.get(place).copied());
        series.p50_us.push(quantile(0));
        series.p95_us.push(quantile(1));
        series.p99_us.push(quantile(2));
    }
    series
}

fn latency(long: &Window) -> Vec<Latency> {
    let rows = TIMED.iter().map(|(words, histograms)| {
        let times = long.histograms(histograms);
        let quantile = |share: f64| (times.count() > 0).then(|| times.quantile(share));
        Latency {
            of: (*words).to_owned(),
            count: times.count(),
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
        }
    });
    rows.filter(|row| row.count > 0).collect()
}

fn ranked<K: ToString>(all: &[Counted<K>]) -> Vec<Ranked> {
    let most = all.first().map_or(1, |first| first.weight.max(1));
    let row = |one: &Counted<K>| Ranked {
        key: one.key.to_string(),
        requests: one.requests,
        bytes: one.bytes,
        hit_share: share(one.hits, one.requests),
        weight: float(one.weight) / float(most),
    };
    all.iter().map(row).collect()
}

fn errors(long: &Window, all: &Window) -> Vec<Errors> {
    let row = |row: &proxy::failure::Row| Errors {
        kind: row.page.to_owned(),
        lately: long.counter(row.counter),
        total: all.counter(row.counter),
    };
    let mut rows: Vec<Errors> = TABLE.iter().map(row).filter(|row| row.total > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.lately, row.total)));
    rows
}

fn places(store: &Store) -> Vec<Place> {
    let memory = store.usage();
    let mut places = vec![Place {
        name: "memory".to_owned(),
        state: "serving".to_owned(),
        bytes: memory.bytes,
        bytes_max: memory.bytes_max,
        used: share(memory.bytes, memory.bytes_max),
        objects: memory.objects,
    }];
    let volumes = store.volumes().map(|volumes| volumes.usage().each);
    let volumes = volumes.unwrap_or_default();
    places.extend(volumes.into_iter().take(ROWS_MAX).map(|(path, usage)| {
        Place {
            name: path.display().to_string(),
            state: match usage.state {
                VolumeState::Serving => "serving",
                VolumeState::Recovering => "recovering",
                VolumeState::OutOfService => "out of service",
            }
            .to_owned(),
            bytes: usage.bytes,
            bytes_max: usage.bytes_max,
            used: share(usage.bytes, usage.bytes_max),
            objects: usage.objects,
        }
    }));
    places
}

fn process(lately: &Window) -> Process {
    let (system, descriptors) = (System::read(), Descriptors::read());
    Process {
        resident_bytes: system.resident_kb * 1024,
        descriptors: descriptors.open,
        descriptors_max: descriptors.max,
        cpu: lately.per_second(Counter::CpuTime) / 1e6,
    }
}

fn peers(plan: &Plan) -> Vec<PeerRow> {
    let reports = plan.peer_reports().into_iter().take(ROWS_MAX);
    let row = |peer: proxy::hops::peer::PeerReport| PeerRow {
        name: peer.config.name.to_string(),
        address: format!("{}:{}", peer.config.host, peer.config.http_port),
        state: if peer.up { "up" } else { "dead" }.to_owned(),
        open: peer.open.into(),
    };
    reports.map(row).collect()
}

fn helper(pool: &Arc<Pool>) -> HelperRow {
    let (options, status) = (pool.options(), pool.status());
    let busy: usize = status.children.iter().map(|child| child.pending).sum();
    HelperRow {
        name: format!("{} {}", options.kind.name(), options.name)
            .trim_end()
            .to_owned(),
        running: wide(status.active),
        max: wide(options.children.max),
        busy: wide(busy),
        queue: wide(status.queue),
        answers: status.received,
        failures: status.timed_out + status.refused,
        average_us: u64::try_from(status.average.as_micros()).unwrap_or(u64::MAX),
    }
}

fn workers(sources: &Sources<'_>, recorder: &mut Recorder) -> Vec<WorkerRow> {
    let loads: Vec<WorkerLoad> = sources.reports.iter().map(load).collect();
    let paces = recorder.pace(sources.now, &loads);
    let rows = sources.reports.iter().zip(paces);
    let row = |(report, pace): (&WorkerReport, WorkerPace)| WorkerRow {
        name: format!("worker {}", report.worker + 1),
        requests: pace.requests,
        connections: wide(report.connections_open),
        busy: pace.busy,
    };
    rows.map(row).collect()
}

fn load(report: &WorkerReport) -> WorkerLoad {
    WorkerLoad {
        worker: report.worker,
        requests: report.requests,
        busy: report.busy,
    }
}

fn active(sources: &Sources<'_>, rows: usize) -> Vec<ActiveRow> {
    let all = sources
        .reports
        .iter()
        .flat_map(|report| &report.transactions);
    // Who looks doesn't want to see that.
    let all = all.filter(|one| !one.url.contains("/squid-internal-mgr/"));
    let mut all: Vec<&TransactionReport> = all.collect();
    all.sort_by_key(|one| one.started_ns);
    let row = |one: &&TransactionReport| ActiveRow {
        client: one.client.ip().to_string(),
        method: one.method.clone(),
        url: one.url.clone(),
        elapsed_us: sources.now.mono_ns.saturating_sub(one.started_ns) / 1000,
        sent_bytes: one.bytes_out,
    };
    all.iter().take(rows).map(row).collect()
}

/// A transaction as it is told.
pub(super) fn transaction(one: &Arc<Transaction>) -> TransactionRow {
    TransactionRow {
        id: one.id.to_string(),
        unix_ms: one.finished_unix_ms,
        elapsed_us: one.elapsed_us,
        before_hop_us: one.before_hop_us,
        hop_us: one.hop_us,
        client: one.client.to_string(),
        user: one.user.clone(),
        method: one.method.clone(),
        url: one.url.clone(),
        result: one.result.clone(),
        status: one.status,
        request_bytes: one.request_bytes,
        sent_bytes: one.sent_bytes,
        hierarchy: one.hierarchy.to_owned(),
        hop: one.hop.clone(),
        hop_status: one.hop_status,
        attempts: one.attempts,
        media_type: one.media_type.clone(),
        error: one.error.to_owned(),
        error_detail: one.error_detail.clone(),
    }
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
