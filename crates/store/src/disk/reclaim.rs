//! The thread that makes segments free, the oldest first.
//!
//! A segment that was taken is written over only after a superblock says, and the disk has it, that all which was begun
//! up to then is void: else recovery could find in it what was removed or replaced since.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use super::engine::Engine;
use super::format::Kind;
use super::log::Run;
use super::recover;
use super::reinsert::{Credit, Lying, keep};
use super::walk::Met;
use crate::sync::{Arc, PoisonError, lock};
use crate::usage::count;

/// How long to wait for readers, when all that could be taken is being read.
const PAUSE: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 50 });

/// How long to wait for the disk; what was taken stays taken after that, until the next time.
const FLUSH_MAX: Duration = Duration::from_secs(10);

/// The life of the reclaiming thread: first it learns what there is.
pub(crate) fn run(engine: &Arc<Engine>) {
    recover::run(engine);
    let free_min = engine.geometry.segments_free_min();
    let mut progress = Progress {
        credit: Credit::new(engine),
        kept: HashSet::new(),
    };
    loop {
        let mut log = engine.log();
        while log.run == Run::On && log.free_count() >= free_min {
            log = engine
                .scarce
                .wait(log)
                .unwrap_or_else(PoisonError::into_inner);
        }
        drop(log);
        let working = lock(&engine.reclaiming);
        if engine.log().run != Run::On || engine.is_down() {
            return;
        }
        let some = reclaim(engine, &mut progress);
        drop(working);
        if !some {
            engine.rest(PAUSE);
        }
    }
}

/// What the reclaimer remembers from one go to the next.
#[derive(Debug)]
struct Progress {
    credit: Credit,
    /// Segments of which everything worth it was kept, by the numbers they were begun under, and which could not be taken
    /// as they were being read.
    kept: HashSet<u64>,
}

/// Makes some segments free.
fn reclaim(engine: &Arc<Engine>, progress: &mut Progress) -> bool {
    // What the disk wouldn't have made sure of the last time comes first: no more is lost before it does.
    if !engine.log().taken().is_empty() {
        // What was kept has had its time.
        return engine.write_out(FLUSH_MAX) && commit(engine, 0);
    }
    let used: Vec<(u64, u32)> = engine.log().used().collect();
    let (mut taken, mut closed) = (0, false);
    for (born, number) in used {
        // What is written to an open one after this would be void together with what is older than it: the oldest may be
        // passed by, so each is asked.
        closed = engine.log().close_older(born);
        if closed {
            break;
        }
        // What isn't in the file yet is not passed by, or a crash would find it void.
        if !engine.log().is_settled(number) && !engine.write_out(FLUSH_MAX) {
            break;
        }
        // What is being read is passed by, however much that is.
        let waits = progress.kept.contains(&born) && engine.segments.is_pinned(number);
        if !waits && take(engine, progress, born, number) {
            taken += 1;
        }
        if taken == engine.geometry.segments_batch() {
            break;
        }
    }
    match taken {
        0 => closed && engine.write_out(FLUSH_MAX),
        // What was kept of them must be in the file before they are written over.
        _ => carried(engine) && commit(engine, 0),
    }
}

/// Whether what was kept is in the file. For tombstones there may be no room before something is free: those have time, too.
fn carried(engine: &Engine) -> bool {
    engine.flush(FLUSH_MAX) || engine.write_out(FLUSH_MAX)
}

/// Takes a segment out of use, with all that lies in it and isn't kept.
fn take(engine: &Arc<Engine>, progress: &mut Progress, born: u64, number: u32) -> bool {
    let mut lying = Vec::new();
    engine.walk().each_chunk(number, born, |met| match met {
        Met::Chunk(head, entries) => lying.extend(entries.into_iter().map(|entry| Lying {
            within: head.at + entry.at,
            entry,
        })),
        Met::Damaged(_) => {}
    });
    // Also of what is being read: it may be void before that ends, should there be a crash.
    if progress.kept.insert(born) {
        carry(engine, born, &lying);
        keep(engine, &mut progress.credit, number, &lying);
    }
    if !engine.segments.take(number) {
        return false;
    }
    engine.log().take(born);
    for lying in lying {
        let entry = &lying.entry;
        if engine.index.remove(entry.hash, lying.place(engine, number)) {
            count(&engine.counters.evictions);
        }
    }
    progress.kept.remove(&born);
    true
}

/// Writes the tombstones of a segment again, as long as recovery may find something older.
fn carry(engine: &Engine, born: u64, lying: &[Lying]) {
    let tombstones = lying.iter().map(|lying| &lying.entry);
    for tombstone in tombstones.filter(|entry| entry.kind == Kind::Tombstone) {
        let mut log = engine.log();
        if log.has_older(tombstone.lsn, born) {
            engine.bury(&mut log, tombstone.hash, tombstone.lsn);
        }
    }
}

impl Engine {
    /// Takes all segments out of use. All that was stored is in the file.
    pub(crate) fn clear(&self) -> io::Result<()> {
        // What it moves is not to be written over meanwhile.
        let _alone = lock(&self.reclaiming);
        let mut log = self.log();
        let lsn = log.clear(&self.segments);
        self.index.remove_all_in(0..u32::MAX);
        drop(log);
        if !commit(self, lsn) {
            return Err(io::Error::other("the superblock can't be written"));
        }
        Ok(())
    }
}

/// Makes what was taken free, once nothing can bring it back.
fn commit(engine: &Engine, void_below: u64) -> bool {
    let taken = engine.log().taken();
    let below = taken.iter().map(|(born, _)| born + 1).max();
    let below = below.unwrap_or(0).max(void_below);
    let written = engine.write_superblock(|superblock| {
        superblock.watermark = superblock.watermark.max(below);
    });
    if engine.note_sync(written).is_none() {
        return false;
    }
    engine.log().release(&taken);
    engine.progress.notify_all();
    true
}
