//! The pools as the manager's page shows them.

use config::Config;
use config::delay::{DelayClass, Rate, Scope};
use rules::delay::Share;

use super::{Delays, Pool};

/// What kind of line a pool comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolName {
    /// `delay_class`: number, counted from 1, and class.
    Hop(usize, DelayClass),
    /// `client_delay_pools`: number, counted from 1.
    Client(usize),
    /// `response_delay_pool`: its name.
    Response(String),
}

/// A pool.
#[derive(Clone, Debug)]
pub struct PoolReport {
    /// Which it is.
    pub name: PoolName,
    /// What it limits, in the order of its line.
    pub limits: Vec<LimitReport>,
}

/// What each of those may have whom a scope tells apart.
#[derive(Clone, Debug)]
pub struct LimitReport {
    /// Who shares a bucket.
    pub scope: Scope,
    /// What each holds.
    pub rate: Rate,
    /// Buckets that there are.
    pub buckets: usize,
    /// Some of them: whose each is, and how many bytes are in it. Less than nothing is owed.
    pub levels: Vec<(String, i64)>,
}

impl Delays {
    /// All pools, of each scope no more than `most` buckets.
    pub(crate) fn report(&self, config: &Config, most: usize, now_ns: u64) -> Vec<PoolReport> {
        let report = |name, pool: Option<&Pool>| PoolReport {
            name,
            limits: pool.map_or_else(Vec::new, |pool| pool.report(most, now_ns)),
        };
        let hops = config.delay_pools.iter().enumerate();
        let hops = hops.filter_map(|(index, pool)| Some((index, pool.as_ref()?)));
        let hops = hops.zip(&self.hop).map(|((index, configured), pool)| {
            report(PoolName::Hop(index + 1, configured.class), Some(pool))
        });
        let clients = self.client.iter().enumerate();
        let clients = clients.map(|(index, pool)| report(PoolName::Client(index + 1), Some(pool)));
        let responses = config.response_delay_pool.iter();
        let lists = &config.response_delay_pool_access;
        let mut built = self.response.iter();
        let responses = responses.map(|configured| {
            // A pool into which nothing falls isn't built.
            let is_used = lists.iter().any(|(name, _)| *name == configured.name);
            let pool = if is_used { built.next() } else { None };
            report(PoolName::Response(configured.name.clone()), pool)
        });
        hops.chain(clients).chain(responses).collect()
    }
}

/// Whose a bucket is, as Squid's page names it: by the bytes of an IPv4 address that count.
pub(super) fn name(share: &Share) -> String {
    match share {
        Share::All | Share::Own => String::new(),
        Share::Ipv4(bits) if *bits < 256 => bits.to_string(),
        Share::Ipv4(bits) if *bits < 65_536 => format!("{}.{}", bits >> 8, bits & 255),
        Share::Ipv4(bits) => std::net::Ipv4Addr::from_bits(*bits).to_string(),
        Share::Ipv6(bits) => format!("{bits:x}"),
        Share::Name(name) => name.to_string(),
    }
}
