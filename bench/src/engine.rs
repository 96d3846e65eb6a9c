//! A minimal HTTP server: one thread, edge-triggered epoll, one read and one write per request. It knows no more of
//! HTTP than that a blank line ends a request.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::Result;
use memchr::memmem::Finder;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{Errno, read, write};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
    sockopt::set_socket_reuseaddr,
};

/// What to do about a request.
pub(crate) struct Answer {
    pub(crate) bytes: Cow<'static, [u8]>,
    pub(crate) close: bool,
    /// How long it is held back.
    pub(crate) after: Duration,
}

struct Connection {
    fd: OwnedFd,
    /// Never used again.
    id: u64,
    /// An answer that is held back.
    held: Option<Answer>,
    /// A request that hasn't come whole.
    partial: Vec<u8>,
    /// An answer that the socket hasn't taken whole, and how much it has taken.
    pending: Option<(Answer, usize)>,
}

enum After {
    Keep,
    Close,
}

const LISTENER: u64 = u64::MAX;

/// Serves on 127.0.0.1:`port` until it is killed. `answer` gets the head of each request, blank line included.
pub(crate) fn serve(port: u16, mut answer: impl FnMut(&[u8]) -> Answer) -> Result<()> {
    let listener = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::NONBLOCK,
        None,
    )?;
    set_socket_reuseaddr(&listener, true)?;
    bind(
        &listener,
        &std::net::SocketAddr::from(([127, 0, 0, 1], port)),
    )?;
    listen(&listener, 4096)?;
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(
        &poll,
        &listener,
        EventData::new_u64(LISTENER),
        EventFlags::IN | EventFlags::ET,
    )?;

    let blank_line = Finder::new(b"\r\n\r\n");
    let mut buf = vec![0; 64 << 10];
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    let mut events: Vec<Event> = Vec::with_capacity(512);
    let mut next_id = 0;
    // When answers that are held back are due, and whose they are.
    let mut due: BinaryHeap<Reverse<(Instant, u64, usize)>> = BinaryHeap::new();
    loop {
        let wait = due.peek().map(|Reverse((at, ..))| {
            let left = at.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        events.clear();
        match epoll::wait(&poll, spare_capacity(&mut events), wait.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let (flags, source) = (event.flags, event.data.u64());
            if source == LISTENER {
                while let Ok(fd) =
                    accept_with(&listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)
                {
                    let place = free.pop().unwrap_or_else(|| {
                        connections.push(None);
                        connections.len() - 1
                    });
                    let flags =
                        EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
                    epoll::add(&poll, &fd, EventData::new_u64(place as u64), flags)?;
                    if let Some(slot) = connections.get_mut(place) {
                        next_id += 1;
                        *slot = Some(Connection {
                            fd,
                            id: next_id,
                            held: None,
                            partial: Vec::new(),
                            pending: None,
                        });
                    }
                }
                continue;
            }
            let place = usize::try_from(source)?;
            let Some(slot) = connections.get_mut(place) else {
                continue;
            };
            let Some(connection) = slot else { continue };
            if connection.held.is_some() {
                continue;
            }
            let after = if connection.pending.is_some() {
                connection.flush()
            } else {
                After::Keep
            };
            let after = match after {
                After::Keep if connection.pending.is_none() && flags.contains(EventFlags::IN) => {
                    connection.converse(&mut buf, &blank_line, &mut answer)
                }
                after => after,
            };
            if let Some(held) = &connection.held {
                due.push(Reverse((Instant::now() + held.after, connection.id, place)));
            }
            if matches!(after, After::Close) {
                *slot = None;
                free.push(place);
            }
        }
        while let Some(Reverse((at, id, place))) = due.peek().copied()
            && at <= Instant::now()
        {
            due.pop();
            let Some(slot) = connections.get_mut(place) else {
                continue;
            };
            let Some(connection) = slot.as_mut().filter(|connection| connection.id == id) else {
                continue;
            };
            connection.pending = connection.held.take().map(|answer| (answer, 0));
            let mut after = connection.flush();
            // What came meanwhile has brought its event already.
            if matches!(after, After::Keep) && connection.pending.is_none() {
                after = connection.converse(&mut buf, &blank_line, &mut answer);
            }
            if let Some(held) = &connection.held {
                due.push(Reverse((Instant::now() + held.after, id, place)));
            }
            if matches!(after, After::Close) {
                *slot = None;
                free.push(place);
            }
        }
    }
}

impl Connection {
    /// Reads what has come and answers it.
    fn converse(
        &mut self,
        buf: &mut [u8],
        blank_line: &Finder<'_>,
        answer: &mut impl FnMut(&[u8]) -> Answer,
    ) -> After {
        loop {
            let room = buf.len();
            let len = match read(&self.fd, &mut *buf) {
                Ok(0) => return After::Close,
                Ok(len) => len,
                Err(Errno::AGAIN) => return After::Keep,
                Err(_) => return After::Close,
            };
            let new = buf.get(..len).unwrap_or_default();
            let mut joined = mem::take(&mut self.partial);
            let mut rest = if joined.is_empty() {
                new
            } else {
                joined.extend(new);
                &joined
            };
            while let Some(place) = blank_line.find(rest) {
                let (head, tail) = rest.split_at(place + 4);
                rest = tail;
                let answer = answer(head);
                if !answer.after.is_zero() {
                    self.held = Some(answer);
                    self.partial = rest.to_vec();
                    return After::Keep;
                }
                self.pending = Some((answer, 0));
                if matches!(self.flush(), After::Close) {
                    return After::Close;
                }
                if self.pending.is_some() {
                    break;
                }
            }
            self.partial = rest.to_vec();
            // A read that left room has emptied the socket: the next bytes bring an event.
            if len < room || self.pending.is_some() {
                return After::Keep;
            }
        }
    }

    /// Writes until the answer is gone or the socket is full.
    fn flush(&mut self) -> After {
        let Some((answer, mut at)) = self.pending.take() else {
            return After::Keep;
        };
        while let Some(rest) = answer.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match write(&self.fd, rest) {
                Ok(len) => at += len,
                Err(Errno::AGAIN) => {
                    self.pending = Some((answer, at));
                    return After::Keep;
                }
                Err(_) => return After::Close,
            }
        }
        if answer.close {
            After::Close
        } else {
            After::Keep
        }
    }
}
