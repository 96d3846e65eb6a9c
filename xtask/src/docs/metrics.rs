//! `docs/metrics.md`: what is measured, and how a collector gets at it; the names as the tables of
//! `admin` give them. Used as `page` is.

use std::fmt::Write as _;

use admin::metrics::{Listed, listed};

const INTRO: &str = "\
# Metrics, health and SNMP

<!-- Written by `cargo xtask docs`; the names come from the tables in crates/stats and crates/admin. Do not edit. -->

```squid.conf
http_port 3128
http_access allow localhost

# Collectors need no way into the proxy: a port of their own answers them alone.
acl monitor src 192.0.2.0/24
manager_port 9301
manager_access allow localhost
manager_access allow monitor
manager_access deny all

# For those who poll by SNMP.
acl public snmp_community public
snmp_port 3401
snmp_access allow public localhost
snmp_access deny all
```

| path | answers |
| --- | --- |
| `/metrics` | every number below, for Prometheus and all who read its format |
| `/healthz` | 200 while the process answers: restart it when it doesn't |
| `/readyz` | 200 while it can forward, else 503; send it no clients meanwhile |

They are pages of the cache manager: `http://proxy:3128/metrics` is short for
`http://proxy:3128/squid-internal-mgr/metrics`, and `http_access` says who may see it (`manager_access` on a
`manager_port`). The stock rules let this host alone in.

## Prometheus

```yaml
scrape_configs:
  - job_name: squall
    static_configs: [{targets: ['proxy.example:9301']}]
```

A collector that asks for OpenMetrics gets OpenMetrics 1.0, others the text format 0.0.4. Times are seconds, sizes bytes.
Numbers are sums over all workers; reading them takes no lock that a request waits for. A histogram has 22 buckets at most,
whose bounds are powers of two of what it counts in.

[`examples/grafana/squall.json`](../examples/grafana/squall.json) is a dashboard to import into Grafana,
[`examples/prometheus/alerts.yml`](../examples/prometheus/alerts.yml) a set of alert rules.

The names of squid-exporter 1.13 stand beside ours, so that dashboards and alerts made for it go on working without it:
`metrics_squid_exporter off` leaves them out. They say what the exporter would have read from the pages `counters`, `info`
and `service_times`, kilobytes that it calls bytes included. The exporter itself works too.

## Ready?

`/readyz` names each check with its outcome:

| check | fails when |
| --- | --- |
| `workers` | no worker answers within a second, or the proxy is shutting down |
| `ports` | no `http_port` is open |
| `hops` | nothing can be forwarded to: every way goes through parents and all are dead, or a way goes to origins and the name servers don't answer |
| `helpers` | a pool of helper programs for logins or external ACLs has no process that runs |

Name servers are asked for `readiness.test`, which doesn't exist; that they say so is an answer. What they said is
remembered as long as other names that don't exist (`negative_dns_ttl`), and so is their silence.

## SNMP

The agent speaks v1 and v2c (Get, GetNext, GetBulk), reads only, and has the whole of SQUID-MIB, below
`1.3.6.1.4.1.3495.1`, with the types and rows that Squid 5 gives. `snmp_access` sees the community, the address and the
time; an ACL that would have to look something up doesn't match here. What isn't allowed or can't be read is dropped without
an answer and counted (`squall_snmp_denied_total`, `squall_snmp_malformed_total`). A question holds 4,096 bytes and 256 names
at most, and so does an answer: a bulk answer ends there.

ICP counters are 0 as long as no ICP is spoken. `cacheCurrentLRUExpiration` and `cacheCurrentUnlinkRequests` are always 0:
what leaves the cache isn't the least recently used alone, and nothing is unlinked.
";

/// The page.
pub(crate) fn page() -> String {
    let mut page = String::from(INTRO);
    let mut group = "";
    for one in listed() {
        if one.group != group {
            group = one.group;
            say(&mut page, format_args!("\n## {group}\n"));
            say(&mut page, "| name | kind | unit | labels | what it says |");
            say(&mut page, "| --- | --- | --- | --- | --- |");
        }
        say(&mut page, line(&one));
    }
    page
}

fn line(one: &Listed) -> String {
    let Listed {
        name,
        kind,
        unit,
        labels,
        help,
        ..
    } = one;
    format!(
        "| `{name}` | {kind} | {unit} | {labels} | {} |",
        help.replace('|', "\\|")
    )
}

fn say(page: &mut String, text: impl std::fmt::Display) {
    writeln!(page, "{text}").expect("a String takes all that is written");
}
