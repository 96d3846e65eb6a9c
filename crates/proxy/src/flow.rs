//! The values that pass from station to station. Each is made by one station and consumed by the
//! next, so that what a station may rely on can be read off its argument.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use net::clock::Now;
use store::{Begin, Reader};
use wire::http1::{Framing, RequestHead, ResponseHead};
use wire::target::Target;

use crate::cache::stored::StoredResponse;
use crate::fetch::OriginBody;

/// A stored response, complete or still arriving.
pub type Object = store::Object<StoredResponse>;
/// The one cache that all workers share.
pub type Store = store::Store<StoredResponse>;
/// What a lookup that found nothing gets: the right to fill, or a fill to wait for.
pub type Start = Begin<StoredResponse>;

/// An accepted client connection.
#[derive(Debug, Clone, Copy)]
pub struct Connection {
    /// Unique in this worker.
    pub id: u64,
    /// The client's address.
    pub client: SocketAddr,
    /// The address the client connected to.
    pub local: SocketAddr,
    /// Index into `Plan::ports`.
    pub port: usize,
}

/// A request as `listen` read it: head complete, content still to come.
#[derive(Debug, Clone, Copy)]
pub struct Received<'c> {
    /// Where it came in.
    pub connection: &'c Connection,
    /// The parsed head.
    pub head: &'c RequestHead,
    /// The normalised target: the one value for key, rules, hop, connect and log.
    pub target: &'c Target,
    /// How the content is framed, fixed once.
    pub framing: Framing,
    /// When the head was complete.
    pub now: Now,
}

/// Proof that the access lists let the request pass. Only `access` makes one, and `fetch`, `tunnel`
/// and `internal` can't be called without it.
#[derive(Debug, Clone)]
pub struct Permit {
    _by_access_alone: (),
}

impl Permit {
    /// For `access` alone.
    pub(crate) fn granted_by_access() -> Self {
        Self { _by_access_alone: () }
    }
}

/// A request that may go on.
#[derive(Debug)]
pub struct Admitted<'c> {
    /// The request.
    pub received: &'c Received<'c>,
    /// Who let it in.
    pub permit: Permit,
}

/// What the cache has for a request.
#[derive(Debug)]
pub enum Lookup {
    /// Stored and fresh: answer with it.
    Fresh(Arc<Object>),
    /// Stored, but to be validated first.
    Stale(Arc<Object>),
    /// Not stored: fetch, and maybe store; or wait for another's fetch.
    Start(Start),
    /// The cache has no part in this request.
    Pass,
    /// `only-if-cached`, and nothing usable is stored (RFC 9111 §5.2.1.7).
    Unsatisfiable,
}

/// The response's head, as far as it has been made.
#[derive(Debug)]
pub enum Head {
    /// Ready to send from the store; only Age, Connection and ours are added.
    Stored(Arc<Object>),
    /// Built for this transaction.
    Built(Box<ResponseHead>),
}

/// A stream of bytes on its way to the client. Dropping it stops the sender.
#[derive(Debug)]
pub enum Content<'c> {
    /// Nothing follows the head.
    Empty,
    /// All of it, at hand.
    Bytes(Bytes),
    /// From the store, whole or still arriving; `left` is `None` while the length is unknown.
    Stored {
        /// Where to read on.
        reader: Reader,
        /// Bytes still to send.
        left: Option<u64>,
    },
    /// Straight from the hop, never stored.
    Origin(Box<OriginBody<'c>>),
}

/// From the stations to `listen`.
#[derive(Debug)]
pub struct Response<'c> {
    /// Status and fields.
    pub head: Head,
    /// What follows.
    pub content: Content<'c>,
    /// Length of the content if known; decides the framing toward the client.
    pub length: Option<u64>,
    /// Closes the client's connection afterwards, whatever the client asked for.
    pub close: bool,
}

/// What `listen` does with the connection afterwards.
#[derive(Debug)]
pub enum After {
    /// Reads the next request.
    KeepAlive,
    /// Closes.
    Close,
}
