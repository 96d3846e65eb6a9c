//! A record: head, key, meta, body. The head's checksum covers key and meta too; the body has one of its own, which can be
//! computed before the record has its number.

use crc32fast::Hasher;
use smallvec::SmallVec;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::HEAD;
use crate::disk::geometry::narrow;

const MAGIC: u32 = u32::from_le_bytes(*b"SqRe");

/// What the body of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The body of a response, all of it.
    Whole = 1,
    /// The list of fragments that the body of a response lies in.
    Extents = 2,
    /// A part of such a body. It has no key; the list leads to it.
    Fragment = 3,
    /// Nothing: what was stored under the key before is not to be found again.
    Tombstone = 4,
}

impl Kind {
    pub(super) fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Whole),
            2 => Some(Self::Extents),
            3 => Some(Self::Fragment),
            4 => Some(Self::Tombstone),
            _ => None,
        }
    }
}

/// What the owner of a stored response wants to know of it without reading its meta; kept as given. Times are seconds
/// since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// When the response was made.
    pub date: u32,
    /// When it ceases to be fresh.
    pub expires: u32,
    /// When its content was last changed.
    pub last_modified: u32,
    /// How often it had been asked for.
    pub refcount: u16,
    /// A number of the owner's: up to where it has been judged by bans.
    pub judged: u64,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Raw {
    magic: U32,
    crc: U32,
    hash: U64,
    lsn: U64,
    judged: U64,
    key_bytes: U32,
    meta_bytes: U32,
    body_bytes: U32,
    body_crc: U32,
    date: U32,
    expires: U32,
    last_modified: U32,
    refcount: U16,
    kind: u8,
    reserved: u8,
}

/// A record to be written, which lacks its number yet. All that takes long is done.
pub(crate) struct Draft<'a> {
    raw: Raw,
    key: &'a [u8],
    meta: &'a [u8],
    body: SmallVec<[&'a [u8]; 4]>,
    /// The checksum as far as key and meta.
    begun: Hasher,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(
        kind: Kind,
        hash: u64,
        key: &'a [u8],
        meta: &'a [u8],
        body: SmallVec<[&'a [u8]; 4]>,
        stamps: Stamps,
    ) -> Self {
        let mut of_body = Hasher::new();
        let mut body_bytes = 0usize;
        for part in &body {
            of_body.update(part);
            body_bytes = body_bytes.saturating_add(part.len());
        }
        let mut begun = Hasher::new();
        begun.update(key);
        begun.update(meta);
        let raw = Raw {
            magic: MAGIC.into(),
            crc: 0.into(),
            hash: hash.into(),
            lsn: 0.into(),
            judged: stamps.judged.into(),
            key_bytes: narrow(key.len()).into(),
            meta_bytes: narrow(meta.len()).into(),
            body_bytes: narrow(body_bytes).into(),
            body_crc: of_body.finalize().into(),
            date: stamps.date.into(),
            expires: stamps.expires.into(),
            last_modified: stamps.last_modified.into(),
            refcount: stamps.refcount.into(),
            kind: kind as u8,
            reserved: 0,
        };
        Self {
            raw,
            key,
            meta,
            body,
            begun,
        }
    }

    /// That there is nothing under a key.
    pub(crate) fn tombstone(hash: u64) -> Self {
        let stamps = Stamps::default();
        Self::new(Kind::Tombstone, hash, &[], &[], SmallVec::new(), stamps)
    }

    pub(crate) fn hash(&self) -> u64 {
        self.raw.hash.get()
    }

    pub(crate) fn expires(&self) -> u32 {
        self.raw.expires.get()
    }

    pub(crate) fn kind(&self) -> Kind {
        // It was made from one.
        Kind::of(self.raw.kind).unwrap_or(Kind::Tombstone)
    }

    /// Its bytes, head included.
    pub(crate) fn bytes(&self) -> usize {
        let body = self.raw.body_bytes.get() as usize;
        HEAD.saturating_add(self.key.len())
            .saturating_add(self.meta.len())
            .saturating_add(body)
    }

    /// Writes it at the end of `chunk`, under this number, in a segment that was begun under that one.
    pub(crate) fn write(&self, lsn: u64, born: u64, chunk: &mut Vec<u8>) {
        let mut raw = self.raw;
        raw.lsn = lsn.into();
        let mut hasher = self.begun.clone();
        hasher.update(raw.as_bytes());
        hasher.update(&born.to_le_bytes());
        raw.crc = hasher.finalize().into();
        chunk.extend_from_slice(raw.as_bytes());
        chunk.extend_from_slice(self.key);
        chunk.extend_from_slice(self.meta);
        for part in &self.body {
            chunk.extend_from_slice(part);
        }
    }
}

/// A record that was read, every byte of it checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) kind: Kind,
    pub(crate) hash: u64,
    pub(crate) lsn: u64,
    pub(crate) stamps: Stamps,
    pub(crate) key: &'a [u8],
    pub(crate) meta: &'a [u8],
    pub(crate) body: &'a [u8],
}

/// What bytes of the disk turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parsed<'a> {
    Record(Record<'a>),
    /// Its head looks like one, but the bytes end before it does.
    Short,
    /// No record begins here.
    Nothing,
    /// A record began here; its checksums say that it is not what was written.
    Wrong,
}

/// The head of a record with key and meta, checked; the body isn't.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning<'a> {
    /// What lies after the meta is its body, as far as it is here.
    pub(crate) record: Record<'a>,
    pub(crate) body_bytes: u32,
    body_crc: u32,
}

/// The record that `bytes` begin with, of a segment that was begun under the number `born`. What lies there from the
/// segment's life before is none: an index in shared memory may say of a chunk that never came to the disk what is in it.
pub(crate) fn parse(bytes: &[u8], born: u64) -> Parsed<'_> {
    let beginning = match parse_beginning(bytes, born) {
        Ok(beginning) => beginning,
        Err(parsed) => return parsed,
    };
    let record = beginning.record;
    let Some(body) = record.body.get(..beginning.body_bytes as usize) else {
        return Parsed::Short;
    };
    if crc32fast::hash(body) != beginning.body_crc {
        return Parsed::Wrong;
    }
    Parsed::Record(Record { body, ..record })
}

/// The same, of which the body may be missing.
pub(crate) fn parse_beginning(bytes: &[u8], born: u64) -> Result<Beginning<'_>, Parsed<'_>> {
    let Ok((mut raw, rest)) = Raw::read_from_prefix(bytes) else {
        return Err(Parsed::Short);
    };
    if raw.magic.get() != MAGIC {
        return Err(Parsed::Nothing);
    }
    let Some((key, rest)) = rest.split_at_checked(raw.key_bytes.get() as usize) else {
        return Err(Parsed::Short);
    };
    let Some((meta, body)) = rest.split_at_checked(raw.meta_bytes.get() as usize) else {
        return Err(Parsed::Short);
    };
    let crc = std::mem::take(&mut raw.crc);
    let mut hasher = Hasher::new();
    hasher.update(key);
    hasher.update(meta);
    hasher.update(raw.as_bytes());
    hasher.update(&born.to_le_bytes());
    let whole = hasher.finalize() == crc.get();
    let (true, Some(kind)) = (whole, Kind::of(raw.kind)) else {
        return Err(Parsed::Wrong);
    };
    Ok(Beginning {
        record: Record {
            kind,
            hash: raw.hash.get(),
            lsn: raw.lsn.get(),
            stamps: Stamps {
                date: raw.date.get(),
                expires: raw.expires.get(),
                last_modified: raw.last_modified.get(),
                refcount: raw.refcount.get(),
                judged: raw.judged.get(),
            },
            key,
            meta,
            body,
        },
        body_bytes: raw.body_bytes.get(),
        body_crc: raw.body_crc.get(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use smallvec::SmallVec;

    use super::{Draft, Kind, Parsed, Record, Stamps, parse};

    const STAMPS: Stamps = Stamps {
        date: 1,
        expires: 2,
        last_modified: 3,
        refcount: 4,
        judged: 5,
    };

    const BORN: u64 = 10;

    fn written(key: &[u8], meta: &[u8], body: &[u8]) -> Vec<u8> {
        let (left, right) = body.split_at(body.len() / 3);
        let body = SmallVec::from_slice(&[left, right]);
        let draft = Draft::new(Kind::Whole, 11, key, meta, body, STAMPS);
        let mut bytes = Vec::new();
        draft.write(12, BORN, &mut bytes);
        assert_eq!(bytes.len(), draft.bytes());
        bytes
    }

    fn blob() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..300)
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(key in blob(), meta in blob(), body in blob(), after in blob()) {
            let mut bytes = written(&key, &meta, &body);
            bytes.extend_from_slice(&after);
            let record = Record { kind: Kind::Whole, hash: 11, lsn: 12, stamps: STAMPS, key: &key, meta: &meta, body: &body };
            prop_assert_eq!(parse(&bytes, BORN), Parsed::Record(record));
            prop_assert_eq!(parse(&bytes, BORN + 1), Parsed::Wrong);
        }

        /// A record with a flipped bit is never taken for one.
        #[test]
        fn a_flipped_bit_is_seen(key in blob(), body in blob(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = written(&key, b"meta", &body);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(!matches!(parse(&bytes, BORN), Parsed::Record(_)));
        }

        /// Nor is one that was cut.
        #[test]
        fn a_cut_is_seen(body in blob(), at in any::<prop::sample::Index>()) {
            let bytes = written(b"key", b"meta", &body);
            prop_assert_eq!(parse(&bytes[..at.index(bytes.len())], BORN), Parsed::Short);
        }

        #[test]
        fn hostile_bytes_are_refused(bytes in blob()) {
            prop_assert!(!matches!(parse(&bytes, BORN), Parsed::Record(_)));
        }
    }
}
