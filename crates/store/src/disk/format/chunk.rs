//! A chunk's head, and the table of its records: what recovery and the reclaimer read instead of the records.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::record::Kind;
use super::{ENTRY, HEAD};
use crate::disk::geometry::{BLOCK, Geometry, narrow};

const MAGIC: u32 = u32::from_le_bytes(*b"SqCh");

/// What a chunk's head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHead {
    /// The volume's [`chunk_mark`](super::Superblock::chunk_mark).
    pub(crate) mark: u64,
    /// The number under which its segment was begun.
    pub(crate) born: u64,
    pub(crate) segment: u32,
    /// Where it begins in its segment.
    pub(crate) at: u32,
    /// Its bytes, up to the next block.
    pub(crate) bytes: u32,
    /// Where in it the table begins.
    pub(crate) table_at: u32,
    pub(crate) entries: u32,
    pub(crate) table_crc: u32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Raw {
    magic: U32,
    crc: U32,
    mark: U64,
    born: U64,
    segment: U32,
    at: U32,
    bytes: U32,
    table_at: U32,
    entries: U32,
    table_crc: U32,
    reserved: [u8; 16],
}

impl ChunkHead {
    pub(crate) fn encode(&self) -> [u8; HEAD] {
        let mut raw = Raw {
            magic: MAGIC.into(),
            crc: 0.into(),
            mark: self.mark.into(),
            born: self.born.into(),
            segment: self.segment.into(),
            at: self.at.into(),
            bytes: self.bytes.into(),
            table_at: self.table_at.into(),
            entries: self.entries.into(),
            table_crc: self.table_crc.into(),
            reserved: [0; 16],
        };
        raw.crc = crc32fast::hash(raw.as_bytes()).into();
        zerocopy::transmute!(raw)
    }

    /// From the bytes at `at` of `segment`, if a whole head of this volume is there.
    pub(crate) fn decode(bytes: &[u8], geometry: &Geometry, mark: u64) -> Option<Self> {
        let (mut raw, _) = Raw::read_from_prefix(bytes).ok()?;
        let crc = std::mem::take(&mut raw.crc);
        let ours = raw.magic.get() == MAGIC && raw.mark.get() == mark;
        if !ours || crc32fast::hash(raw.as_bytes()) != crc.get() {
            return None;
        }
        let head = Self {
            mark,
            born: raw.born.get(),
            segment: raw.segment.get(),
            at: raw.at.get(),
            bytes: raw.bytes.get(),
            table_at: raw.table_at.get(),
            entries: raw.entries.get(),
            table_crc: raw.table_crc.get(),
        };
        head.is_sound(geometry).then_some(head)
    }

    fn is_sound(&self, geometry: &Geometry) -> bool {
        let table_end = self.table_at as usize + self.table_bytes();
        self.born < u64::MAX / 2
            && self.at.is_multiple_of(BLOCK)
            && self.bytes.is_multiple_of(BLOCK)
            && self.bytes > 0
            && u64::from(self.at) + u64::from(self.bytes) <= u64::from(geometry.segment())
            && table_end <= self.bytes as usize
    }

    pub(crate) fn table_bytes(&self) -> usize {
        (self.entries as usize).saturating_mul(ENTRY)
    }
}

/// One record in a chunk's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) hash: u64,
    /// The number of the record; of one key, the highest counts.
    pub(crate) lsn: u64,
    /// Where in the chunk it begins, in bytes.
    pub(crate) at: u32,
    /// Its bytes, head included.
    pub(crate) bytes: u32,
    pub(crate) expires: u32,
    pub(crate) kind: Kind,
    /// The weight of its uses when it was written again; 0 when it was new.
    pub(crate) frequency: u8,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawEntry {
    hash: U64,
    lsn: U64,
    at: U32,
    bytes: U32,
    expires: U32,
    kind: u8,
    frequency: u8,
    reserved: [u8; 2],
}

/// Writes the table of `entries` after the records in `chunk`, fills the chunk up to a block, and returns where the table
/// begins with its checksum.
pub(crate) fn write_table(chunk: &mut Vec<u8>, entries: &[Entry]) -> (u32, u32) {
    let table_at = chunk.len();
    for entry in entries {
        let raw = RawEntry {
            hash: entry.hash.into(),
            lsn: entry.lsn.into(),
            at: entry.at.into(),
            bytes: entry.bytes.into(),
            expires: entry.expires.into(),
            kind: entry.kind as u8,
            frequency: entry.frequency,
            reserved: [0; 2],
        };
        chunk.extend_from_slice(raw.as_bytes());
    }
    let table = chunk.get(table_at..).unwrap_or_default();
    let crc = crc32fast::hash(table);
    chunk.resize(chunk.len().next_multiple_of(BLOCK as usize), 0);
    (narrow(table_at), crc)
}

/// The entries of a table, if its bytes are whole. Those of a kind we don't know are left out.
pub(crate) fn entries(table: &[u8], head: &ChunkHead) -> Option<Vec<Entry>> {
    if crc32fast::hash(table) != head.table_crc {
        return None;
    }
    let rows = table.chunks_exact(ENTRY);
    Some(rows.filter_map(|row| entry(row, head)).collect())
}

fn entry(row: &[u8], head: &ChunkHead) -> Option<Entry> {
    let raw = RawEntry::read_from_bytes(row).ok()?;
    let (at, bytes) = (raw.at.get(), raw.bytes.get());
    let within = at.checked_add(bytes)? <= head.table_at && bytes as usize >= HEAD;
    within.then_some(Entry {
        hash: raw.hash.get(),
        lsn: raw.lsn.get(),
        at,
        bytes,
        expires: raw.expires.get(),
        kind: Kind::of(raw.kind)?,
        frequency: raw.frequency,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ChunkHead, ENTRY, Entry, Geometry, HEAD, Kind, entries, write_table};

    const MARK: u64 = 77;

    fn geometry() -> Geometry {
        Geometry::for_bytes(1 << 20).unwrap()
    }

    fn chunk(rows: &[Entry]) -> Vec<u8> {
        let mut chunk = vec![7; 8192];
        let (table_at, table_crc) = write_table(&mut chunk, rows);
        let head = ChunkHead {
            mark: MARK,
            born: 5,
            segment: 3,
            at: 4096,
            bytes: u32::try_from(chunk.len()).unwrap(),
            table_at,
            entries: u32::try_from(rows.len()).unwrap(),
            table_crc,
        };
        chunk[..HEAD].copy_from_slice(&head.encode());
        chunk
    }

    fn read(chunk: &[u8]) -> Option<Vec<Entry>> {
        let head = ChunkHead::decode(chunk, &geometry(), MARK)?;
        let at = head.table_at as usize;
        entries(chunk.get(at..at + head.table_bytes())?, &head)
    }

    fn rows() -> impl Strategy<Value = Vec<Entry>> {
        let kinds = prop_oneof![
            Just(Kind::Whole),
            Just(Kind::Fragment),
            Just(Kind::Tombstone)
        ];
        let row = (
            any::<u64>(),
            any::<u64>(),
            64u32..4096,
            64u32..4096,
            any::<u32>(),
            kinds,
            0u8..16,
        );
        let row = row.prop_map(|(hash, lsn, at, bytes, expires, kind, frequency)| Entry {
            hash,
            lsn,
            at,
            bytes,
            expires,
            kind,
            frequency,
        });
        prop::collection::vec(row, 0..20)
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(rows in rows()) {
            let chunk = chunk(&rows);
            prop_assert_eq!(chunk.len() % 4096, 0);
            prop_assert_eq!(read(&chunk), Some(rows));
        }

        /// Nothing is read from a head or a table with a flipped bit.
        #[test]
        fn a_flipped_bit_is_seen(rows in rows(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut chunk = chunk(&rows);
            let used: Vec<usize> = (0..HEAD).chain(8192..8192 + rows.len() * ENTRY).collect();
            chunk[used[at.index(used.len())]] ^= 1 << bit;
            prop_assert_eq!(read(&chunk), None);
        }

        /// Any bytes whatever are read without harm, and nothing is made of them.
        #[test]
        fn hostile_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
            prop_assert_eq!(read(&bytes), None);
        }
    }

    #[test]
    fn a_chunk_of_another_volume_does_not_count() {
        assert_eq!(ChunkHead::decode(&chunk(&[]), &geometry(), MARK + 1), None);
    }
}
