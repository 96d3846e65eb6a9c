//! Directives: next hops.

use super::{Area, Kind, Row, checked, done, not_yet, not_yet_unless, row, rules, set, since};
use crate::readers::peer;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("cache_peer", &[], Kind::Form, ["host type http-port icp-port [opts]", "none"], since("2.5"), "declare parent, sibling or multicast neighbour", done(peer::cache_peer)),
    row("cache_peer_access", &[], Kind::Lines(&[Kind::Word, Kind::AccessList]), ["peer-name allow/deny acl..", "any"], since("2.5"), "which requests may use the peer", done(peer::cache_peer_access)),
    row("neighbor_type_domain", &[], Kind::Lines(&[Kind::Word, Kind::Word, Kind::Words]), ["peer type domain..", "type from cache_peer"], since("2.5"), "per-domain override of peer type", not_yet(Area::Peers)),
    row("dead_peer_timeout", &[], Kind::Time, ["time", "10 seconds"], since("2.5"), "no ICP answer for this long = dead", checked(set!(dead_peer_timeout, time), not_yet_unless(Area::Peers, &["10 seconds"]))),
    row("forward_max_tries", &[], Kind::Number, ["N", "25"], since("3.1"), "cap on forwarding attempts", set!(forward_max_tries, natural)),
    row("nonhierarchical_direct", &[], Kind::OnOff, ["on/off", "on"], since("2.5"), "non-cacheable requests go direct", set!(nonhierarchical_direct, on_off)),
    row("prefer_direct", &[], Kind::OnOff, ["on/off", "off"], since("2.5"), "try direct first", set!(prefer_direct, on_off)),
    row("cache_miss_revalidate", &[], Kind::OnOff, ["on/off", "on"], since("3.3"), "pass If-* on misses", set!(cache_miss_revalidate, on_off)),
    row("always_direct", &[], Kind::AccessList, ["allow/deny acl..", "none"], since("2.5"), "never use peers for these", rules!(always_direct)),
    row("never_direct", &[], Kind::AccessList, ["allow/deny acl..", "none"], since("2.5"), "always use peers for these", rules!(never_direct)),
];
