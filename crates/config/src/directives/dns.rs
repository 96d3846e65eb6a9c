//! Directives: names and addresses.

use super::{Area, Kind, Row, done, no_effect, not_yet, not_yet_even_off, row, set, since};
use crate::readers::simple;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("check_hostnames", &[], Kind::OnOff, ["on/off", "off"], since("2.6"), "validate hostnames", not_yet(Area::Http)),
    row("allow_underscore", &[], Kind::OnOff, ["on/off", "on"], since("2.6"), "permit _ in hostnames", not_yet_even_off(Area::Http)),
    row("dns_retransmit_interval", &[], Kind::Time, ["time", "5 seconds"], since("2.5"), "initial retransmit", set!(dns_retransmit_interval, time)),
    row("dns_timeout", &[], Kind::Time, ["time", "30 seconds"], since("2.5"), "query timeout", set!(dns_timeout, time)),
    row("dns_packet_max", &[], Kind::SizeOrNone, ["size/none", "none (no EDNS)"], since("3.2"), "EDNS size", not_yet(Area::Dns)),
    row("dns_defnames", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "search domains", set!(dns_defnames, on_off)),
    row("dns_multicast_local", &[], Kind::OnOff, ["on/off", "off"], since("3.4"), "mDNS for .local", not_yet(Area::Dns)),
    row("dns_nameservers", &[], Kind::Words, ["ip..", "resolv.conf"], since("2.5"), "resolvers; here also ip:port", done(simple::dns_nameservers)),
    row("hosts_file", &[], Kind::File, ["path/none", "@HOSTS@"], since("2.5"), "hosts database", set!(hosts_file, file_place)),
    row("append_domain", &[], Kind::Word, [".domain", "resolv.conf"], since("2.5"), "append to dotless names", done(simple::append_domain)),
    row("ignore_unknown_nameservers", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "drop answers from other IPs", no_effect("answers from other addresses are never accepted")),
    row("ipcache_size", &[], Kind::Number, ["N", "1024"], since("2.5"), "IP cache entries", set!(ipcache_size, natural)),
    row("ipcache_low", &[], Kind::Number, ["percent", "90"], since("2.5"), "low water mark of the IP cache", no_effect("the cache keeps to its size by itself")),
    row("ipcache_high", &[], Kind::Number, ["percent", "95"], since("2.5"), "high water mark of the IP cache", no_effect("the cache keeps to its size by itself")),
    row("fqdncache_size", &[], Kind::Number, ["N", "1024"], since("2.5"), "FQDN cache entries", set!(fqdncache_size, natural)),
];
