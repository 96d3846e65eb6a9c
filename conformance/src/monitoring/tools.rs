//! The tools: how each asks, and how it reads what it gets.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use testkit::{Client, Program, free_port, is_listening, until};

use super::{Items, snmp_port};

/// A tool that watches a Squid.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// What it sees; `None` when it isn't installed.
    pub(super) look: fn(&Program) -> Result<Option<Items>>,
}

/// All of them, in the order in which they look: each adds requests that the next one sees.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "datadog",
        look: |program| Ok(Some(datadog(&page(program, "counters")))),
    },
    Tool {
        name: "netdata",
        look: |program| Ok(Some(netdata(&page(program, "counters")))),
    },
    Tool {
        name: "squidclient",
        look: squidclient,
    },
    Tool {
        name: "munin",
        look: munin,
    },
    Tool {
        name: "squid-exporter",
        look: exporter,
    },
    Tool {
        name: "zabbix",
        look: zabbix,
    },
    Tool {
        name: "snmpwalk",
        look: snmpwalk,
    },
];

fn page(program: &Program, name: &str) -> String {
    let mut client = Client::connect(program.addr());
    client.get(&format!("/squid-internal-mgr/{name}")).text()
}

/// integrations-core/squid: lines with exactly one equals sign; keys lose their blanks.
fn datadog(counters: &str) -> Items {
    let pairs = counters.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (!value.contains('=')).then(|| (key.trim().to_owned(), value.trim().to_owned()))
    });
    pairs.collect()
}

/// go.d squid: these ten, whole numbers only.
fn netdata(counters: &str) -> Items {
    const KEYS: [&str; 10] = [
        "client_http.kbytes_in",
        "client_http.kbytes_out",
        "server.all.errors",
        "server.all.requests",
        "server.all.kbytes_out",
        "server.all.kbytes_in",
        "client_http.errors",
        "client_http.hits",
        "client_http.requests",
        "client_http.hit_kbytes_out",
    ];
    let all = datadog(counters).into_iter();
    all.filter(|(key, value)| KEYS.contains(&key.as_str()) && value.parse::<i64>().is_ok())
        .collect()
}

/// The real program; the label of each line of `mgr:info` and of `mgr:service_times`.
fn squidclient(program: &Program) -> Result<Option<Items>> {
    if !is_installed("/usr/bin/squidclient") {
        return Ok(None);
    }
    let mut items = Items::new();
    for name in ["info", "service_times", "5min", "storedir", "counters"] {
        let port = program.port().to_string();
        let text = run(Command::new("squidclient").args([
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            &format!("mgr:{name}"),
        ]))?;
        items.extend(labels(name, &text));
    }
    Ok(Some(items))
}

/// `label: value` and `label = value`; other lines are labels without a value.
fn labels(page: &str, text: &str) -> Items {
    let (_, body) = text
        .split_once("\r\n\r\n")
        .or_else(|| text.split_once("\n\n"))
        .unwrap_or(("", text));
    let lines = body.lines().filter(|line| !line.trim().is_empty());
    let pairs = lines.filter_map(|line| {
        let place = line.find([':', '='])?;
        let (label, value) = line.split_at_checked(place)?;
        let value = value
            .get(1..)?
            .split_whitespace()
            .next()
            .unwrap_or_default();
        Some((
            format!("{page} {}", label.trim()),
            value.trim_end_matches('%').to_owned(),
        ))
    });
    pairs.collect()
}

/// The five plugins of munin's core.
fn munin(program: &Program) -> Result<Option<Items>> {
    const FOLDER: &str = "/usr/share/munin/plugins";
    if !is_installed("/usr/share/munin/plugins/squid_cache") {
        return Ok(None);
    }
    let mut items = Items::new();
    for name in [
        "squid_cache",
        "squid_icp",
        "squid_objectsize",
        "squid_requests",
        "squid_traffic",
    ] {
        let mut plugin = Command::new(Path::new(FOLDER).join(name));
        plugin
            .env("squidhost", "127.0.0.1")
            .env("squidport", program.port().to_string());
        plugin.env("MUNIN_LIBDIR", "/usr/share/munin");
        for line in run(&mut plugin)?.lines() {
            if let Some((key, value)) = line.split_once(".value ") {
                items.insert(format!("{name} {key}"), value.trim().to_owned());
            }
        }
    }
    Ok(Some(items))
}

/// The real exporter; each of its samples.
fn exporter(program: &Program) -> Result<Option<Items>> {
    const BINARY: &str = "/usr/bin/prometheus-squid-exporter";
    if !is_installed(BINARY) {
        return Ok(None);
    }
    let port = free_port();
    let child = Command::new(BINARY)
        .args(["-listen", &format!("127.0.0.1:{port}")])
        .args([
            "-squid-hostname",
            "127.0.0.1",
            "-squid-port",
            &program.port().to_string(),
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context(BINARY)?;
    let _ended = Ended(child);
    until("the exporter", || is_listening(port).then_some(()));
    let text = Client::connect(([127, 0, 0, 1], port).into())
        .get("/metrics")
        .text();
    let samples = text.lines().filter(|line| line.starts_with("squid_"));
    let pairs = samples.filter_map(|line| line.rsplit_once(' '));
    Ok(Some(
        pairs
            .map(|(name, value)| (without_names(name), value.to_owned()))
            .collect(),
    ))
}

/// The versions in labels are each program's own.
fn without_names(sample: &str) -> String {
    sample.split('{').next().unwrap_or(sample).to_owned()
}

/// A process that ends with this value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// "Squid by SNMP": names in SQUID-MIB and their places below `1.3.6.1.4.1.3495.1`.
#[rustfmt::skip]
const ZABBIX: &[(&str, &str)] = &[
    ("cacheUptime", "1.3.0"), ("cacheVersionId", "2.3.0"), ("cacheUniqName", "2.6.0"), ("cacheAdmin", "2.1.0"),
    ("cacheMemMaxSize", "2.5.1.0"), ("cacheSwapMaxSize", "2.5.2.0"), ("cacheSwapHighWM", "2.5.3.0"),
    ("cacheSwapLowWM", "2.5.4.0"), ("cacheSysVMsize", "1.1.0"), ("cacheSysStorage", "1.2.0"),
    ("cacheSysPageFaults", "3.1.1.0"), ("cacheSysNumReads", "3.1.2.0"), ("cacheMemUsage", "3.1.3.0"),
    ("cacheCpuTime", "3.1.4.0"), ("cacheCpuUsage", "3.1.5.0"), ("cacheMaxResSize", "3.1.6.0"),
    ("cacheNumObjCount", "3.1.7.0"), ("cacheCurrentLRUExpiration", "3.1.8.0"),
    ("cacheCurrentUnlinkRequests", "3.1.9.0"), ("cacheCurrentUnusedFDescrCnt", "3.1.10.0"),
    ("cacheCurrentResFileDescrCnt", "3.1.11.0"), ("cacheCurrentFileDescrCnt", "3.1.12.0"),
    ("cacheCurrentFileDescrMax", "3.1.13.0"), ("cacheProtoClientHttpRequests", "3.2.1.1.0"),
    ("cacheHttpHits", "3.2.1.2.0"), ("cacheHttpErrors", "3.2.1.3.0"), ("cacheHttpInKb", "3.2.1.4.0"),
    ("cacheHttpOutKb", "3.2.1.5.0"), ("cacheIcpPktsSent", "3.2.1.6.0"), ("cacheIcpPktsRecv", "3.2.1.7.0"),
    ("cacheIcpKbSent", "3.2.1.8.0"), ("cacheIcpKbRecv", "3.2.1.9.0"), ("cacheServerRequests", "3.2.1.10.0"),
    ("cacheServerErrors", "3.2.1.11.0"), ("cacheServerInKb", "3.2.1.12.0"), ("cacheServerOutKb", "3.2.1.13.0"),
    ("cacheCurrentSwapSize", "3.2.1.14.0"), ("cacheClients", "3.2.1.15.0"),
    ("cacheHttpAllSvcTime.5", "3.2.2.1.2.5"), ("cacheHttpAllSvcTime.60", "3.2.2.1.2.60"),
    ("cacheHttpMissSvcTime.5", "3.2.2.1.3.5"), ("cacheHttpHitSvcTime.5", "3.2.2.1.5.5"),
    ("cacheDnsSvcTime.5", "3.2.2.1.8.5"), ("cacheRequestHitRatio.1", "3.2.2.1.9.1"),
    ("cacheRequestHitRatio.5", "3.2.2.1.9.5"), ("cacheRequestHitRatio.60", "3.2.2.1.9.60"),
    ("cacheRequestByteRatio.1", "3.2.2.1.10.1"), ("cacheRequestByteRatio.5", "3.2.2.1.10.5"),
    ("cacheRequestByteRatio.60", "3.2.2.1.10.60"), ("cacheIpEntries", "4.1.1.0"), ("cacheIpRequests", "4.1.2.0"),
    ("cacheIpHits", "4.1.3.0"), ("cacheIpPendingHits", "4.1.4.0"), ("cacheIpNegativeHits", "4.1.5.0"),
    ("cacheIpMisses", "4.1.6.0"), ("cacheFqdnEntries", "4.2.1.0"), ("cacheFqdnRequests", "4.2.2.0"),
    ("cacheFqdnHits", "4.2.3.0"), ("cacheFqdnMisses", "4.2.6.0"), ("cacheFqdnNegativeHits", "4.2.5.0"),
    ("cacheDnsRequests", "4.3.1.0"), ("cacheDnsReplies", "4.3.2.0"), ("cacheDnsNumberServers", "4.3.3.0"),
];

const SQUID_MIB: &str = ".1.3.6.1.4.1.3495.1";

fn snmp(program: &Program, tool: &str, options: &str, names: &[String]) -> Result<String> {
    let agent = format!("127.0.0.1:{}", snmp_port(program));
    let mut command = Command::new(tool);
    command.args(["-v2c", "-c", "public", "-m", "", "-t", "5", options, &agent]);
    run(command.args(names))
}

/// Values alone, in one question, as Zabbix asks.
fn zabbix(program: &Program) -> Result<Option<Items>> {
    if !is_installed("/usr/bin/snmpget") {
        return Ok(None);
    }
    let names: Vec<String> = ZABBIX
        .iter()
        .map(|(_, place)| format!("{SQUID_MIB}.{place}"))
        .collect();
    let values = snmp(program, "snmpget", "-Oqvt", &names)?;
    let values = values
        .lines()
        .map(|value| value.trim_matches('"').to_owned());
    Ok(Some(
        ZABBIX
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .zip(values)
            .collect(),
    ))
}

/// The whole tree: each name with the type of its value.
fn snmpwalk(program: &Program) -> Result<Option<Items>> {
    if !is_installed("/usr/bin/snmpwalk") {
        return Ok(None);
    }
    let text = snmp(program, "snmpwalk", "-On", &[SQUID_MIB.to_owned()])?;
    let pairs = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(" = ")?;
        // The end of it.
        if value.starts_with("No more variables") {
            return None;
        }
        let kind = value.split(':').next().unwrap_or_default();
        let kind = if kind.starts_with('"') {
            "STRING"
        } else {
            kind
        };
        Some((name.strip_prefix(SQUID_MIB)?.to_owned(), kind.to_owned()))
    });
    Ok(Some(pairs.collect()))
}

fn is_installed(path: &str) -> bool {
    Path::new(path).exists()
}

/// What it prints; a tool that fails prints less.
fn run(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{command:?}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
