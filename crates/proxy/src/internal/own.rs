//! Which hosts and ports are our own: whose pages they have, and where no request may be sent on to.

use std::net::{IpAddr, SocketAddr};

use config::{Config, PortMode};
use smallvec::SmallVec;
use wire::target::{Scheme, Target};

use crate::failure::{Failure, FailureKind, Side};

/// Names and ports of ours.
#[derive(Debug)]
pub(crate) struct Own {
    /// `visible_hostname`, `unique_hostname`, `hostname_aliases`; in lower case.
    names: Vec<String>,
    ports: Vec<u16>,
    /// Those that answer for pages by a path alone: no accelerators. The address is that which they listen on, if it
    /// is one.
    page_ports: Vec<(Option<IpAddr>, u16)>,
}

impl Own {
    pub(crate) fn new(config: &Config, visible: &str, unique: &str) -> Self {
        let aliases = config.hostname_aliases.iter().map(String::as_str);
        let names = [visible, unique].into_iter().chain(aliases);
        let ports = || config.ports.iter();
        let takes_pages = |port: &&config::Port| !matches!(port.mode, PortMode::Accel(_));
        Self {
            names: names.map(str::to_ascii_lowercase).collect(),
            ports: ports().map(|port| port.port).collect(),
            page_ports: ports()
                .filter(takes_pages)
                .map(|port| (port.addr.filter(|addr| !addr.is_unspecified()), port.port))
                .collect(),
        }
    }

    /// Is the target's host one of ours: by a name, by the address that the client connected to, or as this host at a port
    /// that has pages? Behind `cache_object:` any host is.
    pub(crate) fn is_host_of(&self, target: &Target, local: SocketAddr) -> bool {
        if target.scheme() == Scheme::CacheObject {
            return true;
        }
        let (host, ip, port) = (target.host(), target.host_ip(), target.port());
        let has_pages = || self.page_ports.iter().any(|(_, number)| *number == port);
        let is_here = || host == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
        self.ports.contains(&port)
            && (self.names.iter().any(|name| name == host)
                || ip == Some(local.ip().to_canonical())
                || is_here() && has_pages())
    }

    /// Takes out addresses at which we would ask ourselves for a page: what comes from this host is trusted with pages
    /// that the client may not see.
    ///
    /// # Errors
    ///
    /// None is left.
    pub(crate) fn keep_out(
        &self,
        local: SocketAddr,
        addresses: &mut SmallVec<[SocketAddr; 4]>,
    ) -> Result<(), Failure> {
        let is_here =
            |ip: IpAddr| ip.is_loopback() || ip.is_unspecified() || ip == local.ip().to_canonical();
        let leads_back = |address: &mut SocketAddr| {
            let ip = address.ip().to_canonical();
            self.page_ports.iter().any(|(listens_on, port)| {
                let reaches = match listens_on {
                    Some(addr) => ip == addr.to_canonical() || ip.is_unspecified(),
                    None => is_here(ip),
                };
                reaches && *port == address.port()
            })
        };
        addresses.retain(|address| !leads_back(address));
        if addresses.is_empty() {
            let failure = Failure::new(FailureKind::ForwardingDenied, Side::Client);
            return Err(failure.with_detail("a port of our own"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use wire::target::UriWhitespace;

    use super::*;

    fn own() -> Own {
        let conf = "http_port 3128\nhttp_port 192.0.2.7:81\nhttp_port 80 accel\nmanager_port 9\n\
                    hostname_aliases Other";
        Own::new(&config::parse(conf, "test").unwrap(), "Proxy.Example", "me")
    }

    #[test]
    fn a_host_is_ours_by_name_or_address_and_port() {
        let local = "[::ffff:192.0.2.1]:3128".parse().unwrap();
        let check = |url: &str, ours: bool| {
            let mut target = Target::new();
            target
                .set_absolute(url.as_bytes(), UriWhitespace::Strip)
                .unwrap();
            assert_eq!(own().is_host_of(&target, local), ours, "{url}");
        };
        check("http://proxy.example:3128/", true);
        check("http://PROXY.example./", true);
        check("http://me:9/", true);
        check("http://other/", true);
        check("http://192.0.2.1/", true);
        check("http://192.0.2.2/", false);
        check("http://localhost:3128/", true);
        check("http://127.0.0.1:9/", true);
        check("http://localhost/", false);
        check("http://proxy.example:82/", false);
        check("cache_object://anywhere/", true);
    }

    #[test]
    fn what_leads_back_to_our_pages_is_taken_out() {
        let local = "192.0.2.1:3128".parse().unwrap();
        let check = |address: &str, goes: bool| {
            let mut addresses = SmallVec::new();
            addresses.push(address.parse().unwrap());
            assert_eq!(
                own().keep_out(local, &mut addresses).is_ok(),
                goes,
                "{address}"
            );
        };
        check("127.0.0.1:3128", false);
        check("127.9.9.9:9", false);
        check("[::1]:3128", false);
        check("[::ffff:127.0.0.1]:3128", false);
        check("0.0.0.0:3128", false);
        check("192.0.2.1:9", false);
        check("192.0.2.7:81", false);
        check("0.0.0.0:81", false);
        check("127.0.0.1:81", true);
        check("192.0.2.1:81", true);
        check("127.0.0.1:80", true);
        check("192.0.2.2:3128", true);
    }
}
