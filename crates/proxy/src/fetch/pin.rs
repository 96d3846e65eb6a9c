//! A connection to a hop that belongs to one connection of a client, because it has logged in over it (NTLM,
//! Negotiate: RFC 4559 §6). Nobody else's request ever goes over it.
//!
//! | phase | held by | moved on by |
//! | --- | --- | --- |
//! | in use | an exchange | the end of the response: rests; an end that is no message boundary: closed |
//! | rests | the client's connection, as its [`Pinned`] | the same user's next request for that origin: in use; another: closed |

use std::cell::{OnceCell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use net::stream::{Idle, Stream};

use crate::access;
use crate::context::OpenHop;
use crate::fetch::Link;
use crate::flow::Received;
use crate::hops::{Hop, Peer};
use crate::record::Hierarchy;

/// What a client's connection has at rest. Who never logs in to a hop has no place for it.
#[derive(Debug, Default)]
pub(crate) struct Pinned(OnceCell<Rc<Slot>>);

type Slot = RefCell<Option<Box<Resting>>>;

/// Where a connection in use will rest, and what it is for then.
#[derive(Debug)]
pub(crate) struct Place {
    slot: Rc<Slot>,
    bond: Bond,
}

/// A connection at rest.
#[derive(Debug)]
pub(super) struct Resting {
    stream: Stream,
    open: OpenHop,
    bond: Bond,
}

/// What such a connection may be used for.
#[derive(Clone, Debug)]
pub(super) struct Bond {
    owner: Owner,
    peer: Option<Arc<Peer>>,
    login: Login,
}

/// Whose it is, as far as we can tell: a proxy before us may send requests of several over one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owner {
    client: IpAddr,
    user: Option<Arc<str>>,
}

impl Owner {
    fn of(received: &Received<'_>) -> Self {
        Self {
            client: access::client(received),
            user: received.learnt.user().cloned(),
        }
    }
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
    pub(super) fn to_hop(received: &Received<'_>, hop: &Hop) -> Self {
        Self {
            owner: Owner::of(received),
            peer: hop.peer.clone(),
            login: Login::Hop,
        }
    }

    /// By credentials for the origin.
    pub(super) fn to_origin(received: &Received<'_>, hop: &Hop) -> Self {
        let target = received.target;
        Self {
            owner: Owner::of(received),
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

    fn allows(&self, received: &Received<'_>) -> bool {
        let target = received.target;
        let leads_there = match &self.login {
            Login::Hop => true,
            Login::Origin(host, port) => **host == *target.host() && *port == target.port(),
        };
        leads_there && self.owner == Owner::of(received)
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

impl Place {
    /// Keeps the connection for the client's next request.
    pub(super) fn keep(self, stream: Stream, open: OpenHop) {
        let bond = self.bond;
        let resting = Resting { stream, open, bond };
        self.slot.replace(Some(Box::new(resting)));
    }
}

impl Pinned {
    /// For a connection in use.
    pub(super) fn place(&self, bond: Bond) -> Place {
        let slot = Rc::clone(self.0.get_or_init(Rc::default));
        Place { slot, bond }
    }

    /// The connection for a request, where it is the same user's for the same target, one of these hops may be asked,
    /// and that hasn't closed it. Otherwise it ends here: who is asking now is nobody that it knows.
    pub(super) fn take(
        &self,
        received: &Received<'_>,
        hops: &[Hop],
    ) -> Option<(Hop, Box<Resting>)> {
        let resting = self.0.get()?.take()?;
        if !resting.bond.allows(received) || resting.stream.idle_state() != Idle::Quiet {
            return None;
        }
        let hop = hops.iter().find(|hop| resting.bond.is_to(hop))?;
        let hop = Hop {
            hierarchy: Hierarchy::Pinned,
            ..hop.clone()
        };
        Some((hop, resting))
    }
}

impl Resting {
    /// To be used.
    pub(super) fn wake(self) -> (Link, Bond) {
        let link = Link {
            stream: self.stream,
            reused: true,
            open: self.open,
        };
        (link, self.bond)
    }
}
