//! The table: medians of the rounds, and the ratios that count.

use std::fmt::Write;

use serde::Serialize;

use crate::machine::Machine;
use crate::server::Server;

/// One server under one workload in one round; times in microseconds per request.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Sample {
    pub(crate) requests_per_second: f64,
    pub(crate) user: f64,
    pub(crate) system: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) rss_mib: f64,
    pub(crate) errors: f64,
    /// Hundredths of two cores that went to other work than this server, wrk and the origin.
    pub(crate) others: f64,
}

/// A server's line: the medians, and the rounds that they are from.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) server: String,
    pub(crate) median: Sample,
    pub(crate) rounds: Vec<Sample>,
}

/// A workload's table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) title: String,
    /// How many times the floor's cost counts as the floor here.
    pub(crate) floors: f64,
    pub(crate) lines: Vec<Line>,
    /// Servers that could not take part, and why.
    pub(crate) absent: Vec<(String, String)>,
}

/// One core against two, load and server on the same cores.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Scale {
    pub(crate) server: String,
    pub(crate) one: Sample,
    pub(crate) two: Sample,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) title: String,
    pub(crate) machine: Machine,
    pub(crate) rounds: usize,
    pub(crate) seconds: u32,
    pub(crate) tables: Vec<Table>,
    pub(crate) scaling: Vec<Scale>,
}

impl Sample {
    /// Processor time per request.
    pub(crate) fn cost(&self) -> f64 {
        self.user + self.system
    }
}

impl Line {
    pub(crate) fn new(server: Server, rounds: Vec<Sample>) -> Self {
        Self {
            server: server.name().to_owned(),
            median: median_sample(&rounds),
            rounds,
        }
    }
}

pub(crate) fn median_sample(rounds: &[Sample]) -> Sample {
    let of = |field: fn(&Sample) -> f64| median(rounds.iter().map(field).collect());
    Sample {
        requests_per_second: of(|sample| sample.requests_per_second),
        user: of(|sample| sample.user),
        system: of(|sample| sample.system),
        p50: of(|sample| sample.p50),
        p99: of(|sample| sample.p99),
        rss_mib: of(|sample| sample.rss_mib),
        // An error in any round is one too many to hide.
        errors: rounds.iter().map(|sample| sample.errors).sum(),
        others: of(|sample| sample.others),
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied().unwrap_or(0.0);
    match values.len() % 2 {
        0 => (upper + values.get(middle.saturating_sub(1)).copied().unwrap_or(0.0)) / 2.0,
        _ => upper,
    }
}

impl Table {
    fn cost(&self, server: Server) -> Option<f64> {
        let line = self
            .lines
            .iter()
            .find(|line| line.server == server.name())?;
        Some(
            line.median.cost()
                * if server == Server::Floor {
                    self.floors
                } else {
                    1.0
                },
        )
    }

    /// The cheapest of the others, by name and cost.
    fn best_peer(&self) -> Option<(&str, f64)> {
        let ours = [Server::Floor.name(), Server::Squall.name()];
        let peers = self
            .lines
            .iter()
            .filter(|line| !ours.contains(&line.server.as_str()));
        let costs = peers.map(|line| (line.server.as_str(), line.median.cost()));
        costs.min_by(|one, other| one.1.total_cmp(&other.1))
    }

    pub(crate) fn render(&self) -> String {
        let (floor, squall) = (self.cost(Server::Floor), self.cost(Server::Squall));
        let mut out = format!(
            "### {}\n\n| server | requests/s | user µs | system µs | sum µs | × floor | × Squall | p50 ms | p99 ms | RSS MiB | others % |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            self.title
        );
        for line in &self.lines {
            let sample = &line.median;
            let many = if line.server == Server::Floor.name() {
                self.floors
            } else {
                1.0
            };
            let name = if many == 1.0 {
                line.server.clone()
            } else {
                format!("{many} × {}", line.server)
            };
            let cost = sample.cost() * many;
            let ratio = |base: Option<f64>| {
                base.map_or("–".to_owned(), |base| format!("{:.2}", cost / base))
            };
            push(
                &mut out,
                format_args!(
                    "| {name} | {:.0} | {} | {} | {} | {} | {} | {:.2} | {:.2} | {:.0} | {:.0} |{}\n",
                    sample.requests_per_second,
                    micros(sample.user * many),
                    micros(sample.system * many),
                    micros(cost),
                    ratio(floor),
                    ratio(squall),
                    sample.p50 / 1000.0,
                    sample.p99 / 1000.0,
                    sample.rss_mib,
                    sample.others,
                    if sample.errors > 0.0 {
                        format!(" {} errors", sample.errors)
                    } else {
                        String::new()
                    },
                ),
            );
        }
        for (server, why) in &self.absent {
            push(&mut out, format_args!("\n{server} is absent: {why}\n"));
        }
        out
    }
}

/// Three digits that matter.
pub(crate) fn micros(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

impl Report {
    pub(crate) fn render(&self) -> String {
        let tables: Vec<String> = self.tables.iter().map(Table::render).collect();
        self.head() + &tables.join("\n")
    }

    /// All but the tables of single workloads.
    pub(crate) fn head(&self) -> String {
        let machine = &self.machine;
        let mut out = format!(
            "# {}\n\n{}.\n\
             Medians of {} rounds of {} s, the servers in turn within a round. Server on core 0 with one worker, wrk and \
             the origin on core 1.\nµs: processor time of the server's processes per request. \
             × floor and × Squall compare the sums. Others: the share of the two cores that other work took meanwhile.\n\n",
            self.title,
            machine.line(),
            self.rounds,
            self.seconds
        );
        for (server, version) in &machine.versions {
            push(&mut out, format_args!("- {server}: {version}\n"));
        }
        out += "\n";
        if !self.tables.is_empty() {
            out += &self.summary();
        }
        if !self.scaling.is_empty() {
            out += &self.scaling();
        }
        out
    }

    /// A line per workload.
    fn summary(&self) -> String {
        let mut out = "| workload | floor µs | Squall µs | × floor | best peer µs | ÷ Squall | Squid µs | ÷ Squall |\n\
                       |---|--:|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
        for table in &self.tables {
            let (floor, squall, squid) = (
                table.cost(Server::Floor),
                table.cost(Server::Squall),
                table.cost(Server::Squid),
            );
            let show = |cost: Option<f64>| cost.map_or("–".to_owned(), micros);
            let ratio = |one: Option<f64>, other: Option<f64>| match (one, other) {
                (Some(one), Some(other)) => format!("{:.2}", one / other),
                _ => "–".to_owned(),
            };
            let peer = table.best_peer();
            push(
                &mut out,
                format_args!(
                    "| {} | {} | {} | {} | {} {} | {} | {} | {} |\n",
                    table.title,
                    show(floor),
                    show(squall),
                    ratio(squall, floor),
                    peer.map_or("", |peer| peer.0),
                    show(peer.map(|peer| peer.1)),
                    ratio(peer.map(|peer| peer.1), squall),
                    show(squid),
                    ratio(squid, squall),
                ),
            );
        }
        out + "\n"
    }

    fn scaling(&self) -> String {
        let mut out = "### From one core to two: 600-byte hit, keep-alive\n\n\
             Load and server share the cores, so that twice the cores is twice of both: one worker with wrk and 100 \
             connections on core 0, against two workers with two wrk threads and 200 connections on cores 0 and 1.\n\n\
             | server | requests/s on one | on two | times | µs on one | on two |\n|---|--:|--:|--:|--:|--:|\n"
            .to_owned();
        for scale in &self.scaling {
            push(
                &mut out,
                format_args!(
                    "| {} | {:.0} | {:.0} | {:.2} | {} | {} |\n",
                    scale.server,
                    scale.one.requests_per_second,
                    scale.two.requests_per_second,
                    scale.two.requests_per_second / scale.one.requests_per_second,
                    micros(scale.one.cost()),
                    micros(scale.two.cost()),
                ),
            );
        }
        out + "\n"
    }
}

/// Appends to a string, which cannot fail.
pub(crate) fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(server: Server, costs: &[f64]) -> Line {
        Line::new(
            server,
            costs
                .iter()
                .map(|cost| Sample {
                    system: *cost,
                    ..Sample::default()
                })
                .collect(),
        )
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_two() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(Vec::new()), 0.0);
    }

    #[test]
    fn a_table_compares_with_floor_and_squall() {
        let lines = vec![
            line(Server::Floor, &[5.0]),
            line(Server::Squall, &[6.0]),
            line(Server::Nginx, &[12.0, 90.0, 11.0]),
            line(Server::Squid, &[20.0]),
        ];
        let table = Table {
            name: "x".into(),
            title: "X".into(),
            floors: 2.0,
            lines,
            absent: Vec::new(),
        };
        assert_eq!(table.best_peer(), Some(("nginx", 12.0)));
        let text = table.render();
        assert!(
            text.contains("| 2 × floor | 0 | 0.00 | 10.0 | 10.0 | 1.00 | 1.67 |"),
            "{text}"
        );
        assert!(
            text.contains("| nginx | 0 | 0.00 | 12.0 | 12.0 | 1.20 | 2.00 |"),
            "{text}"
        );
    }
}
