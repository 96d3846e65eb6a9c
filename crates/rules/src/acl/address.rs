//! Sets of addresses as sorted, disjoint intervals (`src`, `dst`, `localip`), and Squid's ways to write them.
//! Built once at load; a test is one binary search over 4-byte or 16-byte starts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An inclusive interval of one address family, before merging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// From the first to the last IPv4 address, both included.
    V4(u32, u32),
    /// From the first to the last IPv6 address, both included.
    V6(u128, u128),
    /// IPv4 addresses that equal the value under a mask with holes in it.
    Masked4 {
        /// The address bits that the mask keeps.
        value: u32,
        /// The mask, as written.
        mask: u32,
    },
}

/// What one value of an address ACL means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressValue {
    /// An interval known without asking anyone. The note says that Squid reads the text otherwise than it looks.
    Span(Span, Option<&'static str>),
    /// Every address there is, perhaps with such a note.
    Everything(Option<&'static str>),
    /// A host name, to be resolved when the configuration is loaded.
    Name(String),
    /// Neither address nor name.
    Bad,
}

/// IPv4-only spellings that Squid takes for `all`.
const OLD_ALL: [&str; 5] = [
    "0/0",
    "0.0.0.0/0",
    "0.0.0.0/0.0.0.0",
    "0.0.0.0-255.255.255.255",
    "0.0.0.0-0.0.0.0/0",
];

impl AddressValue {
    /// Reads one value: address, address/prefix, address/mask, range, range/mask, `all`, `ipv4`, `ipv6`, or a host name.
    /// What follows a blank, as a comment in a list file does, is not looked at.
    pub fn parse(text: &str) -> Self {
        let text = text.split([' ', '\t']).next().unwrap_or_default();
        if text.eq_ignore_ascii_case("all") {
            return Self::Everything(None);
        }
        if text.eq_ignore_ascii_case("ipv4") {
            return Self::Span(Span::V4(0, u32::MAX), None);
        }
        if text.eq_ignore_ascii_case("ipv6") {
            return Self::Span(Span::V6(0, u128::MAX), None);
        }
        if OLD_ALL.contains(&text) {
            return Self::Everything(Some(
                "write `all`: it is taken to mean every address, IPv6 included",
            ));
        }
        let (addresses, mask) = match text.split_once('/') {
            Some((addresses, mask)) => (addresses, Some(mask)),
            None => (text, None),
        };
        let (first, last) = match addresses.split_once('-') {
            Some((first, last)) if address(first).is_some() => (first, Some(last)),
            _ => (addresses, None),
        };
        let Some(first) = address(first) else {
            let looks_like_name =
                mask.is_none() && !text.is_empty() && text.bytes().any(|b| b.is_ascii_alphabetic());
            return if looks_like_name && !text.contains(':') {
                Self::Name(text.to_owned())
            } else {
                Self::Bad
            };
        };
        let last = match last.map(address) {
            None => first,
            Some(Some(last)) => last,
            Some(None) => return Self::Bad,
        };
        span(first, last, mask).map_or(Self::Bad, |(span, note)| Self::Span(span, note))
    }
}

/// An address with or without brackets; IPv4-mapped IPv6 becomes IPv4.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text);
    bare.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// The interval of a range under an optional prefix length or mask; the note tells of bits that the mask drops.
fn span(first: IpAddr, last: IpAddr, mask: Option<&str>) -> Option<(Span, Option<&'static str>)> {
    const DROPPED: &str = "the mask drops part of the address";
    match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            let (low, high) = (first.to_bits(), last.to_bits());
            let mask = mask.map_or(Some(u32::MAX), mask4)?;
            let note = (low & !mask != 0).then_some(DROPPED);
            if mask.leading_ones() + mask.trailing_zeros() != 32 {
                return (low == high).then_some((
                    Span::Masked4 {
                        value: low & mask,
                        mask,
                    },
                    note,
                ));
            }
            let (low, high) = (low & mask, high | !mask);
            (low <= high).then_some((Span::V4(low, high), note))
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            let (low, high) = (first.to_bits(), last.to_bits());
            let mask = mask.map_or(Some(u128::MAX), mask6)?;
            let note = (low & !mask != 0).then_some(DROPPED);
            let (low, high) = (low & mask, high | !mask);
            (low <= high).then_some((Span::V6(low, high), note))
        }
        _ => None,
    }
}

fn mask4(text: &str) -> Option<u32> {
    if let Ok(prefix) = text.parse::<u32>() {
        return (prefix <= 32).then(|| u32::MAX.checked_shl(32 - prefix).unwrap_or(0));
    }
    text.parse::<Ipv4Addr>().ok().map(Ipv4Addr::to_bits)
}

fn mask6(text: &str) -> Option<u128> {
    if let Ok(prefix) = text.parse::<u32>() {
        return (prefix <= 128).then(|| u128::MAX.checked_shl(128 - prefix).unwrap_or(0));
    }
    let mask = text.parse::<Ipv6Addr>().ok()?.to_bits();
    (mask.leading_ones() + mask.trailing_zeros() >= 128).then_some(mask)
}

/// A set of addresses.
#[derive(Clone, Debug, Default)]
pub struct AddressSet {
    v4: Intervals<u32>,
    v6: Intervals<u128>,
    masked4: Box<[(u32, u32)]>,
}

/// Intervals on their way into a set, by family: a list of a million takes 8 MB.
#[derive(Debug, Default)]
pub struct Spans {
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
    masked4: Vec<(u32, u32)>,
}

impl Spans {
    /// Adds an interval.
    pub fn push(&mut self, span: Span) {
        match span {
            Span::V4(low, high) => self.v4.push((low, high)),
            Span::V6(low, high) => self.v6.push((low, high)),
            Span::Masked4 { value, mask } => self.masked4.push((value, mask)),
        }
    }

    /// Adds every address there is.
    pub fn push_everything(&mut self) {
        self.push(Span::V4(0, u32::MAX));
        self.push(Span::V6(0, u128::MAX));
    }
}

impl AddressSet {
    /// Sorts and merges the spans.
    pub fn build(spans: Spans) -> Self {
        Self {
            v4: Intervals::build(spans.v4),
            v6: Intervals::build(spans.v6),
            masked4: spans.masked4.into(),
        }
    }

    /// Is the address in the set? IPv4-mapped IPv6 addresses count as IPv4.
    #[inline]
    pub fn contains(&self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(ip) => self.contains4(ip.to_bits()),
            IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
                Some(ip) => self.contains4(ip.to_bits()),
                None => self.v6.contains(ip.to_bits()),
            },
        }
    }

    #[inline]
    fn contains4(&self, ip: u32) -> bool {
        self.v4.contains(ip)
            || (!self.masked4.is_empty()
                && self.masked4.iter().any(|&(value, mask)| ip & mask == value))
    }

    /// Does the set hold every address there is?
    pub fn is_everything(&self) -> bool {
        self.v4.covers(0, u32::MAX) && self.v6.covers(0, u128::MAX)
    }

    /// Is there nothing in the set?
    pub fn is_empty(&self) -> bool {
        self.v4.starts.is_empty() && self.v6.starts.is_empty() && self.masked4.is_empty()
    }

    /// Number of intervals left after merging.
    pub fn len(&self) -> usize {
        self.v4.starts.len() + self.v6.starts.len() + self.masked4.len()
    }
}

/// Sorted disjoint intervals; starts and ends lie apart, so that the search touches few cache lines.
#[derive(Clone, Debug, Default)]
struct Intervals<T> {
    starts: Box<[T]>,
    ends: Box<[T]>,
}

impl<T: Ord + Copy> Intervals<T> {
    fn build(mut spans: Vec<(T, T)>) -> Self {
        spans.sort_unstable();
        let (mut starts, mut ends): (Vec<T>, Vec<T>) = (Vec::new(), Vec::new());
        for (low, high) in spans {
            match ends.last_mut() {
                Some(end) if low <= *end => *end = (*end).max(high),
                _ => {
                    starts.push(low);
                    ends.push(high);
                }
            }
        }
        Self {
            starts: starts.into(),
            ends: ends.into(),
        }
    }

    #[inline]
    fn contains(&self, value: T) -> bool {
        let after = self.starts.partition_point(|start| *start <= value);
        after
            .checked_sub(1)
            .and_then(|index| self.ends.get(index))
            .is_some_and(|end| value <= *end)
    }

    fn covers(&self, low: T, high: T) -> bool {
        self.starts.first() == Some(&low) && self.ends.first() == Some(&high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(values: &[&str]) -> AddressSet {
        let mut spans = Spans::default();
        for value in values {
            match AddressValue::parse(value) {
                AddressValue::Span(span, _) => spans.push(span),
                AddressValue::Everything(_) => spans.push_everything(),
                other => panic!("{value}: {other:?}"),
            }
        }
        AddressSet::build(spans)
    }

    fn check(values: &[&str], ip: &str, expected: bool) {
        assert_eq!(
            set(values).contains(ip.parse().unwrap()),
            expected,
            "{values:?} {ip}"
        );
    }

    #[test]
    fn every_way_to_write_an_address_is_read() {
        check(&["10.0.0.1"], "10.0.0.1", true);
        check(&["10.0.0.1"], "10.0.0.2", false);
        check(&["10.0.0.0/8"], "10.255.255.255", true);
        check(&["10.0.0.0/8"], "11.0.0.0", false);
        check(&["192.168.0.0/255.255.0.0"], "192.168.3.4", true);
        check(&["192.168.0.0/255.255.0.0"], "192.169.3.4", false);
        check(&["10.0.0.5-10.0.0.9"], "10.0.0.9", true);
        check(&["10.0.0.5-10.0.0.9"], "10.0.0.4", false);
        check(&["10.0.0.0-10.0.2.0/24"], "10.0.2.200", true);
        check(&["fc00::/7"], "fd12::1", true);
        check(&["fc00::/7"], "fe80::1", false);
        check(&["[::1]"], "::1", true);
        check(&["::1-::5"], "::4", true);
        check(&["10.0.0.0/8 # the office"], "10.2.3.4", true);
        check(&["ipv4"], "::1", false);
        check(&["ipv6"], "::1", true);
        check(&["10.0.0.7/255.0.0.255"], "10.9.9.7", true);
        check(&["10.0.0.7/255.0.0.255"], "10.9.9.8", false);
    }

    #[test]
    fn host_bits_under_a_mask_are_dropped_with_a_note() {
        check(&["10.1.2.3/8"], "10.200.0.1", true);
        assert!(matches!(
            AddressValue::parse("10.1.2.3/8"),
            AddressValue::Span(_, Some(_))
        ));
    }

    #[test]
    fn all_covers_both_families_and_so_do_its_old_spellings() {
        for text in ["all", "ALL", "0/0", "0.0.0.0/0", "0.0.0.0/0.0.0.0"] {
            assert!(set(&[text]).is_everything(), "{text}");
        }
        assert!(set(&["ipv4", "ipv6"]).is_everything());
        assert!(!set(&["ipv4"]).is_everything());
    }

    #[test]
    fn a_mapped_address_counts_as_ipv4() {
        check(&["127.0.0.1"], "::ffff:127.0.0.1", true);
        check(&["::ffff:127.0.0.1"], "127.0.0.1", true);
    }

    #[test]
    fn names_are_left_for_the_resolver_and_rubbish_is_bad() {
        assert_eq!(
            AddressValue::parse("proxy-1.example.com"),
            AddressValue::Name("proxy-1.example.com".into())
        );
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.9-10.0.0.1",
            "10.0.0.1-::1",
            "1.2.3",
            "::1/129",
            "a:b",
            "host/24",
        ] {
            assert_eq!(AddressValue::parse(text), AddressValue::Bad, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_table_agrees_with_a_list_of_ranges(
            ranges in prop::collection::vec((0u32..5000, 0u32..60), 0..80),
            probes in prop::collection::vec(0u32..5100, 1..200),
        ) {
            let mut spans = Spans::default();
            ranges.iter().for_each(|&(low, more)| spans.push(Span::V4(low, low + more)));
            let set = AddressSet::build(spans);
            for probe in probes {
                let naive = ranges.iter().any(|&(low, more)| low <= probe && probe <= low + more);
                prop_assert_eq!(set.contains(IpAddr::V4(Ipv4Addr::from_bits(probe))), naive);
            }
        }
    }
}
