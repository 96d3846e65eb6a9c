//! What a slot says: which key, where its record lies, and how often it was used. Twelve bytes in all.
//!
//! | first word (64 bits) | bits |
//! | --- | --- |
//! | tag: the choice of bucket and what the bucket doesn't say of the hash; see [`form`](super::form) | 24 |
//! | granule | 32 |
//! | size code; never 0, so that an empty slot is the word 0 | 8 |
//!
//! | second word (32 bits), advice | bits |
//! | --- | --- |
//! | weight of its uses: four for each and for having been stored, less since it was written again | 10 |
//! | last use, in ticks of 64 seconds that start again after 8.5 years | 22 |

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Its first granule in the volume.
    pub granule: u32,
    /// How much one read must fetch to have all of it.
    pub size: SizeCode,
}

/// A number of bytes, rounded up to 1–63 units of 64 B, 512 B, 4 KiB or 32 KiB: 11 % too much on average at the
/// lower end of a unit, 1.6 % at the upper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SizeCode(u8);

const COUNT_BITS: u32 = 6;
const COUNT_MAX: u8 = (1 << COUNT_BITS) - 1;
const UNIT_BYTES_MIN: u32 = 64;
/// Each unit is eight times the one before.
const UNIT_STEP_LOG2: u32 = 3;
const UNITS: u8 = 4;

impl SizeCode {
    /// The largest number of bytes that has a code: 2016 KiB.
    pub const BYTES_MAX: u32 =
        (COUNT_MAX as u32) * (UNIT_BYTES_MIN << (UNIT_STEP_LOG2 * (UNITS as u32 - 1)));

    /// The code of at least so many bytes; beyond [`SizeCode::BYTES_MAX`], which no record is, of that.
    #[must_use]
    pub fn of_bytes(bytes: u32) -> Self {
        let fitting = (0..UNITS).find_map(|unit| {
            let count = u8::try_from(bytes.div_ceil(unit_bytes(unit)).max(1)).ok()?;
            (count <= COUNT_MAX).then_some(Self(unit << COUNT_BITS | count))
        });
        fitting.unwrap_or(Self(u8::MAX))
    }

    /// The bytes that one read must fetch.
    #[must_use]
    pub fn bytes_max(self) -> u32 {
        u32::from(self.0 & COUNT_MAX) * unit_bytes(self.0 >> COUNT_BITS)
    }
}

fn unit_bytes(unit: u8) -> u32 {
    UNIT_BYTES_MIN << (UNIT_STEP_LOG2 * u32::from(unit))
}

/// A tag and a place as the first word of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word(u64);

pub(super) const TAG_BITS: u32 = 24;
const TAG_SHIFT: u32 = 64 - TAG_BITS;
const SIZE_BITS: u32 = 8;

impl Word {
    pub(super) const EMPTY: Self = Self(0);

    pub(super) fn new(tag: u32, place: Place) -> Self {
        Self(
            u64::from(tag) << TAG_SHIFT
                | u64::from(place.granule) << SIZE_BITS
                | u64::from(place.size.0),
        )
    }

    pub(super) fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    /// Also a word of chance from memory that others wrote: it has a count, or it is empty.
    pub(super) fn is_empty(self) -> bool {
        self.0 & u64::from(COUNT_MAX) == 0
    }

    pub(super) fn tag(self) -> u32 {
        (self.0 >> TAG_SHIFT) as u32
    }

    pub(super) fn place(self) -> Place {
        Place {
            granule: (self.0 >> SIZE_BITS & 0xffff_ffff) as u32,
            size: SizeCode((self.0 & 0xff) as u8),
        }
    }
}

/// How often a record was used, and when the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uses(u32);

/// Stored, and not used yet.
impl Default for Uses {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

const TICK_BITS: u32 = 22;
const TICK_MASK: u32 = (1 << TICK_BITS) - 1;
const TICK_SECS_LOG2: u32 = 6;
const WEIGHT_MAX: u32 = (1 << (32 - TICK_BITS)) - 1;

impl Uses {
    /// The weight of one use. It can be halved twice: what is small enough stays for one use as long as that takes.
    pub const WEIGHT: u32 = 4;
    /// Beyond this uses are no longer counted.
    pub const COUNT_MAX: u32 = WEIGHT_MAX / Self::WEIGHT - 1;

    /// So many uses, the last of them now.
    #[must_use]
    pub fn new(count: u32, now_secs: u32) -> Self {
        let weight = (count.min(Self::COUNT_MAX) + 1) * Self::WEIGHT;
        Self(weight << TICK_BITS | now_secs >> TICK_SECS_LOG2 & TICK_MASK)
    }

    /// Of such a weight, some time ago.
    #[must_use]
    pub fn of_weight(weight: u32) -> Self {
        Self(weight.min(WEIGHT_MAX) << TICK_BITS)
    }

    /// Uses since it was stored, as far as they were counted, and as far as they count.
    #[must_use]
    pub fn count(self) -> u32 {
        (self.weight() / Self::WEIGHT).saturating_sub(1)
    }

    /// What uses weigh together, having been stored among them.
    #[must_use]
    pub fn weight(self) -> u32 {
        self.0 >> TICK_BITS
    }

    /// Seconds since the last use, to the minute; of what was never used, anything.
    #[must_use]
    pub fn idle_secs(self, now_secs: u32) -> u32 {
        let now = now_secs >> TICK_SECS_LOG2;
        (now.wrapping_sub(self.0) & TICK_MASK) << TICK_SECS_LOG2
    }

    /// After one more use.
    #[must_use]
    pub fn used(self, now_secs: u32) -> Self {
        let most = (Self::COUNT_MAX + 1) * Self::WEIGHT;
        let weight = (self.weight() + Self::WEIGHT).min(most);
        Self(weight << TICK_BITS | now_secs >> TICK_SECS_LOG2 & TICK_MASK)
    }

    /// Of half the weight: what is kept for its uses is kept for their sake once.
    #[must_use]
    pub fn halved(self) -> Self {
        Self((self.weight() / 2) << TICK_BITS | self.0 & TICK_MASK)
    }

    pub(super) fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_code_holds_what_it_is_made_for_and_little_more() {
        for bytes in (0..=SizeCode::BYTES_MAX).step_by(61) {
            let most = SizeCode::of_bytes(bytes).bytes_max();
            assert!(most >= bytes.max(1));
            assert!(most <= bytes + (bytes / 7).max(64), "{most} for {bytes}");
        }
        let largest = SizeCode::of_bytes(SizeCode::BYTES_MAX);
        assert_eq!(largest.bytes_max(), SizeCode::BYTES_MAX);
        assert_eq!(SizeCode::of_bytes(u32::MAX), largest);
    }

    #[test]
    fn a_word_gives_back_tag_and_place() {
        for (tag, granule, bytes) in [(0, 0, 1), (0xff_ffff, u32::MAX, 2_000_000), (5, 7, 300)] {
            let size = SizeCode::of_bytes(bytes);
            let place = Place { granule, size };
            let word = Word::new(tag, place);
            assert!(!word.is_empty());
            assert_eq!((word.tag(), word.place()), (tag, place));
        }
        assert!(Word::EMPTY.is_empty());
    }

    #[test]
    fn uses_are_counted_up_to_a_limit_and_halved() {
        let mut uses = Uses::default();
        for used in 1..=2_000 {
            uses = uses.used(1_000_000 + used);
            assert_eq!(uses.count(), used.min(Uses::COUNT_MAX));
        }
        assert!(uses.idle_secs(1_002_000 + 3_600).abs_diff(3_600) <= 64);
        let halved = uses.halved();
        assert_eq!(halved.count(), Uses::COUNT_MAX / 2 - 1);
        assert_eq!(halved.idle_secs(2_000_000), uses.idle_secs(2_000_000));
        let weights = [0, 1, 2, 3].map(|times| {
            let halved = (0..times).fold(Uses::default(), |uses, _| uses.halved());
            halved.weight()
        });
        assert_eq!(weights, [4, 2, 1, 0]);
    }
}
