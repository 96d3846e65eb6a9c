//! The load: robots, each with a connection; as many are busy as the finder wants.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use testkit::Pattern;

use super::mix::{How, Mix, Object, Want, requests_of};

/// One answer in so many is compared byte by byte, if it isn't larger than that.
const LOOKED_AT: u64 = 16;
const LOOKED_AT_BYTES_MAX: u64 = 64 << 10;
/// How long the server may be silent.
const SILENCE: Duration = Duration::from_secs(30);
/// A look at the clock at least so often.
const GLANCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
const HEAD_BYTES_MAX: usize = 16 << 10;

/// All robots.
#[derive(Debug)]
pub(crate) struct Robots {
    port: u16,
    poll: OwnedFd,
    mix: Mix,
    robots: Vec<Robot>,
    idle: Vec<usize>,
    connections: u64,
    answers: u64,
    heard: Instant,
}

/// What came of a while.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) answers: u64,
    /// Bytes of content.
    pub(crate) bytes: u64,
    /// Microseconds of all answers together.
    pub(crate) micros: u64,
}

#[derive(Debug)]
struct Robot {
    stream: Option<TcpStream>,
    /// Requests that its connection has left.
    requests: u32,
    begun: Instant,
    object: Object,
    how: How,
    answer: Answer,
}

/// How far an answer has come.
#[derive(Debug)]
enum Answer {
    Head(Vec<u8>),
    Content { left: u64, kept: Option<Vec<u8>> },
}

/// What a read has come to.
enum Got {
    More,
    Whole,
}

impl Robots {
    pub(crate) fn new(port: u16, mix: Mix) -> Result<Self> {
        Ok(Self {
            port,
            poll: epoll::create(CreateFlags::CLOEXEC)?,
            mix,
            robots: Vec::new(),
            idle: Vec::new(),
            connections: 0,
            answers: 0,
            heard: Instant::now(),
        })
    }

    /// Keeps `wanted` robots busy until then.
    pub(crate) fn work(&mut self, wanted: usize, until: Instant) -> Result<Seen> {
        let mut seen = Seen::default();
        let mut events: Vec<Event> = Vec::with_capacity(512);
        self.heard = Instant::now();
        while Instant::now() < until {
            while self.busy() < wanted {
                let place = self.idle.pop().unwrap_or_else(|| {
                    self.robots.push(Robot::new());
                    self.robots.len() - 1
                });
                self.ask(place)?;
            }
            events.clear();
            epoll::wait(&self.poll, spare_capacity(&mut events), Some(&GLANCE))?;
            if !events.is_empty() {
                self.heard = Instant::now();
            }
            ensure!(self.heard.elapsed() < SILENCE, "the server is silent");
            for event in &events {
                let place = usize::try_from(event.data.u64())?;
                self.listen(place, wanted, &mut seen)?;
            }
        }
        Ok(seen)
    }

    fn busy(&self) -> usize {
        self.robots.len() - self.idle.len()
    }

    fn ask(&mut self, place: usize) -> Result<()> {
        let Some(robot) = self.robots.get_mut(place) else {
            return Ok(());
        };
        if robot.stream.is_none() {
            let stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)))?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            epoll::add(
                &self.poll,
                &stream,
                EventData::new_u64(place as u64),
                EventFlags::IN,
            )?;
            robot.stream = Some(stream);
            self.connections += 1;
            robot.requests = requests_of(self.connections);
        }
        robot.ask(self.mix.next())
    }

    fn listen(&mut self, place: usize, wanted: usize, seen: &mut Seen) -> Result<()> {
        let compare = self.answers.is_multiple_of(LOOKED_AT);
        let Some(robot) = self.robots.get_mut(place) else {
            return Ok(());
        };
        let path = robot.object.path();
        match robot.listen(compare).with_context(|| path)? {
            Got::More => return Ok(()),
            Got::Whole => {}
        }
        self.answers += 1;
        seen.answers += 1;
        seen.bytes += robot.object.size;
        seen.micros += u64::try_from(robot.begun.elapsed().as_micros())?;
        if robot.requests == 0 {
            // Closing takes it out of the poll.
            robot.stream = None;
        }
        if self.busy() > wanted {
            self.idle.push(place);
            return Ok(());
        }
        self.ask(place)
    }
}

impl Robot {
    fn new() -> Self {
        Self {
            stream: None,
            requests: 0,
            begun: Instant::now(),
            object: Object::of(0),
            how: How::Plain,
            answer: Answer::Head(Vec::new()),
        }
    }

    fn ask(&mut self, want: Want) -> Result<()> {
        self.object = Object::of(want.number);
        self.how = want.how;
        self.answer = Answer::Head(Vec::new());
        self.begun = Instant::now();
        self.requests = self.requests.saturating_sub(1);
        let field = match want.how {
            How::Plain => "",
            How::SinceLong => "If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT\r\n",
            How::SinceThen => "If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT\r\n",
            How::Reload => "Cache-Control: no-cache\r\n",
        };
        let path = self.object.path();
        let request = format!("GET {path} HTTP/1.1\r\nHost: www.bench.test\r\n{field}\r\n");
        let stream = self.stream.as_mut().context("no connection")?;
        // A socket takes a short request whole when nothing else is under way.
        Ok(stream.write_all(request.as_bytes())?)
    }

    /// Reads what has come. The answer must be a 200 with all content, or a 304 where that was asked for.
    fn listen(&mut self, compare: bool) -> Result<Got> {
        let mut buf = [0; 64 << 10];
        let stream = self.stream.as_mut().context("no connection")?;
        let len = match stream.read(&mut buf) {
            Ok(0) => bail!("the server closed"),
            Ok(len) => len,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Got::More),
            Err(error) => return Err(error.into()),
        };
        let mut new = buf.get(..len).unwrap_or_default();
        let joined;
        if let Answer::Head(head) = &mut self.answer {
            head.extend_from_slice(new);
            let Some(end) = memmem::find(head, b"\r\n\r\n") else {
                ensure!(head.len() < HEAD_BYTES_MAX, "its head has no end");
                return Ok(Got::More);
            };
            joined = std::mem::take(head);
            let (head, rest) = joined.split_at(end + 4);
            let status = head.get(9..12).unwrap_or_default();
            new = rest;
            let size = match status {
                b"304" if self.how == How::SinceThen => 0,
                b"200" => self.object.size,
                _ => bail!("{}", String::from_utf8_lossy(head)),
            };
            let compared = compare && size > 0 && size <= LOOKED_AT_BYTES_MAX;
            self.answer = Answer::Content {
                left: size,
                kept: compared.then(Vec::new),
            };
        }
        let Answer::Content { left, kept } = &mut self.answer else {
            return Ok(Got::More);
        };
        let more = new.len() as u64;
        ensure!(more <= *left, "{} bytes too many", more - *left);
        *left -= more;
        if let Some(kept) = kept {
            kept.extend_from_slice(new);
        }
        if *left > 0 {
            return Ok(Got::More);
        }
        if let Some(kept) = kept {
            let right = Pattern::new(&self.object.path(), self.object.size).hash();
            ensure!(testkit::hash(kept) == right, "wrong content");
        }
        Ok(Got::Whole)
    }
}
