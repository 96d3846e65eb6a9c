//! Directives: names and addresses.

use super::{Row, done, no_effect, not_yet, not_yet_even_off, row, set};
use crate::readers::simple;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("check_hostnames", &[], ["on/off", "off", "2.6"], "validate hostnames", not_yet("DNS")),
    row("allow_underscore", &[], ["on/off", "on", "2.6"], "permit _ in hostnames", not_yet_even_off("DNS")),
    row("dns_retransmit_interval", &[], ["time", "5 seconds", "≤2.5"], "initial retransmit", set!(dns_retransmit_interval, time)),
    row("dns_timeout", &[], ["time", "30 seconds", "≤2.5"], "query timeout", set!(dns_timeout, time)),
    row("dns_packet_max", &[], ["size/none", "none (no EDNS)", "3.2"], "EDNS size", not_yet("DNS")),
    row("dns_defnames", &[], ["on/off", "off", "≤2.5"], "search domains", set!(dns_defnames, on_off)),
    row("dns_multicast_local", &[], ["on/off", "off", "3.4"], "mDNS for .local", not_yet("DNS")),
    row("dns_nameservers", &[], ["ip..", "resolv.conf", "≤2.5"], "resolvers", done(simple::dns_nameservers)),
    row("hosts_file", &[], ["path/none", "@HOSTS@", "≤2.5"], "hosts database", set!(hosts_file, file_place)),
    row("append_domain", &[], [".domain", "resolv.conf", "≤2.5"], "append to dotless names", set!(append_domain, optional_text)),
    row("ignore_unknown_nameservers", &[], ["on/off", "on", "≤2.5"], "drop answers from other IPs", no_effect("answers from other addresses are never accepted")),
    row("ipcache_size", &[], ["N", "1024", "≤2.5"], "IP cache entries", set!(ipcache_size, count)),
    row("ipcache_low", &[], ["percent", "90", "≤2.5"], "low water mark of the IP cache", no_effect("the cache keeps to its size by itself")),
    row("ipcache_high", &[], ["percent", "95", "≤2.5"], "high water mark of the IP cache", no_effect("the cache keeps to its size by itself")),
    row("fqdncache_size", &[], ["N", "1024", "≤2.5"], "FQDN cache entries", not_yet("DNS")),
];
