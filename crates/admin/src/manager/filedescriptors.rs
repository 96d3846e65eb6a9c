//! `filedescriptors`: every descriptor of the process, and whose connection it is.

use std::collections::HashMap;
use std::net::SocketAddr;

use proxy::internal::WorkerReport;
use serde::Serialize;

use super::Report;
use super::descriptors::{self, Descriptor, Kind, Protocol, Socket};
use super::share::left_out;
use crate::Scene;

#[derive(Serialize)]
struct Page {
    descriptors: Vec<Row>,
    descriptors_left_out: usize,
}

#[derive(Serialize)]
struct Row {
    number: u32,
    kind: &'static str,
    bytes_read: Option<u64>,
    bytes_written: Option<u64>,
    remote: Option<String>,
    description: String,
}

pub(super) fn report(scene: &Scene<'_>, workers: &[WorkerReport]) -> Report {
    let (descriptors, more) = descriptors::all();
    let clients = Clients::of(workers);
    let helpers = helpers(scene);
    let rows = descriptors
        .iter()
        .map(|one| Row::of(one, &clients, &helpers));
    let page = Page {
        descriptors: rows.collect(),
        descriptors_left_out: more,
    };
    Report::new(&page, page.text())
}

/// Client connections by both ends.
struct Clients(HashMap<(SocketAddr, SocketAddr), Client>);

#[derive(Default)]
struct Client {
    bytes_in: u64,
    bytes_out: u64,
    url: Option<String>,
}

impl Clients {
    fn of(workers: &[WorkerReport]) -> Self {
        let mut clients = HashMap::new();
        for report in workers {
            for connection in &report.connections {
                let ends = (connection.client, connection.local);
                let client = Client {
                    bytes_in: connection.bytes_in,
                    bytes_out: connection.bytes_out,
                    url: None,
                };
                clients.insert(canonical(ends), client);
            }
            for transaction in &report.transactions {
                let ends = (transaction.client, transaction.local);
                let client: &mut Client = clients.entry(canonical(ends)).or_default();
                client.bytes_out += transaction.bytes_out;
                client.url = Some(transaction.url.clone());
            }
        }
        Self(clients)
    }
}

impl Client {
    fn shown(&self) -> String {
        let url = self.url.as_deref();
        url.unwrap_or("Reading next request").to_owned()
    }
}

fn canonical((one, other): (SocketAddr, SocketAddr)) -> (SocketAddr, SocketAddr) {
    let canonical = |addr: SocketAddr| SocketAddr::new(addr.ip().to_canonical(), addr.port());
    (canonical(one), canonical(other))
}

/// Helpers by the descriptors that they are asked through.
fn helpers(scene: &Scene<'_>) -> HashMap<u32, String> {
    let mut helpers = HashMap::new();
    for pool in scene.helpers().pools() {
        let name = pool.options().kind.name();
        for child in pool.status().children {
            if let Ok(number) = u32::try_from(child.descriptor) {
                helpers.insert(number, format!("{name} #{}", child.id));
            }
        }
    }
    helpers
}

impl Page {
    fn text(&self) -> String {
        let mut text = String::from(
            "Active file descriptors:\n\
             File Type   Tout Nread  * Nwrite * Remote Address        Description\n\
             ---- ------ ---- -------- -------- --------------------- ------------------------------\n",
        );
        for row in &self.descriptors {
            row.write(&mut text);
        }
        text + &left_out(self.descriptors_left_out, "descriptors")
    }
}

impl Row {
    fn of(descriptor: &Descriptor, clients: &Clients, helpers: &HashMap<u32, String>) -> Self {
        let number = descriptor.number;
        let blank = Self {
            number,
            kind: "Unknown",
            bytes_read: None,
            bytes_written: None,
            remote: None,
            description: String::new(),
        };
        match &descriptor.kind {
            Kind::File(path) => Self {
                kind: if number <= 2 { "Log" } else { "File" },
                description: match number {
                    0 => "stdin".to_owned(),
                    1 => "stdout".to_owned(),
                    2 => "stderr".to_owned(),
                    _ => path.clone(),
                },
                ..blank
            },
            Kind::Pipe => Self {
                kind: "Pipe",
                description: helpers.get(&number).cloned().unwrap_or_default(),
                ..blank
            },
            Kind::Other(name) => Self {
                description: name.clone(),
                ..blank
            },
            Kind::Socket(None) => Self {
                kind: "Socket",
                description: helpers.get(&number).cloned().unwrap_or_default(),
                ..blank
            },
            Kind::Socket(Some(socket)) => Self::of_socket(number, socket, clients),
        }
    }

    fn of_socket(number: u32, socket: &Socket, clients: &Clients) -> Self {
        let client = clients.0.get(&(socket.remote, socket.local));
        let is_udp = socket.protocol == Protocol::Udp;
        let remote = match socket.remote.port() {
            _ if socket.listens => Some(socket.local),
            0 => None,
            _ => Some(socket.remote),
        };
        let description = match client {
            _ if socket.listens => "HTTP Socket".to_owned(),
            _ if is_udp => "UDP Socket".to_owned(),
            Some(client) => client.shown(),
            None => "server connection".to_owned(),
        };
        Self {
            number,
            kind: "Socket",
            bytes_read: client.map(|client| client.bytes_in),
            bytes_written: client.map(|client| client.bytes_out),
            remote: remote.map(|remote| remote.to_string()),
            description,
        }
    }

    fn write(&self, text: &mut String) {
        *text += &format!(
            "{:4} {:<6.6} {:4} {:7}  {:7}  {:<21} {}\n",
            self.number,
            self.kind,
            0,
            self.bytes_read.unwrap_or(0),
            self.bytes_written.unwrap_or(0),
            self.remote.as_deref().unwrap_or_default(),
            self.description
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_squids() {
        let (client, local): (SocketAddr, SocketAddr) = (
            "127.0.0.1:41390".parse().unwrap(),
            "127.0.0.1:3128".parse().unwrap(),
        );
        let known = Client {
            bytes_in: 131,
            bytes_out: 17,
            url: Some("http://nohost2.example/".into()),
        };
        let clients = Clients(HashMap::from([((client, local), known)]));
        let helpers = HashMap::from([(9, "redirector #1".to_owned())]);
        let socket = |remote: &str, listens| {
            Kind::Socket(Some(Socket {
                protocol: Protocol::Tcp,
                local,
                remote: remote.parse().unwrap(),
                listens,
            }))
        };
        let kinds = [
            (0, Kind::File("/dev/null".into())),
            (9, Kind::Pipe),
            (11, socket("127.0.0.1:41390", false)),
            (17, socket("127.0.0.1:39283", false)),
            (24, Kind::File("/var/log/squid/access.log".into())),
            (32, socket("0.0.0.0:0", true)),
            (33, Kind::Other("eventpoll".into())),
        ];
        let rows =
            kinds.map(|(number, kind)| Row::of(&Descriptor { number, kind }, &clients, &helpers));
        let page = Page {
            descriptors: rows.into(),
            descriptors_left_out: 0,
        };
        let expected = "\
Active file descriptors:
File Type   Tout Nread  * Nwrite * Remote Address        Description
---- ------ ---- -------- -------- --------------------- ------------------------------
   0 Log       0       0        0                        stdin
   9 Pipe      0       0        0                        redirector #1
  11 Socket    0     131       17  127.0.0.1:41390       http://nohost2.example/
  17 Socket    0       0        0  127.0.0.1:39283       server connection
  24 File      0       0        0                        /var/log/squid/access.log
  32 Socket    0       0        0  127.0.0.1:3128        HTTP Socket
  33 Unknow    0       0        0                        eventpoll
";
        assert_eq!(page.text(), expected);
    }
}
