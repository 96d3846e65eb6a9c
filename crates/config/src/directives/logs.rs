//! Directives: logs.

use super::{Area, Kind, Row, done, no_effect, not_yet, row, rules, set, since};
use crate::readers::log;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("logformat", &[], Kind::Form, ["name spec", "5 built-in formats"], since("2.6"), "define an access-log format", done(log::logformat)),
    row("access_log", &["cache_access_log"], Kind::Lines(&[Kind::File, Kind::Words]), ["module:place [opts] [acl..] or none", "daemon:@ACCESS_LOG@ squid"], since("2.5"), "access logging; modules none, stdio, daemon, syslog, udp, tcp; bare path = stdio/daemon legacy", done(log::access_log)),
    row("icap_log", &[], Kind::Lines(&[Kind::File, Kind::Words]), ["place [format [acl..]]", "none"], since("3.1"), "ICAP transaction log", not_yet(Area::Icap)),
    row("logfile_daemon", &[], Kind::File, ["path", "@LOGFILED@"], since("2.7").except("3.0–3.1"), "program that logs of daemon: are given to; a thread of our own does what the usual one does", done(log::logfile_daemon)),
    row("stats_collection", &[], Kind::AccessList, ["allow/deny acl..", "allow all"], since("3.4"), "which requests enter the counters", rules!(stats_collection)),
    row("cache_store_log", &[], Kind::File, ["place or none", "none"], since("2.5"), "store.log of swap-in/out/release", set!(cache_store_log, file_place)),
    row("cache_swap_state", &["cache_swap_log"], Kind::File, ["path", "inside each cache_dir"], since("2.5"), "where swap.state journals live", no_effect("a cache_dir keeps its index beside its log")),
    row("logfile_rotate", &[], Kind::Number, ["N", "10"], since("2.5"), "rotations kept on rotate signal; 0 = reopen only", set!(logfile_rotate, natural)),
    row("mime_table", &[], Kind::File, ["path", "@MIME_TABLE@"], since("2.5"), "FTP/gopher MIME and icon table", not_yet(Area::Ftp)),
    row("log_mime_hdrs", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "append request and reply headers to native log lines", set!(log_mime_hdrs, on_off)),
    row("pid_filename", &[], Kind::File, ["path or none", "@PID_FILE@"], since("2.5"), "PID file", set!(pid_filename, file_place)),
    row("client_netmask", &[], Kind::Address, ["mask", "no mask"], since("2.5"), "mask clients in logs", done(log::client_netmask)),
    row("strip_query_terms", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "drop ?query from logged URLs (default on)", set!(strip_query_terms, on_off)),
    row("buffered_logs", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "batch log writes", no_effect("lines are always gathered for a moment and written together")),
    row("netdb_filename", &[], Kind::File, ["path", "stdio:@NETDB_FILE@"], since("2.7").except("3.0"), "ICMP netdb journal", not_yet(Area::Peers)),
    row("tls_key_log", &[], Kind::Lines(&[Kind::File, Kind::Words]), ["place [opts] [acl..]", "none"], since("6"), "TLS key log for debugging", not_yet(Area::Tls)),
    row("cache_log", &[], Kind::File, ["path", "@CACHE_LOG@"], since("2.5"), "admin log", set!(cache_log, file_place)),
    row("cache_log_message", &[], Kind::Words, ["id=N opts", "none"], since("6"), "per-message cache.log control", not_yet(Area::Administration)),
    row("debug_options", &[], Kind::Text, ["[rotate=N] section,level ..", "ALL,1"], since("2.5"), "debug verbosity; ALL,1", set!(debug_options, remainder_text)),
    row("coredump_dir", &[], Kind::File, ["dir", "none (start directory)"], since("2.5"), "working/core directory (chdir)", set!(coredump_dir, path)),
];
