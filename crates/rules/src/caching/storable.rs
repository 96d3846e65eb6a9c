//! May a response be stored (RFC 9111 §3), and is it worth it.

use http::Method;
use wire::FieldId;
use wire::value::cache_control::CacheControl;

use super::freshness::{Freshness, Source, Traits, allows_guess, is_negative, lifetime};
use super::said::Said;
use super::vary::Vary;
use super::{CachingRules, Exchange};

/// What is kept beside a stored response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storable {
    /// When it may be used.
    pub freshness: Freshness,
    /// Which requests it may answer.
    pub vary: Vary,
}

/// Why a response isn't stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotStorable {
    /// Responses to this method aren't kept (RFC 9111 §3); those to POST when they state a lifetime (RFC 9110 §9.3.3;
    /// that they say to be what GET would get is for the caller to see).
    Method,
    /// The request says `no-store` (RFC 9111 §5.2.1.5).
    RequestNoStore,
    /// The response says `no-store` (RFC 9111 §5.2.2.5).
    NoStore,
    /// The response says `private` (RFC 9111 §5.2.2.7).
    Private,
    /// The request was authorised, and nothing in the response allows sharing it (RFC 9111 §3.5).
    Authorization,
    /// Interim or not-modified, or partial without saying of what (RFC 9111 §3.3).
    Incomplete,
    /// `must-understand` with a status we don't know (RFC 9111 §5.2.2.3).
    NotUnderstood,
    /// The status allows no guess at its lifetime, and the response states none (RFC 9111 §3).
    Status,
    /// `Vary: *` (RFC 9111 §4.1), or by more fields than are compared.
    Vary,
    /// A stream of parts that replace each other never ends.
    Mixed,
    /// Stale too soon, without a validator, and not even worth keeping as a spare.
    Useless,
}

impl NotStorable {
    /// In a word, for Cache-Status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::RequestNoStore => "request-no-store",
            Self::NoStore => "no-store",
            Self::Private => "private",
            Self::Authorization => "authorization",
            Self::Incomplete => "incomplete",
            Self::NotUnderstood => "must-understand",
            Self::Status => "status",
            Self::Vary => "vary",
            Self::Mixed => "x-mixed-replace",
            Self::Useless => "stale-at-once",
        }
    }
}

impl CachingRules {
    /// Decides on a response that was just received.
    ///
    /// # Errors
    /// The first reason against storing it.
    pub fn storable(&self, exchange: &Exchange<'_>) -> Result<Storable, NotStorable> {
        let said = Said::by(self, exchange);
        let directives = &said.directives;
        let rule = self.refresh.find(exchange.url);
        allowed_by_request(exchange, directives)?;
        let ignored = &rule.options;
        if directives.no_store && !directives.must_understand && !ignored.ignore_no_store {
            return Err(NotStorable::NoStore);
        }
        if directives.must_understand && !is_understood(exchange.status) {
            return Err(NotStorable::NotUnderstood);
        }
        if (directives.private || directives.private_fields) && !ignored.ignore_private {
            return Err(NotStorable::Private);
        }
        let lifetime = lifetime(self, rule, exchange, &said);
        let source = lifetime.source;
        if *exchange.method == Method::POST && !source.is_explicit() {
            return Err(NotStorable::Method);
        }
        let incomplete = match exchange.status {
            206 => !exchange.reply.has(FieldId::ContentRange),
            status => matches!(status, 0..=199 | 304),
        };
        if incomplete {
            return Err(NotStorable::Incomplete);
        }
        let stated = source.is_explicit() || directives.public;
        let negative = is_negative(exchange.status) && lifetime.secs > 0;
        let guessed = source == Source::Heuristic && allows_guess(exchange.status);
        if !stated && !negative && !guessed {
            return Err(NotStorable::Status);
        }
        let kind = exchange.reply.get(FieldId::ContentType).unwrap_or_default();
        if starts_with(kind, b"multipart/x-mixed-replace") {
            return Err(NotStorable::Mixed);
        }
        let vary = Vary::of(exchange.reply, exchange.request).ok_or(NotStorable::Vary)?;
        let mut freshness = Freshness::from_lifetime(self, rule, exchange, &said, lifetime);
        let validator =
            exchange.reply.has(FieldId::LastModified) || exchange.reply.has(FieldId::ETag);
        // Negative answers are short-lived on purpose, and a stated lifetime is worth heeding however short.
        let least = if negative || source.is_explicit() {
            0
        } else {
            self.minimum_expiry_secs
        };
        let fresh_long_enough =
            freshness.fresh_until > exchange.response_time.saturating_add(least);
        let kept_anyway = ignored.store_stale || self.vary_ignore_expire && !vary.is_plain();
        if !fresh_long_enough && !validator && !kept_anyway {
            if !may_be_spare(exchange) {
                return Err(NotStorable::Useless);
            }
            freshness.traits = freshness.traits.with(Traits::SPARE, true);
        }
        Ok(Storable { freshness, vary })
    }
}

fn allowed_by_request(
    exchange: &Exchange<'_>,
    directives: &CacheControl,
) -> Result<(), NotStorable> {
    if *exchange.method != Method::GET && *exchange.method != Method::POST {
        return Err(NotStorable::Method);
    }
    if exchange.request.has(FieldId::CacheControl) && CacheControl::parse(exchange.request).no_store
    {
        return Err(NotStorable::RequestNoStore);
    }
    let shared = directives.public || directives.must_revalidate || directives.s_maxage.is_some();
    if exchange.request.has(FieldId::Authorization) && !shared {
        return Err(NotStorable::Authorization);
    }
    Ok(())
}

/// Is it kept although it is stale at once and has no validator? Squid keeps such responses of these statuses, but for
/// empty ones. What sets a cookie is likely made for one client, and an event stream doesn't end.
fn may_be_spare(exchange: &Exchange<'_>) -> bool {
    let reply = exchange.reply;
    let kind = reply.get(FieldId::ContentType).unwrap_or_default();
    *exchange.method == Method::GET
        && matches!(exchange.status, 200 | 203 | 300 | 301 | 308 | 410)
        && reply.get(FieldId::ContentLength) != Some(b"0")
        && !reply.has(FieldId::SetCookie)
        && !starts_with(kind, b"text/event-stream")
}

/// Statuses whose caching rules we know (RFC 9110 §15).
const fn is_understood(status: u16) -> bool {
    matches!(
        status,
        200..=206 | 300..=303 | 305 | 307 | 308 | 400..=417 | 421 | 422 | 426 | 428 | 429 | 431 | 451 | 500..=505 | 511
    )
}

fn starts_with(value: &[u8], prefix: &[u8]) -> bool {
    value
        .get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests;
