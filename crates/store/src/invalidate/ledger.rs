//! The bans in force, in order, and the number of the newest: what a hit compares with.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, PoisonError, RwLock};

use smallvec::SmallVec;

use super::ban::{Aim, Ban, Way};
use super::tag::Tag;
use crate::moment::Moment;

/// Bans that are remembered.
const BANS_MAX: usize = 8192;
/// For so long a ban that has been swept is remembered for the sake of responses that are still on their way.
const REMEMBERED_SECS: i64 = 60;

/// The list is full of bans that haven't been swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many invalidations at a time")]
pub struct TooManyBans;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    newest: Newest,
    state: RwLock<State>,
}

/// On a cache line that nobody writes while no ban is made.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Newest(AtomicU64);

#[derive(Debug, Default)]
struct State {
    /// With numbers that follow each other; the first ever is 1.
    bans: VecDeque<Arc<Ban>>,
    /// Number of the newest ban that isn't remembered, and when it was made.
    forgotten: u64,
    forgotten_at: Moment,
    /// What is stored has been judged by the bans up to this number.
    swept: u64,
    /// They are remembered until there are too many: what lies on disk is judged when it is read.
    long: bool,
}

/// What the bans since say of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Stands,
    Stale { since: i64 },
    Gone,
}

impl Ledger {
    /// Number of the newest ban; 0 before the first.
    #[inline]
    pub(crate) fn newest(&self) -> u64 {
        self.newest.0.load(Acquire)
    }

    /// How many bans are remembered.
    pub(crate) fn len(&self) -> u64 {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.bans.len() as u64
    }

    pub(super) fn add(&self, aim: Aim, way: Way, now: i64) -> Result<Arc<Ban>, TooManyBans> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.forget(now);
        if state.bans.len() >= BANS_MAX {
            return Err(TooManyBans);
        }
        let ban = Ban::new(state.newest() + 1, aim, way, now);
        state.bans.push_back(Arc::clone(&ban));
        self.newest.0.store(ban.number, Release);
        Ok(ban)
    }

    /// What the bans behind `judged` say. What only forgotten ones could tell is gone. `act` gets it with the number of
    /// the newest ban, and says whether the object is to be counted as met.
    pub(super) fn judge(
        &self,
        judged: u64,
        key: &[u8],
        tags: &[Tag],
        act: impl FnOnce(Fate, u64) -> bool,
    ) -> Fate {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let mut met_by = SmallVec::<[&Ban; 4]>::new();
        let fate = state.fate(judged, key, tags, &mut met_by);
        if act(fate, state.newest()) {
            met_by.iter().for_each(|ban| ban.count());
        }
        fate
    }

    /// Number of the last ban that was made before.
    pub(crate) fn newest_at(&self, moment: Moment) -> u64 {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let before = state.bans.partition_point(|ban| ban.moment < moment);
        match before {
            // Those that were forgotten may have been made before or after.
            0 if moment < state.forgotten_at => 0,
            _ => state.forgotten + before as u64,
        }
    }

    pub(crate) fn remember_long(&self, long: bool) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.long = long;
    }

    /// How many objects a ban has met, those included that somebody is at right now.
    pub(super) fn met_by(&self, ban: &Ban) -> u64 {
        // Whoever judges does so and counts under the other side of this lock.
        let state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        drop(state);
        ban.met.load(Relaxed)
    }

    pub(super) fn swept(&self, number: u64, now: i64) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.swept = state.swept.max(number);
        state.forget(now);
    }

    pub(super) fn sweep_is_due(&self, now: i64) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.bans.front().is_some_and(|oldest| {
            let many = state.bans.len() > BANS_MAX / 2;
            oldest.number > state.swept && (many || oldest.is_old(now))
        })
    }
}

impl State {
    fn newest(&self) -> u64 {
        self.forgotten + self.bans.len() as u64
    }

    fn fate<'s>(
        &'s self,
        judged: u64,
        key: &[u8],
        tags: &[Tag],
        met_by: &mut SmallVec<[&'s Ban; 4]>,
    ) -> Fate {
        if judged < self.forgotten {
            return Fate::Gone;
        }
        let passed = usize::try_from(judged - self.forgotten).unwrap_or(usize::MAX);
        let mut fate = Fate::Stands;
        // As if each had been carried out when it was made: what is gone can't be met again.
        for ban in self.bans.iter().skip(passed) {
            if !ban.meets(key, tags) {
                continue;
            }
            met_by.push(ban);
            match (ban.way, fate) {
                (Way::Remove, _) => return Fate::Gone,
                (Way::Stale { since }, Fate::Stands) => fate = Fate::Stale { since },
                (Way::Stale { .. }, _) => {}
            }
        }
        fate
    }

    /// Bans that have been swept, when they are old or the list is half full.
    fn forget(&mut self, now: i64) {
        while let Some(oldest) = self.bans.front() {
            let many = self.bans.len() > BANS_MAX / 2;
            let old = !self.long && oldest.is_old(now);
            if oldest.number > self.swept || !(many || old) {
                break;
            }
            self.forgotten = oldest.number;
            self.forgotten_at = oldest.moment;
            self.bans.pop_front();
        }
    }
}

impl Ban {
    fn is_old(&self, now: i64) -> bool {
        now.saturating_sub(self.at) >= REMEMBERED_SECS
    }
}
