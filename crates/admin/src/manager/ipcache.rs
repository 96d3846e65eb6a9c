//! `ipcache`: names and their addresses, as they are known.

use net::dns::KnownName;
use serde::Serialize;
use stats::{Counter, Snapshot};

use super::Report;
use super::share::left_out;
use crate::Scene;

/// Names that are listed.
const NAMES_MAX: usize = 10_000;

#[derive(Serialize)]
struct Page {
    entries: usize,
    requests: u64,
    hits: u64,
    negative_hits: u64,
    numeric_hits: u64,
    misses: u64,
    retrieved_a: u64,
    retrieved_aaaa: u64,
    cname_only: u64,
    invalid: u64,
    names: Vec<Row>,
    names_left_out: usize,
}

#[derive(Serialize)]
struct Row {
    hostname: String,
    hosts_file: bool,
    negative: Option<String>,
    unused_secs: u64,
    ttl_secs: i64,
    addresses: Vec<Address>,
}

#[derive(Serialize)]
struct Address {
    address: String,
    bad: bool,
}

pub(super) fn report(scene: &Scene<'_>) -> Report {
    let resolver = scene.ask.resolver;
    let entries = resolver.sizes().0 + resolver.hosts_sizes().0;
    let names = resolver.known_names(NAMES_MAX);
    let page = Page::of(&scene.snapshot(), entries, &names);
    Report::new(&page, page.text())
}

impl Page {
    fn of(all: &Snapshot, entries: usize, names: &[KnownName]) -> Self {
        let count = |counter| all.counter(counter);
        let requests = count(Counter::DnsLookups);
        let [hits, negative_hits, numeric_hits, invalid] = [
            Counter::DnsHits,
            Counter::DnsNegativeHits,
            Counter::DnsNumeric,
            Counter::DnsInvalid,
        ]
        .map(count);
        Self {
            entries,
            requests,
            hits,
            negative_hits,
            numeric_hits,
            misses: requests.saturating_sub(hits + negative_hits + numeric_hits + invalid),
            retrieved_a: count(Counter::DnsAnswersA),
            retrieved_aaaa: count(Counter::DnsAnswersAaaa),
            cname_only: count(Counter::DnsAliasOnly),
            invalid,
            names: names.iter().map(Row::of).collect(),
            names_left_out: entries.saturating_sub(names.len()),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "IP Cache Statistics:\n\
             IPcache Entries Cached:  {}\n\
             IPcache Requests: {}\n\
             IPcache Hits:            {}\n\
             IPcache Negative Hits:       {}\n\
             IPcache Numeric Hits:        {}\n\
             IPcache Misses:          {}\n\
             IPcache Retrieved A:     {}\n\
             IPcache Retrieved AAAA:  {}\n\
             IPcache Retrieved CNAME: 0\n\
             IPcache CNAME-Only Response: {}\n\
             IPcache Invalid Request: {}\n\n\n\
             IP Cache Contents:\n\n \
             Hostname                        Flg lstref    TTL  N(b)\n",
            self.entries,
            self.requests,
            self.hits,
            self.negative_hits,
            self.numeric_hits,
            self.misses,
            self.retrieved_a,
            self.retrieved_aaaa,
            self.cname_only,
            self.invalid
        );
        for row in &self.names {
            row.write(&mut text);
        }
        text + &left_out(self.names_left_out, "names")
    }
}

impl Row {
    fn of(known: &KnownName) -> Self {
        let addresses = known.answer.as_deref().unwrap_or_default();
        Self {
            hostname: known.name.to_string(),
            hosts_file: known.waited.is_none(),
            negative: known.answer.as_ref().err().map(ToString::to_string),
            unused_secs: known.waited.map_or(0, |waited| waited.unused.as_secs()),
            ttl_secs: known.waited.map_or(-1, |waited| waited.ttl_secs),
            addresses: addresses
                .iter()
                .map(|addr| Address {
                    address: addr.to_string(),
                    bad: known.bad.contains(addr),
                })
                .collect(),
        }
    }

    fn write(&self, text: &mut String) {
        let negative = if self.negative.is_some() { 'N' } else { ' ' };
        let hosts = if self.hosts_file { 'H' } else { ' ' };
        let bad = self.addresses.iter().filter(|one| one.bad).count();
        *text += &format!(
            " {:<32.32} {hosts}{negative} {:6} {:6} {:2}({bad:2})",
            self.hostname,
            self.unused_secs,
            self.ttl_secs,
            self.addresses.len()
        );
        for (number, Address { address, bad }) in self.addresses.iter().enumerate() {
            // Further addresses stand under the first.
            let indent = if number == 0 { 0 } else { 57 };
            let state = if *bad { "BAD" } else { "OK " };
            *text += &format!("{:indent$} {address:>45}-{state}\n", "");
        }
        if self.addresses.is_empty() {
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use net::dns::{DnsError, Waited};

    use super::*;

    fn name(name: &str, addresses: &[&str], waited: Option<(u64, i64)>) -> KnownName {
        let addresses: Vec<_> = addresses.iter().map(|addr| addr.parse().unwrap()).collect();
        KnownName {
            name: name.into(),
            answer: Ok(addresses.into()),
            bad: Vec::new(),
            waited: waited.map(|(unused, ttl_secs)| Waited {
                unused: Duration::from_secs(unused),
                ttl_secs,
            }),
        }
    }

    #[test]
    fn the_text_is_squids() {
        let registry = stats::Registry::new();
        let cells = registry.cells();
        cells.add(Counter::DnsLookups, 17);
        cells.add(Counter::DnsHits, 4);
        cells.add(Counter::DnsNumeric, 5);
        cells.add(Counter::DnsAnswersA, 6);
        cells.add(Counter::DnsAnswersAaaa, 1);
        let mut nothing = name("nx.test", &[], Some((4, 56)));
        nothing.answer = Err(DnsError::NotFound);
        let mut half = name("half.test", &["127.0.0.1", "127.0.0.77"], Some((1, 9)));
        half.bad = vec!["127.0.0.77".parse().unwrap()];
        let names = [
            name("second.example", &["127.0.0.9"], None),
            name(
                "six.test",
                &["127.0.0.1", "127.0.0.77", "::1"],
                Some((4, 56)),
            ),
            nothing,
            half,
        ];
        let expected = "\
IP Cache Statistics:
IPcache Entries Cached:  4
IPcache Requests: 17
IPcache Hits:            4
IPcache Negative Hits:       0
IPcache Numeric Hits:        5
IPcache Misses:          8
IPcache Retrieved A:     6
IPcache Retrieved AAAA:  1
IPcache Retrieved CNAME: 0
IPcache CNAME-Only Response: 0
IPcache Invalid Request: 0


IP Cache Contents:

 Hostname                        Flg lstref    TTL  N(b)
 second.example                   H       0     -1  1( 0)                                     127.0.0.9-OK 
 six.test                                 4     56  3( 0)                                     127.0.0.1-OK 
                                                                                             127.0.0.77-OK 
                                                                                                    ::1-OK 
 nx.test                           N      4     56  0( 0)
 half.test                                1      9  2( 1)                                     127.0.0.1-OK 
                                                                                             127.0.0.77-BAD
";
        let page = Page::of(&registry.snapshot(), 4, &names);
        assert_eq!(page.text(), expected);
    }
}
