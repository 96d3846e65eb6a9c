//! What a peer is told of logins: `cache_peer login=` for each kind of hop, with what the client and external ACLs
//! said. Credentials go where a line sends them, and nowhere else.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use testkit::{Origin, Program, Reply, Request};

use crate::support::client;

/// What comes with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    /// No credentials.
    Nothing,
    /// The client: for us, `bob:pw`, and for the origin, `at:origin`.
    Client,
    /// An external ACL: `ext:epw`.
    External,
    /// Both.
    Both,
}
use Says::{Both, Client, External, Nothing};

/// Options of a peer, what comes with the request, and the pair that the peer sees in `Proxy-Authorization` and in
/// `Authorization`; `-` is none.
const TABLE: &[(&str, Says, &str, &str)] = &[
    // A parent proxy. What is for the origin goes through.
    ("", Nothing, "-", "-"),
    ("", Client, "-", "at:origin"),
    ("", Both, "-", "at:origin"),
    ("login=me:se%20cret", Nothing, "me:se cret", "-"),
    ("login=me:se%20cret", Both, "me:se cret", "at:origin"),
    ("login=*:x", Nothing, "-:x", "-"),
    ("login=*:x", Client, "bob:x", "at:origin"),
    ("login=*@us:x", Client, "bob@us:x", "at:origin"),
    ("login=*:x", External, "ext:x", "-"),
    ("login=*:x", Both, "ext:x", "at:origin"),
    ("login=PASS", Nothing, "-", "-"),
    ("login=PASS", Client, "bob:pw", "at:origin"),
    ("login=PASS", External, "ext:epw", "-"),
    ("login=PASS", Both, "bob:pw", "at:origin"),
    // Squid sends the word PROXYPASS where there is nothing to send.
    ("login=PROXYPASS", Nothing, "-", "-"),
    ("login=PROXYPASS", Client, "bob:pw", "at:origin"),
    ("login=PROXYPASS", External, "ext:epw", "-"),
    ("login=PASSTHRU", Nothing, "-", "-"),
    ("login=PASSTHRU", Client, "bob:pw", "at:origin"),
    ("login=PASSTHRU", External, "-", "-"),
    // A web server. What is for us never gets there, but by PROXYPASS.
    ("originserver", Nothing, "-", "-"),
    ("originserver", Client, "-", "-"),
    ("originserver", Both, "-", "-"),
    (
        "originserver login=me:se%20cret",
        Nothing,
        "-",
        "me:se cret",
    ),
    ("originserver login=me:se%20cret", Both, "-", "me:se cret"),
    ("originserver login=*:x", Nothing, "-", "-:x"),
    ("originserver login=*:x", Client, "-", "bob:x"),
    ("originserver login=*:x", External, "-", "ext:x"),
    ("originserver login=PASS", Nothing, "-", "-"),
    ("originserver login=PASS", Client, "-", "at:origin"),
    ("originserver login=PASS", External, "-", "ext:epw"),
    ("originserver login=PASS", Both, "-", "at:origin"),
    ("originserver login=PROXYPASS", Nothing, "-", "-"),
    ("originserver login=PROXYPASS", Client, "-", "at:origin"),
    ("originserver login=PROXYPASS", External, "-", "ext:epw"),
    ("originserver login=PASSTHRU", Client, "-", "at:origin"),
    ("originserver login=PASSTHRU", External, "-", "-"),
];

fn basic(pair: &str) -> String {
    format!("Basic {}", STANDARD.encode(pair))
}

/// The pair of a field value.
fn pair(value: Option<&str>) -> String {
    let Some(value) = value else {
        return "-".to_owned();
    };
    let token = value.strip_prefix("Basic ").unwrap();
    String::from_utf8(STANDARD.decode(token).unwrap()).unwrap()
}

fn origin() -> Origin {
    Origin::start(|_: &Request| Reply::ok("in"))
}

/// A program with a peer for each row, which gets what is asked of the row's host.
fn program(origin: &Origin) -> Program {
    let mut conf = "auth_param basic program /usr/lib/squid/basic_fake_auth
external_acl_type named ttl=0 %DST /bin/sh {dir}/named
acl named external named
acl user proxy_auth REQUIRED
acl by_external dstdomain .external.example .both.example
acl without_login dstdomain .nothing.example .external.example
http_access deny by_external !named
http_access allow without_login
http_access allow user
never_direct allow all
"
    .to_owned();
    for (row, (options, says, ..)) in TABLE.iter().enumerate() {
        let (host, port) = (host(row, *says), origin.port());
        writeln!(
            conf,
            "acl row{row} dstdomain {host}
cache_peer 127.0.0.1 parent {port} 0 no-query no-digest name=peer{row} {options}
cache_peer_access peer{row} allow row{row}
cache_peer_access peer{row} deny all"
        )
        .unwrap();
    }
    let helper = "while read -r line; do echo OK user=ext password=epw; done";
    Program::builder(&conf).file("named", helper).start()
}

fn host(row: usize, says: Says) -> String {
    format!("row{row}.{says:?}.example").to_ascii_lowercase()
}

/// The whole table, and that no log has any of it.
#[test]
fn credentials_go_where_a_line_sends_them() {
    let origin = origin();
    let program = program(&origin);
    let (ours, theirs) = (basic("bob:pw"), basic("at:origin"));
    let mut wrong = String::new();
    for (row, (options, says, proxy, www)) in TABLE.iter().enumerate() {
        let fields = match says {
            Client | Both => vec![("Proxy-Authorization", &*ours), ("Authorization", &*theirs)],
            Nothing | External => Vec::new(),
        };
        let url = format!("http://{}/", host(row, *says));
        let answer = client(&program).request("GET", &url, &fields);
        assert_eq!(answer.status, 200, "{options} {says:?}");
        let seen = origin.last();
        let seen = (
            pair(seen.field("Proxy-Authorization")),
            pair(seen.field("Authorization")),
        );
        if seen != ((*proxy).to_owned(), (*www).to_owned()) {
            writeln!(wrong, "{options} {says:?}: {seen:?}").unwrap();
        }
    }
    assert_eq!(wrong, "");
    let told = program.read("access.log") + &program.read("cache.log");
    for secret in ["cret", "epw", "bob:pw", &ours[6..], &theirs[6..]] {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
}

/// Single sign-on by PROXYPASS: a web server gets Basic credentials that were for us, where the client has none for it;
/// those of another scheme stay here.
#[test]
fn a_web_server_may_get_the_login_to_us() {
    let origin = origin();
    let program = Program::start(&format!(
        "http_access allow all
cache_peer 127.0.0.1 parent {} 0 no-query originserver login=PROXYPASS
never_direct allow all",
        origin.port()
    ));
    for (said, expected) in [
        (&*basic("bob:pw"), Some(basic("bob:pw"))),
        ("Digest x=\"y\"", None),
    ] {
        let fields = [("Proxy-Authorization", said)];
        let answer = client(&program).request("GET", "http://far.example/", &fields);
        assert_eq!(answer.status, 200);
        assert_eq!(origin.last().field("Authorization"), expected.as_deref());
        assert_eq!(origin.last().field("Proxy-Authorization"), None);
    }
}

/// Straight to the origin: what is for it, and nothing that is for us.
#[test]
fn an_origin_never_sees_a_login_to_the_proxy() {
    let origin = origin();
    let program = crate::support::forward("");
    let (ours, theirs) = (basic("bob:pw"), basic("at:origin"));
    let fields = [("Proxy-Authorization", &*ours), ("Authorization", &*theirs)];
    client(&program).request("GET", &origin.url("/"), &fields);
    assert_eq!(origin.last().field("Proxy-Authorization"), None);
    assert_eq!(origin.last().field("Authorization"), Some(&*theirs));
}

/// Kerberos of our own isn't there: the check says so, and what to do.
#[test]
fn negotiate_is_refused_in_words() {
    let conf = "cache_peer 127.0.0.1 parent 3128 0 no-query login=NEGOTIATE";
    let checked = Program::builder(conf).arg("-k").arg("parse").run();
    let told = checked.stderr;
    assert!(
        told.contains("login=NEGOTIATE: we can't log in by Kerberos ourselves"),
        "{told}"
    );
}
