//! The thread that writes chunks, one after the other, in the order in which they were sealed.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::engine::Engine;
use super::geometry::LOG_AT;
use super::index::{Place, SizeCode};
use super::log::{Run, Sealed};
use crate::sync::{Arc, PoisonError};
use crate::usage::count;

/// A chunk that has been open for two ticks is written as it is.
const TICK: Duration = Duration::from_millis(500);

/// The life of the writing thread.
pub(crate) fn run(engine: &Engine) {
    let mut ticked = Instant::now();
    while let Some(chunk) = next(engine, &mut ticked) {
        write(engine, &chunk);
        let mut log = engine.log();
        log.written();
        let behind = log.is_far_behind();
        drop(log);
        engine.progress.notify_all();
        // A disk that takes no more would hold this up, where the kernel's memory has room for a while.
        if !behind {
            let at = engine.geometry.offset(chunk.segment, chunk.at);
            engine.device.begin_writing(at, chunk.bytes.len() as u64);
        }
    }
    engine.progress.notify_all();
}

/// Waits for a chunk; `None` at the end.
fn next(engine: &Engine, ticked: &mut Instant) -> Option<Arc<Sealed>> {
    let mut log = engine.log();
    loop {
        if log.run == Run::Stop {
            return None;
        }
        // First, as there may be always something to write.
        let due = TICK.saturating_sub(ticked.elapsed());
        if due.is_zero() {
            *ticked = Instant::now();
            let _paid = engine.pay(&mut log);
            log.tick();
            if log.may_have_room() && engine.device.has_room_for(&engine.geometry) {
                log.has_got_room();
                engine.scarce.notify_one();
            }
            if !engine.device.is_linked() {
                engine.take_down();
            }
            continue;
        }
        if let Some(chunk) = log.next_sealed() {
            return Some(chunk);
        }
        let waited = engine.work.wait_timeout(log, due);
        log = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn write(engine: &Engine, chunk: &Sealed) {
    let at = engine.geometry.offset(chunk.segment, chunk.at);
    let written = engine.device.write(at, &chunk.bytes);
    match &written {
        Ok(()) => {
            let bytes = chunk.bytes.len() as u64;
            engine.counters.bytes_written.fetch_add(bytes, Relaxed);
            engine.segments.set_written(chunk.segment, chunk.end());
        }
        Err(error) => {
            give_up(engine, chunk, error.kind() == io::ErrorKind::StorageFull);
        }
    }
    engine.note_write(written);
}

/// Loses a chunk that the disk would not take, and uses its segment no more. If the disk is full, the volume becomes as
/// large as what it has got so far, until there is room.
fn give_up(engine: &Engine, chunk: &Sealed, full: bool) {
    for entry in &chunk.table {
        let place = Place {
            granule: engine
                .geometry
                .granule_at(chunk.segment, chunk.at + entry.at),
            size: SizeCode::of_bytes(entry.bytes),
        };
        if engine.forget(entry.hash, place) {
            count(&engine.counters.lost);
        }
    }
    if !full {
        return engine.log().retire(chunk.segment);
    }
    let had = engine.device.bytes().unwrap_or(u64::MAX);
    let had = had.saturating_sub(LOG_AT);
    let beyond = had.div_ceil(u64::from(engine.geometry.segment()));
    let beyond = u32::try_from(beyond).unwrap_or(u32::MAX);
    engine.log().lack(chunk.segment, beyond);
}
