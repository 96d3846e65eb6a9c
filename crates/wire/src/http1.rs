//! HTTP/1 messages: heads, framing, bodies, and what a connection may do after them.
//!
//! One parser builds one head; [`Framing`] is decided from it once; [`BodyDecoder`] follows that
//! decision; the writers build the head to send from the model and never copy raw lines.
//! RFC 9112.

mod body;
mod connection;
mod error;
mod framing;
mod host;
mod lines;
mod request;
mod response;
mod write;

pub use body::{BodyDecoder, Step, fuzz as fuzz_body};
pub use connection::{ProxyAuth, fuzz as fuzz_connection, may_reuse, remove_hop_by_hop};
pub use error::{BadBody, BadRequest, BadResponse};
pub use framing::{Framing, kept_coding, request_framing, response_framing};
pub use host::{KnownHost, check_host};
pub use request::{RequestHead, fuzz as fuzz_request, parse_request};
pub use response::{ResponseHead, fuzz as fuzz_response, parse_response};
pub use write::{
    LAST_CHUNK, check_sent_head, reason_phrase, write_chunk_head, write_request_head,
    write_status_line,
};

/// The version of a message, as far as it changes what we do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// HTTP/1.0
    H10,
    /// HTTP/1.1, and any later HTTP/1.x
    #[default]
    H11,
}

impl Version {
    /// The protocol name and version as it stands in a start line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::H10 => "HTTP/1.0",
            Self::H11 => "HTTP/1.1",
        }
    }
}

/// How much irregularity a head may show (`relaxed_header_parser`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relaxed {
    /// The letter of RFC 9112.
    #[default]
    Off,
    /// Accept what has one meaning only: heads with bare LF line ends throughout, a single space
    /// inside a request target, white space after a chunk size.
    On,
    /// As `On`; the caller logs heads that are [`RequestHead::irregular`].
    Warn,
}

impl Relaxed {
    pub(crate) fn is_on(self) -> bool {
        self != Self::Off
    }
}

/// Limits of a message head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest head, start line and final blank line included. Also bounds trailers.
    pub head_bytes_max: usize,
    /// Most field lines in a head or in trailers.
    pub fields_max: usize,
    /// Which irregularities are accepted.
    pub relaxed: Relaxed,
}

impl Default for Limits {
    /// 64 KiB, 1000 lines, strict.
    fn default() -> Self {
        Self {
            head_bytes_max: 64 << 10,
            fields_max: 1000,
            relaxed: Relaxed::Off,
        }
    }
}

/// Outcome of a head parser that found no fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The head is complete; so many bytes belong to it.
    Complete(usize),
    /// More bytes are needed.
    Partial,
}

/// Can a head that was [`Parsed::Partial`] with `seen` bytes have changed its outcome with the
/// bytes that came since? Asking this first keeps a client that sends a byte at a time cheap.
pub fn worth_parsing(buf: &[u8], seen: usize, limits: &Limits) -> bool {
    let new = buf.get(seen..).unwrap_or_default();
    buf.len() >= limits.head_bytes_max || memchr::memchr(b'\n', new).is_some()
}
