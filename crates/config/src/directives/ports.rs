//! Directives: listening and sockets.

use super::{Area, Kind, Row, done, no_effect, not_yet, not_yet_even_off, row, since};
use crate::readers::{lists, marks, port, simple};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("http_port", &["ascii_port"], Kind::Form, ["[addr:]port [mode] [opts]", "none"], since("2.5"), "plain listening port", done(port::http_port)),
    row("https_port", &[], Kind::Form, ["[addr:]port [mode] tls-cert=.. [opts]", "none"], since("2.5"), "TLS listening port", not_yet_even_off(Area::Tls)),
    row("ftp_port", &[], Kind::Form, ["[addr:]port [mode] [opts]", "none"], since("3.5"), "native FTP proxy port", not_yet(Area::Ftp)),
    row("tcp_outgoing_tos", &["tcp_outgoing_ds", "tcp_outgoing_dscp"], Kind::Lines(&[Kind::Number, Kind::Acls]), ["tos acl..", "none"], since("2.5"), "TOS/DSCP on server-side packets", done(marks::tcp_outgoing_tos)),
    row("clientside_tos", &[], Kind::Lines(&[Kind::Number, Kind::Acls]), ["tos acl..", "none"], since("3.0"), "TOS/DSCP on client-side packets", done(marks::clientside_tos)),
    row("tcp_outgoing_mark", &[], Kind::Lines(&[Kind::Word, Kind::Acls]), ["mark[/mask] acl..", "none"], since("3.2"), "netfilter mark on server side", done(marks::tcp_outgoing_mark)),
    row("mark_client_packet", &["clientside_mark"], Kind::Lines(&[Kind::Word, Kind::Acls]), ["mark[/mask] acl..", "none"], since("3.2"), "netfilter MARK on client side (was clientside_mark)", done(marks::mark_client_packet)),
    row("mark_client_connection", &[], Kind::Lines(&[Kind::Word, Kind::Acls]), ["mark[/mask] acl..", "none"], since("5"), "netfilter CONNMARK on client side; needs the kernel's table of connections", not_yet(Area::Networking)),
    row("qos_flows", &[], Kind::Words, ["tos/mark [local-hit=..] ..", "none"], since("3.1"), "mark replies by hit/miss source (replaces zph_*); a miss does not keep the mark of what the hop sent", done(marks::qos_flows)),
    row("tcp_outgoing_address", &[], Kind::Lines(&[Kind::Address, Kind::Acls]), ["addr [!acl..]", "OS decides"], since("2.5"), "source address selection for outgoing connections", done(lists::tcp_outgoing_address)),
    row("host_verify_strict", &[], Kind::OnOff, ["on/off", "off"], since("3.2"), "reject Host header/URL mismatch on all traffic", not_yet(Area::Interception)),
    row("client_dst_passthru", &[], Kind::OnOff, ["on/off", "on"], since("3.2"), "intercepted requests may go to the original destination", not_yet(Area::Interception)),
    row("incoming_udp_average", &["incoming_icp_average"], Kind::Number, ["N", "6"], since("2.5").except("2.7"), "poll tuning", no_effect("events come from the system without polling")),
    row("incoming_tcp_average", &["incoming_http_average"], Kind::Number, ["N", "4"], since("2.5").except("2.7"), "poll tuning", no_effect("events come from the system without polling")),
    row("incoming_dns_average", &[], Kind::Number, ["N", "4"], since("2.5").except("2.7"), "poll tuning", no_effect("events come from the system without polling")),
    row("min_udp_poll_cnt", &["min_icp_poll_cnt"], Kind::Number, ["N", "8"], since("2.5").except("2.7"), "poll tuning", no_effect("events come from the system without polling")),
    row("min_dns_poll_cnt", &[], Kind::Number, ["N", "8"], since("2.5").except("2.7"), "poll tuning", no_effect("events come from the system without polling")),
    row("min_tcp_poll_cnt", &["min_http_poll_cnt"], Kind::Number, ["N", "8"], since("2.5").except("2.7"), "poll tuning", no_effect("events come from the system without polling")),
    row("accept_filter", &[], Kind::Word, ["name", "none"], since("2.7"), "httpready/dataready or Linux data", no_effect("a connection that says nothing yet holds no thread and no buffer")),
    row("client_ip_max_connections", &[], Kind::Number, ["N", "-1 = no limit"], since("3.0"), "per-IP connection cap (needs client_db; off-by-one fixed in 8)", done(simple::client_ip_max_connections)),
    row("tcp_recv_bufsize", &[], Kind::Size, ["size", "0 = OS"], since("2.5"), "receive buffer of client connections; those to servers keep the system's", done(simple::tcp_recv_bufsize)),
];
