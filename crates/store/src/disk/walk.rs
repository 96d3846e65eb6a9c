//! The tables of segments, as they lie in the file: what recovery, the reclaimer and a survey read instead of records.

use std::time::Duration;

use super::engine::Engine;
use super::format::{ChunkHead, Entry, entries};
use super::geometry::{BLOCK, Geometry};
use crate::sync::sleep;

/// How long to wait before a table that doesn't check is read again.
const PAUSE: Duration = Duration::from_millis(20);

/// What lies in a segment, in order.
#[derive(Debug)]
pub(super) enum Met {
    Chunk(ChunkHead, Vec<Entry>),
    /// A chunk whose table can't be read, or of which not even the head can: at this offset in the segment.
    Damaged(u32),
}

/// A way through the segments of a volume.
#[derive(Debug)]
pub(super) struct Walk<'w, R> {
    pub(super) geometry: &'w Geometry,
    /// The volume's [`chunk_mark`](super::format::Superblock::chunk_mark).
    pub(super) mark: u64,
    /// How often a table is read that doesn't check, as it may be one that is just being written.
    pub(super) tries: usize,
    /// Reads so many bytes from an offset of the file on: fewer where it ends, none where the disk fails.
    pub(super) read: R,
}

impl Engine {
    /// A way through a volume that nobody but us writes to.
    pub(super) fn walk(&self) -> Walk<'_, impl Fn(u64, usize) -> Vec<u8>> {
        Walk {
            geometry: &self.geometry,
            mark: self.mark,
            tries: 1,
            read: |at, bytes| {
                let read = self.device.read(at, bytes);
                self.note_read(read).unwrap_or_default()
            },
        }
    }
}

impl<R: Fn(u64, usize) -> Vec<u8>> Walk<'_, R> {
    /// The number under which a segment was begun last.
    pub(super) fn born(&self, number: u32) -> Option<u64> {
        let first = self.block(number, 0);
        if first.iter().all(|byte| *byte == 0) {
            return None;
        }
        if let Some(head) = self.decode(number, 0, &first) {
            return Some(head.born);
        }
        // Its first chunk is damaged; there may be others.
        let blocks = (0..self.geometry.segment()).step_by(BLOCK as usize);
        let heads = blocks.filter_map(|at| self.decode(number, at, &self.block(number, at)));
        heads.map(|head| head.born).max()
    }

    /// Shows the chunks of a segment, those of its last use; says where the last of them ends. Where there is none, the
    /// next block may begin one again.
    pub(super) fn each_chunk(&self, number: u32, born: u64, mut show: impl FnMut(Met)) -> u32 {
        let (mut at, mut end, mut gap) = (0, 0, None);
        let mut next = self.block(number, 0);
        while at < self.geometry.segment() {
            let head = self.decode(number, at, &next);
            let Some(head) = head.filter(|head| head.born == born) else {
                gap = gap.or(Some(at));
                at += BLOCK;
                next = self.block(number, at);
                continue;
            };
            // A segment is filled from its beginning on: before a chunk there was another one.
            if let Some(gap) = gap.take() {
                show(Met::Damaged(gap));
            }
            let (table, after) = self.table(number, &head);
            show(match table {
                Some(entries) => Met::Chunk(head, entries),
                None => Met::Damaged(at),
            });
            at += head.bytes;
            end = at;
            next = after;
        }
        end
    }

    /// The table of a chunk, if it checks, and the block after it, which is the next chunk's first.
    fn table(&self, number: u32, head: &ChunkHead) -> (Option<Vec<Entry>>, Vec<u8>) {
        let at = self.geometry.offset(number, head.at + head.table_at);
        let rest = (head.bytes - head.table_at) as usize;
        let mut tried = 1;
        loop {
            let read = (self.read)(at, rest + BLOCK as usize);
            let table = read.get(..head.table_bytes());
            let entries = table.and_then(|table| entries(table, head));
            if entries.is_some() || tried >= self.tries {
                let after = read.get(rest..).unwrap_or_default();
                return (entries, after.to_vec());
            }
            tried += 1;
            sleep(PAUSE);
        }
    }

    fn block(&self, number: u32, at: u32) -> Vec<u8> {
        (self.read)(self.geometry.offset(number, at), BLOCK as usize)
    }

    fn decode(&self, number: u32, at: u32, block: &[u8]) -> Option<ChunkHead> {
        let head = ChunkHead::decode(block, self.geometry, self.mark)?;
        (head.segment == number && head.at == at).then_some(head)
    }
}
