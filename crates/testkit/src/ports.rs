//! Free ports on loopback.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the range from which the kernel takes ports for outgoing connections, so that nobody gets one by chance.
const FIRST: u32 = 10_000;
const COUNT: u32 = 22_000;

/// The state of a listening socket in those tables.
const LISTEN: &str = "0A";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A port on loopback that nobody listens on, and that this process won't name again soon.
#[must_use]
pub fn free_port() -> u16 {
    // Test binaries that run side by side start far apart.
    let start = process::id().wrapping_mul(101);
    for _ in 0..COUNT {
        let turn = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + start.wrapping_add(turn) % COUNT;
        if let Ok(port) = u16::try_from(port)
            && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
        {
            return port;
        }
    }
    panic!("no port of {COUNT} is free on 127.0.0.1");
}

/// Does anyone listen on this TCP port? Asks the kernel, so that the listener doesn't notice.
#[must_use]
pub fn is_listening(port: u16) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let tables = tables.map(|table| fs::read_to_string(table).unwrap_or_default());
    let end = format!(":{port:04X}");
    let listens = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next().is_some_and(|local| local.ends_with(&end));
        local && words.nth(1) == Some(LISTEN)
    };
    tables.iter().any(|table| table.lines().any(listens))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ports_differ_and_can_be_bound() {
        let (one, two) = (free_port(), free_port());
        assert_ne!(one, two);
        assert!(!is_listening(one));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, one)).unwrap();
        assert!(is_listening(one));
        drop(listener);
        assert!(!is_listening(one));
    }
}
