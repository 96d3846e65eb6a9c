//! `Cache-Control` of requests and responses (RFC 9111 §5.2, RFC 5861, RFC 8246).
//!
//! Of duplicates the strictest counts. An invalid or missing `max-age` or `s-maxage` reads as 0
//! (stale at once, RFC 9111 §4.2.1); an invalid permission (`max-stale`, `stale-*`) as absent.

use crate::field::Elements;
use crate::{FieldId, Fields, chars};

/// Largest delta-seconds; more is as good as for ever (RFC 9111 §1.2.2).
pub const DELTA_SECS_MAX: u32 = 1 << 31;

/// The directives of all `Cache-Control` lines of a message. Times are in seconds.
#[expect(
    clippy::struct_excessive_bools,
    reason = "one per directive, as the RFC lists them"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheControl {
    /// `max-age`
    pub max_age: Option<u32>,
    /// `s-maxage`
    pub s_maxage: Option<u32>,
    /// `max-stale`; [`DELTA_SECS_MAX`] without an argument: any staleness.
    pub max_stale: Option<u32>,
    /// `min-fresh`
    pub min_fresh: Option<u32>,
    /// `stale-while-revalidate`
    pub stale_while_revalidate: Option<u32>,
    /// `stale-if-error`
    pub stale_if_error: Option<u32>,
    /// `no-cache` without an argument: the whole response.
    pub no_cache: bool,
    /// `no-cache="names"`: only these fields; see [`named_fields`].
    pub no_cache_fields: bool,
    /// `private` without an argument: the whole response.
    pub private: bool,
    /// `private="names"`: only these fields; see [`named_fields`].
    pub private_fields: bool,
    /// `no-store`
    pub no_store: bool,
    /// `no-transform`
    pub no_transform: bool,
    /// `only-if-cached`
    pub only_if_cached: bool,
    /// `must-revalidate`
    pub must_revalidate: bool,
    /// `proxy-revalidate`
    pub proxy_revalidate: bool,
    /// `must-understand`
    pub must_understand: bool,
    /// `public`
    pub public: bool,
    /// `immutable`
    pub immutable: bool,
}

impl CacheControl {
    /// The directives in the `Cache-Control` lines of a message.
    pub fn parse(fields: &Fields) -> Self {
        Self::parse_field(fields, FieldId::CacheControl)
    }

    /// The same for another field with this syntax, such as `Surrogate-Control`.
    pub fn parse_field(fields: &Fields, id: FieldId) -> Self {
        let mut found = Self::default();
        for directive in fields.list(id) {
            found.add(directive);
        }
        found
    }

    /// The directives in one value.
    pub fn parse_value(value: &[u8]) -> Self {
        let mut found = Self::default();
        for directive in Elements::new(value) {
            found.add(directive);
        }
        found
    }

    pub(super) fn add(&mut self, directive: &[u8]) {
        let (name, argument) = match chars::split_once(directive, b'=') {
            Some((name, argument)) => (chars::trim_ows(name), Some(unquote(argument))),
            None => (directive, None),
        };
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        // By length first: a name is compared with three candidates at most.
        match name.len() {
            6 if is("public") => self.public |= argument.is_none(),
            7 if is("max-age") => limit(&mut self.max_age, argument),
            7 if is("private") => match argument {
                Some(argument) if lists_names(argument) => self.private_fields = true,
                Some(_) | None => self.private = true,
            },
            8 if is("s-maxage") => limit(&mut self.s_maxage, argument),
            8 if is("no-cache") => match argument {
                Some(argument) if lists_names(argument) => self.no_cache_fields = true,
                Some(_) | None => self.no_cache = true,
            },
            8 if is("no-store") => self.no_store = true,
            9 if is("max-stale") => {
                let any = argument.is_none().then_some(DELTA_SECS_MAX);
                permit(&mut self.max_stale, any.or(argument.and_then(delta_secs)));
            }
            9 if is("min-fresh") => {
                self.min_fresh = self.min_fresh.max(argument.and_then(delta_secs));
            }
            9 if is("immutable") => self.immutable |= argument.is_none(),
            12 if is("no-transform") => self.no_transform = true,
            14 if is("only-if-cached") => self.only_if_cached = true,
            14 if is("stale-if-error") => {
                permit(&mut self.stale_if_error, argument.and_then(delta_secs));
            }
            15 if is("must-revalidate") => self.must_revalidate = true,
            15 if is("must-understand") => self.must_understand = true,
            16 if is("proxy-revalidate") => self.proxy_revalidate = true,
            22 if is("stale-while-revalidate") => {
                permit(
                    &mut self.stale_while_revalidate,
                    argument.and_then(delta_secs),
                );
            }
            _ => {}
        }
    }
}

/// The field names in the argument of `private="…"` or `no-cache="…"`, over all lines.
pub fn named_fields<'a>(
    fields: &'a Fields,
    directive: &'a str,
) -> impl Iterator<Item = &'a [u8]> + 'a {
    fields
        .list(FieldId::CacheControl)
        .filter_map(|element| chars::split_once(element, b'='))
        .filter(move |(name, _)| chars::trim_ows(name).eq_ignore_ascii_case(directive.as_bytes()))
        .flat_map(|(_, argument)| unquote(argument).split(|&byte| byte == b','))
        .map(chars::trim_ows)
        .filter(|name| chars::is_token(name))
}

/// Is the argument a list of field names? If not, the directive counts for the whole response.
fn lists_names(argument: &[u8]) -> bool {
    argument
        .split(|&byte| byte == b',')
        .map(chars::trim_ows)
        .all(chars::is_token)
}

/// Takes the smaller of two limits; an invalid one is 0.
fn limit(held: &mut Option<u32>, argument: Option<&[u8]>) {
    let secs = argument.and_then(delta_secs).unwrap_or(0);
    *held = Some(held.map_or(secs, |held| held.min(secs)));
}

/// Takes the smaller of two permissions; an invalid one doesn't count.
fn permit(held: &mut Option<u32>, secs: Option<u32>) {
    if let Some(secs) = secs {
        *held = Some(held.map_or(secs, |held| held.min(secs)));
    }
}

/// Digits, saturating.
fn delta_secs(argument: &[u8]) -> Option<u32> {
    let secs = chars::decimal_saturating(argument)?;
    Some(
        u32::try_from(secs)
            .unwrap_or(DELTA_SECS_MAX)
            .min(DELTA_SECS_MAX),
    )
}

/// An argument without the quotes around it. No directive has use for escapes.
fn unquote(argument: &[u8]) -> &[u8] {
    let argument = chars::trim_ows(argument);
    argument
        .strip_prefix(b"\"")
        .and_then(|inner| inner.strip_suffix(b"\""))
        .unwrap_or(argument)
}

/// Any value parses, and parses the same in upper case and as two lines of one.
///
/// # Panics
/// When it doesn't.
pub fn fuzz(data: &[u8]) {
    let once = CacheControl::parse_value(data);
    assert_eq!(CacheControl::parse_value(&data.to_ascii_uppercase()), once);
    let mut fields = Fields::new();
    fields.push_id(FieldId::CacheControl, data);
    named_fields(&fields, "private").for_each(|name| assert!(!name.is_empty()));
    let single = CacheControl::parse(&fields);
    fields.push_id(FieldId::CacheControl, data);
    assert_eq!(
        CacheControl::parse(&fields),
        single,
        "saying it twice changes nothing"
    );
}

#[cfg(test)]
mod tests;
