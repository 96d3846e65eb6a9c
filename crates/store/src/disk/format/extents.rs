//! The body of a record that leads to a large body: which fragments it lies in. Those of a chunk lie side by side, as a
//! rule, and make one run.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::disk::geometry::Geometry;

/// Bytes that a run takes.
pub(crate) const RUN: usize = 16;

/// A fragment of a large body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Where its record begins.
    pub(crate) granule: u32,
    /// Bytes of the body in it.
    pub(crate) bytes: u32,
    /// The number its segment was begun under.
    pub(crate) born: u64,
}

/// All fragments of a body, in order. Held as runs, a quarter of what the fragments themselves would take: a body of
/// 10 GB has 42,000 of those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtentList {
    /// What marks the fragments of this body.
    pub(crate) id: u64,
    runs: Vec<Run>,
    count: u32,
    bytes: u64,
}

/// Fragments that lie side by side, up to where the next run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// The first of them, by its place in the body.
    first: u32,
    granule: u32,
    born: u64,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawRun {
    granule: U32,
    count: U32,
    born: U64,
}

impl ExtentList {
    /// Of a body with nothing in it yet.
    pub(crate) fn new(id: u64) -> Self {
        Self {
            id,
            runs: Vec::new(),
            count: 0,
            bytes: 0,
        }
    }

    /// Fragments.
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the body.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the list itself, as it is written.
    pub(crate) fn encoded_bytes(&self) -> usize {
        RUN + self.runs.len() * RUN
    }

    /// A fragment, by its place in the body.
    pub(crate) fn get(&self, ordinal: usize, geometry: &Geometry) -> Option<Extent> {
        let ordinal = u32::try_from(ordinal).ok().filter(|at| *at < self.count)?;
        let after = self.runs.partition_point(|run| run.first <= ordinal);
        self.runs
            .get(after.checked_sub(1)?)
            .map(|run| self.of(run, ordinal, geometry))
    }

    /// All fragments, in order.
    pub(crate) fn iter(&self, geometry: &Geometry) -> impl Iterator<Item = Extent> {
        let ends = self.runs.iter().skip(1).map(|run| run.first);
        let runs = self.runs.iter().zip(ends.chain([self.count]));
        runs.flat_map(move |(run, end)| {
            (run.first..end).map(move |ordinal| self.of(run, ordinal, geometry))
        })
    }

    fn of(&self, run: &Run, ordinal: u32, geometry: &Geometry) -> Extent {
        let full = geometry.fragment_bytes();
        let before = u64::from(ordinal) * u64::from(full);
        let left = u32::try_from(self.bytes - before).unwrap_or(u32::MAX);
        let granules = (ordinal - run.first) * geometry.fragment_granules();
        Extent {
            granule: run.granule + granules,
            bytes: left.min(full),
            born: run.born,
        }
    }

    /// Adds the next fragment. All but the last are full.
    pub(crate) fn push(&mut self, extent: Extent, geometry: &Geometry) {
        let follows = self.runs.last().is_some_and(|run| {
            let granules = (self.count - run.first).checked_mul(geometry.fragment_granules());
            let next = granules.and_then(|granules| run.granule.checked_add(granules));
            run.born == extent.born && next == Some(extent.granule)
        });
        if !follows {
            self.runs.push(Run {
                first: self.count,
                granule: extent.granule,
                born: extent.born,
            });
        }
        self.count += 1;
        self.bytes += u64::from(extent.bytes);
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.encoded_bytes());
        bytes.extend_from_slice(&self.id.to_le_bytes());
        bytes.extend_from_slice(&self.bytes.to_le_bytes());
        let ends = self.runs.iter().skip(1).map(|run| run.first);
        for (run, end) in self.runs.iter().zip(ends.chain([self.count])) {
            let raw = RawRun {
                granule: run.granule.into(),
                count: (end - run.first).into(),
                born: run.born.into(),
            };
            bytes.extend_from_slice(raw.as_bytes());
        }
        bytes
    }

    /// From the body of a record, if that can be a list in such a volume.
    pub(crate) fn decode(bytes: &[u8], geometry: &Geometry) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk()?;
        let (body_bytes, raw) = rest.split_first_chunk()?;
        let body_bytes = u64::from_le_bytes(*body_bytes);
        let raw = <[RawRun]>::ref_from_bytes(raw).ok()?;
        let mut runs = Vec::with_capacity(raw.len());
        let mut first: u32 = 0;
        for run in raw {
            let (granule, count) = (run.granule.get(), run.count.get());
            let beyond = count.checked_sub(1)?;
            let beyond = beyond.checked_mul(geometry.fragment_granules())?;
            granule.checked_add(beyond)?;
            runs.push(Run {
                first,
                granule,
                born: run.born.get(),
            });
            first = first.checked_add(count)?;
        }
        let full = u64::from(geometry.fragment_bytes());
        let sound = body_bytes > 0
            && body_bytes <= geometry.log_bytes()
            && u64::from(first) == body_bytes.div_ceil(full);
        sound.then_some(Self {
            id: u64::from_le_bytes(*id),
            runs,
            count: first,
            bytes: body_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Extent, ExtentList, Geometry, RUN};

    fn geometry() -> Geometry {
        Geometry::for_bytes(64 << 20).unwrap()
    }

    /// Of fragments in runs of these lengths.
    fn list(runs: &[u8], last: u32) -> ExtentList {
        let geometry = geometry();
        let full = geometry.fragment_bytes();
        let mut list = ExtentList::new(7);
        for (number, length) in (0u32..).zip(runs) {
            for at in 0..u32::from(*length) {
                let ends = number as usize + 1 == runs.len() && at + 1 == u32::from(*length);
                let extent = Extent {
                    granule: number * 100_000 + at * geometry.fragment_granules(),
                    bytes: if ends { last % full + 1 } else { full },
                    born: 9,
                };
                list.push(extent, &geometry);
            }
        }
        list
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(runs in prop::collection::vec(1u8..5, 1..20), last in any::<u32>()) {
            let list = list(&runs, last);
            let bytes = list.encode();
            prop_assert_eq!(bytes.len(), RUN + runs.len() * RUN);
            prop_assert_eq!(bytes.len(), list.encoded_bytes());
            let decoded = ExtentList::decode(&bytes, &geometry());
            prop_assert_eq!(decoded.as_ref(), Some(&list));
            let all: Vec<_> = list.iter(&geometry()).collect();
            prop_assert_eq!(all.len(), list.len());
            prop_assert_eq!(all.iter().map(|extent| u64::from(extent.bytes)).sum::<u64>(), list.body_bytes());
            for (ordinal, extent) in all.iter().enumerate() {
                prop_assert_eq!(list.get(ordinal, &geometry()), Some(*extent));
            }
            prop_assert_eq!(list.get(all.len(), &geometry()), None);
        }

        #[test]
        fn hostile_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..100), at in 0usize..80, byte in any::<u8>()) {
            prop_assert_eq!(ExtentList::decode(&bytes, &geometry()), None);
            let mut bytes = list(&[3, 1, 2], 5).encode();
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            if let Some(list) = ExtentList::decode(&bytes, &geometry()) {
                prop_assert!(list.len() <= 6);
            }
        }
    }
}
