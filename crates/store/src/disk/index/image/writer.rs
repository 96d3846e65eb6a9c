//! Takes the image of an index that is in use, block by block.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use zerocopy::IntoBytes as _;
use zerocopy::little_endian::U32;

use super::{BLOCK_BYTES, HEAD_BYTES, Head, LINES_PER_BLOCK, MAGIC, TITLE_BYTES, Title};
use super::{block_at, checksum};
use crate::disk::index::table::Slot;
use crate::disk::index::{Index, WAYS};
use crate::sync::of_index::lock;

/// An image that is being written.
#[derive(Debug)]
pub struct ImageWriter {
    title: Title,
    block: Vec<u8>,
}

impl ImageWriter {
    /// Begins one that says that it holds all of the log up to `lsn`, as the index does by now. One at a time.
    #[must_use]
    pub fn new(index: &Index, generation: u64, lsn: u64) -> Self {
        index.passage.begin();
        Self {
            title: Title {
                generation,
                lsn,
                places: 0,
                blocks: 0,
                eighth: index.form.eighth(),
                step: 0,
                forgotten: 0,
            },
            block: Vec::with_capacity(BLOCK_BYTES),
        }
    }

    /// Writes the next block, at most 1 MiB; false if there is none left.
    ///
    /// # Errors
    /// Those of writing. The image is then of no use, and the file as good as empty.
    pub fn step(&mut self, index: &Index, file: &File) -> io::Result<bool> {
        if !self.take(index) {
            return Ok(false);
        }
        file.write_all_at(&self.block, block_at(self.title.blocks))?;
        self.title.blocks += 1;
        Ok(true)
    }

    /// Makes the image count, once all of its blocks are on the disk.
    ///
    /// # Errors
    /// Those of writing and of fdatasync(2).
    pub fn finish(mut self, index: &Index, volume: &[u8; 16], file: &File) -> io::Result<Title> {
        index.passage.end();
        let shape = index.table.shape();
        let growing = shape.frontier < index.form.buckets(shape.step);
        self.title.step = shape.step + u32::from(growing);
        self.title.places = index.len() as u64;
        self.title.forgotten = index.forgotten();
        file.sync_data()?;
        let mut page = self.title.bytes(volume).as_bytes().to_vec();
        page.resize(TITLE_BYTES, 0);
        file.write_all_at(&page, 0)?;
        file.sync_data()?;
        Ok(self.title)
    }

    /// Makes a block of the next lines, all of one shape: nobody else writes meanwhile, which is half a millisecond.
    fn take(&mut self, index: &Index) -> bool {
        self.block.clear();
        self.block.resize(HEAD_BYTES, 0);
        let writing = lock(&index.writer);
        let lines = index.passage.advance(index.table.lines(), LINES_PER_BLOCK);
        for line in &lines {
            self.take_line(index, *line);
        }
        let shape = index.table.shape();
        drop(writing);
        let mut head = Head {
            magic: MAGIC,
            checksum: U32::ZERO,
            generation: self.title.generation.into(),
            shape: shape.bits().into(),
            lines: u32::try_from(lines.len()).unwrap_or(0).into(),
            reserved: [0; 28],
        };
        self.set_head(&head);
        head.checksum = checksum(&self.block).into();
        self.set_head(&head);
        !lines.is_empty()
    }

    fn take_line(&mut self, index: &Index, line: usize) {
        let number = line as u64;
        self.block.extend_from_slice(&number.to_le_bytes());
        for slot in index.table.line(line) {
            let word = slot.load(Acquire);
            self.block.extend_from_slice(&word.to_le_bytes());
        }
        for way in 0..WAYS {
            let uses = index.table.uses(Slot { line, way });
            let uses = uses.map_or(0, |uses| uses.load(Relaxed));
            self.block.extend_from_slice(&uses.to_le_bytes());
        }
    }

    fn set_head(&mut self, head: &Head) {
        if let Some(bytes) = self.block.first_chunk_mut::<HEAD_BYTES>() {
            head.write_to(bytes).expect("of the size of a head");
        }
    }
}
