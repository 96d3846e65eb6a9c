//! The listening ports: a group of sockets each, one for every worker, so that workers share no
//! queue. A reload keeps the sockets of every address that stays, whatever else changes about it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use config::{Config, Port, PortMode};
use net::listener::{BindOptions, bind_group, bind_more, set_options};
use proxy::worker::Sockets;

/// All listening sockets, in the order of the configuration's ports; `None` for one that could not
/// be bound.
#[derive(Debug, Default)]
pub(crate) struct Ports(Vec<Option<OpenPort>>);

/// The sockets of one port.
#[derive(Clone, Debug)]
struct OpenPort {
    /// As it was asked for: `[::]` may have become `0.0.0.0`.
    asked: SocketAddr,
    options: BindOptions,
    sockets: Vec<Arc<TcpListener>>,
}

/// What came of opening ports, and what is to be said of them once there is a log.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    /// The ports.
    pub(crate) ports: Ports,
    /// `Accepting HTTP Socket connections at …`, for each that wasn't open before.
    pub(crate) told: Vec<String>,
    /// Ports that could not be bound.
    pub(crate) failed: Vec<String>,
}

impl Ports {
    /// Opens the ports of a configuration for `workers` threads, beginning with what `self` has open.
    /// Those that can't be bound are told in `failed`.
    ///
    /// # Errors
    /// When none could be bound.
    pub(crate) fn reopen(&self, config: &Config, workers: usize) -> anyhow::Result<Opened> {
        let mut left: Vec<OpenPort> = self.open().cloned().collect();
        let mut opened = Opened::default();
        for port in &config.ports {
            let options = options(port, config.tcp_recv_bufsize);
            let outcome =
                address(port).and_then(|addr| self.reopen_one(addr, &options, workers, &mut left));
            let open = match outcome {
                Ok((open, known)) => {
                    if !known {
                        opened.told.extend(accepting(port, &open));
                    }
                    Some(open)
                }
                Err(error) => {
                    opened.failed.push(format!("{error:#}"));
                    None
                }
            };
            opened.ports.0.push(open);
        }
        if opened.ports.open().next().is_none() {
            bail!("Unable to open HTTP Socket: {}", opened.failed.join("; "));
        }
        opened.told.extend(left.iter().filter_map(closing));
        Ok(opened)
    }

    fn open(&self) -> impl Iterator<Item = &OpenPort> {
        self.0.iter().flatten()
    }

    /// One port; says whether it was open before. What is taken from `left` is in use again.
    fn reopen_one(
        &self,
        asked: SocketAddr,
        options: &BindOptions,
        workers: usize,
        left: &mut Vec<OpenPort>,
    ) -> anyhow::Result<(OpenPort, bool)> {
        let failed = || format!("Cannot bind socket to {asked}");
        let Some(known) = left.iter().position(|open| open.asked == asked) else {
            // Next to an address of our own, such as 0.0.0.0 with the same number, nobody else listens.
            let among_ours = asked.port() != 0 && self.has_number(asked.port());
            let bind = if among_ours { bind_more } else { bind_group };
            let sockets = bind(asked, workers, options).with_context(failed)?;
            let open = OpenPort {
                asked,
                options: *options,
                sockets: sockets.into_iter().map(Arc::new).collect(),
            };
            return Ok((open, false));
        };
        let mut open = left.swap_remove(known);
        if open.options != *options {
            for socket in &open.sockets {
                set_options(socket, options).with_context(failed)?;
            }
            open.options = *options;
        }
        // With fewer workers than sockets, some serve several: none is ever closed with a client in
        // its queue.
        let missing = workers.saturating_sub(open.sockets.len());
        if let (1.., Some(addr)) = (missing, open.local()) {
            let more = bind_more(addr, missing, options).with_context(failed)?;
            open.sockets.extend(more.into_iter().map(Arc::new));
        }
        Ok((open, true))
    }

    fn has_number(&self, number: u16) -> bool {
        self.open()
            .filter_map(OpenPort::local)
            .any(|local| local.port() == number)
    }

    /// The sockets, for the workers.
    pub(crate) fn sockets(&self) -> Sockets {
        let sockets = |open: &Option<OpenPort>| match open {
            Some(open) => open.sockets.clone(),
            None => Vec::new(),
        };
        self.0.iter().map(sockets).collect()
    }

    /// The address of the first port that is open.
    pub(crate) fn first_addr(&self) -> Option<SocketAddr> {
        self.open().next()?.local()
    }
}

impl OpenPort {
    fn local(&self) -> Option<SocketAddr> {
        self.sockets.first()?.local_addr().ok()
    }
}

fn accepting(port: &Port, open: &OpenPort) -> Option<String> {
    let kind = match port.mode {
        PortMode::Forward => "HTTP",
        PortMode::Accel(_) => "reverse-proxy HTTP",
        PortMode::Manager => "manager HTTP",
    };
    let local = open.local()?;
    let fd = open.sockets.first()?.as_raw_fd();
    Some(format!(
        "Accepting {kind} Socket connections at local={local} remote=[::] FD {fd} flags=9"
    ))
}

fn closing(gone: &OpenPort) -> Option<String> {
    let local = gone.local()?;
    let fd = gone.sockets.first()?.as_raw_fd();
    Some(format!(
        "Closing HTTP(S) port {local}: local={local} remote=[::] FD {fd} flags=9"
    ))
}

fn options(port: &Port, buffer: Option<u64>) -> BindOptions {
    BindOptions {
        keepalive: port.keepalive.map(|probes| {
            let often = |time: Duration, usual| if time.is_zero() { usual } else { time };
            let idle = often(probes.idle, Duration::from_secs(7200));
            let interval = often(probes.interval, Duration::from_secs(75));
            let times = probes.timeout.as_secs() / interval.as_secs().max(1);
            (idle, interval, u32::try_from(times).unwrap_or(9).max(1))
        }),
        receive_bytes: buffer.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        ..BindOptions::default()
    }
}

fn address(port: &Port) -> anyhow::Result<SocketAddr> {
    if let Some(host) = &port.host {
        let mut found = (host.as_str(), port.port)
            .to_socket_addrs()
            .with_context(|| format!("Cannot resolve http_port host {host}"))?;
        return found
            .find(|addr| addr.is_ipv4() || !port.ipv4)
            .with_context(|| format!("http_port host {host} has no address"));
    }
    let any = if port.ipv4 {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    } else {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    };
    Ok(SocketAddr::new(port.addr.unwrap_or(any), port.port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(addr: &str, number: u16) -> Port {
        let mut port = config::built_in().ports.remove(0);
        port.addr = Some(addr.parse().unwrap());
        port.port = number;
        port
    }

    fn config(ports: &[Port]) -> Config {
        Config {
            ports: ports.to_vec(),
            tcp_recv_bufsize: Some(32 << 10),
            ..config::built_in()
        }
    }

    fn reopen(before: &Ports, ports: &[Port], workers: usize) -> anyhow::Result<Opened> {
        before.reopen(&config(ports), workers)
    }

    #[test]
    fn each_worker_gets_a_socket_of_each_port() {
        let ports = [port("127.0.0.1", 0), port("127.0.0.1", 0)];
        let opened = reopen(&Ports::default(), &ports, 3).unwrap();
        let sockets = opened.ports.sockets();
        assert_eq!(sockets.len(), 2);
        assert!(sockets.iter().all(|group| group.len() == 3));
        let addr = opened.ports.first_addr().unwrap();
        assert!(opened.told[0].starts_with(&format!(
            "Accepting HTTP Socket connections at local={addr} remote=[::] FD "
        )));
    }

    #[test]
    fn a_taken_port_is_told_and_the_others_are_used() {
        let first = reopen(&Ports::default(), &[port("127.0.0.1", 0)], 1).unwrap();
        let taken = first.ports.first_addr().unwrap().port();
        let both = [port("127.0.0.1", taken), port("127.0.0.1", 0)];
        let second = reopen(&Ports::default(), &both, 1).unwrap();
        let sockets = second.ports.sockets();
        assert_eq!((sockets[0].len(), sockets[1].len()), (0, 1));
        assert_eq!(second.failed.len(), 1);
        reopen(&Ports::default(), &[port("127.0.0.1", taken)], 1).unwrap_err();
    }

    #[test]
    fn what_stays_keeps_its_sockets() {
        let both = [port("127.0.0.1", 0), port("127.0.0.2", 0)];
        let first = reopen(&Ports::default(), &both, 2).unwrap().ports;
        let [_, stays] = both;
        let second = reopen(&first, &[stays, port("127.0.0.3", 0)], 3).unwrap();
        let (before, after) = (first.sockets(), second.ports.sockets());
        assert!(Arc::ptr_eq(&before[1][0], &after[0][0]));
        assert!(Arc::ptr_eq(&before[1][1], &after[0][1]));
        assert_eq!((after[0].len(), after[1].len()), (3, 3));
        assert_eq!(second.told.len(), 2, "one opens, one closes");
    }

    #[test]
    fn fewer_workers_close_no_socket() {
        let ports = [port("127.0.0.1", 0)];
        let first = reopen(&Ports::default(), &ports, 3).unwrap().ports;
        let second = reopen(&first, &ports, 1).unwrap().ports;
        assert_eq!(second.sockets()[0].len(), 3);
    }

    #[test]
    fn an_address_may_take_the_place_of_one_that_overlaps() {
        let first = reopen(&Ports::default(), &[port("0.0.0.0", 0)], 1).unwrap();
        let number = first.ports.first_addr().unwrap().port();
        let narrower = [port("127.0.0.1", number)];
        let second = reopen(&first.ports, &narrower, 1).unwrap();
        assert_eq!(second.failed, Vec::<String>::new());
        let wider = [port("0.0.0.0", number)];
        assert!(reopen(&second.ports, &wider, 1).unwrap().failed.is_empty());
    }
}
