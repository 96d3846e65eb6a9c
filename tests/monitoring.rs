//! Tools that watch a Squid watch us: their rules on the `counters` page, and, where Squid and the tools are installed, the
//! tools themselves beside Squid under the same traffic.

use std::path::Path;

use conformance::{Programs, SQUID, monitoring};
use testkit::{Client, Program};

fn counters() -> String {
    let program = Program::start("http_access allow all\n");
    Client::connect(program.addr())
        .get("/squid-internal-mgr/counters")
        .text()
}

/// Keys of integrations-core/squid.
const DATADOG: [&str; 50] = [
    "client_http.requests",
    "client_http.hits",
    "client_http.errors",
    "client_http.kbytes_in",
    "client_http.kbytes_out",
    "client_http.hit_kbytes_out",
    "server.all.requests",
    "server.all.errors",
    "server.all.kbytes_in",
    "server.all.kbytes_out",
    "server.http.requests",
    "server.http.errors",
    "server.http.kbytes_in",
    "server.http.kbytes_out",
    "server.ftp.requests",
    "server.ftp.errors",
    "server.ftp.kbytes_in",
    "server.ftp.kbytes_out",
    "server.other.requests",
    "server.other.errors",
    "server.other.kbytes_in",
    "server.other.kbytes_out",
    "icp.pkts_sent",
    "icp.pkts_recv",
    "icp.queries_sent",
    "icp.replies_sent",
    "icp.queries_recv",
    "icp.replies_recv",
    "icp.query_timeouts",
    "icp.replies_queued",
    "icp.kbytes_sent",
    "icp.kbytes_recv",
    "icp.q_kbytes_sent",
    "icp.r_kbytes_sent",
    "icp.q_kbytes_recv",
    "icp.r_kbytes_recv",
    "icp.times_used",
    "cd.times_used",
    "cd.msgs_sent",
    "cd.msgs_recv",
    "cd.memory",
    "cd.local_memory",
    "cd.kbytes_sent",
    "cd.kbytes_recv",
    "unlink.requests",
    "page_faults",
    "select_loops",
    "cpu_time",
    "swap.outs",
    "swap.ins",
];

/// One equals sign in each line, and every key with a number.
#[test]
fn datadog_finds_its_keys() {
    let page = counters();
    for line in page.lines() {
        assert_eq!(line.matches('=').count(), 1, "{line}");
    }
    for key in DATADOG {
        let value = page.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            (name.trim() == key).then(|| value.trim())
        });
        let value = value.unwrap_or_else(|| panic!("no {key} in:\n{page}"));
        assert!(value.parse::<f64>().is_ok(), "{key} = {value}");
    }
}

/// netdata takes whole numbers alone.
#[test]
fn netdata_finds_whole_numbers() {
    let page = counters();
    for key in DATADOG
        .iter()
        .filter(|key| key.starts_with("client_http.") || key.starts_with("server.all."))
    {
        let value = page
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        assert!(
            value.is_some_and(|value| value.parse::<i64>().is_ok()),
            "{key} = {value:?}"
        );
    }
}

#[test]
fn tools_see_what_they_see_of_squid() {
    if !Path::new(SQUID).exists() {
        println!("skipped: no {SQUID}");
        return;
    }
    let programs = Programs {
        squall: testkit::squall(),
        squid: SQUID.into(),
    };
    let outcome = monitoring::compare(&programs).unwrap();
    println!("{outcome}");
    assert!(outcome.items() > 60, "items are missing");
    assert!(outcome.is_as_expected(), "{outcome}");
}
