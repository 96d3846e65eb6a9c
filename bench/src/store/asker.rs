//! The load: a list of objects, asked for once each over some connections, every answer looked at.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use testkit::Pattern;

use super::mix;

/// One answer in so many is compared byte by byte.
const LOOKED_AT: usize = 16;
/// How long a server may be silent.
const SILENCE: Timespec = Timespec {
    tv_sec: 30,
    tv_nsec: 0,
};

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) answers: usize,
    /// Bytes of content.
    pub(crate) bytes: u64,
    pub(crate) took: Duration,
    /// Microseconds of each, in order of size.
    micros: Vec<u32>,
}

impl Asked {
    /// Microseconds that so many hundredths of the answers did not exceed.
    pub(crate) fn percentile(&self, hundredths: usize) -> u32 {
        let place = self.micros.len() * hundredths / 100;
        let last = self.micros.len().saturating_sub(1);
        self.micros.get(place.min(last)).copied().unwrap_or(0)
    }
}

struct Connection {
    stream: TcpStream,
    buf: Vec<u8>,
    held: usize,
    number: u32,
    begun: Instant,
}

/// Asks 127.0.0.1:`port` for these objects, or for as many of them as it answers within `most`.
pub(crate) fn ask(port: u16, numbers: &[u32], connections: usize, most: Duration) -> Result<Asked> {
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    let begun = Instant::now();
    let mut left = numbers.iter().copied();
    let mut asked = Asked::default();
    let mut open = Vec::new();
    for number in left.by_ref().take(connections) {
        let mut connection = Connection::open(port, number)?;
        connection.send()?;
        let place = EventData::new_u64(open.len() as u64);
        epoll::add(&poll, &connection.stream, place, EventFlags::IN)?;
        open.push(connection);
    }
    let mut busy = open.len();
    let mut events: Vec<Event> = Vec::with_capacity(connections.max(1));
    while busy > 0 {
        events.clear();
        epoll::wait(&poll, spare_capacity(&mut events), Some(&SILENCE))?;
        ensure!(!events.is_empty(), "the server is silent");
        for event in &events {
            let place = usize::try_from(event.data.u64())?;
            let Some(connection) = open.get_mut(place) else {
                continue;
            };
            let compare = asked.answers.is_multiple_of(LOOKED_AT);
            let size = mix::size(connection.number);
            let whole = connection.receive(size, compare);
            if !whole.with_context(|| mix::path(connection.number))? {
                continue;
            }
            asked.answers += 1;
            asked.bytes += size;
            let micros = connection.begun.elapsed().as_micros();
            asked.micros.push(u32::try_from(micros)?);
            match left.next().filter(|_| begun.elapsed() < most) {
                Some(number) => {
                    connection.number = number;
                    connection.send()?;
                }
                None => {
                    epoll::delete(&poll, &connection.stream)?;
                    busy -= 1;
                }
            }
        }
    }
    asked.took = begun.elapsed();
    asked.micros.sort_unstable();
    Ok(asked)
}

impl Connection {
    fn open(port: u16, number: u32) -> Result<Self> {
        let stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            buf: vec![0; 64 << 10],
            held: 0,
            number,
            begun: Instant::now(),
        })
    }

    fn send(&mut self) -> Result<()> {
        let path = mix::path(self.number);
        let request = format!("GET {path} HTTP/1.1\r\nHost: www.bench.test\r\n\r\n");
        self.held = 0;
        self.begun = Instant::now();
        // A socket takes a short request whole when nothing else is under way.
        self.stream.write_all(request.as_bytes())?;
        Ok(())
    }

    /// Reads what has come. Is the answer whole? It must be a 200 with that much content.
    fn receive(&mut self, size: u64, compare: bool) -> Result<bool> {
        let room = self.buf.get_mut(self.held..).unwrap_or_default();
        match self.stream.read(room) {
            Ok(0) => bail!("the server closed"),
            Ok(len) => self.held += len,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let got = self.buf.get(..self.held).unwrap_or_default();
        let Some(end) = memmem::find(got, b"\r\n\r\n") else {
            return Ok(false);
        };
        let (head, content) = got.split_at(end + 4);
        let told = || String::from_utf8_lossy(head);
        ensure!(head.starts_with(b"HTTP/1.1 200 "), "{}", told());
        let len = content.len() as u64;
        ensure!(len <= size, "{len} bytes of content:\n{}", told());
        if len < size {
            return Ok(false);
        }
        if compare {
            let right = Pattern::new(&mix::path(self.number), size).hash();
            ensure!(
                testkit::hash(content) == right,
                "wrong content:\n{}",
                told()
            );
        }
        Ok(true)
    }
}
