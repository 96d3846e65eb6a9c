//! Next hops: which there are, in what state, and the idle connections to them. Who is chosen is
//! for `rules::hops` to say.

pub mod peer;

use std::net::SocketAddr;
use std::sync::Arc;

use config::peer::PeerLogin;
use wire::http1::ProxyAuth;
use wire::target::Target;

use crate::failure::{Failure, FailureKind, Side};
use crate::record::{Hierarchy, HopName};
pub(crate) use peer::Peer;

/// Idle connections of a worker, by address.
pub(crate) type Pool = net::pool::Pool<SocketAddr>;

/// Whoever gets the request next.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    /// `None`: the origin that the URL names.
    pub(crate) peer: Option<Arc<Peer>>,
    /// Why it was chosen.
    pub(crate) hierarchy: Hierarchy,
}

impl Hop {
    /// Does it take absolute URLs?
    pub(crate) fn is_proxy(&self) -> bool {
        let peer = self.peer.as_ref();
        peer.is_some_and(|peer| !peer.config.options.originserver)
    }

    /// Is what it answers not to be stored?
    pub(crate) fn is_proxy_only(&self) -> bool {
        let peer = self.peer.as_ref();
        peer.is_some_and(|peer| peer.config.options.proxy_only)
    }

    /// Does what it answers take nobody's bandwidth?
    pub(crate) fn is_undelayed(&self) -> bool {
        let peer = self.peer.as_ref();
        peer.is_some_and(|peer| peer.config.options.no_delay)
    }

    /// The Host field it is to see.
    pub(crate) fn host_field<'h>(&'h self, target: &'h Target) -> &'h [u8] {
        let forced = self
            .peer
            .as_ref()
            .and_then(|peer| peer.config.options.forceddomain.as_deref());
        forced.map_or(target.authority(), str::as_bytes)
    }

    /// Do the client's proxy credentials go on to it (`login=PASS` and its like)? An origin has no use for them.
    pub(crate) fn passes_proxy_authorization(&self) -> bool {
        self.is_proxy() && self.passes_logins()
    }

    /// Do the client's credentials for the origin go on to it? To an `originserver` a line has to say so.
    pub(crate) fn passes_authorization(&self) -> bool {
        self.peer.is_none() || self.is_proxy() || self.passes_logins()
    }

    /// The same for a message's fields, both ways.
    pub(crate) fn proxy_auth(&self) -> ProxyAuth {
        if self.passes_proxy_authorization() {
            ProxyAuth::Keep
        } else {
            ProxyAuth::Drop
        }
    }

    fn passes_logins(&self) -> bool {
        let login = self.peer.as_ref().map(|peer| &peer.config.options.login);
        let passing = [PeerLogin::Pass, PeerLogin::ProxyPass, PeerLogin::PassThru];
        login.is_some_and(|login| passing.contains(login))
    }

    /// The name for the log while no address is known.
    pub(crate) fn name(&self) -> HopName {
        match &self.peer {
            Some(peer) => HopName::Host(peer.config.host.as_str().into()),
            None => HopName::None,
        }
    }

    /// Tells the peer's health.
    pub(crate) fn failed(&self, failure: &Failure, unix_secs: i64) {
        if let Some(peer) = &self.peer
            && failure.side == Side::Hop
            && failure.kind == FailureKind::ConnectFail
        {
            peer.failed(unix_secs);
        }
    }

    /// Tells the peer's health.
    pub(crate) fn worked(&self) {
        if let Some(peer) = &self.peer {
            peer.worked();
        }
    }
}
