//! What the name cache holds and what it waits for, for the manager's pages. Looking at it is no use of it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::{Answer, NameAnswer, NameServer, Resolver};

/// A name and its addresses.
#[derive(Clone, Debug)]
pub struct KnownName {
    /// In lower case, without a last dot.
    pub name: Arc<str>,
    /// What is known of it.
    pub answer: Answer,
    /// Addresses of it that could not be connected to lately.
    pub bad: Vec<IpAddr>,
    /// How old it is; `None` for what the hosts file says.
    pub waited: Option<Waited>,
}

/// An address and its name.
#[derive(Clone, Debug)]
pub struct KnownAddress {
    /// The address.
    pub addr: IpAddr,
    /// What is known of it.
    pub answer: NameAnswer,
    /// How old it is; `None` for what the hosts file says.
    pub waited: Option<Waited>,
}

/// How old an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Since it was last asked for.
    pub unused: Duration,
    /// Seconds until it ends to hold; negative if it has ended to.
    pub ttl_secs: i64,
}

/// What name servers are being asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// A name, or an address as its name is asked for.
    pub what: String,
    /// Since when.
    pub since: Duration,
}

impl Resolver {
    /// Names and what is known of them: those of the hosts file first. No more than `most`.
    #[must_use]
    pub fn known_names(&self, most: usize) -> Vec<KnownName> {
        let now_ns = self.shared.now_ns();
        let mut all = self.shared.hosts().all_names(most);
        for (name, known) in self.shared.addresses.some(most.saturating_sub(all.len())) {
            all.push(KnownName {
                name,
                bad: self.shared.bad.among(known.answer.as_deref(), now_ns),
                answer: known.answer.clone(),
                waited: Some(waited(now_ns, known.used_ns(), known.expires_ns)),
            });
        }
        all
    }

    /// Addresses and what is known of their names: those of the hosts file first. No more than `most`.
    #[must_use]
    pub fn known_addresses(&self, most: usize) -> Vec<KnownAddress> {
        let now_ns = self.shared.now_ns();
        let mut all = self.shared.hosts().all_addresses(most);
        for (addr, known) in self.shared.names.some(most.saturating_sub(all.len())) {
            all.push(KnownAddress {
                addr,
                answer: known.answer.clone(),
                waited: Some(waited(now_ns, known.used_ns(), known.expires_ns)),
            });
        }
        all
    }

    /// The name of an address, if it is known. It isn't a use of it.
    #[must_use]
    pub fn peek_name(&self, addr: IpAddr) -> Option<Arc<str>> {
        let addr = addr.to_canonical();
        let in_hosts = self.shared.hosts().name_of(addr);
        in_hosts.or_else(|| self.shared.names.peek(&addr, self.shared.now_ns())?.ok())
    }

    /// What name servers are being asked, no more than `most` of it.
    #[must_use]
    pub fn questions(&self, most: usize) -> Vec<Question> {
        let now_ns = self.shared.now_ns();
        let since = |since_ns: u64| Duration::from_nanos(now_ns.saturating_sub(since_ns));
        let names = self.shared.addresses.asking(most).into_iter();
        let names = names.map(|(name, asked_ns)| Question {
            what: name.as_ref().to_owned(),
            since: since(asked_ns),
        });
        let addresses = self.shared.names.asking(most).into_iter();
        let addresses = addresses.map(|(addr, asked_ns)| Question {
            what: addr.to_string(),
            since: since(asked_ns),
        });
        names.chain(addresses).take(most).collect()
    }

    /// How many names and how many addresses are known, those of the hosts file left out.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        (self.shared.addresses.len(), self.shared.names.len())
    }

    /// How many names and how many addresses the hosts file has.
    #[must_use]
    pub fn hosts_sizes(&self) -> (usize, usize) {
        self.shared.hosts().sizes()
    }

    /// Greatest UDP answer that is asked for; `None` without EDNS.
    #[must_use]
    pub fn edns_bytes_max(&self) -> Option<u16> {
        self.shared.options.packet_bytes_max
    }

    /// Who is asked, in the order of the configuration.
    #[must_use]
    pub fn name_servers(&self) -> &[NameServer] {
        &self.shared.servers
    }
}

fn waited(now_ns: u64, used_ns: u64, expires_ns: u64) -> Waited {
    let secs = |ns: u64| i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX);
    let left = secs(expires_ns.saturating_sub(now_ns));
    let over = secs(now_ns.saturating_sub(expires_ns));
    Waited {
        unused: Duration::from_nanos(now_ns.saturating_sub(used_ns)),
        ttl_secs: left - over,
    }
}
