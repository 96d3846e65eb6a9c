//! The pages of the cache manager: one table, a file for each page. A page is a struct; its text is written from it, and
//! its JSON (`Accept: application/json`, or `?format=json`) is the struct itself.

mod access;
mod actions;
mod active_requests;
mod averages;
mod client_list;
pub(crate) mod counters;
mod delay;
mod descriptors;
pub(crate) mod figures;
mod filedescriptors;
mod forward;
mod fqdncache;
mod http_headers;
mod idns;
pub(crate) mod info;
mod internals;
mod io;
mod ipcache;
mod menu;
mod objects;
mod pconn;
mod pools;
mod refresh;
mod report;
mod selection;
mod server_list;
mod service_times;
mod settings;
mod share;
mod storage;
mod storedir;
mod username_cache;

use std::pin::Pin;

use proxy::internal::{Answer, Ask, Refused, WorkerReport};

use crate::{Admin, Scene, dashboard, health, metrics};
pub use report::Report;

/// What pages are, unless they say otherwise.
pub const TEXT: &str = "text/plain;charset=utf-8";
/// And in the other form.
pub const JSON: &str = "application/json";

/// A page.
#[derive(Debug)]
pub struct Row {
    /// Its name in URLs.
    pub name: &'static str,
    /// What the menu says of it.
    pub about: &'static str,
    /// Who may see it where `cachemgr_passwd` says nothing.
    pub protection: Protection,
    /// What makes it.
    pub make: Make,
}

/// Who may see a page where `cachemgr_passwd` says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Everyone whom the access rules let in.
    Public,
    /// Nobody.
    Protected,
}

/// What makes a page.
#[derive(Debug, Clone, Copy)]
pub enum Make {
    /// From what is known.
    Now(fn(&Scene<'_>) -> Report),
    /// From what is known, and from what the workers do now.
    Asking(fn(&Scene<'_>, &[WorkerReport]) -> Report),
    /// The same with a form of its own. Names that go on after a `/` are its own, too.
    Raw(fn(&Scene<'_>) -> Answer),
    /// The same, from what the workers do now, too.
    RawAsking(fn(&Scene<'_>, &[WorkerReport]) -> Answer),
    /// The same, from what has to be waited for.
    RawWaiting(for<'s> fn(&'s Scene<'s>) -> Waiting<'s>),
}

/// A page that has to wait.
pub type Waiting<'s> = Pin<Box<dyn Future<Output = Answer> + 's>>;

use Make::{Asking, Now, Raw, RawAsking, RawWaiting};
use Protection::{Protected, Public};

/// Every page, in the order of the menu.
#[rustfmt::skip]
pub const PAGES: &[Row] = &[
    Row { name: "index", about: "Cache Manager Interface", protection: Public, make: Raw(menu::index) },
    Row { name: "menu", about: "Cache Manager Menu", protection: Public, make: Now(menu::menu) },
    Row { name: "offline_toggle", about: "Toggle offline_mode setting", protection: Protected, make: Now(actions::offline_toggle) },
    Row { name: "shutdown", about: "Shut Down the Squid Process", protection: Protected, make: Now(actions::shutdown) },
    Row { name: "reconfigure", about: "Reconfigure Squid", protection: Protected, make: Now(actions::reconfigure) },
    Row { name: "rotate", about: "Rotate Squid Logs", protection: Protected, make: Now(actions::rotate) },
    Row { name: "config", about: "Current Squid Configuration", protection: Protected, make: Now(settings::config) },
    Row { name: "info", about: "General Runtime Information", protection: Public, make: Now(info::info) },
    Row { name: "service_times", about: "Service Times (Percentiles)", protection: Public, make: Now(service_times::service_times) },
    Row { name: "io", about: "Server-side network read() size histograms", protection: Public, make: Now(io::io) },
    Row { name: "counters", about: "Traffic and Resource Counters", protection: Public, make: Now(counters::counters) },
    Row { name: "5min", about: "5 Minute Average of Counters", protection: Public, make: Now(averages::five_minutes) },
    Row { name: "60min", about: "60 Minute Average of Counters", protection: Public, make: Now(averages::sixty_minutes) },
    Row { name: "utilization", about: "Cache Utilization", protection: Public, make: Now(averages::utilization) },
    Row { name: "histograms", about: "Full Histogram Counts", protection: Public, make: Now(service_times::histograms) },
    Row { name: "storedir", about: "Store Directory Stats", protection: Public, make: Now(storedir::storedir) },
    Row { name: "pconn", about: "Persistent Connection Utilization Histograms", protection: Public, make: Asking(pconn::report) },
    Row { name: "mem", about: "Memory Utilization", protection: Public, make: Asking(internals::mem) },
    Row { name: "diskd", about: "DISKD Stats", protection: Public, make: Now(storage::operations) },
    Row { name: "squidaio_counts", about: "Async IO Function Counters", protection: Public, make: Now(storage::operations) },
    Row { name: "client_list", about: "Cache Client List", protection: Public, make: Now(client_list::report) },
    Row { name: "comm_epoll_incoming", about: "comm_incoming() stats", protection: Public, make: Asking(internals::loops) },
    Row { name: "ipcache", about: "IP Cache Stats and Contents", protection: Public, make: Now(ipcache::report) },
    Row { name: "fqdncache", about: "FQDN Cache Stats and Contents", protection: Public, make: Now(fqdncache::report) },
    Row { name: "idns", about: "Internal DNS Statistics", protection: Public, make: Now(idns::report) },
    Row { name: "dns", about: "Internal DNS Statistics", protection: Public, make: Now(idns::report) },
    Row { name: "redirector", about: "URL Redirector Stats", protection: Public, make: Now(pools::redirector) },
    Row { name: "url_rewriter", about: "URL Redirector Stats", protection: Public, make: Now(pools::redirector) },
    Row { name: "store_id", about: "StoreId helper Stats", protection: Public, make: Now(pools::store_id) },
    Row { name: "store_rewriter", about: "StoreId helper Stats", protection: Public, make: Now(pools::store_id) },
    Row { name: "location_rewriter", about: "Location Rewriter Stats", protection: Public, make: Now(pools::location_rewriter) },
    Row { name: "basicauthenticator", about: "Basic User Authenticator Stats", protection: Public, make: Now(pools::basic) },
    Row { name: "digestauthenticator", about: "Digest User Authenticator Stats", protection: Public, make: Now(pools::digest) },
    Row { name: "ntlmauthenticator", about: "NTLM User Authenticator Stats", protection: Public, make: Now(pools::ntlm) },
    Row { name: "negotiateauthenticator", about: "Negotiate User Authenticator Stats", protection: Public, make: Now(pools::negotiate) },
    Row { name: "external_acl", about: "External ACL stats", protection: Public, make: Now(pools::external_acl) },
    Row { name: "http_headers", about: "HTTP Header Statistics", protection: Public, make: Asking(http_headers::report) },
    Row { name: "via_headers", about: "Via Request Headers", protection: Public, make: Asking(forward::via) },
    Row { name: "forw_headers", about: "X-Forwarded-For Request Headers", protection: Public, make: Asking(forward::forwarded_for) },
    Row { name: "filedescriptors", about: "Process Filedescriptor Allocation", protection: Public, make: Asking(filedescriptors::report) },
    Row { name: "objects", about: "All Cache Objects", protection: Public, make: Now(objects::all) },
    Row { name: "vm_objects", about: "In-Memory and In-Transit Objects", protection: Public, make: Now(objects::all) },
    Row { name: "pending_objects", about: "Objects being retrieved from the network", protection: Public, make: Now(objects::pending) },
    Row { name: "client_objects", about: "Objects being sent to clients", protection: Public, make: Now(objects::used) },
    Row { name: "openfd_objects", about: "Objects with Swapout files open", protection: Public, make: Now(objects::open) },
    Row { name: "peer_select", about: "Peer Selection Algorithms", protection: Public, make: Now(selection::peer_select) },
    Row { name: "active_requests", about: "Client-side Active Requests", protection: Public, make: Asking(active_requests::report) },
    Row { name: "username_cache", about: "Active Cached Usernames", protection: Public, make: Now(username_cache::report) },
    Row { name: "store_digest", about: "Store Digest", protection: Public, make: Now(storage::digest) },
    Row { name: "store_log_tags", about: "Histogram of store.log tags", protection: Public, make: Now(storage::log_tags) },
    Row { name: "store_io", about: "Store IO Interface Stats", protection: Public, make: Now(storage::io) },
    Row { name: "store_queues", about: "Store Queues", protection: Public, make: Now(storage::queues) },
    Row { name: "store_check_cachable_stats", about: "storeCheckCachable() Stats", protection: Public, make: Asking(storage::check_cachable) },
    Row { name: "refresh", about: "Refresh Algorithm Statistics", protection: Public, make: Asking(refresh::report) },
    Row { name: "delay", about: "Delay Pool Levels", protection: Public, make: Now(delay::report) },
    Row { name: "forward", about: "Request Forwarding Statistics", protection: Public, make: Asking(forward::report) },
    Row { name: "cbdata", about: "Callback Data Registry Contents", protection: Public, make: Now(internals::alive) },
    Row { name: "jobs", about: "Tasks of the Workers", protection: Public, make: Asking(internals::jobs) },
    Row { name: "events", about: "Event Queue", protection: Public, make: Now(internals::events) },
    Row { name: "netdb", about: "Network Measurement Database", protection: Public, make: Now(selection::netdb) },
    Row { name: "carp", about: "CARP information", protection: Public, make: Now(server_list::hashed) },
    Row { name: "userhash", about: "peer userhash information", protection: Public, make: Now(server_list::hashed) },
    Row { name: "sourcehash", about: "peer sourcehash information", protection: Public, make: Now(server_list::hashed) },
    Row { name: "server_list", about: "Peer Cache Statistics", protection: Public, make: Now(server_list::report) },
    Row { name: "non_peers", about: "List of Unknown sites sending ICP messages", protection: Public, make: Now(server_list::non_peers) },
    Row { name: "metrics", about: "Metrics for Prometheus", protection: Public, make: Raw(metrics::page) },
    Row { name: "healthz", about: "Does the Process Live?", protection: Public, make: Raw(health::alive) },
    Row { name: "readyz", about: "Can It Forward?", protection: Public, make: RawWaiting(health::ready) },
    Row { name: "squall", about: "Dashboard", protection: Public, make: RawAsking(dashboard::answer) },
];

/// Makes the page that is asked for.
///
/// # Errors
///
/// There is none of that name, or nobody may see it, or it has another password.
pub(crate) async fn answer(admin: &Admin, ask: Ask<'_>) -> Result<Answer, Refused> {
    let row = row(ask.page).ok_or(Refused::Unknown)?;
    access::check(&ask, row)?;
    let scene = Scene { ask: &ask, admin };
    Ok(match row.make {
        Now(make) => make(&scene).answer(&ask),
        Asking(make) => make(&scene, &ask.roll.call().await).answer(&ask),
        Raw(make) => make(&scene),
        RawAsking(make) => make(&scene, &ask.roll.call().await),
        RawWaiting(make) => make(&scene).await,
    })
}

/// A page's text, for those who read it as a scraper does; only of pages that are made from what is known.
pub(crate) fn text(scene: &Scene<'_>, page: &str) -> String {
    match row(page).map(|row| row.make) {
        Some(Now(make)) => String::from_utf8_lossy(&make(scene).text).into_owned(),
        _ => String::new(),
    }
}

fn row(page: &str) -> Option<&'static Row> {
    let page = if page.is_empty() { "index" } else { page };
    let (name, has_more) = match page.split_once('/') {
        Some((name, _)) => (name, true),
        None => (page, false),
    };
    let row = PAGES.iter().find(|row| row.name == name)?;
    let takes_more = matches!(row.make, Raw(_) | RawAsking(_));
    (!has_more || takes_more).then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_their_names() {
        let check = |page: &str, found: Option<&str>| {
            assert_eq!(row(page).map(|row| row.name), found, "{page}");
        };
        check("", Some("index"));
        check("menu", Some("menu"));
        check("index/x", Some("index"));
        check("menu/x", None);
        check("Menu", None);
        check("nothing", None);
    }

    #[test]
    fn no_name_is_there_twice() {
        let mut names: Vec<_> = PAGES.iter().map(|row| row.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
