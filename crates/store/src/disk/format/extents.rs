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

/// All fragments of a body, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtentList {
    /// What marks the fragments of this body.
    pub(crate) id: u64,
    extents: Vec<Extent>,
    bytes: u64,
    runs: usize,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Run {
    granule: U32,
    count: U32,
    born: U64,
}

impl ExtentList {
    /// Of a body with nothing in it yet.
    pub(crate) fn new(id: u64) -> Self {
        Self {
            id,
            extents: Vec::new(),
            bytes: 0,
            runs: 0,
        }
    }

    pub(crate) fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Bytes of the body.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the list itself, as it is written.
    pub(crate) fn encoded_bytes(&self) -> usize {
        RUN + self.runs * RUN
    }

    /// Adds the next fragment. All but the last are full.
    pub(crate) fn push(&mut self, extent: Extent, geometry: &Geometry) {
        let last = self.extents.last();
        if last.is_none_or(|last| !follows(last, &extent, geometry)) {
            self.runs += 1;
        }
        self.bytes += u64::from(extent.bytes);
        self.extents.push(extent);
    }

    pub(crate) fn encode(&self, geometry: &Geometry) -> Vec<u8> {
        let mut bytes = self.id.to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.bytes.to_le_bytes());
        for run in self.extents.chunk_by(|a, b| follows(a, b, geometry)) {
            if let Some(first) = run.first() {
                let raw = Run {
                    granule: first.granule.into(),
                    count: u32::try_from(run.len()).unwrap_or(0).into(),
                    born: first.born.into(),
                };
                bytes.extend_from_slice(raw.as_bytes());
            }
        }
        bytes
    }

    /// From the body of a record, if that can be a list in such a volume.
    pub(crate) fn decode(bytes: &[u8], geometry: &Geometry) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk()?;
        let (body_bytes, runs) = rest.split_first_chunk()?;
        let body_bytes = u64::from_le_bytes(*body_bytes);
        let runs = <[Run]>::ref_from_bytes(runs).ok()?;
        let full = geometry.fragment_bytes();
        let count: u64 = runs.iter().map(|run| u64::from(run.count.get())).sum();
        let sound = body_bytes > 0
            && body_bytes <= geometry.log_bytes()
            && count == body_bytes.div_ceil(u64::from(full));
        if !sound {
            return None;
        }
        let mut list = Self::new(u64::from_le_bytes(*id));
        for run in runs {
            for number in 0..run.count.get() {
                let left = body_bytes - list.bytes;
                let extent = Extent {
                    granule: number
                        .checked_mul(geometry.fragment_granules())?
                        .checked_add(run.granule.get())?,
                    bytes: u32::try_from(left).unwrap_or(u32::MAX).min(full),
                    born: run.born.get(),
                };
                list.push(extent, geometry);
            }
        }
        Some(list)
    }
}

fn follows(a: &Extent, b: &Extent, geometry: &Geometry) -> bool {
    a.born == b.born && a.granule.checked_add(geometry.fragment_granules()) == Some(b.granule)
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
            let bytes = list.encode(&geometry());
            prop_assert_eq!(bytes.len(), RUN + runs.len() * RUN);
            prop_assert_eq!(bytes.len(), list.encoded_bytes());
            prop_assert_eq!(ExtentList::decode(&bytes, &geometry()), Some(list));
        }

        #[test]
        fn hostile_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..100), at in 0usize..80, byte in any::<u8>()) {
            prop_assert_eq!(ExtentList::decode(&bytes, &geometry()), None);
            let mut bytes = list(&[3, 1, 2], 5).encode(&geometry());
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            if let Some(list) = ExtentList::decode(&bytes, &geometry()) {
                prop_assert!(list.extents().len() <= 6);
            }
        }
    }
}
