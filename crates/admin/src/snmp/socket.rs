//! The agent's sockets: where it listens, and where it answers from if that is elsewhere.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use config::Config;

/// Bound, and not yet used. The program binds while it may still take a privileged port.
#[derive(Debug)]
pub struct Sockets {
    hears: UdpSocket,
    speaks: Option<UdpSocket>,
}

/// What a configuration says of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    port: u16,
    incoming: Option<String>,
    outgoing: Option<String>,
}

impl Wanted {
    /// `None`: no agent.
    fn by(config: &Config) -> Option<Self> {
        Some(Self {
            port: config.snmp_port?,
            incoming: config.snmp_incoming_address.clone(),
            outgoing: config.snmp_outgoing_address.clone(),
        })
    }
}

impl Sockets {
    /// Binds them; `None` when the configuration has no agent.
    ///
    /// # Errors
    /// An address has no host or is in use.
    pub fn bind(config: &Config) -> io::Result<Option<Self>> {
        let Some(wanted) = Wanted::by(config) else {
            return Ok(None);
        };
        let hears = match &wanted.incoming {
            Some(host) => UdpSocket::bind((host.as_str(), wanted.port))?,
            None => bind_any(wanted.port)?,
        };
        let speaks = wanted
            .outgoing
            .as_ref()
            .filter(|host| wanted.incoming.as_ref() != Some(host));
        let speaks = speaks.map(|host| UdpSocket::bind((host.as_str(), wanted.port)));
        Ok(Some(Self {
            hears,
            speaks: speaks.transpose()?,
        }))
    }

    /// Does a configuration ask for the same sockets as another?
    #[must_use]
    pub fn alike(one: &Config, other: &Config) -> bool {
        Wanted::by(one) == Wanted::by(other)
    }

    /// Where questions come to.
    ///
    /// # Errors
    /// The socket is of no use.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.hears.local_addr()
    }

    /// Hands them to the runtime that runs.
    pub(super) fn listen(self) -> io::Result<Listening> {
        let local = self.hears.local_addr()?;
        let into = |socket: UdpSocket| {
            socket.set_nonblocking(true)?;
            tokio::net::UdpSocket::from_std(socket)
        };
        Ok(Listening {
            hears: into(self.hears)?,
            speaks: self.speaks.map(into).transpose()?,
            local,
        })
    }
}

/// All addresses of both families, or those of IPv4 where there is no IPv6.
fn bind_any(port: u16) -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)))
}

/// In use.
#[derive(Debug)]
pub(super) struct Listening {
    pub(super) hears: tokio::net::UdpSocket,
    speaks: Option<tokio::net::UdpSocket>,
    pub(super) local: SocketAddr,
}

impl Listening {
    /// Where answers are sent from.
    pub(super) fn speaks(&self) -> &tokio::net::UdpSocket {
        self.speaks.as_ref().unwrap_or(&self.hears)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        config::parse(text, "test").unwrap()
    }

    /// A port that was free a moment ago.
    fn free() -> u16 {
        UdpSocket::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port()
    }

    #[test]
    fn no_port_is_no_agent() {
        assert!(Sockets::bind(&config("")).unwrap().is_none());
        assert!(Sockets::bind(&config("snmp_port 0")).unwrap().is_none());
    }

    #[test]
    fn it_listens_where_it_is_told_and_may_answer_from_elsewhere() {
        let port = free();
        let lines = format!("snmp_port {port}\nsnmp_incoming_address 127.0.0.1\n");
        let one = config(&lines);
        let two = config(&format!("{lines}snmp_outgoing_address 127.0.0.2"));
        assert!(!Sockets::alike(&one, &two) && Sockets::alike(&two, &two.clone()));
        let sockets = Sockets::bind(&two).unwrap().unwrap();
        assert_eq!(
            sockets.local_addr().unwrap(),
            SocketAddr::from(([127, 0, 0, 1], port))
        );
        let speaks = sockets.speaks.as_ref().unwrap().local_addr().unwrap();
        assert_eq!(speaks, SocketAddr::from(([127, 0, 0, 2], port)));
        Sockets::bind(&one).unwrap_err();
    }

    #[test]
    fn both_addresses_may_be_one() {
        let port = free();
        let text = format!(
            "snmp_port {port}\nsnmp_incoming_address 127.0.0.1\nsnmp_outgoing_address 127.0.0.1"
        );
        assert!(
            Sockets::bind(&config(&text))
                .unwrap()
                .unwrap()
                .speaks
                .is_none()
        );
    }
}
