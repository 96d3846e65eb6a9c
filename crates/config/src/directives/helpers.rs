//! Directives: helper programs: rewriting and store-ID.

use super::{Row, no_effect, not_yet, row};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("diskd_program", &[], ["path", "@DISKD@", "≤2.5"], "diskd helper", no_effect("files are read and written by threads")),
    row("unlinkd_program", &[], ["path", "@UNLINKD@", "≤2.5"], "file deletion helper", no_effect("files are removed by threads")),
    row("pinger_program", &[], ["path", "@PINGER@", "≤2.5"], "ICMP pinger helper", not_yet("helpers")),
    row("pinger_enable", &[], ["on/off", "on", "3.1"], "run the pinger", not_yet("helpers")),
    row("url_rewrite_program", &["redirect_program"], ["cmd", "none", "≤2.5"], "URL rewriter or redirector helper", not_yet("URL rewriting")),
    row("url_rewrite_children", &["redirect_children"], ["N [startup= idle= concurrency= queue-size= on-persistent-overload=]", "20 startup=0 idle=1 concurrency=0", "≤2.5"], "size of the pool of URL rewriters", not_yet("URL rewriting")),
    row("url_rewrite_host_header", &["redirect_rewrites_host_header"], ["on/off", "on", "≤2.5"], "rewrite Host to match the new URL", not_yet("URL rewriting")),
    row("url_rewrite_access", &["redirector_access"], ["allow/deny acl..", "allow all", "≤2.5"], "which requests are sent to the rewriter", not_yet("URL rewriting")),
    row("url_rewrite_bypass", &["redirector_bypass"], ["on/off", "off", "≤2.5"], "go on without rewriting when all helpers are busy", not_yet("URL rewriting")),
    row("url_rewrite_extras", &[], ["\"format\"", "\"%>a/%>A %un %>rm myip=%la myport=%lp\"", "3.5"], "extra fields after the URL in the helper line", not_yet("URL rewriting")),
    row("url_rewrite_timeout", &[], ["time on_timeout=fail/bypass/retry/use_configured_response [response=]", "none (wait for ever)", "4"], "helper timeout action", not_yet("URL rewriting")),
    row("store_id_program", &["storeurl_rewrite_program"], ["cmd", "none", "2.7 (not 3.0–3.3)"], "StoreID helper (cache-key rewriting)", not_yet("store-ID")),
    row("store_id_extras", &[], ["\"format\"", "\"%>a/%>A %un %>rm myip=%la myport=%lp\"", "3.5"], "extra fields in the line to the store-ID helper", not_yet("store-ID")),
    row("store_id_children", &["storeurl_rewrite_children"], ["N [opts]", "20 startup=0 idle=1 concurrency=0", "2.7 (not 3.0–3.3)"], "size of the pool of store-ID helpers", not_yet("store-ID")),
    row("store_id_access", &["storeurl_rewrite_access"], ["allow/deny acl..", "allow all", "3.4"], "which requests use store-ID", not_yet("store-ID")),
    row("store_id_bypass", &["storeurl_rewrite_bypass"], ["on/off", "on", "3.4"], "go on without store-ID when all helpers are busy", not_yet("store-ID")),
];
