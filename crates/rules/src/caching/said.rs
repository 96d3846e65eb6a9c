//! What the origin says to a cache like this one: `Surrogate-Control` or `CDN-Cache-Control` (RFC 9213) to those that
//! stand before it, in this order, and `Cache-Control` to all others.

use wire::value::cache_control::CacheControl;
use wire::value::targeted::{cdn_cache_control, surrogate_control};
use wire::{FieldId, Fields};

use super::{CachingRules, Exchange};

/// The directives that count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said {
    pub(super) directives: CacheControl,
    /// They are meant for us: Cache-Control, Expires and Pragma say nothing beside them (RFC 9213 §2.2).
    pub(super) targeted: bool,
}

impl Said {
    pub(super) fn by(rules: &CachingRules, exchange: &Exchange<'_>) -> Self {
        let targeted = exchange.surrogate_id.and_then(|id| {
            surrogate_control(exchange.reply, id, rules.surrogate_remote)
                .or_else(|| cdn_cache_control(exchange.reply))
        });
        Self {
            directives: targeted.unwrap_or_else(|| general(exchange.reply)),
            targeted: targeted.is_some(),
        }
    }
}

/// Cache-Control; without one, what old servers mean by `Pragma: no-cache` in a response, as in Squid. RFC 9111 §5.4
/// knows it in requests only.
fn general(reply: &Fields) -> CacheControl {
    let mut directives = CacheControl::parse(reply);
    directives.no_cache |=
        !reply.has(FieldId::CacheControl) && reply.has_token(FieldId::Pragma, b"no-cache");
    directives
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fields, rules};
    use http::Method;

    const GENERAL: (&str, &str) = ("Cache-Control", "max-age=1");
    const CDN: (&str, &str) = ("CDN-Cache-Control", "max-age=2");
    const SURROGATE: (&str, &str) = ("Surrogate-Control", "max-age=3;us");

    fn max_age(surrogate_id: Option<&str>, reply: &[(&str, &str)]) -> Option<u32> {
        let (rules, request, reply) = (rules(""), fields(&[]), fields(reply));
        let said = Said::by(
            &rules.caching,
            &Exchange {
                method: &Method::GET,
                url: b"http://example.com/",
                request: &request,
                status: 200,
                reply: &reply,
                request_time: 0,
                response_time: 0,
                surrogate_id,
            },
        );
        said.directives.max_age
    }

    #[test]
    fn targeted_fields_are_for_those_before_the_origin() {
        let all = [GENERAL, CDN, SURROGATE];
        assert_eq!(max_age(Some("us"), &all), Some(3));
        assert_eq!(max_age(Some("them"), &all), Some(2));
        assert_eq!(max_age(Some("us"), &[GENERAL, CDN]), Some(2));
        assert_eq!(max_age(Some("us"), &[GENERAL]), Some(1));
        assert_eq!(max_age(None, &all), Some(1), "a forward proxy");
    }
}
