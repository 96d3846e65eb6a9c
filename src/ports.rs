//! Binds the listening ports: one socket per worker and port, so that workers share no queue.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use anyhow::{Context as _, bail};
use config::{Config, Port, PortMode};
use net::listener::{BindOptions, bind_group};

/// All listening sockets, and what is to be said of them once there is a log.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    /// Per worker: its sockets, in the order of `open`.
    pub(crate) listeners: Vec<Vec<TcpListener>>,
    /// Places in `config.ports` of the ports that are open.
    pub(crate) open: Vec<usize>,
    /// `Accepting HTTP Socket connections at …`
    pub(crate) told: Vec<String>,
    /// Ports that could not be bound.
    pub(crate) failed: Vec<String>,
}

impl Ports {
    /// Binds all ports of a configuration for `workers` threads.
    ///
    /// # Errors
    /// When none could be bound; else those that couldn't are told in `failed`.
    pub(crate) fn bind(config: &Config, workers: usize) -> anyhow::Result<Self> {
        let mut bound = Self {
            listeners: std::iter::repeat_with(Vec::new).take(workers).collect(),
            ..Self::default()
        };
        for (number, port) in config.ports.iter().enumerate() {
            let buffer = config.tcp_recv_bufsize;
            match bind_port(port, buffer, workers) {
                Ok(group) => bound.take(number, port, group),
                Err(error) => bound.failed.push(format!("{error:#}")),
            }
        }
        if bound.open.is_empty() {
            bail!("Unable to open HTTP Socket: {}", bound.failed.join("; "));
        }
        Ok(bound)
    }

    fn take(&mut self, number: usize, port: &Port, group: Vec<TcpListener>) {
        if let Some(first) = group.first()
            && let Ok(local) = first.local_addr()
        {
            let kind = match port.mode {
                PortMode::Forward => "HTTP",
                PortMode::Accel(_) => "reverse-proxy HTTP",
            };
            let fd = first.as_raw_fd();
            self.told.push(format!(
                "Accepting {kind} Socket connections at local={local} remote=[::] FD {fd} flags=9"
            ));
        }
        self.open.push(number);
        for (worker, listener) in self.listeners.iter_mut().zip(group) {
            worker.push(listener);
        }
    }

    /// The address of the first port.
    pub(crate) fn first_addr(&self) -> Option<SocketAddr> {
        self.listeners.first()?.first()?.local_addr().ok()
    }
}

fn bind_port(port: &Port, buffer: Option<u64>, workers: usize) -> anyhow::Result<Vec<TcpListener>> {
    let addr = address(port)?;
    let options = BindOptions {
        keepalive: port.keepalive.map(|probes| {
            let often = |time: Duration, usual| if time.is_zero() { usual } else { time };
            let idle = often(probes.idle, Duration::from_secs(7200));
            let interval = often(probes.interval, Duration::from_secs(75));
            let times = probes.timeout.as_secs() / interval.as_secs().max(1);
            (idle, interval, u32::try_from(times).unwrap_or(9).max(1))
        }),
        receive_bytes: buffer.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        ..BindOptions::default()
    };
    bind_group(addr, workers, &options).with_context(|| format!("Cannot bind socket to {addr}"))
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

    fn bind(ports: &[Port], workers: usize) -> anyhow::Result<Ports> {
        let config = Config {
            ports: ports.to_vec(),
            tcp_recv_bufsize: Some(32 << 10),
            ..config::built_in()
        };
        Ports::bind(&config, workers)
    }

    #[test]
    fn each_worker_gets_a_socket_of_each_port() {
        let ports = [port("127.0.0.1", 0), port("127.0.0.1", 0)];
        let bound = bind(&ports, 3).unwrap();
        assert_eq!(bound.listeners.len(), 3);
        assert!(bound.listeners.iter().all(|worker| worker.len() == 2));
        assert_eq!(
            (bound.open.as_slice(), bound.told.len()),
            ([0, 1].as_slice(), 2)
        );
        let addr = bound.first_addr().unwrap();
        assert!(bound.told[0].starts_with(&format!(
            "Accepting HTTP Socket connections at local={addr} remote=[::] FD "
        )));
    }

    #[test]
    fn a_taken_port_is_told_and_the_others_are_used() {
        let first = bind(&[port("127.0.0.1", 0)], 1).unwrap();
        let taken = first.first_addr().unwrap().port();
        let ports = [port("127.0.0.1", taken), port("127.0.0.1", 0)];
        let second = bind(&ports, 1).unwrap();
        assert_eq!(
            (second.open.as_slice(), second.failed.len()),
            ([1].as_slice(), 1)
        );
        bind(&[port("127.0.0.1", taken)], 1).unwrap_err();
    }
}
