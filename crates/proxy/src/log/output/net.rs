//! Logs that go over the network: a datagram for each line, or a connection.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::time::Duration;

use config::LogAddr;

use super::pour::{Backoff, MayWait, Outcome, from_whole_line, is_writable, pause, pour};

/// How long a try to connect may take.
const CONNECT_WAIT: Duration = Duration::from_secs(3);
/// A collector that takes nothing for so long is taken for dead, and connected to anew.
const STALL_WAIT: Duration = Duration::from_secs(30);
/// Bytes written at a time.
const PIECE_BYTES: usize = 256 << 10;

/// A datagram for each line, its end included.
#[derive(Debug)]
pub(crate) struct UdpLog {
    addr: LogAddr,
    socket: Option<UdpSocket>,
}

impl UdpLog {
    pub(super) const fn new(addr: LogAddr) -> Self {
        Self { addr, socket: None }
    }

    pub(super) fn write(&mut self, lines: &[u8], may_wait: MayWait<'_>) -> Outcome {
        let mut lost = Outcome::DONE;
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            if let Err(error) = self.send(line, may_wait) {
                lost.lost += 1;
                lost.error = Some(error);
            }
        }
        lost
    }

    /// Sends a line. Nobody there is known from the one before: that one was lost, this one gets its try.
    fn send(&mut self, line: &[u8], may_wait: MayWait<'_>) -> io::Result<()> {
        let socket = match &mut self.socket {
            Some(socket) => socket,
            none => none.insert(bound(&self.addr)?),
        };
        match send_waiting(socket, line, may_wait) {
            Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => {
                match send_waiting(socket, line, may_wait) {
                    Ok(()) => Err(refused),
                    failed => failed,
                }
            }
            sent => sent,
        }
    }
}

fn bound(addr: &LogAddr) -> io::Result<UdpSocket> {
    let to = resolve(addr)?.next().ok_or(io::ErrorKind::NotFound)?;
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(to)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn send_waiting(socket: &UdpSocket, line: &[u8], may_wait: MayWait<'_>) -> io::Result<()> {
    loop {
        match socket.send(line) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // Datagrams leave as fast as the network takes them: a long wait would be for nothing.
                if !is_writable(socket)? || !may_wait() {
                    return Err(error);
                }
            }
            sent => return sent.map(drop),
        }
    }
}

/// A connection, made anew when it breaks. Lines wait meanwhile.
#[derive(Debug)]
pub(crate) struct TcpLog {
    addr: LogAddr,
    stream: Option<TcpStream>,
    backoff: Backoff,
    /// The log ends, and the collector took nothing to the last: it isn't tried again.
    given_up: bool,
}

impl TcpLog {
    pub(super) const fn new(addr: LogAddr) -> Self {
        Self {
            addr,
            stream: None,
            backoff: Backoff::new(),
            given_up: false,
        }
    }

    pub(super) fn write(&mut self, lines: &[u8], may_wait: MayWait<'_>) -> Outcome {
        let mut rest = lines;
        if self.given_up {
            return Outcome::lost(rest, io::ErrorKind::TimedOut.into());
        }
        loop {
            let failed = match self.connected() {
                Ok(stream) => {
                    let (sent, outcome) = pour(stream, rest, PIECE_BYTES, STALL_WAIT, may_wait);
                    if sent > 0 {
                        self.backoff = Backoff::new();
                    }
                    let Err(error) = outcome else {
                        return Outcome::DONE;
                    };
                    rest = from_whole_line(rest, sent);
                    error
                }
                Err(error) => error,
            };
            self.stream = None;
            if !pause(self.backoff.step(), may_wait) {
                self.given_up = true;
                return Outcome::lost(rest, failed);
            }
        }
    }

    fn connected(&mut self) -> io::Result<&mut TcpStream> {
        // What a collector says is of no interest, but that it has gone is: lines written to a connection that is
        // closed are lost, and nobody is told.
        if self.stream.as_ref().is_some_and(is_closed) {
            self.stream = None;
        }
        Ok(match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(connect(&self.addr)?),
        })
    }
}

fn is_closed(stream: &TcpStream) -> bool {
    match io::Read::read(&mut &*stream, &mut [0; 512]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

fn connect(addr: &LogAddr) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for to in resolve(addr)? {
        match TcpStream::connect_timeout(&to, CONNECT_WAIT) {
            Ok(stream) => {
                stream.set_nonblocking(true)?;
                return Ok(stream);
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn resolve(addr: &LogAddr) -> io::Result<impl Iterator<Item = SocketAddr>> {
    (&*addr.host, addr.port).to_socket_addrs()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::net::TcpListener;

    use super::*;

    fn addr(of: SocketAddr) -> LogAddr {
        LogAddr {
            host: of.ip().to_string(),
            port: of.port(),
        }
    }

    #[test]
    fn each_line_is_a_datagram() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut log = UdpLog::new(addr(receiver.local_addr().unwrap()));
        assert_eq!(log.write(b"one\ntwo\n", &mut || true).lost, 0);
        for expected in ["one\n", "two\n"] {
            let mut got = [0; 100];
            let length = receiver.recv(&mut got).unwrap();
            assert_eq!(&got[..length], expected.as_bytes());
        }
    }

    #[test]
    fn a_datagram_for_nobody_is_a_lost_line() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut log = UdpLog::new(addr(receiver.local_addr().unwrap()));
        drop(receiver);
        let lost: u64 = (0..3).map(|_| log.write(b"x\n", &mut || true).lost).sum();
        assert!(lost > 0);
    }

    #[test]
    fn a_connection_that_breaks_is_made_anew_and_no_whole_line_is_torn() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut log = TcpLog::new(addr(listener.local_addr().unwrap()));
        assert_eq!(log.write(b"one\n", &mut || true).lost, 0);
        let (mut first, _) = listener.accept().unwrap();
        let mut got = [0; 4];
        first.read_exact(&mut got).unwrap();
        drop(first);
        assert_eq!(log.write(b"two\n", &mut || true).lost, 0);
        let (second, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(second).read_line(&mut line).unwrap();
        assert_eq!((&got, &*line), (b"one\n", "two\n"));
    }

    #[test]
    fn lines_wait_for_a_collector_that_is_not_there_yet() {
        let place = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = place.local_addr().unwrap();
        drop(place);
        let mut log = TcpLog::new(addr(to));
        let mut listener = None;
        let mut comes_back = || {
            listener.get_or_insert_with(|| TcpListener::bind(to).unwrap());
            true
        };
        assert_eq!(log.write(b"late\n", &mut comes_back).lost, 0);
        let (stream, _) = listener.unwrap().accept().unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert_eq!(line, "late\n");
    }

    #[test]
    fn a_collector_that_stalls_is_left_when_it_must_be() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut log = TcpLog::new(addr(listener.local_addr().unwrap()));
        let lines = vec![b'\n'; 64 << 20];
        let outcome = log.write(&lines, &mut || false);
        assert!(outcome.lost > 0 && outcome.error.is_some());
    }
}
