//! What adds records to the log and leads the index to them, and who waits for that to be written.

use std::task::Waker;
use std::time::Duration;

use super::engine::Engine;
use super::format::Draft;
use super::index::{Inserted, Place};
use super::log::{Log, NoRoom, Run, Stream};
use crate::sync::{MutexGuard, PoisonError};
use crate::usage::count;

/// Why something wasn't stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is larger or smaller than what the volume takes.
    #[error("its size is not one that the volume takes")]
    Size,
    /// As much as may be waits to be written.
    #[error("too much waits to be written")]
    Busy,
    /// No segment is free: the reclaimer doesn't keep up, or all are being read.
    #[error("no segment is free")]
    Full,
    /// The volume has only just been opened, and doesn't know yet where it may write.
    #[error("the volume is being opened")]
    Opening,
    /// What was to be renewed has been removed; or something of it has made room for others.
    #[error("it is not stored any more")]
    Gone,
    /// The disk failed.
    #[error("the volume is out of service")]
    OutOfService,
}

/// What a record is stored for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// To be found from now on.
    Stored,
    /// To take the place of what is stored already.
    Renewed,
}

/// What a record takes the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replaced {
    /// Nothing, or what leaves the log before it.
    Older,
    /// What was kept by the reclaimer, in a segment that was begun later: it outlives the record in the log, and a crash
    /// after that would bring it back.
    Younger,
}

impl From<NoRoom> for Refused {
    fn from(no_room: NoRoom) -> Self {
        match no_room {
            NoRoom::Opening => Self::Opening,
            NoRoom::Buffers => Self::Busy,
            NoRoom::Segments => Self::Full,
        }
    }
}

impl Engine {
    /// The log, once there is room for a chunk to be sealed in; or at its end.
    pub(crate) fn log_with_room(&self) -> MutexGuard<'_, Log> {
        let waited = self
            .progress
            .wait_while(self.log(), |log| log.is_full() && log.run != Run::Stop);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a record that is to be found under its hash, in the place of what was there.
    pub(crate) fn store(&self, draft: &Draft<'_>, aim: Aim) -> Result<Place, Refused> {
        let result = self.try_store(draft, aim);
        match result {
            Ok(_) => count(&self.counters.puts),
            Err(refused) => self.count_refused(refused),
        }
        result
    }

    pub(crate) fn count_refused(&self, refused: Refused) {
        count(match refused {
            Refused::Size => &self.counters.refused_size,
            Refused::Busy => &self.counters.refused_busy,
            Refused::Full => &self.counters.refused_full,
            Refused::Gone => &self.counters.refused_gone,
            Refused::Opening | Refused::OutOfService => &self.counters.refused_closed,
        });
    }

    pub(crate) fn try_store(&self, draft: &Draft<'_>, aim: Aim) -> Result<Place, Refused> {
        if self.is_down() {
            return Err(Refused::OutOfService);
        }
        let mut log = self.log();
        // Under the lock: what was removed before doesn't come back.
        if aim == Aim::Renewed && self.index.find(draft.hash()).is_empty() {
            return Err(Refused::Gone);
        }
        let lsn = log.number();
        let place = self.append(&mut log, Stream::New, draft, lsn, 0)?;
        self.pass_over(&log, draft.hash(), lsn);
        if self.index_only(draft.hash(), place) == Replaced::Younger {
            // On its way before the record, so that a crash doesn't part them.
            self.bury(&mut log, draft.hash(), lsn - 1);
            let _sealed = log.seal_again();
        }
        Ok(place)
    }

    /// Appends a record; if there is no room, has some made.
    pub(crate) fn append(
        &self,
        log: &mut Log,
        stream: Stream,
        draft: &Draft<'_>,
        lsn: u64,
        frequency: u8,
    ) -> Result<Place, Refused> {
        let sealed = log.sealed_count();
        let free = log.free_count();
        let result = log.append(&self.segments, stream, draft, lsn, frequency);
        if log.sealed_count() > sealed {
            self.work.notify_one();
        }
        if log.free_count() < free || result == Err(NoRoom::Segments) {
            self.scarce.notify_one();
        }
        Ok(result?)
    }

    /// Makes `place` the only one of this hash. Two keys share one once in a million; then the older is lost.
    fn index_only(&self, hash: u64, place: Place) -> Replaced {
        let (mut replaced, mut younger) = (false, false);
        for old in self.index.find(hash) {
            younger |= self.born(old) > self.born(place);
            if replaced {
                self.index.remove(hash, old);
            } else {
                replaced = self.index.replace(hash, old, place);
            }
        }
        if !replaced {
            self.index_new(hash, place);
        }
        match younger {
            true => Replaced::Younger,
            false => Replaced::Older,
        }
    }

    /// Adds `place`, where nothing is known of this hash.
    pub(crate) fn index_new(&self, hash: u64, place: Place) {
        if let Inserted::Dropped(_) = self.index.insert(hash, place) {
            count(&self.counters.index_drops);
        }
    }

    /// Makes sure that nothing is found under this hash, now or after a crash.
    pub(crate) fn remove(&self, hash: u64) -> bool {
        let mut log = self.log();
        let lsn = log.number();
        self.pass_over(&log, hash, lsn);
        let mut removed = false;
        for place in self.index.find(hash) {
            removed |= self.index.remove(hash, place);
        }
        // What the index doesn't know can't come back, unless it lacks some that are still in the log.
        let all_known = self.is_recovered()
            && self.index.dropped() == 0
            && !log.has_older(self.index.forgotten(), 0)
            && !log.is_taking();
        if !removed && all_known {
            return false;
        }
        self.bury(&mut log, hash, lsn);
        log.hurry();
        self.work.notify_one();
        drop(log);
        count(&self.counters.removes);
        removed
    }

    /// Removes a place of what can't be read. Of what was stored under its key before, the log may still know.
    pub(crate) fn forget(&self, hash: u64, place: Place) -> bool {
        let mut log = self.log();
        let removed = self.index.remove(hash, place);
        if removed {
            self.index.note_forgotten(log.number());
        }
        removed
    }

    /// Writes down that nothing below this number is to be found under a hash; when there is room, if there is none.
    pub(crate) fn bury(&self, log: &mut Log, hash: u64, lsn: u64) {
        let tombstone = Draft::tombstone(hash);
        let written = self.append(log, Stream::Again, &tombstone, lsn, 0).is_ok();
        if !written && !log.owe(hash, lsn) {
            count(&self.counters.tombstones_lost);
        }
    }

    /// Has `waker` woken when there may be room; `false` if there won't be soon.
    pub(crate) fn wait_for_room(&self, waker: &Waker) -> bool {
        let mut log = self.log();
        let ever = log.run != Run::Stop && !self.is_down() && !log.is_starved();
        if ever && log.has_room() {
            // It came since the caller was refused, and may be the last that comes.
            waker.wake_by_ref();
        } else if ever {
            log.wait(waker);
        }
        ever
    }

    /// Has those who wait in vain for room see that.
    pub(crate) fn wake_starved(&self) {
        let mut log = self.log();
        if log.is_starved() {
            log.wake();
        }
    }

    /// Writes the tombstones for which there was no room; `false` if there still is none.
    pub(crate) fn pay(&self, log: &mut Log) -> bool {
        let owed = log.owed();
        for (hash, lsn) in owed {
            self.bury(log, hash, lsn);
        }
        log.owes_nothing()
    }

    /// Waits until all that was added before is in the file, or lost. `false` if that takes longer than `most`.
    pub(crate) fn flush(&self, most: Duration) -> bool {
        let log = self.log();
        let unpaid = |log: &mut Log| log.run != Run::Stop && !self.pay(log);
        let waited = self.progress.wait_timeout_while(log, most, unpaid);
        let (log, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(log);
        !timeout.timed_out() && self.write_out(most)
    }

    /// The same, but for the tombstones for which there is no room.
    pub(crate) fn write_out(&self, most: Duration) -> bool {
        let log = self.log();
        let mut target = None;
        let waited = self.progress.wait_timeout_while(log, most, |log| {
            if target.is_none() {
                target = log.seal_all().ok();
                self.work.notify_one();
            }
            target.is_none_or(|target| log.written_total() < target) && log.run != Run::Stop
        });
        let (log, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        log.run != Run::Stop && !timeout.timed_out()
    }
}
