//! The access lists of a configuration: one row for each directive.

use std::collections::BTreeMap;

use config::{AccessRule, Config, Problem};

use crate::access::AccessList;
use crate::acl::Acls;

/// A row: the name of the list, its directive (also the field of `Config`), and what it says without lines.
macro_rules! lists {
    ($($name:ident = $directive:ident or $empty:literal;)*) => {
        /// An access list, by its directive.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum List {
            $(
                #[doc = concat!("`", stringify!($directive), "`; without lines: ", stringify!($empty), ".")]
                $name,
            )*
            /// `cache_peer_access` of the peer with this index in `Config::peers`; without lines: true.
            PeerAccess(usize),
            /// The ACLs of the `access_log` line with this index; without ACLs: true.
            LogAccess(usize),
            /// `delay_access` of the pool with this number, from 1; without lines: false.
            DelayAccess(u16),
            /// `client_delay_access` of the pool with this number, from 1; without lines: false.
            ClientDelayAccess(u16),
            /// `response_delay_pool_access` with this index in `Config`; without lines: false.
            ResponseDelayAccess(usize),
        }

        /// All lists, compiled.
        #[derive(Debug)]
        pub(crate) struct Lists {
            $($directive: AccessList,)*
            cache_peer_access: Box<[AccessList]>,
            access_log: Box<[AccessList]>,
            delay_access: BTreeMap<u16, AccessList>,
            client_delay_access: BTreeMap<u16, AccessList>,
            response_delay_pool_access: Box<[AccessList]>,
            /// Answers for what lies outside of the tables.
            deny: AccessList,
        }

        impl Lists {
            pub(crate) fn compile(config: &Config, acls: &Acls, problems: &mut Vec<Problem>) -> Self {
                let mut list = |directive: &str, lines: &[AccessRule], empty: bool| {
                    AccessList::compile(directive, lines, empty, acls, problems)
                };
                Self {
                    $($directive: list(stringify!($directive), &config.$directive, $empty),)*
                    cache_peer_access: {
                        let peers = config.peers.iter();
                        peers.map(|peer| list("cache_peer_access", &peer.access, true)).collect()
                    },
                    access_log: config.access_logs.iter().map(|log| {
                        let (acls, place) = (log.acls.clone(), log.place.clone());
                        list("access_log", &[AccessRule { allow: true, acls, place }], true)
                    }).collect(),
                    delay_access: numbered("delay_access", &config.delay_access, &mut list),
                    client_delay_access: {
                        numbered("client_delay_access", &config.client_delay_access, &mut list)
                    },
                    response_delay_pool_access: {
                        let pools = config.response_delay_pool_access.iter();
                        pools.map(|(_, lines)| list("response_delay_pool_access", lines, false)).collect()
                    },
                    deny: AccessList::constant(false),
                }
            }

            /// The list. An index beyond the configuration's gives a list that denies.
            #[inline]
            pub(crate) fn get(&self, list: List) -> &AccessList {
                let found = match list {
                    $(List::$name => return &self.$directive,)*
                    List::PeerAccess(index) => self.cache_peer_access.get(index),
                    List::LogAccess(index) => self.access_log.get(index),
                    List::DelayAccess(pool) => self.delay_access.get(&pool),
                    List::ClientDelayAccess(pool) => self.client_delay_access.get(&pool),
                    List::ResponseDelayAccess(index) => self.response_delay_pool_access.get(index),
                };
                found.unwrap_or(&self.deny)
            }
        }
    };
}

lists! {
    FollowXForwardedFor = follow_x_forwarded_for or false;
    PrivateDestination = private_destination_access or true;
    HttpAccess = http_access or false;
    ManagerAccess = manager_access or false;
    HttpReplyAccess = http_reply_access or true;
    UrlRewriteAccess = url_rewrite_access or true;
    AdaptedHttpAccess = adapted_http_access or true;
    StoreIdAccess = store_id_access or true;
    LocationRewriteAccess = location_rewrite_access or true;
    MissAccess = miss_access or true;
    Cache = cache or true;
    SendHit = send_hit or true;
    StoreMiss = store_miss or true;
    AlwaysDirect = always_direct or false;
    NeverDirect = never_direct or false;
    CollapsedForwarding = collapsed_forwarding_access or true;
    BrokenPosts = broken_posts or false;
    ForceContinuation = force_request_body_continuation or false;
    PconnForNonretriable = server_pconn_for_nonretriable or false;
    StatsCollection = stats_collection or true;
    SpoofClientIp = spoof_client_ip or true;
    ProxyProtocolAccess = proxy_protocol_access or false;
    IcpAccess = icp_access or false;
    HtcpAccess = htcp_access or false;
    HtcpClrAccess = htcp_clr_access or false;
    SnmpAccess = snmp_access or false;
}

fn numbered(
    directive: &str,
    pools: &BTreeMap<u16, Vec<AccessRule>>,
    list: &mut impl FnMut(&str, &[AccessRule], bool) -> AccessList,
) -> BTreeMap<u16, AccessList> {
    let lists = pools
        .iter()
        .map(|(pool, lines)| (*pool, list(directive, lines, false)));
    lists.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Scene, rules};

    #[test]
    fn pools_have_lists_of_their_own() {
        let rules = rules(
            "acl a dstdomain a.example\ndelay_pools 2\nclient_delay_pools 1\ndelay_access 2 allow a\ndelay_access 2 deny all\n\
             client_delay_access 1 allow all\nresponse_delay_pool_access slow deny a\n\
             response_delay_pool_access slow allow all",
        );
        let scene = Scene::new("http://a.example/");
        let allows = |list| rules.check(list, &scene.facts()).is_allow();
        assert!(allows(List::DelayAccess(2)) && !allows(List::DelayAccess(1)));
        assert!(allows(List::ClientDelayAccess(1)) && !allows(List::ClientDelayAccess(2)));
        assert!(!allows(List::ResponseDelayAccess(0)));
        let other = Scene::new("http://b.example/");
        let allows = |list| rules.check(list, &other.facts()).is_allow();
        assert!(!allows(List::DelayAccess(2)) && allows(List::ResponseDelayAccess(0)));
        assert_eq!(rules.list(List::SendHit).always(), Some(true));
        assert_eq!(rules.list(List::BrokenPosts).always(), Some(false));
    }
}
