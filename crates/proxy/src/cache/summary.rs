//! What operators are told of a stored response.

use rules::caching::freshness::Traits;

use crate::cache::persist;
use crate::cache::stored::StoredResponse;

/// A stored response without its body, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Status of the response.
    pub status: u16,
    /// Its Date, in Unix seconds, if it has one.
    pub date: Option<i64>,
    /// When it ceases to be fresh, in Unix seconds.
    pub fresh_until: i64,
    /// Its Last-Modified, as it was sent.
    pub last_modified: Option<Vec<u8>>,
    /// Its Content-Type; empty if it has none.
    pub content_type: Vec<u8>,
    /// The request fields that it was selected by: name and value; `None` where there was no such field.
    pub selected_by: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// It was purged softly, and is validated before it is used.
    pub is_purged: bool,
    /// Status line and fields, each with its line end, as they would be sent.
    pub head: Vec<u8>,
}

impl Summary {
    /// Of what lies on disk beside a body; `None` for anything that isn't the metadata of a response.
    #[must_use]
    pub fn of(meta: &[u8]) -> Option<Self> {
        persist::read(meta).as_ref().map(Self::of_stored)
    }

    fn of_stored(stored: &StoredResponse) -> Self {
        let freshness = &stored.freshness;
        Self {
            status: stored.status,
            date: (stored.date != i64::MIN).then_some(stored.date),
            fresh_until: freshness.fresh_until,
            last_modified: stored.field(b"last-modified").map(<[u8]>::to_vec),
            content_type: stored.content_type().to_vec(),
            selected_by: stored.vary.fields(),
            is_purged: freshness.traits.has(Traits::PURGED),
            head: stored.head.to_vec(),
        }
    }
}
