//! Directives: everything else.

use super::{Row, checked, done, no_effect, not_yet, row, set};
use crate::readers::{lists, simple};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("configuration_includes_quoted_values", &[], ["on/off", "off", "3.4"], "switch quoting rules from here on", done(simple::quoted_values)),
    row("memory_pools", &[], ["on/off", "on", "≤2.5"], "keep freed memory", no_effect("memory is managed by the allocator")),
    row("memory_pools_limit", &[], ["size/none", "5 MB", "≤2.5"], "limit of memory kept", no_effect("memory is managed by the allocator")),
    row("forwarded_for", &[], ["on/off/transparent/truncate/delete", "on", "≤2.5"], "X-Forwarded-For handling", set!(forwarded_for, forwarded_for)),
    row("cachemgr_passwd", &[], ["password action..", "none (protected actions hidden)", "≤2.5"], "protect manager actions (disable, none, all)", not_yet("the cache manager")),
    row("client_db", &[], ["on/off", "on", "≤2.5"], "per-client statistics", checked(set!(client_db, on_off), not_yet("the cache manager"))),
    row("refresh_all_ims", &[], ["on/off", "off", "3.0"], "always validate client IMS", set!(refresh_all_ims, on_off)),
    row("reload_into_ims", &[], ["on/off", "off", "≤2.5"], "turn reload into IMS", set!(reload_into_ims, on_off)),
    row("connect_retries", &[], ["N", "0", "3.2"], "retries of one TCP connect (max 10)", set!(connect_retries, count)),
    row("retry_on_error", &[], ["on/off", "off", "≤2.5"], "retry on 403/500/501/503", checked(set!(retry_on_error, on_off), not_yet("forwarding"))),
    row("as_whois_server", &[], ["host", "whois.ra.net", "≤2.5"], "AS lookups (ACL types removed in 8)", no_effect("the ACL types that needed it are gone")),
    row("offline_mode", &[], ["on/off", "off", "≤2.5"], "never validate", set!(offline_mode, on_off)),
    row("uri_whitespace", &[], ["strip/deny/allow/encode/chop", "strip", "≤2.5"], "whitespace in URLs", set!(uri_whitespace, uri_whitespace)),
    row("chroot", &[], ["dir", "none", "≤2.5"], "chroot", not_yet("the process")),
    row("pipeline_prefetch", &[], ["N (on/off)", "0", "≤2.5"], "pipelined requests parsed ahead", no_effect("what is read ahead of the request being served is one bounded buffer")),
    row("high_response_time_warning", &[], ["ms", "0: disabled", "≤2.5"], "cache.log warning", not_yet("administration")),
    row("high_page_fault_warning", &[], ["N", "0: disabled", "≤2.5"], "cache.log warning", not_yet("administration")),
    row("high_memory_warning", &[], ["size", "0 KB", "≤2.5"], "cache.log warning", not_yet("administration")),
    row("sleep_after_fork", &[], ["us", "0", "≤2.5"], "delay after fork", no_effect("workers are threads")),
    row("windows_ipaddrchangemonitor", &[], ["on/off", "on", "2.7"], "Windows only", no_effect("Windows only")),
    row("eui_lookup", &[], ["on/off", "on", "3.2"], "look up client MAC", not_yet("access control")),
    row("max_filedescriptors", &["max_filedesc"], ["N", "0 = ulimit", "2.7 (not 3.0)"], "FD limit", done(simple::max_filedescriptors)),
    row("force_request_body_continuation", &[], ["allow/deny acl..", "deny all", "4"], "send 100-continue at once", not_yet("HTTP")),
    row("http_upgrade_request_protocols", &[], ["proto allow/deny acl..", "none (Upgrade dropped)", "5"], "permit Upgrade (WebSocket)", done(lists::http_upgrade_request_protocols)),
    row("server_pconn_for_nonretriable", &[], ["allow/deny acl..", "deny all", "4"], "reuse connections for POST etc", not_yet("connections")),
    row("happy_eyeballs_connect_timeout", &[], ["ms", "250", "5"], "delay before spare connection", done(simple::happy_eyeballs_connect_timeout)),
    row("happy_eyeballs_connect_gap", &[], ["ms", "-1 = none", "5"], "gap between spares", no_effect("a connection tries at most four addresses at once, each happy_eyeballs_connect_timeout after the one before")),
    row("happy_eyeballs_connect_limit", &[], ["N", "-1 = none", "5"], "cap on spares", no_effect("a connection tries at most four addresses at once, each happy_eyeballs_connect_timeout after the one before")),
];
