//! Bodies that describe themselves: any part of them can be made, or checked, without holding the rest.

use std::io::{self, Read};

/// Mixes one 64-bit word (the finaliser of splitmix64).
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A 64-bit hash of bytes that may come in pieces of any size. Tells bodies apart; not for keeping secrets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hasher {
    state: u64,
    partial: [u8; 8],
    len: u64,
}

impl Hasher {
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        let held = (self.len % 8) as usize;
        self.len += bytes.len() as u64;
        if held > 0 {
            let (fill, rest) = bytes.split_at(bytes.len().min(8 - held));
            for (slot, byte) in self.partial.iter_mut().skip(held).zip(fill) {
                *slot = *byte;
            }
            if held + fill.len() < 8 {
                return;
            }
            self.word(u64::from_le_bytes(self.partial));
            bytes = rest;
        }
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        for (slot, byte) in self.partial.iter_mut().zip(rest) {
            *slot = *byte;
        }
    }

    fn word(&mut self, word: u64) {
        self.state = (self.state.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    pub(crate) fn finish(&self) -> u64 {
        let held = (self.len % 8) as usize;
        let mut last = Self {
            state: self.state,
            ..Self::default()
        };
        for (slot, byte) in last
            .partial
            .iter_mut()
            .zip(&self.partial)
            .take(held)
            .map(|(s, b)| (s, *b))
        {
            *slot = byte;
        }
        last.word(u64::from_le_bytes(last.partial));
        mix(last.state ^ self.len)
    }
}

/// The kit's 64-bit hash of some bytes: what [`Body::hash`](crate::Body) is compared with.
#[must_use]
pub fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = Hasher::default();
    hasher.update(bytes);
    hasher.finish()
}

/// A body of pseudo-random bytes, known by its name and length alone. Reads as a file does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    seed: u64,
    len: u64,
    at: u64,
}

impl Pattern {
    /// The body of `len` bytes that belongs to `name`, such as a URL's path.
    #[must_use]
    pub fn new(name: &str, len: u64) -> Self {
        Self {
            seed: hash(name.as_bytes()),
            len,
            at: 0,
        }
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Is there nothing in it?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The same body, read from byte `offset` on.
    #[must_use]
    pub fn from(&self, offset: u64) -> Self {
        Self {
            at: offset.min(self.len),
            ..self.clone()
        }
    }

    /// What [`hash`] gives for the whole body.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hasher = Hasher::default();
        let mut body = self.from(0);
        let mut buf = vec![0; 64 << 10];
        while let Some(piece) = body.fill(&mut buf) {
            hasher.update(piece);
        }
        hasher.finish()
    }

    /// The whole body at once: for small ones.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = vec![0; usize::try_from(self.len).unwrap_or(usize::MAX)];
        let len = self.from(0).fill(&mut all).map_or(0, <[u8]>::len);
        all.truncate(len);
        all
    }

    /// Fills `buf` with the next bytes; `None` at the end.
    pub(crate) fn fill<'a>(&mut self, buf: &'a mut [u8]) -> Option<&'a [u8]> {
        let left = usize::try_from(self.len - self.at).unwrap_or(usize::MAX);
        let take = left.min(buf.len());
        let piece = buf.get_mut(..take).filter(|piece| !piece.is_empty())?;
        let mut rest = &mut *piece;
        while !rest.is_empty() {
            let (index, skip) = (self.at / 8, (self.at % 8) as usize);
            let word = mix(self
                .seed
                .wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .to_le_bytes();
            let mut done = 0;
            for (slot, byte) in rest.iter_mut().zip(word.iter().skip(skip)) {
                *slot = *byte;
                done += 1;
            }
            self.at += done as u64;
            rest = rest.split_at_mut(done).1;
        }
        Some(piece)
    }
}

impl Read for Pattern {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.fill(buf).map_or(0, <[u8]>::len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_does_not_depend_on_the_pieces() {
        let bytes = Pattern::new("pieces", 1000).to_vec();
        for size in [1, 3, 7, 8, 9, 64, 999] {
            let mut hasher = Hasher::default();
            for piece in bytes.chunks(size) {
                hasher.update(piece);
            }
            assert_eq!(hasher.finish(), hash(&bytes), "pieces of {size}");
        }
    }

    #[test]
    fn the_hash_sees_length_and_order() {
        assert_ne!(hash(b""), hash(b"\0"));
        assert_ne!(hash(b"\0"), hash(b"\0\0"));
        assert_ne!(hash(b"abcdefgh12345678"), hash(b"12345678abcdefgh"));
    }

    #[test]
    fn a_pattern_reads_the_same_from_any_place() {
        let pattern = Pattern::new("/file", 4099);
        let all = pattern.to_vec();
        assert_eq!(all.len(), 4099);
        assert_eq!(hash(&all), pattern.hash());
        let mut tail = Vec::new();
        pattern.from(4093).read_to_end(&mut tail).unwrap();
        assert_eq!(tail, &all[4093..]);
        assert_ne!(Pattern::new("/other", 4099).to_vec(), all);
    }
}
