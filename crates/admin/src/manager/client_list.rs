//! `client_list`: who uses the proxy (`client_db`), and what came of it.

use proxy::clients::{Client, Totals};
use proxy::record::ResultTag;
use serde::Serialize;

use super::Report;
use super::share::{left_out, percent};
use crate::Scene;

/// Clients that are listed.
const CLIENTS_MAX: usize = 10_000;

#[derive(Serialize)]
struct Page {
    clients: Vec<Row>,
    clients_left_out: usize,
    http_requests: u64,
    http_hits: u64,
}

#[derive(Serialize)]
struct Row {
    address: String,
    name: Option<String>,
    connections: usize,
    http_requests: u64,
    bytes_in: u64,
    bytes_out: u64,
    hit_bytes_out: u64,
    results: Vec<Outcome>,
}

#[derive(Serialize)]
struct Outcome {
    result: String,
    requests: u64,
}

pub(super) fn report(scene: &Scene<'_>) -> Report {
    let clients = scene.plan().clients.as_ref();
    let clients = clients
        .map(|clients| clients.snapshot())
        .unwrap_or_default();
    let sum = |figure: fn(&Totals) -> u64| clients.iter().map(|one| figure(&one.totals)).sum();
    let name = |client: &Client| {
        let name = scene.ask.resolver.peek_name(client.addr)?;
        Some(name.to_string())
    };
    let listed = clients.iter().take(CLIENTS_MAX);
    let page = Page {
        http_requests: sum(Totals::all),
        http_hits: sum(hits),
        clients_left_out: clients.len().saturating_sub(CLIENTS_MAX),
        clients: listed.map(|client| Row::of(client, name(client))).collect(),
    };
    Report::new(&page, page.text())
}

impl Page {
    fn text(&self) -> String {
        let mut text = String::from("Cache Clients:\n");
        for client in &self.clients {
            client.write(&mut text);
        }
        text += &left_out(self.clients_left_out, "clients");
        text += "TOTALS\nICP : 0 Queries, 0 Hits (  0%)\n";
        text += &format!(
            "HTTP: {} Requests, {} Hits ({:3}%)\n",
            self.http_requests,
            self.http_hits,
            percent(self.http_hits, self.http_requests)
        );
        text
    }
}

impl Row {
    fn of(client: &Client, name: Option<String>) -> Self {
        let totals = &client.totals;
        let results = ResultTag::ALL.into_iter().filter(|tag| totals.of(*tag) > 0);
        Self {
            address: client.addr.to_string(),
            name,
            connections: client.connections,
            http_requests: totals.all(),
            bytes_in: totals.bytes_in,
            bytes_out: totals.bytes_out,
            hit_bytes_out: totals.hit_bytes_out,
            results: results
                .map(|tag| Outcome {
                    result: format!("{}{}", tag.prefix(), tag.suffix()),
                    requests: totals.of(tag),
                })
                .collect(),
        }
    }

    fn write(&self, text: &mut String) {
        *text += &format!("Address: {}\n", self.address);
        if let Some(name) = &self.name {
            *text += &format!("Name:    {name}\n");
        }
        *text += &format!(
            "Currently established connections: {}\n    ICP  Requests 0\n    HTTP Requests {}\n",
            self.connections, self.http_requests
        );
        for Outcome { result, requests } in &self.results {
            let share = percent(*requests, self.http_requests);
            *text += &format!("        {result:<20.20} {requests:7} {share:3}%\n");
        }
        text.push('\n');
    }
}

fn hits(totals: &Totals) -> u64 {
    let tags = ResultTag::ALL.into_iter().filter(|tag| tag.is_hit());
    tags.map(|tag| totals.of(tag)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str, name: Option<&str>, results: &[(&str, u64)]) -> Row {
        Row {
            address: address.into(),
            name: name.map(Into::into),
            connections: 5,
            http_requests: results.iter().map(|(_, requests)| requests).sum(),
            bytes_in: 1,
            bytes_out: 2,
            hit_bytes_out: 0,
            results: results
                .iter()
                .map(|(result, requests)| Outcome {
                    result: (*result).into(),
                    requests: *requests,
                })
                .collect(),
        }
    }

    #[test]
    fn the_text_is_squids() {
        let page = Page {
            clients: vec![
                client("127.0.0.2", None, &[("TCP_MEM_HIT", 1)]),
                client(
                    "127.0.0.1",
                    Some("localhost"),
                    &[
                        ("TCP_HIT", 15),
                        ("TCP_MISS", 11),
                        ("TCP_MEM_HIT", 2),
                        ("TCP_DENIED", 1),
                    ],
                ),
            ],
            clients_left_out: 0,
            http_requests: 30,
            http_hits: 18,
        };
        let expected = "\
Cache Clients:
Address: 127.0.0.2
Currently established connections: 5
    ICP  Requests 0
    HTTP Requests 1
        TCP_MEM_HIT                1 100%

Address: 127.0.0.1
Name:    localhost
Currently established connections: 5
    ICP  Requests 0
    HTTP Requests 29
        TCP_HIT                   15  52%
        TCP_MISS                  11  38%
        TCP_MEM_HIT                2   7%
        TCP_DENIED                 1   3%

TOTALS
ICP : 0 Queries, 0 Hits (  0%)
HTTP: 30 Requests, 18 Hits ( 60%)
";
        assert_eq!(page.text(), expected);
    }
}
