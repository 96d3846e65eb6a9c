//! `idns`: what name servers are asked, and who they are.

use net::dns::{NameServer, Question};
use serde::Serialize;

use super::Report;
use crate::Scene;

/// Questions that are listed.
const QUESTIONS_MAX: usize = 4096;

#[derive(Serialize)]
struct Page {
    queue: Vec<Asked>,
    edns_bytes_max: Option<u16>,
    name_servers: Vec<Server>,
}

#[derive(Serialize)]
struct Asked {
    name: String,
    waiting_secs: f64,
}

#[derive(Serialize)]
struct Server {
    address: String,
    queries: u64,
    replies: u64,
}

pub(super) fn report(scene: &Scene<'_>) -> Report {
    let resolver = scene.ask.resolver;
    let page = Page::of(
        &resolver.questions(QUESTIONS_MAX),
        resolver.edns_bytes_max(),
        resolver.name_servers(),
    );
    Report::new(&page, page.text())
}

impl Page {
    fn of(questions: &[Question], edns_bytes_max: Option<u16>, servers: &[NameServer]) -> Self {
        let queue = questions.iter().map(|question| Asked {
            name: question.what.clone(),
            waiting_secs: question.since.as_secs_f64(),
        });
        let servers = servers.iter().map(|server| Server {
            // The usual port isn't shown.
            address: match server.addr.port() {
                53 => server.addr.ip().to_string(),
                _ => server.addr.to_string(),
            },
            queries: server.queries(),
            replies: server.replies(),
        });
        Self {
            queue: queue.collect(),
            edns_bytes_max,
            name_servers: servers.collect(),
        }
    }

    /// Number and size of a query are the resolver's own, and so are its tries: a name may have several under way.
    fn text(&self) -> String {
        let mut text = String::from(
            "Internal DNS Statistics:\n\nThe Queue:\n                       DELAY SINCE\n  \
             ID   SIZE SENDS FIRST SEND LAST SEND M FQDN\n\
             ------ ---- ----- ---------- --------- - ----\n",
        );
        for Asked { name, waiting_secs } in &self.queue {
            text += &format!(
                "{:>6} {:>4} {:>5} {waiting_secs:10.3} {:>9}   {name}\n",
                "-", "-", "-", "-"
            );
        }
        text += &match self.edns_bytes_max {
            Some(bytes) => format!("\nDNS jumbo-grams: {bytes} Bytes\n"),
            None => "\nDNS jumbo-grams: not working\n".to_owned(),
        };
        text += "\nNameservers:\n\
             IP ADDRESS                                     # QUERIES # REPLIES Type\n\
             ---------------------------------------------- --------- --------- --------\n";
        for server in &self.name_servers {
            text += &format!(
                "{:<45} {:9} {:9} recurse\n",
                server.address, server.queries, server.replies
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_text_is_squids() {
        let question = Question {
            what: "nohost.example".into(),
            since: Duration::from_millis(1204),
        };
        let page = Page {
            name_servers: vec![Server {
                address: "127.0.0.1".into(),
                queries: 13,
                replies: 0,
            }],
            ..Page::of(&[question], None, &[])
        };
        let expected = "\
Internal DNS Statistics:

The Queue:
                       DELAY SINCE
  ID   SIZE SENDS FIRST SEND LAST SEND M FQDN
------ ---- ----- ---------- --------- - ----
     -    -     -      1.204         -   nohost.example

DNS jumbo-grams: not working

Nameservers:
IP ADDRESS                                     # QUERIES # REPLIES Type
---------------------------------------------- --------- --------- --------
127.0.0.1                                            13         0 recurse
";
        assert_eq!(page.text(), expected);
    }
}
