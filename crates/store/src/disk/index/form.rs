//! Which line of the table a hash belongs to, and back: from a slot to all that its hash says.
//!
//! Of a hash the index knows its upper bits, 23 more than there were buckets at first: `x`. The bucket is
//! `⌊x · buckets / 2⁶⁴⌋`, which spreads evenly over any number of buckets, and the tag is what comes after the point,
//! to 23 bits. As neighbours of `x` lie further apart than that, bucket and tag give back `x`, whatever the number of
//! buckets. So the table grows by eighths without knowing keys, a slot that moves forgets nothing, and all slots know
//! of their other choice, which is `x` scrambled.
//!
//! Growth to the next step goes from the last bucket to the first: what lies at or beyond the frontier has moved. Each
//! step also begins a line later, so that a bucket always moves up, never onto itself.

use super::place::TAG_BITS;

/// Steps that double the number of buckets.
const STEPS_PER_DOUBLING: u32 = 8;
/// Bits of a tag that aren't the choice.
const REST_BITS: u32 = TAG_BITS - 1;
/// The choice in a tag.
const CHOICE: u32 = 1 << REST_BITS;

/// Odd, so that multiplication by it can be undone.
const SCRAMBLE: u64 = 0x9e37_79b9_7f4a_7c15;
const UNSCRAMBLE: u64 = inverse(SCRAMBLE);

/// What an index is made as, for all its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Buckets at first, in eighths.
    eighth: u32,
    /// Bits of a hash that are known.
    known_bits: u32,
}

/// How far the index has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) step: u32,
    /// The first bucket that has moved to the next step; the number of buckets if none has.
    pub(super) frontier: u32,
}

/// A line, and the tag that a hash has there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) line: usize,
    pub(super) tag: u32,
}

/// What is known of a hash: `x` of the first choice and of the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known(pub(super) [u64; 2]);

impl Form {
    /// For at least so many buckets at first.
    pub(super) fn new(buckets: usize) -> Self {
        let eighth = buckets.div_ceil(STEPS_PER_DOUBLING as usize);
        let eighth = u32::try_from(eighth).unwrap_or(u32::MAX).clamp(1, 1 << 25);
        Self {
            eighth,
            known_bits: REST_BITS + eighth.ilog2() + STEPS_PER_DOUBLING.ilog2(),
        }
    }

    pub(super) fn eighth(self) -> u32 {
        self.eighth
    }

    pub(super) fn buckets(self, step: u32) -> u32 {
        let eighths = STEPS_PER_DOUBLING + step % STEPS_PER_DOUBLING;
        (self.eighth * eighths) << (step / STEPS_PER_DOUBLING)
    }

    /// Lines that a step takes; those before its first bucket are part of it.
    pub(super) fn lines(self, step: u32) -> usize {
        self.buckets(step) as usize + step as usize
    }

    /// The last step that so many buckets allow.
    pub(super) fn last_step(self, buckets: usize) -> u32 {
        // Beyond that a number of buckets is none of 32 bits.
        let steps = STEPS_PER_DOUBLING * (27 - self.eighth.ilog2());
        let fits = |step: &u32| self.buckets(*step) as usize <= buckets;
        (1..=steps).take_while(fits).last().unwrap_or(0)
    }

    pub(super) fn known(self, hash: u64) -> Known {
        let first = hash >> self.unknown_bits() << self.unknown_bits();
        Known([first, self.scrambled(first)])
    }

    /// Where a key lies in that shape, by each choice.
    pub(super) fn spots(self, known: Known, shape: Shape) -> [Spot; 2] {
        let Known([first, second]) = known;
        [self.spot(first, shape), self.spot(second, shape).second()]
    }

    fn spot(self, x: u64, shape: Shape) -> Spot {
        let (bucket, tag) = scaled(x, self.buckets(shape.step));
        if bucket < shape.frontier {
            return Spot::new(bucket, shape.step, tag);
        }
        let (bucket, tag) = scaled(x, self.buckets(shape.step + 1));
        Spot::new(bucket, shape.step + 1, tag)
    }

    /// What is known of the hash of a slot in that line.
    pub(super) fn known_at(self, spot: Spot, shape: Shape) -> Known {
        let moved = spot.line >= shape.frontier as usize + shape.step as usize;
        let step = shape.step + u32::from(moved);
        let bucket = spot.line.saturating_sub(step as usize) as u64;
        // The smallest x from which on bucket and tag are at least these, in units of the lowest known bit.
        let least = bucket << REST_BITS | u64::from(spot.tag & !CHOICE);
        let shift = self.known_bits - REST_BITS;
        let buckets = self.buckets(step);
        let units = if least.leading_zeros() >= shift {
            (least << shift).div_ceil(u64::from(buckets))
        } else {
            // As rarely as there are billions of slots, for division of so many bits is slow.
            let units = (u128::from(least) << shift).div_ceil(u128::from(buckets));
            u64::try_from(units).unwrap_or(0)
        };
        // Of a slot that is one of these it fits; of anything else nothing is promised.
        let x = units << self.unknown_bits();
        if spot.tag & CHOICE == 0 {
            Known([x, self.scrambled(x)])
        } else {
            Known([self.unscrambled(x), x])
        }
    }

    /// Where what lies at `spot` may lie in another shape: by its own choice, and by the other one.
    pub(super) fn spots_of(self, spot: Spot, shape: Shape, other: Shape) -> [Spot; 2] {
        let [first, second] = self.spots(self.known_at(spot, shape), other);
        if spot.tag & CHOICE == 0 {
            [first, second]
        } else {
            [second, first]
        }
    }

    fn unknown_bits(self) -> u32 {
        64 - self.known_bits
    }

    /// The second choice. Buckets are told by the upper bits, so these depend on all of the first.
    fn scrambled(self, x: u64) -> u64 {
        let y = self.folded(x >> self.unknown_bits());
        let y = self.cut(y.wrapping_mul(SCRAMBLE));
        self.folded(y) << self.unknown_bits()
    }

    fn unscrambled(self, x: u64) -> u64 {
        let y = self.folded(x >> self.unknown_bits());
        let y = self.cut(y.wrapping_mul(UNSCRAMBLE));
        self.folded(y) << self.unknown_bits()
    }

    /// Its upper half over its lower one; twice, and it is as it was.
    fn folded(self, y: u64) -> u64 {
        y ^ (y >> self.known_bits.div_ceil(2))
    }

    fn cut(self, y: u64) -> u64 {
        y << self.unknown_bits() >> self.unknown_bits()
    }
}

impl Spot {
    fn new(bucket: u32, step: u32, tag: u32) -> Self {
        Self {
            line: bucket as usize + step as usize,
            tag,
        }
    }

    fn second(self) -> Self {
        Self {
            tag: self.tag | CHOICE,
            ..self
        }
    }
}

impl Shape {
    /// Grown to that step, and no further.
    pub(super) fn at(form: Form, step: u32) -> Self {
        let frontier = form.buckets(step);
        Self { step, frontier }
    }

    /// Whether an index of that form and that last step can have it.
    pub(super) fn is_sound(self, form: Form, last_step: u32) -> bool {
        let Self { step, frontier } = self;
        step <= last_step
            && frontier <= form.buckets(step)
            && (step < last_step || frontier == form.buckets(step))
    }

    pub(super) fn of_bits(bits: u64) -> Self {
        Self {
            step: (bits >> 32) as u32,
            frontier: (bits & 0xffff_ffff) as u32,
        }
    }

    pub(super) fn bits(self) -> u64 {
        u64::from(self.step) << 32 | u64::from(self.frontier)
    }
}

/// Bucket and tag of `x` among so many buckets.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the bucket is less than their number, and the tag is the upper bits of what is cut off"
)]
fn scaled(x: u64, buckets: u32) -> (u32, u32) {
    let scaled = u128::from(x) * u128::from(buckets);
    let rest = scaled as u64 >> (64 - REST_BITS);
    ((scaled >> 64) as u32, rest as u32)
}

/// By Newton's method: each round doubles the bits that are right, of which three are to begin with.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut round = 0;
    while round < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_slot_gives_back_all_that_is_known_of_its_hash(
            buckets in 1_usize..100_000_000,
            step in 0_u32..40,
            share: u32,
            hash: u64,
        ) {
            let form = Form::new(buckets);
            let step = step.min(form.last_step(1 << 31).saturating_sub(1));
            let frontier = share % (form.buckets(step) + 1);
            let shape = Shape { step, frontier };
            prop_assert_eq!(Shape::of_bits(shape.bits()), shape);
            let known = form.known(hash);
            for spot in form.spots(known, shape) {
                prop_assert!(spot.line < form.lines(step + 1));
                prop_assert!(spot.tag < 1 << TAG_BITS);
                prop_assert_eq!(form.known_at(spot, shape), known);
            }
        }

        #[test]
        fn buckets_only_move_up(buckets in 1_usize..1_000_000, step in 0_u32..40, hash: u64) {
            let form = Form::new(buckets);
            let before = Shape { step, frontier: form.buckets(step) };
            let known = form.known(hash);
            let moved = Shape { step, frontier: 0 };
            let after = Shape { step: step + 1, frontier: form.buckets(step + 1) };
            prop_assert_eq!(form.spots(known, moved), form.spots(known, after));
            for (old, new) in form.spots(known, before).iter().zip(form.spots(known, after)) {
                prop_assert!(old.line < new.line);
            }
        }
    }

    #[test]
    fn steps_are_eighths_and_double_after_eight() {
        let form = Form::new(1_000);
        assert_eq!(form.buckets(0), 1_000);
        assert_eq!(form.buckets(1), 1_125);
        assert_eq!(form.buckets(8), 2_000);
        assert_eq!(form.buckets(9), 2_250);
        assert_eq!(form.last_step(2_249), 8);
        assert_eq!(form.last_step(10), 0);
    }

    #[test]
    fn the_two_choices_have_nothing_in_common() {
        let form = Form::new(1_024);
        let shape = Shape {
            step: 0,
            frontier: form.buckets(0),
        };
        let mut together = 0;
        for key in 0..100_000_u64 {
            let [first, second] = form.spots(form.known(key.wrapping_mul(SCRAMBLE)), shape);
            together += usize::from(first.line == second.line);
        }
        // One in 1,024 by chance.
        assert!((40..200).contains(&together), "{together}");
    }
}
