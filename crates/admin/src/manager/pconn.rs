//! `pconn`: how many requests connections carry, and the connections to hops that there are.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use proxy::internal::WorkerReport;
use serde::Serialize;
use stats::{Distribution, Histogram, bucket_start};

use super::Report;
use super::share::left_out;
use crate::Scene;

/// Hops that are listed.
const HOPS_MAX: usize = 10_000;

#[derive(Serialize)]
struct Page {
    server_connections: Vec<Uses>,
    client_connections: Vec<Uses>,
    hops: Vec<Hop>,
    hops_left_out: usize,
}

/// Connections that were closed after so many requests; with many requests, so many or a few more.
#[derive(Serialize)]
struct Uses {
    requests: u64,
    connections: u64,
}

#[derive(Serialize)]
struct Hop {
    address: SocketAddr,
    open: usize,
    idle: usize,
}

pub(super) fn report(scene: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    let all = scene.snapshot();
    let uses = |histogram| all.histogram(histogram).map(uses).unwrap_or_default();
    let hops = hops(workers);
    let page = Page {
        server_connections: uses(Histogram::HopUses),
        client_connections: uses(Histogram::ClientUses),
        hops_left_out: hops.len().saturating_sub(HOPS_MAX),
        hops: hops.into_iter().take(HOPS_MAX).collect(),
    };
    Report::new(&page, page.text())
}

fn uses(distribution: &Distribution) -> Vec<Uses> {
    let counts = distribution.counts.iter().enumerate();
    let counts = counts.filter(|(_, count)| **count > 0);
    counts
        .map(|(bucket, count)| Uses {
            requests: bucket_start(bucket),
            connections: *count,
        })
        .collect()
}

/// Those of all workers together.
fn hops(workers: &[WorkerReport]) -> Vec<Hop> {
    let mut hops = BTreeMap::<SocketAddr, (usize, usize)>::new();
    for hop in workers.iter().flat_map(|report| &report.hops) {
        let (open, idle) = hops.entry(hop.address).or_default();
        *open += hop.open;
        *idle += hop.idle;
    }
    let hops = hops.into_iter().filter(|(_, (open, _))| *open > 0);
    hops.map(|(address, (open, idle))| Hop {
        address,
        open,
        idle,
    })
    .collect()
}

impl Page {
    fn text(&self) -> String {
        let mut text = String::from("\n Pool 0 Stats\n");
        write_uses("server-peers", &self.server_connections, &mut text);
        text += "\n Pool 0 Hash Table\n";
        for hop in &self.hops {
            let Hop {
                address,
                open,
                idle,
            } = hop;
            text += &format!("\t item {address}: {idle} idle of {open} open\n");
        }
        text += &left_out(self.hops_left_out, "hops");
        text += "\n Client-side Stats\n";
        write_uses("client-side", &self.client_connections, &mut text);
        text
    }
}

fn write_uses(whose: &str, all: &[Uses], text: &mut String) {
    *text += &format!(
        "{whose} persistent connection counts:\n\n\
         \t Requests\t Connection Count\n\t --------\t ----------------\n"
    );
    for uses in all {
        *text += &format!("\t{:4}\t\t{:4}\n", uses.requests, uses.connections);
    }
}

#[cfg(test)]
mod tests {
    use proxy::internal::IdleHop;

    use super::*;

    #[test]
    fn the_text_is_squids_and_workers_add_up() {
        let hop = IdleHop {
            address: "127.0.0.1:80".parse().unwrap(),
            open: 2,
            idle: 1,
        };
        let report = WorkerReport {
            hops: vec![hop],
            ..WorkerReport::default()
        };
        let page = Page {
            server_connections: vec![Uses {
                requests: 3,
                connections: 17,
            }],
            client_connections: Vec::new(),
            hops: hops(&[report.clone(), report]),
            hops_left_out: 0,
        };
        let expected = "
 Pool 0 Stats
server-peers persistent connection counts:

\t Requests\t Connection Count
\t --------\t ----------------
\t   3\t\t  17

 Pool 0 Hash Table
\t item 127.0.0.1:80: 2 idle of 4 open

 Client-side Stats
client-side persistent connection counts:

\t Requests\t Connection Count
\t --------\t ----------------
";
        assert_eq!(page.text(), expected);
    }
}
