//! A scripted web server on loopback. It records what it was asked, byte for byte.

use std::collections::HashMap;
use std::io::Read;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::connection::{Connection, Stopped};
use crate::message::{Body, Framing, Head};
use crate::reply::{After, Reply};
use crate::wait::until;

/// How much of a request's content is kept in memory.
const KEEP: usize = 1 << 20;
/// How long a request, or who takes its answer, may pause: longer than any client on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request as the origin received it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The connection it came on: 0 for the first that was accepted, and so on.
    pub connection: usize,
    /// The method.
    pub method: String,
    /// The request target, as it came.
    pub target: String,
    /// The head.
    pub head: Head,
    /// The content: length, hash, trailers, and its first mebibyte.
    pub content: Body,
}

impl Request {
    /// The value of the first field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.field(name)
    }
}

type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

/// A running origin. It stops, and closes its connections, when dropped.
#[derive(Debug)]
pub struct Origin {
    addr: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    handler: Box<Handler>,
    /// Ask the handler at the head, before the content is read.
    early: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    stopped: bool,
    accepted: usize,
    live: HashMap<usize, TcpStream>,
    requests: Vec<Request>,
    malformed: Vec<String>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.state.fmt(f)
    }
}

impl Origin {
    /// Starts an origin that reads each request whole, sending `100 Continue` where it is expected, and answers by
    /// `handler`: a [`Reply`], or raw text or bytes.
    #[must_use]
    pub fn start<R: Into<Reply>>(handler: impl Fn(&Request) -> R + Send + Sync + 'static) -> Self {
        Self::launch(0, false, Box::new(move |request| handler(request).into()))
    }

    /// As [`start`](Self::start), on a given port: to come back after a [`stop`](Self::stop).
    #[must_use]
    pub fn start_on<R: Into<Reply>>(
        port: u16,
        handler: impl Fn(&Request) -> R + Send + Sync + 'static,
    ) -> Self {
        Self::launch(
            port,
            false,
            Box::new(move |request| handler(request).into()),
        )
    }

    /// Starts an origin that answers as soon as it has a request's head. It sends no `100 Continue`. Content that comes
    /// is read after the answer, unless that closes the connection.
    #[must_use]
    pub fn start_early<R: Into<Reply>>(
        handler: impl Fn(&Request) -> R + Send + Sync + 'static,
    ) -> Self {
        Self::launch(0, true, Box::new(move |request| handler(request).into()))
    }

    /// Starts an origin that answers these paths, and others with 404.
    #[must_use]
    pub fn simple<'a>(routes: impl IntoIterator<Item = (&'a str, Reply)>) -> Self {
        let routes: HashMap<String, Reply> = routes
            .into_iter()
            .map(|(path, reply)| (path.to_owned(), reply))
            .collect();
        Self::start(move |request| match routes.get(&request.target) {
            Some(reply) => reply.clone(),
            None => Reply::new("404 Not Found").send("no such path\n"),
        })
    }

    fn launch(port: u16, early: bool, handler: Box<Handler>) -> Self {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listening = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (addr, listener) = match listening {
            Ok(both) => both,
            Err(error) => panic!("an origin cannot listen on port {port}: {error}"),
        };
        let shared = Arc::new(Shared {
            handler,
            early,
            state: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        drop(thread::spawn(move || accept(&listener, &accepting)));
        Self { addr, shared }
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.addr.port()
    }

    /// The URL of a path here.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Every request so far, in the order in which they were read.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// The latest request.
    #[must_use]
    #[track_caller]
    pub fn last(&self) -> Request {
        let Some(request) = self.shared.state().requests.last().cloned() else {
            panic!("the origin at {} was never asked", self.addr);
        };
        request
    }

    /// How many requests came in all.
    #[must_use]
    pub fn total(&self) -> usize {
        self.shared.state().requests.len()
    }

    /// How many requests came for this target.
    #[must_use]
    pub fn count(&self, target: &str) -> usize {
        self.shared
            .state()
            .requests
            .iter()
            .filter(|request| request.target == target)
            .count()
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.state().accepted
    }

    /// How many connections are open now.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.shared.state().live.len()
    }

    /// What was sent here that isn't HTTP.
    #[must_use]
    pub fn malformed(&self) -> Vec<String> {
        self.shared.state().malformed.clone()
    }

    /// Waits until `count` requests have come in all.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize) {
        until(&format!("{count} requests at the origin"), || {
            (self.total() >= count).then_some(())
        });
    }

    /// Closes all its connections, but goes on listening.
    pub fn disconnect(&self) {
        for stream in self.shared.state().live.values() {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Stops listening and closes all connections; returns once its port refuses connections.
    #[track_caller]
    pub fn stop(&self) {
        self.end();
        until("a closed port", || {
            TcpStream::connect(self.addr).is_err().then_some(())
        });
    }

    fn end(&self) {
        self.shared.state().stopped = true;
        self.disconnect();
        // Wakes the accepting thread, which then sees that it is over.
        drop(TcpStream::connect(self.addr));
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        let mut state = shared.state();
        if state.stopped {
            return;
        }
        let Ok(stream) = stream else { continue };
        let number = state.accepted;
        state.accepted += 1;
        if let Ok(copy) = stream.try_clone() {
            state.live.insert(number, copy);
        }
        drop(state);
        let shared = Arc::clone(shared);
        drop(thread::spawn(move || {
            converse(Connection::new(stream, PATIENCE), number, &shared);
            shared.state().live.remove(&number);
        }));
    }
}

/// Answers the requests of one connection.
fn converse(mut connection: Connection, number: usize, shared: &Shared) {
    loop {
        match exchange(&mut connection, number, shared) {
            Ok(After::Keep) => {}
            // An idle connection isn't closed by us.
            Err(Stopped::TimedOut) if connection.buffered().is_empty() => {}
            Ok(After::Hold) => return hold(&mut connection),
            Ok(After::Reset) => return connection.reset(),
            Ok(After::Close) | Err(Stopped::Closed | Stopped::TimedOut) => return,
            Err(Stopped::Malformed(what)) => return shared.state().malformed.push(what),
        }
    }
}

fn exchange(connection: &mut Connection, number: usize, shared: &Shared) -> Result<After, Stopped> {
    let head = connection.read_head()?;
    let mut words = head.start.split(' ').map(str::to_owned);
    let (method, target) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let framing = head
        .framing()
        .map_err(Stopped::Malformed)?
        .unwrap_or(Framing::None);
    let bodiless = method == "HEAD";
    let mut request = Request {
        connection: number,
        method,
        target,
        head,
        content: Body::default(),
    };
    if !shared.early {
        if request.head.has("Expect", "100-continue") {
            connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        connection.read_body(framing, KEEP, &mut request.content)?;
    }
    shared.state().requests.push(request.clone());
    let after = (shared.handler)(&request).play(connection, bodiless)?;
    if shared.early && after == After::Keep {
        connection.read_body(framing, 0, &mut request.content)?;
    }
    let close = request.head.has("Connection", "close");
    Ok(if close && after == After::Keep {
        After::Close
    } else {
        after
    })
}

/// Reads and forgets until the other side closes.
fn hold(connection: &mut Connection) {
    let mut buf = [0; 4096];
    let patient = connection.stream().set_read_timeout(None);
    while patient.is_ok() && connection.read(&mut buf).is_ok_and(|len| len > 0) {}
}
