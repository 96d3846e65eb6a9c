//! Addresses as text, as X-Forwarded-For, logs and pages have them.

use std::io::Write as _;
use std::net::IpAddr;

/// Appends an address; an IPv4 one that came through an IPv6 socket reads as IPv4. IPv4 is written by hand, as
/// formatting costs several times more.
pub fn write(addr: IpAddr, out: &mut Vec<u8>) {
    match addr.to_canonical() {
        IpAddr::V4(addr) => {
            for (octet, place) in addr.octets().into_iter().zip(0..) {
                if place > 0 {
                    out.push(b'.');
                }
                if octet >= 100 {
                    out.push(b'0' + octet / 100);
                }
                if octet >= 10 {
                    out.push(b'0' + octet / 10 % 10);
                }
                out.push(b'0' + octet % 10);
            }
        }
        // A Vec takes all that is written to it.
        IpAddr::V6(addr) => write!(out, "{addr}").unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_address_reads_as_it_is_formatted(addr: IpAddr) {
            let mut out = Vec::new();
            write(addr, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), addr.to_canonical().to_string());
        }
    }
}
