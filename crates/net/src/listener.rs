//! Listening sockets: how they are bound. They are plain `std` sockets, so that they can be owned
//! by the program and handed to another process; [`accept`] takes connections from them.

pub mod accept;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use rustix::io::Errno;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

/// The kernel lowers this to its own limit (`net.core.somaxconn`).
const BACKLOG_MAX: i32 = 65_535;

/// The kernel's own limit (`net.core.rmem_max`) is lower.
const RECEIVE_BYTES_MAX: usize = 1 << 30;

/// How a listening socket is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BindOptions {
    /// Takes connections to any address (`tproxy`); needs `CAP_NET_ADMIN`.
    pub transparent: bool,
    /// TCP keep-alive of accepted connections: first probe after, then every, at most so many.
    pub keepalive: Option<(Duration, Duration, u32)>,
    /// Receive buffer of accepted connections in bytes (`tcp_recv_bufsize`); the kernel doubles it
    /// for its own use, and stops growing it with need. `None` leaves it to the kernel.
    pub receive_bytes: Option<usize>,
}

/// Binds `count` sockets to one address and listens: one for each worker. That nobody else listens
/// there is made sure first: sockets that share an address would share it with another process of
/// the same user as well. Accepted connections inherit `TCP_NODELAY`, the keep-alive and the
/// receive buffer. `[::]` takes IPv4 too, and falls back to `0.0.0.0` where there is no IPv6.
///
/// # Errors
/// Whatever the kernel answers, such as `AddrInUse`.
pub fn bind_group(
    addr: SocketAddr,
    count: usize,
    options: &BindOptions,
) -> io::Result<Vec<TcpListener>> {
    let alone = bind(addr, Sharing::Alone, options)?;
    let addr = alone.local_addr()?;
    drop(alone);
    bind_more(addr, count, options)
}

/// Binds `count` sockets more to an address that we listen at already, or to one that overlaps with
/// such a one.
///
/// # Errors
/// As [`bind_group`].
pub fn bind_more(
    addr: SocketAddr,
    count: usize,
    options: &BindOptions,
) -> io::Result<Vec<TcpListener>> {
    (0..count)
        .map(|_| bind(addr, Sharing::Shared, options))
        .collect()
}

/// Gives a listening socket other options; connections accepted from now on have them. A receive
/// buffer that was set can't be unset.
///
/// # Errors
/// Whatever the kernel answers.
pub fn set_options(listener: &TcpListener, options: &BindOptions) -> io::Result<()> {
    set_accepted(&SockRef::from(listener), options)
}

/// May several sockets listen at the address?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Alone,
    Shared,
}

fn bind(addr: SocketAddr, sharing: Sharing, options: &BindOptions) -> io::Result<TcpListener> {
    match bind_one(addr, sharing, options) {
        Err(error) if addr.is_ipv6() && addr.ip().is_unspecified() && lacks_ipv6(&error) => {
            bind_one(
                (Ipv4Addr::UNSPECIFIED, addr.port()).into(),
                sharing,
                options,
            )
        }
        other => other,
    }
}

fn bind_one(addr: SocketAddr, sharing: Sharing, options: &BindOptions) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(addr),
        Type::STREAM.nonblocking(),
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    if sharing == Sharing::Shared {
        socket.set_reuse_port(true)?;
    }
    if addr.is_ipv6() {
        socket.set_only_v6(!addr.ip().is_unspecified())?;
    }
    if options.transparent {
        if addr.is_ipv6() {
            socket.set_ip_transparent_v6(true)?;
        } else {
            socket.set_ip_transparent_v4(true)?;
        }
    }
    // Set once here: the kernel copies it to every accepted socket.
    socket.set_tcp_nodelay(true)?;
    set_accepted(&SockRef::from(&socket), options)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG_MAX)?;
    Ok(socket.into())
}

/// What accepted sockets inherit, and may change while the socket listens.
fn set_accepted(socket: &SockRef<'_>, options: &BindOptions) -> io::Result<()> {
    match options.keepalive {
        Some((idle, interval, probes)) => {
            let keepalive = TcpKeepalive::new()
                .with_time(idle)
                .with_interval(interval)
                .with_retries(probes);
            socket.set_tcp_keepalive(&keepalive)?;
        }
        None => socket.set_keepalive(false)?,
    }
    if let Some(bytes) = options.receive_bytes {
        socket.set_recv_buffer_size(bytes.min(RECEIVE_BYTES_MAX))?;
    }
    Ok(())
}

fn lacks_ipv6(error: &io::Error) -> bool {
    [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL, Errno::NOPROTOOPT]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv6Addr, TcpStream};

    fn loopback() -> SocketAddr {
        (Ipv4Addr::LOCALHOST, 0).into()
    }

    #[test]
    fn a_group_shares_one_port() {
        let group = bind_group(loopback(), 3, &BindOptions::default()).unwrap();
        let addrs: Vec<_> = group.iter().map(|one| one.local_addr().unwrap()).collect();
        assert!(
            addrs
                .iter()
                .all(|addr| *addr == addrs[0] && addr.port() != 0)
        );
    }

    #[test]
    fn a_port_that_is_taken_is_an_error_even_for_a_group() {
        let group = bind_group(loopback(), 2, &BindOptions::default()).unwrap();
        let taken = group[0].local_addr().unwrap();
        for count in [1, 2] {
            let error = bind_group(taken, count, &BindOptions::default()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        }
    }

    #[test]
    fn a_group_may_grow_and_its_options_may_change() {
        let group = bind_group(loopback(), 1, &BindOptions::default()).unwrap();
        let addr = group[0].local_addr().unwrap();
        let more = bind_more(addr, 2, &BindOptions::default()).unwrap();
        assert!(more.iter().all(|one| one.local_addr().unwrap() == addr));
        let second = Duration::from_secs(1);
        let keepalive = Some((second, second, 3));
        let options = BindOptions {
            keepalive,
            ..BindOptions::default()
        };
        set_options(&group[0], &options).unwrap();
        assert!(SockRef::from(&group[0]).keepalive().unwrap());
        set_options(&group[0], &BindOptions::default()).unwrap();
        assert!(!SockRef::from(&group[0]).keepalive().unwrap());
    }

    #[test]
    fn any_address_takes_ipv4_with_or_without_ipv6() {
        let any = (Ipv6Addr::UNSPECIFIED, 0).into();
        let any = bind_group(any, 1, &BindOptions::default())
            .unwrap()
            .remove(0);
        let port = any.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    }

    #[test]
    fn accepted_connections_inherit_nodelay_and_the_receive_buffer() {
        let options = BindOptions {
            receive_bytes: Some(20 << 10),
            ..BindOptions::default()
        };
        let listener = bind_group(loopback(), 1, &options).unwrap().remove(0);
        listener.set_nonblocking(false).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert!(accepted.nodelay().unwrap());
        let accepted = SockRef::from(&accepted);
        assert_eq!(accepted.recv_buffer_size().unwrap(), 40 << 10);
    }
}
