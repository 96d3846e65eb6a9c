//! Directives: next hops.

use super::{Row, checked, done, not_yet, not_yet_even_off, not_yet_unless, row, rules, set};
use crate::readers::peer;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("cache_peer", &[], ["host type http-port icp-port [opts]", "none", "≤2.5"], "declare parent, sibling or multicast neighbour", done(peer::cache_peer)),
    row("cache_peer_access", &[], ["peer-name allow/deny acl..", "any", "≤2.5"], "which requests may use the peer", done(peer::cache_peer_access)),
    row("neighbor_type_domain", &[], ["peer type domain..", "type from cache_peer", "≤2.5"], "per-domain override of peer type", not_yet("peers")),
    row("dead_peer_timeout", &[], ["time", "10 seconds", "≤2.5"], "no ICP answer for this long = dead", checked(set!(dead_peer_timeout, time), not_yet_unless("ICP and HTCP", &["10 seconds"]))),
    row("forward_max_tries", &[], ["N", "25", "3.1"], "cap on forwarding attempts", set!(forward_max_tries, count)),
    row("nonhierarchical_direct", &[], ["on/off", "on", "≤2.5"], "non-cacheable requests go direct", set!(nonhierarchical_direct, on_off)),
    row("prefer_direct", &[], ["on/off", "off", "≤2.5"], "try direct first", set!(prefer_direct, on_off)),
    row("cache_miss_revalidate", &[], ["on/off", "on", "3.3"], "pass If-* on misses", not_yet_even_off("forwarding")),
    row("always_direct", &[], ["allow/deny acl..", "none", "≤2.5"], "never use peers for these", rules!(always_direct)),
    row("never_direct", &[], ["allow/deny acl..", "none", "≤2.5"], "always use peers for these", rules!(never_direct)),
];
