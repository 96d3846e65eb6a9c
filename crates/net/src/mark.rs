//! Marks the packets of a connection: by their TOS byte for the network, and by a netfilter mark for
//! the kernel's own rules.

use std::io;
use std::net::IpAddr;

use socket2::SockRef;

/// What packets carry; `None` is left as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// TOS (RFC 2474), of IPv6 the traffic class.
    pub tos: Option<u8>,
    /// Netfilter mark; needs `CAP_NET_ADMIN`.
    pub mark: Option<u32>,
}

impl Marks {
    /// Marks all packets that the socket sends from now on, toward an address of this family.
    ///
    /// # Errors
    /// The last of those that the system refused; the others are set.
    pub(crate) fn set_on(self, socket: &SockRef<'_>, peer: IpAddr) -> io::Result<()> {
        let mut outcome = Ok(());
        if let Some(tos) = self.tos {
            outcome = match peer.to_canonical() {
                IpAddr::V4(_) => socket.set_tos_v4(tos.into()),
                IpAddr::V6(_) => socket.set_tclass_v6(tos.into()),
            };
        }
        if let Some(mark) = self.mark {
            outcome = socket.set_mark(mark).and(outcome);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dial::{DialOptions, connect};
    use crate::testing::{loopback, on_worker};

    /// The byte that a connection to `listen` is made with, and the one that it is given then.
    fn tos_of_connection(listen: &str, first: Marks, then: Marks) -> (u32, u32) {
        on_worker(async {
            let listener = tokio::net::TcpListener::bind(listen).await.unwrap();
            let options = DialOptions {
                marks: first,
                ..DialOptions::default()
            };
            let addr = listener.local_addr().unwrap();
            let dialed = connect(&[addr], &options, &std::sync::Arc::default()).await;
            let stream = dialed.unwrap().stream;
            let before = tos(&stream);
            stream.set_marks(then).unwrap();
            (before, tos(&stream))
        })
    }

    fn tos(stream: &crate::stream::Stream) -> u32 {
        let socket = stream.socket();
        if stream.peer_addr().is_ipv4() {
            socket.tos_v4().unwrap()
        } else {
            socket.tclass_v6().unwrap()
        }
    }

    fn marked(tos: u8) -> Marks {
        Marks {
            tos: Some(tos),
            mark: None,
        }
    }

    #[test]
    fn a_connection_carries_its_byte_from_the_start_until_it_is_changed() {
        let v4 = loopback().to_string();
        assert_eq!(tos_of_connection(&v4, marked(0x20), marked(0)), (0x20, 0));
        assert_eq!(
            tos_of_connection(&v4, Marks::default(), marked(0xb8)),
            (0, 0xb8)
        );
        assert_eq!(
            tos_of_connection(&v4, marked(0x20), Marks::default()),
            (0x20, 0x20)
        );
        assert_eq!(
            tos_of_connection("[::1]:0", marked(0x20), marked(0x48)),
            (0x20, 0x48)
        );
    }

    #[test]
    fn a_mark_is_set_or_refused_as_a_whole() {
        let socket = std::net::UdpSocket::bind(loopback()).unwrap();
        let socket = SockRef::from(&socket);
        let marks = Marks {
            tos: Some(0x20),
            mark: Some(7),
        };
        let outcome = marks.set_on(&socket, loopback().ip());
        let expected = if outcome.is_ok() { 7 } else { 0 };
        assert_eq!(socket.mark().unwrap(), expected, "{outcome:?}");
        assert_eq!(socket.tos_v4().unwrap(), 0x20, "the byte needs no rights");
    }
}
