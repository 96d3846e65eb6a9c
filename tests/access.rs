//! Who may do what: the stock rules, each type of acl with values in place and from files, and the lists beside
//! `http_access`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{SystemTime, UNIX_EPOCH};

use testkit::{Client, Origin, Program, Reply, Request, until};

use crate::support::{Entry, client, forward};

/// A proxy whose one origin answers for every host, so that names need no DNS, and the rules in question.
struct Door {
    origin: Origin,
    program: Program,
}

impl Door {
    /// Refuses what the acl `x` matches.
    fn denying(acl: &str) -> Self {
        Self::open(acl, &[])
    }

    fn open(acl: &str, files: &[(&str, &str)]) -> Self {
        let origin = Origin::start(|_: &Request| Reply::ok("in"));
        let conf = format!(
            "{acl}
http_access deny x
http_access allow all
cache deny all
never_direct allow all
cache_peer 127.0.0.1 parent {} 0 no-query originserver
",
            origin.port()
        );
        let builder = Program::builder(&conf);
        let builder = files
            .iter()
            .fold(builder, |builder, (name, text)| builder.file(name, text));
        Self {
            origin,
            program: builder.start(),
        }
    }

    /// Is this request refused?
    fn refuses(&self, method: &str, url: &str, fields: &[(&str, &str)]) -> bool {
        let before = self.origin.total();
        let answer = client(&self.program).request(method, url, fields);
        let came = self.origin.total() > before;
        match answer.status {
            403 if !came => true,
            200 if came => false,
            status => panic!("{method} {url}: {status}, at the origin: {came}"),
        }
    }
}

/// Checks which URLs an acl matches.
fn check(acl: &str, matching: &[&str], others: &[&str]) {
    let door = Door::denying(acl);
    for url in matching {
        assert!(door.refuses("GET", url, &[]), "{acl} lets {url} in");
    }
    for url in others {
        assert!(!door.refuses("GET", url, &[]), "{acl} refuses {url}");
    }
}

/// The stock rules refuse a way to this machine itself, by a page that names the rule.
#[test]
fn the_stock_rules() {
    let stock = include_str!("../crates/config/src/built-in.conf");
    let stock = stock.replace("http_port 127.0.0.1:3128", "http_port 127.0.0.1:{port}");
    let program = Program::start(&stock);
    let origin = Origin::start(|_: &Request| Reply::ok("x"));
    let answer = client(&program).get(&origin.url("/"));
    assert_eq!(answer.status, 403);
    assert_eq!(answer.field("X-Squid-Error"), Some("ERR_ACCESS_DENIED 0"));
    let page = answer.text();
    assert!(page.contains("http_access deny to_localhost"), "{page}");
    let line = program.wait_for_log(|line| line.contains("/403"));
    let entry = Entry::of(&line);
    assert_eq!(
        (
            entry.result.as_str(),
            entry.hierarchy.as_str(),
            entry.kind.as_str()
        ),
        ("TCP_DENIED/403", "HIER_NONE/-", "text/html")
    );
    assert_eq!(
        (
            entry.client.as_str(),
            entry.user.as_str(),
            entry.method.as_str()
        ),
        ("127.0.0.1", "-", "GET")
    );
    for (method, target) in [
        ("GET", "http://169.254.169.254/latest/meta-data/"),
        ("GET", "http://192.0.2.1:25/"),
        ("CONNECT", "192.0.2.1:80"),
    ] {
        let mut client = client(&program);
        client.send_request(method, target, &[]);
        assert_eq!(client.response().status, 403, "{method} {target}");
    }
    assert_eq!(origin.connections(), 0);
}

/// A refusal leaves the connection usable.
#[test]
fn a_refused_client_may_go_on() {
    let door = Door::denying("acl x dstdomain bad.example");
    let mut client = client(&door.program);
    for _ in 0..3 {
        assert_eq!(client.get("http://bad.example/").status, 403);
        assert_eq!(client.get("http://good.example/").status, 200);
    }
}

/// A content that was refused is not taken for the next request.
#[test]
fn a_refused_upload_is_not_a_request() {
    let door = Door::denying("acl x method POST");
    let mut client = client(&door.program);
    let inner = "GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n";
    let length = inner.len().to_string();
    client.send_request("POST", "http://a.example/", &[("Content-Length", &length)]);
    client.send(inner);
    assert_eq!(client.response_to("POST").status, 403);
    client.finish();
    client.read_to_close();
    assert_eq!(door.origin.total(), 0);
}

/// `dstdomain`: names with all below them, exact names, addresses; letter case and a last dot don't matter.
#[test]
fn dstdomain() {
    check(
        "acl x dstdomain .tree.example leaf.example 192.0.2.1",
        &[
            "http://tree.example/",
            "http://a.b.tree.example/",
            "http://TREE.example:8080/x",
            "http://leaf.example/",
            "http://192.0.2.1/",
        ],
        &[
            "http://below.leaf.example/",
            "http://notree.example/",
            "http://192.0.2.2/",
        ],
    );
}

/// `dstdom_regex`, plain and without regard to case.
#[test]
fn dstdom_regex() {
    check(
        r"acl x dstdom_regex ^ads?[0-9]*\. (track|count)er",
        &[
            "http://ad7.example/",
            "http://ads.example/",
            "http://my.tracker.example/",
        ],
        &["http://bad.example/", "http://example.example/ads.html"],
    );
}

/// `url_regex` sees the whole URL, `urlpath_regex` path and query.
#[test]
fn regexes_of_urls() {
    check(
        r"acl x url_regex ^http://a\.example/.*secret",
        &["http://a.example/the/secret/", "http://A.example/x?secret"],
        &["http://b.example/secret", "http://a.example/SECRET"],
    );
    check(
        r"acl x urlpath_regex -i \.exe$ ^/private/ q=1",
        &[
            "http://a.example/x.EXE",
            "http://b.example/private/",
            "http://c.example/?q=1",
        ],
        &["http://private.example/", "http://a.exe/"],
    );
}

/// `port`, with ranges; `proto`; `method`.
#[test]
fn port_proto_and_method() {
    check(
        "acl x port 81 8000-8010",
        &["http://a.example:81/", "http://a.example:8005/"],
        &["http://a.example/", "http://a.example:8011/"],
    );
    check("acl x proto HTTP", &["http://a.example/"], &[]);
    check("acl x proto FTP", &[], &["http://a.example/"]);
    let door = Door::denying("acl x method POST PURGE DELETE");
    let url = "http://a.example/";
    assert!(door.refuses("DELETE", url, &[]));
    assert!(door.refuses("PURGE", url, &[]));
    assert!(!door.refuses("GET", url, &[]));
    assert!(!door.refuses("OPTIONS", url, &[]));
}

/// `browser`, `referer_regex` and `req_header` look at the request's fields.
#[test]
fn request_fields() {
    let url = "http://a.example/";
    let door = Door::denying("acl x browser -i ^curl/ Robot");
    assert!(door.refuses("GET", url, &[("User-Agent", "Curl/8")]));
    assert!(door.refuses("GET", url, &[("User-Agent", "A robot")]));
    assert!(!door.refuses("GET", url, &[("User-Agent", "not curl/8")]));
    assert!(!door.refuses("GET", url, &[]));
    let door = Door::denying(r"acl x referer_regex ^http://evil\.");
    assert!(door.refuses("GET", url, &[("Referer", "http://evil.example/")]));
    assert!(!door.refuses("GET", url, &[("Referer", "http://good.example/")]));
    let door = Door::denying("acl x req_header X-Tag -i ^danger");
    assert!(door.refuses("GET", url, &[("x-tag", "DANGEROUS")]));
    assert!(!door.refuses("GET", url, &[("x-tag", "safe")]));
    assert!(!door.refuses("GET", url, &[("x-other", "danger")]));
}

/// `src`: addresses, masks and ranges.
#[test]
fn src() {
    let from = |door: &Door, last: u8| {
        let source = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
        let mut client = Client::connect_from(source, door.program.addr());
        client.get("http://a.example/").status
    };
    for (values, refused, taken) in [
        ("127.0.0.2", 2, 3),
        ("127.0.0.16/28", 31, 32),
        ("127.0.0.5-127.0.0.9", 9, 10),
    ] {
        let door = Door::denying(&format!("acl x src {values}"));
        assert_eq!(
            (from(&door, refused), from(&door, taken)),
            (403, 200),
            "{values}"
        );
    }
}

/// `dst` is the address that the name stands for, here by the hosts file.
#[test]
fn dst() {
    let files = [(
        "hosts",
        "192.0.2.7 seven.example\n192.0.2.8 eight.example\n",
    )];
    let door = Door::open(
        "hosts_file {dir}/hosts\nacl x dst 192.0.2.7 198.51.100.0/24",
        &files,
    );
    assert!(door.refuses("GET", "http://seven.example/", &[]));
    assert!(door.refuses("GET", "http://198.51.100.99/", &[]));
    assert!(!door.refuses("GET", "http://eight.example/", &[]));
    assert!(!door.refuses("GET", "http://192.0.2.8/", &[]));
}

/// `localip` and `localport` are where the client connected to.
#[test]
fn localip_and_localport() {
    let status = |addr: SocketAddr| Client::connect(addr).get("http://a.example/").status;
    let door = Door::denying("http_port {port}\nacl x localip 127.0.0.3");
    let port = door.program.port();
    assert_eq!(status(([127, 0, 0, 3], port).into()), 403);
    assert_eq!(status(([127, 0, 0, 4], port).into()), 200);
    let other = testkit::free_port();
    let door = Door::denying(&format!(
        "http_port 127.0.0.1:{{port}}\nhttp_port 127.0.0.1:{other}\nacl x localport {other}"
    ));
    assert_eq!(status(([127, 0, 0, 1], other).into()), 403);
    assert_eq!(status(door.program.addr()), 200);
}

/// `time`: days, and hours of the day.
#[test]
fn time() {
    const DAYS: [char; 7] = ['S', 'M', 'T', 'W', 'H', 'F', 'A'];
    let days = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
        / 86_400;
    // 1970 began on a Thursday. Three days from now is another day in every time zone.
    let far = DAYS[usize::try_from((days + 4 + 3) % 7).unwrap()];
    check(
        "acl x time SMTWHFA 00:00-24:00",
        &["http://a.example/"],
        &[],
    );
    check("acl x time 00:00-24:00", &["http://a.example/"], &[]);
    check(&format!("acl x time {far}"), &[], &["http://a.example/"]);
}

/// Values come from files too, with lines of comment and blank ones, and beside values in place.
#[test]
fn values_from_files() {
    let files = [("list", "# those\none.example\n\n.two.example\n")];
    let door = Door::open("acl x dstdomain \"{dir}/list\" three.example", &files);
    for url in [
        "http://one.example/",
        "http://a.two.example/",
        "http://three.example/",
    ] {
        assert!(door.refuses("GET", url, &[]), "{url}");
    }
    assert!(!door.refuses("GET", "http://four.example/", &[]));
    let files = [
        ("patterns", "\\.mp3$\n^/video/\n"),
        ("clients", "127.0.0.2\n127.0.0.3\n"),
    ];
    let door = Door::open("acl x urlpath_regex -i \"{dir}/patterns\"", &files);
    assert!(door.refuses("GET", "http://a.example/a.MP3", &[]));
    assert!(!door.refuses("GET", "http://a.example/a.mp4", &[]));
    let door = Door::open("acl x src \"{dir}/clients\"", &files);
    assert!(!door.refuses("GET", "http://a.example/", &[]));
}

/// A list of very many domains answers as a short one does.
#[test]
fn a_long_list() {
    let list: String = (0..100_000)
        .map(|number| format!(".host{number}.example\n"))
        .collect();
    let door = Door::open("acl x dstdomain \"{dir}/list\"", &[("list", &list)]);
    assert!(door.refuses("GET", "http://a.host99999.example/", &[]));
    assert!(door.refuses("GET", "http://host0.example/", &[]));
    assert!(!door.refuses("GET", "http://host100000.example/", &[]));
}

/// Acls of one line must all match, `!` turns one round, the first line that matches decides, and the end is the
/// last line's opposite.
#[test]
fn the_order_of_rules() {
    let origin = Origin::start(|_: &Request| Reply::ok("in"));
    let program = Program::start(&format!(
        "acl a dstdomain a.example
acl pages urlpath_regex ^/pages/
acl get method GET
http_access allow a pages
http_access deny a !get
http_access allow a
never_direct allow all
cache_peer 127.0.0.1 parent {} 0 no-query originserver",
        origin.port()
    ));
    for (method, url, status) in [
        ("GET", "http://a.example/pages/", 200),
        ("DELETE", "http://a.example/pages/", 200),
        ("DELETE", "http://a.example/", 403),
        ("GET", "http://a.example/", 200),
        ("GET", "http://b.example/pages/", 403),
    ] {
        assert_eq!(
            client(&program).request(method, url, &[]).status,
            status,
            "{method} {url}"
        );
    }
}

/// The page names the rule, with file and line, and is for the client's eyes: nothing of the URL is taken as HTML.
#[test]
fn the_page_of_a_refusal() {
    let door = Door::denying("acl x urlpath_regex script");
    let answer =
        client(&door.program).get("http://a.example/%3Cscript%3E?<script>alert(1)</script>");
    assert!(matches!(answer.status, 400 | 403), "{}", answer.status);
    assert!(
        !answer.text().contains("<script>alert"),
        "{}",
        answer.text()
    );
    let answer = client(&door.program).get("http://a.example/script");
    assert!(
        answer.text().contains("http_access deny x"),
        "{}",
        answer.text()
    );
    assert!(answer.text().contains("squid.conf"), "{}", answer.text());
}

/// `http_reply_access` looks at replies: what it denies isn't sent, from the origin or from the cache.
#[test]
fn replies_may_be_refused() {
    let origin = Origin::start(|request: &Request| {
        let kind = if request.target == "/film" {
            "video/mp4"
        } else {
            "text/html"
        };
        Reply::ok("secret")
            .field("Content-Type", kind)
            .field("Cache-Control", "max-age=600")
    });
    let program = forward("acl film rep_mime_type ^video/\nhttp_reply_access deny film");
    let mut client = client(&program);
    for _ in 0..2 {
        let answer = client.get(&origin.url("/film"));
        assert_eq!(answer.status, 403);
        assert!(!answer.text().contains("secret"));
        assert_eq!(client.get(&origin.url("/page")).text(), "secret");
    }
    program.wait_for_log(|line| line.contains("TCP_DENIED_REPLY/403"));
}

/// `miss_access` lets some have only what is stored.
#[test]
fn misses_may_be_refused() {
    let origin = Origin::start(|_: &Request| Reply::ok("x").field("Cache-Control", "max-age=600"));
    let program = forward("acl guest src 127.0.0.2\nmiss_access deny guest");
    let guest = |path: &str| {
        let source = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
        Client::connect_from(source, program.addr()).get(&origin.url(path))
    };
    assert_eq!(guest("/").status, 403);
    assert_eq!(origin.total(), 0);
    client(&program).get(&origin.url("/"));
    assert_eq!(guest("/").text(), "x");
}

/// What `annotate_client` notes holds for the connection; `annotate_transaction` for one request alone.
#[test]
fn annotations_of_a_client_stay_with_its_connection() {
    let origin = Origin::start(|_: &Request| Reply::ok("in"));
    let program = Program::start(
        "acl caught urlpath_regex ^/trap
acl note_it annotate_client trust=none
acl note_once annotate_transaction once=yes
acl trapped note trust none
acl once note once yes
http_access deny trapped
http_access deny once
http_access allow caught note_it note_once
http_access allow all",
    );
    let (mut one, mut other) = (client(&program), client(&program));
    assert_eq!(one.get(&origin.url("/page")).status, 200);
    assert_eq!(one.get(&origin.url("/trap")).status, 200);
    assert_eq!(other.get(&origin.url("/page")).status, 200);
    let answer = one.get(&origin.url("/page"));
    assert_eq!(answer.status, 403);
    let text = answer.text();
    assert!(text.contains("http_access deny trapped"), "{text}");
    assert_eq!(other.get(&origin.url("/page")).status, 200);
}

/// The lists that are asked once there is a reply know who gave it.
#[test]
fn replies_of_a_peer_may_be_refused_and_logged() {
    let origin = Origin::start(|_: &Request| Reply::ok("in").field("Cache-Control", "no-store"));
    let program = Program::start(&format!(
        "acl films urlpath_regex ^/film
acl elsewhere hier_code HIER_DIRECT
acl branch peername branch
acl bad squid_error ERR_ACCESS_DENIED
http_access allow all
never_direct allow films
http_reply_access deny branch films
access_log none elsewhere
access_log stdio:{{dir}}/branch.log squid branch
access_log stdio:{{dir}}/bad.log squid bad
access_log stdio:{{dir}}/access.log squid
cache_peer 127.0.0.1 parent {} 0 no-query originserver name=branch",
        origin.port()
    ));
    let mut client = client(&program);
    assert_eq!(client.get(&origin.url("/film")).status, 403);
    assert_eq!(client.get(&origin.url("/page")).status, 200);
    let line = program.wait_for_log(|line| line.contains("/film"));
    assert!(line.contains("TCP_DENIED_REPLY/403"), "{line}");
    until("the branch's line", || {
        program.read("branch.log").contains("/film").then_some(())
    });
}
