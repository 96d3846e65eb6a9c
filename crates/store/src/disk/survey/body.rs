//! The bodies of what a survey finds.

use std::io;

use bytes::Bytes;

use super::{Closeness, Survey, sound};
use crate::disk::Listed;
use crate::disk::format::{Extent, ExtentList, HEAD, Kind, Parsed, parse, parse_beginning};
use crate::disk::geometry::narrow;

/// What became of the fragments of a large body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Sound,
    /// One of them has made room for others.
    Outlived,
    Damaged,
}

impl Survey {
    pub(super) fn fragments(&self, hash: u64, list: &ExtentList, closeness: Closeness) -> State {
        for (ordinal, extent) in list.iter(&self.ground.geometry).enumerate() {
            let Some((segment, _)) = self.ground.geometry.locate(extent.granule) else {
                return State::Damaged;
            };
            if self.born(segment) != extent.born {
                return State::Outlived;
            }
            if closeness == Closeness::Bytes
                && self.fragment(hash, list.id, ordinal, &extent).is_none()
            {
                return match self.stands(segment) {
                    true => State::Damaged,
                    false => State::Outlived,
                };
            }
        }
        State::Sound
    }

    /// The record of a fragment, and where in it the body lies.
    fn fragment(&self, hash: u64, id: u64, ordinal: usize, extent: &Extent) -> Option<Vec<u8>> {
        let (segment, within) = self.ground.geometry.locate(extent.granule)?;
        let bytes = self
            .ground
            .read(segment, within, narrow(HEAD) + extent.bytes);
        let Parsed::Record(record) = parse(&bytes, extent.born) else {
            return None;
        };
        let is_it = record.kind == Kind::Fragment
            && record.hash == hash
            && record.stamps.judged == id
            && record.stamps.date == narrow(ordinal)
            && record.body.len() == extent.bytes as usize;
        is_it.then(|| record.body.to_vec())
    }

    /// What was found, if at least head, key and meta are what was written: it tells what is damaged.
    #[must_use]
    pub fn beginning(&self, listed: &Listed) -> Option<Listed> {
        let read = self
            .ground
            .device
            .read(listed.offset, listed.bytes as usize);
        let bytes = Bytes::from(read.ok()?);
        let begun = parse_beginning(&bytes, self.born_at(listed.offset)).ok()?;
        Some(Listed {
            content: sound(&bytes, &begun.record, u64::from(begun.body_bytes)),
            ..listed.clone()
        })
    }

    /// Gives the body of what was found, piece by piece, each checked.
    ///
    /// # Errors
    /// `InvalidData` if it isn't what was written, or has made room for others; those of `take`.
    pub fn read_body(
        &self,
        listed: &Listed,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let bytes = self
            .ground
            .device
            .read(listed.offset, listed.bytes as usize)?;
        let bad = || io::Error::from(io::ErrorKind::InvalidData);
        let Parsed::Record(record) = parse(&bytes, self.born_at(listed.offset)) else {
            return Err(bad());
        };
        if record.kind == Kind::Whole {
            return take(record.body);
        }
        let list = ExtentList::decode(record.body, &self.ground.geometry);
        let list = list.ok_or_else(bad)?;
        for (ordinal, extent) in list.iter(&self.ground.geometry).enumerate() {
            let fragment = self.fragment(record.hash, list.id, ordinal, &extent);
            take(&fragment.ok_or_else(bad)?)?;
        }
        Ok(())
    }
}
