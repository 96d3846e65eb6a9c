//! Directives: helper programs: rewriting and store-ID; Location rewriters of old Squids.

use super::{Area, Kind, Row, done, no_effect, not_yet, only, row, rules, set, since};
use crate::readers::{pool, rewrite};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("diskd_program", &[], Kind::File, ["path", "@DISKD@"], since("2.5"), "diskd helper", no_effect("files are read and written by threads")),
    row("unlinkd_program", &[], Kind::File, ["path", "@UNLINKD@"], since("2.5"), "file deletion helper", no_effect("files are removed by threads")),
    row("pinger_program", &[], Kind::File, ["path", "@PINGER@"], since("2.5"), "ICMP pinger helper", not_yet(Area::Peers)),
    row("pinger_enable", &[], Kind::OnOff, ["on/off", "on"], since("3.1"), "run the pinger", not_yet(Area::Peers)),
    row("url_rewrite_program", &["redirect_program"], Kind::Words, ["cmd", "none"], since("2.5"), "URL rewriter or redirector helper", done(rewrite::url_rewrite_program)),
    row("url_rewrite_children", &["redirect_children"], Kind::Pool, ["N [startup= idle= concurrency= queue-size= on-persistent-overload=]", "20 startup=0 idle=1 concurrency=0"], since("2.5"), "size of the pool of URL rewriters", done(pool::url_rewrite_children)),
    row("url_rewrite_host_header", &["redirect_rewrites_host_header"], Kind::OnOff, ["on/off", "on"], since("2.5"), "rewrite Host to match the new URL", set!(url_rewrite_host_header, on_off)),
    row("url_rewrite_access", &["redirector_access"], Kind::AccessList, ["allow/deny acl..", "allow all"], since("2.5"), "which requests are sent to the rewriter", rules!(url_rewrite_access)),
    row("url_rewrite_bypass", &["redirector_bypass"], Kind::OnOff, ["on/off", "off"], since("2.5"), "go on without rewriting when all helpers are busy", set!(url_rewrite_bypass, on_off)),
    row("url_rewrite_extras", &[], Kind::Quoted, ["\"format\"", "\"%>a/%>A %un %>rm myip=%la myport=%lp\""], since("3.5"), "extra fields after the URL in the helper line", done(rewrite::url_rewrite_extras)),
    row("url_rewrite_timeout", &[], Kind::Once(&[Kind::Time, Kind::Words]), ["time on_timeout=fail/bypass/retry/use_configured_response [response=]", "none (wait for ever)"], since("4"), "helper timeout action", done(rewrite::url_rewrite_timeout)),
    row("store_id_program", &["storeurl_rewrite_program"], Kind::Words, ["cmd", "none"], since("2.7").except("3.0–3.3"), "StoreID helper (cache-key rewriting)", done(rewrite::store_id_program)),
    row("store_id_extras", &[], Kind::Quoted, ["\"format\"", "\"%>a/%>A %un %>rm myip=%la myport=%lp\""], since("3.5"), "extra fields in the line to the store-ID helper", done(rewrite::store_id_extras)),
    row("store_id_children", &["storeurl_rewrite_children"], Kind::Pool, ["N [opts]", "20 startup=0 idle=1 concurrency=0"], since("2.7").except("3.0–3.3"), "size of the pool of store-ID helpers", done(pool::store_id_children)),
    row("store_id_access", &["storeurl_rewrite_access"], Kind::AccessList, ["allow/deny acl..", "allow all"], since("3.4"), "which requests use store-ID", rules!(store_id_access)),
    row("store_id_bypass", &["storeurl_rewrite_bypass"], Kind::OnOff, ["on/off", "on"], since("3.4"), "go on without store-ID when all helpers are busy", set!(store_id_bypass, on_off)),
    row("location_rewrite_program", &[], Kind::Words, ["cmd", ""], only("2.6", "2.7"), "2.6/2.7: Location rewriter helper", done(rewrite::location_rewrite_program)),
    row("location_rewrite_access", &[], Kind::AccessList, ["allow/deny acl..", ""], only("2.6", "2.7"), "which requests use the Location rewriter", rules!(location_rewrite_access)),
    row("location_rewrite_children", &[], Kind::Pool, ["N [opts]", ""], only("2.6", "2.7"), "size of the pool of Location rewriters", done(pool::location_rewrite_children)),
];
