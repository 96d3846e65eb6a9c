//! What is shown of requests in all logs, whatever their format.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::Options;
use crate::format::{Dialect, Format};

/// Both heads, as Squid appends them (`log_mime_hdrs`).
const HEADS: &str = " [%>h] [%<h]";

/// See the module.
#[derive(Debug)]
pub(super) struct Show {
    /// URLs without their queries (`strip_query_terms`).
    pub(super) strip_query: bool,
    netmask: Option<Netmask>,
    /// What follows a line (`log_mime_hdrs`).
    pub(super) heads: Option<Format>,
}

/// The bits of an address that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Netmask {
    v4: Ipv4Addr,
    v6: Ipv6Addr,
}

impl Show {
    pub(super) fn new(options: &Options) -> Self {
        let heads = options.log_mime_hdrs;
        Self {
            strip_query: options.strip_query_terms,
            netmask: options.client_netmask.map(Netmask::of),
            heads: heads
                .then(|| Format::compile(HEADS, Dialect::Logformat).ok())
                .flatten(),
        }
    }

    /// The client's address as it is shown.
    pub(super) fn client(&self, client: SocketAddr) -> SocketAddr {
        match self.netmask {
            None => client,
            Some(mask) => SocketAddr::new(mask.shown(client.ip()), client.port()),
        }
    }
}

impl Netmask {
    /// A mask is of one family. Clients of the other are not to be told by their addresses either: a bit of IPv4 stands
    /// for two of the half of an IPv6 address that names a network.
    fn of(mask: IpAddr) -> Self {
        match mask {
            IpAddr::V4(v4) => {
                let bits = v4.to_bits().leading_ones() * 2;
                let v6 = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
                Self { v4, v6: v6.into() }
            }
            IpAddr::V6(v6) => {
                let bits = v6.to_bits().leading_ones().min(64) / 2;
                let v4 = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
                Self { v4: v4.into(), v6 }
            }
        }
    }

    fn shown(self, ip: IpAddr) -> IpAddr {
        match ip {
            IpAddr::V4(ip) => (ip & self.v4).into(),
            IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
                Some(ip) => (ip & self.v4).into(),
                None => (ip & self.v6).into(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_hides_a_client_in_its_network() {
        let check = |mask: &str, ip: &str, shown: &str| {
            let mask = Netmask::of(mask.parse().unwrap());
            let ip = mask.shown(ip.parse().unwrap());
            assert_eq!(ip, shown.parse::<IpAddr>().unwrap());
        };
        check("255.255.255.0", "192.0.2.77", "192.0.2.0");
        check("255.255.255.0", "2001:db8:1:2::7", "2001:db8:1::");
        check("0.0.0.0", "192.0.2.77", "0.0.0.0");
        check("0.0.0.0", "2001:db8::7", "::");
        check("255.255.255.255", "2001:db8:1:2::7", "2001:db8:1:2::");
        check("ffff:ffff:ffff::", "2001:db8:1:2::7", "2001:db8:1::");
        check("ffff:ffff:ffff::", "192.0.2.77", "192.0.2.0");
        check("::", "192.0.2.77", "0.0.0.0");
    }
}
