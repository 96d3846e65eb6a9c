//! One invalidation: what it meets, what becomes of that, and how much it has met.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::tag::Tag;
use crate::moment::Moment;

/// Says whether a key is meant.
pub type KeyTest = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Which objects.
pub enum Aim {
    /// All variants of a key.
    Key(Box<[u8]>),
    /// Those with any of these tags whose keys begin with `under`.
    Tagged {
        /// The tags.
        tags: Box<[Tag]>,
        /// Empty: whatever the key.
        under: Box<[u8]>,
    },
    /// Those whose keys pass the test.
    Keys(KeyTest),
}

/// What becomes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// They go.
    Remove,
    /// They are stale from that moment on, in Unix seconds.
    Stale {
        /// The moment.
        since: i64,
    },
}

/// An invalidation in force.
#[derive(Debug)]
pub struct Ban {
    pub(super) number: u64,
    pub(super) aim: Aim,
    pub(super) way: Way,
    /// When it was made, in Unix seconds.
    pub(super) at: i64,
    pub(super) moment: Moment,
    pub(super) met: AtomicU64,
}

impl Ban {
    pub(super) fn new(number: u64, aim: Aim, way: Way, at: i64) -> Arc<Self> {
        Arc::new(Self {
            number,
            aim,
            way,
            at,
            moment: Moment::new(),
            met: AtomicU64::new(0),
        })
    }

    pub(super) fn meets(&self, key: &[u8], tags: &[Tag]) -> bool {
        match &self.aim {
            Aim::Key(banned) => **banned == *key,
            Aim::Tagged {
                tags: banned,
                under,
            } => tags.iter().any(|tag| banned.contains(tag)) && key.starts_with(under),
            Aim::Keys(test) => test(key),
        }
    }

    pub(super) fn count(&self) {
        self.met.fetch_add(1, Relaxed);
    }
}

impl fmt::Debug for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.debug_tuple("Key").field(key).finish(),
            Self::Tagged { tags, under } => {
                f.debug_tuple("Tagged").field(tags).field(under).finish()
            }
            Self::Keys(_) => f.write_str("Keys"),
        }
    }
}
