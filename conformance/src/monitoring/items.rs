//! What of an item must agree: that it is there, the kind of its value, or the value itself.

use std::collections::BTreeSet;

use super::Items;
use crate::report::Pair;

/// Items of which both programs count the same: their values agree. Sizes don't, as heads have other lengths; nor does
/// what a process takes of the machine.
const COUNTED: &[&str] = &[
    "client_http.requests",
    "client_http.hits",
    "client_http.errors",
    "server.all.requests",
    "server.all.errors",
    "server.http.requests",
    "server.http.errors",
    "server.ftp.requests",
    "server.other.requests",
    "icp.pkts_sent",
    "icp.pkts_recv",
    "swap.outs",
    "swap.ins",
    "squid_client_http_requests_total",
    "squid_client_http_hits_total",
    "squid_client_http_errors_total",
    "squid_server_all_requests_total",
    "squid_server_http_requests_total",
    "squid_info_Number_of_HTTP_requests_received",
    "squid_info_Number_of_clients_accessing_cache",
    "squid_info_Storage_Mem_capacity",
    "cacheProtoClientHttpRequests",
    "cacheHttpHits",
    "cacheHttpErrors",
    "cacheServerRequests",
    "cacheClients",
    "cacheMemMaxSize",
    "cacheSwapHighWM",
    "cacheSwapLowWM",
    "cacheAdmin",
    "cacheUniqName",
    "squid_requests hits",
    "squid_requests errors",
];

/// Names of either.
pub(super) fn both(one: &Items, other: &Items) -> BTreeSet<String> {
    one.keys().chain(other.keys()).cloned().collect()
}

/// What is compared of an item.
pub(super) fn pair(
    tool: &'static str,
    item: &str,
    squid: Option<&String>,
    squall: Option<&String>,
) -> Pair {
    let exact = tool == "snmpwalk" || COUNTED.contains(&item);
    let shown = |value: Option<&String>| match value {
        None => "missing".to_owned(),
        Some(value) if exact => value.clone(),
        Some(value) => kind(tool, value).to_owned(),
    };
    Pair {
        family: tool,
        rules: String::new(),
        request: item.to_owned(),
        squid: shown(squid),
        squall: shown(squall),
    }
}

/// Numbers are told from texts, and by netdata, which wants them, whole ones from others.
fn kind(tool: &str, value: &str) -> &'static str {
    if tool == "netdata" && value.parse::<i64>().is_ok() {
        "a whole number"
    } else if value.parse::<f64>().is_ok() {
        "a number"
    } else {
        "a text"
    }
}
