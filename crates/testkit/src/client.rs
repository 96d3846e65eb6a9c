//! A raw client: sends exactly the bytes that a test wants, and reads responses strictly.

use std::io::Read;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::connection::{Connection, Stopped};
use crate::message::{Body, Framing, Head};
use crate::wait::WAIT;

/// How much of a body a client keeps in memory unless told otherwise.
const KEEP: usize = 16 << 20;

/// A response, whole.
#[derive(Clone, Debug)]
pub struct Response {
    /// `HTTP/1.1`, as it came.
    pub version: String,
    /// The status code.
    pub status: u16,
    /// The reason phrase.
    pub reason: String,
    /// The head.
    pub head: Head,
    /// The 1xx heads that came before it.
    pub interim: Vec<Head>,
    /// The content: length, hash, trailers, and the bytes as far as kept.
    pub content: Body,
}

impl Response {
    /// The content's bytes. Panics if the client didn't keep them all.
    #[must_use]
    #[track_caller]
    pub fn body(&self) -> &[u8] {
        let kept = self.content.kept.len() as u64;
        assert_eq!(
            kept, self.content.len,
            "the client kept only a part of the body"
        );
        &self.content.kept
    }

    /// The content as text.
    #[must_use]
    #[track_caller]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.body()).into_owned()
    }

    /// The value of the first field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.field(name)
    }
}

/// Why there is no whole response.
#[derive(Debug)]
pub enum Failed {
    /// The connection was closed or reset before a byte of it.
    Closed,
    /// The connection was closed within the head; here is what came.
    CutHead(Vec<u8>),
    /// The connection was closed within the content; here is the part that came.
    CutBody(Box<Response>),
    /// Nothing came for the whole wait; with the part that had come, if the head was whole.
    TimedOut(Option<Box<Response>>),
    /// What came isn't HTTP.
    Malformed(String),
}

/// A connection to the program under test.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
    addr: SocketAddr,
    keep: usize,
}

impl Client {
    /// Connects to `addr`.
    #[must_use]
    #[track_caller]
    pub fn connect(addr: SocketAddr) -> Self {
        match TcpStream::connect_timeout(&addr, WAIT) {
            Ok(stream) => Self::over(stream, addr),
            Err(error) => panic!("cannot connect to {addr}: {error}"),
        }
    }

    /// Connects to `addr` from a source address such as 127.0.0.2.
    #[must_use]
    #[track_caller]
    pub fn connect_from(source: IpAddr, addr: SocketAddr) -> Self {
        Self::connect_by(addr, |socket| {
            socket.bind(&SocketAddr::new(source, 0).into())
        })
    }

    /// Connects to `addr` with a small receive buffer, so that the program soon feels a slow reader.
    #[must_use]
    #[track_caller]
    pub fn connect_narrow(addr: SocketAddr) -> Self {
        Self::connect_by(addr, |socket| socket.set_recv_buffer_size(4096))
    }

    #[track_caller]
    fn connect_by(addr: SocketAddr, prepare: impl FnOnce(&Socket) -> std::io::Result<()>) -> Self {
        let connected =
            Socket::new(Domain::for_address(addr), Type::STREAM, None).and_then(|socket| {
                prepare(&socket)?;
                socket.connect_timeout(&addr.into(), WAIT)?;
                Ok(socket)
            });
        match connected {
            Ok(socket) => Self::over(socket.into(), addr),
            Err(error) => panic!("cannot connect to {addr}: {error}"),
        }
    }

    fn over(stream: TcpStream, addr: SocketAddr) -> Self {
        Self {
            connection: Connection::new(stream, WAIT),
            addr,
            keep: KEEP,
        }
    }

    /// How long each single wait may last from now on.
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        self.connection.set_wait(wait);
        self
    }

    /// Counts and hashes bodies without keeping them.
    #[must_use]
    pub fn keep_no_bodies(mut self) -> Self {
        self.keep = 0;
        self
    }

    /// The connection itself, for what follows a tunnel's or an upgrade's answer.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Our address, as the program's log names it.
    #[must_use]
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.connection.stream().local_addr().ok()
    }

    /// Sends these bytes as they are.
    #[track_caller]
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        if let Err(error) = self.connection.send(bytes.as_ref()) {
            panic!("cannot send to {}: {error}", self.addr);
        }
    }

    /// Sends what `source` gives; used for uploads too large to hold.
    #[track_caller]
    pub fn send_from(&mut self, mut source: impl Read) {
        if let Err(error) = self.connection.send_from(&mut source) {
            panic!("cannot send to {}: {error}", self.addr);
        }
    }

    /// Ends our direction of the connection.
    pub fn finish(&mut self) {
        self.connection.finish();
    }

    /// Closes with a TCP reset.
    pub fn reset(self) {
        self.connection.reset();
    }

    /// Sends a request without content. `target` is a whole URL, or a path (with our own `Host` then), or `host:port`
    /// for CONNECT; `fields` are added, and may bring another `Host`.
    #[track_caller]
    pub fn send_request(&mut self, method: &str, target: &str, fields: &[(&str, &str)]) {
        let mut head = format!("{method} {target} HTTP/1.1\r\n");
        if !fields
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            let address = self.addr.to_string();
            let host = match target.split_once("://") {
                Some((_, rest)) => rest.split('/').next().unwrap_or_default(),
                None if target.starts_with(['/', '*']) => address.as_str(),
                None => target,
            };
            head += &format!("Host: {host}\r\n");
        }
        for (name, value) in fields {
            head += &format!("{name}: {value}\r\n");
        }
        self.send(head + "\r\n");
    }

    /// Sends a request without content and reads the response.
    #[track_caller]
    pub fn request(&mut self, method: &str, target: &str, fields: &[(&str, &str)]) -> Response {
        self.send_request(method, target, fields);
        self.response_to(method)
    }

    /// `GET`s a URL or a path; the connection stays open if the program keeps it so.
    #[track_caller]
    pub fn get(&mut self, target: &str) -> Response {
        self.request("GET", target, &[])
    }

    /// Reads the response to a `GET`. Panics if there is no whole one.
    #[track_caller]
    pub fn response(&mut self) -> Response {
        self.response_to("GET")
    }

    /// Reads the response to a request of this method. Panics if there is no whole one.
    #[track_caller]
    pub fn response_to(&mut self, method: &str) -> Response {
        match self.try_response_to(method) {
            Ok(response) => response,
            Err(failed) => panic!("no response from {}: {failed:?}", self.addr),
        }
    }

    /// Reads the response to a request of this method.
    ///
    /// # Errors
    /// When it doesn't come, isn't whole, or isn't HTTP.
    pub fn try_response_to(&mut self, method: &str) -> Result<Response, Failed> {
        let mut interim = Vec::new();
        let mut response = loop {
            let head = self
                .connection
                .read_head()
                .map_err(|stopped| match stopped {
                    Stopped::Closed if self.connection.buffered().is_empty() => Failed::Closed,
                    Stopped::Closed => Failed::CutHead(self.connection.buffered().to_vec()),
                    Stopped::TimedOut => Failed::TimedOut(None),
                    Stopped::Malformed(what) => Failed::Malformed(what),
                })?;
            let response = status_line(head)?;
            if response.status >= 200 || response.status == 101 {
                break Response {
                    interim,
                    ..response
                };
            }
            interim.push(response.head);
        };
        let framing = framing(method, &response).map_err(Failed::Malformed)?;
        let read = self
            .connection
            .read_body(framing, self.keep, &mut response.content);
        match read {
            Ok(()) => Ok(response),
            Err(Stopped::Closed) => Err(Failed::CutBody(Box::new(response))),
            Err(Stopped::TimedOut) => Err(Failed::TimedOut(Some(Box::new(response)))),
            Err(Stopped::Malformed(what)) => Err(Failed::Malformed(what)),
        }
    }

    /// Reads exactly `len` bytes.
    #[track_caller]
    pub fn read_exact(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        if let Err(error) = self.connection.read_exact(&mut bytes) {
            panic!("no {len} bytes from {}: {error}", self.addr);
        }
        bytes
    }

    /// Reads until the program closes (or resets) the connection. Panics if it doesn't within the wait.
    #[track_caller]
    pub fn read_to_close(&mut self) -> Vec<u8> {
        let mut body = Body::default();
        match self
            .connection
            .read_body(Framing::UntilClose, usize::MAX, &mut body)
        {
            Ok(()) => body.kept,
            Err(stopped) => panic!(
                "{} didn't close: {stopped:?} after {} bytes",
                self.addr, body.len
            ),
        }
    }

    /// Panics unless the program closes the connection without another byte.
    #[track_caller]
    pub fn expect_close(&mut self) {
        let rest = self.read_to_close();
        assert!(
            rest.is_empty(),
            "instead of a close: {:?}",
            String::from_utf8_lossy(&rest)
        );
    }
}

fn status_line(head: Head) -> Result<Response, Failed> {
    let mut parts = head.start.splitn(3, ' ');
    let version = parts.next().unwrap_or_default().to_owned();
    let code = parts
        .next()
        .filter(|code| code.len() == 3)
        .and_then(|code| code.parse().ok());
    match (code, parts.next()) {
        (Some(status), Some(reason)) if version.starts_with("HTTP/1.") => {
            let reason = reason.to_owned();
            Ok(Response {
                version,
                status,
                reason,
                head,
                interim: Vec::new(),
                content: Body::default(),
            })
        }
        _ => Err(Failed::Malformed(format!("status line {:?}", head.start))),
    }
}

fn framing(method: &str, response: &Response) -> Result<Framing, String> {
    let declared = response.head.framing()?;
    let tunnel = method == "CONNECT" && (200..300).contains(&response.status);
    if method == "HEAD" || tunnel || matches!(response.status, 101 | 204 | 304) {
        return Ok(Framing::None);
    }
    Ok(declared.unwrap_or(Framing::UntilClose))
}
