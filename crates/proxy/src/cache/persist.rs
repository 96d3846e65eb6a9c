//! A stored response's metadata as it lies on disk. Of a part it says what that is a part of; spares
//! stay in memory.
//!
//! Numbers are little-endian, and whoever reads them expects anything: a disk is not to be trusted.
//!
//! | bytes | what |
//! | --- | --- |
//! | 1 | format |
//! | 1 | flags: HTTP/1.0, a length in the head, the number of a `refresh_pattern` line, a part |
//! | 2, 1 | status; traits |
//! | 4 | number of the `refresh_pattern` line |
//! | 1–10 × 5 | born; after it: fresh until, stale until, stale while revalidated until, Date |
//! | 1–5 × 4 | where the content type and the entity tag lie in the head: from where, how far |
//! | 4, 2 | bytes of the Vary key; number of tags |
//! | 8, 2 | of a part: bytes of the whole; bytes of its validator, and that |
//! | | the Vary key; 8 for each tag; the head, see `head` |

mod head;
mod number;

use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;

use rules::caching::freshness::{Freshness, Traits};
use rules::caching::part::Part;
use rules::caching::vary::Vary;
use store::{Tag, Weigh as _};
use wire::http1::{Limits, Parsed, ResponseHead, Version, parse_response};

use crate::cache::stored::StoredResponse;

const FORMAT: u8 = 2;
const HTTP_1_0: u8 = 1;
const HAS_LENGTH: u8 = 1 << 1;
const GUESSED: u8 = 1 << 2;
const PART: u8 = 1 << 3;

/// Appends it; false for what isn't for the disk.
pub(super) fn write(stored: &StoredResponse, out: &mut Vec<u8>) -> bool {
    let vary = stored.vary.as_bytes();
    let counts = (u32::try_from(vary.len()), u16::try_from(stored.tags.len()));
    let (Ok(vary_bytes), Ok(tags)) = counts else {
        return false;
    };
    let part = stored.part_of();
    if part.is_some() != stored.part.is_some() {
        return false; // it can't be joined with any other
    }
    let freshness = &stored.freshness;
    if freshness.traits.has(Traits::SPARE) {
        return false;
    }
    let flags = [
        (HTTP_1_0, stored.version == Version::H10),
        (HAS_LENGTH, stored.has_length),
        (GUESSED, freshness.guessed_by.is_some()),
        (PART, part.is_some()),
    ];
    let flags = flags.into_iter().filter(|(_, set)| *set);
    out.extend_from_slice(&[FORMAT, flags.fold(0, |flags, (flag, _)| flags | flag)]);
    out.extend_from_slice(&stored.status.to_le_bytes());
    out.push(freshness.traits.bits());
    let line = freshness.guessed_by.map_or(0, NonZeroU32::get);
    out.extend_from_slice(&line.to_le_bytes());
    number::write_signed(freshness.born, out);
    for time in [
        freshness.fresh_until,
        freshness.stale_until,
        freshness.stale_while_revalidate_until,
        stored.date,
    ] {
        number::write_signed(time.wrapping_sub(freshness.born), out);
    }
    for place in [&stored.content_type, &stored.etag] {
        number::write(place.start.into(), out);
        number::write(place.end.saturating_sub(place.start).into(), out);
    }
    out.extend_from_slice(&vary_bytes.to_le_bytes());
    out.extend_from_slice(&tags.to_le_bytes());
    if let Some(part) = part {
        let Ok(validator_bytes) = u16::try_from(part.validator.len()) else {
            return false;
        };
        out.extend_from_slice(&part.complete.to_le_bytes());
        out.extend_from_slice(&validator_bytes.to_le_bytes());
        out.extend_from_slice(part.validator);
    }
    out.extend_from_slice(vary);
    for tag in &stored.tags {
        out.extend_from_slice(&tag.number().to_le_bytes());
    }
    head::write(&stored.head, out);
    true
}

/// What [`write`] wrote; `None` for anything else.
pub(super) fn read(bytes: &[u8]) -> Option<StoredResponse> {
    let mut rest = bytes;
    let [format, flags] = take(&mut rest)?;
    if format != FORMAT {
        return None;
    }
    let status = u16::from_le_bytes(take(&mut rest)?);
    let [traits] = take(&mut rest)?;
    let line = u32::from_le_bytes(take(&mut rest)?);
    let born = number::take_signed(&mut rest)?;
    let mut time = || Some(number::take_signed(&mut rest)?.wrapping_add(born));
    let freshness = Freshness {
        born,
        fresh_until: time()?,
        stale_until: time()?,
        stale_while_revalidate_until: time()?,
        traits: Traits::of_bits(traits),
        guessed_by: NonZeroU32::new(line).filter(|_| flags & GUESSED != 0),
    };
    let date = time()?;
    let mut place = || {
        let start = u32::try_from(number::take(&mut rest)?).ok()?;
        let bytes = u32::try_from(number::take(&mut rest)?).ok()?;
        Some(start..start.checked_add(bytes)?)
    };
    let (content_type, etag) = (place()?, place()?);
    let vary_bytes = usize::try_from(u32::from_le_bytes(take(&mut rest)?)).ok()?;
    let tags = usize::from(u16::from_le_bytes(take(&mut rest)?));
    let part = match flags & PART {
        0 => None,
        _ => Some(Box::new(take_part(&mut rest)?)),
    };
    let (vary, rest) = rest.split_at_checked(vary_bytes)?;
    let (tags, head) = rest.split_at_checked(tags.checked_mul(8)?)?;
    let (tags, _) = tags.as_chunks();
    let tags = tags
        .iter()
        .map(|tag| Tag::of_number(u64::from_le_bytes(*tag)));
    let head = head::read(head)?;
    is_a_head(&head).then(|| StoredResponse {
        status,
        version: match flags & HTTP_1_0 {
            0 => Version::H11,
            _ => Version::H10,
        },
        head: head.into(),
        has_length: flags & HAS_LENGTH != 0,
        freshness,
        vary: Vary::from_bytes(vary),
        tags: tags.collect(),
        date,
        validating: AtomicBool::new(false),
        part,
        content_type,
        etag,
    })
}

/// All that there may be parts of.
fn take_part(rest: &mut &[u8]) -> Option<Part> {
    let complete = u64::from_le_bytes(take(rest)?);
    let bytes = usize::from(u16::from_le_bytes(take(rest)?));
    let (validator, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    (complete > 0).then(|| Part::of_frame(complete, validator.into()))
}

/// It is sent as it is: one that isn't well-formed must not be.
fn is_a_head(head: &[u8]) -> bool {
    let limits = Limits {
        head_bytes_max: usize::MAX,
        fields_max: usize::MAX,
        ..Limits::default()
    };
    let whole = [head, b"\r\n"].concat();
    let parsed = parse_response(&whole, &limits, &mut ResponseHead::default());
    parsed == Ok(Parsed::Complete(whole.len())) && head.ends_with(b"\r\n")
}

fn take<const BYTES: usize>(rest: &mut &[u8]) -> Option<[u8; BYTES]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stored() -> StoredResponse {
        StoredResponse {
            status: 200,
            version: Version::H10,
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"[..].into(),
            has_length: false,
            freshness: Freshness {
                born: 1,
                fresh_until: i64::MIN,
                stale_until: 3,
                stale_while_revalidate_until: -4,
                traits: Traits::IMMUTABLE,
                guessed_by: NonZeroU32::new(7),
            },
            vary: Vary::from_bytes(b"accept\x02x\0"),
            tags: [Tag::new(b"", b"one"), Tag::new(b"", b"two")].into(),
            date: 1_234_567,
            validating: AtomicBool::new(true),
            part: None,
            content_type: 31..41,
            etag: 0..0,
        }
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let (before, mut bytes) = (stored(), Vec::new());
        assert!(write(&before, &mut bytes));
        let after = read(&bytes).unwrap();
        let mut again = Vec::new();
        assert!(write(&after, &mut again));
        assert_eq!(bytes, again);
        assert_eq!(after.freshness, before.freshness);
        assert_eq!(after.content_type(), b"text/plain");
        assert!(after.vary == before.vary && after.tags == before.tags);
        assert_eq!((after.version, after.date), (before.version, before.date));
    }

    #[test]
    fn what_was_cut_is_nothing() {
        let mut bytes = Vec::new();
        assert!(write(&stored(), &mut bytes));
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end]).is_none(), "{end}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_fault(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..80_usize, byte: u8) {
            read(&bytes);
            let mut flipped = Vec::new();
            write(&stored(), &mut flipped);
            if let Some(place) = flipped.get_mut(at) {
                *place ^= byte;
            }
            if let Some(stored) = read(&flipped) {
                stored.content_type();
            }
        }
    }
}
