//! A name that many stored responses may share.

use crate::key::seeded_hash;

/// The hash of a tag's name, in a space of the caller's. Of two names one in 2^64 is taken for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(u64);

impl Tag {
    /// Bytes of memory that a tag takes for each object that has it, the index included.
    pub const WEIGHT_BYTES: usize = 40;

    /// The tag `name` among those of `space`.
    #[must_use]
    pub fn new(space: &[u8], name: &[u8]) -> Self {
        let length = space.len().to_le_bytes();
        Self(seeded_hash(&[&length, space, name].concat()))
    }
}
