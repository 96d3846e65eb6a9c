//! Restores an index from its image, block by block, while the index is in use already.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use zerocopy::FromBytes as _;

use super::{BLOCK_BYTES, HEAD_BYTES, Head, Line, MAGIC, Title, block_at, checksum};
use crate::disk::index::Index;
use crate::disk::index::form::{Shape, Spot};
use crate::disk::index::place::{Place, Uses, Word};
use crate::sync::of_index::lock;

/// Lines that are restored without a pause for other writers.
const LINES_PER_PAUSE: usize = 64;

/// An image that an index is being restored from.
#[derive(Debug)]
pub struct ImageReader {
    title: Title,
    next_block: u32,
    lost_blocks: u32,
    block: Vec<u8>,
}

impl ImageReader {
    /// Begins to restore; `None` if the image is of an index of another size. The index gets the size
    /// that it had: places come in the order of their lines, so one that grew as they come would be full at one end.
    #[must_use]
    pub fn new(index: &Index, title: Title) -> Option<Self> {
        if title.eighth != index.form.eighth() || title.step > index.table.last_step() {
            return None;
        }
        index.grow_to(title.step);
        index.note_forgotten(title.forgotten);
        Some(Self {
            title,
            next_block: 0,
            lost_blocks: 0,
            block: vec![0; BLOCK_BYTES],
        })
    }

    /// Restores the next block; false if there is none left. `wanted` is asked for each place, by what is known of the
    /// hash of its key ([`Index::known_of`]): places of keys that were written or removed meanwhile are old, as are
    /// those in parts of the log that were written over.
    ///
    /// # Errors
    /// Those of reading. A block that isn't whole is left out, and counted.
    pub fn step(
        &mut self,
        index: &Index,
        file: &File,
        wanted: impl FnMut(u64, Place) -> bool,
    ) -> io::Result<bool> {
        if self.next_block >= self.title.blocks {
            return Ok(false);
        }
        let at = block_at(self.next_block);
        self.next_block += 1;
        let mut read = 0;
        // The last block is shorter.
        while let Some(rest) = self.block.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, at + read as u64)? {
                0 => break,
                bytes => read += bytes,
            }
        }
        let block = self.block.get(..read).unwrap_or_default();
        let Some((shape, lines)) = parse(block, self.title, index) else {
            self.lost_blocks += 1;
            return Ok(true);
        };
        restore(index, shape, lines, wanted);
        Ok(true)
    }

    /// Blocks that were not whole: what was in them is to be looked for in the log.
    #[must_use]
    pub fn lost_blocks(&self) -> u32 {
        self.lost_blocks
    }
}

/// Shape and lines of a block that is whole.
fn parse<'a>(block: &'a [u8], title: Title, index: &Index) -> Option<(Shape, &'a [Line])> {
    let (head, rest) = Head::ref_from_prefix(block).ok()?;
    let count = usize::try_from(head.lines.get()).ok()?;
    let (lines, _) = <[Line]>::ref_from_prefix_with_elems(rest, count).ok()?;
    let whole = block.get(..HEAD_BYTES + size_of_val(lines))?;
    let shape = Shape::of_bits(head.shape.get());
    let sound = head.magic == MAGIC
        && head.generation.get() == title.generation
        && head.checksum.get() == checksum(whole)
        && shape.is_sound(index.form, index.table.last_step());
    sound.then_some((shape, lines))
}

fn restore(
    index: &Index,
    shape: Shape,
    lines: &[Line],
    mut wanted: impl FnMut(u64, Place) -> bool,
) {
    for lines in lines.chunks(LINES_PER_PAUSE) {
        let _writing = lock(&index.writer);
        for line in lines {
            let number = usize::try_from(line.number.get()).unwrap_or(usize::MAX);
            if number >= index.form.lines(index.table.last_step()) {
                continue;
            }
            for (word, uses) in line.words.iter().zip(&line.uses) {
                let word = Word::of_bits(word.get());
                let spot = Spot {
                    line: number,
                    tag: word.tag(),
                };
                if !word.is_empty() && wanted(index.form.known_at(spot, shape).0[0], word.place()) {
                    index.restore(spot, shape, word.place(), Uses::of_bits(uses.get()));
                }
            }
        }
    }
}
