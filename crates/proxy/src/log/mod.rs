//! The access log: from a finished [`Record`] to a line in a file.
//!
//! A worker formats its line straight into its own buffer ([`LogHandle::write`]); a thread for each log swaps the
//! buffers out and writes them (`outlet.rs`). No worker waits for a disk or a collector, and the thread sleeps while
//! nothing happens. No access log means no buffer and no thread.

mod bell;
mod handle;
mod json;
mod line;
mod outlet;
mod output;
mod show;
mod store_log;
mod tally;
mod text;

pub use handle::{AccessLog, LogHandle, Options, RetiredLog, Spec};
pub use line::Format;
pub(crate) use line::{media_type, push_outcome, stripped};
pub use output::{Facility, OpenError, Place, Priority, Syslog, rename_away};
pub use store_log::StoreLog;
pub use text::push_url;

use std::net::SocketAddr;

use crate::flow::Received;
use crate::record::Record;

/// What a line is made of: the record, and what isn't copied into it.
#[derive(Clone, Copy, Debug)]
pub struct LogFacts<'a> {
    /// The finished transaction.
    pub record: &'a Record,
    /// The client as it is shown (`client_netmask`).
    pub client: SocketAddr,
    /// The request's method; empty when it could not be read.
    pub method: &'a [u8],
    /// The request's normalised URL, or a word such as [`INVALID_REQUEST`].
    pub url: &'a [u8],
    /// The request's HTTP version: `1.1`.
    pub version: &'a str,
    /// The request's `Referer`; empty when none.
    pub referer: &'a [u8],
    /// The request's `User-Agent`; empty when none.
    pub user_agent: &'a [u8],
    /// The request; `None` when its head could not be read.
    pub(crate) request: Option<&'a Received<'a>>,
}

impl<'a> LogFacts<'a> {
    /// Facts of a request whose head could not be read.
    pub const fn unreadable(record: &'a Record, url: &'a [u8]) -> Self {
        Self {
            record,
            client: record.client,
            method: b"",
            url,
            version: "0.0",
            referer: b"",
            user_agent: b"",
            request: None,
        }
    }
}

/// Stands for the URL of a request that can't be parsed.
pub const INVALID_REQUEST: &[u8] = b"error:invalid-request";
/// Stands for the URL of a request whose head is larger than allowed.
pub const REQUEST_TOO_LARGE: &[u8] = b"error:request-too-large";
/// Stands for the URL of a method that the port doesn't take.
pub const METHOD_NOT_ALLOWED: &[u8] = b"error:method-not-allowed";
/// Stands for the URL of a connection that was closed before its request ended.
pub const TRANSACTION_END_BEFORE_HEADERS: &[u8] = b"error:transaction-end-before-headers";
