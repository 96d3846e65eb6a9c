//! Directives of our own: no Squid has them, and a `squid.conf` without them means what it means there.

use super::{Kind, Row, row, set, since};

/// What stands for the versions of Squid that have them.
pub const SINCE: &str = "Squall";

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("deny_reason", &[], Kind::OnOff, ["on/off", "off"], since(SINCE), "tell programs that are refused which line of the configuration did it", set!(deny_reason, on_off)),
];
