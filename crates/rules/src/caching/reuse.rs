//! May a stored response answer this request now (RFC 9111 §4, §5.2.1)? On a usual hit two compares and a look for two
//! fields; only requests with Cache-Control or Pragma are looked at closely.

use wire::value::cache_control::CacheControl;
use wire::{FieldId, Fields};

use super::CachingRules;
use super::freshness::{Freshness, Traits};

/// What to do with a stored response that matches the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Answer with it.
    Fresh,
    /// Answer with it though it is stale: the client takes that (`max-stale`).
    Stale,
    /// Answer with it though it is stale, and ask the origin meanwhile (RFC 5861 §3).
    StaleWhileRevalidate,
    /// Ask the origin first whether it still holds.
    Validate(Why),
    /// Fetch it anew: the client wants none from a cache (`no-cache`).
    Reload,
}

/// Why a stored response must be validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is stale, or must be validated each time.
    Expired,
    /// It is older than the client takes (`max-age`), or would be stale too soon (`min-fresh`).
    TooOld,
    /// The client wants it checked, by reload or If-Modified-Since.
    ClientAsks,
}

/// What a request says to caches (RFC 9111 §5.2.1, §5.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Its Cache-Control.
    pub directives: CacheControl,
    /// `no-cache`, by Cache-Control, or by Pragma when there is no Cache-Control.
    pub reload: bool,
}

impl Wishes {
    /// Reads them; nothing to read is the usual case.
    pub fn of(request: &Fields) -> Self {
        if request.has(FieldId::CacheControl) {
            let directives = CacheControl::parse(request);
            return Self {
                directives,
                reload: directives.no_cache || directives.no_cache_fields,
            };
        }
        let reload = request.has_token(FieldId::Pragma, b"no-cache");
        Self {
            directives: CacheControl::default(),
            reload,
        }
    }

    /// With nothing usable stored the answer is a 504 (RFC 9111 §5.2.1.7).
    pub fn only_if_cached(&self) -> bool {
        self.directives.only_if_cached
    }
}

/// Does the request say anything to caches? `false` is the fast way.
#[inline]
pub fn has_wishes(request: &Fields) -> bool {
    request.has(FieldId::CacheControl) || request.has(FieldId::Pragma)
}

impl CachingRules {
    /// Decides on a stored response whose Vary matches.
    #[inline]
    pub fn reuse(&self, freshness: &Freshness, request: &Fields, now: i64) -> Reuse {
        let checked = freshness.traits.has(Traits::REFRESH_IMS) || self.refresh_all_ims;
        if freshness.is_fresh(now) && !checked && !has_wishes(request) {
            return Reuse::Fresh;
        }
        self.reuse_closely(freshness, request, now)
    }

    fn reuse_closely(&self, freshness: &Freshness, request: &Fields, now: i64) -> Reuse {
        let traits = freshness.traits;
        let wishes = Wishes::of(request);
        let heeded = !traits.has(Traits::IGNORE_RELOAD);
        if wishes.reload && heeded {
            let soften = traits.has(Traits::RELOAD_INTO_IMS) || self.reload_into_ims;
            return if soften {
                Reuse::Validate(Why::ClientAsks)
            } else {
                Reuse::Reload
            };
        }
        if self.is_offline() {
            return Reuse::Fresh;
        }
        let checked = traits.has(Traits::REFRESH_IMS) || self.refresh_all_ims;
        if checked && request.has(FieldId::IfModifiedSince) {
            return Reuse::Validate(Why::ClientAsks);
        }
        let asked = wishes.directives;
        let immutable = traits.has(Traits::IMMUTABLE) && freshness.is_fresh(now);
        let too_old = |most: u32| most == 0 || freshness.age_secs(now) > i64::from(most);
        let asked_age = asked.max_age.filter(|most| heeded || *most > 0);
        if !immutable && asked_age.is_some_and(too_old) {
            return Reuse::Validate(if asked.max_age == Some(0) {
                Why::ClientAsks
            } else {
                Why::TooOld
            });
        }
        if freshness.is_fresh(now) {
            let left = freshness.fresh_until.saturating_sub(now);
            let too_soon = asked.min_fresh.is_some_and(|least| left < i64::from(least));
            return if too_soon {
                Reuse::Validate(Why::TooOld)
            } else {
                Reuse::Fresh
            };
        }
        let staleness = now.saturating_sub(freshness.fresh_until);
        let taken = asked
            .max_stale
            .is_some_and(|most| staleness <= i64::from(most) || most >= ANY_STALENESS);
        let may_be_stale = !traits.has(Traits::MUST_REVALIDATE);
        let meanwhile = may_be_stale && now < freshness.stale_while_revalidate_until;
        let tells = asked.max_age.is_some() || asked.min_fresh.is_some();
        if taken && may_be_stale && asked.min_fresh.is_none() {
            Reuse::Stale
        } else if meanwhile && !tells {
            Reuse::StaleWhileRevalidate
        } else {
            Reuse::Validate(Why::Expired)
        }
    }
}

/// `max-stale` without an argument.
const ANY_STALENESS: u32 = wire::value::cache_control::DELTA_SECS_MAX;

#[cfg(test)]
mod tests;
