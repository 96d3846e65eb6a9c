//! Directives: timeouts.

use super::{Row, checked, not_yet, row, set};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("forward_timeout", &[], ["time", "4 minutes", "≤2.5"], "total time to find a forwarding path", set!(forward_timeout, time)),
    row("connect_timeout", &[], ["time", "1 minute", "≤2.5"], "TCP connect to server", set!(connect_timeout, time)),
    row("peer_connect_timeout", &[], ["time", "30 seconds", "≤2.5"], "TCP connect to peer", set!(peer_connect_timeout, time)),
    row("read_timeout", &[], ["time", "15 minutes", "≤2.5"], "server read idle limit", set!(read_timeout, time)),
    row("write_timeout", &[], ["time", "15 minutes", "3.2"], "write idle limit", set!(write_timeout, time)),
    row("request_timeout", &[], ["time", "5 minutes", "≤2.5"], "time to receive request headers", set!(request_timeout, time)),
    row("request_start_timeout", &[], ["time", "5 minutes", "4"], "time to first request byte", set!(request_start_timeout, time)),
    row("client_idle_pconn_timeout", &["persistent_request_timeout"], ["time", "2 minutes", "≤2.5"], "idle client keep-alive", set!(client_idle_pconn_timeout, time)),
    row("ftp_client_idle_timeout", &[], ["time", "30 minutes", "3.5"], "idle native-FTP client", not_yet("timeouts")),
    row("client_lifetime", &[], ["time", "1 day", "≤2.5"], "hard cap on client connection", set!(client_lifetime, time)),
    row("pconn_lifetime", &[], ["time", "0 seconds", "4"], "cap on keep-alive connection age", checked(set!(pconn_lifetime, time), not_yet("connections"))),
    row("half_closed_clients", &[], ["on/off", "off", "≤2.5"], "keep half-closed client connections", set!(half_closed_clients, on_off)),
    row("server_idle_pconn_timeout", &["pconn_timeout"], ["time", "1 minute", "≤2.5"], "idle server keep-alive", set!(server_idle_pconn_timeout, time)),
    row("shutdown_lifetime", &[], ["time", "30 seconds", "≤2.5"], "grace for active clients at shutdown", set!(shutdown_lifetime, time)),
];
