//! What a response is stored under: the canonical URL and its hash, computed once per request.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::LazyLock;

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

/// Drawn once per process, so that nobody outside can prepare keys that collide.
static SECRETS: LazyLock<RapidSecrets> =
    LazyLock::new(|| RapidSecrets::seed(RandomState::new().hash_one("store keys")));

/// Differs from process to process.
pub(crate) fn seeded_hash(bytes: &[u8]) -> u64 {
    rapidhash_v3_seeded(bytes, &SECRETS)
}

/// A key with its hash. Cheap to copy; borrowed from the request.
#[derive(Clone, Copy, Debug)]
pub struct KeyRef<'a> {
    hash: u64,
    url: &'a [u8],
}

impl<'a> KeyRef<'a> {
    /// Hashes `url`, the canonical bytes of the key.
    #[must_use]
    pub fn new(url: &'a [u8]) -> Self {
        Self {
            hash: seeded_hash(url),
            url,
        }
    }

    /// The bytes of the key.
    #[must_use]
    pub fn url(&self) -> &'a [u8] {
        self.url
    }

    /// The hash of the key; it differs from process to process.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// A key whose hash is known already.
    pub(crate) fn with_hash(hash: u64, url: &'a [u8]) -> Self {
        Self { hash, url }
    }
}
