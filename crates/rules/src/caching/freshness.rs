//! Until when a stored response is fresh, and how old it is (RFC 9111 §4.2). Worked out once, when it is stored or
//! validated, so that a hit compares two numbers.

use std::num::NonZeroU32;

use wire::value::cache_control::CacheControl;
use wire::value::date;
use wire::{FieldId, Fields};

use super::refresh::RefreshRule;
use super::said::Said;
use super::{CachingRules, Exchange};

/// Largest age that is told apart (RFC 9111 §1.2.2).
const AGE_SECS_MAX: i64 = 1 << 31;

/// Where a lifetime comes from (RFC 9111 §4.2.1), strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `s-maxage`
    SMaxage,
    /// `max-age`
    MaxAge,
    /// `Expires`
    Expires,
    /// `negative_ttl`, for errors that don't say.
    Negative,
    /// `refresh_pattern`
    Heuristic,
}

impl Source {
    /// Did the response say so itself?
    pub const fn is_explicit(self) -> bool {
        matches!(self, Self::SMaxage | Self::MaxAge | Self::Expires)
    }
}

/// What bends the use of a stored response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits(u8);

impl Traits {
    /// It must not be used stale (RFC 9111 §5.2.2.2, §5.2.2.8, §5.2.2.10, §5.2.2.4).
    pub const MUST_REVALIDATE: Self = Self(1);
    /// It doesn't change while it is fresh (RFC 8246).
    pub const IMMUTABLE: Self = Self(1 << 1);
    /// A client's If-Modified-Since makes us validate.
    pub const REFRESH_IMS: Self = Self(1 << 2);
    /// A client's reload isn't heeded.
    pub const IGNORE_RELOAD: Self = Self(1 << 3);
    /// A client's reload becomes a validation.
    pub const RELOAD_INTO_IMS: Self = Self(1 << 4);
    /// It is an error kept for `negative_ttl`.
    pub const NEGATIVE: Self = Self(1 << 5);
    /// It was purged softly: it is stale before its time.
    pub const PURGED: Self = Self(1 << 6);
    /// It was stale when it came and has no validator: it is for when the origin fails, and for who takes it stale.
    pub const SPARE: Self = Self(1 << 7);

    /// As a number, to be stored.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// From what [`Traits::bits`] gave.
    pub const fn of_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Is it so?
    #[inline]
    pub const fn has(self, which: Self) -> bool {
        self.0 & which.0 != 0
    }

    pub(super) fn with(self, which: Self, on: bool) -> Self {
        if on { Self(self.0 | which.0) } else { self }
    }
}

/// When a stored response may be used. Times are Unix seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// When its age was zero: age = now − born (RFC 9111 §4.2.3).
    pub born: i64,
    /// Fresh before this moment; `i64::MIN` when it must be validated each time (`no-cache`).
    pub fresh_until: i64,
    /// May be used until here when it can't be validated (RFC 9111 §4.2.4, RFC 5861 §4, `max_stale`).
    pub stale_until: i64,
    /// May be used until here while it is being validated (RFC 5861 §3).
    pub stale_while_revalidate_until: i64,
    /// What bends its use.
    pub traits: Traits,
    /// The `refresh_pattern` line that has guessed how long it is fresh, from 1 on.
    pub guessed_by: Option<NonZeroU32>,
}

impl Freshness {
    /// Is it fresh?
    #[inline]
    pub const fn is_fresh(&self, now: i64) -> bool {
        now < self.fresh_until
    }

    /// The same, stale from `since` on: how long it may be used stale counts from then.
    pub fn stale_since(&self, since: i64) -> Self {
        let earlier = self.fresh_until.saturating_sub(since).max(0);
        Self {
            fresh_until: self.fresh_until.min(since),
            stale_until: self.stale_until.saturating_sub(earlier),
            stale_while_revalidate_until: self.stale_while_revalidate_until.saturating_sub(earlier),
            traits: self.traits.with(Traits::PURGED, true),
            ..*self
        }
    }

    /// Age in seconds, for the Age field (RFC 9111 §5.1).
    #[inline]
    pub fn age_secs(&self, now: i64) -> i64 {
        now.saturating_sub(self.born).clamp(0, AGE_SECS_MAX)
    }

    /// Seconds that it is fresh yet, for Cache-Status (RFC 9211 §2.5); below 0 since it is stale. What must be validated
    /// each time was never fresh.
    #[inline]
    pub fn ttl_secs(&self, now: i64) -> i64 {
        self.fresh_until.max(self.born).saturating_sub(now)
    }

    /// May it be used although validating failed (RFC 9111 §4.2.4)?
    pub const fn may_serve_after_failure(&self, now: i64) -> bool {
        now < self.fresh_until
            || !self.traits.has(Traits::MUST_REVALIDATE) && now <= self.stale_until
    }

    /// Works it out for a response that was just received.
    pub fn of(rules: &CachingRules, exchange: &Exchange<'_>) -> Self {
        let said = Said::by(rules, exchange);
        let rule = rules.refresh.find(exchange.url);
        let lifetime = lifetime(rules, rule, exchange, &said);
        Self::from_lifetime(rules, rule, exchange, &said, lifetime)
    }

    pub(super) fn from_lifetime(
        rules: &CachingRules,
        rule: &RefreshRule,
        exchange: &Exchange<'_>,
        said: &Said,
        lifetime: Lifetime,
    ) -> Self {
        let directives = &said.directives;
        let born = exchange.response_time.saturating_sub(initial_age(exchange));
        let stale_at = born.saturating_add(lifetime.secs);
        let validate_always = directives.no_cache || directives.no_cache_fields;
        // A private response that `ignore-private` let in is validated each time, as in Squid.
        let private = directives.private || directives.private_fields;
        let must_revalidate = validate_always || private || binds(directives);
        let max_stale = rule.max_stale_secs(rules);
        let if_error = directives
            .stale_if_error
            .map_or(max_stale, |secs| i64::from(secs).min(max_stale));
        let while_revalidate = match directives.stale_while_revalidate {
            Some(secs) if !rule.options.ignore_stale_while_revalidate => i64::from(secs),
            _ => rule.while_revalidate_secs,
        };
        let while_revalidate = while_revalidate.min(max_stale);
        let stale = |more: i64| {
            if must_revalidate {
                stale_at
            } else {
                stale_at.max(born.saturating_add(lifetime.own_secs).saturating_add(more))
            }
        };
        let options = &rule.options;
        Self {
            born,
            fresh_until: if validate_always || private {
                i64::MIN
            } else {
                stale_at
            },
            stale_until: stale(if_error),
            stale_while_revalidate_until: stale(while_revalidate),
            traits: Traits::default()
                .with(Traits::MUST_REVALIDATE, must_revalidate)
                .with(Traits::IMMUTABLE, directives.immutable)
                .with(Traits::REFRESH_IMS, options.refresh_ims)
                .with(Traits::IGNORE_RELOAD, options.ignore_reload)
                .with(Traits::RELOAD_INTO_IMS, options.reload_into_ims)
                .with(Traits::NEGATIVE, lifetime.source == Source::Negative),
            guessed_by: rule.number.filter(|_| lifetime.source == Source::Heuristic),
        }
    }
}

/// Freshness lifetime, counted from birth (RFC 9111 §4.2.1, §4.2.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetime {
    /// How long it is fresh; negative when it was over before the response was born.
    pub(super) secs: i64,
    /// The same without what `override-*` adds: from here on it is stale use.
    own_secs: i64,
    pub(super) source: Source,
}

/// How long the response is fresh, and who says so.
pub(super) fn lifetime(
    rules: &CachingRules,
    rule: &RefreshRule,
    exchange: &Exchange<'_>,
    said: &Said,
) -> Lifetime {
    let (own_secs, source) = explicit(exchange, said).unwrap_or_else(|| {
        let negative = rule.negative_ttl_secs.unwrap_or(rules.negative_ttl_secs);
        let unmodified = unmodified(exchange);
        // Without negative_ttl, an error that says since when it is so is as good as anything else that does.
        let guessed = negative == 0 && unmodified.is_some() && allows_guess(exchange.status);
        if is_negative(exchange.status) && !guessed {
            (negative, Source::Negative)
        } else {
            (rule.heuristic_secs(unmodified), Source::Heuristic)
        }
    });
    let enforced = match source {
        Source::Heuristic => rule.options.override_lastmod,
        Source::Negative => false,
        Source::SMaxage | Source::MaxAge | Source::Expires => rule.options.override_expire,
    };
    let secs = if enforced && !binds(&said.directives) {
        // As in Squid the minimum ends with `max_stale`, counted from what it overrides.
        let most = own_secs.saturating_add(rule.max_stale_secs(rules));
        own_secs.max(rule.min_secs.min(most.saturating_add(1)))
    } else {
        own_secs
    };
    Lifetime {
        secs,
        own_secs,
        source,
    }
}

/// Must it not be used stale (RFC 9111 §5.2.2.2, §5.2.2.8, §5.2.2.10)? No `refresh_pattern` gets around that.
const fn binds(directives: &CacheControl) -> bool {
    directives.must_revalidate || directives.proxy_revalidate || directives.s_maxage.is_some()
}

/// The lifetime that the response states; an invalid `Expires` is one in the past (RFC 9111 §5.3).
fn explicit(exchange: &Exchange<'_>, said: &Said) -> Option<(i64, Source)> {
    let directives = &said.directives;
    if let Some(secs) = directives.s_maxage {
        return Some((i64::from(secs), Source::SMaxage));
    }
    if let Some(secs) = directives.max_age {
        return Some((i64::from(secs), Source::MaxAge));
    }
    let expires = exchange.reply.get(FieldId::Expires);
    let expires = expires.filter(|_| !said.targeted)?;
    let secs = date::parse(expires).map_or(0, |expires| expires.saturating_sub(sent(exchange)));
    Some((secs, Source::Expires))
}

/// Statuses whose lifetime may be guessed (RFC 9110 §15.1).
pub(super) const fn allows_guess(status: u16) -> bool {
    matches!(
        status,
        200 | 203 | 204 | 206 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501
    )
}

/// Errors that `negative_ttl` is for, as in Squid.
pub(super) const fn is_negative(status: u16) -> bool {
    matches!(
        status,
        204 | 305 | 400 | 403 | 404 | 405 | 414 | 421 | 500 | 501 | 502 | 503 | 504
    )
}

/// How long before its Date it was last modified.
fn unmodified(exchange: &Exchange<'_>) -> Option<i64> {
    let modified = date::parse(exchange.reply.get(FieldId::LastModified)?)?;
    Some(sent(exchange).saturating_sub(modified))
}

/// Its Date; without a valid one, when it was received (RFC 9110 §6.6.1).
fn sent(exchange: &Exchange<'_>) -> i64 {
    exchange
        .reply
        .get(FieldId::Date)
        .and_then(date::parse)
        .unwrap_or(exchange.response_time)
}

/// Age when it was received (RFC 9111 §4.2.3).
fn initial_age(exchange: &Exchange<'_>) -> i64 {
    let apparent = exchange.response_time.saturating_sub(sent(exchange)).max(0);
    let delay = exchange
        .response_time
        .saturating_sub(exchange.request_time)
        .max(0);
    let corrected = stated_age(exchange.reply).saturating_add(delay);
    apparent.max(corrected).min(AGE_SECS_MAX)
}

/// The Age field. Of a list the first member counts (RFC 9111 §5.1). What is no number, or as several fields look that
/// someone joined (RFC 9110 §5.3), comes from a cache that can't be trusted to know: the response is old.
fn stated_age(reply: &Fields) -> i64 {
    let mut lines = reply.get_all(FieldId::Age);
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return if reply.has(FieldId::Age) {
            AGE_SECS_MAX
        } else {
            0
        };
    };
    let first = line.split(|byte| *byte == b',').next().unwrap_or_default();
    let second = line.get(first.len() + 1..).and_then(<[u8]>::first);
    let joined = second.is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    if joined || first.is_empty() || !first.iter().all(u8::is_ascii_digit) {
        return AGE_SECS_MAX;
    }
    let digits = wire::value::decimal(first).and_then(|secs| i64::try_from(secs).ok());
    digits.unwrap_or(AGE_SECS_MAX).min(AGE_SECS_MAX)
}

#[cfg(test)]
mod tests;
