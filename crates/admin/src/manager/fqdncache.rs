//! `fqdncache`: addresses and their names, as they are known.

use net::dns::KnownAddress;
use serde::Serialize;
use stats::{Counter, Snapshot};

use super::Report;
use super::share::left_out;
use crate::Scene;

/// Addresses that are listed.
const ADDRESSES_MAX: usize = 10_000;

#[derive(Serialize)]
struct Page {
    entries: usize,
    requests: u64,
    hits: u64,
    negative_hits: u64,
    misses: u64,
    addresses: Vec<Row>,
    addresses_left_out: usize,
}

#[derive(Serialize)]
struct Row {
    address: String,
    hosts_file: bool,
    negative: Option<String>,
    ttl_secs: i64,
    names: Vec<String>,
}

pub(super) fn report(scene: &Scene<'_>) -> Report {
    let resolver = scene.ask.resolver;
    let entries = resolver.sizes().1 + resolver.hosts_sizes().1;
    let addresses = resolver.known_addresses(ADDRESSES_MAX);
    let page = Page::of(&scene.snapshot(), entries, &addresses);
    Report::new(&page, page.text())
}

impl Page {
    fn of(all: &Snapshot, entries: usize, addresses: &[KnownAddress]) -> Self {
        let requests = all.counter(Counter::DnsNameLookups);
        let hits = all.counter(Counter::DnsNameHits);
        let negative_hits = all.counter(Counter::DnsNameNegativeHits);
        Self {
            entries,
            requests,
            hits,
            negative_hits,
            misses: requests.saturating_sub(hits + negative_hits),
            addresses: addresses.iter().map(Row::of).collect(),
            addresses_left_out: entries.saturating_sub(addresses.len()),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "FQDN Cache Statistics:\n\
             FQDNcache Entries In Use: {0}\n\
             FQDNcache Entries Cached: {0}\n\
             FQDNcache Requests: {1}\n\
             FQDNcache Hits: {2}\n\
             FQDNcache Negative Hits: {3}\n\
             FQDNcache Misses: {4}\n\
             FQDN Cache Contents:\n\n\
             Address                                       Flg TTL Cnt Hostnames\n",
            self.entries, self.requests, self.hits, self.negative_hits, self.misses
        );
        for row in &self.addresses {
            row.write(&mut text);
        }
        text + &left_out(self.addresses_left_out, "addresses")
    }
}

impl Row {
    fn of(known: &KnownAddress) -> Self {
        Self {
            address: known.addr.to_string(),
            hosts_file: known.waited.is_none(),
            negative: known.answer.as_ref().err().map(ToString::to_string),
            ttl_secs: known.waited.map_or(-1, |waited| waited.ttl_secs),
            names: known.answer.iter().map(ToString::to_string).collect(),
        }
    }

    fn write(&self, text: &mut String) {
        let negative = if self.negative.is_some() { 'N' } else { ' ' };
        let hosts = if self.hosts_file { 'H' } else { ' ' };
        // C's `%3.3d`.
        let ttl = match self.ttl_secs {
            secs @ ..0 => format!("-{:03}", secs.unsigned_abs()),
            secs => format!("{secs:03}"),
        };
        *text += &format!(
            "{:<45.45}  {negative}{hosts} {ttl} {:3}",
            self.address,
            self.names.len()
        );
        for name in &self.names {
            *text += &format!(" {name}");
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use net::dns::{DnsError, Waited};

    use super::*;

    #[test]
    fn the_text_is_squids() {
        let registry = stats::Registry::new();
        let cells = registry.cells();
        cells.add(Counter::DnsNameLookups, 24);
        cells.add(Counter::DnsNameHits, 22);
        let waited = |ttl_secs| {
            let unused = Duration::ZERO;
            Some(Waited { unused, ttl_secs })
        };
        let row = |addr: &str, answer, waited| KnownAddress {
            addr: addr.parse().unwrap(),
            answer,
            waited,
        };
        let addresses = [
            row("127.0.0.9", Ok("second.example".into()), None),
            row("127.0.0.1", Ok("web.example".into()), waited(296)),
            row("192.0.2.1", Err(DnsError::NotFound), waited(7)),
        ];
        let expected = "\
FQDN Cache Statistics:
FQDNcache Entries In Use: 3
FQDNcache Entries Cached: 3
FQDNcache Requests: 24
FQDNcache Hits: 22
FQDNcache Negative Hits: 0
FQDNcache Misses: 2
FQDN Cache Contents:

Address                                       Flg TTL Cnt Hostnames
127.0.0.9                                       H -001   1 second.example
127.0.0.1                                         296   1 web.example
192.0.2.1                                      N  007   0
";
        let page = Page::of(&registry.snapshot(), 3, &addresses);
        assert_eq!(page.text(), expected);
    }
}
