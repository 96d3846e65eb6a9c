//! Directives of our own: no Squid has them, and a `squid.conf` without them means what it means there.

use super::{Kind, Row, done, ours, row, rules, set};
use crate::readers::port;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("cache_set_cookie", &[], Kind::OnOff, ["on/off", "off"], ours(), "store Set-Cookie with a response, for everyone who is answered from the cache", set!(cache_set_cookie, on_off)),
    row("cache_status_detail", &[], Kind::OnOff, ["on/off", "on"], ours(), "tell in Cache-Status why a response isn't stored, or which line guessed how long it is fresh", set!(cache_status_detail, on_off)),
    row("cache_status_key", &[], Kind::OnOff, ["on/off", "off"], ours(), "tell in Cache-Status what a response is stored under", set!(cache_status_key, on_off)),
    row("collapsed_forwarding_timeout", &[], Kind::Time, ["time", "5 seconds"], ours(), "who waits for another's fetch waits this long for its answer to begin before one of them asks, too", set!(collapsed_forwarding_timeout, time)),
    row("deny_reason", &[], Kind::OnOff, ["on/off", "off"], ours(), "tell programs that are refused which line of the configuration did it", set!(deny_reason, on_off)),
    row("disk_io_uring", &[], Kind::OnOff, ["on/off", "on"], ours(), "have the kernel read from disk while a worker goes on, where it can and may (io_uring, Linux 6.1); else threads do", set!(disk_io_uring, on_off)),
    row("manager_access", &[], Kind::AccessList, ["allow/deny acl..", "allow localhost"], ours(), "who may read what on a manager_port; first match wins, none = opposite of last action", rules!(manager_access)),
    row("manager_port", &[], Kind::Lines(&[Kind::Word]), ["[addr:]port", "none"], ours(), "port that answers for the cache manager, metrics and dashboard alone, under manager_access", done(port::manager_port)),
    row("metrics_squid_exporter", &[], Kind::OnOff, ["on/off", "on"], ours(), "give /metrics the names of squid-exporter beside our own", set!(metrics_squid_exporter, on_off)),
    row("private_destination_access", &[], Kind::AccessList, ["allow/deny acl..", "allow all, with a warning"], ours(), "may a name lead to this address, which is loopback, link-local, private or a cloud's metadata? judged at connect time", rules!(private_destination_access)),
    row("purge_all_origins", &[], Kind::OnOff, ["on/off", "off"], ours(), "PURGE by tag, prefix or pattern reaches what is stored for other origins than that of its URL", set!(purge_all_origins, on_off)),
    row("x_cache_headers", &[], Kind::OnOff, ["on/off", "off"], ours(), "add X-Cache and X-Cache-Lookup to replies, as Squid did up to 5", set!(x_cache_headers, on_off)),
];
