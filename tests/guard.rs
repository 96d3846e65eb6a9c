//! What names may lead to: `private_destination_access`, judged for the address that is connected to.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use testkit::{Client, NameServer, Origin, Program, Reply, Request};

use crate::support::{Entry, client};

/// A proxy that asks a scripted name server, and keeps no answer.
struct Scene {
    origin: Origin,
    names: NameServer,
    program: Program,
}

impl Scene {
    fn new(conf: &str, answer: impl FnMut(&str) -> Vec<&'static str> + Send + 'static) -> Self {
        let origin = Origin::start(|_: &Request| Reply::ok("secret"));
        let names = NameServer::start(answer);
        let conf = conf.replace("{origin}", &origin.port().to_string());
        let program = Program::start(&format!(
            "dns_nameservers {}
hosts_file none
negative_dns_ttl 0 seconds
connect_timeout 1 second
forward_timeout 1 second
{conf}
http_access allow all
",
            names.addr()
        ));
        Self {
            origin,
            names,
            program,
        }
    }

    fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/", self.origin.port())
    }

    fn status(&self, host: &str) -> u16 {
        client(&self.program).get(&self.url(host)).status
    }
}

/// A name that leads to this machine is refused, by a page and a log line that say why, and nothing is connected to.
#[test]
fn a_name_does_not_lead_inside() {
    let scene = Scene::new("private_destination_access deny all", |name| match name {
        "loop.test" => vec!["127.0.0.1"],
        "mapped.test" => vec!["::ffff:127.0.0.1"],
        "nat64.test" => vec!["64:ff9b::7f00:1"],
        "meta.test" => vec!["169.254.169.254", "fd00:ec2::254"],
        "lan.test" => vec!["192.168.1.1"],
        "zero.test" => vec!["0.0.0.0"],
        _ => vec![],
    });
    let answer = client(&scene.program).get(&scene.url("loop.test"));
    assert_eq!(answer.status, 403);
    assert_eq!(answer.field("X-Squid-Error"), Some("ERR_ACCESS_DENIED 0"));
    let page = answer.text();
    assert!(
        page.contains("private_destination_access deny all"),
        "{page}"
    );
    assert!(
        page.contains("loop.test leads to a loopback address"),
        "{page}"
    );
    let entry = Entry::of(
        &scene
            .program
            .wait_for_log(|line| line.contains("loop.test")),
    );
    assert_eq!(
        (&*entry.result, &*entry.hierarchy),
        ("TCP_DENIED/403", "HIER_NONE/-")
    );
    for host in [
        "mapped.test",
        "nat64.test",
        "meta.test",
        "lan.test",
        "zero.test",
    ] {
        assert_eq!(scene.status(host), 403, "{host}");
    }
    let page = client(&scene.program).get(&scene.url("meta.test"));
    let page = page.text();
    assert!(page.contains("a cloud metadata address"), "{page}");
    assert!(
        !page.contains("169.254"),
        "where it is, is not told: {page}"
    );
    let mut tunnel = client(&scene.program);
    let target = format!("loop.test:{}", scene.origin.port());
    tunnel.send_request("CONNECT", &target, &[]);
    assert_eq!(tunnel.response_to("CONNECT").status, 403);
    assert_eq!(scene.origin.connections(), 0);
}

/// An address in the URL was seen by the rules, and isn't judged again.
#[test]
fn addresses_in_urls_are_for_http_access() {
    let scene = Scene::new("private_destination_access deny all", |_| vec![]);
    assert_eq!(scene.status("127.0.0.1"), 200);
    assert_eq!(scene.names.asked().len(), 0);
}

/// Of several addresses, those that pass are used.
#[test]
fn addresses_are_judged_one_by_one() {
    let conf = "acl here dst 127.0.0.1
private_destination_access allow here
private_destination_access deny all";
    let scene = Scene::new(conf, |name| match name {
        "both.test" => vec!["127.0.0.2", "127.0.0.1"],
        _ => vec!["127.0.0.2"],
    });
    assert_eq!(scene.status("both.test"), 200);
    assert_eq!(scene.status("other.test"), 403);
    let entry = Entry::of(
        &scene
            .program
            .wait_for_log(|line| line.contains("both.test")),
    );
    assert_eq!(entry.hierarchy, "HIER_DIRECT/127.0.0.1");
}

/// A name server that says another thing at each question never gets a connection to loopback, whichever comes first.
#[test]
fn rebinding_does_not_lead_inside() {
    for (first, conf) in [
        (0, "private_destination_access deny all"),
        (2, "private_destination_access deny all"),
        (
            0,
            "private_destination_access deny all\nhttp_access deny to_localhost",
        ),
        // The address that this rule has judged is the one that is connected to.
        (
            0,
            "private_destination_access allow all\nhttp_access deny to_localhost",
        ),
        (
            2,
            "private_destination_access allow all\nhttp_access deny to_localhost",
        ),
    ] {
        let turn = AtomicUsize::new(first);
        let scene = Scene::new(conf, move |_| {
            // Each look-up asks for both families.
            let outside = (turn.fetch_add(1, Relaxed) / 2).is_multiple_of(2);
            vec![if outside { "2001:db8::1" } else { "127.0.0.1" }]
        });
        let mut refused = 0;
        for _ in 0..6 {
            match scene.status("rebind.test") {
                403 => refused += 1,
                status => assert!(status >= 500, "{status}"),
            }
        }
        assert!(refused > 0, "{conf}");
        assert!(scene.names.asked().len() >= 6, "{:?}", scene.names.asked());
        assert_eq!(scene.origin.connections(), 0, "{conf}");
    }
}

/// Peers and an accelerator's origins are where the configuration says.
#[test]
fn peers_are_not_judged() {
    let conf = "private_destination_access deny all
cache_peer parent.test parent {origin} 0 no-query originserver
never_direct allow all";
    let scene = Scene::new(conf, |_| vec!["127.0.0.1"]);
    assert_eq!(scene.status("www.example.com"), 200);
    let conf = "private_destination_access deny all
http_port 127.0.0.1:{port} accel vhost allow-direct";
    let scene = Scene::new(conf, |_| vec!["127.0.0.1"]);
    let host = format!("www.test:{}", scene.origin.port());
    let answer = client(&scene.program).request("GET", "/", &[("Host", &host)]);
    assert_eq!(answer.status, 200);
}

/// A configuration that doesn't name the directive works as it did; the cache log tells once what it may lead to.
#[test]
fn without_a_line_names_lead_anywhere_and_the_log_says_so() {
    let scene = Scene::new("", |_| vec!["127.0.0.1"]);
    let warnings = |scene: &Scene| {
        let log = scene.program.read("cache.log");
        log.matches("private_destination_access").count()
    };
    assert_eq!(warnings(&scene), 0);
    for host in ["one.test", "two.test"] {
        assert_eq!(scene.status(host), 200);
    }
    assert_eq!(warnings(&scene), 1, "{}", scene.program.read("cache.log"));
    let scene = Scene::new("private_destination_access allow all", |_| {
        vec!["127.0.0.1"]
    });
    assert_eq!(scene.status("one.test"), 200);
    assert_eq!(warnings(&scene), 0);
}

/// Spellings of places inside, as hosts of URLs: none leads there. Numbers that are no dotted quad are names.
#[test]
fn no_spelling_leads_inside() {
    let scene = Scene::new(
        "private_destination_access deny all
http_access deny to_localhost
http_access deny to_linklocal",
        |name| match name.split('.').next().unwrap_or_default() {
            // What resolvers of other programs make of such names.
            "2130706433" | "0x7f000001" | "017700000001" | "0177" | "0x7f" | "127" => {
                vec!["127.0.0.1"]
            }
            "2852039166" | "0xa9fea9fe" => vec!["169.254.169.254"],
            "0" => vec!["0.0.0.0"],
            "loop" => vec!["127.8.8.8"],
            "six" => vec!["::1"],
            "any" => vec!["0.0.0.0"],
            "any6" => vec!["::"],
            "mapped" => vec!["::ffff:127.0.0.1"],
            "compatible" => vec!["::127.0.0.1"],
            "nat64" => vec!["64:ff9b::7f00:1"],
            "nat64local" => vec!["64:ff9b:1::7f00:1"],
            "sixtofour" => vec!["2002:7f00:1::1"],
            "teredo" => vec!["2001:0:4136:e378:8000:63bf:80ff:fffe"],
            "meta" => vec!["169.254.169.254"],
            "meta6" => vec!["fd00:ec2::254"],
            "mappedmeta" => vec!["::ffff:a9fe:a9fe"],
            "nat64meta" => vec!["64:ff9b::a9fe:a9fe"],
            "link" => vec!["fe80::1"],
            "ten" => vec!["10.0.0.1"],
            "twelve" => vec!["172.16.0.1"],
            "home" => vec!["192.168.0.1"],
            "carrier" => vec!["100.64.0.1"],
            "unique" => vec!["fd12::1"],
            "nat64ten" => vec!["64:ff9b::a00:1"],
            "many" => vec!["239.0.0.1"],
            _ => vec![],
        },
    );
    let port = scene.origin.port();
    let names = [
        "loop",
        "six",
        "any",
        "any6",
        "mapped",
        "compatible",
        "nat64",
        "nat64local",
        "sixtofour",
        "teredo",
        "meta",
        "meta6",
        "mappedmeta",
        "nat64meta",
        "link",
        "ten",
        "twelve",
        "home",
        "carrier",
        "unique",
        "nat64ten",
        "many",
    ];
    let names = names.iter().flat_map(|name| {
        let upper = name.to_uppercase();
        [
            format!("{name}.test"),
            format!("{name}.test."),
            format!("{upper}.TEST"),
        ]
    });
    let literals = [
        "127.0.0.1",
        "127.255.255.254",
        "127.0.0.1.",
        "0.0.0.0",
        "169.254.169.254",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[0000:0000:0000:0000:0000:0000:0000:0001]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:169.254.169.254]",
        "[fe80::1]",
        "localhost",
        "LOCALHOST.",
        "2130706433",
        "0x7f000001",
        "0x7F000001",
        "0x7f.1",
        "127.1",
        "2852039166",
        "0xa9fea9fe",
        "0",
    ];
    // Octal numbers and logins belong to no host.
    let none = [
        "017700000001",
        "0177.0.0.1",
        "user:pw@127.0.0.1",
        "public.test@127.0.0.1",
        "user:pw@loop.test",
    ];
    let inside = names
        .chain(literals.map(str::to_owned))
        .map(|host| (host, 403));
    for (host, status) in inside.chain(none.map(|host| (host.to_owned(), 400))) {
        let mut client = Client::connect(scene.program.addr());
        client.send_request("GET", &format!("http://{host}:{port}/"), &[]);
        assert_eq!(client.response().status, status, "GET {host}");
        let mut tunnel = Client::connect(scene.program.addr());
        tunnel.send_request("CONNECT", &format!("{host}:{port}"), &[]);
        assert_eq!(
            tunnel.response_to("CONNECT").status,
            status,
            "CONNECT {host}"
        );
    }
    assert_eq!(scene.origin.connections(), 0);
}
