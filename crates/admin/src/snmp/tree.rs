//! Squid's MIB as one table: a row for each column, with what it shows. Names and types are those
//! of SQUID-MIB, values what Squid 5 puts there; where the two differ (peers and clients show
//! addresses as text), pollers know what Squid does.

use std::net::IpAddr;

use smallvec::SmallVec;
use wire::snmp::{Oid, Value};

use super::figures::{ClientFigures, Figures, Medians, NameCache, PeerFigures};

/// `{ iso org dod internet private enterprises nlanr squid }`: all names begin with it.
const ROOT: [u32; 8] = [1, 3, 6, 1, 4, 1, 3495, 1];

/// Minutes of the windows that medians and ratios are over: the rows of `cacheMedianSvcTable`.
pub(super) const WINDOWS: [u32; 3] = [1, 5, 60];

/// The part of a name that follows its column: 0, a number, or the octets of an address.
type Instance = SmallVec<[u32; 16]>;

/// A column of the tree.
#[derive(Debug)]
struct Column {
    /// Its place below [`ROOT`].
    arcs: &'static [u32],
    /// Its name in SQUID-MIB.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "says which column it is; tests compare it with the MIB"
        )
    )]
    name: &'static str,
    /// Its instances, and what they show.
    rows: Rows,
}

/// What the instances of a column are.
#[derive(Clone, Copy, Debug)]
enum Rows {
    /// There is one.
    One(fn(&Figures) -> Value),
    /// One for each of [`WINDOWS`]; the number of minutes comes too.
    Windows(fn(u32, &Medians) -> Value),
    /// One for each peer, from 1.
    Peers(fn(u32, &PeerFigures) -> Value),
    /// One for each client address.
    Clients(fn(&ClientFigures) -> Value),
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// There is no such column.
    Object,
    /// The column has no such row.
    Instance,
}

macro_rules! columns {
    ($([$($arc:literal)+] $name:ident $kind:ident($($make:tt)+);)+) => {
        /// All columns, in the order in which they are walked.
        const COLUMNS: &[Column] = &[$(Column {
            arcs: &[$($arc),+],
            name: stringify!($name),
            rows: Rows::$kind($($make)+),
        },)+];
    };
}

columns! {
    [1 1] cacheSysVMsize One(|f| kilobytes(f.memory_bytes));
    [1 2] cacheSysStorage One(|f| kilobytes(f.swap_bytes));
    [1 3] cacheUptime One(|f| ticks(f.uptime));

    [2 1] cacheAdmin One(|f| text(&f.admin));
    [2 2] cacheSoftware One(|f| text(f.software));
    [2 3] cacheVersionId One(|f| text(f.version));
    [2 4] cacheLoggingFacility One(|f| text(&f.logging));
    [2 5 1] cacheMemMaxSize One(|f| integer(f.memory_bytes_max >> 20));
    [2 5 2] cacheSwapMaxSize One(|f| integer(f.swap_bytes_max >> 20));
    [2 5 3] cacheSwapHighWM One(|f| integer(f.swap_high_percent));
    [2 5 4] cacheSwapLowWM One(|f| integer(f.swap_low_percent));
    [2 6] cacheUniqName One(|f| text(&f.unique_hostname));

    [3 1 1] cacheSysPageFaults One(|f| counter(f.page_faults));
    [3 1 2] cacheSysNumReads One(|f| counter(f.reads));
    [3 1 3] cacheMemUsage One(|f| kilobytes(f.accounted_bytes));
    [3 1 4] cacheCpuTime One(|f| integer(f.cpu_time.as_secs()));
    [3 1 5] cacheCpuUsage One(|f| integer(f.cpu_percent));
    [3 1 6] cacheMaxResSize One(|f| kilobytes(f.resident_bytes_max));
    [3 1 7] cacheNumObjCount One(|f| gauge(f.objects));
    // Not kept: objects leave by more than their age.
    [3 1 8] cacheCurrentLRUExpiration One(|_| Value::Ticks(0));
    // There is no unlinkd.
    [3 1 9] cacheCurrentUnlinkRequests One(|_| Value::Gauge(0));
    [3 1 10] cacheCurrentUnusedFDescrCnt One(|f| gauge(f.descriptors.max.saturating_sub(f.descriptors.open)));
    [3 1 11] cacheCurrentResFileDescrCnt One(|f| gauge(f.descriptors.reserved));
    [3 1 12] cacheCurrentFileDescrCnt One(|f| gauge(f.descriptors.open));
    [3 1 13] cacheCurrentFileDescrMax One(|f| gauge(f.descriptors.highest));

    [3 2 1 1] cacheProtoClientHttpRequests One(|f| counter(f.client.requests));
    [3 2 1 2] cacheHttpHits One(|f| counter(f.client.hits));
    [3 2 1 3] cacheHttpErrors One(|f| counter(f.client.errors));
    [3 2 1 4] cacheHttpInKb One(|f| counter(f.client.bytes_in >> 10));
    [3 2 1 5] cacheHttpOutKb One(|f| counter(f.client.bytes_out >> 10));
    // No ICP yet: nothing is sent or received.
    [3 2 1 6] cacheIcpPktsSent One(|_| Value::Counter(0));
    [3 2 1 7] cacheIcpPktsRecv One(|_| Value::Counter(0));
    [3 2 1 8] cacheIcpKbSent One(|_| Value::Counter(0));
    [3 2 1 9] cacheIcpKbRecv One(|_| Value::Counter(0));
    [3 2 1 10] cacheServerRequests One(|f| integer(f.server.requests));
    [3 2 1 11] cacheServerErrors One(|f| integer(f.server.errors));
    [3 2 1 12] cacheServerInKb One(|f| counter(f.server.bytes_in >> 10));
    [3 2 1 13] cacheServerOutKb One(|f| counter(f.server.bytes_out >> 10));
    [3 2 1 14] cacheCurrentSwapSize One(|f| gauge(f.swap_bytes >> 10));
    [3 2 1 15] cacheClients One(|f| gauge(f.client_addresses));

    [3 2 2 1 1] cacheMedianTime Windows(|minutes, _| integer(minutes));
    [3 2 2 1 2] cacheHttpAllSvcTime Windows(|_, m| milliseconds(m.all));
    [3 2 2 1 3] cacheHttpMissSvcTime Windows(|_, m| milliseconds(m.miss));
    [3 2 2 1 4] cacheHttpNmSvcTime Windows(|_, m| milliseconds(m.not_modified));
    [3 2 2 1 5] cacheHttpHitSvcTime Windows(|_, m| milliseconds(m.hit));
    [3 2 2 1 6] cacheIcpQuerySvcTime Windows(|_, _| Value::Integer(0));
    [3 2 2 1 7] cacheIcpReplySvcTime Windows(|_, _| Value::Integer(0));
    [3 2 2 1 8] cacheDnsSvcTime Windows(|_, m| milliseconds(m.dns));
    [3 2 2 1 9] cacheRequestHitRatio Windows(|_, m| Value::Integer(m.request_hit_percent));
    [3 2 2 1 10] cacheRequestByteRatio Windows(|_, m| Value::Integer(m.byte_hit_percent));
    [3 2 2 1 11] cacheHttpNhSvcTime Windows(|_, m| milliseconds(m.near_hit));

    [4 1 1] cacheIpEntries One(|f| gauge(f.names.entries));
    [4 1 2] cacheIpRequests One(|f| counter(f.names.requests));
    [4 1 3] cacheIpHits One(|f| counter(f.names.hits));
    [4 1 4] cacheIpPendingHits One(|f| gauge(f.names.pending_hits));
    [4 1 5] cacheIpNegativeHits One(|f| counter(f.names.negative_hits));
    [4 1 6] cacheIpMisses One(|f| counter(f.names.misses()));
    // Nothing blocks, and nothing is locked.
    [4 1 7] cacheBlockingGetHostByName One(|_| Value::Counter(0));
    [4 1 8] cacheAttemptReleaseLckEntries One(|_| Value::Counter(0));
    [4 2 1] cacheFqdnEntries One(|f| gauge(f.addresses.entries));
    [4 2 2] cacheFqdnRequests One(|f| counter(f.addresses.requests));
    [4 2 3] cacheFqdnHits One(|f| counter(f.addresses.hits));
    [4 2 4] cacheFqdnPendingHits One(|f| gauge(f.addresses.pending_hits));
    [4 2 5] cacheFqdnNegativeHits One(|f| counter(f.addresses.negative_hits));
    [4 2 6] cacheFqdnMisses One(|f| counter(f.addresses.misses()));
    [4 2 7] cacheBlockingGetHostByAddr One(|_| Value::Counter(0));
    [4 3 1] cacheDnsRequests One(|f| counter(f.dns.queries));
    [4 3 2] cacheDnsReplies One(|f| counter(f.dns.replies));
    [4 3 3] cacheDnsNumberServers One(|f| counter(f.dns.servers));

    [5 1 3 1] cachePeerIndex Peers(|index, _| integer(index));
    [5 1 3 2] cachePeerName Peers(|_, p| text(&p.name));
    [5 1 3 3] cachePeerAddressType Peers(|_, p| address_type(p.addr));
    [5 1 3 4] cachePeerAddress Peers(|_, p| text(&p.addr.to_string()));
    [5 1 3 5] cachePeerPortHttp Peers(|_, p| integer(p.http_port));
    [5 1 3 6] cachePeerPortIcp Peers(|_, p| integer(p.icp_port));
    [5 1 3 7] cachePeerType Peers(|_, p| integer(p.kind as u32));
    [5 1 3 8] cachePeerState Peers(|_, p| integer(u32::from(p.is_up)));
    [5 1 3 9] cachePeerPingsSent Peers(|_, _| Value::Counter(0));
    [5 1 3 10] cachePeerPingsAcked Peers(|_, _| Value::Counter(0));
    [5 1 3 11] cachePeerFetches Peers(|_, p| counter(p.fetches));
    [5 1 3 12] cachePeerRtt Peers(|_, p| milliseconds(p.round_trip));
    [5 1 3 13] cachePeerIgnored Peers(|_, _| Value::Counter(0));
    [5 1 3 14] cachePeerKeepAlSent Peers(|_, p| counter(p.keepalives_sent));
    [5 1 3 15] cachePeerKeepAlRecv Peers(|_, p| counter(p.keepalives_received));

    [5 2 2 1] cacheClientAddressType Clients(|c| address_type(c.addr));
    [5 2 2 2] cacheClientAddress Clients(|c| text(&c.addr.to_string()));
    [5 2 2 3] cacheClientHttpRequests Clients(|c| counter(c.requests));
    [5 2 2 4] cacheClientHttpKb Clients(|c| counter(c.bytes_out >> 10));
    [5 2 2 5] cacheClientHttpHits Clients(|c| counter(c.hits));
    [5 2 2 6] cacheClientHTTPHitKb Clients(|c| counter(c.hit_bytes_out >> 10));
    [5 2 2 7] cacheClientIcpRequests Clients(|_| Value::Counter(0));
    [5 2 2 8] cacheClientIcpKb Clients(|_| Value::Counter(0));
    [5 2 2 9] cacheClientIcpHits Clients(|_| Value::Counter(0));
    [5 2 2 10] cacheClientIcpHitKb Clients(|_| Value::Counter(0));
}

impl NameCache {
    /// As Squid counts them: what was neither a hit of either kind nor joined a query.
    const fn misses(&self) -> u64 {
        let answered = self.hits + self.negative_hits + self.pending_hits;
        self.requests.saturating_sub(answered)
    }
}

/// A counter of 32 bits wraps.
fn counter(value: u64) -> Value {
    let [a, b, c, d, ..] = value.to_le_bytes();
    Value::Counter(u32::from_le_bytes([a, b, c, d]))
}

/// A gauge stays at its greatest.
fn gauge(value: u64) -> Value {
    Value::Gauge(u32::try_from(value).unwrap_or(u32::MAX))
}

fn integer(value: impl TryInto<i32>) -> Value {
    Value::Integer(value.try_into().unwrap_or(i32::MAX))
}

fn kilobytes(bytes: u64) -> Value {
    integer(bytes >> 10)
}

fn milliseconds(time: std::time::Duration) -> Value {
    integer(time.as_millis())
}

/// Hundredths of a second; wraps after 497 days.
fn ticks(time: std::time::Duration) -> Value {
    let [a, b, c, d, ..] = (time.as_millis() / 10).to_le_bytes();
    Value::Ticks(u32::from_le_bytes([a, b, c, d]))
}

fn text(text: &str) -> Value {
    Value::Octets(text.as_bytes().to_vec())
}

/// `InetAddressType` (RFC 4001).
fn address_type(addr: IpAddr) -> Value {
    Value::Integer(if addr.is_ipv4() { 1 } else { 2 })
}

/// The value of a name.
///
/// # Errors
/// It isn't in the tree.
pub(super) fn value(figures: &Figures, name: &Oid) -> Result<Value, Missing> {
    let below = name.arcs().strip_prefix(&ROOT).ok_or(Missing::Object)?;
    let found = COLUMNS.iter().find_map(|column| {
        let instance = below.strip_prefix(column.arcs)?;
        Some((column.rows, instance))
    });
    let (rows, instance) = found.ok_or(Missing::Object)?;
    rows.value(figures, instance).ok_or(Missing::Instance)
}

/// The first name after this one, with its value.
pub(super) fn next(figures: &Figures, name: &Oid) -> Option<(Oid, Value)> {
    COLUMNS.iter().find_map(|column| {
        let start = [&ROOT, column.arcs].concat();
        let after = match name.arcs().strip_prefix(start.as_slice()) {
            Some(instance) => Some(instance),
            None if name.arcs() < start.as_slice() => None,
            None => return None,
        };
        let (instance, value) = column.rows.after(figures, after)?;
        let arcs = [start.as_slice(), &instance].concat();
        Some((Oid::new(&arcs).ok()?, value))
    })
}

impl Rows {
    fn value(self, figures: &Figures, instance: &[u32]) -> Option<Value> {
        match self {
            Self::One(make) => (instance == [0]).then(|| make(figures)),
            Self::Windows(make) => {
                let mut rows = WINDOWS.iter().zip(&figures.medians);
                let (minutes, medians) = rows.find(|(minutes, _)| instance == [**minutes])?;
                Some(make(*minutes, medians))
            }
            Self::Peers(make) => {
                let [index] = *instance else {
                    return None;
                };
                let place = usize::try_from(index).ok()?.checked_sub(1)?;
                Some(make(index, figures.peers.get(place)?))
            }
            Self::Clients(make) => {
                let clients = &figures.clients;
                let place =
                    clients.binary_search_by(|client| client.instance().as_slice().cmp(instance));
                Some(make(clients.get(place.ok()?)?))
            }
        }
    }

    /// The first row after an instance, or the very first.
    fn after(self, figures: &Figures, instance: Option<&[u32]>) -> Option<(Instance, Value)> {
        let next = match (self, instance) {
            (Self::Clients(_), None) => figures.clients.first()?.instance(),
            (Self::Clients(_), Some(instance)) => {
                let clients = &figures.clients;
                let place =
                    clients.partition_point(|client| client.instance().as_slice() <= instance);
                clients.get(place)?.instance()
            }
            (Self::One(_), _) => first_after(0..1, instance)?,
            (Self::Windows(_), _) => first_after(WINDOWS, instance)?,
            (Self::Peers(_), _) => {
                let last = u32::try_from(figures.peers.len()).unwrap_or(u32::MAX);
                first_after(1..=last, instance)?
            }
        };
        let value = self.value(figures, &next)?;
        Some((next, value))
    }
}

/// The first of ascending numbers that, as an instance, comes after this one.
fn first_after(
    numbers: impl IntoIterator<Item = u32>,
    instance: Option<&[u32]>,
) -> Option<Instance> {
    let mut numbers = numbers.into_iter();
    let next =
        numbers.find(|number| instance.is_none_or(|instance| [*number].as_slice() > instance))?;
    Some(Instance::from_slice(&[next]))
}

impl ClientFigures {
    /// Its row: each octet of its address, as Squid has it (the MIB would have the type and the
    /// length before them).
    fn instance(&self) -> Instance {
        match self.addr {
            IpAddr::V4(addr) => addr.octets().into_iter().map(u32::from).collect(),
            IpAddr::V6(addr) => addr.octets().into_iter().map(u32::from).collect(),
        }
    }

    /// Brings clients into the order of their rows.
    pub(super) fn sort(clients: &mut [Self]) {
        clients.sort_by_cached_key(Self::instance);
    }
}

#[cfg(test)]
mod tests;
