//! An index on disk: its checkpoint, from which it is restored after the machine was down.
//!
//! | part of the file | bytes |
//! | --- | --- |
//! | title: volume, generation, up to where the log is in it; written last | 4096 |
//! | blocks: a head of 64 bytes, then up to 10,081 lines as they are in memory, with their numbers | 1 MiB each |
//!
//! There are two such files, written in turn: the one of the higher generation that has a title counts. An image is
//! taken while the index is in use, block by block, as fast as the caller likes. What comes later than the LSN of the
//! title may be in it or not. What moves meanwhile may be in it twice; as a rule it moves up, to lines that are still to
//! come, and lines into which something fell back are taken again.

mod passage;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros as _, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::WAYS;
pub(super) use passage::Passage;
pub use reader::ImageReader;
pub use writer::ImageWriter;

const TITLE_BYTES: usize = 4096;
const BLOCK_BYTES: usize = 1 << 20;
const HEAD_BYTES: usize = size_of::<Head>();
const LINES_PER_BLOCK: usize = (BLOCK_BYTES - HEAD_BYTES) / size_of::<Line>();
/// "squall", then "index", then a number that changes with the meaning of any byte.
const MAGIC: [u8; 12] = *b"squallindex\x02";

#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct TitleBytes {
    magic: [u8; 12],
    /// Of all that follows.
    checksum: U32,
    volume: [u8; 16],
    generation: U64,
    lsn: U64,
    places: U64,
    blocks: U32,
    eighth: U32,
    step: U32,
    reserved: U32,
    /// See [`Index::forgotten`](super::Index::forgotten).
    forgotten: U64,
}

#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Head {
    magic: [u8; 12],
    /// Of all that follows, the lines included.
    checksum: U32,
    /// That of the title, so that no block of a former image is taken for one of this.
    generation: U64,
    shape: U64,
    lines: U32,
    reserved: [u8; 28],
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Line {
    number: U64,
    words: [U64; WAYS],
    uses: [U32; WAYS],
}

/// What the title of an image says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Title {
    /// Larger with each image of the volume.
    pub generation: u64,
    /// All of the log up to there is in it.
    pub lsn: u64,
    /// About so many places.
    pub places: u64,
    blocks: u32,
    eighth: u32,
    step: u32,
    forgotten: u64,
}

impl Title {
    /// Of a file with a whole image of this volume.
    ///
    /// # Errors
    /// Those of reading. A file that holds no such image is none: `None`.
    pub fn read(file: &File, volume: &[u8; 16]) -> io::Result<Option<Self>> {
        let mut bytes = TitleBytes::new_zeroed();
        match file.read_exact_at(bytes.as_mut_bytes(), 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let sound = bytes.magic == MAGIC
            && bytes.checksum.get() == checksum(bytes.as_bytes())
            && bytes.volume == *volume;
        Ok(sound.then(|| Self {
            generation: bytes.generation.get(),
            lsn: bytes.lsn.get(),
            places: bytes.places.get(),
            blocks: bytes.blocks.get(),
            eighth: bytes.eighth.get(),
            step: bytes.step.get(),
            forgotten: bytes.forgotten.get(),
        }))
    }

    fn bytes(self, volume: &[u8; 16]) -> TitleBytes {
        let mut bytes = TitleBytes {
            magic: MAGIC,
            checksum: U32::ZERO,
            volume: *volume,
            generation: self.generation.into(),
            lsn: self.lsn.into(),
            places: self.places.into(),
            blocks: self.blocks.into(),
            eighth: self.eighth.into(),
            step: self.step.into(),
            reserved: U32::ZERO,
            forgotten: self.forgotten.into(),
        };
        bytes.checksum = checksum(bytes.as_bytes()).into();
        bytes
    }
}

/// Of what comes after the checksum itself.
fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes.get(16..).unwrap_or_default())
}

fn block_at(block: u32) -> u64 {
    TITLE_BYTES as u64 + u64::from(block) * BLOCK_BYTES as u64
}
