//! Directives: authentication.

use super::{Row, not_yet, row};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("auth_param", &[], ["scheme param value", "none", "≤2.5"], "configure basic, digest, ntlm, negotiate helpers", not_yet("authentication")),
    row("authenticate_cache_garbage_interval", &[], ["time", "1 hour", "≤2.5"], "how often expired user credentials are swept", not_yet("authentication")),
    row("authenticate_ttl", &[], ["time", "1 hour", "≤2.5"], "how long a user's credentials stay cached after last use", not_yet("authentication")),
    row("authenticate_ip_ttl", &[], ["time", "1 second", "≤2.5"], "how long an IP stays bound to a user (max_user_ip)", not_yet("authentication")),
];
