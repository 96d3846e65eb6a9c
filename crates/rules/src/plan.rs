//! All decisions of a configuration, compiled. One value per configuration, shared by all threads.

use std::net::IpAddr;

use config::{AccessRule, Config, Problem, Problems};
use wire::Fields;

use crate::access::{AccessList, Answer, Pick};
use crate::acl::{Acls, Environment, compile};
use crate::caching::CachingRules;
use crate::facts::Facts;
use crate::hops::HopRules;
use crate::rewrite::HeaderRules;
use crate::upgrade::UpgradeRules;

/// An access list, by its directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// `http_access`: without lines, deny.
    HttpAccess,
    /// `http_reply_access`: without lines, allow.
    HttpReplyAccess,
    /// `miss_access`: without lines, allow.
    MissAccess,
    /// `cache`: without lines, allow.
    Cache,
    /// `always_direct`: without lines, deny.
    AlwaysDirect,
    /// `never_direct`: without lines, deny.
    NeverDirect,
    /// `collapsed_forwarding_access`: without lines, allow.
    CollapsedForwarding,
    /// `cache_peer_access` of the peer with this index in `Config::peers`: without lines, allow.
    PeerAccess(usize),
    /// The ACLs of the `access_log` line with this index: without ACLs, allow.
    LogAccess(usize),
}

/// Compiled decisions.
#[derive(Debug)]
pub struct Rules {
    acls: Acls,
    http_access: AccessList,
    http_reply_access: AccessList,
    miss_access: AccessList,
    cache: AccessList,
    always_direct: AccessList,
    never_direct: AccessList,
    collapsed_forwarding: AccessList,
    peer_access: Box<[AccessList]>,
    log_access: Box<[AccessList]>,
    /// Answers for what lies outside of the tables.
    deny: AccessList,
    range_offset: Box<[Pick<Option<u64>>]>,
    outgoing: Box<[Pick<IpAddr>]>,
    upgrade: UpgradeRules,
    /// Which hops a request may take.
    pub hops: HopRules,
    /// `request_header_*`: fields toward hops.
    pub request_fields: HeaderRules,
    /// `reply_header_*`: fields toward clients.
    pub reply_fields: HeaderRules,
    /// What may be stored and reused.
    pub caching: CachingRules,
    /// An ACL names PURGE, which turns that method on.
    pub purge: bool,
    /// What works, but perhaps not as meant.
    pub warnings: Vec<Problem>,
}

impl Rules {
    /// Compiles a configuration. Host names in ACLs are resolved by the environment.
    ///
    /// # Errors
    /// Everything found, when some of it keeps the configuration from being used.
    pub fn compile(config: &Config, environment: &Environment<'_>) -> Result<Self, Problems> {
        let (acls, mut problems) = compile::compile(&config.acls, environment);
        let mut list = |directive: &str, lines: &[AccessRule], empty: bool| {
            AccessList::compile(directive, lines, empty, &acls, &mut problems)
        };
        let http_access = list("http_access", &config.http_access, false);
        let http_reply_access = list("http_reply_access", &config.http_reply_access, true);
        let miss_access = list("miss_access", &config.miss_access, true);
        let cache = list("cache", &config.cache, true);
        let always_direct = list("always_direct", &config.always_direct, false);
        let never_direct = list("never_direct", &config.never_direct, false);
        let collapsed = list(
            "collapsed_forwarding_access",
            &config.collapsed_forwarding_access,
            true,
        );
        let peer_access = config
            .peers
            .iter()
            .map(|peer| list("cache_peer_access", &peer.access, true))
            .collect();
        let log_access = config.access_logs.iter().map(|log| {
            let line = AccessRule {
                allow: true,
                acls: log.acls.clone(),
                place: log.place.clone(),
            };
            list("access_log", &[line], true)
        });
        let log_access = log_access.collect();
        let range_offset = config.range_offset_limit.iter().filter_map(|rule| {
            Pick::compile(
                "range_offset_limit",
                &rule.acls,
                &rule.place,
                rule.bytes,
                &acls,
                &mut problems,
            )
        });
        let range_offset = range_offset.collect();
        let outgoing = config.tcp_outgoing_address.iter().filter_map(|rule| {
            Pick::compile(
                "tcp_outgoing_address",
                &rule.acls,
                &rule.place,
                rule.addr,
                &acls,
                &mut problems,
            )
        });
        let outgoing = outgoing.collect();
        let request_fields = HeaderRules::compile_request(config, &acls, &mut problems);
        let reply_fields = HeaderRules::compile_reply(config, &acls, &mut problems);
        let upgrade =
            UpgradeRules::compile(&config.http_upgrade_request_protocols, &acls, &mut problems);
        let caching = CachingRules::compile(config, &mut problems);
        if problems.iter().any(Problem::stops) {
            return Err(Problems(problems));
        }
        Ok(Self {
            purge: names_purge(config),
            hops: HopRules::compile(config),
            acls,
            http_access,
            http_reply_access,
            miss_access,
            cache,
            always_direct,
            never_direct,
            collapsed_forwarding: collapsed,
            peer_access,
            log_access,
            deny: AccessList::constant(false),
            range_offset,
            outgoing,
            upgrade,
            request_fields,
            reply_fields,
            caching,
            warnings: problems,
        })
    }

    /// The list of a directive. An index beyond the configuration's gives a list that denies.
    pub fn list(&self, list: List) -> &AccessList {
        match list {
            List::HttpAccess => &self.http_access,
            List::HttpReplyAccess => &self.http_reply_access,
            List::MissAccess => &self.miss_access,
            List::Cache => &self.cache,
            List::AlwaysDirect => &self.always_direct,
            List::NeverDirect => &self.never_direct,
            List::CollapsedForwarding => &self.collapsed_forwarding,
            List::PeerAccess(index) => self.peer_access.get(index).unwrap_or(&self.deny),
            List::LogAccess(index) => self.log_access.get(index).unwrap_or(&self.deny),
        }
    }

    /// Asks a list about a transaction.
    #[inline]
    pub fn check(&self, list: List, facts: &Facts<'_>) -> Answer<'_> {
        self.list(list).check(&self.acls, facts)
    }

    /// The ACLs, for header rules.
    pub fn acls(&self) -> &Acls {
        &self.acls
    }

    /// How far a Range may start and the whole still be fetched: bytes, or `None` for no limit. No line: 0.
    pub fn range_offset_limit(&self, facts: &Facts<'_>) -> Option<u64> {
        let found = self
            .range_offset
            .iter()
            .find(|pick| pick.applies(&self.acls, facts));
        found.map_or(Some(0), |pick| pick.value)
    }

    /// May the connection be switched to what the request's Upgrade offers?
    pub fn may_upgrade(&self, request: &Fields, facts: &Facts<'_>) -> bool {
        self.upgrade.allow(request, &self.acls, facts)
    }

    /// Local address for connections to a hop of this family (`tcp_outgoing_address`).
    pub fn outgoing_address(&self, facts: &Facts<'_>, ipv6: bool) -> Option<IpAddr> {
        let same_family = self
            .outgoing
            .iter()
            .filter(|pick| pick.value.is_ipv6() == ipv6);
        same_family
            .into_iter()
            .find(|pick| pick.applies(&self.acls, facts))
            .map(|pick| pick.value)
    }
}

/// Does a `method` ACL name PURGE? Defining one turns the method on, as in Squid.
fn names_purge(config: &Config) -> bool {
    let mut methods = config.acls.iter().filter(|line| line.kind == "method");
    methods.any(|line| {
        line.values
            .texts()
            .iter()
            .any(|value| value.eq_ignore_ascii_case("PURGE"))
    })
}

#[cfg(test)]
mod tests;
