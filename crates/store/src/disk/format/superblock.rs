//! The superblock: how a volume is divided, its secrets, and how far it was used. Two copies, the newer whole one counts.

use std::io;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::disk::device::Device;
use crate::disk::geometry::{BLOCK, Geometry};

/// Where the copies lie: blocks apart, as one write must not reach both.
const SUPERBLOCKS_AT: [u64; 2] = [0, 32 << 10];
const MAGIC: [u8; 8] = *b"SquallVo";
const FORMAT: u32 = 1;

/// What a superblock says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// Counts the superblocks of this volume; the highest is the newest.
    pub(crate) sequence: u64,
    pub(crate) geometry: Geometry,
    pub(crate) uuid: [u8; 16],
    /// Seeds the hash of keys, so that nobody outside can prepare keys that collide.
    pub(crate) secret: u64,
    /// How often the volume was opened; the upper part of every number given since.
    pub(crate) epoch: u64,
    /// Segments that were begun before this number hold nothing any more.
    pub(crate) watermark: u64,
    /// Whether it was closed in order, with a checkpoint of this number.
    pub(crate) clean: bool,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Raw {
    magic: [u8; 8],
    format: U32,
    crc: U32,
    granule_log2: u8,
    chunk_log2: u8,
    segment_log2: u8,
    clean: u8,
    segments: U32,
    uuid: [u8; 16],
    secret: U64,
    sequence: U64,
    epoch: U64,
    watermark: U64,
}

impl Superblock {
    /// Its bytes, a block.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut raw = Raw {
            magic: MAGIC,
            format: FORMAT.into(),
            crc: 0.into(),
            granule_log2: self.geometry.granule_log2,
            chunk_log2: self.geometry.chunk_log2,
            segment_log2: self.geometry.segment_log2,
            clean: u8::from(self.clean),
            segments: self.geometry.segments.into(),
            uuid: self.uuid,
            secret: self.secret.into(),
            sequence: self.sequence.into(),
            epoch: self.epoch.into(),
            watermark: self.watermark.into(),
        };
        raw.crc = checksum(&raw).into();
        let mut block = raw.as_bytes().to_vec();
        block.resize(BLOCK as usize, 0);
        block
    }

    /// From the bytes of a block, if they are whole.
    pub(crate) fn decode(block: &[u8]) -> Option<Self> {
        let (mut raw, _) = Raw::read_from_prefix(block).ok()?;
        let crc = std::mem::take(&mut raw.crc);
        let whole = raw.magic == MAGIC && raw.format == FORMAT && checksum(&raw) == crc.get();
        let geometry = Geometry {
            granule_log2: raw.granule_log2,
            chunk_log2: raw.chunk_log2,
            segment_log2: raw.segment_log2,
            segments: raw.segments.get(),
        };
        (whole && geometry.is_sound()).then(|| Self {
            sequence: raw.sequence.get(),
            geometry,
            uuid: raw.uuid,
            secret: raw.secret.get(),
            epoch: raw.epoch.get(),
            watermark: raw.watermark.get(),
            clean: raw.clean == 1,
        })
    }

    /// The newest whole copy.
    pub(crate) fn read(device: &Device) -> io::Result<Option<Self>> {
        let mut newest: Option<Self> = None;
        for at in SUPERBLOCKS_AT {
            let found = Self::decode(&device.read(at, BLOCK as usize)?);
            let older = newest.map_or(0, |newest| newest.sequence);
            newest = found.filter(|found| found.sequence > older).or(newest);
        }
        Ok(newest)
    }

    /// Writes it over the older copy, and waits for the disk.
    pub(crate) fn write(&self, device: &Device) -> io::Result<()> {
        let [even, odd] = SUPERBLOCKS_AT;
        let at = if self.sequence.is_multiple_of(2) {
            even
        } else {
            odd
        };
        device.write(at, &self.encode())?;
        device.sync()
    }

    /// What marks the chunks of this volume, so that those of an older one in the same place don't count.
    pub(crate) fn mark(&self) -> u64 {
        u64::from(crc32fast::hash(&self.uuid)) << 32 | self.secret & 0xffff_ffff
    }
}

fn checksum(raw: &Raw) -> u32 {
    crc32fast::hash(raw.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Geometry, Superblock};

    fn superblock() -> Superblock {
        Superblock {
            sequence: 7,
            geometry: Geometry::for_bytes(64 << 20).unwrap(),
            uuid: [9; 16],
            secret: 1 << 60 | 5,
            epoch: 3,
            watermark: 99,
            clean: true,
        }
    }

    #[test]
    fn what_was_written_is_read() {
        assert_eq!(
            Superblock::decode(&superblock().encode()),
            Some(superblock())
        );
        assert_eq!(Superblock::decode(&[]), None);
        assert_eq!(Superblock::decode(&[0; 4096]), None);
    }

    proptest! {
        /// No flipped bit in what is used goes unnoticed.
        #[test]
        fn a_flipped_bit_is_seen(at in 0usize..72, bit in 0u8..8) {
            let mut block = superblock().encode();
            block[at] ^= 1 << bit;
            prop_assert_eq!(Superblock::decode(&block), None);
        }
    }
}
