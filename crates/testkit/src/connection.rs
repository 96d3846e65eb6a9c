//! A TCP connection with a read buffer: the bytes under both [`Client`](crate::Client) and
//! [`Origin`](crate::Origin).

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use socket2::SockRef;

use crate::message::{Body, Framing, Head, parse_field};

/// A head beyond this is taken for a runaway.
const HEAD_MAX: usize = 1 << 20;

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The other side closed, or reset, at this point.
    Closed,
    TimedOut,
    Malformed(String),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Closed,
        }
    }
}

/// A connection, read through a buffer and written directly. Every read and write is bounded in time.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    held: Vec<u8>,
    /// How much of `held` has been consumed.
    at: usize,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, wait: Duration) -> Self {
        // Errors of these three show at the next read or write.
        drop(stream.set_nodelay(true));
        let connection = Self {
            stream,
            held: Vec::new(),
            at: 0,
        };
        connection.set_wait(wait);
        connection
    }

    /// How long a single read or write may wait from now on.
    pub fn set_wait(&self, wait: Duration) {
        drop(self.stream.set_read_timeout(Some(wait)));
        drop(self.stream.set_write_timeout(Some(wait)));
    }

    /// The socket beneath.
    #[must_use]
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Ends our direction; the other side reads to its end.
    pub fn finish(&self) {
        drop(self.stream.shutdown(Shutdown::Write));
    }

    /// Closes at once with a TCP reset.
    pub fn reset(&self) {
        drop(SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)));
    }

    /// Sends all of it, however slowly the other side reads.
    ///
    /// # Errors
    /// When the other side is gone, or reads nothing for the whole wait.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends everything that `source` gives.
    pub(crate) fn send_from(&mut self, source: &mut impl Read) -> io::Result<u64> {
        let mut buf = vec![0; 64 << 10];
        let mut sent = 0;
        loop {
            let len = source.read(&mut buf)?;
            let Some(piece) = buf.get(..len).filter(|piece| !piece.is_empty()) else {
                return Ok(sent);
            };
            self.stream.write_all(piece)?;
            sent += len as u64;
        }
    }

    /// What has been read but not yet consumed.
    pub(crate) fn buffered(&self) -> &[u8] {
        self.held.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn consume(&mut self, len: usize) {
        self.at += len;
        if self.at >= self.held.len() {
            self.held.clear();
            self.at = 0;
        }
    }

    /// Reads once more into the buffer; `Closed` at the end.
    pub(crate) fn fill(&mut self) -> Result<(), Stopped> {
        let mut buf = [0; 64 << 10];
        let len = loop {
            match self.stream.read(&mut buf) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.held.drain(..self.at);
        self.at = 0;
        self.held.extend(buf.iter().take(len));
        if len == 0 {
            Err(Stopped::Closed)
        } else {
            Ok(())
        }
    }

    /// Reads a head, whole.
    pub(crate) fn read_head(&mut self) -> Result<Head, Stopped> {
        let mut seen = 0;
        loop {
            let found = self
                .buffered()
                .windows(4)
                .skip(seen)
                .position(|end| end == b"\r\n\r\n");
            if let Some(place) = found {
                let len = seen + place + 4;
                let head = Head::parse(self.buffered().get(..len).unwrap_or_default());
                self.consume(len);
                return head.map_err(Stopped::Malformed);
            }
            seen = self.buffered().len().saturating_sub(3);
            if seen > HEAD_MAX {
                return Err(Stopped::Malformed(format!(
                    "no end of head within {HEAD_MAX} bytes"
                )));
            }
            self.fill()?;
        }
    }

    /// Reads a body into `body`; what came before an error stays in it.
    pub(crate) fn read_body(
        &mut self,
        framing: Framing,
        keep: usize,
        body: &mut Body,
    ) -> Result<(), Stopped> {
        match framing {
            Framing::None => Ok(()),
            Framing::Length(len) => self.read_content(len, keep, body),
            Framing::Chunked => self.read_chunks(keep, body),
            Framing::UntilClose => match self.read_content(u64::MAX, keep, body) {
                Err(Stopped::Closed) => Ok(()),
                other => other,
            },
        }
    }

    fn read_content(&mut self, mut left: u64, keep: usize, body: &mut Body) -> Result<(), Stopped> {
        while left > 0 {
            if self.buffered().is_empty() {
                self.fill()?;
            }
            let take = usize::try_from(left)
                .unwrap_or(usize::MAX)
                .min(self.buffered().len());
            body.take(self.buffered().get(..take).unwrap_or_default(), keep);
            self.consume(take);
            left -= take as u64;
        }
        Ok(())
    }

    fn read_chunks(&mut self, keep: usize, body: &mut Body) -> Result<(), Stopped> {
        loop {
            let line = self.read_line()?;
            let digits = line.split(';').next().unwrap_or_default().trim_end();
            let size = u64::from_str_radix(digits, 16)
                .ok()
                .filter(|_| !digits.starts_with('+'));
            let size =
                size.ok_or_else(|| Stopped::Malformed(format!("chunk size line {line:?}")))?;
            if size == 0 {
                break;
            }
            self.read_content(size, keep, body)?;
            body.chunks += 1;
            let end = self.read_line()?;
            if !end.is_empty() {
                return Err(Stopped::Malformed(format!(
                    "{end:?} after a chunk of {size} bytes"
                )));
            }
        }
        loop {
            let line = self.read_line()?;
            if line.is_empty() {
                return Ok(());
            }
            let field = parse_field(&line)
                .ok_or_else(|| Stopped::Malformed(format!("trailer {line:?}")))?;
            body.trailers.push(field);
        }
    }

    /// Reads a line that must end with CR LF, and gives it without them.
    fn read_line(&mut self) -> Result<String, Stopped> {
        loop {
            if let Some(len) = self.buffered().iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(self.buffered().get(..len).unwrap_or_default())
                    .into_owned();
                self.consume(len + 1);
                let line = line.strip_suffix('\r').map(str::to_owned);
                return line.ok_or_else(|| {
                    Stopped::Malformed("a line that ends with LF alone".to_owned())
                });
            }
            if self.buffered().len() > HEAD_MAX {
                return Err(Stopped::Malformed("a line without end".to_owned()));
            }
            self.fill()?;
        }
    }
}

impl Read for Connection {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.buffered().is_empty() {
            return self.stream.read(buf);
        }
        let len = self.buffered().read(buf)?;
        self.consume(len);
        Ok(len)
    }
}

impl Write for Connection {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.stream.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
