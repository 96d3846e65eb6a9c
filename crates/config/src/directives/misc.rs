//! Directives: everything else.

use super::{Area, Kind, Row, checked, done, no_effect, not_yet, row, rules, set, since};
use crate::readers::{lists, simple};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("configuration_includes_quoted_values", &[], Kind::OnOff, ["on/off", "off"], since("3.4"), "switch quoting rules from here on", done(simple::quoted_values)),
    row("memory_pools", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "keep freed memory", no_effect("memory is managed by the allocator")),
    row("memory_pools_limit", &[], Kind::SizeOrNone, ["size/none", "5 MB"], since("2.5"), "limit of memory kept", no_effect("memory is managed by the allocator")),
    row("forwarded_for", &[], Kind::OneOf(&["on", "off", "transparent", "truncate", "delete"]), ["on/off/transparent/truncate/delete", "on"], since("2.5"), "X-Forwarded-For handling", set!(forwarded_for, forwarded_for)),
    row("cachemgr_passwd", &[], Kind::Lines(&[Kind::Word, Kind::Words]), ["password action..", "none (protected actions hidden)"], since("2.5"), "protect manager actions (disable, none, all)", done(simple::cachemgr_passwd)),
    row("client_db", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "per-client statistics", set!(client_db, on_off)),
    row("refresh_all_ims", &[], Kind::OnOff, ["on/off", "off"], since("3.0"), "always validate client IMS", set!(refresh_all_ims, on_off)),
    row("reload_into_ims", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "turn reload into IMS", set!(reload_into_ims, on_off)),
    row("connect_retries", &[], Kind::Number, ["N", "0"], since("3.2"), "retries of one TCP connect (max 10)", set!(connect_retries, natural)),
    row("retry_on_error", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "retry on 403/500/501/503", checked(set!(retry_on_error, on_off), not_yet(Area::Http))),
    row("as_whois_server", &[], Kind::Word, ["host", "whois.ra.net"], since("2.5"), "AS lookups (ACL types removed in 8)", no_effect("newer Squids have no ACL types that need it, nor have we")),
    row("offline_mode", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "never validate", set!(offline_mode, on_off)),
    row("uri_whitespace", &[], Kind::OneOf(&["strip", "deny", "allow", "encode", "chop"]), ["strip/deny/allow/encode/chop", "strip"], since("2.5"), "whitespace in URLs", set!(uri_whitespace, uri_whitespace)),
    row("chroot", &[], Kind::File, ["dir", "none"], since("2.5"), "chroot", not_yet(Area::Process)),
    row("pipeline_prefetch", &[], Kind::Word, ["N (on/off)", "0"], since("2.5"), "pipelined requests parsed ahead", checked(done(simple::pipeline_prefetch), no_effect("what is read ahead of the request being served is one bounded buffer"))),
    row("high_response_time_warning", &[], Kind::Number, ["ms", "0: disabled"], since("2.5"), "cache.log warning", not_yet(Area::Administration)),
    row("high_page_fault_warning", &[], Kind::Number, ["N", "0: disabled"], since("2.5"), "cache.log warning", not_yet(Area::Administration)),
    row("high_memory_warning", &[], Kind::Size, ["size", "0 KB"], since("2.5"), "cache.log warning", not_yet(Area::Administration)),
    row("sleep_after_fork", &[], Kind::Number, ["us", "0"], since("2.5"), "delay after fork", no_effect("workers are threads")),
    row("windows_ipaddrchangemonitor", &[], Kind::OnOff, ["on/off", "on"], since("2.7"), "Windows only", no_effect("Windows only")),
    row("eui_lookup", &[], Kind::OnOff, ["on/off", "on"], since("3.2"), "look up client MAC", not_yet(Area::AccessControl)),
    row("max_filedescriptors", &["max_filedesc"], Kind::Number, ["N", "0 = ulimit"], since("2.7").except("3.0"), "FD limit", done(simple::max_filedescriptors)),
    row("force_request_body_continuation", &[], Kind::AccessList, ["allow/deny acl..", "deny all"], since("4"), "send 100-continue at once", checked(rules!(force_request_body_continuation), not_yet(Area::Http))),
    row("http_upgrade_request_protocols", &[], Kind::Lines(&[Kind::Word, Kind::AccessList]), ["proto allow/deny acl..", "none (Upgrade dropped)"], since("5"), "permit Upgrade (WebSocket)", done(lists::http_upgrade_request_protocols)),
    row("server_pconn_for_nonretriable", &[], Kind::AccessList, ["allow/deny acl..", "deny all"], since("4"), "reuse connections for POST etc", checked(rules!(server_pconn_for_nonretriable), not_yet(Area::Http))),
    row("happy_eyeballs_connect_timeout", &[], Kind::Number, ["ms", "250"], since("5"), "delay before spare connection", done(simple::happy_eyeballs_connect_timeout)),
    row("happy_eyeballs_connect_gap", &[], Kind::Number, ["ms", "-1 = none"], since("5"), "gap between spares", no_effect("a connection tries at most four addresses at once, each happy_eyeballs_connect_timeout after the one before")),
    row("happy_eyeballs_connect_limit", &[], Kind::Number, ["N", "-1 = none"], since("5"), "cap on spares", no_effect("a connection tries at most four addresses at once, each happy_eyeballs_connect_timeout after the one before")),
];
