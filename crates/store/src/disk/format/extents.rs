//! The body of a record that leads to a large body: which fragments it lies in.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes that an extent takes.
pub(crate) const EXTENT: usize = 16;

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
    pub(crate) extents: Vec<Extent>,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Raw {
    granule: U32,
    bytes: U32,
    born: U64,
}

impl ExtentList {
    /// Bytes of the body.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.extents
            .iter()
            .map(|extent| u64::from(extent.bytes))
            .sum()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.id.to_le_bytes().to_vec();
        for extent in &self.extents {
            let raw = Raw {
                granule: extent.granule.into(),
                bytes: extent.bytes.into(),
                born: extent.born.into(),
            };
            bytes.extend_from_slice(raw.as_bytes());
        }
        bytes
    }

    /// From the body of a record; `None` unless all fragments but the last are full.
    pub(crate) fn decode(bytes: &[u8], fragment_bytes: u32) -> Option<Self> {
        let (id, rows) = bytes.split_first_chunk()?;
        let rows = <[Raw]>::ref_from_bytes(rows).ok()?;
        let extents: Vec<Extent> = rows
            .iter()
            .map(|raw| Extent {
                granule: raw.granule.get(),
                bytes: raw.bytes.get(),
                born: raw.born.get(),
            })
            .collect();
        let (last, full) = extents.split_last()?;
        let sound = full.iter().all(|extent| extent.bytes == fragment_bytes)
            && (1..=fragment_bytes).contains(&last.bytes);
        sound.then(|| Self {
            id: u64::from_le_bytes(*id),
            extents,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Extent, ExtentList};

    const FULL: u32 = 1000;

    proptest! {
        #[test]
        fn what_was_written_is_read(id in any::<u64>(), count in 1u32..50, last in 1..=FULL) {
            let extent = |number| Extent {
                granule: number * 7,
                bytes: if number + 1 == count { last } else { FULL },
                born: u64::from(number),
            };
            let list = ExtentList { id, extents: (0..count).map(extent).collect() };
            prop_assert_eq!(list.body_bytes(), u64::from((count - 1) * FULL + last));
            prop_assert_eq!(ExtentList::decode(&list.encode(), FULL), Some(list.clone()));
            prop_assert_eq!(ExtentList::decode(&list.encode(), last - 1), None);
        }

        #[test]
        fn hostile_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(list) = ExtentList::decode(&bytes, FULL) {
                prop_assert_eq!(list.encode(), bytes);
            }
        }
    }
}
