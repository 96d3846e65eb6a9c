//! Who asks, from where, at which port, and when.

use super::{Ask, RuleSet, each};

const SITE: &str = "http://site.example/";

const ADDRESSES: [&str; 21] = [
    "127.0.0.1",
    "127.0.0.2 127.0.0.3",
    "127.0.0.0/30",
    "127.0.0.0/255.255.255.252",
    "127.0.0.2-127.0.0.4",
    "127.0.0.0-127.0.0.15/28",
    "127.0.0.0/8",
    "127.0.0.5/30",
    "all",
    "0.0.0.0/0",
    "ipv4",
    "ipv6",
    "::/0",
    "::1",
    "10.0.0.0/8",
    "127.0.0.2/32 127.0.0.3/255.255.255.255",
    "127.0.0.1-127.0.0.1",
    "127.0.0.3 127.0.0.1-127.0.0.4 127.0.0.0/31",
    "::ffff:127.0.0.2",
    "0.0.0.0",
    "127.0.0.16/28 127.0.0.4",
];

pub(super) fn rule_sets() -> Vec<RuleSet> {
    let mut sets = Vec::new();
    let hosts = [1, 2, 3, 4, 5, 8, 15, 17];
    let from: Vec<Ask> = hosts
        .iter()
        .map(|host| Ask::get(SITE).from(*host))
        .collect();
    sets.extend(each("src", "http_access", "src", &ADDRESSES, &from));
    let to: Vec<Ask> = [1, 2, 3, 4, 5, 17]
        .iter()
        .map(|host| Ask::get(SITE).to(*host))
        .collect();
    for kind in ["localip", "myip"] {
        let places = each("localip", "http_access", kind, &ADDRESSES, &to);
        sets.extend(places.into_iter().map(|set| RuleSet {
            conf: format!("http_port {{port}}\n{}", set.conf),
            ..set
        }));
    }
    sets.extend(ports());
    sets.extend(names());
    sets.extend(times());
    sets.extend(crowds());
    sets
}

/// `localport` and `myportname`: two ports, one with a name.
fn ports() -> Vec<RuleSet> {
    let asks = [
        Ask::get(SITE),
        Ask::get(SITE).port(2),
        Ask::by("POST", SITE).field("Content-Length", "0").port(2),
    ];
    let kinds = [
        "localport {port}",
        "localport {second}",
        "localport 1-65535",
        "localport {port} {second}",
        "localport 1",
        "myport {second}",
        "localport {second}-{second}",
        "myportname guests",
        "myportname {port}",
        "myportname Guests",
        "myportname 127.0.0.1:{port}",
        "myportname other guests",
        "myportname all",
    ];
    let sets = each("localport", "http_access", "", &kinds, &asks);
    let with_ports = |set: RuleSet| RuleSet {
        conf: format!(
            "http_port 127.0.0.1:{{port}}\nhttp_port 127.0.0.1:{{second}} name=guests\n{}",
            set.conf
        ),
        ..set
    };
    sets.into_iter().map(with_ports).collect()
}

/// Names of clients; those of `hosts_file` need no DNS.
fn names() -> Vec<RuleSet> {
    let asks: Vec<Ask> = [2, 3]
        .iter()
        .map(|host| Ask::get(SITE).from(*host))
        .collect();
    let domains = [
        "two.clients.example",
        ".clients.example",
        "clients.example",
        ".TWO.clients.example",
        "two",
        "two.clients.example three.clients.example",
        ".example",
        "three.clients.example.",
    ];
    let patterns = ["^two", "-i TWO", "clients", "TWO", "example$", "-n two"];
    let mut sets = each("srcdomain", "http_access", "srcdomain", &domains, &asks);
    sets.extend(each(
        "srcdomain",
        "http_access",
        "srcdom_regex",
        &patterns,
        &asks,
    ));
    sets
}

/// Each day by its letter, alone and together, all hours and none.
fn times() -> Vec<RuleSet> {
    let asks = [Ask::get(SITE)];
    let values = [
        "S",
        "M",
        "T",
        "W",
        "H",
        "F",
        "A",
        "D",
        "SMTWHFA",
        "SA",
        "MTWHF",
        "DA",
        "DS",
        "00:00-24:00",
        "00:00-23:59",
        "SMTWHFA 00:00-24:00",
        "M 00:00-24:00",
        "S 00:00-24:00",
        "T 00:00-24:00",
        "W 00:00-24:00",
        "H 00:00-24:00",
        "F 00:00-24:00",
        "A 00:00-24:00",
        "00:00-00:00",
        "0:0-24:00",
        "S M T W H F A",
        "S T",
        "00:00-12:00",
        "12:00-24:00",
        "00:00-12:00 12:00-24:00",
        "MW F 00:00-24:00",
        "D 00:00-24:00",
        "00:00-06:00",
        "06:00-12:00",
        "12:00-18:00",
        "18:00-24:00",
    ];
    each("time", "http_access", "time", &values, &asks)
}

/// How many connections a client has, and chance that is none.
fn crowds() -> Vec<RuleSet> {
    let asks = [
        Ask::get(SITE),
        Ask::get(SITE).beside(1).fresh(),
        Ask::get(SITE).from(2).beside(2).fresh(),
        Ask::get(SITE).beside(4).fresh(),
        Ask::get(SITE).from(3).fresh(),
    ];
    let mut sets = each(
        "maxconn",
        "http_access",
        "maxconn",
        &["0", "1", "2", "3", "10"],
        &asks,
    );
    let chances = [
        "0.0000001",
        "0.9999999",
        "1/100000000",
        "99999999/100000000",
    ];
    sets.extend(each(
        "random",
        "http_access",
        "random",
        &chances,
        &asks[..1],
    ));
    sets
}
