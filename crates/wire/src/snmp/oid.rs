//! Object identifiers: the names of what an agent shows (RFC 2578 §3.5).

use std::fmt;

use smallvec::SmallVec;

use super::ber::{self, Malformed, tag};

/// Parts of a name (RFC 2578 §3.5).
pub const ARCS_MAX: usize = 128;

/// Parts that a name holds in place; those of an IPv6 client are the longest.
const ARCS_USUAL: usize = 32;

/// These numbers are no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an object identifier has 2 to {ARCS_MAX} parts, of which the first is at most 2")]
pub struct NotAnOid;

/// A name: 2 to [`ARCS_MAX`] numbers. Names are ordered as an agent is walked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(SmallVec<[u32; ARCS_USUAL]>);

impl Oid {
    /// The name with these parts.
    ///
    /// # Errors
    /// They can't be written as one: see [`NotAnOid`].
    pub fn new(arcs: &[u32]) -> Result<Self, NotAnOid> {
        match arcs {
            // The first two share one number: 40 times the first, plus the second.
            [0 | 1, 0..40, ..] if arcs.len() <= ARCS_MAX => {}
            [2, second, ..] if arcs.len() <= ARCS_MAX && *second <= u32::MAX - 80 => {}
            _ => return Err(NotAnOid),
        }
        Ok(Self(SmallVec::from_slice(arcs)))
    }

    /// Its parts.
    #[must_use]
    pub fn arcs(&self) -> &[u32] {
        &self.0
    }

    pub(super) fn parse(content: &[u8]) -> Result<Self, Malformed> {
        let mut arcs = SmallVec::<[u32; ARCS_USUAL]>::new();
        let mut rest = content;
        while !rest.is_empty() {
            let (number, after) = read_number(rest)?;
            if arcs.is_empty() {
                let first = (number / 40).min(2);
                arcs.push(first);
                arcs.push(number - 40 * first);
            } else if arcs.len() < ARCS_MAX {
                arcs.push(number);
            } else {
                return Err(Malformed::ObjectId);
            }
            rest = after;
        }
        if arcs.is_empty() {
            return Err(Malformed::ObjectId);
        }
        Ok(Self(arcs))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        ber::write(out, tag::OBJECT_ID, |out| {
            if let [first, second, rest @ ..] = self.arcs() {
                write_number(out, first * 40 + second);
                rest.iter().for_each(|&arc| write_number(out, arc));
            }
        });
    }
}

/// Seven bits an octet; all but the last have the highest bit set.
fn read_number(bytes: &[u8]) -> Result<(u32, &[u8]), Malformed> {
    if bytes.first() == Some(&0x80) {
        return Err(Malformed::ObjectId);
    }
    let last = bytes.iter().position(|&octet| octet < 0x80);
    let length = last.ok_or(Malformed::ObjectId)? + 1;
    // Five octets hold 35 bits.
    let (octets, rest) = bytes.split_at_checked(length).ok_or(Malformed::ObjectId)?;
    if length > 5 {
        return Err(Malformed::ObjectId);
    }
    let number = octets
        .iter()
        .fold(0_u64, |sum, &octet| sum << 7 | u64::from(octet & 0x7f));
    let number = u32::try_from(number).map_err(|_| Malformed::ObjectId)?;
    Ok((number, rest))
}

fn write_number(out: &mut Vec<u8>, number: u32) {
    let bits = 32 - number.leading_zeros();
    let above = bits.saturating_sub(1) / 7;
    for place in (0..=above).rev() {
        let [octet, ..] = (number >> (7 * place)).to_le_bytes();
        let more = if place > 0 { 0x80 } else { 0 };
        out.push(octet & 0x7f | more);
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|arc| write!(f, ".{arc}"))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Oid({self})")
    }
}
