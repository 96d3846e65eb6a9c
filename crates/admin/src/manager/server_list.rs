//! `server_list`: the peers (`cache_peer`), how they are and what they were asked. Also `non_peers`, `carp`, `userhash`
//! and `sourcehash`, which choose none of them yet.

use config::peer::{Peer, PeerKind, PeerLogin};
use proxy::hops::peer::PeerReport;
use serde::Serialize;

use super::Report;
use super::share::{common_log_time, percent};
use crate::Scene;

/// Addresses that are shown of a peer, as in Squid.
const ADDRESSES_MAX: usize = 10;

const NO_NEIGHBORS: &str = "There are no neighbors installed.\n";

#[derive(Serialize)]
struct Server {
    relation: &'static str,
    name: String,
    host: String,
    http_port: u16,
    icp_port: u16,
    flags: Vec<String>,
    addresses: Vec<String>,
    up: bool,
    fetches: u64,
    open_connections: u32,
    queried: bool,
    connect_failures: u64,
    last_failed_connect: Option<i64>,
    keep_alive_percent: u64,
}

pub(super) fn report(scene: &Scene<'_>) -> Report {
    let peers = scene.plan().peer_reports();
    let servers: Vec<_> = peers.iter().map(Server::of).collect();
    Report::new(&servers, text(&servers))
}

/// `non_peers`: nobody sends us ICP.
pub(super) fn non_peers(_: &Scene<'_>) -> Report {
    Report::new(&Vec::<Server>::new(), NO_NEIGHBORS)
}

/// `carp`, `userhash`, `sourcehash`: a line for each peer, with no share in what is chosen so.
pub(super) fn hashed(scene: &Scene<'_>) -> Report {
    #[derive(Serialize)]
    struct Row {
        hostname: String,
        load_factor: f64,
    }
    let peers = scene.config().peers.iter();
    let rows: Vec<_> = peers
        .map(|peer| Row {
            hostname: peer.name.clone(),
            load_factor: 0.0,
        })
        .collect();
    let head = "                Hostname       Hash Multiplier     Factor     Actual\n".to_owned();
    let text = rows.iter().fold(head, |text, row| {
        text + &format!(
            "{:>24} {:>10} {:10.6} {:10.6} {:10.6}\n",
            row.hostname, 0, 0.0, 0.0, -1.0
        )
    });
    Report::new(&rows, text)
}

fn text(servers: &[Server]) -> String {
    if servers.is_empty() {
        return NO_NEIGHBORS.to_owned();
    }
    let mut text = String::new();
    for server in servers {
        server.write(&mut text);
    }
    text
}

impl Server {
    fn of(peer: &PeerReport) -> Self {
        let config = &peer.config;
        let relation = match config.kind {
            PeerKind::Parent => "Parent",
            PeerKind::Sibling => "Sibling",
            PeerKind::Multicast => "Multicast Group",
        };
        Self {
            relation,
            name: config.name.clone(),
            host: config.host.clone(),
            http_port: config.http_port,
            icp_port: config.icp_port,
            flags: flags(config),
            addresses: peer.addresses.iter().map(ToString::to_string).collect(),
            up: peer.up,
            fetches: peer.fetches,
            open_connections: peer.open,
            queried: !config.options.no_query,
            connect_failures: peer.connect_failures,
            last_failed_connect: peer.last_failure,
            keep_alive_percent: percent(peer.kept_alive, peer.fetches),
        }
    }

    fn write(&self, text: &mut String) {
        *text += &format!("\n{:<11.11}: {}\n", self.relation, self.name);
        let (host, http, icp) = (&self.host, self.http_port, self.icp_port);
        *text += &format!("Host       : {host}/{http}/{icp}\n");
        *text += &format!("Flags      : {}\n", self.flags.join(" "));
        for (number, address) in self.addresses.iter().take(ADDRESSES_MAX).enumerate() {
            *text += &format!("Address[{number}] : {address}\n");
        }
        let status = if self.up { "Up" } else { "Down" };
        *text += &format!("Status     : {status}\n");
        *text += &format!("FETCHES    : {}\n", self.fetches);
        *text += &format!("OPEN CONNS : {}\n", self.open_connections);
        *text += "AVG RTT    : 0 msec\n";
        if self.queried {
            *text += "LAST QUERY : none sent\nLAST REPLY : none received\n\
                      PINGS SENT :        0\nPINGS ACKED:        0   0%\n";
        }
        *text += "IGNORED    :        0   0%\n";
        if self.queried {
            *text += "Histogram of PINGS ACKED:\n";
        }
        if let Some(failed) = self.last_failed_connect {
            let time = common_log_time(failed);
            *text += &format!("Last failed connect() at: {time}\n");
        }
        *text += &format!("keep-alive ratio: {}%\n", self.keep_alive_percent);
    }
}

/// The options of the line in Squid's order, without passwords.
fn flags(peer: &Peer) -> Vec<String> {
    let options = &peer.options;
    let mut flags = Vec::new();
    let mut flag = |is_set: bool, name: &str| {
        if is_set {
            flags.push(name.to_owned());
        }
    };
    flag(options.proxy_only, "proxy-only");
    flag(options.no_query, "no-query");
    flag(options.no_digest, "no-digest");
    flag(options.default, "default");
    flag(options.round_robin, "round-robin");
    flag(options.carp, "carp");
    flag(options.userhash, "userhash");
    flag(options.sourcehash, "sourcehash");
    flag(options.weighted_round_robin, "weighted-round-robin");
    flag(options.weight != 1, &format!("weight={}", options.weight));
    flag(options.no_netdb_exchange, "no-netdb-exchange");
    flag(options.no_delay, "no-delay");
    if let Some(login) = login(&options.login) {
        flag(true, &format!("login={login}"));
    }
    flag(options.allow_miss, "allow-miss");
    if let Some(timeout) = options.connect_timeout {
        flag(true, &format!("connect-timeout={}", timeout.as_secs()));
    }
    let limit = options.connect_fail_limit;
    flag(limit != 10, &format!("connect-fail-limit={limit}"));
    if let Some(most) = options.max_conn {
        flag(true, &format!("max-conn={most}"));
    }
    flag(options.standby > 0, &format!("standby={}", options.standby));
    flag(options.originserver, "originserver");
    if let Some(domain) = &options.forceddomain {
        flag(true, &format!("forceddomain={domain}"));
    }
    flag(
        true,
        match options.connection_auth {
            None => "connection-auth=auto",
            Some(true) => "connection-auth=on",
            Some(false) => "connection-auth=off",
        },
    );
    flag(true, "tls-disable");
    flags
}

/// Squid shows passwords here; we don't.
fn login(login: &PeerLogin) -> Option<String> {
    Some(match login {
        PeerLogin::None => return None,
        PeerLogin::Basic(pair) => {
            let user = pair.split_once(':').map_or(pair.as_str(), |(user, _)| user);
            format!("{user}:***")
        }
        PeerLogin::Pass => "PASS".to_owned(),
        PeerLogin::ProxyPass => "PROXYPASS".to_owned(),
        PeerLogin::PassThru => "PASSTHRU".to_owned(),
        PeerLogin::UserWith(_) => "*:***".to_owned(),
        PeerLogin::Negotiate(None) => "NEGOTIATE".to_owned(),
        PeerLogin::Negotiate(Some(principal)) => format!("NEGOTIATE:{principal}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(lines: &str) -> Vec<Server> {
        let config = config::parse(&format!("http_port 1\n{lines}"), "test").unwrap();
        let report = |config: Peer| PeerReport {
            addresses: vec!["127.0.0.1".parse().unwrap()],
            up: config.name != "dead",
            open: 0,
            fetches: 3,
            kept_alive: 2,
            connect_failures: 1,
            last_failure: None,
            config,
        };
        let peers = config.peers.into_iter().map(report);
        peers.map(|peer| Server::of(&peer)).collect()
    }

    #[test]
    fn the_text_is_squids() {
        let servers = peers(
            "cache_peer 127.0.0.1 parent 39283 0 no-query originserver name=up round-robin\n\
             cache_peer 127.0.0.2 sibling 39283 3130 name=dead proxy-only login=PASS connection-auth=off\n",
        );
        let expected = "
Parent     : up
Host       : 127.0.0.1/39283/0
Flags      : no-query round-robin originserver connection-auth=auto tls-disable
Address[0] : 127.0.0.1
Status     : Up
FETCHES    : 3
OPEN CONNS : 0
AVG RTT    : 0 msec
IGNORED    :        0   0%
keep-alive ratio: 67%

Sibling    : dead
Host       : 127.0.0.2/39283/3130
Flags      : proxy-only login=PASS connection-auth=off tls-disable
Address[0] : 127.0.0.1
Status     : Down
FETCHES    : 3
OPEN CONNS : 0
AVG RTT    : 0 msec
LAST QUERY : none sent
LAST REPLY : none received
PINGS SENT :        0
PINGS ACKED:        0   0%
IGNORED    :        0   0%
Histogram of PINGS ACKED:
keep-alive ratio: 67%
";
        assert_eq!(text(&servers), expected);
        assert_eq!(text(&[]), NO_NEIGHBORS);
    }

    #[test]
    fn options_come_in_squids_order_and_without_passwords() {
        let servers = peers(
            "cache_peer 127.0.0.1 parent 80 3130 proxy-only no-query no-digest no-delay no-netdb-exchange default \
             round-robin weight=3 max-conn=7 connect-timeout=9 connect-fail-limit=4 originserver \
             forceddomain=foo.example login=joe:pw name=all connection-auth=on\n",
        );
        assert_eq!(
            servers[0].flags.join(" "),
            "proxy-only no-query no-digest default round-robin weight=3 no-netdb-exchange no-delay login=joe:*** \
             connect-timeout=9 connect-fail-limit=4 max-conn=7 originserver forceddomain=foo.example \
             connection-auth=on tls-disable"
        );
    }
}
