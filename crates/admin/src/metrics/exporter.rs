//! The names of squid-exporter 1.13, for who has dashboards and alerts by them. Its numbers are read
//! off the pages `counters`, `service_times` and `info`, as the exporter reads them: so they are the
//! same, rounded alike.

use super::listed::Listed;
use super::text::{Family, Kind, Text};
use crate::Scene;
use crate::manager;

/// A number: its name, and the line of a page that it comes from.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Behind the prefix of its page; a counter's without `_total`.
    name: &'static str,
    /// Text before the number or, where the line begins with the number, behind it.
    label: &'static str,
}

macro_rules! rows {
    ($table:ident; $($name:literal $label:literal;)+) => {
        const $table: &[Row] = &[$(Row { name: $name, label: $label },)+];
    };
}

rows! {
    COUNTERS;
    "client_http_requests" "client_http.requests";
    "client_http_hits" "client_http.hits";
    "client_http_errors" "client_http.errors";
    "client_http_kbytes_in_kbytes" "client_http.kbytes_in";
    "client_http_kbytes_out_kbytes" "client_http.kbytes_out";
    "client_http_hit_kbytes_out_bytes" "client_http.hit_kbytes_out";
    "server_http_requests" "server.http.requests";
    "server_http_errors" "server.http.errors";
    "server_http_kbytes_in_kbytes" "server.http.kbytes_in";
    "server_http_kbytes_out_kbytes" "server.http.kbytes_out";
    "server_all_requests" "server.all.requests";
    "server_all_errors" "server.all.errors";
    "server_all_kbytes_in_kbytes" "server.all.kbytes_in";
    "server_all_kbytes_out_kbytes" "server.all.kbytes_out";
    "server_ftp_requests" "server.ftp.requests";
    "server_ftp_errors" "server.ftp.errors";
    "server_ftp_kbytes_in_kbytes" "server.ftp.kbytes_in";
    "server_ftp_kbytes_out_kbytes" "server.ftp.kbytes_out";
    "server_other_requests" "server.other.requests";
    "server_other_errors" "server.other.errors";
    "server_other_kbytes_in_kbytes" "server.other.kbytes_in";
    "server_other_kbytes_out_kbytes" "server.other.kbytes_out";
    "swap_ins" "swap.ins";
    "swap_outs" "swap.outs";
    "swap_files_cleaned" "swap.files_cleaned";
}

rows! {
    TIMES;
    "HTTP_Requests_All" "HTTP Requests (All)";
    "Cache_Misses" "Cache Misses";
    "Cache_Hits" "Cache Hits";
    "Near_Hits" "Near Hits";
    "DNS_Lookups" "DNS Lookups";
}

rows! {
    INFO;
    "Number_of_clients_accessing_cache" "Number of clients accessing cache";
    "Number_of_HTTP_requests_received" "Number of HTTP requests received";
    "Number_of_ICP_messages_received" "Number of ICP messages received";
    "Number_of_ICP_messages_sent" "Number of ICP messages sent";
    "Number_of_queued_ICP_replies" "Number of queued ICP replies";
    "Number_of_HTCP_messages_received" "Number of HTCP messages received";
    "Number_of_HTCP_messages_sent" "Number of HTCP messages sent";
    "Request_failure_ratio" "Request failure ratio";
    "Average_HTTP_requests_per_minute_since_start" "Average HTTP requests per minute since start";
    "Average_ICP_messages_per_minute_since_start" "Average ICP messages per minute since start";
    "Select_loop_called" "Select loop called";
    "Storage_Swap_size" "Storage Swap size";
    "Storage_Swap_capacity" "Storage Swap capacity";
    "Storage_Mem_size" "Storage Mem size";
    "Storage_Mem_capacity" "Storage Mem capacity";
    "Mean_Object_Size" "Mean Object Size";
    "Requests_given_to_unlinkd" "Requests given to unlinkd";
    "UP_Time" "UP Time";
    "CPU_Time" "CPU Time";
    "CPU_Usage" "CPU Usage";
    "CPU_Usage_5_minute_avg" "CPU Usage, 5 minute avg";
    "CPU_Usage_60_minute_avg" "CPU Usage, 60 minute avg";
    "Maximum_Resident_Size" "Maximum Resident Size";
    "Page_faults_with_physical_i_o" "Page faults with physical i/o";
    "Total_accounted" "Total accounted";
    "memPoolAlloc_calls" "memPoolAlloc calls";
    "memPoolFree_calls" "memPoolFree calls";
    "Maximum_number_of_file_descriptors" "Maximum number of file descriptors";
    "Largest_file_desc_currently_in_use" "Largest file desc currently in use";
    "Number_of_file_desc_currently_in_use" "Number of file desc currently in use";
    "Files_queued_for_open" "Files queued for open";
    "Available_number_of_file_descriptors" "Available number of file descriptors";
    "Reserved_number_of_file_descriptors" "Reserved number of file descriptors";
    "Store_Disk_files_open" "Store Disk files open";
    "StoreEntries" "StoreEntries";
    "StoreEntries_with_MemObjects" "StoreEntries with MemObjects";
    "Hot_Object_Cache_Items" "Hot Object Cache Items";
    "on_disk_objects" "on-disk objects";
}

rows! {
    /* Lines with a number for each window. */
    RATIOS;
    "Hits_as_pct_of_all_requests" "Hits as % of all requests";
    "Hits_as_pct_of_bytes_sent" "Hits as % of bytes sent";
    "Memory_hits_as_pct_of_hit_requests" "Memory hits as % of hit requests";
    "Disk_hits_as_pct_of_hit_requests" "Disk hits as % of hit requests";
}

/// The windows of [`RATIOS`].
const WINDOWS: [&str; 2] = ["5min", "60min"];

/// That the exporter reaches Squid; nobody stands between here.
const UP: (&str, &str) = (
    "squid_up",
    "Always 1: there is no exporter that might not reach us.",
);
/// Versions in labels.
const SERVICE: (&str, &str) = (
    "squid_info_service",
    "Always 1; the labels are the head of the page info.",
);

/// A family with its help.
fn family<'a>((name, help): (&'a str, &'a str), kind: Kind) -> Family<'a> {
    Family {
        name,
        kind,
        unit: "",
        help,
    }
}

/// What the exporter would give.
pub(super) fn write(text: &mut Text, scene: &Scene<'_>) {
    let up = family(UP, Kind::Gauge);
    text.family(&up);
    text.sample(&up, &[("host", &scene.plan().visible_hostname)], 1.0);
    let service = family(SERVICE, Kind::Gauge);
    let names = scene.names();
    text.family(&service);
    let labels = [
        ("Squid_Object_Cache_Version", names.version),
        ("Build_Info", ""),
        ("Service_Name", &names.service),
    ];
    text.sample(&service, &labels, 1.0);
    for page in PAGES {
        let help = help(page.name);
        for (name, kind, value) in (page.read)(&manager::text(scene, page.name)) {
            text.single(&family((&name, &help), kind), value);
        }
    }
}

/// A name with its value.
type Sample = (String, Kind, f64);

/// A page, and how it is read.
struct Page {
    name: &'static str,
    read: fn(&str) -> Vec<Sample>,
}

const PAGES: [Page; 3] = [
    Page {
        name: "counters",
        read: counters,
    },
    Page {
        name: "service_times",
        read: times,
    },
    Page {
        name: "info",
        read: info,
    },
];

fn help(page: &str) -> String {
    format!("As squid-exporter reads it off the page {page}.")
}

/// `client_http.requests = 5`
fn counters(page: &str) -> Vec<Sample> {
    let lines: Vec<_> = page
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .collect();
    let read = |row: &Row| {
        let (_, value) = lines.iter().find(|(key, _)| *key == row.label)?;
        Some((
            format!("squid_{}", row.name),
            Kind::Counter,
            value.trim().parse().ok()?,
        ))
    };
    COUNTERS.iter().filter_map(read).collect()
}

/// Lines of `5%  0.00091  0.00091`, the first of each kind with its name before; the first number is
/// that of five minutes.
fn times(page: &str) -> Vec<Sample> {
    let mut current = None;
    let mut samples = Vec::new();
    for line in page.lines() {
        let numbers = match line.split_once(':') {
            Some((label, numbers)) => {
                current = TIMES.iter().find(|row| row.label == label.trim());
                numbers
            }
            None => line,
        };
        let mut words = numbers.split_whitespace();
        if let (Some(row), Some(share), Some(value)) = (current, words.next(), words.next())
            && let (Some(share), Ok(value)) = (share.strip_suffix('%'), value.parse())
        {
            samples.push((format!("squid_{}_{share}", row.name), Kind::Gauge, value));
        }
    }
    samples
}

/// `label: 5 KB`, `label: 5min: 0.1%, 60min: 0.2%`, or `5 label`.
fn info(page: &str) -> Vec<Sample> {
    let lines: Vec<_> = page.lines().map(str::trim).collect();
    let after = |label: &str| {
        lines
            .iter()
            .find_map(|line| line.strip_prefix(label)?.strip_prefix(':'))
            .map(str::trim)
    };
    let before = |label: &str| {
        lines
            .iter()
            .find_map(|line| line.strip_suffix(label)?.strip_suffix(' '))
    };
    let read = |row: &Row| {
        let value = number(after(row.label).or_else(|| before(row.label))?)?;
        Some((format!("squid_info_{}", row.name), Kind::Gauge, value))
    };
    let windows = |row: &'static Row| {
        WINDOWS.into_iter().filter_map(move |window| {
            let (_, rest) = after(row.label)?.split_once(&format!("{window}: "))?;
            Some((
                format!("squid_info_{}_{window}", row.name),
                Kind::Gauge,
                number(rest)?,
            ))
        })
    };
    let ratios = RATIOS.iter().flat_map(windows);
    INFO.iter().filter_map(read).chain(ratios).collect()
}

/// The number that a text begins with, whatever stands behind it.
fn number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-'));
    text.get(..end.unwrap_or(text.len()))?.parse().ok()
}

/// All names, for the documentation.
pub(super) fn listed() -> Vec<Listed> {
    let mut all = vec![
        one(UP.0, Kind::Gauge, "host", UP.1),
        one(
            SERVICE.0,
            Kind::Gauge,
            "Squid_Object_Cache_Version, Build_Info, Service_Name",
            SERVICE.1,
        ),
    ];
    let about = |row: &Row| format!("{} of the page", row.label);
    all.extend(COUNTERS.iter().map(|row| {
        one(
            &format!("squid_{}_total", row.name),
            Kind::Counter,
            "",
            &format!("`{}` of the page counters.", row.label),
        )
    }));
    for row in TIMES {
        let last = if row.name == "HTTP_Requests_All" {
            "100"
        } else {
            "95"
        };
        let help = format!(
            "Each fifth percentile from 5 to {last} of the last five minutes, seconds: {} service_times.",
            about(row)
        );
        all.push(one(
            &format!("squid_{}_5", row.name),
            Kind::Gauge,
            "",
            &help,
        ));
    }
    for row in INFO {
        let help = format!("{} info.", about(row));
        all.push(one(
            &format!("squid_info_{}", row.name),
            Kind::Gauge,
            "",
            &help,
        ));
    }
    for (row, window) in RATIOS
        .iter()
        .flat_map(|row| WINDOWS.map(|window| (row, window)))
    {
        let help = format!("{} info.", about(row));
        all.push(one(
            &format!("squid_info_{}_{window}", row.name),
            Kind::Gauge,
            "",
            &help,
        ));
    }
    all
}

fn one(name: &str, kind: Kind, labels: &'static str, help: &str) -> Listed {
    Listed {
        group: "Names of squid-exporter",
        name: name.to_owned(),
        kind: kind.name(),
        unit: "",
        labels,
        help: help.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(samples: &[Sample], expected: &[(&str, f64)]) {
        let found: Vec<_> = samples
            .iter()
            .map(|(name, _, value)| (name.as_str(), *value))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn there_are_as_many_names_as_the_exporter_has() {
        assert_eq!(COUNTERS.len(), 25);
        assert_eq!(INFO.len() + RATIOS.len() * WINDOWS.len(), 46);
    }

    #[test]
    fn counters_are_read_by_their_whole_keys() {
        let page = "sample_time = 1.5 (Fri)\nclient_http.requests = 12\nserver.all.kbytes_in = 7\n";
        let samples = counters(page);
        check(
            &samples,
            &[
                ("squid_client_http_requests", 12.0),
                ("squid_server_all_kbytes_in_kbytes", 7.0),
            ],
        );
        assert!(samples.iter().all(|(_, kind, _)| *kind == Kind::Counter));
    }

    #[test]
    fn times_have_a_name_for_each_share() {
        let page = "Service Time Percentiles            5 min    60 min:\n\
            \tHTTP Requests (All):   5%   0.00091  0.1\n\
            \t                      10%   0.00095  0.1\n\
            \tNot-Modified Replies:  5%   0.5  0.1\n\
            \tDNS Lookups:           5%   0.25  0.1\n";
        check(
            &times(page),
            &[
                ("squid_HTTP_Requests_All_5", 0.00091),
                ("squid_HTTP_Requests_All_10", 0.00095),
                ("squid_DNS_Lookups_5", 0.25),
            ],
        );
    }

    #[test]
    fn info_has_numbers_on_either_side() {
        let page = "Squid Object Cache: Version 1\n\
            \tSelect loop called: 70931 times, 99.979 ms avg\n\
            \tHits as % of all requests:\t5min: 12.5%, 60min: -3.0%\n\
            \tStorage Mem capacity:\t 0.1% used, 99.9% free\n\
            \tCPU Usage:\t0.06%\n\
            \tCPU Usage, 5 minute avg:\t0.05%\n\
            \tPage faults with physical i/o: 4\n\
            \t    52 StoreEntries\n\
            \t    50 StoreEntries with MemObjects\n";
        check(
            &info(page),
            &[
                ("squid_info_Select_loop_called", 70931.0),
                ("squid_info_Storage_Mem_capacity", 0.1),
                ("squid_info_CPU_Usage", 0.06),
                ("squid_info_CPU_Usage_5_minute_avg", 0.05),
                ("squid_info_Page_faults_with_physical_i_o", 4.0),
                ("squid_info_StoreEntries", 52.0),
                ("squid_info_StoreEntries_with_MemObjects", 50.0),
                ("squid_info_Hits_as_pct_of_all_requests_5min", 12.5),
                ("squid_info_Hits_as_pct_of_all_requests_60min", -3.0),
            ],
        );
    }
}
