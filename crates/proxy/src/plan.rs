//! A configuration made ready for use: everything that a request would otherwise have to work out.
//! One value for all workers; a reload makes a new one, and running transactions keep theirs.

use std::sync::Arc;
use std::time::Duration;

use config::port::VirtualPort;
use config::{Config, Problem, Problems};
use net::neighbours::Neighbours;
use rules::hops::Turns;
use rules::{Environment, Rules};
use wire::http1::{Limits, Relaxed, Version};
use wire::target::{Scheme, UriWhitespace};

pub use crate::access::{ExternalReport, KnownUser, KnownUsers};
use crate::access::{Externals, Logins};
use crate::adapt::{LocationRewriter, Rewriter};
use crate::cache::StoreId;
use crate::clients::Clients;
use crate::clients::users::UserAddresses;
use crate::delay::Delays;
use crate::delay::report::PoolReport;
use crate::fetch::Guard;
use crate::format::Formats;
use crate::helpers::Helpers;
use crate::hops::Peer;
use crate::hops::peer::PeerReport;
use crate::internal::own::Own;
use crate::listen::target::split_host;
use crate::marks::Marking;
use crate::reply::StatusLines;
use crate::reply::errors::ErrorPages;
use crate::reply::{ReadyFields, ready_fields};

/// Most field lines in a head.
const FIELDS_MAX: usize = 1000;

/// See the module.
#[derive(Debug)]
pub struct Plan {
    /// What the file said.
    pub config: Config,
    /// The decisions.
    pub rules: Rules,
    /// `cache_peer` lines with their health.
    pub(crate) peers: Vec<Arc<Peer>>,
    /// Whose turn it is among them.
    pub(crate) turns: Turns,
    /// Who uses the proxy (`client_db`).
    pub clients: Option<Arc<Clients>>,
    /// From where users log in, if an ACL asks.
    pub(crate) user_addresses: Option<UserAddresses>,
    /// Hardware addresses of clients.
    pub(crate) neighbours: Neighbours,
    /// What packets carry.
    pub(crate) marking: Marking,
    /// Bandwidth that is shared.
    pub(crate) delays: Delays,
    /// What names may lead to.
    pub(crate) guard: Guard,
    /// Which hosts and ports are our own.
    pub(crate) own: Own,
    pub(crate) ports: Vec<PortPlan>,
    pub(crate) limits: Limits,
    pub(crate) reply_limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) lines: Lines,
    pub(crate) errors: ErrorPages,
    pub(crate) formats: Formats,
    /// What helpers are asked by ACLs, and what they have said.
    pub(crate) externals: Externals,
    /// The fields that go with the pages, by kind.
    pub(crate) page_fields: Vec<ReadyFields>,
    pub(crate) uri_whitespace: UriWhitespace,
    /// How users log in; `None` when nobody does.
    pub(crate) logins: Option<Logins>,
    /// `url_rewrite_program`.
    pub(crate) rewriter: Option<Rewriter>,
    /// `location_rewrite_program`.
    pub(crate) location_rewriter: Option<LocationRewriter>,
    /// `store_id_program`.
    pub(crate) store_id: Option<StoreId>,
    /// `visible_hostname`, or the system's name.
    pub visible_hostname: String,
    /// `unique_hostname`, or `visible_hostname`.
    pub unique_hostname: String,
}

/// A listening port.
#[derive(Debug, Clone)]
pub(crate) struct PortPlan {
    pub(crate) name: String,
    pub(crate) mode: PortMode,
    /// Logins of connections to origins are passed on (`connection-auth`).
    pub(crate) connection_auth: bool,
}

/// What a port takes its clients for.
#[derive(Debug, Clone)]
pub(crate) enum PortMode {
    Forward,
    Accel(Accel),
    /// For those who ask about us.
    Manager,
}

/// An accelerator port.
#[derive(Debug, Clone)]
pub(crate) struct Accel {
    /// Host and port for requests that name none.
    pub(crate) default_site: Option<(String, Option<u16>)>,
    pub(crate) vhost: bool,
    pub(crate) vport: VirtualPort,
    pub(crate) scheme: Scheme,
    pub(crate) allow_direct: bool,
    pub(crate) ignore_cc: bool,
}

impl PortPlan {
    fn new(port: &config::port::Port) -> Self {
        let mode = match &port.mode {
            config::port::PortMode::Forward => PortMode::Forward,
            config::port::PortMode::Manager => PortMode::Manager,
            config::port::PortMode::Accel(accel) => PortMode::Accel(Accel {
                default_site: accel.defaultsite.as_deref().and_then(|site| {
                    let (host, port) = split_host(site.as_bytes())?;
                    Some((String::from_utf8_lossy(host).into_owned(), port))
                }),
                vhost: accel.vhost,
                vport: accel.vport,
                scheme: Scheme::of(accel.protocol.as_bytes()),
                allow_direct: accel.allow_direct,
                ignore_cc: accel.ignore_cc,
            }),
        };
        Self {
            name: port.name.clone(),
            mode,
            connection_auth: port.connection_auth,
        }
    }

    /// The accelerator's options, if it is one.
    pub(crate) fn accel(&self) -> Option<&Accel> {
        match &self.mode {
            PortMode::Accel(accel) => Some(accel),
            PortMode::Forward | PortMode::Manager => None,
        }
    }
}

/// Waits, none of which is without end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    pub(crate) request: Duration,
    pub(crate) request_start: Duration,
    pub(crate) client_idle: Duration,
    pub(crate) client_lifetime: Duration,
    pub(crate) read: Duration,
    pub(crate) write: Duration,
    pub(crate) connect: Duration,
    pub(crate) peer_connect: Duration,
    pub(crate) forward: Duration,
    pub(crate) happy_eyeballs: Duration,
}

/// Field lines that are the same for every reply, ready to send.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Behind a stored head: the line of Via, for each version of the response.
    hit: [Box<[u8]>; 2],
    /// Values of Via, for each version of the message passed on; empty when `via off`.
    via: [Box<[u8]>; 2],
    /// Cache-Status, and what told of hits before it.
    pub(crate) cache_status: StatusLines,
    /// Our element of Via, less the version of the message.
    pub(crate) via_name: String,
    /// Our name among surrogates.
    pub(crate) surrogate_id: String,
    /// Value of Surrogate-Capability toward the origins of accelerators.
    pub(crate) surrogate_capability: Box<[u8]>,
    /// `squall/0.1.0`, or less (`httpd_suppress_version_string`).
    pub(crate) software: String,
}

impl Lines {
    fn new(config: &Config, visible: &str, unique: &str) -> Self {
        let software = if config.httpd_suppress_version_string {
            "squall".to_owned()
        } else {
            concat!("squall/", env!("CARGO_PKG_VERSION")).to_owned()
        };
        let via = ["1.0", "1.1"].map(|version| {
            let value = format!("{version} {unique} ({software})");
            if config.via { value } else { String::new() }
        });
        let hit = via.each_ref().map(|via| {
            let line = if via.is_empty() {
                String::new()
            } else {
                format!("Via: {via}\r\n")
            };
            line.into_bytes().into()
        });
        let surrogate_id = config.httpd_accel_surrogate_id.as_deref();
        let surrogate_id = surrogate_id.unwrap_or(visible).to_owned();
        let capability = format!("{surrogate_id}=\"Surrogate/1.0\"");
        Self {
            hit,
            surrogate_id,
            surrogate_capability: capability.into_bytes().into(),
            via: via.map(|via| via.into_bytes().into()),
            cache_status: StatusLines::new(config, visible),
            via_name: format!("{unique} ({software})"),
            software,
        }
    }

    /// What follows a stored head that came by `version`.
    pub(crate) fn hit(&self, version: Version) -> &[u8] {
        let [old, new] = &self.hit;
        if version == Version::H10 { old } else { new }
    }

    /// Our Via value for a message that came by `version`; empty when `via off`.
    pub(crate) fn via(&self, version: Version) -> &[u8] {
        let [old, new] = &self.via;
        if version == Version::H10 { old } else { new }
    }
}

impl Plan {
    /// Works a configuration out. Peers keep the health they had in `before`.
    ///
    /// # Errors
    ///
    /// Everything in the configuration that can't be done.
    pub fn new(
        mut config: Config,
        environment: &Environment<'_>,
        hostname: &str,
        helpers: &Helpers,
        before: Option<&Self>,
    ) -> Result<Self, Problems> {
        let rules = Rules::compile(&config, environment)?;
        let formats = Formats::compile(&config)?;
        let answered = before.map(|plan| &plan.externals);
        let externals = Externals::open(&config, helpers, answered)?;
        let known_clients = before.and_then(|plan| plan.clients.clone());
        let clients = config.client_db.then(|| known_clients.unwrap_or_default());
        let known_users = before.and_then(|plan| plan.user_addresses.as_ref());
        let user_addresses = UserAddresses::of(&config, known_users);
        config.acls.iter_mut().for_each(|acl| acl.values.release());
        let logins_before = before.and_then(|before| before.logins.as_ref());
        let logins = Logins::new(&config, helpers, logins_before).map_err(Problems)?;
        let rewriter = Rewriter::new(&config, helpers)?;
        let location_rewriter = LocationRewriter::new(&config, helpers)?;
        let store_id = StoreId::new(&config, helpers)?;
        let visible_hostname = config
            .visible_hostname
            .clone()
            .unwrap_or_else(|| hostname.to_owned());
        let unique_hostname = config
            .unique_hostname
            .clone()
            .unwrap_or_else(|| visible_hostname.clone());
        let known = before.map_or(&[][..], |plan| &plan.peers);
        let peers = config.peers.iter();
        let peers = peers.map(|peer| Arc::new(Peer::new(peer.clone(), known)));
        let lines = Lines::new(&config, &visible_hostname, &unique_hostname);
        let errors = ErrorPages::load(&config, &visible_hostname);
        let limits = |bytes: u64| Limits {
            head_bytes_max: usize::try_from(bytes).unwrap_or(usize::MAX),
            fields_max: FIELDS_MAX,
            relaxed: match config.relaxed_header_parser {
                config::Relaxed::Off => Relaxed::Off,
                config::Relaxed::On => Relaxed::On,
                config::Relaxed::Warn => Relaxed::Warn,
            },
        };
        Ok(Self {
            peers: peers.collect(),
            turns: Turns::default(),
            clients,
            user_addresses,
            neighbours: Neighbours::default(),
            marking: Marking::new(&config),
            delays: Delays::new(&config, before.map(|before| &before.delays)),
            guard: Guard::new(&config),
            own: Own::new(&config, &visible_hostname, &unique_hostname),
            ports: config.ports.iter().map(PortPlan::new).collect(),
            limits: limits(config.request_header_max_size),
            reply_limits: limits(config.reply_header_max_size),
            timeouts: timeouts(&config),
            page_fields: ready_fields(&errors, &lines),
            lines,
            errors,
            formats,
            externals,
            uri_whitespace: match config.uri_whitespace {
                config::UriWhitespace::Strip => UriWhitespace::Strip,
                config::UriWhitespace::Deny => UriWhitespace::Deny,
                config::UriWhitespace::Allow => UriWhitespace::Allow,
                config::UriWhitespace::Encode => UriWhitespace::Encode,
                config::UriWhitespace::Chop => UriWhitespace::Chop,
            },
            logins,
            rewriter,
            location_rewriter,
            store_id,
            visible_hostname,
            unique_hostname,
            rules,
            config,
        })
    }
}

impl Plan {
    /// What keeps a configuration whose rules are good from being used.
    pub fn check(config: &Config) -> Vec<Problem> {
        Logins::check(config)
    }

    /// Programs that aren't there, and without which a proxy doesn't start.
    pub fn missing(config: &Config) -> impl Iterator<Item = Problem> {
        Logins::missing(config)
    }

    /// The name that pages show.
    pub fn visible_hostname(&self) -> &str {
        &self.visible_hostname
    }

    /// The `cache_peer` lines and how their peers are.
    pub fn peer_reports(&self) -> Vec<PeerReport> {
        self.peers.iter().map(|peer| peer.report()).collect()
    }

    /// The delay pools and how full their buckets are, of each scope no more than `most`.
    pub fn delay_reports(&self, most: usize, now_ns: u64) -> Vec<PoolReport> {
        self.delays.report(&self.config, most, now_ns)
    }

    /// The `external_acl_type` lines and what is known by them.
    pub fn external_reports(&self) -> Vec<ExternalReport> {
        self.externals.report()
    }

    /// The users that are remembered, no more than `most` of them listed.
    pub fn known_users(&self, most: usize, now_ns: u64) -> KnownUsers {
        let users = |logins: &Logins| logins.users(most, now_ns);
        self.logins.as_ref().map(users).unwrap_or_default()
    }

    /// Do requests that come in at `port` share one fetch (`collapsed_forwarding`)?
    pub(crate) fn collapses(&self, port: &PortPlan) -> bool {
        let asked = self.config.collapsed_forwarding;
        asked.unwrap_or_else(|| port.accel().is_some())
    }
}

fn timeouts(config: &Config) -> Timeouts {
    Timeouts {
        request: config.request_timeout,
        request_start: config.request_start_timeout,
        client_idle: config.client_idle_pconn_timeout,
        client_lifetime: config.client_lifetime,
        read: config.read_timeout,
        write: config.write_timeout,
        connect: config.connect_timeout,
        peer_connect: config.peer_connect_timeout,
        forward: config.forward_timeout,
        happy_eyeballs: config.happy_eyeballs_connect_timeout,
    }
}
