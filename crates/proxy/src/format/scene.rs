//! What codes are filled in from: borrowed facts of one transaction, as far as it has come.

use std::net::SocketAddr;

use wire::http1::{ResponseHead, Version};

use crate::access::client;
use crate::flow::Received;
use crate::log::LogFacts;
use crate::record::Record;

/// See the module. What isn't there shows as `-`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(super) unix_ms: i64,
    pub(super) client: SocketAddr,
    pub(super) method: &'a [u8],
    pub(super) url: &'a [u8],
    pub(super) version: &'a str,
    /// `None`: its head could not be read.
    pub(super) request: Option<&'a Received<'a>>,
    pub(super) record: Option<&'a Record>,
    pub(super) reply: Option<&'a ResponseHead>,
    pub(super) acl: Option<AclCall<'a>>,
    /// Show queries in `%ru`.
    pub(super) whole_url: bool,
}

/// An `external` ACL that is being asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AclCall<'a> {
    pub(crate) name: &'a str,
    /// The words behind the class.
    pub(crate) data: &'a [Box<str>],
}

impl<'a> Scene<'a> {
    /// A request on its way.
    pub(crate) fn of_request(received: &'a Received<'a>) -> Self {
        Self {
            unix_ms: received.now.unix_ms,
            client: SocketAddr::new(client(received), received.connection.client.port()),
            method: received.head.method.as_str().as_bytes(),
            url: received.target.url(),
            version: match received.head.version {
                Version::H10 => "1.0",
                Version::H11 => "1.1",
            },
            request: Some(received),
            record: None,
            reply: None,
            acl: None,
            whole_url: false,
        }
    }

    /// The same with the reply that is about to be sent.
    pub(crate) fn with_reply(self, reply: &'a ResponseHead) -> Self {
        let reply = Some(reply);
        Self { reply, ..self }
    }

    /// The same for the helper of an external ACL.
    pub(crate) fn with_acl(self, acl: AclCall<'a>) -> Self {
        let acl = Some(acl);
        Self { acl, ..self }
    }

    /// A finished transaction.
    pub(crate) fn of_log(facts: &LogFacts<'a>, strip_query: bool) -> Self {
        Self {
            unix_ms: facts.record.finished_unix_ms,
            client: facts.client,
            method: facts.method,
            url: facts.url,
            version: facts.version,
            request: facts.request,
            record: Some(facts.record),
            reply: facts.record.reply_head(),
            acl: None,
            whole_url: !strip_query,
        }
    }

    pub(super) fn login(&self) -> Option<&'a [u8]> {
        match self.request {
            Some(request) => request.learnt.user().map(|user| user.as_bytes()),
            None => self.record.and_then(Record::user),
        }
    }
}
