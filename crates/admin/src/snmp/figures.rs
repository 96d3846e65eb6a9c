//! What the tree shows, as plain numbers at one moment.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// All of them. Bytes are bytes here; the tree makes kilobytes of them.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub(super) memory_bytes: u64,
    pub(super) memory_bytes_max: u64,
    pub(super) swap_bytes: u64,
    pub(super) swap_bytes_max: u64,
    pub(super) swap_low_percent: u32,
    pub(super) swap_high_percent: u32,
    pub(super) objects: u64,
    pub(super) uptime: Duration,
    pub(super) admin: String,
    pub(super) software: &'static str,
    pub(super) version: &'static str,
    pub(super) logging: String,
    pub(super) unique_hostname: String,
    pub(super) page_faults: u64,
    pub(super) reads: u64,
    pub(super) accounted_bytes: u64,
    pub(super) resident_bytes_max: u64,
    pub(super) cpu_time: Duration,
    pub(super) cpu_percent: u32,
    pub(super) descriptors: Descriptors,
    pub(super) client: Traffic,
    pub(super) server: Traffic,
    pub(super) client_addresses: u64,
    /// Over the windows of `tree::WINDOWS`.
    pub(super) medians: [Medians; 3],
    pub(super) names: NameCache,
    pub(super) addresses: NameCache,
    pub(super) dns: Dns,
    pub(super) peers: Vec<PeerFigures>,
    /// In the order of their rows.
    pub(super) clients: Arc<[ClientFigures]>,
}

/// File descriptors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptors {
    pub(super) max: u64,
    pub(super) reserved: u64,
    pub(super) open: u64,
    pub(super) highest: u64,
}

/// Requests of one side, and their bytes; `hits` are the clients'.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traffic {
    pub(super) requests: u64,
    pub(super) hits: u64,
    pub(super) errors: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
}

/// Medians of times over a window, and its hit ratios.
#[derive(Clone, Copy, Debug)]
pub(super) struct Medians {
    pub(super) all: Duration,
    pub(super) miss: Duration,
    pub(super) not_modified: Duration,
    pub(super) near_hit: Duration,
    pub(super) hit: Duration,
    pub(super) dns: Duration,
    pub(super) request_hit_percent: i32,
    /// Below 0 when clients got less than servers sent.
    pub(super) byte_hit_percent: i32,
}

/// Known names, or known addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameCache {
    pub(super) entries: u64,
    pub(super) requests: u64,
    pub(super) hits: u64,
    pub(super) pending_hits: u64,
    pub(super) negative_hits: u64,
}

/// Name servers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dns {
    pub(super) queries: u64,
    pub(super) replies: u64,
    pub(super) servers: u64,
}

/// `PEER_SIBLING` and `PEER_PARENT` of Squid, as `cachePeerType` shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum PeerKind {
    Sibling = 1,
    Parent = 2,
}

/// A `cache_peer`.
#[derive(Clone, Debug)]
pub(super) struct PeerFigures {
    pub(super) name: String,
    /// The first it has; unspecified while it isn't known.
    pub(super) addr: IpAddr,
    pub(super) http_port: u16,
    pub(super) icp_port: u16,
    pub(super) kind: PeerKind,
    pub(super) is_up: bool,
    pub(super) fetches: u64,
    pub(super) round_trip: Duration,
    pub(super) keepalives_sent: u64,
    pub(super) keepalives_received: u64,
}

/// A client address.
#[derive(Clone, Debug)]
pub(super) struct ClientFigures {
    pub(super) addr: IpAddr,
    pub(super) requests: u64,
    pub(super) hits: u64,
    pub(super) bytes_out: u64,
    pub(super) hit_bytes_out: u64,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const fn medians(scale: u64) -> Medians {
        Medians {
            all: ms(10 * scale),
            miss: ms(90 * scale),
            not_modified: ms(2 * scale),
            near_hit: ms(30 * scale),
            hit: ms(scale),
            dns: ms(20 * scale),
            request_hit_percent: 40,
            byte_hit_percent: -3,
        }
    }

    const fn names(entries: u64) -> NameCache {
        NameCache {
            entries,
            requests: 100,
            hits: 70,
            pending_hits: 5,
            negative_hits: 4,
        }
    }

    fn client(addr: &str) -> ClientFigures {
        ClientFigures {
            addr: addr.parse().unwrap(),
            requests: 12,
            hits: 5,
            bytes_out: 9 << 10,
            hit_bytes_out: 4 << 10,
        }
    }

    fn peer(name: &str, kind: PeerKind) -> PeerFigures {
        PeerFigures {
            name: name.to_owned(),
            addr: [192, 0, 2, 1].into(),
            http_port: 3128,
            icp_port: 0,
            kind,
            is_up: kind == PeerKind::Parent,
            fetches: 33,
            round_trip: ms(4),
            keepalives_sent: 33,
            keepalives_received: 30,
        }
    }

    /// A proxy of which everything is known.
    pub(in crate::snmp) fn figures() -> Figures {
        let mut clients = ["2001:db8::1", "192.0.2.9", "9.0.0.1"].map(client);
        ClientFigures::sort(&mut clients);
        let traffic = |requests| Traffic {
            requests,
            hits: 400,
            errors: 7,
            bytes_in: 800 << 10,
            bytes_out: 5_000_000_000_000,
        };
        Figures {
            memory_bytes: 3 << 20,
            memory_bytes_max: 256 << 20,
            swap_bytes: 5 << 30,
            swap_bytes_max: 20 << 30,
            swap_low_percent: 90,
            swap_high_percent: 95,
            objects: 1234,
            uptime: Duration::from_secs(3600),
            admin: "webmaster".to_owned(),
            software: "squall",
            version: "1.2.3",
            logging: "ALL,1".to_owned(),
            unique_hostname: "proxy.example".to_owned(),
            page_faults: 2,
            reads: 99,
            accounted_bytes: 4 << 20,
            resident_bytes_max: 30 << 20,
            cpu_time: Duration::from_millis(12_900),
            cpu_percent: 8,
            descriptors: Descriptors {
                max: 1024,
                reserved: 100,
                open: 24,
                highest: 60,
            },
            client: traffic(1000),
            server: traffic(600),
            client_addresses: 3,
            medians: [medians(1), medians(2), medians(3)],
            names: names(10),
            addresses: names(20),
            dns: Dns {
                queries: 21,
                replies: 20,
                servers: 1,
            },
            peers: vec![
                peer("parent", PeerKind::Parent),
                peer("sibling", PeerKind::Sibling),
            ],
            clients: clients.into(),
        }
    }
}
