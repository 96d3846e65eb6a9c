//! Addresses that are not of the public Internet (RFC 6890 and its registries), whatever form they
//! are written in: an IPv6 address that carries an IPv4 one leads where that one does.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of place an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// This host: 127/8, `::1`, and the unspecified addresses, which lead there too.
    Loopback,
    /// This link: 169.254/16, fe80::/10.
    LinkLocal,
    /// A service that tells a cloud's machines their secrets.
    Metadata,
    /// A private network: RFC 1918, RFC 4193, the old site-local addresses.
    Private,
    /// Between a carrier and its customers (RFC 6598).
    Shared,
    /// Many hosts at once.
    Multicast,
    /// For protocols, tests or the future: nobody's address.
    Reserved,
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Metadata => "cloud metadata",
            Self::Private => "private",
            Self::Shared => "carrier-grade NAT",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
        })
    }
}

impl Special {
    /// What is special about an address; `None` for one of the public Internet.
    #[must_use]
    pub fn of(addr: IpAddr) -> Option<Self> {
        match addr {
            IpAddr::V4(addr) => v4(addr),
            IpAddr::V6(addr) => carried(addr).map_or_else(|| v6(addr), v4),
        }
    }
}

/// Where clouds keep their metadata, besides what lies in a larger special net: Oracle's, Alibaba's,
/// Azure's, and the one that most share.
const METADATA_V4: [Ipv4Addr; 4] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
];

/// Amazon's and Google's.
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

fn v4(addr: Ipv4Addr) -> Option<Special> {
    if METADATA_V4.contains(&addr) {
        return Some(Special::Metadata);
    }
    Some(match addr.octets() {
        [0 | 127, ..] => Special::Loopback,
        [169, 254, ..] => Special::LinkLocal,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Special::Private,
        [100, 64..=127, ..] => Special::Shared,
        [224..=239, ..] => Special::Multicast,
        [240..=255, ..] | [192, 0, 0, _] | [198, 18 | 19, ..] => Special::Reserved,
        _ => return None,
    })
}

fn v6(addr: Ipv6Addr) -> Option<Special> {
    if METADATA_V6.contains(&addr) {
        return Some(Special::Metadata);
    }
    Some(match addr.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Special::Loopback,
        [0xfe80..=0xfebf, ..] => Special::LinkLocal,
        [0xfec0..=0xfeff | 0xfc00..=0xfdff, ..] => Special::Private,
        // The NAT64 prefix of a network's own (RFC 8215): what it leads to is inside.
        [0x64, 0xff9b, 1, ..] => Special::Private,
        [0xff00..=0xffff, ..] => Special::Multicast,
        // Discard-only (RFC 6666).
        [0x100, 0, 0, 0, ..] => Special::Reserved,
        _ => return None,
    })
}

/// The IPv4 address that an IPv6 one carries: mapped and compatible (RFC 4291 §2.5.5), translated
/// (RFC 2765), NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo's client (RFC 4380).
fn carried(addr: Ipv6Addr) -> Option<Ipv4Addr> {
    let (high, low) = match addr.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => return None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => (high, low),
        [0x2001, 0, _, _, _, _, high, low] => (!high, !low),
        _ => return None,
    };
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    Some(Ipv4Addr::new(a, b, c, d))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(addrs: &[&str], expected: Option<Special>) {
        for addr in addrs {
            assert_eq!(Special::of(addr.parse().unwrap()), expected, "{addr}");
        }
    }

    #[test]
    fn addresses_of_the_internet_are_not_special() {
        check(
            &[
                "1.1.1.1",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "172.15.0.1",
                "172.32.0.1",
                "192.0.1.1",
                "192.169.0.1",
                "223.255.255.255",
                "2606:4700::1111",
                "::ffff:8.8.8.8",
                "64:ff9b::8.8.8.8",
                "2002:808:808::1",
            ],
            None,
        );
    }

    #[test]
    fn special_nets_have_their_kinds() {
        let v4 = [
            "127.0.0.1",
            "127.255.1.2",
            "0.0.0.0",
            "0.1.2.3",
            "::1",
            "::",
        ];
        check(&v4, Some(Special::Loopback));
        check(
            &["169.254.0.1", "fe80::1", "febf::1"],
            Some(Special::LinkLocal),
        );
        check(
            &[
                "10.0.0.1",
                "172.16.0.1",
                "172.31.9.9",
                "192.168.1.1",
                "fd12::1",
                "fc00::1",
                "fec0::1",
            ],
            Some(Special::Private),
        );
        check(&["100.64.0.1", "100.127.255.255"], Some(Special::Shared));
        check(
            &["224.0.0.1", "239.1.1.1", "ff02::1"],
            Some(Special::Multicast),
        );
        check(
            &[
                "240.0.0.1",
                "255.255.255.255",
                "198.18.0.1",
                "198.19.9.9",
                "192.0.0.8",
                "100::1",
            ],
            Some(Special::Reserved),
        );
        check(
            &[
                "169.254.169.254",
                "fd00:ec2::254",
                "fd20:ce::254",
                "100.100.100.200",
                "168.63.129.16",
                "192.0.0.192",
            ],
            Some(Special::Metadata),
        );
    }

    #[test]
    fn an_address_within_an_address_counts() {
        check(
            &[
                "::ffff:127.0.0.1",
                "::127.0.0.1",
                "::ffff:0:127.0.0.1",
                "64:ff9b::127.0.0.1",
                "2002:7f00:1::",
                "2001:0:4136:e378:8000:63bf:80ff:fffe",
            ],
            Some(Special::Loopback),
        );
        check(
            &[
                "::ffff:a9fe:a9fe",
                "64:ff9b::a9fe:a9fe",
                "2002:a9fe:a9fe::1",
            ],
            Some(Special::Metadata),
        );
        check(
            &["64:ff9b:1::a00:1", "64:ff9b::10.0.0.1"],
            Some(Special::Private),
        );
    }
}
