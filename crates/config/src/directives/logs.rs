//! Directives: logs.

use super::{Row, checked, done, no_effect, not_yet, not_yet_told, row, set};
use crate::readers::log;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("logformat", &[], ["name spec", "5 built-in formats", "2.6"], "define an access-log format", not_yet_told("log formats", log::logformat)),
    row("access_log", &["cache_access_log"], ["module:place [opts] [acl..] or none", "daemon:@ACCESS_LOG@ squid", "≤2.5"], "access logging; modules none, stdio, daemon, syslog, udp, tcp; bare path = stdio/daemon legacy", done(log::access_log)),
    row("icap_log", &[], ["place [format [acl..]]", "none", "3.1"], "ICAP transaction log", not_yet("ICAP")),
    row("logfile_daemon", &[], ["path", "@LOGFILED@", "2.7 (not 3.0–3.1)"], "log writer helper program", no_effect("a thread of our own writes the logs")),
    row("stats_collection", &[], ["allow/deny acl..", "allow all", "3.4"], "which requests enter the counters", not_yet("logs")),
    row("cache_store_log", &[], ["place or none", "none", "≤2.5"], "store.log of swap-in/out/release", checked(set!(cache_store_log, file_place), not_yet("the disk cache"))),
    row("cache_swap_state", &["cache_swap_log"], ["path", "inside each cache_dir", "≤2.5"], "where swap.state journals live", not_yet("logs")),
    row("logfile_rotate", &[], ["N", "10", "≤2.5"], "rotations kept on rotate signal; 0 = reopen only", set!(logfile_rotate, count)),
    row("mime_table", &[], ["path", "@MIME_TABLE@", "≤2.5"], "FTP/gopher MIME and icon table", not_yet("FTP")),
    row("log_mime_hdrs", &[], ["on/off", "off", "≤2.5"], "append request and reply headers to native log lines", checked(set!(log_mime_hdrs, on_off), not_yet("logs"))),
    row("pid_filename", &[], ["path or none", "@PID_FILE@", "≤2.5"], "PID file", set!(pid_filename, file_place)),
    row("client_netmask", &[], ["mask", "no mask", "≤2.5"], "mask clients in logs", not_yet("logs")),
    row("strip_query_terms", &[], ["on/off", "on", "≤2.5"], "drop ?query from logged URLs (default on)", set!(strip_query_terms, on_off)),
    row("buffered_logs", &[], ["on/off", "off", "≤2.5"], "batch log writes", no_effect("lines are always gathered for a moment and written together")),
    row("netdb_filename", &[], ["path", "stdio:@NETDB_FILE@", "2.7 (not 3.0)"], "ICMP netdb journal", not_yet("ICP and HTCP")),
    row("tls_key_log", &[], ["place [opts] [acl..]", "none", "6"], "TLS key log for debugging", not_yet("TLS")),
    row("cache_log", &[], ["path", "@CACHE_LOG@", "≤2.5"], "admin log", set!(cache_log, file_place)),
    row("cache_log_message", &[], ["id=N opts", "none", "6"], "per-message cache.log control", not_yet("logs")),
    row("debug_options", &[], ["[rotate=N] section,level ..", "ALL,1", "≤2.5"], "debug verbosity; ALL,1", set!(debug_options, remainder_text)),
    row("coredump_dir", &[], ["dir", "none (start directory)", "≤2.5"], "working/core directory (chdir)", set!(coredump_dir, path)),
];
