//! Two workers on two cores against one worker on one, the load generator's share accounted for: it runs on the same
//! cores, so that both sides of the comparison pay it once per request.

use anyhow::Result;

use crate::hits::{Origin, sample, start};
use crate::load::Load;
use crate::report::{Sample, Scale, median_sample};
use crate::server::{Cores, Server};
use crate::workload;

/// Measures each server that can have workers.
pub(crate) fn measure(
    servers: &[Server],
    origin: &Origin,
    rounds: usize,
    seconds: u32,
) -> Result<Vec<Scale>> {
    let mut scales = Vec::new();
    for server in servers.iter().filter(|server| **server != Server::Floor) {
        eprintln!("one core and two: {}", server.name());
        let one = side(*server, Cores::One, origin, rounds, seconds);
        let two = side(*server, Cores::Two, origin, rounds, seconds);
        match (one, two) {
            (Ok(one), Ok(two)) => scales.push(Scale {
                server: server.name().to_owned(),
                one,
                two,
            }),
            (Err(why), _) | (_, Err(why)) => eprintln!("{} is absent: {why:#}", server.name()),
        }
    }
    Ok(scales)
}

fn side(
    server: Server,
    cores: Cores,
    origin: &Origin,
    rounds: usize,
    seconds: u32,
) -> Result<Sample> {
    let Some(workload) = workload::HITS.workloads.first() else {
        return Ok(Sample::default());
    };
    let running = start(server, workload, cores, origin)?;
    let load = Load::new(cores.list(), cores.workers(), seconds)?;
    let connections = workload.connections * cores.workers();
    let samples = (0..rounds).map(|_| sample(&running, workload, connections, origin, &load));
    Ok(median_sample(&samples.collect::<Result<Vec<_>>>()?))
}
