//! A scripted name server (RFC 1035 §4), over UDP only: answers each question as a closure says.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

const HEAD_BYTES: usize = 12;
const A: u16 = 1;
const PTR: u16 = 12;
const AAAA: u16 = 28;

/// A name server on 127.0.0.1. Dropping it ends it.
#[derive(Debug)]
pub struct NameServer {
    addr: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl NameServer {
    /// Starts one. `answer` gets a name in lower case; what it gives are addresses, of which those of the family
    /// that was asked for are sent, or host names for a question of the kind PTR. Nothing means that the name exists
    /// without such a record. No answer may be kept.
    #[must_use]
    pub fn start<T: AsRef<str>>(mut answer: impl FnMut(&str) -> Vec<T> + Send + 'static) -> Self {
        let bound = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
        let (socket, addr) = match bound.and_then(|socket| Ok((socket.local_addr()?, socket))) {
            Ok((addr, socket)) => (socket, addr),
            Err(error) => panic!("a name server cannot listen: {error}"),
        };
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let serve = move || {
            let mut packet = [0; 1500];
            while let Ok((bytes @ 1.., from)) = socket.recv_from(&mut packet) {
                let Some(question) = packet.get(..bytes).and_then(Question::read) else {
                    continue;
                };
                lock(&log).push(question.name.clone());
                let answers = answer(&question.name);
                let records = answers
                    .iter()
                    .filter_map(|text| question.record(text.as_ref()));
                let reply = question.reply(&records.collect::<Vec<_>>());
                // Who has gone needs no answer.
                let _sent = socket.send_to(&reply, from);
            }
        };
        drop(thread::spawn(serve));
        Self { addr, asked }
    }

    /// Where it listens: a value for `dns_nameservers`.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The names it was asked for, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        lock(&self.asked).clone()
    }
}

impl Drop for NameServer {
    /// An empty datagram ends the thread.
    fn drop(&mut self) {
        if let Ok(socket) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) {
            let _sent = socket.send_to(&[], self.addr);
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is asked.
struct Question {
    id: [u8; 2],
    name: String,
    kind: u16,
    /// Name, kind and class as they came.
    bytes: Vec<u8>,
}

impl Question {
    fn read(packet: &[u8]) -> Option<Self> {
        let mut at = HEAD_BYTES;
        let mut labels = Vec::new();
        loop {
            let length = usize::from(*packet.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            let label = packet.get(at..at + length)?;
            labels.push(String::from_utf8_lossy(label).to_lowercase());
            at += length;
        }
        Some(Self {
            id: packet.first_chunk().copied()?,
            name: labels.join("."),
            kind: u16::from_be_bytes(packet.get(at..)?.first_chunk().copied()?),
            bytes: packet.get(HEAD_BYTES..at + 4)?.to_vec(),
        })
    }

    /// The data of a record of the kind that is asked for.
    fn record(&self, text: &str) -> Option<Vec<u8>> {
        match (self.kind, text.parse()) {
            (A, Ok(IpAddr::V4(addr))) => Some(addr.octets().to_vec()),
            (AAAA, Ok(IpAddr::V6(addr))) => Some(addr.octets().to_vec()),
            (PTR, Err(_)) => {
                let mut data = Vec::new();
                for label in text.split('.') {
                    data.push(u8::try_from(label.len()).ok()?);
                    data.extend_from_slice(label.as_bytes());
                }
                data.push(0);
                Some(data)
            }
            _ => None,
        }
    }

    fn reply(&self, records: &[Vec<u8>]) -> Vec<u8> {
        let count = u8::try_from(records.len()).unwrap_or(u8::MAX);
        let mut reply = self.id.to_vec();
        // A response to a standard query, recursion asked for and available, no error; one question.
        reply.extend_from_slice(&[0x81, 0x80, 0, 1, 0, count, 0, 0, 0, 0]);
        reply.extend_from_slice(&self.bytes);
        for data in records {
            // The name is that of the question; class IN, time to live 0.
            reply.extend_from_slice(&[0xc0, 0x0c]);
            reply.extend_from_slice(&self.kind.to_be_bytes());
            reply.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0]);
            reply.push(u8::try_from(data.len()).unwrap_or(u8::MAX));
            reply.extend_from_slice(data);
        }
        reply
    }
}
