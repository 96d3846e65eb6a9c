//! What rules may know of a transaction, and what they may have to ask for. The caller fills in what it has;
//! a rule that needs more answers with a [`Question`], the caller learns the fact and checks again.

use std::net::{IpAddr, SocketAddr};

use http::Method;
use wire::{Fields, Target};

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
    /// Addresses of the target's host: `None` is not asked yet, empty is asked in vain.
    pub destination: Option<&'a [IpAddr]>,
    /// Name of a target that is an address: `None` is not asked yet, empty is asked in vain.
    pub destination_name: Option<&'a str>,
    /// Name of the client's address: `None` is not asked yet, empty is asked in vain.
    pub client_name: Option<&'a str>,
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
        method: &'a Method,
        target: &'a Target,
        request: &'a Fields,
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
            destination: None,
            destination_name: None,
            client_name: None,
            now,
            luck: 0,
        }
    }
}

/// A fact that a rule needs and the caller hasn't given. Each is asked at most once: once answered,
/// also in vain, the rule doesn't ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// The addresses of the target's host: [`Facts::destination`].
    Destination,
    /// The name of the target's address: [`Facts::destination_name`].
    DestinationName,
    /// The name of the client's address: [`Facts::client_name`].
    ClientName,
}
