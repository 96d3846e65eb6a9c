//! From directives to the plain options of the supports: store, resolver, and what compiling
//! rules needs from the system.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::Arc;

use admin::{Admin, Names, Order, Parts};
use anyhow::Context as _;
use config::{Config, FilePlace, MemoryCacheMode, Problem, Problems};
use jiff::tz::TimeZone;
use net::clock::Clock;
use net::dns::{self, Resolver};
use proxy::flow::Store;
use proxy::helpers::Helpers;
use proxy::internal::Roll;
use proxy::plan::Plan;
use proxy::watch::Watch;
use stats::Registry;
use tokio::sync::mpsc;

use crate::workers::Shared;
use crate::{cache_dirs, limits};

/// Makes everything that workers share.
pub(crate) fn open(
    config: &Config,
    files: Option<store::Files>,
    names: Names,
    orders: mpsc::Sender<Order>,
) -> Shared {
    let registry = Arc::new(Registry::new());
    let parts = Parts {
        helpers: Helpers::new(registry.cells()),
        store: Store::new(store::Options {
            files,
            ..store_options(config)
        }),
        clock: Clock::new(),
        registry,
        watch: Watch::default(),
        names,
        orders,
    };
    Shared {
        helpers: parts.helpers.clone(),
        store: Arc::clone(&parts.store),
        clock: parts.clock,
        registry: Arc::clone(&parts.registry),
        watch: parts.watch.clone(),
        admin: Admin::new(parts),
        roll: Roll::default(),
    }
}

/// Starts what resolves names.
pub(crate) fn resolver(config: &Config, shared: &Shared) -> anyhow::Result<Resolver> {
    let (ours, thread) = (shared.registry.cells(), shared.registry.cells());
    Resolver::start(dns_options(config), shared.clock, &ours, thread)
        .context("cannot start the DNS thread")
}

/// Does another configuration resolve names in the same way?
pub(crate) fn resolve_alike(one: &Config, other: &Config) -> bool {
    dns_options(one) == dns_options(other)
}

/// Gives the store its sizes.
pub(crate) fn resize(store: &Store, config: &Config) {
    store.set_limits(&store_options(config));
}

/// Works a configuration out.
pub(crate) fn plan(
    config: Config,
    helpers: &Helpers,
    before: Option<&Plan>,
) -> Result<Plan, Problems> {
    let zone = TimeZone::system();
    let environment = rules::Environment {
        resolve: &resolve,
        zone: &zone,
    };
    Plan::new(config, &environment, &hostname(), helpers, before)
}

/// Are the rules good, and is there what they need? Gives what there is to say of them all the same.
pub(crate) fn check(config: &Config) -> Result<Vec<Problem>, Problems> {
    let zone = TimeZone::system();
    let environment = rules::Environment {
        resolve: &resolve,
        zone: &zone,
    };
    let mut warnings = rules::Rules::compile(config, &environment)?.warnings;
    proxy::format::check(config)?;
    let problems = Plan::check(config);
    if problems.is_empty() {
        warnings.extend(Plan::missing(config));
        Ok(warnings)
    } else {
        Err(Problems(problems))
    }
}

/// Asks the system; only while a configuration is read.
fn resolve(name: &str) -> Vec<IpAddr> {
    let found = (name, 0).to_socket_addrs();
    found.map_or_else(
        |_| Vec::new(),
        |found| found.map(|addr| addr.ip()).collect(),
    )
}

fn hostname() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

fn store_options(config: &Config) -> store::Options {
    let mode = config.memory_cache_mode;
    store::Options {
        memory_bytes_max: config.cache_mem,
        object_bytes_max: config
            .maximum_object_size_in_memory
            .min(config.maximum_object_size),
        keeps_new: matches!(mode, MemoryCacheMode::Always | MemoryCacheMode::Network),
        keeps_loaded: matches!(mode, MemoryCacheMode::Always | MemoryCacheMode::Disk),
        policy: cache_dirs::policy(config.memory_replacement_policy),
        // What isn't kept is still shared while it arrives, up to half the memory.
        join_bytes_max: (config.cache_mem / 2).max(store::Options::default().join_bytes_max),
        files_max: body_files_max(),
        ..store::Options::default()
    }
}

/// A part of the files that we may have open: most are for connections.
fn body_files_max() -> usize {
    let part = usize::try_from(limits::open_files() / 8).unwrap_or(usize::MAX);
    part.min(store::Options::default().files_max)
}

fn dns_options(config: &Config) -> dns::Options {
    let usual = dns::Options::default();
    dns::Options {
        nameservers: config.dns_nameservers.clone(),
        hosts_file: match &config.hosts_file {
            FilePlace::Unset => usual.hosts_file,
            FilePlace::None => None,
            FilePlace::File(path) => Some(path.clone()),
        },
        append_domain: config.append_domain.clone(),
        search: config.dns_defnames,
        timeout: config.dns_timeout,
        retransmit: config.dns_retransmit_interval,
        positive_ttl_max: config.positive_dns_ttl,
        negative_ttl: config.negative_dns_ttl,
        names_max: usize::try_from(config.ipcache_size).unwrap_or(usize::MAX),
        addresses_max: usize::try_from(config.fqdncache_size).unwrap_or(usize::MAX),
        prefer_ipv4: config.dns_v4_first,
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use config::Replacement;

    use super::*;

    #[test]
    fn the_memory_cache_has_squids_limits() {
        let config = Config {
            cache_mem: 1 << 30,
            maximum_object_size: 1 << 20,
            maximum_object_size_in_memory: 2 << 20,
            memory_replacement_policy: Some(Replacement::HeapGdsf),
            ..config::built_in()
        };
        let options = store_options(&config);
        assert_eq!(options.memory_bytes_max, 1 << 30);
        assert_eq!(options.object_bytes_max, 1 << 20);
        assert_eq!(options.policy, store::Policy::HeapGdsf);
    }

    #[test]
    fn name_servers_are_those_of_the_configuration() {
        let config = Config {
            dns_nameservers: vec!["192.0.2.53:53".parse().unwrap()],
            hosts_file: FilePlace::None,
            ..config::built_in()
        };
        let options = dns_options(&config);
        assert_eq!(options.nameservers, ["192.0.2.53:53".parse().unwrap()]);
        assert_eq!(options.hosts_file, None);
    }

    #[test]
    fn the_built_in_configuration_can_be_worked_out() {
        assert!(check(&config::built_in()).unwrap().is_empty());
        let helpers = Helpers::new(Arc::default());
        plan(config::built_in(), &helpers, None).unwrap();
    }
}
