//! Directives: Cache Digests, SNMP, ICP and HTCP.

use super::{Row, not_yet, not_yet_even_off, row};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("digest_generation", &[], ["on/off", "on", "≤2.5"], "build own Cache Digest", not_yet("Cache Digests")),
    row("digest_bits_per_entry", &[], ["N", "5", "≤2.5"], "bits per entry (5)", not_yet("Cache Digests")),
    row("digest_rebuild_period", &[], ["time", "1 hour", "≤2.5"], "rebuild interval", not_yet("Cache Digests")),
    row("digest_rewrite_period", &[], ["time", "1 hour", "≤2.5"], "publish interval", not_yet("Cache Digests")),
    row("digest_swapout_chunk_size", &[], ["size", "4096 bytes", "≤2.5"], "write chunk", not_yet("Cache Digests")),
    row("digest_rebuild_chunk_percentage", &[], ["percent", "10", "≤2.5"], "scan chunk", not_yet("Cache Digests")),
    row("snmp_port", &[], ["port", "0 = off", "≤2.5"], "SNMP agent port (0 = off; 3401 usual)", not_yet("SNMP")),
    row("snmp_access", &[], ["allow/deny acl..", "deny all", "≤2.5"], "who may query", not_yet("SNMP")),
    row("snmp_incoming_address", &[], ["addr", "any", "≤2.5"], "agent bind address", not_yet("SNMP")),
    row("snmp_outgoing_address", &[], ["addr", "= incoming", "≤2.5"], "agent reply address", not_yet("SNMP")),
    row("icp_port", &["udp_port"], ["port", "0 = off", "≤2.5"], "ICP UDP port (0 = off; 3130 usual)", not_yet("ICP and HTCP")),
    row("htcp_port", &[], ["port", "0 = off", "≤2.5"], "HTCP UDP port (0 = off; 4827 usual)", not_yet("ICP and HTCP")),
    row("log_icp_queries", &[], ["on/off", "on", "≤2.5"], "log ICP in access.log", not_yet("ICP and HTCP")),
    row("udp_incoming_address", &[], ["addr", "any", "≤2.5"], "ICP/HTCP bind address", not_yet("ICP and HTCP")),
    row("udp_outgoing_address", &[], ["addr", "= incoming", "≤2.5"], "ICP/HTCP send address", not_yet("ICP and HTCP")),
    row("icp_hit_stale", &[], ["on/off", "off", "≤2.5"], "answer ICP_HIT for stale objects", not_yet("ICP and HTCP")),
    row("minimum_direct_hops", &[], ["N", "4", "≤2.5"], "go direct when this near (netdb)", not_yet("ICP and HTCP")),
    row("minimum_direct_rtt", &[], ["ms", "400", "≤2.5"], "go direct when this near (netdb)", not_yet("ICP and HTCP")),
    row("netdb_low", &[], ["N", "900", "≤2.5"], "netdb low water", not_yet("ICP and HTCP")),
    row("netdb_high", &[], ["N", "1000", "≤2.5"], "netdb high water", not_yet("ICP and HTCP")),
    row("netdb_ping_period", &[], ["time", "5 minutes", "≤2.5"], "min gap between pings", not_yet("ICP and HTCP")),
    row("query_icmp", &[], ["on/off", "off", "≤2.5"], "ask peers for RTT in ICP", not_yet("ICP and HTCP")),
    row("test_reachability", &[], ["on/off", "off", "≤2.5"], "MISS_NOFETCH when target unknown", not_yet("ICP and HTCP")),
    row("icp_query_timeout", &[], ["ms", "0 = dynamic", "≤2.5"], "fixed ICP wait (0 = dynamic)", not_yet_even_off("ICP and HTCP")),
    row("maximum_icp_query_timeout", &[], ["ms", "2000", "≤2.5"], "cap of dynamic wait", not_yet("ICP and HTCP")),
    row("minimum_icp_query_timeout", &[], ["ms", "5", "2.6"], "floor of dynamic wait", not_yet("ICP and HTCP")),
    row("background_ping_rate", &[], ["time", "10 seconds", "3.0"], "ping interval for background-ping peers", not_yet("ICP and HTCP")),
    row("mcast_groups", &[], ["addr..", "none", "≤2.5"], "multicast ICP groups to join", not_yet("ICP and HTCP")),
    row("mcast_icp_query_timeout", &[], ["ms", "2000", "≤2.5"], "wait for multicast probes", not_yet("ICP and HTCP")),
];
