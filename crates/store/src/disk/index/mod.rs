//! Where records lie, by the hash of their keys: in memory.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;

/// Where a record lies: first granule in the volume, and how many bytes one read must fetch to have all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) granule: u32,
    pub(crate) size: SizeCode,
}

/// Bytes of a record, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SizeCode(u8);

const UNITS: [u32; 4] = [64, 512, 4096, 32 << 10];

impl SizeCode {
    pub(crate) fn of_bytes(bytes: u32) -> Self {
        let fits = |unit: &&(u8, u32)| bytes <= unit.1 * 64;
        let units = [(0, 64), (1, 512), (2, 4096), (3, 32 << 10)];
        let (number, unit) = units.iter().find(fits).copied().unwrap_or((3, 32 << 10));
        let count = bytes.div_ceil(unit).clamp(1, 64) - 1;
        Self(number << 6 | u8::try_from(count).unwrap_or(63))
    }

    pub(crate) fn bytes_max(self) -> u32 {
        let unit = UNITS.get(usize::from(self.0 >> 6)).copied().unwrap_or(64);
        (u32::from(self.0 & 63) + 1) * unit
    }
}

/// How a record was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    pub(crate) frequency: u8,
    pub(crate) last: u32,
}

/// What became of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    Added,
    /// There was no room; another slot had to go.
    Dropped(Place),
}

type Slots = HashMap<u64, SmallVec<[(Place, Uses); 2]>>;

/// The index of a volume.
#[derive(Debug, Default)]
pub(crate) struct Index {
    slots: Mutex<Slots>,
}

impl Index {
    pub(crate) fn new(_slots: usize) -> Self {
        Self::default()
    }

    fn with<T>(&self, act: impl FnOnce(&mut Slots) -> T) -> T {
        act(&mut self.slots.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn find(&self, hash: u64) -> SmallVec<[Place; 2]> {
        self.with(|slots| {
            let found = slots
                .get(&hash)
                .map(|found| found.iter().map(|slot| slot.0));
            found.into_iter().flatten().collect()
        })
    }

    pub(crate) fn insert(&self, hash: u64, place: Place) -> Inserted {
        self.with(|slots| {
            slots
                .entry(hash)
                .or_default()
                .push((place, Uses::default()))
        });
        Inserted::Added
    }

    pub(crate) fn replace(&self, hash: u64, old: Place, new: Place) -> bool {
        self.with(|slots| {
            let found = slots.get_mut(&hash).into_iter().flatten();
            let mut found = found.filter(|slot| slot.0 == old);
            found.next().map(|slot| slot.0 = new).is_some()
        })
    }

    pub(crate) fn remove(&self, hash: u64, place: Place) -> bool {
        self.with(|slots| {
            let Some(found) = slots.get_mut(&hash) else {
                return false;
            };
            let before = found.len();
            found.retain(|slot| slot.0 != place);
            let after = found.len();
            if after == 0 {
                slots.remove(&hash);
            }
            after < before
        })
    }

    pub(crate) fn used(&self, hash: u64, place: Place, now_secs: u32) {
        self.with(|slots| {
            for slot in slots.get_mut(&hash).into_iter().flatten() {
                if slot.0 == place {
                    slot.1.frequency = slot.1.frequency.saturating_add(1).min(15);
                    slot.1.last = now_secs;
                }
            }
        });
    }

    pub(crate) fn uses(&self, hash: u64, place: Place) -> Option<Uses> {
        self.with(|slots| {
            let found = slots.get(&hash)?;
            found.iter().find(|slot| slot.0 == place).map(|slot| slot.1)
        })
    }

    pub(crate) fn remove_all_in(&self, granules: Range<u32>) -> usize {
        self.with(|slots| {
            let before: usize = slots.values().map(SmallVec::len).sum();
            for found in slots.values_mut() {
                found.retain(|slot| !granules.contains(&slot.0.granule));
            }
            before - slots.values().map(SmallVec::len).sum::<usize>()
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.with(|slots| slots.capacity() * size_of::<(u64, SmallVec<[(Place, Uses); 2]>)>())
    }

    pub(crate) fn len(&self) -> usize {
        self.with(|slots| slots.values().map(SmallVec::len).sum())
    }
}
