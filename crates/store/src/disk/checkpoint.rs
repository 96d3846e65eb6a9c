//! Checkpoints: images of the index beside the log, written in turn to two files, and how one is found again.
//!
//! A checkpoint is made of a mark (a number, and how far the open segments were filled) and the image taken after it. What
//! was written up to the mark is in the image, or was replaced since; what was written after it is read from the tables of
//! the log. The superblock says which mark counts; it is written last.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::engine::Engine;
use super::format::Mark;
use super::index::{ImageReader, ImageWriter, Place, Title};
use super::log::{Phase, Run};
use super::options::VolumeOptions;
use crate::sync::{PoisonError, lock};
use crate::usage::count;

/// A checkpoint is taken when so much has been written since the last, or an eighth of the log.
const BYTES_BETWEEN: u64 = 1 << 30;
/// How long to rest after each MiB of an image, so that it disturbs nobody.
const REST: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 20 });
/// How long to wait for what was stored before the mark.
const FLUSH_MAX: Duration = Duration::from_secs(10);

/// The life of the thread that takes checkpoints.
pub(crate) fn run(engine: &Engine) {
    let between = BYTES_BETWEEN.min(engine.geometry.log_bytes() / 8);
    let mut last = 0;
    loop {
        let written = || engine.counters.bytes_written.load(Relaxed);
        let waited = engine.progress.wait_while(engine.log(), |log| {
            let due = log.phase == Phase::Serving && written() >= last + between;
            log.run == Run::On && !due
        });
        let log = waited.unwrap_or_else(PoisonError::into_inner);
        let on = log.run == Run::On && !engine.is_down();
        drop(log);
        if !on {
            return;
        }
        last = written();
        // If it can't be taken, the last one still counts, and more of the log is read some day.
        let taken = take(engine, REST, || engine.log().run == Run::On);
        if engine.note_write(taken).is_none() {
            count(&engine.counters.images_failed);
        }
    }
}

/// Takes a checkpoint at once, unless the index lacks something.
pub(crate) fn take_last(engine: &Engine) -> io::Result<()> {
    if engine.log().phase == Phase::Serving {
        take(engine, Duration::ZERO, || true)
    } else {
        Ok(())
    }
}

fn take(engine: &Engine, rest: Duration, on: impl Fn() -> bool) -> io::Result<()> {
    let _alone = lock(&engine.imaging);
    let Some(paths) = engine.options.image_paths() else {
        return Ok(());
    };
    let mark = loop {
        if !on() {
            return Ok(());
        }
        // Others may fill the room again before the second stream is sealed.
        if let Ok(mark) = engine.log_with_room().mark() {
            break mark;
        }
    };
    if !engine.write_out(FLUSH_MAX) {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let number = engine.superblock().image.number + 1;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path_of(&paths, number))?;
    let mut image = ImageWriter::new(&engine.index, number, mark.lsn);
    while image.step(&engine.index, &file)? {
        if !on() {
            return Ok(());
        }
        engine.rest(rest);
    }
    image.finish(&engine.index, &engine.superblock().uuid, &file)?;
    engine.write_superblock(|superblock| superblock.image = Mark { number, ..mark })?;
    count(&engine.counters.images);
    Ok(())
}

/// Restores what the image has that wasn't met in the log since. `false` if something is missing: then all of the log has
/// to be read.
pub(crate) fn restore(engine: &Engine, image: &Image) -> bool {
    let Some(mut reader) = ImageReader::new(&engine.index, image.title) else {
        return false;
    };
    loop {
        let step = reader.step(&engine.index, &image.file, |known, place| {
            image.holds(engine, place) && !engine.has_met(known)
        });
        match engine.note_read(step) {
            Some(true) if engine.log().run == Run::On => {}
            Some(true) => return true,
            Some(false) => return reader.lost_blocks() == 0,
            None => return false,
        }
    }
}

/// An image that counts.
#[derive(Debug)]
pub(crate) struct Image {
    file: File,
    title: Title,
    mark: Mark,
}

impl Image {
    /// The one that the superblock names; none, if it isn't there any more.
    pub(crate) fn open(engine: &Engine) -> Option<Self> {
        let superblock = engine.superblock();
        let mark = superblock.image;
        let paths = engine.options.image_paths().filter(|_| mark.number > 0)?;
        let file = File::open(path_of(&paths, mark.number)).ok()?;
        let title = engine.note_read(Title::read(&file, &superblock.uuid))??;
        (title.lsn == mark.lsn && title.generation == mark.number).then_some(Self {
            file,
            title,
            mark,
        })
    }

    /// The number that it was marked with.
    pub(crate) fn lsn(&self) -> u64 {
        self.mark.lsn
    }

    /// Where in a segment begins what isn't in the image.
    pub(crate) fn tail(&self, engine: &Engine, segment: u32) -> u32 {
        let born = engine.segments.born(segment);
        let open = self.mark.open.iter().find(|open| open.born == born);
        match open {
            Some(open) => open.filled,
            None if born > self.mark.lsn => 0,
            None => engine.geometry.segment(),
        }
    }

    /// Whether what the image says of this place is still so.
    fn holds(&self, engine: &Engine, place: Place) -> bool {
        let located = engine.geometry.locate(place.granule);
        located.is_some_and(|(segment, within)| {
            engine.segments.born(segment) != 0 && within < self.tail(engine, segment)
        })
    }
}

fn path_of(paths: &[PathBuf; 2], number: u64) -> &PathBuf {
    let [even, odd] = paths;
    if number.is_multiple_of(2) { even } else { odd }
}

impl VolumeOptions {
    /// Where images of the index lie: beside the log, if that is a file.
    pub(crate) fn image_paths(&self) -> Option<[PathBuf; 2]> {
        let log = self.log_path();
        log.is_file()
            .then(|| ["index-a", "index-b"].map(|ending| log.with_added_extension(ending)))
    }
}
