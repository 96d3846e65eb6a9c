//! Follows a body through the bytes of a connection, by reference and with O(1) state.
//!
//! Used for requests and responses alike. The chunked coding is RFC 9112 §7.1 to the letter:
//! CRLF only, at most 16 digits, extensions checked, bounded and dropped.
//!
//! | phase | what comes next | moves on |
//! | --- | --- | --- |
//! | `Length`, `UntilClose` | content | count used up; never |
//! | `Line` | chunk size, extensions, CRLF | to `Data`, or `Trailer` after size 0 |
//! | `Data` | content of a chunk | to `DataEnd` |
//! | `DataEnd` | CRLF after it | to `Line` |
//! | `Trailer` | trailer lines | to `Done` at the blank line |
//! | `Done` | nothing of this body | |

mod chunk_line;

use self::chunk_line::{ChunkLine, Scan};
use super::lines::{BadLines, LineEnds, parse_section};
use super::{BadBody, Framing, Limits};
use crate::{FieldId, Fields};

/// Extension bytes that a body may carry beyond those that each chunk is allowed: a few, and one
/// for every two bytes of content.
const OVERHEAD_BYTES_MAX: u64 = 16 << 10;

/// Extension bytes that are fine on any chunk.
const OVERHEAD_BYTES_PER_CHUNK: u64 = 16;

/// What the decoder found at the start of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `skip` bytes of framing, then `len > 0` bytes of content. Both count as consumed.
    Data {
        /// Framing bytes before the content.
        skip: usize,
        /// Content bytes right after them.
        len: usize,
    },
    /// No content left in the buffer; so many bytes of framing were consumed.
    NeedMore {
        /// Framing bytes consumed.
        consumed: usize,
    },
    /// The body has ended; bytes after `consumed` belong to the next message.
    End {
        /// Framing bytes consumed.
        consumed: usize,
    },
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Length(u64),
    UntilClose,
    Line(ChunkLine),
    Data(u64),
    DataEnd { cr_seen: bool },
    Trailer { line_bytes: usize, cr_seen: bool },
    Done,
}

/// An incremental body decoder.
///
/// Call [`BodyDecoder::step`] with the unread bytes, take the content, advance by what was
/// consumed, and go on until [`Step::NeedMore`] or [`Step::End`].
#[derive(Debug)]
pub struct BodyDecoder {
    phase: Phase,
    limits: Limits,
    /// Extension bytes seen, less what the content seen allows for.
    overhead_bytes: u64,
    trailer: Vec<u8>,
    trailers: Fields,
}

impl BodyDecoder {
    /// A decoder for a body with this framing. Tunnels are followed until the connection ends.
    pub fn new(framing: Framing, limits: &Limits) -> Self {
        let phase = match framing {
            Framing::None | Framing::Length(0) => Phase::Done,
            Framing::Length(length) => Phase::Length(length),
            Framing::Chunked => Phase::Line(ChunkLine::default()),
            Framing::UntilClose | Framing::Tunnel => Phase::UntilClose,
        };
        Self {
            phase,
            limits: *limits,
            overhead_bytes: 0,
            trailer: Vec::new(),
            trailers: Fields::new(),
        }
    }

    /// Looks at the unread bytes of the connection.
    ///
    /// # Errors
    /// When the framing is broken. The connection can't be reused then.
    pub fn step(&mut self, buf: &[u8]) -> Result<Step, BadBody> {
        let mut at = 0;
        loop {
            let rest = buf.get(at..).unwrap_or_default();
            if matches!(self.phase, Phase::Done) {
                return Ok(Step::End { consumed: at });
            }
            if rest.is_empty() {
                return Ok(Step::NeedMore { consumed: at });
            }
            match self.phase {
                Phase::Done => {}
                Phase::UntilClose => {
                    return Ok(Step::Data {
                        skip: at,
                        len: rest.len(),
                    });
                }
                Phase::Length(left) => {
                    let len = fit(left, rest.len());
                    let left = left - len as u64;
                    self.phase = if left == 0 {
                        Phase::Done
                    } else {
                        Phase::Length(left)
                    };
                    return Ok(Step::Data { skip: at, len });
                }
                Phase::Data(left) => {
                    let len = fit(left, rest.len());
                    let left = left - len as u64;
                    self.phase = if left == 0 {
                        Phase::DataEnd { cr_seen: false }
                    } else {
                        Phase::Data(left)
                    };
                    return Ok(Step::Data { skip: at, len });
                }
                Phase::Line(line) => at += self.chunk_line(line, rest)?,
                Phase::DataEnd { cr_seen } => at += self.data_end(cr_seen, rest)?,
                Phase::Trailer {
                    line_bytes,
                    cr_seen,
                } => {
                    at += self.trailer_bytes(line_bytes, cr_seen, rest)?;
                }
            }
        }
    }

    /// The trailer fields, once the body has ended: without those that mean something about
    /// framing, routing, access, or the content (RFC 9110 §6.5.1).
    pub fn trailers(&self) -> &Fields {
        &self.trailers
    }

    /// Content bytes still to come, when that is known.
    pub fn remaining(&self) -> Option<u64> {
        match self.phase {
            Phase::Length(left) => Some(left),
            Phase::Done => Some(0),
            Phase::UntilClose
            | Phase::Line(_)
            | Phase::Data(_)
            | Phase::DataEnd { .. }
            | Phase::Trailer { .. } => None,
        }
    }

    /// Has the body ended, with all its framing?
    pub fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    /// The connection has ended: was that the end of the body?
    ///
    /// # Errors
    /// [`BadBody::Cut`] when more should have come.
    pub fn at_eof(&self) -> Result<(), BadBody> {
        match self.phase {
            Phase::Done | Phase::UntilClose => Ok(()),
            Phase::Length(_)
            | Phase::Line(_)
            | Phase::Data(_)
            | Phase::DataEnd { .. }
            | Phase::Trailer { .. } => Err(BadBody::Cut),
        }
    }

    fn chunk_line(&mut self, mut line: ChunkLine, rest: &[u8]) -> Result<usize, BadBody> {
        let relaxed = self.limits.relaxed.is_on();
        let Scan { bytes, size } = line.scan(rest, relaxed)?;
        self.phase = match size {
            None => Phase::Line(line),
            Some(size) => {
                let allowed = OVERHEAD_BYTES_PER_CHUNK + size / 2;
                let seen = self.overhead_bytes + u64::from(line.extension_bytes());
                self.overhead_bytes = seen.saturating_sub(allowed);
                if self.overhead_bytes > OVERHEAD_BYTES_MAX {
                    return Err(BadBody::TooMuchOverhead);
                }
                match size {
                    0 => Phase::Trailer {
                        line_bytes: 0,
                        cr_seen: false,
                    },
                    size => Phase::Data(size),
                }
            }
        };
        Ok(bytes)
    }

    fn data_end(&mut self, cr_seen: bool, rest: &[u8]) -> Result<usize, BadBody> {
        let (phase, bytes) = match (cr_seen, rest) {
            (false, [b'\r', b'\n', ..]) => (Phase::Line(ChunkLine::default()), 2),
            (false, [b'\r']) => (Phase::DataEnd { cr_seen: true }, 1),
            (true, [b'\n', ..]) => (Phase::Line(ChunkLine::default()), 1),
            _ => return Err(BadBody::LineEnd),
        };
        self.phase = phase;
        Ok(bytes)
    }

    /// Gathers trailer lines until the blank one; `line_bytes` counts the current line's.
    fn trailer_bytes(
        &mut self,
        line_bytes: usize,
        cr_seen: bool,
        rest: &[u8],
    ) -> Result<usize, BadBody> {
        let end = memchr::memchr(b'\n', rest).map(|at| at + 1);
        let part = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        if self.trailer.len() + part.len() > self.limits.head_bytes_max {
            return Err(BadBody::TrailerTooLarge);
        }
        let line_bytes = line_bytes + part.len();
        let ends_crlf = match part {
            [.., b'\r', b'\n'] => true,
            [b'\n'] => cr_seen,
            _ => false,
        };
        if end.is_some() && !ends_crlf {
            return Err(BadBody::LineEnd);
        }
        if end.is_some() && line_bytes == 2 {
            self.phase = Phase::Done;
            if !self.trailer.is_empty() {
                // When the blank line came in two parts, its CR is already there.
                self.trailer.extend_from_slice(part);
                self.finish_trailers()?;
            }
            return Ok(part.len());
        }
        // The CR of a blank line right after the last chunk is no trailer.
        let alone = self.trailer.is_empty() && part == b"\r";
        if !alone {
            if self.trailer.is_empty() && cr_seen {
                return Err(BadBody::LineEnd);
            }
            self.trailer.extend_from_slice(part);
        }
        self.phase = Phase::Trailer {
            line_bytes: if end.is_some() { 0 } else { line_bytes },
            cr_seen: part.ends_with(b"\r"),
        };
        Ok(part.len())
    }

    fn finish_trailers(&mut self) -> Result<(), BadBody> {
        let max = self.limits.fields_max;
        let found = parse_section(&self.trailer, max, LineEnds::Crlf, &mut self.trailers);
        match found {
            Ok(Some(section)) if section.bytes == self.trailer.len() => {}
            Err(BadLines::TooMany | BadLines::TooLarge) => return Err(BadBody::TrailerTooLarge),
            Ok(_) | Err(BadLines::Name | BadLines::Value | BadLines::End) => {
                return Err(BadBody::Trailer);
            }
        }
        self.trailers.retain(|line| may_trail(line.id));
        self.trailer = Vec::new();
        Ok(())
    }
}

/// May a field stand in trailers? Of the fields we know only those that change nothing that was
/// decided from the head.
fn may_trail(id: FieldId) -> bool {
    matches!(
        id,
        FieldId::Other
            | FieldId::ETag
            | FieldId::ContentDigest
            | FieldId::ContentMd5
            | FieldId::ReprDigest
            | FieldId::ServerTiming
    )
}

/// The smaller of both; a `u64` that doesn't fit a `usize` is the larger one.
fn fit(left: u64, len: usize) -> usize {
    usize::try_from(left).map_or(len, |left| left.min(len))
}

/// Feeds the bytes at once and in pieces: both give the same content, trailers and outcome, and
/// what was decoded survives being written and decoded again.
///
/// # Panics
/// When that isn't so.
pub fn fuzz(data: &[u8]) {
    use super::Relaxed;
    let limits = Limits {
        head_bytes_max: 4 << 10,
        fields_max: 100,
        relaxed: Relaxed::Off,
    };
    let (&seed, body) = data.split_first().unwrap_or((&0, b""));
    let whole = decode(body, &limits, usize::MAX);
    let pieces = decode(body, &limits, usize::from(seed % 7) + 1);
    let (whole, pieces) = (whole.ok(), pieces.ok());
    assert_eq!(whole, pieces, "cuts between reads change nothing");
    decode(
        body,
        &Limits {
            relaxed: Relaxed::On,
            ..limits
        },
        usize::MAX,
    )
    .ok();
    if let Some((content, trailers, consumed)) = whole {
        assert!(consumed <= body.len(), "no more bytes than there are");
        let mut written = Vec::new();
        if !content.is_empty() {
            super::write_chunk_head(content.len(), &mut written);
            written.extend_from_slice(&content);
            written.extend_from_slice(b"\r\n");
        }
        written.extend_from_slice(b"0\r\n");
        trailers.write_to(&mut written);
        written.extend_from_slice(b"\r\n");
        let limits = Limits {
            head_bytes_max: 8 << 10,
            ..limits
        };
        let length = written.len();
        assert_eq!(
            decode(&written, &limits, usize::MAX),
            Ok((content, trailers, length))
        );
    }
}

/// Decodes a chunked body that arrives in pieces of `piece` bytes.
fn decode(data: &[u8], limits: &Limits, piece: usize) -> Result<(Vec<u8>, Fields, usize), BadBody> {
    let mut decoder = BodyDecoder::new(Framing::Chunked, limits);
    let (mut content, mut read, mut filled) = (Vec::new(), 0, 0);
    loop {
        let buf = data.get(read..filled).unwrap_or_default();
        match decoder.step(buf)? {
            Step::Data { skip, len } => {
                content.extend_from_slice(buf.get(skip..skip + len).unwrap_or_default());
                read += skip + len;
            }
            Step::End { consumed } => {
                return Ok((content, decoder.trailers().clone(), read + consumed));
            }
            Step::NeedMore { consumed } => {
                read += consumed;
                assert_eq!(read, filled, "everything there was is consumed");
                if filled == data.len() {
                    return Err(decoder.at_eof().err().unwrap_or(BadBody::Cut));
                }
                filled = data.len().min(filled.saturating_add(piece));
            }
        }
    }
}

#[cfg(test)]
mod tests;
