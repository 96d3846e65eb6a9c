//! Takes the figures of the tree from where the manager's pages take theirs.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use config::Config;
use http::Method;
use net::clock::Now;
use proxy::clients::{Client, Clients};
use proxy::hops::peer::PeerReport;
use proxy::internal::{Ask, Roll};
use proxy::plan::Plan;
use proxy::record::ResultTag;
use proxy::worker::Orders;
use stats::{Counter, Snapshot, Window};

use super::figures::{
    ClientFigures, Descriptors, Dns, Figures, Medians, NameCache, PeerFigures, PeerKind, Traffic,
};
use super::tree::WINDOWS;
use crate::manager::counters::ClientTraffic;
use crate::manager::figures::{HitRatios, ServerTraffic, Servers, ServiceTimes};
use crate::manager::info::cpu_percent;
use crate::process::{self, Process};
use crate::{Admin, Scene};

/// Rows of clients are taken anew after this long: there may be thousands, a walk asks once for each
/// value of each, and sorting them takes longer than answering.
const CLIENTS_HOLD: Duration = Duration::from_secs(2);

/// Takes figures, and keeps the rows of clients for a while.
#[derive(Debug, Default)]
pub(super) struct Collector {
    clients: Option<(Now, Arc<[ClientFigures]>)>,
}

impl Collector {
    pub(super) fn collect(&mut self, admin: &Admin, orders: &Orders, now: Now) -> Figures {
        let (plan, roll) = (&orders.plan, Roll::default());
        let ask = Ask {
            page: "",
            query: "",
            method: &Method::GET,
            accept: b"",
            if_none_match: b"",
            user_and_password: None,
            body: b"",
            http10: false,
            on_manager_port: false,
            plan,
            roll: &roll,
            resolver: &orders.resolver,
            now,
        };
        let scene = Scene { ask: &ask, admin };
        let clients = self.clients(plan.clients.as_deref(), now);
        figures(&scene, orders, clients)
    }

    fn clients(&mut self, clients: Option<&Clients>, now: Now) -> Arc<[ClientFigures]> {
        let known = self.clients.as_ref();
        if let Some((_, rows)) = known.filter(|(taken, _)| now.since(*taken) < CLIENTS_HOLD) {
            return Arc::clone(rows);
        }
        let all = clients.map(Clients::snapshot).unwrap_or_default();
        let mut rows: Vec<_> = all.iter().map(client).collect();
        ClientFigures::sort(&mut rows);
        let rows: Arc<[_]> = rows.into();
        self.clients = Some((now, Arc::clone(&rows)));
        rows
    }
}

fn figures(scene: &Scene<'_>, orders: &Orders, clients: Arc<[ClientFigures]>) -> Figures {
    let plan: &Plan = &orders.plan;
    let config = &plan.config;
    let total = scene.total();
    let windows =
        scene.windows(WINDOWS.map(|minutes| Duration::from_secs(60 * u64::from(minutes))));
    let [_, five, _] = &windows;
    let (memory, disk) = (scene.memory(), scene.volumes().total);
    let (system, snapshot) = (Process::read(), scene.snapshot());
    let (names, addresses) = orders.resolver.sizes();
    let (low, high) = swap_percents(config);
    Figures {
        memory_bytes: memory.bytes,
        memory_bytes_max: memory.bytes_max,
        swap_bytes: disk.bytes,
        swap_bytes_max: disk.bytes_max,
        swap_low_percent: low,
        swap_high_percent: high,
        objects: memory.objects.saturating_add(disk.objects),
        uptime: scene.uptime(),
        admin: config.cache_mgr.clone(),
        software: "squall",
        version: scene.names().squid,
        logging: logging(config).to_owned(),
        unique_hostname: plan.unique_hostname.clone(),
        page_faults: system.page_faults,
        reads: snapshot
            .histogram(stats::Histogram::HopReadSize)
            .map_or(0, stats::Distribution::count),
        accounted_bytes: memory.bytes,
        resident_bytes_max: system.resident_max_kb << 10,
        cpu_time: Duration::from_micros(system.cpu_us),
        cpu_percent: whole(cpu_percent(five)).unsigned_abs(),
        descriptors: descriptors(),
        client: client_traffic(&total),
        server: server_traffic(&total),
        client_addresses: plan
            .clients
            .as_ref()
            .map_or(0, |clients| clients.len() as u64),
        medians: windows.map(|window| medians(&window)),
        names: name_cache(&snapshot, names),
        addresses: address_cache(&snapshot, addresses),
        dns: dns(orders),
        peers: plan.peer_reports().iter().map(peer).collect(),
        clients,
    }
}

/// `debug_options`, or what holds without.
fn logging(config: &Config) -> &str {
    match config.debug_options.as_str() {
        "" => "ALL,1",
        options => options,
    }
}

/// Water marks don't move us, who throw away only what has to go; pollers see those of the file.
fn swap_percents(config: &Config) -> (u32, u32) {
    (config.cache_swap_low, config.cache_swap_high)
}

fn descriptors() -> Descriptors {
    let known = process::Descriptors::read();
    Descriptors {
        max: known.max,
        reserved: 0,
        open: known.open,
        highest: known.largest,
    }
}

fn client_traffic(total: &Window) -> Traffic {
    let client = ClientTraffic::of(total);
    Traffic {
        requests: client.requests,
        hits: client.hits,
        errors: client.errors,
        bytes_in: client.bytes_in,
        bytes_out: client.bytes_out,
    }
}

fn server_traffic(total: &Window) -> Traffic {
    let ServerTraffic {
        requests,
        errors,
        bytes_in,
        bytes_out,
    } = Servers::of(total).all;
    Traffic {
        requests,
        hits: 0,
        errors,
        bytes_in,
        bytes_out,
    }
}

fn medians(window: &Window) -> Medians {
    let times = ServiceTimes::of(window);
    let median = |times: &stats::Distribution| Duration::from_micros(times.quantile(0.5));
    let ratios = HitRatios::of(window);
    Medians {
        all: median(&times.all),
        miss: median(&times.misses),
        not_modified: median(&times.not_modified),
        near_hit: median(&times.near_hits),
        hit: median(&times.hits),
        dns: median(&times.dns),
        request_hit_percent: whole(ratios.requests),
        byte_hit_percent: whole(ratios.bytes),
    }
}

/// A percentage without its fraction, as Squid gives it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "`as` saturates, and the fraction is to go"
)]
const fn whole(percent: f64) -> i32 {
    percent as i32
}

fn name_cache(snapshot: &Snapshot, entries: usize) -> NameCache {
    NameCache {
        entries: entries as u64,
        requests: snapshot.counter(Counter::DnsLookups),
        hits: snapshot.counter(Counter::DnsHits),
        pending_hits: snapshot.counter(Counter::DnsShared),
        negative_hits: snapshot.counter(Counter::DnsNegativeHits),
    }
}

fn address_cache(snapshot: &Snapshot, entries: usize) -> NameCache {
    NameCache {
        entries: entries as u64,
        requests: snapshot.counter(Counter::DnsNameLookups),
        hits: snapshot.counter(Counter::DnsNameHits),
        pending_hits: 0,
        negative_hits: snapshot.counter(Counter::DnsNameNegativeHits),
    }
}

fn dns(orders: &Orders) -> Dns {
    let servers = orders.resolver.name_servers();
    Dns {
        queries: servers.iter().map(|server| server.queries()).sum(),
        replies: servers.iter().map(|server| server.replies()).sum(),
        servers: servers.len() as u64,
    }
}

fn peer(report: &PeerReport) -> PeerFigures {
    let config = &report.config;
    PeerFigures {
        name: config.host.clone(),
        addr: report
            .addresses
            .first()
            .copied()
            .unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        http_port: config.http_port,
        icp_port: config.icp_port,
        kind: match config.kind {
            config::PeerKind::Sibling | config::PeerKind::Multicast => PeerKind::Sibling,
            config::PeerKind::Parent => PeerKind::Parent,
        },
        is_up: report.up,
        fetches: report.fetches,
        round_trip: Duration::ZERO,
        keepalives_sent: report.fetches,
        keepalives_received: report.kept_alive,
    }
}

fn client(known: &Client) -> ClientFigures {
    let totals = &known.totals;
    let hits = ResultTag::ALL.iter().filter(|tag| tag.is_hit());
    ClientFigures {
        addr: known.addr,
        requests: totals.all(),
        hits: hits.map(|tag| totals.of(*tag)).sum(),
        bytes_out: totals.bytes_out,
        hit_bytes_out: totals.hit_bytes_out,
    }
}
