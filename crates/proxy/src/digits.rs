//! Writers of numbers and addresses into a byte buffer, for log lines, heads and pages. They are
//! written out because `format!` costs several times a whole log line.

use std::net::IpAddr;

/// Digits of the largest `u64`.
const DIGITS_MAX: usize = 20;

/// Appends `number` in decimal.
pub(crate) fn push_number(out: &mut Vec<u8>, number: u64) {
    push_number_wide(out, number, 0, b' ');
}

/// Appends `number` in decimal, with `fill` before it up to `width` characters.
pub(crate) fn push_number_wide(out: &mut Vec<u8>, mut number: u64, width: usize, fill: u8) {
    let mut digits = [fill; DIGITS_MAX];
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        used += 1;
        if number == 0 {
            break;
        }
    }
    let shown = used.max(width).min(DIGITS_MAX);
    out.extend_from_slice(digits.get(DIGITS_MAX - shown..).unwrap_or_default());
}

/// Appends an address; an IPv4 address that came through an IPv6 socket reads as IPv4.
pub(crate) fn push_ip(out: &mut Vec<u8>, ip: IpAddr) {
    wire::value::addr::write(ip, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_padded_to_their_width_and_never_cut() {
        let check = |number, width, fill, expected: &str| {
            let shown = text(|out| push_number_wide(out, number, width, fill));
            assert_eq!(shown, expected);
        };
        check(0, 0, b' ', "0");
        check(7, 6, b' ', "     7");
        check(123_456, 6, b' ', "123456");
        check(1_234_567, 6, b' ', "1234567");
        check(5, 3, b'0', "005");
        check(u64::MAX, 6, b' ', "18446744073709551615");
        check(1, 99, b' ', "                   1");
    }

    #[test]
    fn an_ipv4_address_that_came_through_ipv6_reads_as_ipv4() {
        let check = |ip: &str, expected: &str| {
            assert_eq!(text(|out| push_ip(out, ip.parse().unwrap())), expected);
        };
        check("127.0.0.1", "127.0.0.1");
        check("::ffff:192.0.2.10", "192.0.2.10");
        check("2001:db8::1", "2001:db8::1");
        check("::1", "::1");
    }

    proptest! {
        #[test]
        fn a_number_reads_back(number: u64) {
            prop_assert_eq!(text(|out| push_number(out, number)), number.to_string());
        }
    }
}
