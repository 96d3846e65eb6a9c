//! The line before a chunk's data: size, extensions, CRLF (RFC 9112 §7.1, §7.1.1).
//!
//! A byte at a time, so that a read may end anywhere in it. Extensions are checked and forgotten.

use super::BadBody;
use crate::chars;

/// Most bytes on a chunk line after the size.
const EXTENSION_BYTES_MAX: u32 = 4 << 10;

/// Most digits of a size, leading zeros included.
const DIGITS_MAX: u8 = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Size,
    /// White space after the size or after an extension: `;` has to follow.
    Gap,
    /// After `;`.
    NameStart,
    Name,
    /// White space after a name: `=` or `;` has to follow.
    NameGap,
    /// After `=`.
    ValueStart,
    Value,
    Quoted,
    Escape,
    /// After the closing quote.
    QuotedEnd,
    /// After CR.
    Lf,
}

/// What has been read of a chunk line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChunkLine {
    part: Part,
    digits: u8,
    size: u64,
    extension_bytes: u32,
}

/// How far a scan came; `size` when the line is complete.
pub(super) struct Scan {
    pub(super) bytes: usize,
    pub(super) size: Option<u64>,
}

impl ChunkLine {
    /// Bytes that stood between size and line end.
    pub(super) fn extension_bytes(&self) -> u32 {
        self.extension_bytes
    }

    /// Reads on from where the last scan ended.
    pub(super) fn scan(&mut self, buf: &[u8], relaxed: bool) -> Result<Scan, BadBody> {
        for (at, &byte) in buf.iter().enumerate() {
            if self.part == Part::Lf {
                return match byte {
                    b'\n' => Ok(Scan {
                        bytes: at + 1,
                        size: Some(self.size),
                    }),
                    _ => Err(BadBody::LineEnd),
                };
            }
            self.part = if self.part == Part::Size {
                self.size_byte(byte)?
            } else {
                self.extension_byte(byte, relaxed)?
            };
        }
        Ok(Scan {
            bytes: buf.len(),
            size: None,
        })
    }

    fn size_byte(&mut self, byte: u8) -> Result<Part, BadBody> {
        if let Some(digit) = char::from(byte).to_digit(16) {
            self.digits += 1;
            if self.digits > DIGITS_MAX {
                return Err(BadBody::ChunkSize);
            }
            // Sixteen digits fit 64 bits.
            self.size = self.size << 4 | u64::from(digit);
            return Ok(Part::Size);
        }
        if self.digits == 0 || i64::try_from(self.size).is_err() {
            return Err(BadBody::ChunkSize);
        }
        match byte {
            b'\r' => Ok(Part::Lf),
            b';' => Ok(Part::NameStart),
            b' ' | b'\t' => Ok(Part::Gap),
            b'\n' => Err(BadBody::LineEnd),
            _ => Err(BadBody::ChunkSize),
        }
    }

    fn extension_byte(&mut self, byte: u8, relaxed: bool) -> Result<Part, BadBody> {
        self.extension_bytes += 1;
        if self.extension_bytes > EXTENSION_BYTES_MAX {
            return Err(BadBody::ChunkExtension);
        }
        let is_tchar = chars::is_tchar(byte);
        Ok(match (self.part, byte) {
            (Part::Name | Part::NameGap | Part::Value | Part::QuotedEnd | Part::Gap, b';') => {
                Part::NameStart
            }
            (Part::Name | Part::Value | Part::QuotedEnd, b'\r') => Part::Lf,
            // Some origins pad the size with spaces up to a fixed width.
            (Part::Gap, b'\r') if relaxed => Part::Lf,
            (Part::Name | Part::NameGap, b'=') => Part::ValueStart,
            (Part::Name | Part::NameGap, b' ' | b'\t') => Part::NameGap,
            (Part::Value | Part::QuotedEnd | Part::Gap, b' ' | b'\t') => Part::Gap,
            (Part::NameStart | Part::ValueStart, b' ' | b'\t') => self.part,
            (Part::NameStart | Part::Name, _) if is_tchar => Part::Name,
            (Part::ValueStart | Part::Value, _) if is_tchar => Part::Value,
            (Part::ValueStart, b'"') => Part::Quoted,
            (Part::Quoted, b'"') => Part::QuotedEnd,
            (Part::Quoted, b'\\') => Part::Escape,
            (Part::Quoted | Part::Escape, _) if chars::is_field_value_byte(byte) => Part::Quoted,
            _ => return Err(BadBody::ChunkExtension),
        })
    }
}
