//! Directives: Cache Digests, SNMP, ICP and HTCP.

use super::{Area, Kind, Row, done, not_yet, not_yet_even_off, row, rules, set, since};
use crate::readers::simple;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("digest_generation", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "build own Cache Digest", not_yet(Area::Peers)),
    row("digest_bits_per_entry", &[], Kind::Number, ["N", "5"], since("2.5"), "bits per entry (5)", not_yet(Area::Peers)),
    row("digest_rebuild_period", &[], Kind::Time, ["time", "1 hour"], since("2.5"), "rebuild interval", not_yet(Area::Peers)),
    row("digest_rewrite_period", &[], Kind::Time, ["time", "1 hour"], since("2.5"), "publish interval", not_yet(Area::Peers)),
    row("digest_swapout_chunk_size", &[], Kind::Size, ["size", "4096 bytes"], since("2.5"), "write chunk", not_yet(Area::Peers)),
    row("digest_rebuild_chunk_percentage", &[], Kind::Number, ["percent", "10"], since("2.5"), "scan chunk", not_yet(Area::Peers)),
    row("snmp_port", &[], Kind::Port, ["port", "0 = off"], since("2.5"), "SNMP agent port (0 = off; 3401 usual)", done(simple::snmp_port)),
    row("snmp_access", &[], Kind::AccessList, ["allow/deny acl..", "deny all"], since("2.5"), "who may query", rules!(snmp_access)),
    row("snmp_incoming_address", &[], Kind::Address, ["addr", "any"], since("2.5"), "agent bind address", set!(snmp_incoming_address, host)),
    row("snmp_outgoing_address", &[], Kind::Address, ["addr", "= incoming"], since("2.5"), "agent reply address", set!(snmp_outgoing_address, host)),
    row("icp_port", &["udp_port"], Kind::Port, ["port", "0 = off"], since("2.5"), "ICP UDP port (0 = off; 3130 usual)", not_yet(Area::Peers)),
    row("htcp_port", &[], Kind::Port, ["port", "0 = off"], since("2.5"), "HTCP UDP port (0 = off; 4827 usual)", not_yet(Area::Peers)),
    row("log_icp_queries", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "log ICP in access.log", not_yet(Area::Peers)),
    row("udp_incoming_address", &[], Kind::Address, ["addr", "any"], since("2.5"), "ICP/HTCP bind address", not_yet(Area::Peers)),
    row("udp_outgoing_address", &[], Kind::Address, ["addr", "= incoming"], since("2.5"), "ICP/HTCP send address", not_yet(Area::Peers)),
    row("icp_hit_stale", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "answer ICP_HIT for stale objects", not_yet(Area::Peers)),
    row("minimum_direct_hops", &[], Kind::Number, ["N", "4"], since("2.5"), "go direct when this near (netdb)", not_yet(Area::Peers)),
    row("minimum_direct_rtt", &[], Kind::Number, ["ms", "400"], since("2.5"), "go direct when this near (netdb)", not_yet(Area::Peers)),
    row("netdb_low", &[], Kind::Number, ["N", "900"], since("2.5"), "netdb low water", not_yet(Area::Peers)),
    row("netdb_high", &[], Kind::Number, ["N", "1000"], since("2.5"), "netdb high water", not_yet(Area::Peers)),
    row("netdb_ping_period", &[], Kind::Time, ["time", "5 minutes"], since("2.5"), "min gap between pings", not_yet(Area::Peers)),
    row("query_icmp", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "ask peers for RTT in ICP", not_yet(Area::Peers)),
    row("test_reachability", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "MISS_NOFETCH when target unknown", not_yet(Area::Peers)),
    row("icp_query_timeout", &[], Kind::Number, ["ms", "0 = dynamic"], since("2.5"), "fixed ICP wait (0 = dynamic)", not_yet_even_off(Area::Peers)),
    row("maximum_icp_query_timeout", &[], Kind::Number, ["ms", "2000"], since("2.5"), "cap of dynamic wait", not_yet(Area::Peers)),
    row("minimum_icp_query_timeout", &[], Kind::Number, ["ms", "5"], since("2.6"), "floor of dynamic wait", not_yet(Area::Peers)),
    row("background_ping_rate", &[], Kind::Time, ["time", "10 seconds"], since("3.0"), "ping interval for background-ping peers", not_yet(Area::Peers)),
    row("mcast_groups", &[], Kind::Words, ["addr..", "none"], since("2.5"), "multicast ICP groups to join", not_yet(Area::Peers)),
    row("mcast_icp_query_timeout", &[], Kind::Number, ["ms", "2000"], since("2.5"), "wait for multicast probes", not_yet(Area::Peers)),
];
