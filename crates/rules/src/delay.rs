//! Who shares a bucket of a delay pool.
//!
//! Of IPv4 addresses Squid looks at one or two bytes; we do the same, so that a pool never gives out more bandwidth
//! than there. IPv6, which it leaves alone, is told apart by the prefixes in which addresses are given to a
//! household and to a site.

use std::net::IpAddr;

use config::delay::Scope;

/// Bits of an IPv6 address that tell a client from others: who has one address has all of a /64.
const IPV6_CLIENT_BITS: u32 = 64;
/// … and a network.
const IPV6_NETWORK_BITS: u32 = 48;

/// Who takes bytes.
#[derive(Clone, Copy, Debug)]
pub struct Taker<'t> {
    /// The client as delay pools see it.
    pub addr: IpAddr,
    /// Who has logged in.
    pub user: Option<&'t str>,
    /// What an external ACL gave.
    pub tag: Option<&'t str>,
}

/// What a bucket goes by, among those of one scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// There is one bucket.
    All,
    /// The bits that count.
    Ipv4(u32),
    /// The prefix that counts.
    Ipv6(u128),
    /// A user or a tag.
    Name(Box<str>),
    /// Each taker has a bucket of its own, which nobody finds again.
    Own,
}

/// The bucket that `taker` takes from; `None` where it has none, and no limit: nobody has logged in, or no tag came.
pub fn share(scope: Scope, taker: &Taker<'_>) -> Option<Share> {
    let by_addr = |shift, bits: u32, ipv6_bits| match taker.addr.to_canonical() {
        IpAddr::V4(addr) => Share::Ipv4(addr.to_bits() >> shift & !u32::MAX.unbounded_shl(bits)),
        IpAddr::V6(addr) => Share::Ipv6(addr.to_bits() >> (128 - ipv6_bits)),
    };
    let name = |name: Option<&str>| Some(Share::Name(name?.into()));
    match scope {
        Scope::Aggregate => Some(Share::All),
        Scope::Network => Some(by_addr(8, 8, IPV6_NETWORK_BITS)),
        Scope::Individual(bits) => Some(by_addr(0, u32::from(bits), IPV6_CLIENT_BITS)),
        Scope::Client => Some(by_addr(0, 32, 128)),
        Scope::User => name(taker.user),
        Scope::Tag => name(taker.tag),
        Scope::Response => Some(Share::Own),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(scope: Scope, one: &str, other: &str) -> bool {
        let of = |addr: &str| {
            let taker = Taker {
                addr: addr.parse().unwrap(),
                user: None,
                tag: None,
            };
            share(scope, &taker).unwrap()
        };
        of(one) == of(other)
    }

    #[test]
    fn ipv4_clients_are_told_apart_by_the_bytes_that_squid_looks_at() {
        let (last, two) = (Scope::Individual(8), Scope::Individual(16));
        assert!(same(last, "10.0.1.5", "10.0.2.5") && !same(last, "10.0.1.5", "10.0.1.6"));
        assert!(!same(two, "10.0.1.5", "10.0.2.5") && same(two, "10.1.1.5", "10.2.1.5"));
        assert!(same(Scope::Network, "10.0.1.5", "10.0.1.6"));
        assert!(!same(Scope::Network, "10.0.1.5", "10.0.2.5"));
        assert!(!same(Scope::Client, "10.1.1.5", "10.2.1.5"));
        assert!(same(Scope::Aggregate, "10.1.1.5", "::1"));
    }

    #[test]
    fn ipv6_clients_are_told_apart_by_their_prefixes() {
        for scope in [Scope::Individual(8), Scope::Individual(16)] {
            assert!(same(scope, "2001:db8:1:2::3", "2001:db8:1:2:4::5"));
            assert!(!same(scope, "2001:db8:1:2::3", "2001:db8:1:3::3"));
            assert!(same(scope, "::ffff:10.0.0.1", "10.0.0.1"));
        }
        assert!(same(Scope::Network, "2001:db8:1:2::3", "2001:db8:1:3::3"));
        assert!(!same(Scope::Network, "2001:db8:1::3", "2001:db8:2::3"));
        assert!(!same(Scope::Client, "2001:db8::1", "2001:db8::2"));
        assert!(same(Scope::Client, "2001:db8::1", "2001:db8::1"));
    }

    #[test]
    fn who_has_no_name_has_no_bucket() {
        let taker = Taker {
            addr: "10.0.0.1".parse().unwrap(),
            user: Some("ann"),
            tag: None,
        };
        assert_eq!(share(Scope::User, &taker), Some(Share::Name("ann".into())));
        assert_eq!(share(Scope::Tag, &taker), None);
        assert_eq!(share(Scope::Response, &taker), Some(Share::Own));
    }
}
