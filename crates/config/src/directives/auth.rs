//! Directives: authentication.

use super::{Kind, Row, done, no_effect, row, set, since};
use crate::readers::auth;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("auth_param", &[], Kind::Form, ["scheme param value", "none"], since("2.5"), "configure basic, digest, ntlm, negotiate helpers", done(auth::auth_param)),
    row("authenticate_cache_garbage_interval", &[], Kind::Time, ["time", "1 hour"], since("2.5"), "how often expired user credentials are swept", no_effect("what is known of users has a bound, and nothing expired is used")),
    row("authenticate_ttl", &[], Kind::Time, ["time", "1 hour"], since("2.5"), "how long a user's credentials stay cached after last use", set!(authenticate_ttl, time)),
    row("authenticate_ip_ttl", &[], Kind::Time, ["time", "1 second"], since("2.5"), "how long an IP stays bound to a user (max_user_ip)", set!(authenticate_ip_ttl, time)),
];
