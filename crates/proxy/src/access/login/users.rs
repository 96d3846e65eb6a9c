//! Users who have logged in, as the manager's page shows them. Of those who log in by a handshake nothing is kept
//! beside their connections.

use std::sync::Arc;

use super::known::KNOWN_MAX;
use super::{Logins, Way};

/// The users that are remembered.
#[derive(Clone, Debug, Default)]
pub struct KnownUsers {
    /// Logins that are remembered; a user who has logged in by several passwords counts for each.
    pub count: usize,
    /// As many may be.
    pub most: usize,
    /// Some of them.
    pub users: Vec<KnownUser>,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUser {
    /// How he logged in: `basic` or `digest`.
    pub scheme: &'static str,
    /// His name.
    pub name: Arc<str>,
    /// Seconds until the helper is asked again; negative where that is due.
    pub check_secs: i64,
    /// Seconds until he is forgotten; negative where that is due.
    pub cache_secs: i64,
}

impl Logins {
    /// The users that are remembered, no more than `most` of them listed.
    pub(crate) fn users(&self, most: usize, now_ns: u64) -> KnownUsers {
        let mut known = KnownUsers::default();
        for scheme in &self.schemes {
            let ttl_secs = i64::try_from(scheme.ttl.as_secs()).unwrap_or(i64::MAX);
            let room = most.saturating_sub(known.users.len());
            let (count, users) = match &scheme.way {
                Way::Basic(basic) => basic.users(room, ttl_secs, now_ns),
                Way::Digest(digest) => digest.users(room, ttl_secs, now_ns),
                Way::Handshake(_) => continue,
            };
            known.count += count;
            known.most += KNOWN_MAX;
            known.users.extend(users);
        }
        known.users.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        known
    }
}

/// Seconds that are left of `ttl_secs`.
pub(super) fn left(ttl_secs: i64, since_ns: u64, now_ns: u64) -> i64 {
    let age = i64::try_from(now_ns.saturating_sub(since_ns) / 1_000_000_000);
    ttl_secs.saturating_sub(age.unwrap_or(i64::MAX))
}
