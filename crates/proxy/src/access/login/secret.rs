//! A key of this process, and what is hashed with it: whoever sees a table sees no password.

use sha2::{Digest as _, Sha256};

/// Made anew at each start.
#[derive(Clone)]
pub(super) struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub(super) fn new() -> Self {
        Self(rand::random())
    }

    /// Hashes parts so that no others give the same. The key is on both sides, and each part has its
    /// length, so that nothing can be moved or appended.
    pub(super) fn hash(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut hash = Sha256::new_with_prefix(self.0);
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.update(self.0);
        let whole: [u8; 32] = hash.finalize().into();
        let mut half = [0; 16];
        half.iter_mut().zip(whole).for_each(|(to, from)| *to = from);
        half
    }
}

/// Are both the same? Takes the same time wherever they differ.
pub(super) fn equal(one: &[u8], other: &[u8]) -> bool {
    let differ = one
        .iter()
        .zip(other)
        .fold(0, |differ, (a, b)| differ | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_elsewhere_is_another_thing() {
        let secret = Secret::new();
        assert_eq!(secret.hash(&[b"ab", b"c"]), secret.hash(&[b"ab", b"c"]));
        assert_ne!(secret.hash(&[b"ab", b"c"]), secret.hash(&[b"a", b"bc"]));
        assert_ne!(secret.hash(&[b"ab"]), Secret::new().hash(&[b"ab"]));
    }

    #[test]
    fn equal_is_equal() {
        assert!(equal(b"abc", b"abc") && equal(b"", b""));
        assert!(!equal(b"abc", b"abd") && !equal(b"abc", b"ab") && !equal(b"", b"a"));
    }
}
