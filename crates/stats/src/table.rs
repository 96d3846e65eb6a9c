//! The table of every counter, gauge and histogram. Adding one is adding a row; the enum variant,
//! its cell and its line in every listing follow from it.

/// What a value measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain count of things or events.
    Count,
    /// Octets.
    Bytes,
    /// Millionths of a second.
    Microseconds,
}

/// The histograms that have each request once: all service times are these together.
pub const SERVICE_TIMES: [Histogram; 5] = [
    Histogram::ServiceTimeHit,
    Histogram::ServiceTimeMiss,
    Histogram::ServiceTimeNearHit,
    Histogram::ServiceTimeNotModified,
    Histogram::ServiceTimeOther,
];

/// What is known of one counter, gauge or histogram.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name as in `/metrics`, without the program's prefix.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// One sentence for the reader of `/metrics` and of the generated page.
    pub help: &'static str,
}

macro_rules! table {
    ($(#[$doc:meta])* $kind:ident, $rows:ident; $($variant:ident $name:literal $unit:ident $help:literal;)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum $kind {
            $(#[doc = $help] $variant,)+
        }

        impl $kind {
            /// Every one, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// Name, unit and help.
            #[must_use]
            pub fn row(self) -> &'static Row {
                match self { $(Self::$variant => &const { Row { name: $name, unit: Unit::$unit, help: $help } },)+ }
            }
        }

        #[doc = concat!("The rows of [`", stringify!($kind), "`], in order.")]
        pub const $rows: &[Row] = &[$(Row { name: $name, unit: Unit::$unit, help: $help },)+];
    };
}

table! {
    /// A number that only grows.
    Counter, COUNTERS;

    // Requests, by what became of them.
    ClientRequests "client_requests" Count "Requests read from clients, malformed ones included.";
    HitsMemory "hits_memory" Count "Requests answered from a fresh response in memory.";
    HitsDisk "hits_disk" Count "Requests answered from a fresh response on disk.";
    HitsNegative "hits_negative" Count "Requests answered from a stored error response.";
    HitsRevalidated "hits_revalidated" Count "Requests answered from a stored response that the server confirmed.";
    HitsStale "hits_stale" Count "Requests answered from a stale response because the server could not be asked.";
    HitsConditional "hits_conditional" Count "Conditional requests answered 304 or 412 from the cache.";
    HitBytes "hit_bytes" Bytes "Body and head bytes sent to clients from the cache.";
    Misses "misses" Count "Requests that had to be sent to a next hop.";
    Passes "passes" Count "Requests that the cache had no part in.";
    Denied "denied" Count "Requests refused by an access list.";
    BadRequests "bad_requests" Count "Requests refused because they could not be understood.";
    Errors "errors" Count "Requests answered with an error page of ours.";
    Aborted "aborted" Count "Requests whose client left before the reply was complete.";
    Tunnels "tunnels" Count "Tunnels opened by CONNECT or Upgrade.";
    PanicsCaught "panics_caught" Count "Transactions ended by a bug; must stay 0.";

    // Failures, by kind: a row each of `proxy::failure::TABLE`.
    ErrorAccessDenied "error_access_denied" Count "Requests that ended with ERR_ACCESS_DENIED.";
    ErrorCacheAccessDenied "error_cache_access_denied" Count "Requests that ended with ERR_CACHE_ACCESS_DENIED.";
    ErrorCacheMgrAccessDenied "error_cache_mgr_access_denied" Count "Requests that ended with ERR_CACHE_MGR_ACCESS_DENIED.";
    ErrorForwardingDenied "error_forwarding_denied" Count "Requests that ended with ERR_FORWARDING_DENIED.";
    ErrorCannotForward "error_cannot_forward" Count "Requests that ended with ERR_CANNOT_FORWARD.";
    ErrorReadTimeout "error_read_timeout" Count "Requests that ended with ERR_READ_TIMEOUT.";
    ErrorLifetimeExp "error_lifetime_exp" Count "Requests that ended with ERR_LIFETIME_EXP.";
    ErrorReadError "error_read_error" Count "Requests that ended with ERR_READ_ERROR.";
    ErrorWriteError "error_write_error" Count "Requests that ended with ERR_WRITE_ERROR.";
    ErrorConnectFail "error_connect_fail" Count "Requests that ended with ERR_CONNECT_FAIL.";
    ErrorSecureConnectFail "error_secure_connect_fail" Count "Requests that ended with ERR_SECURE_CONNECT_FAIL.";
    ErrorSocketFailure "error_socket_failure" Count "Requests that ended with ERR_SOCKET_FAILURE.";
    ErrorDnsFail "error_dns_fail" Count "Requests that ended with ERR_DNS_FAIL.";
    ErrorOnlyIfCachedMiss "error_only_if_cached_miss" Count "Requests that ended with ERR_ONLY_IF_CACHED_MISS.";
    ErrorTooBig "error_too_big" Count "Requests that ended with ERR_TOO_BIG.";
    ErrorInvalidResp "error_invalid_resp" Count "Requests that ended with ERR_INVALID_RESP.";
    ErrorUnsupHttpVersion "error_unsup_httpversion" Count "Requests that ended with ERR_UNSUP_HTTPVERSION.";
    ErrorInvalidReq "error_invalid_req" Count "Requests that ended with ERR_INVALID_REQ.";
    ErrorUnsupReq "error_unsup_req" Count "Requests that ended with ERR_UNSUP_REQ.";
    ErrorInvalidUrl "error_invalid_url" Count "Requests that ended with ERR_INVALID_URL.";
    ErrorZeroSizeObject "error_zero_size_object" Count "Requests that ended with ERR_ZERO_SIZE_OBJECT.";
    ErrorPreconditionFailed "error_precondition_failed" Count "Requests that ended with ERR_PRECONDITION_FAILED.";
    ErrorConflictHost "error_conflict_host" Count "Requests that ended with ERR_CONFLICT_HOST.";
    ErrorIcapFailure "error_icap_failure" Count "Requests that ended with ERR_ICAP_FAILURE.";
    ErrorGatewayFailure "error_gateway_failure" Count "Requests that ended with ERR_GATEWAY_FAILURE.";
    ErrorShuttingDown "error_shutting_down" Count "Requests that ended with ERR_SHUTTING_DOWN.";
    ErrorProtocolUnknown "error_protocol_unknown" Count "Requests that ended with ERR_PROTOCOL_UNKNOWN.";
    ErrorRequestStartTimeout "error_request_start_timeout" Count "Requests that ended with ERR_REQUEST_START_TIMEOUT.";
    ErrorRequestParseTimeout "error_request_parse_timeout" Count "Requests that ended with ERR_REQUEST_PARSE_TIMEOUT.";
    ErrorClientGone "error_client_gone" Count "Requests that ended with ERR_CLIENT_GONE.";

    // Bytes on the wire.
    ClientBytesIn "client_received_bytes" Bytes "Bytes read from clients.";
    ClientBytesOut "client_sent_bytes" Bytes "Bytes written to clients.";
    HopBytesIn "hop_received_bytes" Bytes "Bytes read from origins and peers.";
    HopBytesOut "hop_sent_bytes" Bytes "Bytes written to origins and peers.";

    TunnelBytesIn "tunnel_received_bytes" Bytes "Those of them read for tunnels.";
    TunnelBytesOut "tunnel_sent_bytes" Bytes "Those of them written for tunnels.";

    // The process and the disk cache, read once a second.
    CpuTime "cpu_time" Microseconds "Processor time of the process, the kernel's share included.";
    PageFaults "page_faults" Count "Page faults that needed the disk.";
    EventLoops "event_loops" Count "Times that a worker went to sleep to wait for events.";
    SwapOuts "swap_outs" Count "Responses written to a cache_dir.";
    SwapIns "swap_ins" Count "Responses read from a cache_dir.";

    // Delay pools.
    DelayWaits "delay_waits" Count "Times that bytes waited for their turn in a delay pool.";
    DelayedBytes "delayed_bytes" Bytes "Bytes that waited for their turn in a delay pool.";

    // Client connections.
    ConnectionsAccepted "connections_accepted" Count "Client connections accepted.";
    AcceptErrors "accept_errors" Count "Connections that failed while they were accepted.";
    AcceptPauses "accept_pauses" Count "Times that accepting stopped because descriptors ran out.";

    // Timeouts, by what was waited for.
    TimeoutsRequest "timeouts_request" Count "Clients that sent no complete request head in time.";
    TimeoutsIdle "timeouts_idle" Count "Client connections closed after idling between requests.";
    TimeoutsRead "timeouts_read" Count "Waits for bytes of a next hop that ran out.";
    TimeoutsWrite "timeouts_write" Count "Writes that made no progress in time.";
    TimeoutsLifetime "timeouts_lifetime" Count "Client connections that reached their greatest age.";
    TimeoutsConnect "timeouts_connect" Count "Connection attempts to a next hop that ran out of time.";
    TimeoutsForward "timeouts_forward" Count "Requests that found no working next hop in time.";

    // Connections to origins and peers.
    HopRequests "hop_requests" Count "Requests sent to origins and peers.";
    HopConnects "hop_connects" Count "Connections opened to origins and peers.";
    HopReuses "hop_reuses" Count "Requests sent on a connection that was already open.";
    HopConnectFailures "hop_connect_failures" Count "Next hops that could not be connected to.";
    HopErrors "hop_errors" Count "Requests that a next hop failed to answer.";
    HopRetries "hop_retries" Count "Requests sent again after a next hop failed.";
    IdleClosedByPeer "idle_closed_by_peer" Count "Idle connections found closed by the other side.";
    IdleSurplus "idle_surplus" Count "Idle connections dropped because of bytes that nobody asked for.";
    IdleExpired "idle_expired" Count "Idle connections closed by their timeout.";

    // DNS.
    DnsLookups "dns_lookups" Count "Names and addresses whose addresses were asked of the name cache.";
    DnsHits "dns_hits" Count "Names answered by the name cache or the hosts file.";
    DnsNegativeHits "dns_negative_hits" Count "Names answered by a cached failure.";
    DnsNumeric "dns_numeric" Count "Addresses asked of the name cache as if they were names.";
    DnsInvalid "dns_invalid" Count "Names asked of the name cache that can't be names.";
    DnsNameLookups "dns_name_lookups" Count "Addresses whose names were asked of the name cache.";
    DnsNameHits "dns_name_hits" Count "Of these, answered by the name cache or the hosts file.";
    DnsNameNegativeHits "dns_name_negative_hits" Count "Of these, answered by a cached failure.";
    DnsAnswersA "dns_answers_a" Count "Answers of name servers that held IPv4 addresses.";
    DnsAnswersAaaa "dns_answers_aaaa" Count "Answers of name servers that held IPv6 addresses.";
    DnsAliasOnly "dns_alias_only" Count "Answers of name servers that held an alias and no address.";
    DnsQueries "dns_queries" Count "Names sent to name servers.";
    DnsShared "dns_shared" Count "Lookups that waited for a query already under way.";
    DnsFailures "dns_failures" Count "Names that could not be resolved.";
    DnsStale "dns_stale" Count "Expired addresses used because the name servers failed.";

    // Fills and those who share them.
    Fills "fills" Count "Responses that began to arrive into the store.";
    FillsFailed "fills_failed" Count "Responses that ended before they were complete.";
    Joins "joins" Count "Requests that read a response while it was still arriving.";
    Collapsed "collapsed" Count "Requests that waited for another request's response.";
    CollapsedAlone "collapsed_alone" Count "Requests that waited and then had to go on by themselves.";
    CollapsedOvertaken "collapsed_overtaken" Count "Requests that waited for collapsed_forwarding_timeout.";

    // Invalidation.
    Purges "purges" Count "PURGE requests carried out.";
    PurgedObjects "purged_objects" Count "Stored responses that PURGE removed or made stale.";
    InvalidatedObjects "invalidated_objects" Count "Stored responses removed because a request may have changed what they show.";

    // Helper programs, all pools together; `Pool::status` has them apart.
    HelperQuestions "helper_questions" Count "Questions for helper programs.";
    HelperAnswers "helper_answers" Count "Answers that helper programs gave.";
    HelperFailures "helper_failures" Count "Questions that no helper program answered, for whatever reason.";
    HelperTimeouts "helper_timeouts" Count "Questions not answered in time.";
    HelperRetries "helper_retries" Count "Questions asked anew because a helper process ended or said BH.";
    HelperLate "helper_late" Count "Answers that nobody waited for any more.";
    HelperStarts "helper_starts" Count "Helper processes started.";
    HelperStartFailures "helper_start_failures" Count "Helper processes that could not be started.";
    HelperDeaths "helper_deaths" Count "Helper processes that ended although nobody told them to.";
    HelperHung "helper_hung" Count "Helper processes killed because they fell silent.";
    HelperGarbage "helper_garbage" Count "Helper processes killed for what they wrote.";
    HelperLogLinesLost "helper_log_lines_lost" Count "Lines of helpers' standard error left out of the log.";

    // The log.
    LogLines "log_lines" Count "Lines of access logs and of the store log.";
    LogLinesLost "log_lines_lost" Count "Lines of those lost because the log was too slow or could not be written.";

    // The SNMP agent.
    SnmpDatagrams "snmp_datagrams" Count "Datagrams that came to the SNMP port.";
    SnmpMalformed "snmp_malformed" Count "Of these, dropped as they were no question that we know.";
    SnmpDenied "snmp_denied" Count "Of these, dropped because of snmp_access.";

    // Limits: one row each, counted when the limit bites.
    LimitRequestHead "limit_request_head" Count "Request heads over request_header_max_size.";
    LimitReplyHead "limit_reply_head" Count "Response heads over reply_header_max_size.";
    LimitRequestBody "limit_request_body" Count "Request bodies over request_body_max_size.";
    LimitReplyBody "limit_reply_body" Count "Response bodies over reply_body_max_size.";
    LimitFields "limit_fields" Count "Heads with more field lines than allowed.";
    LimitPipeline "limit_pipeline" Count "Pipelined requests held back by pipeline_prefetch.";
    LimitInformational "limit_informational" Count "Replies refused for too many 1xx heads.";
    LimitForwardTries "limit_forward_tries" Count "Requests that used up forward_max_tries.";
    LimitHopConnections "limit_hop_connections" Count "Next hops passed over because of max-conn.";
    LimitIdleHop "limit_idle_hop" Count "Idle connections closed because their hop had enough.";
    LimitIdleTotal "limit_idle_total" Count "Idle connections closed because the worker had enough.";
    LimitDnsQueries "limit_dns_queries" Count "Names refused because too many queries were under way.";
    LimitDnsAddresses "limit_dns_addresses" Count "Answers cut to the greatest number of addresses.";
    LimitVariants "limit_variants" Count "Stored variants dropped because a URL had too many.";
    LimitBans "limit_bans" Count "PURGE requests refused because too many waited to be worked off.";
    LimitHelperQueue "limit_helper_queue" Count "Questions refused because too many waited for a helper.";
    LimitHelperLine "limit_helper_line" Count "Questions too long for a helper's line, and helpers killed for longer answers.";
    LimitClientConnections "limit_client_connections" Count "Connections refused by a limit per client address.";
}

table! {
    /// A number that goes up and down; the sum over workers is shown.
    Gauge, GAUGES;

    ClientConnections "client_connections" Count "Client connections open now.";
    ClientConnectionsIdle "client_connections_idle" Count "Client connections waiting for a request.";
    DiskRings "disk_rings" Count "Workers whose reads from disk the kernel does while they go on (io_uring).";
    HopConnections "hop_connections" Count "Connections to origins and peers open now.";
    HopConnectionsIdle "hop_connections_idle" Count "Connections to origins and peers kept for later.";
    Transactions "transactions" Count "Requests being answered now.";
    TunnelsOpen "tunnels_open" Count "Tunnels open now.";
    FillsOpen "fills_open" Count "Responses arriving into the store now.";
    DnsInFlight "dns_in_flight" Count "Names being resolved now.";
    HelperChildren "helper_children" Count "Helper processes running now.";
    HelperQueue "helper_queue" Count "Questions waiting for a free helper process.";
    HelperInFlight "helper_in_flight" Count "Questions that helper processes work on now.";
    AcceptPaused "accept_paused" Count "Listening sockets that wait for descriptors.";
}

table! {
    /// A distribution of values.
    Histogram, HISTOGRAMS;

    // Each request is in one of the first five.

    ServiceTimeHit "service_time_hit" Microseconds "Time from a request's first byte to the reply's last, for replies from the cache.";
    ServiceTimeMiss "service_time_miss" Microseconds "The same, for replies from a next hop.";
    ServiceTimeNearHit "service_time_near_hit" Microseconds "The same, for stored responses that the server confirmed.";
    ServiceTimeNotModified "service_time_not_modified" Microseconds "The same, for conditional requests answered from the cache.";
    ServiceTimeOther "service_time_other" Microseconds "The same, for all other requests: refused, failed, tunnelled.";
    DnsTime "dns_time" Microseconds "Time that name servers took.";
    ConnectTime "connect_time" Microseconds "Time that connecting to a next hop took.";
    HelperTime "helper_time" Microseconds "Time that helper programs took for an answer.";
    HopUses "hop_uses" Count "Requests that a connection to an origin or a peer carried, once it is closed.";
    ClientUses "client_uses" Count "Requests that a client's connection carried, once it is closed.";
    ReplySize "reply_size" Bytes "Size of replies sent to clients, heads included.";
    HopReadSize "hop_read_size" Bytes "Size of reads from origins and peers, less one: a full power of two closes its bucket.";
}
