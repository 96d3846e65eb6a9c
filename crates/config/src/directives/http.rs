//! Directives: messages and connections.

use super::{Area, Kind, Row, done, no_effect, not_yet, row, rules, set, since};
use crate::readers::{header, simple};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("request_header_max_size", &[], Kind::Size, ["size", "64 KB"], since("2.5"), "limit on request headers", set!(request_header_max_size, size)),
    row("reply_header_max_size", &[], Kind::Size, ["size", "64 KB"], since("2.5"), "limit on reply headers", set!(reply_header_max_size, size)),
    row("request_body_max_size", &[], Kind::Size, ["size", "0 KB"], since("2.5"), "limit on uploads", done(simple::request_body_max_size)),
    row("client_request_buffer_max_size", &[], Kind::Size, ["size", "512 KB"], since("3.1"), "limit on request buffering", no_effect("content is passed on as it comes, in buffers of fixed size")),
    row("broken_posts", &[], Kind::AccessList, ["allow/deny acl..", "deny all"], since("2.5"), "send extra CRLF after POST", rules!(broken_posts)),
    row("adaptation_uses_indirect_client", &["icap_uses_indirect_client"], Kind::OnOff, ["on/off", "on"], since("3.1"), "send indirect client to adaptation", not_yet(Area::Icap)),
    row("via", &[], Kind::OnOff, ["on/off", "on"], since("2.6"), "send Via (loop detection stays)", set!(via, on_off)),
    row("vary_ignore_expire", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "cache Vary objects that expire at once", set!(vary_ignore_expire, on_off)),
    row("request_header_access", &[], Kind::Lines(&[Kind::Word, Kind::AccessList]), ["header allow/deny acl..", "allow all"], since("3.0"), "strip request headers (All, Other, names)", done(header::request_header_access)),
    row("reply_header_access", &[], Kind::Lines(&[Kind::Word, Kind::AccessList]), ["header allow/deny acl..", "allow all"], since("3.0"), "strip reply headers", done(header::reply_header_access)),
    row("request_header_replace", &["header_replace"], Kind::Lines(&[Kind::Word, Kind::Text]), ["header text", "none"], since("2.5"), "replacement for a stripped request header", done(header::request_header_replace)),
    row("reply_header_replace", &[], Kind::Lines(&[Kind::Word, Kind::Text]), ["header text", "none"], since("3.0"), "replacement for a stripped reply header", done(header::reply_header_replace)),
    row("request_header_add", &[], Kind::Lines(&[Kind::Word, Kind::Quoted, Kind::Acls]), ["name value [acl..]", "none"], since("3.3"), "add request header (logformat codes allowed)", done(header::request_header_add)),
    row("reply_header_add", &[], Kind::Lines(&[Kind::Word, Kind::Quoted, Kind::Acls]), ["name value [acl..]", "none"], since("4"), "add reply header", done(header::reply_header_add)),
    row("note", &[], Kind::Lines(&[Kind::Word, Kind::Quoted, Kind::Acls]), ["key value [acl..]", "none"], since("3.4"), "annotate the transaction", done(header::note)),
    row("relaxed_header_parser", &[], Kind::OneOf(&["on", "off", "warn"]), ["on/off/warn", "on"], since("2.5"), "tolerance of malformed messages", set!(relaxed_header_parser, relaxed)),
    row("collapsed_forwarding", &[], Kind::OnOff, ["on/off", "off"], since("2.6").except("3.0–3.4"), "merge concurrent requests for one URL; here, without a line, on for accelerator ports", done(simple::collapsed_forwarding)),
    row("collapsed_forwarding_access", &[], Kind::AccessList, ["allow/deny acl..", "allow all"], since("5"), "which requests may share a fetch", rules!(collapsed_forwarding_access)),
    row("shared_transient_entries_limit", &["collapsed_forwarding_shared_entries_limit"], Kind::Number, ["N", "16384"], since("4"), "SMP in-flight table size", no_effect("requests in flight need no table of fixed size")),
    row("httpd_accel_surrogate_id", &[], Kind::Word, ["id", "= visible_hostname"], since("3.0"), "Surrogate-Capability id", set!(httpd_accel_surrogate_id, optional_text)),
    row("http_accel_surrogate_remote", &[], Kind::OnOff, ["on/off", "off"], since("3.0"), "honour no-store-remote", set!(http_accel_surrogate_remote, on_off)),
    row("client_persistent_connections", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "keep-alive to clients", set!(client_persistent_connections, on_off)),
    row("server_persistent_connections", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "keep-alive to servers", set!(server_persistent_connections, on_off)),
    row("persistent_connection_after_error", &[], Kind::OnOff, ["on/off", "on"], since("2.6"), "keep-alive after errors", set!(persistent_connection_after_error, on_off)),
    row("detect_broken_pconn", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "detect bogus HTTP/1.0 keep-alive", no_effect("replies without a clear end are never followed by another")),
];
