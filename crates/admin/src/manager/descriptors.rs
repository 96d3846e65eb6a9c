//! The descriptors of this process, as the system knows them: what each is, and of sockets between whom.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Descriptors that are listed.
pub(super) const DESCRIPTORS_MAX: usize = 20_000;

/// Lines that are read of each of the system's tables of sockets, which hold other processes' too.
const SOCKETS_MAX: usize = 50_000;

/// A descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) number: u32,
    pub(super) kind: Kind,
}

/// What it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file or a device, by its path.
    File(String),
    Pipe,
    Socket(Option<Socket>),
    /// What only the kernel knows, by its name for it: `eventpoll`.
    Other(String),
}

/// What is known of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) protocol: Protocol,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    pub(super) listens: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

/// All descriptors in order, [`DESCRIPTORS_MAX`] at most, and how many more there are.
pub(super) fn all() -> (Vec<Descriptor>, usize) {
    let Ok(listing) = std::fs::read_dir("/proc/self/fd") else {
        return (Vec::new(), 0);
    };
    let number = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.ok()?.file_name().to_str()?.parse::<u32>().ok()
    };
    let mut numbers: Vec<_> = listing.filter_map(number).collect();
    numbers.sort_unstable();
    let more = numbers.len().saturating_sub(DESCRIPTORS_MAX);
    numbers.truncate(DESCRIPTORS_MAX);
    let sockets = sockets();
    let descriptors = numbers.into_iter().filter_map(|number| {
        // The one that the directory was read by is closed by now.
        let target = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
        let kind = kind(&target.to_string_lossy(), &sockets);
        Some(Descriptor { number, kind })
    });
    (descriptors.collect(), more)
}

fn kind(target: &str, sockets: &HashMap<u64, Socket>) -> Kind {
    let inner = |prefix| target.strip_prefix(prefix)?.strip_suffix(']');
    if let Some(inode) = inner("socket:[") {
        let inode = inode.parse().ok();
        return Kind::Socket(inode.and_then(|inode: u64| sockets.get(&inode)).copied());
    }
    if target.starts_with("pipe:[") {
        return Kind::Pipe;
    }
    match target.strip_prefix("anon_inode:") {
        Some(name) => Kind::Other(name.trim_matches(['[', ']']).to_owned()),
        None => Kind::File(target.to_owned()),
    }
}

/// Sockets by their inodes.
fn sockets() -> HashMap<u64, Socket> {
    let mut sockets = HashMap::new();
    for (table, protocol) in [
        ("tcp", Protocol::Tcp),
        ("tcp6", Protocol::Tcp),
        ("udp", Protocol::Udp),
        ("udp6", Protocol::Udp),
    ] {
        let Ok(file) = File::open(format!("/proc/self/net/{table}")) else {
            continue;
        };
        let lines = BufReader::new(file).lines().skip(1).take(SOCKETS_MAX);
        sockets.extend(
            lines
                .map_while(Result::ok)
                .filter_map(|line| socket(&line, protocol)),
        );
    }
    sockets
}

/// A line of such a table: `sl local remote state queues timer retransmits uid timeout inode …`.
fn socket(line: &str, protocol: Protocol) -> Option<(u64, Socket)> {
    const LISTEN: &str = "0A";
    let words: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
    let [_, local, remote, state, _, _, _, _, _, inode] = words[..] else {
        return None;
    };
    let socket = Socket {
        protocol,
        local: address(local)?,
        remote: address(remote)?,
        listens: protocol == Protocol::Tcp && state == LISTEN,
    };
    Some((inode.parse().ok()?, socket))
}

/// `0100007F:0C38`: the address in words of the machine's order, the port as a number.
fn address(text: &str) -> Option<SocketAddr> {
    let (addr, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = addr.get(at..at + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let addr: IpAddr = if addr.len() == 8 {
        Ipv4Addr::from(word(0)?).into()
    } else {
        let mut bytes = [0; 16];
        for (index, bytes) in bytes.chunks_exact_mut(4).enumerate() {
            bytes.copy_from_slice(&word(index * 8)?);
        }
        IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
    };
    Some(SocketAddr::new(addr, port))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn a_connection_is_found_with_both_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (descriptors, more) = all();
        assert_eq!(more, 0);
        let of = |fd: i32| {
            let found = descriptors
                .iter()
                .find(|one| i64::from(one.number) == i64::from(fd));
            match found.map(|one| one.kind.clone()) {
                Some(Kind::Socket(Some(socket))) => socket,
                other => panic!("{other:?}"),
            }
        };
        let (ours, listening) = (of(stream.as_raw_fd()), of(listener.as_raw_fd()));
        assert_eq!(ours.local, stream.local_addr().unwrap());
        assert_eq!(ours.remote, listener.local_addr().unwrap());
        assert!(listening.listens && !ours.listens);
    }

    #[test]
    fn other_things_are_told_apart() {
        let none = HashMap::new();
        assert_eq!(kind("/dev/null", &none), Kind::File("/dev/null".into()));
        assert_eq!(kind("pipe:[12]", &none), Kind::Pipe);
        assert_eq!(kind("socket:[12]", &none), Kind::Socket(None));
        assert_eq!(
            kind("anon_inode:[eventpoll]", &none),
            Kind::Other("eventpoll".into())
        );
    }
}
