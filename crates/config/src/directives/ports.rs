//! Directives: listening and sockets.

use super::{Row, done, no_effect, not_yet, not_yet_even_off, row};
use crate::readers::{lists, port, simple};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("http_port", &["ascii_port"], ["[addr:]port [mode] [opts]", "none", "≤2.5"], "plain listening port", done(port::http_port)),
    row("https_port", &[], ["[addr:]port [mode] tls-cert=.. [opts]", "none", "≤2.5"], "TLS listening port", not_yet_even_off("TLS")),
    row("ftp_port", &[], ["[addr:]port [mode] [opts]", "none", "3.5"], "native FTP proxy port", not_yet("FTP")),
    row("tcp_outgoing_tos", &["tcp_outgoing_ds", "tcp_outgoing_dscp"], ["tos acl..", "none", "≤2.5"], "TOS/DSCP on server-side packets", not_yet("networking")),
    row("clientside_tos", &[], ["tos acl..", "none", "3.0"], "TOS/DSCP on client-side packets", not_yet("networking")),
    row("tcp_outgoing_mark", &[], ["mark[/mask] acl..", "none", "3.2"], "netfilter mark on server side", not_yet("networking")),
    row("mark_client_packet", &["clientside_mark"], ["mark[/mask] acl..", "none", "3.2"], "netfilter MARK on client side (was clientside_mark)", not_yet("networking")),
    row("mark_client_connection", &[], ["mark[/mask] acl..", "none", "5"], "netfilter CONNMARK on client side", not_yet("networking")),
    row("qos_flows", &[], ["tos/mark [local-hit=..] ..", "none", "3.1"], "mark replies by hit/miss source (replaces zph_*)", not_yet("networking")),
    row("tcp_outgoing_address", &[], ["addr [!acl..]", "OS decides", "≤2.5"], "source address selection for outgoing connections", done(lists::tcp_outgoing_address)),
    row("host_verify_strict", &[], ["on/off", "off", "3.2"], "reject Host header/URL mismatch on all traffic", not_yet("interception")),
    row("client_dst_passthru", &[], ["on/off", "on", "3.2"], "intercepted requests may go to the original destination", not_yet("interception")),
    row("incoming_udp_average", &["incoming_icp_average"], ["N", "6", "≤2.5 (not 2.7)"], "poll tuning", no_effect("events come from the system without polling")),
    row("incoming_tcp_average", &["incoming_http_average"], ["N", "4", "≤2.5 (not 2.7)"], "poll tuning", no_effect("events come from the system without polling")),
    row("incoming_dns_average", &[], ["N", "4", "≤2.5 (not 2.7)"], "poll tuning", no_effect("events come from the system without polling")),
    row("min_udp_poll_cnt", &["min_icp_poll_cnt"], ["N", "8", "≤2.5 (not 2.7)"], "poll tuning", no_effect("events come from the system without polling")),
    row("min_dns_poll_cnt", &[], ["N", "8", "≤2.5 (not 2.7)"], "poll tuning", no_effect("events come from the system without polling")),
    row("min_tcp_poll_cnt", &["min_http_poll_cnt"], ["N", "8", "≤2.5 (not 2.7)"], "poll tuning", no_effect("events come from the system without polling")),
    row("accept_filter", &[], ["name", "none", "2.7"], "httpready/dataready or Linux data", no_effect("a connection that says nothing yet holds no thread and no buffer")),
    row("client_ip_max_connections", &[], ["N", "-1 = no limit", "3.0"], "per-IP connection cap (needs client_db; off-by-one fixed in 8)", not_yet("networking")),
    row("tcp_recv_bufsize", &[], ["size", "0 = OS", "≤2.5"], "receive buffer of client connections; those to servers keep the system's", done(simple::tcp_recv_bufsize)),
];
