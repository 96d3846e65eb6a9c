//! The responses in memory as the manager's pages list them.

use std::sync::Arc;

use md5::{Digest as _, Md5};
use rules::caching::freshness::Traits;
use store::{Body, KeyRef};
use wire::value::date;

use crate::flow::{Object, Store};

/// Which responses are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objects {
    /// All.
    All,
    /// Those that are arriving.
    Arriving,
    /// Those whose body stays on disk.
    OnDisk,
}

/// A stored response at one moment.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ObjectReport {
    /// What it is stored under: a URL, or what `store_id_program` says.
    pub key: Vec<u8>,
    /// What Squid calls it: MD5 of its number for GET, and the key.
    pub digest: [u8; 16],
    /// Status of the response.
    pub status: u16,
    /// Bytes of its head.
    pub head_bytes: usize,
    /// Has all of it come?
    pub complete: bool,
    /// Is it on disk too, as far as the index in memory tells?
    pub on_disk: bool,
    /// Transactions that have it in their hands now.
    pub users: usize,
    /// Its Date, in Unix seconds.
    pub date: Option<i64>,
    /// Its Last-Modified, in Unix seconds.
    pub last_modified: Option<i64>,
    /// When it ceases to be fresh, in Unix seconds; `None` where it is validated each time.
    pub fresh_until: Option<i64>,
    /// Bytes of its body, if their number is known.
    pub body_bytes: Option<u64>,
    /// Bytes of memory that it accounts for.
    pub held_bytes: u64,
    /// It is kept for `negative_ttl`.
    pub negative: bool,
    /// It must not be used stale.
    pub must_revalidate: bool,
    /// It holds only a part of a response.
    pub part: bool,
    /// The origin is being asked about it.
    pub validating: bool,
}

/// Responses in memory, no more than `most`, by their keys.
pub fn objects(store: &Store, which: Objects, most: usize) -> Vec<ObjectReport> {
    let mut reports: Vec<_> = store
        .some(most, |object| which.has(object))
        .iter()
        .map(|object| report(store, object))
        .collect();
    reports.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    reports
}

impl Objects {
    fn has(self, object: &Arc<Object>) -> bool {
        match self {
            Self::All => true,
            Self::Arriving => !object.is_complete(),
            Self::OnDisk => matches!(object.body(), Body::Disk(_)),
        }
    }
}

fn report(store: &Store, object: &Arc<Object>) -> ObjectReport {
    let stored = &object.meta;
    let freshness = &stored.freshness;
    let fresh_until = freshness.fresh_until;
    ObjectReport {
        key: object.key().to_vec(),
        digest: digest(object.key()),
        status: stored.status,
        head_bytes: stored.head.len(),
        complete: object.is_complete(),
        on_disk: store.may_be_on_disk(KeyRef::new(object.key())),
        // The index has it too, and so have we.
        users: Arc::strong_count(object).saturating_sub(2),
        date: (stored.date != i64::MIN).then_some(stored.date),
        last_modified: stored.field(b"last-modified").and_then(date::parse),
        fresh_until: (fresh_until != i64::MIN).then_some(fresh_until),
        body_bytes: object.length(),
        held_bytes: object.held_bytes(),
        negative: freshness.traits.has(Traits::NEGATIVE),
        must_revalidate: freshness.traits.has(Traits::MUST_REVALIDATE),
        part: stored.part.is_some(),
        validating: stored.validating.load(std::sync::atomic::Ordering::Relaxed),
    }
}

fn digest(key: &[u8]) -> [u8; 16] {
    const GET: u8 = 1;
    Md5::new()
        .chain_update([GET])
        .chain_update(key)
        .finalize()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Squid 5.7 names it.
    #[test]
    fn a_response_has_squids_name() {
        let digest = digest(b"http://origin.example:39283/ext/a");
        let expected = 0x2A62_0463_AAE9_E8E0_183F_E9EA_A2AD_E6A9_u128;
        assert_eq!(u128::from_be_bytes(digest), expected);
    }
}
