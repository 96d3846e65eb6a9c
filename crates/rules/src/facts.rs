//! What rules may know of a transaction, and what they may have to ask for. The caller fills in what it has;
//! a rule that needs more answers with a [`Question`], the caller learns the fact ([`Learnt`]) and checks again.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use http::Method;
use wire::{Fields, Target};

use crate::learnt::Learnt;

/// The reply, as far as rules look at it.
#[derive(Clone, Copy, Debug)]
pub struct ReplyFacts<'a> {
    /// Status code.
    pub status: u16,
    /// Its fields.
    pub fields: &'a Fields,
}

/// The hop that was chosen.
#[derive(Clone, Copy, Debug)]
pub struct HopFacts<'a> {
    /// Name of the peer; `None` when it is the origin.
    pub peer: Option<&'a str>,
    /// Hierarchy code as in the log, e.g. `HIER_DIRECT`.
    pub code: &'a str,
}

/// Fills in the `%` codes of a text: what they stand for is not for rules to know.
pub trait Codes: fmt::Debug {
    /// The text, filled in.
    fn fill(&self, text: &str) -> String;
}

/// Facts of one transaction. All are borrowed or `Copy`: making one costs a few moves.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The client's address (the indirect one, where that is configured).
    pub client: IpAddr,
    /// Its port.
    pub client_port: u16,
    /// The address the client connected to.
    pub local: SocketAddr,
    /// `name=` of the port that took the connection.
    pub port_name: &'a str,
    /// Request method.
    pub method: &'a Method,
    /// The normalised target.
    pub target: &'a Target,
    /// The request's fields as received.
    pub request: &'a Fields,
    /// The reply; `None` before there is one.
    pub reply: Option<ReplyFacts<'a>>,
    /// The hop; `None` before one is chosen.
    pub hop: Option<HopFacts<'a>>,
    /// The address that is about to be connected to: `dst` ACLs go by it alone. `None` before.
    pub connecting_to: Option<IpAddr>,
    /// Name of the error page that the reply is, e.g. `ERR_ACCESS_DENIED`; `None` when it is none.
    pub error: Option<&'a str>,
    /// What had to be asked for.
    pub learnt: &'a Learnt,
    /// What an SNMP question has for a password; `None` when it is none.
    pub community: Option<&'a [u8]>,
    /// Fills in the texts of annotations; `None` leaves them as they are.
    pub codes: Option<&'a dyn Codes>,
    /// Unix time in seconds.
    pub now: i64,
    /// Random bits of this transaction, for `random` ACLs.
    pub luck: u64,
}

impl<'a> Facts<'a> {
    /// The facts that are known as soon as the request is read; the rest isn't known yet.
    pub fn new(
        client: SocketAddr,
        local: SocketAddr,
        port_name: &'a str,
        (method, target, request): (&'a Method, &'a Target, &'a Fields),
        learnt: &'a Learnt,
        now: i64,
    ) -> Self {
        Self {
            client: client.ip(),
            client_port: client.port(),
            local,
            port_name,
            method,
            target,
            request,
            reply: None,
            hop: None,
            connecting_to: None,
            error: None,
            learnt,
            community: None,
            codes: None,
            now,
            luck: 0,
        }
    }
}

/// A fact that a rule needs and the caller hasn't given. Each is asked at most once: once answered,
/// also in vain, the rule doesn't ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// The addresses of the target's host.
    Destination,
    /// The name of the target's address.
    DestinationName,
    /// The name of the client's address.
    ClientName,
    /// Who the client is: a client that doesn't say is challenged.
    User,
    /// How many connections the client's address has open.
    ClientConnections,
    /// From how many addresses the user logs in.
    UserAddresses,
    /// The client's hardware address.
    ClientMac,
    /// What the helper says of the `external` ACL with this index.
    External(u32),
}
