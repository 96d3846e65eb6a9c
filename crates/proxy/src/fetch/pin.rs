//! A connection to a hop that belongs to one connection of a client, because it has logged in over it (NTLM,
//! Negotiate: RFC 4559 §6). Nobody else's request ever goes over it.
//!
//! | phase | held by | moved on by |
//! | --- | --- | --- |
//! | in use | an exchange | the end of the response: rests; an end that is no message boundary: closed |
//! | rests | the client's connection, as its [`Pinned`] | the next request for that origin: in use; for another: closed |

use std::cell::RefCell;
use std::sync::Arc;

use net::stream::{Idle, Stream};
use wire::target::Target;

use crate::context::OpenHop;
use crate::fetch::Link;
use crate::hops::{Hop, Peer};
use crate::record::Hierarchy;

/// What a client's connection has at rest.
#[derive(Debug, Default)]
pub(crate) struct Pinned(RefCell<Option<Box<Resting>>>);

#[derive(Debug)]
struct Resting {
    stream: Stream,
    open: OpenHop,
    bond: Bond,
}

/// What such a connection may be used for.
#[derive(Clone, Debug)]
pub(crate) struct Bond {
    peer: Option<Arc<Peer>>,
    login: Login,
}

/// Where the client has logged in.
#[derive(Clone, Debug)]
enum Login {
    /// To the hop, a proxy: all that goes there is the user's.
    Hop,
    /// To an origin, at this host and port.
    Origin(Box<str>, u16),
}

impl Bond {
    /// By credentials for the hop.
    pub(super) fn to_hop(hop: &Hop) -> Self {
        Self {
            peer: hop.peer.clone(),
            login: Login::Hop,
        }
    }

    /// By credentials for the origin.
    pub(super) fn to_origin(hop: &Hop, target: &Target) -> Self {
        Self {
            peer: hop.peer.clone(),
            login: Login::Origin(target.host().into(), target.port()),
        }
    }

    /// The bond of a connection that had this one, after a request that makes another.
    pub(super) fn or_wider(self, next: Option<Self>) -> Self {
        match (&self.login, next) {
            (Login::Origin(..), Some(next)) => next,
            (Login::Hop, _) | (_, None) => self,
        }
    }

    fn allows(&self, target: &Target) -> bool {
        match &self.login {
            Login::Hop => true,
            Login::Origin(host, port) => **host == *target.host() && *port == target.port(),
        }
    }

    /// Is it to this hop? A reload makes hops anew.
    fn is_to(&self, hop: &Hop) -> bool {
        fn address(peer: &Peer) -> (&str, &str, u16) {
            let config = &peer.config;
            (&config.name, &config.host, config.http_port)
        }
        self.peer.as_deref().map(address) == hop.peer.as_deref().map(address)
    }
}

impl Pinned {
    /// Keeps a connection for the client's next request.
    pub(super) fn keep(&self, stream: Stream, open: OpenHop, bond: Bond) {
        self.0
            .replace(Some(Box::new(Resting { stream, open, bond })));
    }

    /// The connection for a request, where it is for this target, one of these hops may be asked, and that has not
    /// closed it. Otherwise it ends here: it must not be left for a later request in a state that nobody knows.
    pub(super) fn take(&self, target: &Target, hops: &[Hop]) -> Option<(Hop, Link, Bond)> {
        let pinned = *self.0.take()?;
        if !pinned.bond.allows(target) || pinned.stream.idle_state() != Idle::Quiet {
            return None;
        }
        let hop = hops.iter().find(|hop| pinned.bond.is_to(hop))?;
        let hop = Hop {
            hierarchy: Hierarchy::Pinned,
            ..hop.clone()
        };
        let link = Link {
            stream: pinned.stream,
            reused: true,
            open: pinned.open,
        };
        Some((hop, link, pinned.bond))
    }
}
