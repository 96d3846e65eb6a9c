//! Through parents, and to parents.

use testkit::{Origin, Reply, Request};

use super::{Asker, CHALLENGE, Door, FIRST, nothing_was_mixed, offers};
use crate::support::{client, forward};

/// A parent has to say that it keeps connections apart too, or a line has to say it of the parent.
#[test]
fn through_a_parent() {
    for (options, says, works) in [
        ("", false, false),
        ("", true, true),
        ("connection-auth=on", false, true),
        ("connection-auth=off", true, false),
    ] {
        let door = Door::of_origin();
        let parent = Origin::start(move |request: &Request| {
            let reply = door.answer(request);
            if says {
                reply.field("Proxy-Support", "Session-Based-Authentication")
            } else {
                reply
            }
        });
        let program = forward(&format!(
            "cache_peer 127.0.0.1 parent {} 0 no-query {options}\nnever_direct allow all",
            parent.port()
        ));
        let mut bob = Asker::new(&program, "bob");
        let url = "http://far.example/";
        let answer = bob.ask(url, None);
        assert_eq!(offers(&answer).contains(&"NTLM"), works, "{options} {says}");
        if works {
            bob.log_in(url);
            assert!(bob.is_known(url));
        }
        nothing_was_mixed(&parent);
    }
}

/// A login to the parent itself holds for all that the client asks over the connection, whatever the target.
#[test]
fn a_client_logs_in_to_a_parent() {
    let door = Door::of_proxy();
    let parent = Origin::start(move |request: &Request| door.answer(request));
    let program = forward(&format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query login=PASSTHRU\nnever_direct allow all",
        parent.port()
    ));
    let mut client = client(&program);
    let mut ask = |host: &str, said: Option<&str>| {
        let fields: Vec<_> = said
            .map(|said| ("Proxy-Authorization", said))
            .into_iter()
            .collect();
        let answer = client.request("GET", &format!("http://{host}/"), &fields);
        (answer.status, answer.text())
    };
    let asked = crate::support::client(&program).get("http://a.example/");
    let basic = "Basic realm=\"x\"";
    assert_eq!(asked.head.all("Proxy-Authenticate"), ["NTLM", basic]);
    assert_eq!(ask("a.example", None).0, 407);
    assert_eq!(ask("a.example", Some(FIRST)).0, 407);
    let welcome = (200, "bob".to_owned());
    assert_eq!(ask("a.example", Some("NTLM bob")), welcome);
    assert_eq!(ask("b.example", None), welcome);
    assert_eq!(ask("a.example", None), welcome);
    assert_eq!(
        crate::support::client(&program)
            .get("http://a.example/")
            .status,
        407
    );
}

/// The same for a tunnel: the parent's 407 is for the client, and both halves of the handshake go over one connection.
#[test]
fn a_tunnel_behind_a_login() {
    let door = Door::of_proxy();
    let parent = Origin::start(move |request: &Request| match door.answer(request) {
        welcome if request.field("Proxy-Authorization") == Some("NTLM bob") => {
            drop(welcome);
            Reply::raw("HTTP/1.1 200 Go\r\n\r\ninside").stall()
        }
        refused => refused,
    });
    let program = forward(&format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query login=PASSTHRU\nnever_direct allow all",
        parent.port()
    ));
    let mut bob = client(&program);
    let mut connect = |said: &str| {
        let fields = [("Proxy-Authorization", said)];
        bob.send_request("CONNECT", "far.example:443", &fields);
        bob.response_to("CONNECT")
    };
    assert_eq!(
        connect("Digest x").head.all("Proxy-Authenticate")[0],
        "NTLM"
    );
    let challenged = connect(FIRST);
    assert_eq!(challenged.status, 407);
    assert_eq!(challenged.head.all("Proxy-Authenticate")[0], CHALLENGE);
    assert_eq!(connect("NTLM bob").status, 200);
    assert_eq!(bob.read_exact(6), b"inside");
    let connections: Vec<_> = parent.requests().iter().map(|one| one.connection).collect();
    assert_eq!(connections, [0, 1, 1]);
    // Without login= the parent's challenge is not for the client.
    let program = forward(&format!(
        "cache_peer 127.0.0.1 parent {} 0 no-query\nnever_direct allow all",
        parent.port()
    ));
    let mut ann = client(&program);
    ann.send_request("CONNECT", "far.example:443", &[]);
    assert!(
        ann.response_to("CONNECT")
            .head
            .all("Proxy-Authenticate")
            .is_empty()
    );
}
