//! A table in parts, each with a lock of its own: two workers seldom want the same.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parts of a table.
pub(super) const SHARDS: usize = 64;

/// See the module.
#[derive(Debug)]
pub(super) struct Shards<T> {
    parts: [Mutex<T>; SHARDS],
    hasher: RandomState,
}

impl<T: Default> Default for Shards<T> {
    fn default() -> Self {
        Self {
            parts: std::array::from_fn(|_| Mutex::default()),
            hasher: RandomState::new(),
        }
    }
}

impl<T> Shards<T> {
    /// The part that the key belongs to.
    #[expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "a remainder of SHARDS is below it"
    )]
    pub(super) fn of(&self, key: &(impl Hash + ?Sized)) -> MutexGuard<'_, T> {
        lock(&self.parts[(self.hasher.hash_one(key) % SHARDS as u64) as usize])
    }

    /// All parts, one after the other.
    pub(super) fn all(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.parts.iter().map(lock)
    }
}

/// A panic elsewhere leaves a row that counts wrong, nothing worse.
fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The mean of some times: about half of them are not younger, and one at least.
pub(super) fn mean(times: impl Iterator<Item = u64>) -> u64 {
    let (sum, count) = times.fold((0u128, 0u128), |(sum, count), time| {
        (sum + u128::from(time), count + 1)
    });
    let mean = sum.checked_div(count).unwrap_or(0);
    u64::try_from(mean).unwrap_or(u64::MAX)
}
