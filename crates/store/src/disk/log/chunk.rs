//! A chunk in memory: open, then sealed, until it is in the file.

use bytes::Bytes;

use crate::disk::format::{ChunkHead, Draft, ENTRY, Entry, HEAD, write_table};
use crate::disk::geometry::{Geometry, narrow};

/// A chunk that records are added to.
#[derive(Debug)]
pub(crate) struct OpenChunk {
    segment: u32,
    born: u64,
    /// Where it begins in its segment.
    at: u32,
    capacity: usize,
    bytes: Vec<u8>,
    table: Vec<Entry>,
    /// Whether a tick has seen it; the next one seals it.
    pub(super) aged: bool,
}

impl OpenChunk {
    pub(super) fn new(geometry: &Geometry, segment: u32, born: u64, at: u32) -> Self {
        let capacity = geometry.chunk().min(geometry.segment() - at) as usize;
        let mut bytes = Vec::with_capacity(capacity);
        bytes.resize(HEAD, 0);
        Self {
            segment,
            born,
            at,
            capacity,
            bytes,
            table: Vec::new(),
            aged: false,
        }
    }

    pub(super) fn segment(&self) -> u32 {
        self.segment
    }

    /// Whether a record of so many bytes fits in, with its line in the table.
    pub(super) fn fits(&self, geometry: &Geometry, record_bytes: usize) -> bool {
        let records = geometry.align(self.bytes.len()) + record_bytes;
        records + (self.table.len() + 1) * ENTRY <= self.capacity
    }

    /// Writes a record, which fits; returns where in the segment it begins.
    pub(super) fn push(
        &mut self,
        geometry: &Geometry,
        draft: &Draft<'_>,
        lsn: u64,
        frequency: u8,
    ) -> u32 {
        let at = geometry.align(self.bytes.len());
        self.bytes.resize(at, 0);
        draft.write(lsn, self.born, &mut self.bytes);
        self.table.push(Entry {
            hash: draft.hash(),
            lsn,
            at: narrow(at),
            bytes: narrow(draft.bytes()),
            expires: draft.expires(),
            kind: draft.kind(),
            frequency,
        });
        self.at + narrow(at)
    }

    /// Up to `count` bytes of it, from `within` its segment on.
    pub(super) fn copy(&self, segment: u32, within: u32, count: u32) -> Option<Bytes> {
        let from = within
            .checked_sub(self.at)
            .filter(|_| segment == self.segment)? as usize;
        let rest = self.bytes.get(from..).filter(|rest| !rest.is_empty())?;
        let part = rest.get(..count as usize).unwrap_or(rest);
        Some(Bytes::copy_from_slice(part))
    }

    pub(super) fn seal(mut self, mark: u64) -> Sealed {
        let (table_at, table_crc) = write_table(&mut self.bytes, &self.table);
        let head = ChunkHead {
            mark,
            born: self.born,
            segment: self.segment,
            at: self.at,
            bytes: narrow(self.bytes.len()),
            table_at,
            entries: narrow(self.table.len()),
            table_crc,
        };
        if let Some(place) = self.bytes.first_chunk_mut() {
            *place = head.encode();
        }
        Sealed {
            segment: self.segment,
            at: self.at,
            bytes: self.bytes.into(),
            table: self.table,
        }
    }
}

/// A chunk on its way to the disk.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) segment: u32,
    pub(crate) at: u32,
    pub(crate) bytes: Bytes,
    pub(crate) table: Vec<Entry>,
}

impl Sealed {
    /// Where in its segment it ends.
    pub(crate) fn end(&self) -> u32 {
        self.at + narrow(self.bytes.len())
    }

    pub(super) fn slice(&self, segment: u32, within: u32, count: u32) -> Option<Bytes> {
        let from = within
            .checked_sub(self.at)
            .filter(|_| segment == self.segment)? as usize;
        let to = self.bytes.len().min(from.saturating_add(count as usize));
        (from < to).then(|| self.bytes.slice(from..to))
    }
}
