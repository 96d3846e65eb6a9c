//! Hardware addresses of clients on our links: of IPv4 addresses from the kernel's table, of IPv6
//! addresses from the address itself, where it was made from one (RFC 4291, appendix A). The kernel
//! shows its table of IPv6 neighbours over netlink only, which nobody asked for yet.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A hardware address (EUI-48).
pub type Mac = [u8; 6];

/// What was read of the kernel's table is used for so long.
const AGE_NS: u64 = 1_000_000_000;

/// The kernel's mark of an entry that is complete.
const COMPLETE: u32 = 2;

/// See the module. Reads nothing before it is asked.
#[derive(Debug)]
pub struct Neighbours {
    table: PathBuf,
    read: Mutex<Option<Read>>,
}

/// What the table said, and when.
#[derive(Debug)]
struct Read {
    at_ns: u64,
    macs: HashMap<Ipv4Addr, Mac>,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self::in_table("/proc/net/arp".as_ref())
    }
}

impl Neighbours {
    /// With the kernel's table at another place.
    #[must_use]
    pub fn in_table(table: &Path) -> Self {
        Self {
            table: table.into(),
            read: Mutex::default(),
        }
    }

    /// The hardware address of a neighbour; `None` for an address beyond our links.
    #[must_use]
    pub fn mac_of(&self, addr: IpAddr, now_ns: u64) -> Option<Mac> {
        match addr.to_canonical() {
            IpAddr::V4(addr) => self.in_kernel(addr, now_ns),
            IpAddr::V6(addr) => made_from(addr),
        }
    }

    fn in_kernel(&self, addr: Ipv4Addr, now_ns: u64) -> Option<Mac> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |read: &Read| now_ns.saturating_sub(read.at_ns) < AGE_NS;
        if !read.as_ref().is_some_and(holds) {
            let text = std::fs::read_to_string(&self.table).unwrap_or_default();
            *read = Some(Read {
                at_ns: now_ns,
                macs: text.lines().filter_map(entry).collect(),
            });
        }
        read.as_ref()?.macs.get(&addr).copied()
    }
}

/// `ADDRESS TYPE FLAGS MAC MASK DEVICE`
fn entry(line: &str) -> Option<(Ipv4Addr, Mac)> {
    let mut words = line.split_ascii_whitespace();
    let addr = words.next()?.parse().ok()?;
    let flags = words.nth(1)?.strip_prefix("0x")?;
    let complete = u32::from_str_radix(flags, 16).ok()? & COMPLETE != 0;
    let mut octets = words.next()?.split(':');
    let mut mac = Mac::default();
    for octet in &mut mac {
        *octet = u8::from_str_radix(octets.next()?, 16).ok()?;
    }
    (complete && octets.next().is_none()).then_some((addr, mac))
}

/// The hardware address that an interface identifier was made from: `ff:fe` in its middle, and the
/// universal bit turned over.
fn made_from(addr: Ipv6Addr) -> Option<Mac> {
    match addr.octets() {
        [.., a, b, c, 0xff, 0xfe, d, e, f] => Some([a ^ 2, b, c, d, e, f]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
IP address       HW type     Flags       HW address            Mask     Device
192.0.2.1        0x1         0x2         52:54:00:12:35:02     *        eth0
192.0.2.2        0x1         0x0         00:00:00:00:00:00     *        eth0
192.0.2.3        0x1         0x6         52:54:00:AA:bb:01     *        eth1
192.0.2.4        0x20        0x2         80:00:02:08:fe:80:00:00     *        ib0
";

    #[test]
    fn the_kernel_knows_its_neighbours() {
        let dir = tempfile::tempdir().unwrap();
        let table = dir.path().join("arp");
        std::fs::write(&table, TABLE).unwrap();
        let neighbours = Neighbours::in_table(&table);
        let mac = |addr: &str, at_ns| neighbours.mac_of(addr.parse().unwrap(), at_ns);
        assert_eq!(mac("192.0.2.1", 5), Some([0x52, 0x54, 0, 0x12, 0x35, 2]));
        assert_eq!(
            mac("::ffff:192.0.2.3", 5),
            Some([0x52, 0x54, 0, 0xaa, 0xbb, 1])
        );
        for unknown in ["192.0.2.2", "192.0.2.4", "192.0.2.5"] {
            assert_eq!(mac(unknown, 5), None, "{unknown}");
        }
        std::fs::write(&table, "").unwrap();
        assert!(
            mac("192.0.2.1", AGE_NS).is_some(),
            "not read for each question"
        );
        assert_eq!(mac("192.0.2.1", AGE_NS + 5), None);
    }

    #[test]
    fn a_table_that_cannot_be_read_is_empty() {
        let nowhere = Neighbours::in_table("/nonexistent/arp".as_ref());
        assert_eq!(nowhere.mac_of("192.0.2.1".parse().unwrap(), 5), None);
    }

    #[test]
    fn an_ipv6_address_may_tell_what_it_was_made_from() {
        let neighbours = Neighbours::default();
        let mac = |addr: &str| neighbours.mac_of(addr.parse().unwrap(), 5);
        let expected = Some([0x52, 0x54, 0, 0x12, 0x34, 0x56]);
        assert_eq!(mac("2001:db8::5054:ff:fe12:3456"), expected);
        assert_eq!(mac("fe80::5054:ff:fe12:3456"), expected);
        assert_eq!(mac("2001:db8::1"), None);
    }
}
