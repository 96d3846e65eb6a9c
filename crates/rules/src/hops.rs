//! Where a request goes next: the origin itself, or one of the peers, in the order in which they are tried.
//! Follows the order of Squid's peer selection for what is built: parents without ICP, digests or hashes.

mod choose;

pub use choose::{Case, Choice, Hops, choose};

use std::sync::atomic::{AtomicU64, Ordering};

use config::{Config, PeerKind};
use memchr::memmem;

/// A candidate for the next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Who it is.
    pub to: HopTo,
    /// Why it was chosen, for the log.
    pub way: Way,
}

/// Who a hop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HopTo {
    /// The origin, by DNS.
    Origin,
    /// The peer with this index in `Config::peers`.
    Peer(usize),
}

/// Why a hop was chosen: the log's hierarchy code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Straight to the origin.
    Direct,
    /// Its turn among the round-robin parents.
    RoundrobinParent,
    /// The first parent that is up.
    FirstupParent,
    /// The parent marked `default`.
    DefaultParent,
    /// Any other parent that may be used.
    AnyOldParent,
}

impl Way {
    /// The code as the log and `hier_code` ACLs have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "HIER_DIRECT",
            Self::RoundrobinParent => "ROUNDROBIN_PARENT",
            Self::FirstupParent => "FIRSTUP_PARENT",
            Self::DefaultParent => "DEFAULT_PARENT",
            Self::AnyOldParent => "ANY_OLD_PARENT",
        }
    }
}

/// What is known of the peers at this moment; indices are those of `Config::peers`.
pub trait PeerStates {
    /// Does it take connections?
    fn is_up(&self, peer: usize) -> bool;
    /// Open connections to it.
    fn connections(&self, peer: usize) -> u32;
}

/// The turns taken so far by round-robin parents. One per configuration, shared by all threads.
#[derive(Debug, Default)]
pub struct Turns(AtomicU64);

impl Turns {
    /// Takes the next turn.
    fn take(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Which ways there are, compiled from the configuration.
#[derive(Clone, Debug, Default)]
pub struct HopRules {
    peers: Box<[PeerRule]>,
    prefer_direct: bool,
    nonhierarchical_direct: bool,
    stoplist: Box<[memmem::Finder<'static>]>,
}

/// What selection needs of a peer.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the cache_peer line"
)]
struct PeerRule {
    is_parent: bool,
    originserver: bool,
    default: bool,
    round_robin: bool,
    http_port: u16,
    weight: u32,
    max_conn: u32,
}

impl HopRules {
    /// Compiles peers and directives.
    pub(crate) fn compile(config: &Config) -> Self {
        let peers = config.peers.iter().map(|peer| PeerRule {
            is_parent: peer.kind == PeerKind::Parent,
            originserver: peer.options.originserver,
            default: peer.options.default,
            round_robin: peer.options.round_robin || peer.options.weighted_round_robin,
            http_port: peer.http_port,
            weight: peer.options.weight,
            max_conn: peer.options.max_conn.unwrap_or(u32::MAX),
        });
        Self {
            peers: peers.collect(),
            prefer_direct: config.prefer_direct,
            nonhierarchical_direct: config.nonhierarchical_direct,
            stoplist: config
                .hierarchy_stoplist
                .iter()
                .map(|word| memmem::Finder::new(word).into_owned())
                .collect(),
        }
    }

    /// Is there a parent at all?
    pub fn has_parents(&self) -> bool {
        self.peers.iter().any(|peer| peer.is_parent)
    }
}
