//! The names of addresses (RFC 1035 §3.5). A name is what the owner of the address says it is, and
//! isn't held against the addresses of that name; neither does Squid.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::proto::rr::{Name, RData, Record};
use stats::Counter;

use super::ask::alias_end;
use super::{DnsError, NAME_BYTES_MAX, NameAnswer, Query, Resolver};

impl Resolver {
    /// The name of an address, if it is known without asking anyone.
    #[must_use]
    pub fn known_name(&self, addr: IpAddr) -> Option<NameAnswer> {
        let addr = addr.to_canonical();
        self.cells.count(Counter::DnsNameLookups);
        let in_hosts = self.shared.hosts().name_of(addr).map(Ok);
        let known = || self.shared.names.known(&addr, self.shared.now_ns());
        let answer = in_hosts.or_else(known)?;
        self.cells.count(match answer {
            Ok(_) => Counter::DnsNameHits,
            Err(_) => Counter::DnsNameNegativeHits,
        });
        Some(answer)
    }

    /// The name of an address, from the name servers if it isn't known. May be awaited on any thread.
    ///
    /// # Errors
    /// Why there is no name. Failures are remembered as well.
    pub async fn name_of(&self, addr: IpAddr) -> NameAnswer {
        if let Some(answer) = self.known_name(addr) {
            return answer;
        }
        let addr = addr.to_canonical();
        let query = || self.send(Query::Name(addr));
        let now_ns = self.shared.now_ns();
        let waiting = self.shared.names.ask(addr, now_ns, &self.cells, query);
        let answer = waiting.await.unwrap_or(Err(DnsError::Unavailable));
        if answer.is_err() {
            self.cells.count(Counter::DnsFailures);
        }
        answer
    }
}

/// The first name that the answer gives for `asked`, and how long it holds.
pub(super) fn pointer(answers: &[Record], asked: &Name) -> Result<(Arc<str>, Duration), DnsError> {
    let owner = alias_end(answers, asked);
    let named = answers.iter().find_map(|record| match &record.data {
        RData::PTR(target) if record.name == *owner => Some((host_name(&target.0)?, record.ttl)),
        _ => None,
    });
    let (name, ttl_secs) = named.ok_or(DnsError::NoAddress)?;
    Ok((name, Duration::from_secs(ttl_secs.into())))
}

/// A name as hosts have them, in lower case. Whoever owns an address can write anything into its
/// record: what isn't a host name must not reach rules, logs or helpers.
fn host_name(name: &Name) -> Option<Arc<str>> {
    let text = name.to_ascii().to_ascii_lowercase();
    let text = text.strip_suffix('.').unwrap_or(&text);
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let fits = !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.bytes().all(is_host);
    fits.then(|| text.into())
}
