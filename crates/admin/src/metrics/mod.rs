//! `/metrics`: every number of the program as collectors read it. Names of ours come from the tables
//! (`stats` for what is counted, `tables` for the rest), so that nothing is left out; beside them
//! stand the names of squid-exporter, for dashboards that know those.

mod buckets;
mod exporter;
mod listed;
mod tables;
mod text;

use std::time::Duration;

use proxy::internal::Answer;
use stats::{Counter, Gauge, Histogram, SERVICE_TIMES, Snapshot, Unit};

use crate::Scene;
use crate::process::{Descriptors, Process as System};
use buckets::Buckets;
pub use listed::{Listed, listed};
use tables::{PEERS, POOLS, PROCESS, Process, Row, STORE, VOLUMES, WORKERS, float};
use text::{Family, Format, Kind, Text};

/// Says who we are, in its labels.
const BUILD: Family<'static> = Family {
    name: "squall_build_info",
    kind: Kind::Gauge,
    unit: "",
    help: "Always 1; the labels say which program this is.",
};

/// How long requests take, in one family: which of `SERVICE_TIMES` is a label.
const SERVICE: Family<'static> = Family {
    name: "squall_service_time_seconds",
    kind: Kind::Histogram,
    unit: "seconds",
    help: "Time from a request's first byte to the reply's last, by what it was answered with.",
};

/// The page.
pub(crate) fn page(scene: &Scene<'_>) -> Answer {
    let format = Format::of(scene.ask.accept);
    let mut text = Text::new(format);
    ours(&mut text, scene);
    let config = scene.config();
    if config.metrics_squid_exporter {
        exporter::write(&mut text, scene);
    }
    Answer {
        status: 200,
        media_type: format.media_type(),
        fields: vec![("Vary", "Accept".to_owned())],
        content: text.finish().into_bytes(),
    }
}

fn ours(text: &mut Text, scene: &Scene<'_>) {
    let names = scene.names();
    text.family(&BUILD);
    let who = [
        ("version", names.version),
        ("squid", names.squid),
        ("service", &names.service),
    ];
    text.sample(&BUILD, &who, 1.0);
    counted(text, &scene.snapshot());
    rows(text, PROCESS, "", &[(String::new(), process(scene))]);
    rows(text, STORE, "", &[(String::new(), scene.memory())]);
    let volumes = scene.volumes().each.into_iter();
    let volumes: Vec<_> = volumes
        .map(|(path, usage)| (path.display().to_string(), usage))
        .collect();
    rows(text, VOLUMES, "path", &volumes);
    let peers = scene.plan().peer_reports().into_iter();
    let peers: Vec<_> = peers.map(|peer| (peer.config.name.clone(), peer)).collect();
    rows(text, PEERS, "peer", &peers);
    let pools = scene.helpers().pools().into_iter();
    let pools: Vec<_> = pools
        .map(|pool| (pool.options().label(), pool.status()))
        .collect();
    rows(text, POOLS, "pool", &pools);
    let workers: Vec<_> = scene.registry().named().into_iter().collect();
    rows(text, WORKERS, "worker", &workers);
}

/// What `stats` counts.
fn counted(text: &mut Text, snapshot: &Snapshot) {
    for counter in Counter::ALL {
        let value = float(snapshot.counter(*counter));
        single(text, counter.row(), Kind::Counter, value);
    }
    for gauge in Gauge::ALL {
        single(
            text,
            gauge.row(),
            Kind::Gauge,
            float(snapshot.gauge(*gauge)),
        );
    }
    text.family(&SERVICE);
    for histogram in SERVICE_TIMES {
        if let Some(values) = snapshot.histogram(histogram) {
            let answer = [("answer", answer_of(histogram))];
            text.histogram(&SERVICE, &answer, Buckets::of(Unit::Microseconds), values);
        }
    }
    for histogram in Histogram::ALL
        .iter()
        .filter(|one| !SERVICE_TIMES.contains(one))
    {
        let (row, values) = (histogram.row(), snapshot.histogram(*histogram));
        let name = full_name(row);
        let family = family(row, &name, Kind::Histogram);
        if let Some(values) = values {
            text.family(&family);
            text.histogram(&family, &[], Buckets::of(row.unit), values);
        }
    }
}

fn single(text: &mut Text, row: &stats::Row, kind: Kind, value: f64) {
    let scale = match row.unit {
        Unit::Count | Unit::Bytes => 1.0,
        Unit::Microseconds => 1e6,
    };
    let name = full_name(row);
    text.single(&family(row, &name, kind), value / scale);
}

/// What requests of one of `SERVICE_TIMES` were answered with.
fn answer_of(histogram: Histogram) -> &'static str {
    let name = histogram.row().name;
    name.strip_prefix("service_time_").unwrap_or(name)
}

const fn family<'a>(row: &'a stats::Row, name: &'a str, kind: Kind) -> Family<'a> {
    Family {
        name,
        kind,
        unit: unit_name(row.unit),
        help: row.help,
    }
}

/// With our prefix, and with its unit at the end.
fn full_name(row: &stats::Row) -> String {
    let unit = unit_name(row.unit);
    if unit.is_empty() || row.name.ends_with(unit) {
        format!("squall_{}", row.name)
    } else {
        format!("squall_{}_{unit}", row.name)
    }
}

/// Collectors want base units.
const fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "",
        Unit::Bytes => "bytes",
        Unit::Microseconds => "seconds",
    }
}

/// All rows of a table for all parts, each with its name in a label; without a label there is one part.
fn rows<T>(text: &mut Text, table: &[Row<T>], label: &str, parts: &[(String, T)]) {
    if parts.is_empty() {
        return;
    }
    for row in table {
        text.family(&row.family);
        for (name, part) in parts {
            let labels = [(label, name.as_str())];
            let labels = if label.is_empty() { &[] } else { &labels[..] };
            text.sample(&row.family, labels, (row.read)(part));
        }
    }
}

fn process(scene: &Scene<'_>) -> Process {
    let (system, descriptors) = (System::read(), Descriptors::read());
    let start = u64::try_from(scene.started_unix_ms()).unwrap_or(0);
    Process {
        start: Duration::from_millis(start),
        cpu: Duration::from_micros(system.cpu_us),
        resident_bytes: system.resident_kb << 10,
        descriptors: descriptors.open,
        descriptors_max: descriptors.max,
    }
}
