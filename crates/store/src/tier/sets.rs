//! Parts of the same response that are being written at the same time: what they agree on.
//!
//! | state | moved on by |
//! | --- | --- |
//! | unknown: nobody has looked yet what is on disk | the first who writes a part |
//! | open: under this number, and these runs are there | each part that ends; one that doesn't belong to them begins anew |
//! | ended: what lies under its place was removed, or replaced by something else | |

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use hashbrown::HashMap;

use super::runs::Runs;
use crate::content::lock;
use crate::moment::Moment;

/// What parts must share to be of the same response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Bytes of the whole.
    pub(super) complete: u64,
    pub(super) validator: Box<[u8]>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) enum Set {
    #[default]
    Unknown,
    Open {
        identity: Identity,
        number: Moment,
        runs: Runs,
    },
    Ended,
}

/// A set, by whoever writes a part of it.
pub(super) type SharedSet = Arc<Mutex<Set>>;

/// The sets under way, by the places of their heads.
#[derive(Debug, Default)]
pub(super) struct Sets(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    sets: HashMap<Box<[u8]>, Weak<Mutex<Set>>>,
    /// How many there may be before those are removed that nobody writes to any more.
    enough: usize,
}

impl Sets {
    /// The set of the head at `place`.
    pub(super) fn join(&self, place: &[u8]) -> SharedSet {
        let mut table = self.table();
        if let Some(set) = table.sets.get(place).and_then(Weak::upgrade) {
            return set;
        }
        if table.sets.len() >= table.enough {
            table.sets.retain(|_, set| set.strong_count() > 0);
            table.enough = 2 * table.sets.len() + 16;
        }
        let set = SharedSet::default();
        table.sets.insert(place.into(), Arc::downgrade(&set));
        set
    }

    /// What lies under `place` is about to be removed or replaced.
    pub(super) fn end(&self, place: &[u8]) {
        let set = self.table().sets.remove(place);
        if let Some(set) = set.and_then(|set| set.upgrade()) {
            *lock(&set) = Set::Ended;
        }
    }

    /// Everything is about to be removed.
    pub(super) fn end_all(&self) {
        let sets = std::mem::take(&mut self.table().sets);
        for set in sets.into_values().filter_map(|set| set.upgrade()) {
            *lock(&set) = Set::Ended;
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_write_at_the_same_time_share_a_set() {
        let sets = Sets::default();
        let [one, other] = [(); 2].map(|()| sets.join(b"a"));
        assert!(Arc::ptr_eq(&one, &other));
        sets.end(b"a");
        assert!(matches!(*lock(&one), Set::Ended));
        let anew = sets.join(b"a");
        assert!(matches!(*lock(&anew), Set::Unknown));
        sets.end_all();
        assert!(matches!(*lock(&anew), Set::Ended));
    }

    #[test]
    fn sets_that_nobody_writes_to_go() {
        let sets = Sets::default();
        let kept = sets.join(b"kept");
        for number in 0..1000_u32 {
            drop(sets.join(&number.to_le_bytes()));
        }
        assert!(sets.table().sets.len() < 64);
        assert!(Arc::ptr_eq(&kept, &sets.join(b"kept")));
    }
}
