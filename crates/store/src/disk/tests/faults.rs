//! A disk that fails as a test wants it to.

use std::io;
use std::sync::{Mutex, RwLock, RwLockReadGuard};

use crate::disk::geometry::LOG_AT;

const ENOSPC: i32 = 28;

/// What is to go wrong; nothing by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// The error of every read.
    pub(crate) read: Option<i32>,
    /// The kernel has nothing in memory.
    pub(crate) uncached: bool,
    /// The error of every write.
    pub(crate) write: Option<i32>,
    /// Where the disk is full.
    pub(crate) room: Option<u64>,
    /// Bytes of each write to the log that are there after a crash, as long as nothing has waited for the disk.
    pub(crate) torn: Option<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Faults {
    state: Mutex<State>,
    /// Held by who reads, and alone by who has the disk catch up.
    steady: RwLock<()>,
}

#[derive(Debug, Default)]
struct State {
    plan: Plan,
    /// What is in the kernel's memory alone: where, and what.
    unsynced: Vec<(u64, Vec<u8>)>,
    /// What the kernel was asked to begin with: where, and how many bytes.
    begun: Vec<(u64, u64)>,
}

impl Faults {
    pub(crate) fn set(&self, plan: Plan) {
        self.state.lock().unwrap().plan = plan;
    }

    /// To be held until [`Faults::after_read`].
    pub(crate) fn before_read(&self) -> io::Result<RwLockReadGuard<'_, ()>> {
        let state = self.state.lock().unwrap();
        match state.plan.read {
            Some(error) => Err(io::Error::from_raw_os_error(error)),
            None => {
                drop(state);
                Ok(self.steady.read().unwrap())
            }
        }
    }

    pub(crate) fn is_uncached(&self) -> bool {
        self.state.lock().unwrap().plan.uncached
    }

    /// What was read, as the kernel has it.
    pub(crate) fn after_read(&self, at: u64, bytes: &mut [u8]) {
        let end = at + bytes.len() as u64;
        for (from, lost) in &self.state.lock().unwrap().unsynced {
            let to = from + lost.len() as u64;
            for place in at.max(*from)..end.min(to) {
                bytes[(place - at) as usize] = lost[(place - from) as usize];
            }
        }
    }

    pub(crate) fn note_begun(&self, at: u64, bytes: u64) {
        self.state.lock().unwrap().begun.push((at, bytes));
    }

    /// What the kernel was asked to begin with since this was last called.
    pub(crate) fn begun(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.state.lock().unwrap().begun)
    }

    /// How many bytes of a write reach the disk by themselves.
    pub(crate) fn before_write(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock().unwrap();
        let full = state
            .plan
            .room
            .is_some_and(|room| at + bytes.len() as u64 > room);
        let error = if full { Some(ENOSPC) } else { state.plan.write };
        if let Some(error) = error {
            return Err(io::Error::from_raw_os_error(error));
        }
        let kept = state
            .plan
            .torn
            .filter(|_| at >= LOG_AT)
            .unwrap_or(bytes.len())
            .min(bytes.len());
        if kept < bytes.len() {
            let lost = bytes[kept..].to_vec();
            state.unsynced.push((at + kept as u64, lost));
        }
        Ok(kept)
    }

    /// Has all that was written reach the disk.
    pub(crate) fn before_sync(&self, mut write: impl FnMut(u64, &[u8])) {
        let _alone = self.steady.write().unwrap();
        let mut state = self.state.lock().unwrap();
        for (at, bytes) in &state.unsynced {
            write(*at, bytes);
        }
        state.unsynced.clear();
    }
}
