//! Parents and siblings.

use std::time::Duration;

use super::access::AccessRule;
use crate::problem::Place;

/// One `cache_peer` line with its `cache_peer_access` lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Host name or address.
    pub host: String,
    /// `name=`, or the host.
    pub name: String,
    /// Relation.
    pub kind: PeerKind,
    /// HTTP port.
    pub http_port: u16,
    /// ICP or HTCP port; 0 is none.
    pub icp_port: u16,
    /// The rest of the line.
    pub options: PeerOptions,
    /// Which requests it may get; empty means: all.
    pub access: Vec<AccessRule>,
    /// Where it is written.
    pub place: Place,
}

/// Relation to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKind {
    /// Fetches misses for us.
    Parent,
    /// Is asked for hits only.
    Sibling,
    /// A group of peers asked by multicast.
    Multicast,
}

/// Options of a `cache_peer` line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the line"
)]
pub struct PeerOptions {
    /// Never ask it by ICP or HTCP.
    pub no_query: bool,
    /// Don't fetch its Cache Digest.
    pub no_digest: bool,
    /// Don't fetch its netdb.
    pub no_netdb_exchange: bool,
    /// It is an origin server, not a proxy.
    pub originserver: bool,
    /// Used when nothing else is left.
    pub default: bool,
    /// Parents with this take turns, by weight.
    pub round_robin: bool,
    /// As `round_robin`, by round-trip time too.
    pub weighted_round_robin: bool,
    /// Chosen by hash of the URL.
    pub carp: bool,
    /// Chosen by hash of the user name.
    pub userhash: bool,
    /// Chosen by hash of the client address.
    pub sourcehash: bool,
    /// Share among peers of one way of choosing; at least 1.
    pub weight: u32,
    /// Host field and host of the URL sent to it.
    pub forceddomain: Option<String>,
    /// Credentials sent to it.
    pub login: PeerLogin,
    /// Don't store what it answers.
    pub proxy_only: bool,
    /// What comes from it is taken from no delay pool.
    pub no_delay: bool,
    /// A sibling may be asked for misses.
    pub allow_miss: bool,
    /// Open connections to it; `None` is no limit.
    pub max_conn: Option<u32>,
    /// Idle connections kept ready.
    pub standby: u32,
    /// In place of `peer_connect_timeout`.
    pub connect_timeout: Option<Duration>,
    /// Failed connects in a row after which it is dead.
    pub connect_fail_limit: u32,
    /// Front-End-Https field: `None` never, `Some(true)` always, `Some(false)` for https URLs.
    pub front_end_https: Option<bool>,
    /// Connection-oriented authentication is passed on; `None` for origin servers only.
    pub connection_auth: Option<bool>,
    /// Options that have no effect here yet, as written.
    pub not_yet: Vec<String>,
}

impl Default for PeerOptions {
    fn default() -> Self {
        Self {
            no_query: false,
            no_digest: false,
            no_netdb_exchange: false,
            originserver: false,
            default: false,
            round_robin: false,
            weighted_round_robin: false,
            carp: false,
            userhash: false,
            sourcehash: false,
            weight: 1,
            forceddomain: None,
            login: PeerLogin::None,
            proxy_only: false,
            no_delay: false,
            allow_miss: false,
            max_conn: None,
            standby: 0,
            connect_timeout: None,
            connect_fail_limit: 10,
            front_end_https: None,
            connection_auth: None,
            not_yet: Vec::new(),
        }
    }
}

/// `login=` of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerLogin {
    /// Proxy-Authorization is not passed on.
    None,
    /// `user:password`, sent as Basic.
    Basic(String),
    /// `PASS`: the credentials as received, else those that an external ACL named.
    Pass,
    /// `PROXYPASS`: as `PASS`; and a web server gets what the user logged in to us with.
    ProxyPass,
    /// `PASSTHRU`: both fields as received.
    PassThru,
    /// `*…`: the user's name, with this behind it: `:password`, or `@here:password`.
    UserWith(String),
    /// `NEGOTIATE[:principal]`.
    Negotiate(Option<String>),
}
