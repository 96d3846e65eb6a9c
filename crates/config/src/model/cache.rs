//! Freshness rules and eviction policies.

use std::time::Duration;

use crate::problem::Place;

/// One `refresh_pattern` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshPattern {
    /// POSIX extended regular expression over the URL.
    pub pattern: String,
    /// `-i`.
    pub ignore_case: bool,
    /// Fresh for this long when nothing else says.
    pub min: Duration,
    /// Share of (Date − Last-Modified) for which it is fresh; may exceed 100.
    pub percent: u32,
    /// Stale after this long, whatever `percent` says.
    pub max: Duration,
    /// The rest of the line.
    pub options: RefreshOptions,
    /// Where it is written.
    pub place: Place,
}

/// Options of a `refresh_pattern` line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the line"
)]
pub struct RefreshOptions {
    /// `min` holds even when Expires says less.
    pub override_expire: bool,
    /// `min` holds even when Last-Modified is recent.
    pub override_lastmod: bool,
    /// A client's reload becomes a conditional request.
    pub reload_into_ims: bool,
    /// A client's reload is not heeded.
    pub ignore_reload: bool,
    /// Store in spite of `no-store`.
    pub ignore_no_store: bool,
    /// Store in spite of `private`.
    pub ignore_private: bool,
    /// Validate when a client asks with If-Modified-Since.
    pub refresh_ims: bool,
    /// Store what is stale at once and has no validator.
    pub store_stale: bool,
    /// In place of `max_stale`.
    pub max_stale: Option<Duration>,
    /// `negative-ttl=` of Squid 2.7.
    pub negative_ttl: Option<Duration>,
    /// `stale-while-revalidate=` of Squid 2.7.
    pub stale_while_revalidate: Option<Duration>,
    /// `ignore-stale-while-revalidate` of Squid 2.7.
    pub ignore_stale_while_revalidate: bool,
}

/// `memory_replacement_policy` and `cache_replacement_policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// `lru`
    Lru,
    /// `heap LRU`
    HeapLru,
    /// `heap GDSF`
    HeapGdsf,
    /// `heap LFUDA`
    HeapLfuda,
}

/// `memory_cache_mode`: what the memory cache keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryCacheMode {
    /// What was used last, wherever it came from.
    #[default]
    Always,
    /// Hits of the disk cache.
    Disk,
    /// What came from the network.
    Network,
    /// Nothing.
    Never,
}
