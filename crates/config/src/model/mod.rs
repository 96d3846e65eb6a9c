//! What a configuration says, typed: a field per directive, named after it.
//! Read by `rules`, `proxy` and the program; made by the readers of `directives`.

pub mod access;
pub mod auth;
pub mod cache;
pub(crate) mod cache_dir;
mod defaults;
pub mod delay;
pub mod deny_info;
pub mod external;
pub mod helper;
pub mod list_file;
pub mod log;
pub mod manager;
pub mod marks;
pub mod peer;
pub mod port;
pub mod rewrite;
pub mod values;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::problem::Problem;
use access::{
    AccessRule, AclLine, HeaderAccess, HeaderAdd, HeaderReplace, OutgoingAddress, SizeRule,
    UpgradeRule,
};
use auth::{AuthOffer, AuthScheme};
use cache::{MemoryCacheMode, RefreshPattern, Replacement};
use cache_dir::{CacheDir, DirChoice};
use delay::{DelayPool, Limit, ResponsePool};
use deny_info::DenyInfo;
use external::ExternalAclType;
use helper::Pool;
use log::{AccessLog, LogFormat};
use manager::ManagerPassword;
use marks::{MarkRule, QosFlows};
use peer::Peer;
use port::Port;
use rewrite::{HelperProgram, UrlRewriteTimeout};

/// A whole configuration. Sizes are bytes. Unset directives have the defaults of the newest Squid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a field per on/off directive"
)]
pub struct Config {
    /// Findings that don't keep the configuration from being used, in the order of its lines.
    pub warnings: Vec<Problem>,

    // Threads.
    /// Worker threads; `None` (no line) is one per core, 0 means 1.
    pub workers: Option<u32>,
    /// Worker number (from 1) and the core it runs on (from 1).
    pub cpu_affinity_map: Vec<(u32, u32)>,

    // Listening.
    /// `http_port` and `manager_port` lines.
    pub ports: Vec<Port>,
    /// Receive buffer of client sockets; `None` is the system's.
    pub tcp_recv_bufsize: Option<u64>,

    // Access.
    /// ACL definitions in order, the predefined ones first.
    pub acls: Vec<AclLine>,
    /// May this hop's X-Forwarded-For be believed? Empty: no.
    pub follow_x_forwarded_for: Vec<AccessRule>,
    /// ACLs see the client that X-Forwarded-For names.
    pub acl_uses_indirect_client: bool,
    /// So do delay pools.
    pub delay_pool_uses_indirect_client: bool,
    /// So do logs.
    pub log_uses_indirect_client: bool,
    /// So does the address that `tproxy` connections are sent from.
    pub tproxy_uses_indirect_client: bool,
    /// Connections that one client address may have open; `None` is no limit.
    pub client_ip_max_connections: Option<u32>,
    /// May a name lead to this address that is not of the public Internet? Empty: yes.
    pub private_destination_access: Vec<AccessRule>,
    /// Who may read what on a `manager_port`? Empty only without such a port: without a line, this host alone may.
    pub manager_access: Vec<AccessRule>,
    /// May this request be served? Empty: no.
    pub http_access: Vec<AccessRule>,
    /// May this reply be sent?
    pub http_reply_access: Vec<AccessRule>,
    /// May this miss be fetched?
    pub miss_access: Vec<AccessRule>,
    /// May this be answered from the cache, or stored?
    pub cache: Vec<AccessRule>,
    /// May a stored response be served?
    pub send_hit: Vec<AccessRule>,
    /// May the response be stored?
    pub store_miss: Vec<AccessRule>,
    /// Never to a peer.
    pub always_direct: Vec<AccessRule>,
    /// Only to a peer.
    pub never_direct: Vec<AccessRule>,
    /// May this request share a fetch?
    pub collapsed_forwarding_access: Vec<AccessRule>,
    /// Does a request with content get two bytes more behind it?
    pub broken_posts: Vec<AccessRule>,
    /// Is a client told to send its content before we know where to?
    pub force_request_body_continuation: Vec<AccessRule>,
    /// May a request that can't be sent twice take a connection that was used before?
    pub server_pconn_for_nonretriable: Vec<AccessRule>,
    /// Is this request counted?
    pub stats_collection: Vec<AccessRule>,
    /// May a connection to an origin have the client's address?
    pub spoof_client_ip: Vec<AccessRule>,
    /// Who may begin a connection with a PROXY header?
    pub proxy_protocol_access: Vec<AccessRule>,
    /// Who may ask by ICP?
    pub icp_access: Vec<AccessRule>,
    /// Who may ask by HTCP?
    pub htcp_access: Vec<AccessRule>,
    /// Who may have responses dropped by HTCP?
    pub htcp_clr_access: Vec<AccessRule>,
    /// Who may ask by SNMP?
    pub snmp_access: Vec<AccessRule>,
    /// UDP port of the SNMP agent; `None`: there is none.
    pub snmp_port: Option<u16>,
    /// Host or address that it listens at; `None` is any.
    pub snmp_incoming_address: Option<String>,
    /// Host or address that it answers from; `None` is where it listens.
    pub snmp_outgoing_address: Option<String>,
    /// `/metrics` has the names of squid-exporter too.
    pub metrics_squid_exporter: bool,
    /// Which requests share the bandwidth of a pool, by its number.
    pub delay_access: BTreeMap<u16, Vec<AccessRule>>,
    /// Which clients share the bandwidth of a client pool, by its number.
    pub client_delay_access: BTreeMap<u16, Vec<AccessRule>>,
    /// Which responses share the bandwidth of a response pool, by its name.
    pub response_delay_pool_access: Vec<(String, Vec<AccessRule>)>,
    /// Pools of bandwidth from servers; number 1 comes first, `None` has no class.
    pub delay_pools: Vec<Option<DelayPool>>,
    /// How full their buckets are at first, percent.
    pub delay_initial_bucket_level: u32,
    /// Bandwidth of each client; number 1 comes first, `None` is no limit.
    pub client_delay_pools: Vec<Option<Limit>>,
    /// How full their buckets are at first, percent.
    pub client_delay_initial_bucket_level: u32,
    /// Pools of bandwidth of responses.
    pub response_delay_pool: Vec<ResponsePool>,
    /// Largest reply body; the first line whose ACLs match.
    pub reply_body_max_size: Vec<SizeRule>,
    /// Classes of `external` ACLs, by line.
    pub external_acl_types: Vec<ExternalAclType>,
    /// `note` lines: name, value as it is, ACLs.
    pub note: Vec<HeaderAdd>,
    /// Pages for denied requests.
    pub deny_info: Vec<DenyInfo>,
    /// Which protocols may be switched to; none without a line.
    pub http_upgrade_request_protocols: Vec<UpgradeRule>,

    // Logins.
    /// `auth_param` lines, by scheme, in the order of first mention.
    pub auth_param: Vec<AuthScheme>,
    /// `auth_schemes`
    pub auth_schemes: Vec<AuthOffer>,
    /// A user who isn't seen for so long logs in anew.
    pub authenticate_ttl: Duration,
    /// An address belongs to a user for so long after the last request (`max_user_ip`).
    pub authenticate_ip_ttl: Duration,

    // Rewriting.
    /// The URL rewriter; `None` rewrites nothing.
    pub url_rewrite_program: Option<HelperProgram>,
    /// How many there are.
    pub url_rewrite_children: Pool,
    /// Which requests it is asked about.
    pub url_rewrite_access: Vec<AccessRule>,
    /// Requests go on unchanged when there is no answer.
    pub url_rewrite_bypass: bool,
    /// What follows the URL in the question.
    pub url_rewrite_extras: String,
    /// Host names the new URL.
    pub url_rewrite_host_header: bool,
    /// What becomes of questions that wait for too long; `None` (no line) is up to the pool.
    pub url_rewrite_timeout: Option<UrlRewriteTimeout>,
    /// May the request as rewritten be served?
    pub adapted_http_access: Vec<AccessRule>,
    /// The helper that names cache keys; `None`: the URL does.
    pub store_id_program: Option<HelperProgram>,
    /// How many there are.
    pub store_id_children: Pool,
    /// Which requests it is asked about.
    pub store_id_access: Vec<AccessRule>,
    /// Nobody waits for it when its queue is full.
    pub store_id_bypass: bool,
    /// What follows the URL in the question.
    pub store_id_extras: String,

    /// The helper that rewrites Location fields of replies; `None` leaves them alone.
    pub location_rewrite_program: Option<HelperProgram>,
    /// How many there are.
    pub location_rewrite_children: Pool,
    /// Of which requests it is asked about the replies.
    pub location_rewrite_access: Vec<AccessRule>,

    // Next hops.
    /// `cache_peer` lines.
    pub peers: Vec<Peer>,
    /// Try the origin before parents.
    pub prefer_direct: bool,
    /// What can't be a hit goes to the origin.
    pub nonhierarchical_direct: bool,
    /// URLs with one of these words go to the origin.
    pub hierarchy_stoplist: Vec<String>,
    /// A peer is dead after no answer for this long.
    pub dead_peer_timeout: Duration,
    /// Hops tried for a request.
    pub forward_max_tries: u32,
    /// Further tries of one TCP connect.
    pub connect_retries: u32,
    /// Try another hop on 403, 500, 501 and 503.
    pub retry_on_error: bool,
    /// Conditions of a client are passed on when there is a miss.
    pub cache_miss_revalidate: bool,
    /// TLS towards origins: `key=value` words of all lines.
    pub tls_outgoing_options: Vec<String>,
    /// Local addresses of outgoing connections.
    pub tcp_outgoing_address: Vec<OutgoingAddress>,
    /// TOS of packets to hops.
    pub tcp_outgoing_tos: Vec<MarkRule<u8>>,
    /// TOS of packets to clients.
    pub clientside_tos: Vec<MarkRule<u8>>,
    /// Netfilter mark of packets to hops.
    pub tcp_outgoing_mark: Vec<MarkRule<u32>>,
    /// Netfilter mark of packets to clients.
    pub mark_client_packet: Vec<MarkRule<u32>>,
    /// Marks of replies by where they come from.
    pub qos_flows: QosFlows,
    /// Wait before the second address family is tried.
    pub happy_eyeballs_connect_timeout: Duration,

    // Cache.
    /// Memory for stored responses.
    pub cache_mem: u64,
    /// Largest stored response.
    pub maximum_object_size: u64,
    /// Largest response stored in memory.
    pub maximum_object_size_in_memory: u64,
    /// Smallest response stored on disk.
    pub minimum_object_size: u64,
    /// Percent; nobody goes by it, and SNMP shows it.
    pub cache_swap_low: u32,
    /// The same.
    pub cache_swap_high: u32,
    /// What is kept in memory.
    pub memory_cache_mode: MemoryCacheMode,
    /// Memory eviction; `None` (no line) leaves the choice to the store.
    pub memory_replacement_policy: Option<Replacement>,
    /// Disk eviction of `cache_dir` lines below it.
    pub cache_replacement_policy: Option<Replacement>,
    /// `cache_dir` lines.
    pub cache_dirs: Vec<CacheDir>,
    /// Which of several gets a response.
    pub store_dir_select_algorithm: DirChoice,
    /// `refresh_pattern` lines in order; empty means `. 0 20% 4320`.
    pub refresh_patterns: Vec<RefreshPattern>,
    /// Finish a fetch nobody waits for when less than this is left; `None` always finishes.
    pub quick_abort_min: Option<u64>,
    /// Abort it when more than this is left.
    pub quick_abort_max: u64,
    /// Finish it when more than this percentage is done.
    pub quick_abort_pct: u32,
    /// Errors are fresh for this long.
    pub negative_ttl: Duration,
    /// How far a Range may start and the whole still be fetched. First match; no line: 0.
    pub range_offset_limit: Vec<SizeRule>,
    /// Responses fresh for less than this aren't stored without a validator.
    pub minimum_expiry_time: Duration,
    /// How far a fetch runs ahead of its fastest reader.
    pub read_ahead_gap: u64,
    /// Stale responses are served after a failed validation for this long.
    pub max_stale: Duration,
    /// Never validate.
    pub offline_mode: bool,
    /// A conditional request of a client makes us validate.
    pub refresh_all_ims: bool,
    /// A client's reload becomes a conditional request.
    pub reload_into_ims: bool,
    /// A response with Vary may be stored though it expires at once.
    pub vary_ignore_expire: bool,
    /// Requests for one URL share one fetch; `None` (no line): on accelerator ports only.
    pub collapsed_forwarding: Option<bool>,

    // HTTP.
    /// Largest request head.
    pub request_header_max_size: u64,
    /// Largest response head.
    pub reply_header_max_size: u64,
    /// Largest request body; `None` is no limit.
    pub request_body_max_size: Option<u64>,
    /// Send the Via field.
    pub via: bool,
    /// X-Forwarded-For of requests.
    pub forwarded_for: ForwardedFor,
    /// Which request fields pass.
    pub request_header_access: Vec<HeaderAccess>,
    /// Which response fields pass.
    pub reply_header_access: Vec<HeaderAccess>,
    /// Values for denied request fields.
    pub request_header_replace: Vec<HeaderReplace>,
    /// Values for denied response fields.
    pub reply_header_replace: Vec<HeaderReplace>,
    /// Fields added to requests.
    pub request_header_add: Vec<HeaderAdd>,
    /// Fields added to responses.
    pub reply_header_add: Vec<HeaderAdd>,
    /// Tolerance of malformed heads.
    pub relaxed_header_parser: Relaxed,
    /// White space in request targets.
    pub uri_whitespace: UriWhitespace,
    /// Keep client connections open.
    pub client_persistent_connections: bool,
    /// Keep server connections open.
    pub server_persistent_connections: bool,
    /// Keep a client connection open after an error page.
    pub persistent_connection_after_error: bool,

    // Timeouts.
    /// Finding a working hop.
    pub forward_timeout: Duration,
    /// TCP connect to an origin.
    pub connect_timeout: Duration,
    /// TCP connect to a peer.
    pub peer_connect_timeout: Duration,
    /// Silence of a server.
    pub read_timeout: Duration,
    /// A reader that takes nothing.
    pub write_timeout: Duration,
    /// A whole request head.
    pub request_timeout: Duration,
    /// First byte on a new connection.
    pub request_start_timeout: Duration,
    /// First byte of a further request.
    pub client_idle_pconn_timeout: Duration,
    /// A client connection, all in all.
    pub client_lifetime: Duration,
    /// Age at which an idle connection isn't used again; zero is never.
    pub pconn_lifetime: Duration,
    /// Keep serving clients that have closed their sending side.
    pub half_closed_clients: bool,
    /// Idle server connection.
    pub server_idle_pconn_timeout: Duration,
    /// Clients may finish for this long at shutdown.
    pub shutdown_lifetime: Duration,

    // Names and process.
    /// Name in error pages, Via and Cache-Status; `None` is the system's.
    pub visible_hostname: Option<String>,
    /// Name among surrogates; `None` is `visible_hostname`.
    pub httpd_accel_surrogate_id: Option<String>,
    /// Far from the origin: heed `no-store-remote`.
    pub http_accel_surrogate_remote: bool,
    /// Name for loop detection; `None` is `visible_hostname`.
    pub unique_hostname: Option<String>,
    /// Other names of this proxy.
    pub hostname_aliases: Vec<String>,
    /// Contact in error pages.
    pub cache_mgr: String,
    /// Hide the version.
    pub httpd_suppress_version_string: bool,
    /// User to run as.
    pub cache_effective_user: Option<String>,
    /// Group to run as.
    pub cache_effective_group: Option<String>,
    /// Least file mode mask.
    pub umask: u32,
    /// Working directory, for core files.
    pub coredump_dir: Option<PathBuf>,
    /// Process id file.
    pub pid_filename: FilePlace,
    /// Limit of open files; `None` is the system's.
    pub max_filedescriptors: Option<u32>,
    /// `cachemgr_passwd` lines; the first that names an action holds for it.
    pub cachemgr_passwd: Vec<ManagerPassword>,
    /// Keep per-client statistics.
    pub client_db: bool,
    /// Error page templates.
    pub error_directory: Option<PathBuf>,
    /// Language of error pages for who asks for none that is there; `None` is English.
    pub error_default_language: Option<String>,
    /// Tell the cache log of languages that clients ask for in vain.
    pub error_log_languages: bool,
    /// Style sheet of error pages.
    pub err_page_stylesheet: FilePlace,
    /// A text for error pages, as it is.
    pub err_html_text: String,
    /// Give the mail links of error pages what there is to tell.
    pub email_err_data: bool,
    /// Set-Cookie is stored with a response.
    pub cache_set_cookie: bool,
    /// PURGE by tag, prefix or pattern reaches beyond the origin of its URL.
    pub purge_all_origins: bool,
    /// Cache-Status tells reasons.
    pub cache_status_detail: bool,
    /// Cache-Status tells the key.
    pub cache_status_key: bool,
    /// Replies carry X-Cache and X-Cache-Lookup.
    pub x_cache_headers: bool,
    /// Who waits for another's fetch waits no longer than this before one of them asks, too.
    pub collapsed_forwarding_timeout: Duration,
    /// Tell programs which rule refused.
    pub deny_reason: bool,
    /// Reads from disk go through io_uring where there is such.
    pub disk_io_uring: bool,

    // Logs.
    /// `access_log` lines; empty is the program's default file.
    pub access_logs: Vec<AccessLog>,
    /// `logformat` lines.
    pub logformats: Vec<LogFormat>,
    /// The log for the administrator.
    pub cache_log: FilePlace,
    /// `store.log`.
    pub cache_store_log: FilePlace,
    /// Old files kept at rotation; 0 reopens only.
    pub logfile_rotate: u32,
    /// Log URLs without their query.
    pub strip_query_terms: bool,
    /// Add both heads to lines in Squid's and web servers' formats.
    pub log_mime_hdrs: bool,
    /// The program for logs of `daemon:`; `None` is the usual one, whose work is ours.
    pub logfile_daemon: Option<PathBuf>,
    /// The bits of client addresses that logs show.
    pub client_netmask: Option<IpAddr>,
    /// Verbosity as written; empty is `ALL,1`.
    pub debug_options: String,

    // DNS.
    /// Resolvers; empty is `resolv.conf`.
    pub dns_nameservers: Vec<SocketAddr>,
    /// A whole question.
    pub dns_timeout: Duration,
    /// First repeat of a question.
    pub dns_retransmit_interval: Duration,
    /// Longest use of an answer.
    pub positive_dns_ttl: Duration,
    /// Use of a negative answer, and shortest use of an answer.
    pub negative_dns_ttl: Duration,
    /// Names and addresses that need no DNS.
    pub hosts_file: FilePlace,
    /// Added to names without a dot.
    pub append_domain: Option<String>,
    /// Use the search list of `resolv.conf`.
    pub dns_defnames: bool,
    /// Try IPv4 addresses first.
    pub dns_v4_first: bool,
    /// Names kept.
    pub ipcache_size: u32,
    /// Addresses whose names are kept.
    pub fqdncache_size: u32,
}

/// A file that a directive names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// No line: the program's own place.
    Unset,
    /// `none`
    None,
    /// This file.
    File(PathBuf),
}

/// `forwarded_for`: what happens to X-Forwarded-For.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardedFor {
    /// Append the client's address.
    On,
    /// Append `unknown`.
    Off,
    /// Leave it.
    Transparent,
    /// Replace it by the client's address.
    Truncate,
    /// Remove it.
    Delete,
}

/// `relaxed_header_parser`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relaxed {
    /// Refuse what isn't HTTP.
    Off,
    /// Accept what is harmless.
    On,
    /// The same, and say so in the log.
    Warn,
}

/// `uri_whitespace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriWhitespace {
    /// Remove it.
    Strip,
    /// Refuse the request.
    Deny,
    /// Leave it.
    Allow,
    /// Percent-encode it.
    Encode,
    /// Cut the target there.
    Chop,
}
