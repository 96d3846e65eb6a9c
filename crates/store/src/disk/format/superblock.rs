//! The superblock: how a volume is divided, its secrets, and how far it was used. Two copies, the newer whole one counts.

use std::io;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::disk::device::Device;
use crate::disk::geometry::{BLOCK, Geometry};

/// Where the copies lie: blocks apart, as one write must not reach both.
const SUPERBLOCKS_AT: [u64; 2] = [0, 32 << 10];
const MAGIC: [u8; 8] = *b"SquallVo";
const FORMAT: u32 = 2;
/// A volume may be opened so often, as numbers have 64 bits, of which 40 count what is done between.
const EPOCHS_MAX: u64 = 1 << 23;
pub(crate) const EPOCH_SHIFT: u32 = 40;

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
    /// The checkpoint that counts.
    pub(crate) image: Mark,
}

/// Up to where the log is in a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Counts the checkpoints; 0 if there is none.
    pub(crate) number: u64,
    /// Segments that were begun later hold nothing of what is in it.
    pub(crate) lsn: u64,
    /// The segments that were being filled.
    pub(crate) open: [Filled; 3],
}

/// A segment that was being filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filled {
    /// The number it was begun under; 0 if there was none.
    pub(crate) born: u64,
    /// Bytes of it that had been filled.
    pub(crate) filled: u32,
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
    reserved: u8,
    segments: U32,
    uuid: [u8; 16],
    secret: U64,
    sequence: U64,
    epoch: U64,
    watermark: U64,
    image_number: U64,
    image_lsn: U64,
    image_born: [U64; 3],
    image_filled: [U32; 3],
}

impl Raw {
    fn mark(&self) -> Mark {
        let mut open = [Filled::default(); 3];
        let raw = self.image_born.iter().zip(&self.image_filled);
        for (open, (born, filled)) in open.iter_mut().zip(raw) {
            *open = Filled {
                born: born.get(),
                filled: filled.get(),
            };
        }
        Mark {
            number: self.image_number.get(),
            lsn: self.image_lsn.get(),
            open,
        }
    }
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
            reserved: 0,
            segments: self.geometry.segments.into(),
            uuid: self.uuid,
            secret: self.secret.into(),
            sequence: self.sequence.into(),
            epoch: self.epoch.into(),
            watermark: self.watermark.into(),
            image_number: self.image.number.into(),
            image_lsn: self.image.lsn.into(),
            image_born: self.image.open.map(|open| open.born.into()),
            image_filled: self.image.open.map(|open| open.filled.into()),
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
        // They are counted on from here.
        let counts = [raw.sequence, raw.watermark, raw.image_number, raw.image_lsn];
        let countable =
            counts.iter().all(|count| count.get() < u64::MAX / 2) && raw.epoch.get() < EPOCHS_MAX;
        (whole && countable && geometry.is_sound()).then(|| Self {
            sequence: raw.sequence.get(),
            geometry,
            uuid: raw.uuid,
            secret: raw.secret.get(),
            epoch: raw.epoch.get(),
            watermark: raw.watermark.get(),
            image: raw.mark(),
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

    /// What chunks of this volume are known by, so that those of an older one in the same place don't count.
    pub(crate) fn chunk_mark(&self) -> u64 {
        u64::from(crc32fast::hash(&self.uuid)) << 32 | self.secret & 0xffff_ffff
    }
}

fn checksum(raw: &Raw) -> u32 {
    crc32fast::hash(raw.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Filled, Geometry, Mark, Raw, Superblock};

    fn superblock() -> Superblock {
        Superblock {
            sequence: 7,
            geometry: Geometry::for_bytes(64 << 20).unwrap(),
            uuid: [9; 16],
            secret: 1 << 60 | 5,
            epoch: 3,
            watermark: 99,
            image: Mark {
                number: 4,
                lsn: 1 << 50,
                open: [1, 2, 3].map(|born| Filled { born, filled: 9 }),
            },
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

    #[test]
    fn what_can_not_be_counted_on_is_refused() {
        let check = |change: fn(&mut Superblock)| {
            let mut superblock = superblock();
            change(&mut superblock);
            assert_eq!(Superblock::decode(&superblock.encode()), None);
        };
        check(|superblock| superblock.sequence = u64::MAX);
        check(|superblock| superblock.epoch = u64::MAX);
        check(|superblock| superblock.watermark = u64::MAX);
        check(|superblock| superblock.image.number = u64::MAX);
        check(|superblock| superblock.geometry.segment_log2 = 60);
        check(|superblock| superblock.geometry.segments = u32::MAX);
    }

    proptest! {
        /// No flipped bit in what is used goes unnoticed.
        #[test]
        fn a_flipped_bit_is_seen(at in 0usize..size_of::<Raw>(), bit in 0u8..8) {
            let mut block = superblock().encode();
            block[at] ^= 1 << bit;
            prop_assert_eq!(Superblock::decode(&block), None);
        }
    }
}
