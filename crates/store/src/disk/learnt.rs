//! The numbers of records that recovery has learnt of, by where they lie. Ten bytes for each, as there may be tens of
//! millions of them; they are asked for only where a key is met twice.

use std::collections::BTreeMap;

use super::format::Entry;
use super::geometry::Geometry;
use super::index::Place;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Learnt {
    /// By segment, and where in it the chunk begins.
    chunks: BTreeMap<(u32, u32), Chunk>,
}

/// The records of a chunk, in order.
#[derive(Debug)]
struct Chunk {
    /// In granules from where the chunk begins; there are fewer than 2¹⁶ in one.
    at: Box<[u16]>,
    numbers: Box<[u64]>,
}

impl Learnt {
    /// Adds the records of the chunk that begins there.
    pub(super) fn add<'e>(
        &mut self,
        chunk: (u32, u32),
        records: impl Iterator<Item = &'e Entry> + Clone,
        geometry: &Geometry,
    ) {
        let at = records.clone().map(|entry| granule(entry.at, geometry));
        let at = at.collect();
        let numbers = records.map(|entry| entry.lsn).collect();
        self.chunks.insert(chunk, Chunk { at, numbers });
    }

    /// The number of the record that lies there, if it was learnt.
    pub(super) fn number_of(&self, place: Place, geometry: &Geometry) -> Option<u64> {
        let lies = geometry.locate(place.granule)?;
        let ((segment, begin), chunk) = self.chunks.range(..=lies).next_back()?;
        let within = lies.1.checked_sub(*begin).filter(|_| lies.0 == *segment)?;
        let found = chunk.at.binary_search(&granule(within, geometry)).ok()?;
        chunk.numbers.get(found).copied()
    }
}

fn granule(within: u32, geometry: &Geometry) -> u16 {
    u16::try_from(within >> geometry.granule_log2).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Geometry, Learnt, Place};
    use crate::disk::format::{Entry, Kind};
    use crate::disk::index::SizeCode;

    fn entry(at: u32, lsn: u64) -> Entry {
        Entry {
            hash: 1,
            lsn,
            at,
            bytes: 128,
            expires: 0,
            kind: Kind::Whole,
            frequency: 0,
        }
    }

    #[test]
    fn a_record_is_known_by_where_it_lies() {
        let geometry = Geometry::for_bytes(100 << 20).unwrap();
        let mut learnt = Learnt::default();
        learnt.add((3, 0), [entry(64, 7), entry(192, 5)].iter(), &geometry);
        learnt.add((3, 8192), [entry(64, 9)].iter(), &geometry);
        let check = |segment, within, number| {
            let place = Place {
                granule: geometry.granule_at(segment, within),
                size: SizeCode::of_bytes(128),
            };
            assert_eq!(learnt.number_of(place, &geometry), number, "{within}");
        };
        check(3, 64, Some(7));
        check(3, 192, Some(5));
        check(3, 128, None);
        check(3, 8192 + 64, Some(9));
        check(3, 8192 + 192, None);
        check(4, 64, None);
        check(2, 64, None);
    }
}
