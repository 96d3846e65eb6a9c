//! Where a line begins and ends, and whose it is.

use crate::chars;

/// Takes a helper's bytes in pieces and gives them back line by line.
#[derive(Debug)]
pub struct Lines {
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to here there is no end of that line.
    scanned: usize,
    terminator: u8,
    bytes_max: usize,
}

/// A line has more bytes than allowed, and may never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line without an end")]
pub struct TooLong;

impl Lines {
    /// Lines end in `terminator` and have `bytes_max` bytes at most before it.
    #[must_use]
    pub const fn new(terminator: u8, bytes_max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            scanned: 0,
            terminator,
            bytes_max,
        }
    }

    /// Takes what was read. Take out all lines before the next push, or memory isn't bounded.
    pub fn push(&mut self, piece: &[u8]) {
        self.bytes.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(piece);
    }

    /// The next whole line, without its terminator and a CR before an LF.
    ///
    /// # Errors
    /// When the line is too long, whole or not; there is no next line after it.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, TooLong> {
        let unseen = self.bytes.get(self.scanned..).unwrap_or_default();
        let found = memchr::memchr(self.terminator, unseen).map(|at| self.scanned + at);
        let end = found.unwrap_or(self.bytes.len());
        self.scanned = end;
        if end - self.start > self.bytes_max {
            return Err(TooLong);
        }
        if found.is_none() {
            return Ok(None);
        }
        let line = self.bytes.get(self.start..end).unwrap_or_default();
        self.start = end + 1;
        self.scanned = self.start;
        Ok(Some(match line.strip_suffix(b"\r") {
            Some(line) if self.terminator == b'\n' => line,
            _ => line,
        }))
    }

    /// Have bytes come that belong to no line yet?
    #[must_use]
    pub const fn has_rest(&self) -> bool {
        self.start < self.bytes.len()
    }
}

/// Takes the channel off an answer: digits, then a blank or the end. `None` when there is none.
#[must_use]
pub fn split_channel(line: &[u8]) -> Option<(usize, &[u8])> {
    let (digits, rest) = chars::split_once(line, b' ').unwrap_or((line, b""));
    let channel = usize::try_from(chars::decimal(digits)?).ok()?;
    Some((channel, rest))
}

/// Appends a question to what a helper shall read.
pub fn write_question(channel: Option<usize>, line: &[u8], terminator: u8, out: &mut Vec<u8>) {
    if let Some(channel) = channel {
        out.extend(channel.to_string().bytes());
        out.push(b' ');
    }
    out.extend_from_slice(line);
    out.push(terminator);
}
