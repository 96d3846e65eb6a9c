//! HTTP caching (RFC 9111) as functions of request, response, configuration and time. One file per question:
//! what does the origin say ([`said`]), may it be stored ([`storable`]), until when is it fresh ([`freshness`], [`refresh`]), may it answer this request
//! ([`reuse`], [`vary`]), how is it validated ([`validate`]), what do a client's own conditions say
//! ([`precondition`], [`range`]), what does an unsafe request spoil ([`invalidate`]), by which names can it be
//! invalidated ([`tags`]), and what does a PURGE ask for ([`purge`]).

pub mod freshness;
pub mod invalidate;
#[cfg(test)]
mod oracle;
pub mod part;
pub mod precondition;
pub mod purge;
pub mod range;
pub mod refresh;
pub mod reuse;
pub mod said;
pub mod storable;
pub mod tags;
pub mod validate;
pub mod vary;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use config::{Config, Problem};
use http::Method;
use wire::Fields;

use refresh::RefreshPatterns;

/// A request with its response, as far as caching looks at them.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// Request method.
    pub method: &'a Method,
    /// Canonical URL, for `refresh_pattern`.
    pub url: &'a [u8],
    /// The request's fields.
    pub request: &'a Fields,
    /// Status of the response.
    pub status: u16,
    /// The response's fields.
    pub reply: &'a Fields,
    /// When the request was sent, in Unix seconds.
    pub request_time: i64,
    /// When the response's head had come, in Unix seconds.
    pub response_time: i64,
    /// Our name among surrogates, when we stand before the origin as one.
    pub surrogate_id: Option<&'a str>,
}

/// What the configuration says about caching. Times are in seconds.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a field per on/off directive"
)]
pub struct CachingRules {
    /// `refresh_pattern` lines.
    pub refresh: RefreshPatterns,
    /// `negative_ttl`
    pub negative_ttl_secs: i64,
    /// `minimum_expiry_time`
    pub minimum_expiry_secs: i64,
    /// `max_stale`
    pub max_stale_secs: i64,
    /// `offline_mode`: nothing stored is ever validated. Operators switch it while the proxy runs.
    offline: AtomicBool,
    /// `reload_into_ims`, for every URL.
    pub reload_into_ims: bool,
    /// `refresh_all_ims`, for every URL.
    pub refresh_all_ims: bool,
    /// `vary_ignore_expire`
    pub vary_ignore_expire: bool,
    /// `http_accel_surrogate_remote`
    pub surrogate_remote: bool,
}

impl CachingRules {
    /// Compiles the directives.
    pub(crate) fn compile(config: &Config, problems: &mut Vec<Problem>) -> Self {
        Self {
            refresh: RefreshPatterns::compile(&config.refresh_patterns, problems),
            negative_ttl_secs: secs(config.negative_ttl),
            minimum_expiry_secs: secs(config.minimum_expiry_time),
            max_stale_secs: secs(config.max_stale),
            offline: AtomicBool::new(config.offline_mode),
            reload_into_ims: config.reload_into_ims,
            refresh_all_ims: config.refresh_all_ims,
            vary_ignore_expire: config.vary_ignore_expire,
            surrogate_remote: config.http_accel_surrogate_remote,
        }
    }
}

impl CachingRules {
    /// Is nothing stored ever validated (`offline_mode`)?
    pub fn is_offline(&self) -> bool {
        self.offline.load(Relaxed)
    }

    /// Switches that, until the configuration is read anew; gives what holds from now on.
    pub fn toggle_offline(&self) -> bool {
        !self.offline.fetch_xor(true, Relaxed)
    }
}

/// Whole seconds, at most what a delta can hold, so that sums with Unix times can't overflow.
fn secs(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs())
        .unwrap_or(SECS_MAX)
        .min(SECS_MAX)
}

/// As good as for ever, and far from the ends of `i64`.
const SECS_MAX: i64 = 1 << 40;
