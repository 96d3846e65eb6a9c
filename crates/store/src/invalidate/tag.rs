//! A name that many stored responses may share.

use rapidhash::v3::rapidhash_v3;

/// The hash of a tag's name, in a space of the caller's. Of two names one in 2^64 is taken for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(u64);

impl Tag {
    /// Bytes of memory that a tag takes for each object that has it, the index included.
    pub const WEIGHT_BYTES: usize = 40;

    /// The tag of that number, as [`Tag::number`] gave it in this life of the store or another.
    #[must_use]
    pub const fn of_number(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The tag `name` among those of `space`.
    #[must_use]
    pub fn new(space: &[u8], name: &[u8]) -> Self {
        let length = space.len().to_le_bytes();
        Self(rapidhash_v3(&[&length, space, name].concat()))
    }
}
