//! Directives of our own: no Squid has them, and a `squid.conf` without them means what it means there.

use super::{Kind, Row, ours, row, rules, set};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("cache_set_cookie", &[], Kind::OnOff, ["on/off", "off"], ours(), "store Set-Cookie with a response, for everyone who is answered from the cache", set!(cache_set_cookie, on_off)),
    row("deny_reason", &[], Kind::OnOff, ["on/off", "off"], ours(), "tell programs that are refused which line of the configuration did it", set!(deny_reason, on_off)),
    row("private_destination_access", &[], Kind::AccessList, ["allow/deny acl..", "allow all, with a warning"], ours(), "may a name lead to this address, which is loopback, link-local, private or a cloud's metadata? judged at connect time", rules!(private_destination_access)),
    row("purge_all_origins", &[], Kind::OnOff, ["on/off", "off"], ours(), "PURGE by tag, prefix or pattern reaches what is stored for other origins than that of its URL", set!(purge_all_origins, on_off)),
];
