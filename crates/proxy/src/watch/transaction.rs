//! One transaction, as somebody who looks is told of it. Queries and passwords in URLs are left out as in the
//! log; everything is clipped, and nothing is escaped: whoever shows it does that.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::flow::Received;
use crate::log::{media_type, push_outcome, stripped};
use crate::record::{HopName, Record};

/// Bytes of a URL, and of all other texts, that are kept.
const URL_BYTES_MAX: usize = 1024;
const TEXT_BYTES_MAX: usize = 128;

/// Which transaction: never used again while the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionId {
    /// The worker that served it.
    pub worker: u64,
    /// Counted from 1 by that worker.
    pub number: u64,
}

impl fmt::Display for TransactionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.worker, self.number)
    }
}

impl FromStr for TransactionId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (worker, number) = text.split_once('-').unwrap_or((text, ""));
        Ok(Self {
            worker: worker.parse()?,
            number: number.parse()?,
        })
    }
}

/// A finished transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Its name.
    pub id: TransactionId,
    /// When it ended: milliseconds since 1970.
    pub finished_unix_ms: i64,
    /// From the request's first byte to the reply's last.
    pub elapsed_us: u64,
    /// From the request's first byte to the first try of a hop; `None` when none was tried.
    pub before_hop_us: Option<u64>,
    /// From there to the head of the hop's last answer; `None` when there was none.
    pub hop_us: Option<u64>,
    /// Who asked.
    pub client: IpAddr,
    /// The user that logged in; empty when none did.
    pub user: String,
    /// The request's method.
    pub method: String,
    /// The request's URL.
    pub url: String,
    /// The log's result code: `TCP_MEM_HIT`.
    pub result: String,
    /// Status sent to the client; 0 when none was.
    pub status: u16,
    /// Bytes read from the client.
    pub request_bytes: u64,
    /// Bytes sent to the client.
    pub sent_bytes: u64,
    /// Which way it went: `HIER_DIRECT`.
    pub hierarchy: &'static str,
    /// To whom; empty when to nobody.
    pub hop: String,
    /// Status of the hop's last answer; 0 when there was none.
    pub hop_status: u16,
    /// Connections that were taken or tried.
    pub attempts: u16,
    /// Media type of the reply.
    pub media_type: String,
    /// Page of the failure: `ERR_DNS_FAIL`; empty when there was none.
    pub error: &'static str,
    /// What the log says of the failure.
    pub error_detail: String,
}

impl Transaction {
    pub(super) fn new(
        id: TransactionId,
        record: &Record,
        received: Option<&Received<'_>>,
        strips_query: bool,
    ) -> Self {
        let method = received.map_or("", |received| received.head.method.as_str());
        let mut result = Vec::new();
        push_outcome(&mut result, record);
        let talk = &record.talk;
        Self {
            id,
            finished_unix_ms: record.finished_unix_ms,
            elapsed_us: record.elapsed_ns() / 1000,
            before_hop_us: (talk.began_ns > 0)
                .then(|| talk.began_ns.saturating_sub(record.started_ns) / 1000),
            hop_us: talk.answered_after_ns().map(|ns| ns / 1000),
            client: record.client.ip(),
            user: clipped(record.user().unwrap_or_default(), TEXT_BYTES_MAX),
            method: clipped(method.as_bytes(), TEXT_BYTES_MAX),
            url: received.map_or_else(String::new, |received| url(received, strips_query)),
            result: clipped(&result, TEXT_BYTES_MAX),
            status: record.status,
            request_bytes: record.request_bytes,
            sent_bytes: record.sent_bytes(),
            hierarchy: record.hierarchy.name(),
            hop: match &record.hop {
                HopName::None => String::new(),
                HopName::Ip(ip) => ip.to_string(),
                HopName::Host(host) => clipped(host.as_bytes(), TEXT_BYTES_MAX),
            },
            hop_status: talk.status,
            attempts: talk.attempts,
            media_type: clipped(media_type(record.content_type()), TEXT_BYTES_MAX),
            error: record.error_page(),
            error_detail: clipped(record.error_detail.as_bytes(), TEXT_BYTES_MAX),
        }
    }
}

/// The URL without a password, and without its query where the log leaves it out.
fn url(received: &Received<'_>, strips_query: bool) -> String {
    let target = received.target;
    let whole = if target.user_info().is_empty() {
        target.url().to_vec()
    } else {
        [
            target.scheme_name(),
            b"://",
            target.authority(),
            target.path(),
        ]
        .concat()
    };
    let shown = match strips_query {
        true => stripped(received.head.method.as_str().as_bytes(), &whole),
        false => &whole,
    };
    clipped(shown, URL_BYTES_MAX)
}

/// So much of the text; what was cut off is told by an ellipsis.
fn clipped(text: &[u8], max: usize) -> String {
    match text.get(..max) {
        Some(start) if text.len() > max => String::from_utf8_lossy(start).into_owned() + "…",
        _ => String::from_utf8_lossy(text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        let id = TransactionId {
            worker: 3,
            number: 1042,
        };
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "3", "3-", "-3", "3-x", "3-1-2", "<b>"] {
            assert!(text.parse::<TransactionId>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_cut_off_is_told() {
        assert_eq!(clipped(b"abc", 3), "abc");
        assert_eq!(clipped(b"abcd", 3), "abc…");
        assert_eq!(clipped(b"\xff", 3), "\u{fffd}");
    }
}
