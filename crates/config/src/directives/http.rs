//! Directives: messages and connections.

use super::{Row, done, no_effect, not_yet, row, rules, set};
use crate::readers::{header, simple};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("request_header_max_size", &[], ["size", "64 KB", "≤2.5"], "limit on request headers", set!(request_header_max_size, size)),
    row("reply_header_max_size", &[], ["size", "64 KB", "≤2.5"], "limit on reply headers", set!(reply_header_max_size, size)),
    row("request_body_max_size", &[], ["size", "0 KB", "≤2.5"], "limit on uploads", done(simple::request_body_max_size)),
    row("client_request_buffer_max_size", &[], ["size", "512 KB", "3.1"], "limit on request buffering", no_effect("content is passed on as it comes, in buffers of fixed size")),
    row("broken_posts", &[], ["allow/deny acl..", "deny all", "≤2.5"], "send extra CRLF after POST", not_yet("HTTP")),
    row("adaptation_uses_indirect_client", &["icap_uses_indirect_client"], ["on/off", "on", "3.1"], "send indirect client to adaptation", not_yet("HTTP")),
    row("via", &[], ["on/off", "on", "2.6"], "send Via (loop detection stays)", set!(via, on_off)),
    row("vary_ignore_expire", &[], ["on/off", "off", "≤2.5"], "cache Vary objects that expire at once", set!(vary_ignore_expire, on_off)),
    row("request_header_access", &[], ["header allow/deny acl..", "allow all", "3.0"], "strip request headers (All, Other, names)", done(header::request_header_access)),
    row("reply_header_access", &[], ["header allow/deny acl..", "allow all", "3.0"], "strip reply headers", done(header::reply_header_access)),
    row("request_header_replace", &["header_replace"], ["header text", "none", "≤2.5"], "replacement for a stripped request header", done(header::request_header_replace)),
    row("reply_header_replace", &[], ["header text", "none", "3.0"], "replacement for a stripped reply header", done(header::reply_header_replace)),
    row("request_header_add", &[], ["name value [acl..]", "none", "3.3"], "add request header (logformat codes allowed)", done(header::request_header_add)),
    row("reply_header_add", &[], ["name value [acl..]", "none", "4"], "add reply header", done(header::reply_header_add)),
    row("note", &[], ["key value [acl..]", "none", "3.4"], "annotate the transaction", not_yet("HTTP")),
    row("relaxed_header_parser", &[], ["on/off/warn", "on", "≤2.5"], "tolerance of malformed messages", set!(relaxed_header_parser, relaxed)),
    row("collapsed_forwarding", &[], ["on/off", "off", "2.6 (not 3.0–3.4)"], "merge concurrent requests for one URL; here, without a line, on for accelerator ports", done(simple::collapsed_forwarding)),
    row("collapsed_forwarding_access", &[], ["allow/deny acl..", "allow all", "5"], "which requests may share a fetch", rules!(collapsed_forwarding_access)),
    row("shared_transient_entries_limit", &["collapsed_forwarding_shared_entries_limit"], ["N", "16384", "4"], "SMP in-flight table size", no_effect("requests in flight need no table of fixed size")),
    row("httpd_accel_surrogate_id", &[], ["id", "= visible_hostname", "3.0"], "Surrogate-Capability id", not_yet("accelerators")),
    row("http_accel_surrogate_remote", &[], ["on/off", "off", "3.0"], "honour no-store-remote", not_yet("accelerators")),
    row("client_persistent_connections", &[], ["on/off", "on", "≤2.5"], "keep-alive to clients", set!(client_persistent_connections, on_off)),
    row("server_persistent_connections", &[], ["on/off", "on", "≤2.5"], "keep-alive to servers", set!(server_persistent_connections, on_off)),
    row("persistent_connection_after_error", &[], ["on/off", "on", "2.6"], "keep-alive after errors", set!(persistent_connection_after_error, on_off)),
    row("detect_broken_pconn", &[], ["on/off", "off", "≤2.5"], "detect bogus HTTP/1.0 keep-alive", no_effect("replies without a clear end are never followed by another")),
];
