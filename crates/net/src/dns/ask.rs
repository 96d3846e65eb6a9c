//! The DNS thread: asks name servers and settles the answers in the cache.

use std::future::Future;
use std::hash::Hash;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::Resolver as WireResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
    ServerOrderingStrategy,
};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::{DnsError as WireDnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use hickory_resolver::system_conf::parse_resolv_conf;
use smallvec::SmallVec;
use stats::{Cells, Counter, Gauge, Histogram};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::book::Book;
use super::counted::Counting;
use super::reverse::pointer;
use super::{ADDRESSES_MAX, Addresses, DnsError, Options, QUERIES_MAX, Query, Shared, nanos};

/// Once one family has answered, the other has so long to follow. A server that drops queries for
/// one family would else make every name slow.
const OTHER_FAMILY_WAIT: Duration = Duration::from_millis(250);

/// Aliases followed for one name.
const ALIASES_MAX: usize = 16;

/// Starts the thread. It ends when the sending side of `queue` is gone.
pub(super) fn start(
    shared: Arc<Shared>,
    system: &ResolverConfig,
    queue: mpsc::Receiver<Query>,
    cells: Arc<Cells>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let client = build_client(&shared, system).map_err(io::Error::other)?;
    let search = if shared.options.search {
        system.search().to_vec()
    } else {
        Vec::new()
    };
    let asker = Arc::new(Asker {
        shared,
        client,
        search,
        cells,
    });
    let run = move || runtime.block_on(serve(&asker, queue));
    // Nobody joins the thread: it ends by itself, and holds nothing that must be flushed.
    drop(std::thread::Builder::new().name("dns".into()).spawn(run)?);
    Ok(())
}

type Client = WireResolver<Counting>;

struct Asker {
    shared: Arc<Shared>,
    client: Client,
    search: Vec<Name>,
    cells: Arc<Cells>,
}

/// What became of one family's query.
type Found = Result<Records, DnsError>;

/// Addresses, and how long the answer holds.
struct Records {
    addresses: SmallVec<[IpAddr; 8]>,
    ttl: Duration,
}

async fn serve(asker: &Arc<Asker>, mut queue: mpsc::Receiver<Query>) {
    let mut asking = JoinSet::new();
    loop {
        tokio::select! {
            query = queue.recv() => match query {
                Some(Query::Addresses(name)) => drop(asking.spawn(addresses(Arc::clone(asker), name))),
                Some(Query::Name(addr)) => drop(asking.spawn(name(Arc::clone(asker), addr))),
                None => return,
            },
            Some(ended) = asking.join_next() => if ended.is_err() {
                asker.cells.count(Counter::PanicsCaught);
            },
        }
    }
}

/// Tells those who wait even if the work ends by a panic.
struct Duty<K: Clone + Eq + Hash, V: Clone> {
    asker: Arc<Asker>,
    book: fn(&Shared) -> &Book<K, V>,
    key: K,
    outcome: Option<(Result<V, DnsError>, Duration)>,
}

impl<K: Clone + Eq + Hash, V: Clone> Drop for Duty<K, V> {
    fn drop(&mut self) {
        let Asker { shared, cells, .. } = &*self.asker;
        cells.down(Gauge::DnsInFlight);
        let book = (self.book)(shared);
        match self.outcome.take() {
            Some((answer, ttl)) => book.settle(&self.key, answer, ttl, shared.now_ns(), cells),
            None => book.tell(&self.key, &Err(DnsError::Unavailable)),
        }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Duty<K, V> {
    fn begin(asker: Arc<Asker>, book: fn(&Shared) -> &Book<K, V>, key: K) -> Self {
        asker.cells.count(Counter::DnsQueries);
        asker.cells.up(Gauge::DnsInFlight);
        Self {
            asker,
            book,
            key,
            outcome: None,
        }
    }

    /// Awaits the work, no longer than it may take, and settles what it comes to.
    async fn fulfil(mut self, work: impl Future<Output = Result<(V, Duration), DnsError>>) {
        let Asker { shared, cells, .. } = &*self.asker;
        let options = &shared.options;
        let started = shared.clock.now();
        let found = timeout(options.timeout, work).await;
        let took = shared.clock.now().since(started);
        cells.record(Histogram::DnsTime, nanos(took) / 1000);
        self.outcome = Some(match found.unwrap_or(Err(DnsError::TimedOut)) {
            Ok((found, ttl)) => {
                let longest = options.positive_ttl_max.max(options.negative_ttl);
                (Ok(found), ttl.clamp(options.negative_ttl, longest))
            }
            Err(error) => (Err(error), options.negative_ttl),
        });
    }
}

/// Asks for the addresses of a name.
async fn addresses(asker: Arc<Asker>, name: Arc<str>) {
    let work = async {
        let records = asker.try_names(&name).await?;
        Ok((Addresses::from(records.addresses.as_slice()), records.ttl))
    };
    let duty = Duty::begin(
        Arc::clone(&asker),
        |shared| &shared.addresses,
        Arc::clone(&name),
    );
    duty.fulfil(work).await;
}

/// Asks for the name of an address.
async fn name(asker: Arc<Asker>, addr: IpAddr) {
    let work = async {
        let owner = Name::from(addr);
        match asker.client.lookup(owner.clone(), RecordType::PTR).await {
            Ok(lookup) => pointer(lookup.answers(), &owner),
            Err(error) => Err(meaning(&error)),
        }
    };
    let duty = Duty::begin(Arc::clone(&asker), |shared| &shared.names, addr);
    duty.fulfil(work).await;
}

impl Asker {
    /// The first of the names to try that has addresses; else what the last one came to.
    async fn try_names(&self, name: &str) -> Found {
        let mut last = Err(DnsError::BadName);
        for candidate in self.candidates(name) {
            last = self.both_families(&candidate).await;
            match last {
                Err(DnsError::NotFound | DnsError::NoAddress) => {}
                _ => break,
            }
        }
        last
    }

    /// Absolute names to try, in order.
    fn candidates(&self, name: &str) -> SmallVec<[Name; 2]> {
        let parse = |text: &str| Name::from_ascii(format!("{text}.")).ok();
        let mut names = SmallVec::new();
        if !name.contains('.') {
            if let Some(domain) = &self.shared.options.append_domain {
                names.extend(parse(&format!("{name}{}", domain.trim_end_matches('.'))));
                return names;
            }
            let relative = Name::from_ascii(name).ok();
            for domain in &self.search {
                let joined = relative.clone().map(|name| name.append_domain(domain));
                names.extend(joined.and_then(Result::ok));
            }
        }
        names.extend(parse(name));
        names
    }

    async fn both_families(&self, name: &Name) -> Found {
        let options = &self.shared.options;
        if !options.ipv6 {
            return self.one_family(name, RecordType::A).await;
        }
        let v4 = self.one_family(name, RecordType::A);
        let v6 = self.one_family(name, RecordType::AAAA);
        let (v4, v6) = side_by_side(v4, v6).await;
        let both = if options.prefer_ipv4 {
            [v4, v6]
        } else {
            [v6, v4]
        };
        self.merge(both)
    }

    async fn one_family(&self, name: &Name, kind: RecordType) -> Found {
        match self.client.lookup(name.clone(), kind).await {
            Ok(lookup) => {
                let found = records(&lookup, name);
                self.cells.count(match (&found, kind) {
                    (Err(_), _) => Counter::DnsAliasOnly,
                    (Ok(_), RecordType::AAAA) => Counter::DnsAnswersAaaa,
                    (Ok(_), _) => Counter::DnsAnswersA,
                });
                found
            }
            Err(error) => Err(meaning(&error)),
        }
    }

    fn merge(&self, both: [Found; 2]) -> Found {
        let mut all = Records {
            addresses: SmallVec::new(),
            ttl: Duration::MAX,
        };
        let mut worst = None;
        for found in both {
            match found {
                Ok(records) => {
                    all.addresses.extend(records.addresses);
                    all.ttl = all.ttl.min(records.ttl);
                }
                Err(error) => worst = Some(worse(worst, error)),
            }
        }
        if all.addresses.is_empty() {
            return Err(worst.unwrap_or(DnsError::NoAddress));
        }
        if worst.is_some_and(|error| !error.is_definite()) {
            // Half an answer: ask again soon.
            all.ttl = all.ttl.min(self.shared.options.negative_ttl);
        }
        if all.addresses.len() > ADDRESSES_MAX {
            self.cells.count(Counter::LimitDnsAddresses);
            all.addresses.truncate(ADDRESSES_MAX);
        }
        Ok(all)
    }
}

/// Awaits both; once one has addresses, the other has a short time left.
async fn side_by_side(
    one: impl Future<Output = Found>,
    other: impl Future<Output = Found>,
) -> (Found, Found) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    tokio::select! {
        found = &mut one => {
            let second = follow(found.is_ok(), other).await;
            (found, second)
        }
        found = &mut other => {
            let second = follow(found.is_ok(), one).await;
            (second, found)
        }
    }
}

async fn follow(first_is_found: bool, second: impl Future<Output = Found>) -> Found {
    if !first_is_found {
        return second.await;
    }
    timeout(OTHER_FAMILY_WAIT, second)
        .await
        .unwrap_or(Err(DnsError::TimedOut))
}

/// A failure to answer outweighs "has no address", which outweighs nothing at all.
fn worse(known: Option<DnsError>, new: DnsError) -> DnsError {
    match known {
        Some(known) if !known.is_definite() || new.is_definite() => known,
        _ => new,
    }
}

/// The addresses that belong to `name` or to what it is an alias of; others in the answer are not
/// asked for and not trusted.
fn records(lookup: &Lookup, name: &Name) -> Found {
    let owner = alias_end(lookup.answers(), name);
    let mut addresses = SmallVec::new();
    let mut ttl_secs = u32::MAX;
    for record in lookup.answers() {
        let addr: IpAddr = match &record.data {
            RData::A(addr) => addr.0.into(),
            RData::AAAA(addr) => addr.0.into(),
            _ => {
                ttl_secs = ttl_secs.min(record.ttl);
                continue;
            }
        };
        if record.name == *owner && addresses.len() <= ADDRESSES_MAX && !addresses.contains(&addr) {
            addresses.push(addr);
            ttl_secs = ttl_secs.min(record.ttl);
        }
    }
    if addresses.is_empty() {
        return Err(DnsError::NoAddress);
    }
    let ttl = Duration::from_secs(ttl_secs.into());
    Ok(Records { addresses, ttl })
}

/// What `name` is an alias of, through all aliases of the answer.
pub(super) fn alias_end<'r>(answers: &'r [Record], name: &'r Name) -> &'r Name {
    let mut owner = name;
    for _ in 0..ALIASES_MAX {
        let alias = answers.iter().find_map(|record| match &record.data {
            RData::CNAME(target) if record.name == *owner => Some(&target.0),
            _ => None,
        });
        match alias {
            Some(target) => owner = target,
            None => break,
        }
    }
    owner
}

fn meaning(error: &NetError) -> DnsError {
    match error {
        NetError::Timeout => DnsError::TimedOut,
        NetError::Dns(WireDnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => DnsError::NotFound,
            ResponseCode::NoError => DnsError::NoAddress,
            _ => DnsError::ServerFailed,
        },
        _ => DnsError::ServerFailed,
    }
}

/// What the system says of name servers and of where names are looked for.
pub(super) fn read_system(options: &Options) -> ResolverConfig {
    let text = std::fs::read(&options.resolv_conf).unwrap_or_default();
    match parse_resolv_conf(text) {
        Ok((config, _)) => config,
        Err(error) => {
            if options.nameservers.is_empty() {
                let file = options.resolv_conf.display();
                tracing::warn!(%error, %file, "no name servers known; asking 127.0.0.1");
            }
            let here = IpAddr::from([127, 0, 0, 1]);
            let server = NameServerConfig::udp_and_tcp(here);
            ResolverConfig::from_parts(None, Vec::new(), vec![server])
        }
    }
}

/// Who is asked.
pub(super) fn servers(options: &Options, system: &ResolverConfig) -> Vec<SocketAddr> {
    if !options.nameservers.is_empty() {
        return options.nameservers.clone();
    }
    let servers = system.name_servers().iter();
    let addr = |server: &NameServerConfig| {
        let port = server.connections.first().map_or(53, |first| first.port);
        SocketAddr::new(server.ip, port)
    };
    servers.map(addr).collect()
}

fn build_client(shared: &Shared, system: &ResolverConfig) -> Result<Client, NetError> {
    let options = &shared.options;
    let servers = if options.nameservers.is_empty() {
        system.name_servers().to_vec()
    } else {
        options.nameservers.iter().map(name_server).collect()
    };
    let config = ResolverConfig::from_parts(None, Vec::new(), servers);
    let mut builder = Client::builder_with_config(config, Counting::new(&shared.servers));
    tune(builder.options_mut(), options);
    builder.build()
}

fn name_server(addr: &SocketAddr) -> NameServerConfig {
    let (mut udp, mut tcp) = (ConnectionConfig::udp(), ConnectionConfig::tcp());
    (udp.port, tcp.port) = (addr.port(), addr.port());
    NameServerConfig::new(addr.ip(), true, vec![udp, tcp])
}

/// The cache is ours, and so is the hosts file; names come absolute.
fn tune(client: &mut ResolverOpts, options: &Options) {
    let retransmit = options.retransmit.max(Duration::from_millis(10));
    client.cache_size = 0;
    client.use_hosts_file = ResolveHosts::Never;
    client.timeout = retransmit;
    let attempts = options.timeout.as_millis() / retransmit.as_millis().max(1);
    client.attempts = usize::try_from(attempts)
        .unwrap_or(usize::MAX)
        .clamp(1, 100);
    // By the times they took: a server that is down is asked last, after its first failure.
    client.num_concurrent_reqs = 1;
    client.server_ordering_strategy = ServerOrderingStrategy::QueryStatistics;
    client.max_active_requests = QUERIES_MAX;
    client.edns0 = options.packet_bytes_max.is_some();
    if let Some(bytes) = options.packet_bytes_max {
        client.edns_payload_len = bytes;
    }
}
