//! What `/metrics` can show, for `docs/metrics.md` and for tests.

use stats::{COUNTERS, GAUGES, HISTOGRAMS, SERVICE_TIMES};

use super::exporter;
use super::tables::{PEERS, POOLS, PROCESS, Row, STORE, VOLUMES, WORKERS};
use super::text::{Family, Kind};
use super::{BUILD, SERVICE, family, full_name};

/// A family of samples.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The part of the program that it is about.
    pub group: &'static str,
    /// As samples have it: `_total` ends a counter's.
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// `bytes` or `seconds`; empty for plain numbers.
    pub unit: &'static str,
    /// Names of its labels, with commas between.
    pub labels: &'static str,
    /// One sentence.
    pub help: String,
}

/// All of them, group by group.
#[must_use]
pub fn listed() -> Vec<Listed> {
    let mut all = vec![Listed {
        labels: "version, squid, service",
        ..one("The program", "", &BUILD)
    }];
    part(&mut all, "The program", "", PROCESS);
    counted(&mut all, "Counters", COUNTERS, Kind::Counter);
    counted(&mut all, "Levels", GAUGES, Kind::Gauge);
    all.push(one("Distributions", "answer", &SERVICE));
    let times = SERVICE_TIMES.map(|histogram| histogram.row().name);
    let others: Vec<_> = HISTOGRAMS
        .iter()
        .filter(|row| !times.contains(&row.name))
        .copied()
        .collect();
    counted(&mut all, "Distributions", &others, Kind::Histogram);
    part(&mut all, "The store in memory", "", STORE);
    part(&mut all, "A cache_dir", "path", VOLUMES);
    part(&mut all, "A peer", "peer", PEERS);
    part(&mut all, "A pool of helper programs", "pool", POOLS);
    part(&mut all, "A worker", "worker", WORKERS);
    all.extend(exporter::listed());
    all
}

fn counted(all: &mut Vec<Listed>, group: &'static str, rows: &[stats::Row], kind: Kind) {
    for row in rows {
        let name = full_name(row);
        all.push(one(group, "", &family(row, &name, kind)));
    }
}

fn part<T>(all: &mut Vec<Listed>, group: &'static str, labels: &'static str, rows: &[Row<T>]) {
    all.extend(rows.iter().map(|row| one(group, labels, &row.family)));
}

fn one(group: &'static str, labels: &'static str, family: &Family<'_>) -> Listed {
    let total = match family.kind {
        Kind::Counter => "_total",
        Kind::Gauge | Kind::Histogram => "",
    };
    Listed {
        group,
        name: format!("{}{total}", family.name),
        kind: family.kind.name(),
        unit: match family.unit {
            "bytes" => "bytes",
            "seconds" => "seconds",
            _ => "",
        },
        labels,
        help: family.help.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_name_is_there_twice_and_each_ends_with_its_unit() {
        let mut names = HashSet::new();
        for one in listed() {
            assert!(names.insert(one.name.clone()), "{} twice", one.name);
            assert!(!one.help.is_empty() && !one.group.is_empty());
            let bare = one.name.trim_end_matches("_total");
            if !one.name.starts_with("squid_") {
                assert!(bare.ends_with(one.unit), "{}", one.name);
            }
            let first = |c: char| c.is_ascii_alphabetic() || c == '_';
            let rest = |c: char| c.is_ascii_alphanumeric() || c == '_';
            assert!(
                one.name.starts_with(first) && one.name.chars().all(rest),
                "{}",
                one.name
            );
        }
    }

    /// Words of a text that look like names of ours.
    fn ours(text: &str) -> HashSet<&str> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words
            .filter(|word| word.starts_with("squall_") || word.starts_with("process_"))
            .collect()
    }

    /// What a dashboard asks for is there. A histogram's buckets, sum and count go by its name.
    #[test]
    fn the_examples_ask_for_what_there_is() {
        let known: HashSet<String> = listed().into_iter().map(|one| one.name).collect();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
        for file in ["grafana/squall.json", "prometheus/alerts.yml"] {
            let text = std::fs::read_to_string(format!("{folder}{file}")).unwrap();
            let asked = ours(&text);
            assert!(asked.len() > 10, "{file}: {asked:?}");
            for name in asked {
                let bare = ["_bucket", "_sum", "_count"]
                    .iter()
                    .find_map(|end| name.strip_suffix(end));
                let found = known.contains(name) || bare.is_some_and(|bare| known.contains(bare));
                assert!(found, "{file} asks for {name}");
            }
        }
        let dashboard = std::fs::read_to_string(format!("{folder}grafana/squall.json")).unwrap();
        let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
        assert!(
            dashboard["panels"]
                .as_array()
                .is_some_and(|panels| panels.len() > 20)
        );
    }
}
