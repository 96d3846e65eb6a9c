//! Directives: authentication.

use super::{Area, Kind, Row, not_yet, row, set, since};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("auth_param", &[], Kind::Lines(&[Kind::OneOf(&["basic", "digest", "ntlm", "negotiate"]), Kind::Word, Kind::Words]), ["scheme param value", "none"], since("2.5"), "configure basic, digest, ntlm, negotiate helpers", not_yet(Area::Authentication)),
    row("authenticate_cache_garbage_interval", &[], Kind::Time, ["time", "1 hour"], since("2.5"), "how often expired user credentials are swept", not_yet(Area::Authentication)),
    row("authenticate_ttl", &[], Kind::Time, ["time", "1 hour"], since("2.5"), "how long a user's credentials stay cached after last use", not_yet(Area::Authentication)),
    row("authenticate_ip_ttl", &[], Kind::Time, ["time", "1 second"], since("2.5"), "how long an IP stays bound to a user (max_user_ip)", set!(authenticate_ip_ttl, time)),
];
