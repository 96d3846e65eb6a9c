//! One request over a connection of its own, to the end of what comes back. `squall top` asks in the same way.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// Bytes read at a time.
const PIECE_BYTES: usize = 64 * 1024;

/// Whom to ask, and how long to wait for each step.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Where to connect from.
    pub(crate) local: Option<IpAddr>,
    /// Longest wait for a connection, and for something to happen on it.
    pub(crate) patience: Duration,
}

/// What came back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// 200 where there is no status line, as in HTTP/0.9.
    pub(crate) status: u16,
    /// Bytes of head and content.
    pub(crate) bytes: u64,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The name has no address.
    #[error("Cannot resolve {host}: {error}")]
    Name {
        /// The name.
        host: String,
        /// What the system says.
        error: io::Error,
    },
    /// None of the addresses could be connected to.
    #[error("Cannot connect to {addr}: {error}")]
    Connect {
        /// The last one.
        addr: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// It was connected, but did not answer to the end.
    #[error("no whole answer: {0}")]
    Answer(#[source] io::Error),
    /// What came back can't be shown.
    #[error("cannot write what came back: {0}")]
    Show(#[source] io::Error),
}

impl Broken {
    /// See the table of `client_command`.
    pub(super) const fn exit_status(&self) -> u8 {
        match self {
            Self::Name { .. } | Self::Connect { .. } => 2,
            Self::Answer(_) => 4,
            Self::Show(_) => super::MISUSE,
        }
    }
}

impl Wait {
    /// Sends the request and shows what comes back as it comes.
    pub(crate) fn exchange(
        &self,
        request: &[u8],
        mut show: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Exchange, Broken> {
        let mut stream = self.connect()?;
        let sent = self.send(&mut stream, request);
        let (mut head, mut bytes) = (Vec::new(), 0);
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => piece.get(..read).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Broken::Answer(in_words(error))),
            };
            let wanted = STATUS_LINE.saturating_sub(head.len());
            head.extend(read.iter().take(wanted));
            bytes += read.len() as u64;
            match show(read) {
                // Whoever reads it may have read enough.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
                shown => shown.map_err(Broken::Show)?,
            }
        }
        // Who refuses a request early may leave the rest of it unread.
        if bytes == 0 {
            sent.map_err(Broken::Answer)?;
            return Err(Broken::Answer(ErrorKind::UnexpectedEof.into()));
        }
        let status = status(&head).unwrap_or(200);
        Ok(Exchange { status, bytes })
    }

    fn connect(&self) -> Result<TcpStream, Broken> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let addrs = found.map_err(|error| Broken::Name {
            host: self.host.clone(),
            error,
        })?;
        let mut last = Broken::Name {
            host: self.host.clone(),
            error: ErrorKind::NotFound.into(),
        };
        for addr in addrs {
            match self.connect_to(addr) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = Broken::Connect { addr, error },
            }
        }
        Err(last)
    }

    fn connect_to(&self, addr: SocketAddr) -> io::Result<TcpStream> {
        let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
        if let Some(local) = self.local {
            socket.bind(&SocketAddr::new(local, 0).into())?;
        }
        if self.patience.is_zero() {
            socket.connect(&addr.into())?;
            return Ok(socket.into());
        }
        socket.connect_timeout(&addr.into(), self.patience)?;
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(self.patience))?;
        stream.set_write_timeout(Some(self.patience))?;
        Ok(stream)
    }

    fn send(&self, stream: &mut TcpStream, request: &[u8]) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.write_all(request)
    }
}

/// `HTTP/1.1 200`
const STATUS_LINE: usize = 12;

fn status(head: &[u8]) -> Option<u16> {
    let text = str::from_utf8(head).ok()?;
    let (version, code) = text.split_once(' ')?;
    version.starts_with("HTTP/").then(|| code.parse().ok())?
}

/// A wait that ended is told as what it is.
fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_found_where_there_is_one() {
        assert_eq!(status(b"HTTP/1.1 403"), Some(403));
        assert_eq!(status(b"HTTP/1.1 4"), Some(4));
        assert_eq!(status(b"<html>"), None);
        assert_eq!(status(b"hello 200"), None);
    }
}
