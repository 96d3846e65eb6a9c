//! `host [":" port]` of targets and of `Host` (RFC 3986 §3.2), strict.
//!
//! Hosts are what DNS and addresses need: letters, digits, `-`, `_`, `.`, or an IPv6 address in
//! brackets. Percent signs, commas, 8-bit bytes and the like are refused: one reader would take
//! them for something else than another. Spellings of IPv4 addresses other than dotted decimal
//! (`2130706433`, `0x7f.1`) become dotted decimal, so that rules for addresses see them; octal is
//! refused, as readers differ on it.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use super::{BadTarget, HOST_BYTES_MAX};
use crate::chars;

/// A checked authority without user information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority<'a> {
    /// The host as sent, with brackets.
    pub raw_host: &'a [u8],
    /// The address, when the host is one.
    pub ip: Option<IpAddr>,
    /// The port, when one is written.
    pub port: Option<u16>,
}

impl<'a> Authority<'a> {
    /// Parses `host [":" port]`.
    ///
    /// # Errors
    /// When host or port is invalid, or there is user information.
    pub fn parse(raw: &'a [u8]) -> Result<Self, BadTarget> {
        if memchr::memchr(b'@', raw).is_some() {
            return Err(BadTarget::UserInfo);
        }
        let host_bytes = if raw.starts_with(b"[") {
            memchr::memchr(b']', raw).ok_or(BadTarget::Host)? + 1
        } else {
            memchr::memchr(b':', raw).unwrap_or(raw.len())
        };
        let (raw_host, port) = raw.split_at_checked(host_bytes).ok_or(BadTarget::Host)?;
        let port = match port {
            [] | [b':'] => None,
            [b':', digits @ ..] => Some(parse_port(digits)?),
            _ => return Err(BadTarget::Host),
        };
        Ok(Self {
            raw_host,
            ip: check_host(raw_host)?,
            port,
        })
    }

    /// Parses `[user information "@"] host [":" port]`; the first part with its `@`.
    pub(super) fn with_user_info(raw: &'a [u8]) -> Result<(&'a [u8], Self), BadTarget> {
        let at = memchr::memrchr(b'@', raw).map_or(0, |at| at + 1);
        let (user_info, rest) = raw.split_at_checked(at).ok_or(BadTarget::Host)?;
        let inner = user_info.strip_suffix(b"@").unwrap_or(user_info);
        let is_plain =
            |&byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:".contains(&byte);
        if !inner.iter().all(is_plain) {
            return Err(BadTarget::UserInfo);
        }
        Ok((user_info, Self::parse(rest)?))
    }

    /// From a host, with or without brackets, and a port; 0 for none.
    pub(super) fn from_parts(raw_host: &'a [u8], port: u16) -> Result<Self, BadTarget> {
        let ip = match parse_ipv6(raw_host) {
            Some(ip) => Some(ip),
            None => check_host(raw_host)?,
        };
        Ok(Self {
            raw_host,
            ip,
            port: (port > 0).then_some(port),
        })
    }

    /// Appends the normalised host; gives the range of it without brackets.
    pub(super) fn write_host(&self, out: &mut Vec<u8>) -> Range<usize> {
        let start = out.len();
        match self.ip {
            Some(IpAddr::V6(ip)) => {
                // A Vec takes all that is written to it.
                write!(out, "[{ip}]").ok();
                start + 1..out.len() - 1
            }
            Some(IpAddr::V4(_)) if is_dotted_decimal(self.raw_host) => {
                out.extend_from_slice(self.raw_host);
                start..out.len()
            }
            Some(IpAddr::V4(ip)) => {
                write!(out, "{ip}").ok();
                start..out.len()
            }
            None => {
                let name = self.raw_host.strip_suffix(b".").unwrap_or(self.raw_host);
                out.extend(name.iter().map(u8::to_ascii_lowercase));
                start..out.len()
            }
        }
    }
}

/// Appends `:port`. By hand, as formatting costs more than the rest of a usual URL.
pub(super) fn write_port(port: u16, out: &mut Vec<u8>) {
    out.push(b':');
    for divisor in [10_000, 1000, 100, 10, 1] {
        if port >= divisor || divisor == 1 {
            out.push(b'0' + u8::try_from(port / divisor % 10).unwrap_or_default());
        }
    }
}

/// Is a valid IPv4 address spelled as it is written? Leading zeros were refused.
fn is_dotted_decimal(host: &[u8]) -> bool {
    let is_plain = host
        .iter()
        .all(|&byte| byte.is_ascii_digit() || byte == b'.');
    is_plain && !host.ends_with(b".") && host.iter().filter(|&&byte| byte == b'.').count() == 3
}

/// 1 to 65535, at most five digits.
fn parse_port(digits: &[u8]) -> Result<u16, BadTarget> {
    let port = chars::decimal(digits).filter(|_| digits.len() <= 5);
    let port = port.and_then(|port| u16::try_from(port).ok());
    port.filter(|&port| port > 0).ok_or(BadTarget::Port)
}

/// Checks a host and finds the address in it.
fn check_host(raw: &[u8]) -> Result<Option<IpAddr>, BadTarget> {
    if let Some(inner) = raw
        .strip_prefix(b"[")
        .and_then(|raw| raw.strip_suffix(b"]"))
    {
        return parse_ipv6(inner).map(Some).ok_or(BadTarget::Host);
    }
    let name = raw.strip_suffix(b".").unwrap_or(raw);
    let is_name_byte =
        |&byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > HOST_BYTES_MAX || !name.iter().all(is_name_byte) {
        return Err(BadTarget::Host);
    }
    let mut labels = name.split(|&byte| byte == b'.');
    if labels.clone().any(<[u8]>::is_empty) {
        return Err(BadTarget::Host);
    }
    // No top-level domain starts with a digit: such a host is an address or nothing.
    match labels.next_back() {
        Some([b'0'..=b'9', ..]) if may_be_number(name) => parse_ipv4(name)
            .map(|ip| Some(IpAddr::V4(ip)))
            .ok_or(BadTarget::Host),
        _ => Ok(None),
    }
}

/// Is the last label a number in some reader's eyes: digits, or `0x` and hex digits?
fn may_be_number(name: &[u8]) -> bool {
    let last = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    last.iter().all(u8::is_ascii_digit) || matches!(last, [b'0', b'x' | b'X', ..])
}

/// An IPv4 address in any spelling of `inet_aton` but octal.
fn parse_ipv4(name: &[u8]) -> Option<Ipv4Addr> {
    let mut parts = name.split(|&byte| byte == b'.').peekable();
    let mut address = 0_u32;
    for index in 0..4_u32 {
        let number = parse_ipv4_number(parts.next()?)?;
        if parts.peek().is_none() {
            // The last part fills the bytes that are left.
            let room = 32 - 8 * index;
            let fits = room == 32 || number >> room == 0;
            return fits.then(|| Ipv4Addr::from_bits(address | number));
        }
        let byte = u8::try_from(number).ok()?;
        address |= u32::from(byte) << (24 - 8 * index);
    }
    None
}

fn parse_ipv4_number(part: &[u8]) -> Option<u32> {
    match part {
        [b'0'] => Some(0),
        [b'0', b'x' | b'X', hex @ ..] => {
            let hex = str::from_utf8(hex)
                .ok()
                .filter(|hex| !hex.starts_with('+'))?;
            u32::from_str_radix(hex, 16).ok()
        }
        [b'0', ..] => None,
        _ => u32::try_from(chars::decimal(part)?).ok(),
    }
}

/// An IPv6 address without zone; one that stands for an IPv4 address becomes that.
fn parse_ipv6(inner: &[u8]) -> Option<IpAddr> {
    let ip: Ipv6Addr = str::from_utf8(inner).ok()?.parse().ok()?;
    Some(IpAddr::V6(ip).to_canonical())
}
