//! What an [`Origin`](crate::Origin) answers: a head and steps, each as wrong as a test wants it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use crate::bytes::Pattern;
use crate::connection::Connection;
use crate::wait::Gate;

/// A scripted answer.
///
/// Made by [`Reply::new`] or [`Reply::ok`], it has a head of its own, with the date of now, framed by the length of the
/// content steps unless told otherwise. Made by [`Reply::raw`], it sends nothing but what the steps say.
#[derive(Clone, Debug)]
pub struct Reply {
    head: Option<Spec>,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Spec {
    status: String,
    fields: Vec<(String, String)>,
    framing: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Length,
    Chunked,
    UntilClose,
}

type Act = dyn Fn(&mut Connection) -> io::Result<()> + Send + Sync;

#[derive(Clone)]
enum Step {
    Send(Vec<u8>),
    Pattern(Pattern),
    Drip(Vec<u8>, usize),
    Pass(Gate),
    Run(Arc<Act>),
    Close,
    Reset,
    Stall,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Send(_) => "Send",
            Self::Pattern(_) => "Pattern",
            Self::Drip(..) => "Drip",
            Self::Pass(_) => "Pass",
            Self::Run(_) => "Run",
            Self::Close => "Close",
            Self::Reset => "Reset",
            Self::Stall => "Stall",
        })
    }
}

/// What becomes of the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Keep,
    Close,
    Reset,
    /// Held open, silent, until the other side closes or the origin stops.
    Hold,
}

impl Reply {
    /// An answer with this status: `"404 Not Found"`.
    #[must_use]
    pub fn new(status: &str) -> Self {
        let spec = Spec {
            status: status.to_owned(),
            fields: Vec::new(),
            framing: Shape::Length,
        };
        Self {
            head: Some(spec),
            steps: Vec::new(),
        }
    }

    /// `200 OK` with this content.
    #[must_use]
    pub fn ok(content: impl AsRef<[u8]>) -> Self {
        Self::new("200 OK").send(content)
    }

    /// `200 OK` with the pattern's bytes as content.
    #[must_use]
    pub fn pattern(pattern: &Pattern) -> Self {
        let mut reply = Self::new("200 OK");
        reply.steps.push(Step::Pattern(pattern.clone()));
        reply
    }

    /// Exactly these bytes, and then the steps.
    #[must_use]
    pub fn raw(bytes: impl AsRef<[u8]>) -> Self {
        Self {
            head: None,
            steps: Vec::new(),
        }
        .send(bytes)
    }

    /// Adds a field to the head. A `Content-Length` or `Transfer-Encoding` given here stands, true or not.
    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        if let Some(spec) = &mut self.head {
            spec.fields.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Sends the content in chunks, one for each step.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        if let Some(spec) = &mut self.head {
            spec.framing = Shape::Chunked;
        }
        self
    }

    /// Ends the content by closing the connection.
    #[must_use]
    pub fn until_close(mut self) -> Self {
        if let Some(spec) = &mut self.head {
            spec.framing = Shape::UntilClose;
        }
        self
    }

    /// Step: sends these bytes.
    #[must_use]
    pub fn send(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Send(bytes.as_ref().to_vec()))
    }

    /// Step: sends these bytes in pieces of `size`, each in a packet of its own.
    #[must_use]
    pub fn drip(self, bytes: impl AsRef<[u8]>, size: usize) -> Self {
        self.step(Step::Drip(bytes.as_ref().to_vec(), size.max(1)))
    }

    /// Step: waits until the gate is open.
    #[must_use]
    pub fn pass(self, gate: &Gate) -> Self {
        self.step(Step::Pass(gate.clone()))
    }

    /// Step: anything else, with the connection in hand. An error closes it.
    #[must_use]
    pub fn run(
        self,
        act: impl Fn(&mut Connection) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.step(Step::Run(Arc::new(act)))
    }

    /// Step: sends back whatever comes, to the end.
    #[must_use]
    pub fn echo(self) -> Self {
        self.run(|connection| {
            let mut buf = [0; 16 << 10];
            loop {
                let len = io::Read::read(connection, &mut buf)?;
                let Some(piece) = buf.get(..len).filter(|piece| !piece.is_empty()) else {
                    return Ok(());
                };
                connection.send(piece)?;
            }
        })
        .close()
    }

    /// Last step: closes the connection.
    #[must_use]
    pub fn close(self) -> Self {
        self.step(Step::Close)
    }

    /// Last step: resets the connection.
    #[must_use]
    pub fn reset(self) -> Self {
        self.step(Step::Reset)
    }

    /// Last step: says nothing more, and keeps the connection open.
    #[must_use]
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Plays the script. `bodiless`: the request was a HEAD, so the content stays home.
    pub(crate) fn play(&self, connection: &mut Connection, bodiless: bool) -> io::Result<After> {
        let shape = self.head.as_ref().map(|spec| spec.framing);
        // A head travels with the first piece of content, as servers do it.
        let mut head = self
            .head
            .as_ref()
            .map(|spec| spec.render(self.content_len()))
            .unwrap_or_default();
        let framed = shape == Some(Shape::Chunked);
        let silent = bodiless && self.head.is_some();
        for step in &self.steps {
            match step {
                Step::Send(_) | Step::Pattern(_) | Step::Drip(..) if silent => {}
                Step::Send(bytes) => {
                    let mut out = std::mem::take(&mut head);
                    frame(&mut out, bytes, framed);
                    connection.send(&out)?;
                }
                Step::Pattern(pattern) => {
                    connection.send(&std::mem::take(&mut head))?;
                    send_pattern(connection, pattern, framed)?;
                }
                Step::Drip(bytes, size) => {
                    connection.send(&std::mem::take(&mut head))?;
                    for piece in bytes.chunks(*size) {
                        let mut out = Vec::new();
                        frame(&mut out, piece, framed);
                        connection.send(&out)?;
                    }
                }
                Step::Pass(gate) => {
                    connection.send(&std::mem::take(&mut head))?;
                    gate.pass();
                }
                Step::Run(act) => {
                    connection.send(&std::mem::take(&mut head))?;
                    act(connection)?;
                }
                Step::Close | Step::Reset | Step::Stall => {
                    connection.send(&head)?;
                    return Ok(match step {
                        Step::Close => After::Close,
                        Step::Reset => After::Reset,
                        _ => After::Hold,
                    });
                }
            }
        }
        if framed && !silent {
            head.extend(b"0\r\n\r\n");
        }
        connection.send(&head)?;
        Ok(if shape == Some(Shape::UntilClose) {
            After::Close
        } else {
            After::Keep
        })
    }

    fn content_len(&self) -> u64 {
        let lens = self.steps.iter().map(|step| match step {
            Step::Send(bytes) | Step::Drip(bytes, _) => bytes.len() as u64,
            Step::Pattern(pattern) => pattern.len(),
            Step::Pass(_) | Step::Run(_) | Step::Close | Step::Reset | Step::Stall => 0,
        });
        lens.sum()
    }
}

impl Spec {
    fn render(&self, content_len: u64) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {}\r\n", self.status);
        for (name, value) in &self.fields {
            head += &format!("{name}: {value}\r\n");
        }
        if !self.has("Date") {
            let now = httpdate::fmt_http_date(SystemTime::now());
            head += &format!("Date: {now}\r\n");
        }
        let framed = self.has("Content-Length") || self.has("Transfer-Encoding");
        let bodiless = ["1", "204", "304"]
            .iter()
            .any(|code| self.status.starts_with(code));
        if !framed && !bodiless {
            match self.framing {
                Shape::Length => head += &format!("Content-Length: {content_len}\r\n"),
                Shape::Chunked => head += "Transfer-Encoding: chunked\r\n",
                Shape::UntilClose => head += "Connection: close\r\n",
            }
        }
        (head + "\r\n").into_bytes()
    }

    fn has(&self, name: &str) -> bool {
        let mut names = self.fields.iter().map(|(name, _)| name);
        names.any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// Appends `bytes`, as a chunk if asked for. An empty chunk would be the last one, so there is none.
fn frame(out: &mut Vec<u8>, bytes: &[u8], chunked: bool) {
    if !chunked {
        out.extend(bytes);
    } else if !bytes.is_empty() {
        out.extend(format!("{:x}\r\n", bytes.len()).as_bytes());
        out.extend(bytes);
        out.extend(b"\r\n");
    }
}

fn send_pattern(connection: &mut Connection, pattern: &Pattern, chunked: bool) -> io::Result<()> {
    let mut pattern = pattern.from(0);
    let mut buf = vec![0; 64 << 10];
    let mut out = Vec::new();
    while let Some(piece) = pattern.fill(&mut buf) {
        out.clear();
        frame(&mut out, piece, chunked);
        connection.send(&out)?;
    }
    Ok(())
}

impl From<&str> for Reply {
    fn from(raw: &str) -> Self {
        Self::raw(raw)
    }
}

impl From<String> for Reply {
    fn from(raw: String) -> Self {
        Self::raw(raw)
    }
}

impl From<Vec<u8>> for Reply {
    fn from(raw: Vec<u8>) -> Self {
        Self::raw(raw)
    }
}
