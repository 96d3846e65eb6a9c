//! All that the dashboard shows, at one moment: `squall/live`. The page and `squall top` read nothing else.
//! Every list is bounded. Times are microseconds, sizes bytes, shares from 0 to 1; what isn't known is `null`.

use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Live {
    /// Who answers.
    pub program: About,
    /// Averages of the last ten seconds, and how it stands now.
    pub now: Figures,
    /// A value for each second, oldest first.
    pub series: Series,
    /// How long requests took in the last five minutes.
    pub latency: Vec<Latency>,
    /// What `hosts` and `clients` are ranked by: `requests` or `bytes`.
    pub by: String,
    /// The busiest hosts.
    pub hosts: Vec<Ranked>,
    /// The busiest clients.
    pub clients: Vec<Ranked>,
    /// Failures by kind.
    pub errors: Vec<Errors>,
    /// Where responses are stored.
    pub store: Vec<Place>,
    /// The process.
    pub process: Process,
    /// Each `cache_peer`.
    pub peers: Vec<PeerRow>,
    /// Each pool of helper programs.
    pub helpers: Vec<HelperRow>,
    /// Each worker.
    pub workers: Vec<WorkerRow>,
    /// Requests in progress, longest first.
    pub active: Vec<ActiveRow>,
    /// The latest transactions, newest first.
    pub recent: Vec<TransactionRow>,
    /// The slowest of the last minute or two.
    pub slowest: Vec<TransactionRow>,
    /// The largest of the last minute or two.
    pub largest: Vec<TransactionRow>,
}

/// Who answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// `Squall 0.1.0`
    pub version: String,
    /// `visible_hostname`
    pub host: String,
    /// The process.
    pub pid: u32,
    /// Seconds since the start.
    pub uptime_secs: u64,
    /// Milliseconds since 1970.
    pub unix_ms: i64,
}

/// Averages of the last ten seconds, and how it stands now.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// Requests per second.
    pub requests: f64,
    /// Requests since the start.
    pub requests_total: u64,
    /// Share of requests answered from the cache.
    pub hit_share: Option<f64>,
    /// Share of bytes answered from the cache.
    pub hit_byte_share: Option<f64>,
    /// Bytes per second to clients.
    pub out_bytes: f64,
    /// Bytes per second from origins and peers.
    pub hop_bytes: f64,
    /// Failures per second.
    pub errors: f64,
    /// Share of requests that failed.
    pub error_share: Option<f64>,
    /// Half of the requests took less.
    pub p50_us: Option<u64>,
    /// All but a twentieth took less.
    pub p95_us: Option<u64>,
    /// All but a hundredth took less.
    pub p99_us: Option<u64>,
    /// Requests being answered.
    pub active: u64,
    /// Client connections.
    pub connections: u64,
    /// Of these, waiting for a request.
    pub connections_idle: u64,
    /// Connections to origins and peers.
    pub hop_connections: u64,
    /// Tunnels.
    pub tunnels: u64,
}

/// A value for each second, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// Seconds since 1970.
    pub at: Vec<i64>,
    /// Requests per second.
    pub requests: Vec<f64>,
    /// Of these, answered from the cache.
    pub hits: Vec<f64>,
    /// All other requests, per second.
    pub misses: Vec<f64>,
    /// Failures per second.
    pub errors: Vec<f64>,
    /// Bytes per second to clients.
    pub out_bytes: Vec<f64>,
    /// Bytes per second from origins and peers.
    pub hop_bytes: Vec<f64>,
    /// Client connections.
    pub connections: Vec<u64>,
    /// Share of requests answered from the cache.
    pub hit_share: Vec<Option<f64>>,
    /// Half of that second's requests took less, microseconds.
    pub p50_us: Vec<Option<u64>>,
    /// All but a twentieth took less.
    pub p95_us: Vec<Option<u64>>,
    /// All but a hundredth took less.
    pub p99_us: Vec<Option<u64>>,
}

/// How long requests took.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// Which requests.
    pub of: String,
    /// How many.
    pub count: u64,
    /// Half took less.
    pub p50_us: Option<u64>,
    /// All but a tenth took less.
    pub p90_us: Option<u64>,
    /// All but a hundredth took less.
    pub p99_us: Option<u64>,
    /// All but a thousandth took less.
    pub p999_us: Option<u64>,
}

/// A host or a client.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ranked {
    /// Its name or address.
    pub key: String,
    /// Requests; at least, where there are more keys than are counted.
    pub requests: u64,
    /// Bytes sent for them.
    pub bytes: u64,
    /// Share of them answered from the cache.
    pub hit_share: Option<f64>,
    /// How it compares with the first of the list.
    pub weight: f64,
}

/// Failures of a kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Errors {
    /// Its page: `ERR_DNS_FAIL`.
    pub kind: String,
    /// In the last five minutes.
    pub lately: u64,
    /// Since the start.
    pub total: u64,
}

/// Where responses are stored.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// `memory`, or the directory.
    pub name: String,
    /// How it is.
    pub state: String,
    /// Bytes in use.
    pub bytes: u64,
    /// Bytes that it may take.
    pub bytes_max: u64,
    /// Share of them in use.
    pub used: Option<f64>,
    /// Responses.
    pub objects: u64,
}

/// The process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Bytes of memory that it holds.
    pub resident_bytes: u64,
    /// File descriptors in use.
    pub descriptors: u64,
    /// File descriptors that it may use.
    pub descriptors_max: u64,
    /// Processors that it keeps busy.
    pub cpu: f64,
}

/// A `cache_peer`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerRow {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: String,
    /// `up` or `dead`.
    pub state: String,
    /// Connections in use.
    pub open: u64,
}

/// A pool of helper programs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HelperRow {
    /// What they are for.
    pub name: String,
    /// Processes.
    pub running: u64,
    /// At most.
    pub max: u64,
    /// Questions being worked on.
    pub busy: u64,
    /// Questions that wait.
    pub queue: u64,
    /// Answers given.
    pub answers: u64,
    /// Questions not answered in time, and refused.
    pub failures: u64,
    /// Time that an answer took lately.
    pub average_us: u64,
}

/// A worker.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerRow {
    /// Its thread's name.
    pub name: String,
    /// Requests per second.
    pub requests: f64,
    /// Client connections.
    pub connections: u64,
    /// Share of the time that it works.
    pub busy: Option<f64>,
}

/// A request in progress.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ActiveRow {
    /// Who asked.
    pub client: String,
    /// Its method.
    pub method: String,
    /// Its URL.
    pub url: String,
    /// Time since its first byte.
    pub elapsed_us: u64,
    /// Bytes sent so far.
    pub sent_bytes: u64,
}

/// A finished transaction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TransactionRow {
    /// Its name.
    pub id: String,
    /// When it ended: milliseconds since 1970.
    pub unix_ms: i64,
    /// From the request's first byte to the reply's last.
    pub elapsed_us: u64,
    /// From the request's first byte to the first try of a hop.
    pub before_hop_us: Option<u64>,
    /// From there to the head of the hop's last answer.
    pub hop_us: Option<u64>,
    /// Who asked.
    pub client: String,
    /// The user that logged in.
    pub user: String,
    /// The request's method.
    pub method: String,
    /// The request's URL.
    pub url: String,
    /// The log's result code.
    pub result: String,
    /// Status sent to the client.
    pub status: u16,
    /// Bytes read from the client.
    pub request_bytes: u64,
    /// Bytes sent to the client.
    pub sent_bytes: u64,
    /// Which way it went.
    pub hierarchy: String,
    /// To whom.
    pub hop: String,
    /// Status of the hop's last answer.
    pub hop_status: u16,
    /// Connections that were taken or tried.
    pub attempts: u16,
    /// Media type of the reply.
    pub media_type: String,
    /// Page of the failure.
    pub error: String,
    /// What the log says of the failure.
    pub error_detail: String,
}
