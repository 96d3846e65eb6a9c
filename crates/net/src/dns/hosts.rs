//! The hosts file: names that no name server is asked for.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::{ADDRESSES_MAX, Addresses, KnownAddress, KnownName};

/// Names in lower case, with the addresses of all their lines, in order; and the first name of each
/// address.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    names: HashMap<Box<str>, Addresses>,
    addresses: HashMap<IpAddr, Arc<str>>,
}

impl Hosts {
    /// Reads `address name…` lines; `#` begins a comment. Lines that make no sense are passed over.
    pub(super) fn parse(text: &[u8]) -> Self {
        let mut names: HashMap<Box<str>, Vec<IpAddr>> = HashMap::new();
        let mut addresses: HashMap<IpAddr, Arc<str>> = HashMap::new();
        for line in String::from_utf8_lossy(text).lines() {
            let words = line.split('#').next().unwrap_or_default();
            let mut words = words.split_ascii_whitespace();
            let Some(Ok(addr)) = words.next().map(str::parse::<IpAddr>) else {
                continue;
            };
            for name in words {
                let name = name.strip_suffix('.').unwrap_or(name);
                let name = name.to_ascii_lowercase();
                addresses.entry(addr).or_insert_with(|| (*name).into());
                let known = names.entry(name.into()).or_default();
                if !known.contains(&addr) && known.len() < ADDRESSES_MAX {
                    known.push(addr);
                }
            }
        }
        let shared = names.into_iter().map(|(name, all)| (name, all.into()));
        Self {
            names: shared.collect(),
            addresses,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Addresses> {
        self.names.get(name).cloned()
    }

    pub(super) fn name_of(&self, addr: IpAddr) -> Option<Arc<str>> {
        self.addresses.get(&addr).cloned()
    }

    /// Its names by alphabet, no more than `most`.
    pub(super) fn all_names(&self, most: usize) -> Vec<KnownName> {
        let mut names: Vec<_> = self.names.iter().take(most).collect();
        names.sort_unstable_by_key(|(name, _)| *name);
        let known = names.into_iter().map(|(name, addresses)| KnownName {
            name: (**name).into(),
            answer: Ok(Arc::clone(addresses)),
            bad: Vec::new(),
            waited: None,
        });
        known.collect()
    }

    /// Its addresses in order, no more than `most`.
    pub(super) fn all_addresses(&self, most: usize) -> Vec<KnownAddress> {
        let mut addresses: Vec<_> = self.addresses.iter().take(most).collect();
        addresses.sort_unstable();
        let known = addresses.into_iter().map(|(addr, name)| KnownAddress {
            addr: *addr,
            answer: Ok(Arc::clone(name)),
            waited: None,
        });
        known.collect()
    }

    /// How many names and how many addresses it has.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.names.len(), self.addresses.len())
    }
}

/// `localhost` and names below it are here, whatever name servers say (RFC 6761 §6.3).
pub(super) fn localhost(name: &str) -> Option<Addresses> {
    let here = name == "localhost" || name.ends_with(".localhost");
    here.then(|| [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, expected: &[&str]) {
        let found = Hosts::parse(text.as_bytes()).get(name);
        let found: Vec<_> = found.iter().flat_map(|all| all.iter()).collect();
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn a_line_names_an_address() {
        check(
            "10.0.0.1 web www.example.com",
            "www.example.com",
            &["10.0.0.1"],
        );
        check("  fe80::1\tWEB.\r\n", "web", &["fe80::1"]);
        check("10.0.0.1 web # not this", "this", &[]);
        check("#10.0.0.1 web", "web", &[]);
        check("10.0.0 web\n10.0.0.1", "web", &[]);
    }

    #[test]
    fn the_addresses_of_several_lines_add_up() {
        check("10.0.0.2 a\n::2 a\n10.0.0.2 a", "a", &["10.0.0.2", "::2"]);
    }

    #[test]
    fn an_address_has_the_name_that_comes_first() {
        let hosts = Hosts::parse(b"10.0.0.1 WEB.example.com web\n10.0.0.1 other\n::1 me");
        let name = |addr: &str| hosts.name_of(addr.parse().unwrap());
        assert_eq!(name("10.0.0.1").as_deref(), Some("web.example.com"));
        assert_eq!(name("::1").as_deref(), Some("me"));
        assert_eq!(name("10.0.0.2"), None);
    }

    #[test]
    fn localhost_is_here() {
        assert!(localhost("localhost").is_some());
        assert!(localhost("a.localhost").is_some());
        assert!(localhost("notlocalhost").is_none());
    }
}
