//! The values that pass from station to station. Each is made by one station and consumed by the
//! next, so that what a station may rely on can be read off its argument.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use net::clock::Now;
use rules::{Learnt, Notes};
use store::{Begin, Reader};
use wire::field::FieldId;
use wire::http1::{Framing, RequestHead, ResponseHead};
use wire::target::Target;
use wire::value::byteranges::Boundary;

use crate::access::ConnectionLogin;
use crate::cache::Parts;
pub use crate::cache::listing::{ObjectReport, Objects, objects};
pub use crate::cache::stored::StoredResponse;
pub use crate::cache::summary::Summary;
use crate::clients::Visit;
use crate::context::{Context, HttpDate};
use crate::fetch::{OriginBody, Pinned};
use crate::internal::seat::Seat;
use crate::plan::PortPlan;
use crate::reply::ReadyFields;

/// A stored response, complete or still arriving.
pub(crate) type Object = store::Object<StoredResponse>;
/// The one cache that all workers share.
pub type Store = store::Store<StoredResponse>;
/// What a lookup that found nothing gets: the right to fill, or a fill to wait for.
pub(crate) type Start = Begin<StoredResponse>;
/// The right to fill.
pub(crate) type Slot = store::Slot<StoredResponse>;

/// An accepted client connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// The client's address.
    pub(crate) client: SocketAddr,
    /// The address the client connected to.
    pub(crate) local: SocketAddr,
    /// The settings of its port when it was accepted.
    pub(crate) port: Rc<PortPlan>,
    /// What `annotate_client` has noted of it.
    pub(crate) notes: RefCell<Option<Notes>>,
    /// Whose it is, where a connection logs in.
    pub(crate) login: ConnectionLogin,
    /// The connection to a hop that is its own.
    pub(crate) pinned: Pinned,
    /// Its place among its client's connections (`client_db`).
    pub(crate) visit: Option<Visit>,
    /// Its place among the worker's connections; none for what the proxy does by itself.
    pub(crate) seat: Option<Seat>,
}

impl Connection {
    /// For the next transaction: nothing, but what holds for the connection.
    pub(crate) fn learnt(&self) -> Learnt {
        let notes = self.notes.borrow();
        notes
            .as_ref()
            .map_or_else(Learnt::default, Learnt::with_client_notes)
    }

    /// For what the proxy does by itself after a request of this connection: where it came in, and no more.
    pub(crate) fn for_the_proxy(&self) -> Self {
        Self {
            client: self.client,
            local: self.local,
            port: Rc::clone(&self.port),
            notes: RefCell::default(),
            login: ConnectionLogin::default(),
            pinned: Pinned::default(),
            visit: None,
            seat: None,
        }
    }

    /// Keeps what a transaction has learnt of the connection.
    pub(crate) fn keep(&self, learnt: &Learnt) {
        if let Some(notes) = learnt.client_notes() {
            self.notes.replace(Some(notes));
        }
    }
}

/// A request as `listen` read it: head complete, content still to come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received<'c> {
    /// Where it came in.
    pub(crate) connection: &'c Connection,
    /// The parsed head.
    pub(crate) head: &'c RequestHead,
    /// The normalised target: the one value for key, rules, hop, connect and log.
    pub(crate) target: &'c Target,
    /// The target that the client asked for, where `target` was put in its place.
    pub(crate) asked: Option<&'c Target>,
    /// How the content is framed, fixed once.
    pub(crate) framing: Framing,
    /// What is learnt of it on its way.
    pub(crate) learnt: &'c Learnt,
    /// When the head was complete.
    pub(crate) now: Now,
}

impl<'c> Received<'c> {
    /// What its response is stored under.
    pub(crate) fn key(&self) -> &'c [u8] {
        let store_id = self.learnt.store_id();
        store_id.unwrap_or_else(|| self.target.url())
    }
}

/// Proof that the access lists let the request pass. Only `access` makes one, and `fetch`, `tunnel`
/// and `internal` can't be called without it.
#[derive(Debug, Clone)]
pub(crate) struct Permit {
    _by_access_alone: (),
}

impl Permit {
    /// For `access` alone.
    pub(crate) fn granted_by_access() -> Self {
        Self {
            _by_access_alone: (),
        }
    }
}

/// A request that may go on.
#[derive(Debug)]
pub(crate) struct Admitted<'c> {
    /// The request.
    pub(crate) received: &'c Received<'c>,
    /// Who let it in.
    pub(crate) permit: Permit,
}

/// What the cache has for a request.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// Stored and fresh: answer with it.
    Fresh(Arc<Object>),
    /// Stored and stale: answer with it, and validate it meanwhile (RFC 5861 §3).
    StaleWhileRevalidate(Arc<Object>),
    /// Stored, but to be validated first.
    Stale(Arc<Object>),
    /// Stored in parts: some may have to be fetched first.
    Parts(Box<Parts>),
    /// Not stored: fetch, and maybe store; or wait for another's fetch.
    Start(Start),
    /// The cache has no part in this request.
    Pass,
    /// `only-if-cached`, and nothing usable is stored (RFC 9111 §5.2.1.7).
    Unsatisfiable,
}

/// The response's head, as far as it has been made.
#[derive(Debug)]
pub(crate) enum Head<'c> {
    /// Ready to send from the store; only Age, Connection and ours are added.
    Stored(Arc<Object>),
    /// That of an error page as it mostly is: all but Date is made with the plan.
    Page {
        status: u16,
        fields: &'c ReadyFields,
        date: HttpDate,
    },
    /// Built for this transaction.
    Built(Box<ResponseHead>),
}

/// A stream of bytes on its way to the client. Dropping it stops the sender.
#[derive(Debug)]
pub(crate) enum Content<'c> {
    /// Nothing follows the head.
    Empty,
    /// All of it, in a buffer of the worker's.
    Page(Vec<u8>),
    /// From the store, whole or still arriving; `left` is `None` while the length is unknown.
    Stored {
        /// Where to read on.
        reader: Reader,
        /// Bytes still to send.
        left: Option<u64>,
    },
    /// Stretches from the store one after another.
    Parts(Box<Assembly>),
    /// Straight from the hop, never stored.
    Origin(Box<OriginBody<'c>>),
}

impl Content<'_> {
    /// Came the request too late to read along? A response that is only shared may be found, and its
    /// first bytes be dropped before the reader is there.
    pub(crate) fn came_too_late(&self) -> bool {
        match self {
            Self::Stored { reader, .. } => reader.is_lost(),
            Self::Parts(assembly) => assembly.readers.iter().any(Reader::is_lost),
            Self::Empty | Self::Page(_) | Self::Origin(_) => false,
        }
    }
}

/// Content that is put together from stretches of stored responses.
#[derive(Debug)]
pub(crate) struct Assembly {
    /// One for each stored response, at its first byte that is wanted. None is ahead of another's turn: a response that
    /// is still arriving may wait for its slowest reader.
    pub(crate) readers: Vec<Reader>,
    pub(crate) segments: Vec<Segment>,
    /// What stands between the parts of a multipart/byteranges.
    pub(crate) text: Bytes,
    /// Separates those parts, if it is one.
    pub(crate) boundary: Option<Boundary>,
}

/// A stretch of such content.
#[derive(Debug, Clone)]
pub(crate) enum Segment {
    /// Of its text.
    Text(Range<usize>),
    /// Of a stored response.
    Stored {
        /// Number of its reader.
        reader: usize,
        /// First byte of what is stored there.
        first: u64,
        /// Number of bytes.
        length: u64,
    },
}

/// From the stations to `listen`.
#[derive(Debug)]
pub(crate) struct Response<'c> {
    /// Status and fields.
    pub(crate) head: Head<'c>,
    /// What follows.
    pub(crate) content: Content<'c>,
    /// Length of the content if known; decides the framing toward the client.
    pub(crate) length: Option<u64>,
    /// Content that goes out at most, where its length isn't known: then it is cut (`reply_body_max_size`).
    pub(crate) content_max: Option<u64>,
    /// Closes the client's connection afterwards, whatever the client asked for.
    pub(crate) close: bool,
}

impl Response<'_> {
    /// Does it come with transfer codings that the hop has put on, and with no chunks of ours?
    pub(crate) fn is_coded(&self) -> bool {
        match &self.head {
            Head::Built(head) => head.fields.has(FieldId::TransferEncoding),
            Head::Stored(_) | Head::Page { .. } => false,
        }
    }

    /// Gives back what is the worker's, once the response is sent.
    pub(crate) fn recycle(self, cx: &Context) {
        if let Head::Built(head) = self.head {
            cx.heads.give(head);
        }
        if let Content::Page(page) = self.content {
            cx.buffers.give(page);
        }
    }
}

/// What `listen` does with the connection afterwards.
#[derive(Debug)]
pub(crate) enum After {
    /// Reads the next request.
    KeepAlive,
    /// Closes.
    Close,
}
