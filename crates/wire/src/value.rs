//! Field values that decide something: caching directives, ranges, dates, validators, `Via`.
//!
//! What is invalid is never an error for the message: it reads as absent, or as the strictest
//! meaning where serving something stale or private would be the price.

pub mod addr;
pub mod byteranges;
pub mod cache_control;
pub mod content_range;
pub mod date;
pub mod etag;
pub mod range;
pub mod strings;
pub mod targeted;
pub mod via;
pub mod weighted;

/// `1*DIGIT` as a number; `None` for anything else and on overflow. For `Age`, `Max-Forwards`, …
pub fn decimal(value: &[u8]) -> Option<u64> {
    crate::chars::decimal(value)
}
