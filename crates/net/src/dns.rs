//! Names to addresses, and addresses to names. One cache for the whole program: address literals,
//! the hosts file and what is known are answered at once on the asking thread; the rest is asked of
//! name servers by a thread of its own (`dns/ask.rs`), once per question however many wait for it.

mod ask;
mod bad;
mod book;
mod counted;
mod hosts;
mod listing;
mod reverse;

use std::borrow::Cow;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use stats::{Cells, Counter};
use tokio::sync::{mpsc, oneshot};

use crate::clock::Clock;
use bad::BadAddresses;
use book::Book;
pub use counted::NameServer;
use hosts::Hosts;
pub use listing::{KnownAddress, KnownName, Question, Waited};

/// Names, and again addresses, that may be asked of name servers at once; more are refused.
pub const QUERIES_MAX: usize = 4096;

/// Addresses kept per name.
pub const ADDRESSES_MAX: usize = 64;

/// The greatest length of a name (RFC 1035 §2.3.4).
const NAME_BYTES_MAX: usize = 253;

/// The addresses of a name, best first.
pub type Addresses = Arc<[IpAddr]>;

/// What asking for a name ends with.
pub type Answer = Result<Addresses, DnsError>;

/// What asking for the name of an address ends with. The name is in lower case, without a last dot.
pub type NameAnswer = Result<Arc<str>, DnsError>;

/// Why a name has no address, or an address no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DnsError {
    /// There is no such name (`NXDOMAIN`).
    #[error("the domain name does not exist")]
    NotFound,
    /// The name exists and has no address.
    #[error("the domain name has no address")]
    NoAddress,
    /// The name servers could not or would not answer.
    #[error("the name server failed")]
    ServerFailed,
    /// No name server answered in time.
    #[error("the name server did not answer in time")]
    TimedOut,
    /// This can't be a name.
    #[error("not a valid domain name")]
    BadName,
    /// Too many names are being asked for.
    #[error("too many name queries under way")]
    Overloaded,
    /// The program is stopping, or its DNS thread is lost.
    #[error("name resolution is not available")]
    Unavailable,
}

impl DnsError {
    /// Whether the name servers said so, rather than failed to say.
    #[must_use]
    pub const fn is_definite(self) -> bool {
        matches!(self, Self::NotFound | Self::NoAddress | Self::BadName)
    }
}

/// How names are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Name servers (`dns_nameservers`); empty means those of `resolv_conf`, or else 127.0.0.1.
    pub nameservers: Vec<SocketAddr>,
    /// The system's resolver configuration: name servers and search list.
    pub resolv_conf: PathBuf,
    /// The hosts file, if any (`hosts_file`).
    pub hosts_file: Option<PathBuf>,
    /// Appended to names without a dot (`append_domain`); begins with a dot.
    pub append_domain: Option<String>,
    /// Whether names without a dot are tried in the domains of the search list (`dns_defnames`).
    pub search: bool,
    /// Greatest time for one name (`dns_timeout`).
    pub timeout: Duration,
    /// Time until a query is sent again (`dns_retransmit_interval`).
    pub retransmit: Duration,
    /// Addresses are kept no longer (`positive_dns_ttl`).
    pub positive_ttl_max: Duration,
    /// Failures are kept so long, and addresses no shorter (`negative_dns_ttl`).
    pub negative_ttl: Duration,
    /// Names whose addresses are kept (`ipcache_size`).
    pub names_max: usize,
    /// Addresses whose names are kept (`fqdncache_size`).
    pub addresses_max: usize,
    /// Whether IPv6 addresses are asked for.
    pub ipv6: bool,
    /// Whether IPv4 addresses come before IPv6 addresses.
    pub prefer_ipv4: bool,
    /// Greatest UDP answer asked for by EDNS (`dns_packet_max`); `None` is no EDNS.
    pub packet_bytes_max: Option<u16>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nameservers: Vec::new(),
            resolv_conf: "/etc/resolv.conf".into(),
            hosts_file: Some("/etc/hosts".into()),
            append_domain: None,
            search: false,
            timeout: Duration::from_secs(30),
            retransmit: Duration::from_secs(5),
            positive_ttl_max: Duration::from_secs(6 * 3600),
            negative_ttl: Duration::from_secs(60),
            names_max: 1024,
            addresses_max: 1024,
            ipv6: system_has_ipv6(),
            prefer_ipv4: false,
            packet_bytes_max: None,
        }
    }
}

/// Whether this system can make IPv6 sockets.
#[must_use]
pub fn system_has_ipv6() -> bool {
    socket2::Socket::new(socket2::Domain::IPV6, socket2::Type::DGRAM, None).is_ok()
}

/// Resolves names, for all threads. Clones share everything except the cells that they count in.
/// The DNS thread ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Resolver {
    shared: Arc<Shared>,
    queries: mpsc::Sender<Query>,
    cells: Arc<Cells>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    /// Who is asked.
    servers: Arc<[NameServer]>,
    clock: Clock,
    addresses: Book<Arc<str>, Addresses>,
    names: Book<IpAddr, Arc<str>>,
    hosts: RwLock<Arc<Hosts>>,
    bad: BadAddresses,
}

/// What the DNS thread is asked.
#[derive(Debug)]
enum Query {
    /// The addresses of this name.
    Addresses(Arc<str>),
    /// The name of this address.
    Name(IpAddr),
}

impl Resolver {
    /// Reads the hosts file and starts the DNS thread, which counts in `thread_cells`; this clone
    /// counts in `cells`.
    ///
    /// # Errors
    /// When the thread can't be started. A hosts file or `resolv.conf` that can't be read is told
    /// to the diagnostics log and taken as empty.
    pub fn start(
        options: Options,
        clock: Clock,
        cells: &Arc<Cells>,
        thread_cells: Arc<Cells>,
    ) -> io::Result<Self> {
        let (queries, queue) = mpsc::channel(QUERIES_MAX);
        let system = ask::read_system(&options);
        let shared = Arc::new(Shared {
            servers: ask::servers(&options, &system)
                .into_iter()
                .map(NameServer::new)
                .collect(),
            addresses: Book::new(options.names_max),
            names: Book::new(options.addresses_max),
            hosts: RwLock::default(),
            bad: BadAddresses::default(),
            clock,
            options,
        });
        let resolver = Self {
            shared: Arc::clone(&shared),
            queries,
            cells: Arc::clone(cells),
        };
        if let Err(error) = resolver.reload_hosts() {
            tracing::warn!(%error, "hosts file not read");
        }
        ask::start(shared, &system, queue, thread_cells)?;
        Ok(resolver)
    }

    /// A clone that counts in the cells of the calling thread.
    #[must_use]
    pub fn counting_in(&self, cells: &Arc<Cells>) -> Self {
        Self {
            cells: Arc::clone(cells),
            ..self.clone()
        }
    }

    /// The answer, if it is known without asking anyone.
    #[must_use]
    pub fn cached(&self, name: &str) -> Option<Answer> {
        self.cells.count(Counter::DnsLookups);
        if let Some(literal) = literal(name) {
            self.cells.count(Counter::DnsNumeric);
            return Some(Ok(Arc::new([literal])));
        }
        let Ok(name) = normal(name) else {
            self.cells.count(Counter::DnsInvalid);
            return Some(Err(DnsError::BadName));
        };
        let answer = self.shared.answer(&name)?;
        self.cells.count(match answer {
            Ok(_) => Counter::DnsHits,
            Err(_) => Counter::DnsNegativeHits,
        });
        Some(answer)
    }

    /// The answer, from the name servers if it isn't known. May be awaited on any thread; dropping
    /// it leaves the query to the others who wait, and to the cache.
    ///
    /// # Errors
    /// Why there is no address. Failures are remembered as well.
    pub async fn resolve(&self, name: &str) -> Answer {
        if let Some(answer) = self.cached(name) {
            return answer;
        }
        let answer = self
            .ask(&normal(name)?)
            .await
            .unwrap_or(Err(DnsError::Unavailable));
        match answer {
            Ok(addresses) => Ok(self.shared.bad.last(addresses, self.shared.now_ns())),
            Err(error) => {
                self.cells.count(Counter::DnsFailures);
                Err(error)
            }
        }
    }

    /// Joins the query for a name, or begins one.
    fn ask(&self, name: &str) -> oneshot::Receiver<Answer> {
        let name: Arc<str> = name.into();
        let query = Query::Addresses(Arc::clone(&name));
        let book = &self.shared.addresses;
        book.ask(name, self.shared.now_ns(), &self.cells, || self.send(query))
    }

    /// Puts a query into the DNS thread's queue.
    fn send(&self, query: Query) -> Result<(), DnsError> {
        let sent = self.queries.try_send(query);
        sent.map_err(|_| DnsError::Unavailable)
    }

    /// Puts an address behind the others of its names for a while, after it could not be
    /// connected to.
    pub fn mark_bad(&self, addr: IpAddr) {
        self.shared.bad.mark(addr, self.shared.now_ns());
    }

    /// Takes back [`Resolver::mark_bad`].
    pub fn mark_good(&self, addr: IpAddr) {
        self.shared.bad.unmark(addr);
    }

    /// Reads the hosts file again.
    ///
    /// # Errors
    /// When it can't be read; the old one stays in use.
    pub fn reload_hosts(&self) -> io::Result<()> {
        let Some(path) = &self.shared.options.hosts_file else {
            return Ok(());
        };
        let hosts = Arc::new(Hosts::parse(&std::fs::read(path)?));
        *self
            .shared
            .hosts
            .write()
            .unwrap_or_else(PoisonError::into_inner) = hosts;
        Ok(())
    }

    /// Forgets what name servers have answered.
    pub fn clear(&self) {
        self.shared.addresses.clear();
        self.shared.names.clear();
    }

    /// How many names are remembered with their addresses.
    #[must_use]
    pub fn names(&self) -> usize {
        self.shared.addresses.len()
    }
}

impl Shared {
    fn now_ns(&self) -> u64 {
        self.clock.now().mono_ns
    }

    fn answer(&self, name: &str) -> Option<Answer> {
        let now_ns = self.now_ns();
        if let Some(addresses) = self.in_hosts(name) {
            return Some(Ok(self.bad.last(addresses, now_ns)));
        }
        let known = self.addresses.known(name, now_ns)?;
        Some(known.map(|all| self.bad.last(all, now_ns)))
    }

    fn hosts(&self) -> Arc<Hosts> {
        let hosts = self.hosts.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&hosts)
    }

    fn in_hosts(&self, name: &str) -> Option<Addresses> {
        let hosts = self.hosts();
        let found = hosts.get(name).or_else(|| {
            let domain = self.options.append_domain.as_ref()?;
            (!name.contains('.')).then(|| hosts.get(&format!("{name}{domain}")))?
        });
        found.or_else(|| hosts::localhost(name))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Addresses in their usual forms only: `127.1` or `2130706433` are names, and such don't exist.
fn literal(name: &str) -> Option<IpAddr> {
    let first = *name.as_bytes().first()?;
    if first.is_ascii_digit() || name.contains(':') {
        return name.parse().ok();
    }
    None
}

/// Lower case, without the final dot.
fn normal(name: &str) -> Result<Cow<'_, str>, DnsError> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let well_formed = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.bytes().all(|byte| byte.is_ascii_graphic())
        && name.split('.').all(|label| (1..=63).contains(&label.len()));
    if !well_formed {
        return Err(DnsError::BadName);
    }
    Ok(if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    })
}

#[cfg(test)]
mod tests;
