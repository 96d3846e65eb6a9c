//! Directives: timeouts.

use super::{Area, Kind, Row, checked, not_yet, row, set, since};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("forward_timeout", &[], Kind::Time, ["time", "4 minutes"], since("2.5"), "total time to find a forwarding path", set!(forward_timeout, time)),
    row("connect_timeout", &[], Kind::Time, ["time", "1 minute"], since("2.5"), "TCP connect to server", set!(connect_timeout, time)),
    row("peer_connect_timeout", &[], Kind::Time, ["time", "30 seconds"], since("2.5"), "TCP connect to peer", set!(peer_connect_timeout, time)),
    row("read_timeout", &[], Kind::Time, ["time", "15 minutes"], since("2.5"), "server read idle limit", set!(read_timeout, time)),
    row("write_timeout", &[], Kind::Time, ["time", "15 minutes"], since("3.2"), "write idle limit", set!(write_timeout, time)),
    row("request_timeout", &[], Kind::Time, ["time", "5 minutes"], since("2.5"), "time to receive request headers", set!(request_timeout, time)),
    row("request_start_timeout", &[], Kind::Time, ["time", "5 minutes"], since("4"), "time to first request byte", set!(request_start_timeout, time)),
    row("client_idle_pconn_timeout", &["persistent_request_timeout"], Kind::Time, ["time", "2 minutes"], since("2.5"), "idle client keep-alive", set!(client_idle_pconn_timeout, time)),
    row("ftp_client_idle_timeout", &[], Kind::Time, ["time", "30 minutes"], since("3.5"), "idle native-FTP client", not_yet(Area::Ftp)),
    row("client_lifetime", &[], Kind::Time, ["time", "1 day"], since("2.5"), "hard cap on client connection", set!(client_lifetime, time)),
    row("pconn_lifetime", &[], Kind::Time, ["time", "0 seconds"], since("4"), "cap on keep-alive connection age", checked(set!(pconn_lifetime, time), not_yet(Area::Http))),
    row("half_closed_clients", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "keep half-closed client connections", set!(half_closed_clients, on_off)),
    row("server_idle_pconn_timeout", &["pconn_timeout"], Kind::Time, ["time", "1 minute"], since("2.5"), "idle server keep-alive", set!(server_idle_pconn_timeout, time)),
    row("shutdown_lifetime", &[], Kind::Time, ["time", "30 seconds"], since("2.5"), "grace for active clients at shutdown", set!(shutdown_lifetime, time)),
];
