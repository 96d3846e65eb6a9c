//! The tables of all segments, as they lie in the file.

use std::thread::sleep;
use std::time::Duration;

use crate::disk::device::Device;
use crate::disk::format::{ChunkHead, Entry, Superblock, entries};
use crate::disk::geometry::{BLOCK, Geometry};

/// A table that doesn't check may be one that is just being written.
const TRIES: usize = 3;
const PAUSE: Duration = Duration::from_millis(20);

/// What lies in a segment, in order.
pub(super) enum Met {
    Chunk(ChunkHead, Vec<Entry>),
    /// A chunk whose table can't be read, or of which not even the head can: at this offset in the segment.
    Damaged(u32),
}

/// A volume's file, and how it is divided.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) device: Device,
    pub(super) geometry: Geometry,
    mark: u64,
}

impl Ground {
    pub(super) fn new(device: Device, superblock: &Superblock) -> Self {
        Self {
            device,
            geometry: superblock.geometry,
            mark: superblock.chunk_mark(),
        }
    }

    /// The number under which a segment was begun last.
    pub(super) fn born(&self, number: u32) -> Option<u64> {
        let first = self.read(number, 0, BLOCK);
        if first.iter().all(|byte| *byte == 0) {
            return None;
        }
        if let Some(head) = self.decode(number, 0, &first) {
            return Some(head.born);
        }
        // Its first chunk is damaged; there may be others.
        let blocks = (0..self.geometry.segment()).step_by(BLOCK as usize);
        let heads = blocks.filter_map(|at| self.decode(number, at, &self.read(number, at, BLOCK)));
        heads.map(|head| head.born).max()
    }

    /// Shows the chunks of a segment, those of its last use.
    pub(super) fn each_chunk(&self, number: u32, born: u64, mut show: impl FnMut(Met)) {
        let (mut at, mut gap) = (0, None);
        while at < self.geometry.segment() {
            let block = self.read(number, at, BLOCK);
            let head = self.decode(number, at, &block);
            let Some(head) = head.filter(|head| head.born == born) else {
                gap = gap.or(Some(at));
                at += BLOCK;
                continue;
            };
            // A segment is filled from its beginning on: before a chunk there was another one.
            if let Some(gap) = gap.take() {
                show(Met::Damaged(gap));
            }
            show(match self.table(number, &head) {
                Some(entries) => Met::Chunk(head, entries),
                None => Met::Damaged(at),
            });
            at += head.bytes;
        }
    }

    fn table(&self, number: u32, head: &ChunkHead) -> Option<Vec<Entry>> {
        let bytes = head.bytes - head.table_at;
        (0..TRIES).find_map(|tried| {
            if tried > 0 {
                sleep(PAUSE);
            }
            let read = self.read(number, head.at + head.table_at, bytes);
            entries(read.get(..head.table_bytes())?, head)
        })
    }

    /// Up to so many bytes of a segment; none where the disk fails.
    pub(super) fn read(&self, number: u32, within: u32, bytes: u32) -> Vec<u8> {
        let at = self.geometry.offset(number, within);
        self.device.read(at, bytes as usize).unwrap_or_default()
    }

    fn decode(&self, number: u32, at: u32, block: &[u8]) -> Option<ChunkHead> {
        let head = ChunkHead::decode(block, &self.geometry, self.mark)?;
        (head.segment == number && head.at == at).then_some(head)
    }
}
