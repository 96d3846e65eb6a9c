//! What tools that watch a Squid see of us: each tool put to both programs after the same traffic, item by item.

mod items;
mod table;
mod tools;
mod traffic;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use testkit::Program;

use crate::expected;
use crate::programs::{Programs, Service, Side, serves};
use crate::report::{Pair, Report};
pub use table::Outcome;
use tools::TOOLS;
use traffic::Traffic;

const TABLE: &str = include_str!("../../monitoring/expected.toml");

/// What both need besides. `manager` and `localhost` are predefined.
const COMMON: &str = "\
acl nobody dstdomain refused.test
acl watcher snmp_community public
http_access deny nobody
http_access allow all
snmp_port {port2}
snmp_incoming_address 127.0.0.1
snmp_access allow watcher localhost
snmp_access deny all
cache_mem 64 MB
memory_cache_shared off
cache_mgr keeper@proxy.test
client_db on
access_log stdio:{dir}/access.log
";

/// Items of one tool, with their values.
type Items = BTreeMap<String, String>;

/// Puts all tools that are installed to both programs, and holds the differences against the table.
///
/// # Errors
/// A program doesn't serve, or the table of differences can't be read.
pub fn compare(programs: &Programs) -> Result<Outcome> {
    let squid = look(Side::Squid, &programs.squid)?;
    let squall = look(Side::Squall, &programs.squall)?;
    let mut pairs = Vec::new();
    let mut rows = Vec::new();
    for (tool, (squid, squall)) in TOOLS.iter().zip(squid.into_iter().zip(squall)) {
        let (Some(squid), Some(squall)) = (squid, squall) else {
            rows.push(table::Line::Missing(tool.name));
            continue;
        };
        for item in items::both(&squid, &squall) {
            let pair = items::pair(tool.name, &item, squid.get(&item), squall.get(&item));
            rows.push(table::Line::Item(table::Row::new(
                &pair,
                squid.get(&item),
                squall.get(&item),
            )));
            pairs.push(pair);
        }
    }
    let mut known = expected::table(TABLE)?;
    let seen = |family: &str| pairs.iter().any(|pair: &Pair| pair.family == family);
    known.retain(|row| row.family.as_deref().is_none_or(seen));
    Ok(Outcome {
        rows,
        report: Report::new(TOOLS.len(), pairs, known),
    })
}

/// Starts a program, sends the traffic, and looks at it with every tool in turn; `None` for one that isn't installed.
fn look(side: Side, binary: &Path) -> Result<Vec<Option<Items>>> {
    let service = Service::default();
    let mut program = side.builder(binary, &service, COMMON).arg("-N").launch();
    let port = program.port();
    ensure!(
        serves(&mut program, &[port]),
        "{side:?} doesn't serve:\n{}",
        program.read("cache.log")
    );
    let traffic = Traffic::start();
    traffic.send(&program);
    TOOLS.iter().map(|tool| (tool.look)(&program)).collect()
}

/// The port of the agent.
fn snmp_port(program: &Program) -> u16 {
    let conf = program.read("squid.conf");
    let line = conf
        .lines()
        .find_map(|line| line.strip_prefix("snmp_port "));
    line.and_then(|port| port.trim().parse().ok())
        .unwrap_or_default()
}
