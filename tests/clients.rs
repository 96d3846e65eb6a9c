//! Who the client is: behind proxies that are trusted, by the name of its address, by its connections.

use std::net::{IpAddr, Ipv4Addr};

use testkit::{Client, NameServer, Origin, Program, Reply, Request, until};

use crate::support::{Entry, client, forward};

fn origin() -> Origin {
    Origin::start(|_: &Request| Reply::ok("x"))
}

/// The client that the access log shows for a request with this field.
fn logged(program: &Program, url: &str, forwarded_for: &[&str]) -> (u16, String) {
    let fields: Vec<_> = forwarded_for
        .iter()
        .map(|value| ("X-Forwarded-For", *value))
        .collect();
    let before = program.access_log_lines().len();
    let status = client(program).request("GET", url, &fields).status;
    let lines = program.wait_for_log_lines(before + 1);
    (status, Entry::of(&lines[before]).client)
}

/// X-Forwarded-For is followed from its end, as far as its writers are trusted; ACLs and log see where it ends.
#[test]
fn the_client_behind_trusted_proxies() {
    let origin = origin();
    let program = Program::start(
        "acl proxies src 127.0.0.1 10.0.0.0/8
acl bad src 192.0.2.66
follow_x_forwarded_for allow proxies
http_access deny bad
http_access allow all",
    );
    let url = origin.url("/");
    for (fields, status, expected) in [
        (&[][..], 200, "127.0.0.1"),
        (&["192.0.2.1"], 200, "192.0.2.1"),
        (&["192.0.2.66"], 403, "192.0.2.66"),
        (&["192.0.2.66, 192.0.2.1"], 200, "192.0.2.1"),
        (&["192.0.2.66,10.0.0.1 ,\t10.9.9.9"], 403, "192.0.2.66"),
        (&["10.0.0.1"], 200, "10.0.0.1"),
        (&["192.0.2.1, unknown, 10.0.0.1"], 200, "10.0.0.1"),
        (&["192.0.2.1", "10.0.0.1"], 200, "192.0.2.1"),
        (&["2001:db8::1, 10.0.0.1"], 200, "2001:db8::1"),
        (&["192.0.2.1:4000"], 200, "127.0.0.1"),
        (&[", ,"], 200, "127.0.0.1"),
    ] {
        let (answered, client) = logged(&program, &url, fields);
        assert_eq!((answered, &*client), (status, expected), "{fields:?}");
    }
    let many = vec!["10.0.0.1"; 2000].join(", ");
    assert_eq!(logged(&program, &url, &[&many]), (200, "10.0.0.1".into()));
    let (_, next) = logged(&program, &url, &[]);
    assert_eq!(next, "127.0.0.1", "nothing stays for the next request");
}

/// Who isn't trusted is taken for the client, whatever it says.
#[test]
fn x_forwarded_for_of_strangers_is_ignored() {
    let origin = origin();
    for conf in [
        "",
        "acl proxies src 10.0.0.0/8\nfollow_x_forwarded_for allow proxies",
    ] {
        let program = forward(conf);
        let seen = logged(&program, &origin.url("/"), &["192.0.2.1"]);
        assert_eq!(seen, (200, "127.0.0.1".into()), "{conf}");
    }
}

/// Each use of the indirect client can be switched off by itself.
#[test]
fn uses_of_the_indirect_client_are_chosen() {
    let origin = origin();
    for (conf, expected) in [
        ("acl_uses_indirect_client off", (200, "192.0.2.66")),
        ("log_uses_indirect_client off", (403, "127.0.0.1")),
    ] {
        let program = Program::start(&format!(
            "{conf}
acl bad src 192.0.2.66
follow_x_forwarded_for allow localhost
http_access deny bad
http_access allow all"
        ));
        let (status, client) = logged(&program, &origin.url("/"), &["192.0.2.66"]);
        assert_eq!((status, &*client), expected, "{conf}");
    }
}

/// `client_ip_max_connections`: so many may be open for each address; the next are closed at once.
#[test]
fn connections_of_an_address_are_limited() {
    let origin = origin();
    let program = forward("client_ip_max_connections 2");
    let url = origin.url("/");
    let mut first = client(&program);
    let mut second = client(&program);
    assert_eq!(
        (first.get(&url).status, second.get(&url).status),
        (200, 200)
    );
    client(&program).expect_close();
    let from = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    let mut other = Client::connect_from(from, program.addr());
    assert_eq!(other.get(&url).status, 200);
    assert_eq!(first.get(&url).status, 200);
    drop(first);
    until("a place among two", || {
        let mut again = client(&program);
        again.send_request("GET", &url, &[]);
        again
            .try_response_to("GET")
            .ok()
            .map(|answer| answer.status)
    });
    let log = program.read("cache.log");
    assert!(
        log.contains("127.0.0.1 attempting more than 2 connections"),
        "{log}"
    );
}

/// `maxconn N` matches from the connection after the Nth on, for as long as the others are open.
#[test]
fn rules_may_ask_for_the_connections_of_a_client() {
    let origin = origin();
    let program =
        Program::start("acl many maxconn 2\nhttp_access deny many\nhttp_access allow all");
    let url = origin.url("/");
    let (mut first, mut second) = (client(&program), client(&program));
    // Once it is answered, a connection is counted, whichever worker has it.
    assert_eq!(first.get(&url).status, 200);
    assert_eq!(second.get(&url).status, 200);
    let mut third = client(&program);
    assert_eq!(third.get(&url).status, 403);
    let from = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    assert_eq!(
        Client::connect_from(from, program.addr()).get(&url).status,
        200
    );
    drop(second);
    until("two connections", || {
        (third.get(&url).status == 200).then_some(())
    });
}

/// Without a table of clients there is nothing to count by.
#[test]
fn without_client_db_no_connection_is_refused() {
    let origin = origin();
    let program = forward("client_db off\nclient_ip_max_connections 1");
    let mut clients: Vec<_> = (0..4).map(|_| client(&program)).collect();
    for client in &mut clients {
        assert_eq!(client.get(&origin.url("/")).status, 200);
    }
}

/// `srcdomain` and `srcdom_regex` ask for the name of the client's address, `dstdomain` and `dstdom_regex` for that of
/// an address in the URL; each program asks once.
#[test]
fn addresses_have_names() {
    let origin = origin();
    let names = NameServer::start(|name| match name {
        "1.2.0.192.in-addr.arpa" => vec!["Desk.office.test"],
        "2.2.0.192.in-addr.arpa" => vec!["guest.elsewhere.test"],
        _ => vec![],
    });
    let check = |acl: &str, refused: &[(u8, u8)], served: &[(u8, u8)]| {
        let program = Program::start(&format!(
            "dns_nameservers {}
hosts_file none
follow_x_forwarded_for allow localhost
acl x {acl}
http_access deny x
http_access allow all
never_direct allow all
cache_peer 127.0.0.1 parent {} 0 no-query originserver",
            names.addr(),
            origin.port()
        ));
        let mut client = client(&program);
        for (pairs, status) in [(refused, 403), (served, 200)] {
            for (from, to) in pairs {
                let url = format!("http://192.0.2.{to}/");
                let from = format!("192.0.2.{from}");
                for _ in 0..2 {
                    let answer = client.request("GET", &url, &[("X-Forwarded-For", &from)]);
                    assert_eq!(answer.status, status, "{acl} {from} {url}");
                }
            }
        }
    };
    check("srcdomain .office.test", &[(1, 9)], &[(2, 9), (3, 9)]);
    check(
        "srcdomain desk.office.test guest.elsewhere.test",
        &[(1, 9), (2, 9)],
        &[(3, 9)],
    );
    check("srcdom_regex -i ^DESK\\.", &[(1, 9)], &[(2, 9), (3, 9)]);
    check("srcdomain none", &[(3, 9)], &[(1, 9), (2, 9)]);
    check("dstdomain .office.test", &[(9, 1)], &[(9, 2), (9, 3)]);
    check("dstdomain -n .office.test", &[], &[(9, 1)]);
    check("dstdom_regex elsewhere", &[(9, 2)], &[(9, 1)]);
    let asked = names.asked();
    let third = asked.iter().filter(|name| name.starts_with("3.2.0.192"));
    assert_eq!(
        third.count(),
        5,
        "once by each program that was asked: {asked:?}"
    );
}
