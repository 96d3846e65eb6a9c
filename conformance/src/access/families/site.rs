//! Where to: hosts, addresses, ports and schemes of URLs.

use super::{RuleSet, each, gets};

const HOSTS: [&str; 21] = [
    "http://example.com/",
    "http://www.example.com/",
    "http://WWW.Example.COM/",
    "http://a.b.example.com/",
    "http://example.com./",
    "http://www.example.com./",
    "http://badexample.com/",
    "http://example.com.evil.test/",
    "http://example.org/",
    "http://com/",
    "http://host/",
    "http://192.0.2.1/",
    "http://192.0.2.2/",
    "http://198.51.100.7/",
    "http://192.0.2.1:8080/",
    "http://[::1]/",
    "http://[2001:db8::1]/",
    "http://xn--bcher-kva.example/",
    "http://under_score.example/",
    "http://-dash.example/",
    "http://example.com:81/",
];

pub(super) fn rule_sets() -> Vec<RuleSet> {
    let hosts = gets(&HOSTS);
    let mut sets = each("dstdomain", "http_access", "dstdomain", &DOMAINS, &hosts);
    sets.extend(each(
        "dstdom_regex",
        "http_access",
        "dstdom_regex",
        &NAME_PATTERNS,
        &hosts,
    ));
    sets.extend(addresses());
    sets.extend(ports());
    sets.extend(schemes());
    sets
}

/// With `-n` no name of an address is asked for; without it only addresses that `hosts_file` names are in the URLs.
const DOMAINS: [&str; 30] = [
    "-n example.com",
    "-n .example.com",
    "-n .EXAMPLE.com",
    "-n www.example.com",
    "-n example.com www.example.com",
    "-n .com",
    "-n com",
    "-n .",
    "-n .org .com",
    "-n 192.0.2.1",
    "-n .192.0.2.1",
    "-n 192.0.2.1 192.0.2.2 198.51.100.7",
    "-n [::1]",
    "-n ::1",
    "-n .example.com.",
    "-n example.com.",
    "-n xn--bcher-kva.example",
    "-n host",
    "-n .host",
    "-n none",
    "-n *.example.com",
    "-n -dash.example under_score.example",
    "-n .b.example.com .example.org",
    "-n ..example.com",
    "-n [2001:db8::1]",
    "-n .example",
    "-n a.b.example.com badexample.com",
    "-n .evil.test example.com",
    "-n test .test",
    "-n example.com:81",
];

const NAME_PATTERNS: [&str; 18] = [
    "-n ^example",
    "-n example\\.com$",
    "-n -i EXAMPLE",
    "-n Example",
    "-n (^|\\.)example\\.(com|org)$",
    "-n ^[0-9.]+$",
    "-n ^\\[",
    "-n :",
    "-n none",
    "-n _",
    "-n ^xn--",
    "-n \\.$",
    "-n ^.{3}$",
    "-n -i WWW +i EXAMPLE",
    "-n ^a\\.",
    "-n .",
    "-n ^192\\.0\\.2\\.",
    "-n user",
];

/// `dst`, and names of addresses, by `hosts_file`.
fn addresses() -> Vec<RuleSet> {
    let asks = gets(&[
        "http://192.0.2.1/",
        "http://192.0.2.2:8080/",
        "http://198.51.100.7/",
        "http://one.hosts.example/",
        "http://TWO.hosts.example/",
        "http://seven.hosts.example/",
        "http://[2001:db8::1]/",
        "http://127.0.0.1/",
        "http://localhost/",
    ]);
    let values = [
        "192.0.2.0/24",
        "-n 192.0.2.0/24",
        "192.0.2.1",
        "192.0.2.1-192.0.2.2",
        "198.51.100.0/255.255.255.0",
        "all",
        "ipv4",
        "ipv6",
        "2001:db8::/32",
        "-n 192.0.2.2 198.51.100.7",
        "0.0.0.0/0",
        "::/0",
        "127.0.0.0/8 ::1",
        "192.0.2.3-192.0.2.255",
    ];
    let mut sets = each("dst", "http_access", "dst", &values, &asks);
    let named = gets(&[
        "http://192.0.2.1/",
        "http://192.0.2.2/",
        "http://198.51.100.7:81/",
        "http://one.hosts.example/",
    ]);
    let domains = [
        "one.hosts.example",
        ".hosts.example",
        "192.0.2.1",
        "two.hosts.example 198.51.100.7",
        "none",
        "-n .hosts.example",
    ];
    sets.extend(each(
        "dst names",
        "http_access",
        "dstdomain",
        &domains,
        &named,
    ));
    let patterns = ["^one", "-i HOSTS", "192", "-n hosts", "none"];
    sets.extend(each(
        "dst names",
        "http_access",
        "dstdom_regex",
        &patterns,
        &named,
    ));
    for list in ["to_localhost", "to_linklocal"] {
        sets.push(RuleSet::new(
            "dst",
            list,
            format!("http_access deny {list}\nhttp_access allow all"),
            gets(&[
                "http://127.0.0.1/",
                "http://127.9.9.9/",
                "http://0.0.0.0/",
                "http://[::1]/",
                "http://[::]/",
                "http://169.254.1.1/",
                "http://[fe80::1]/",
                "http://192.0.2.1/",
                "http://localhost/",
                "http://one.hosts.example/",
            ]),
        ));
    }
    sets
}

fn ports() -> Vec<RuleSet> {
    let asks = gets(&[
        "http://a.example/",
        "http://a.example:80/",
        "http://a.example:81/",
        "http://a.example:443/",
        "http://a.example:1024/",
        "http://a.example:1025/",
        "http://a.example:8080/",
        "http://a.example:65535/",
        "http://a.example:1/",
        "http://a.example:080/",
        "http://a.example:/",
        "ftp://a.example/x",
    ]);
    let values = [
        "80",
        "81",
        "443",
        "80 443",
        "80-443",
        "1025-65535",
        "1-65535",
        "0",
        "0-80",
        "1024-1024",
        "21",
        "80 21 443 70 210 280 488 591 777 1025-65535",
        "65535",
        "81-80",
        "8080 80-81",
    ];
    each("port", "http_access", "port", &values, &asks)
}

fn schemes() -> Vec<RuleSet> {
    let asks = gets(&[
        "http://a.example/",
        "HTTP://a.example/",
        "https://a.example/",
        "ftp://a.example/",
        "http://a.example:443/",
        "cache_object://127.0.0.1/info",
        "foo://a.example/",
    ]);
    let values = [
        "HTTP",
        "http",
        "FTP",
        "HTTPS",
        "https ftp",
        "CACHE_OBJECT",
        "HTTP FTP HTTPS",
        "foo",
        "none",
        "URN",
    ];
    each("proto", "http_access", "proto", &values, &asks)
}
