//! Which schemes a client is offered (`auth_schemes`), and how long a helper waits for one who began to log in.

use std::time::Duration;

use testkit::{Program, Response};

use crate::support::client;

const SCHEMES: &str = "auth_param basic program /usr/lib/squid/basic_fake_auth
auth_param digest program /usr/lib/squid/digest_file_auth /dev/null
auth_param digest realm r
auth_param negotiate program /bin/sh {dir}/helper
auth_param negotiate children 1 startup=1 reservation-timeout=1
acl user proxy_auth REQUIRED
http_access allow user
";

/// Has half a handshake for everybody.
const HELPER: &str = "while read -r line; do echo TT token=dG9r; done";

fn program(conf: &str) -> Program {
    Program::builder(&format!("{SCHEMES}{conf}"))
        .file("helper", HELPER)
        .start()
}

fn offers(response: &Response) -> Vec<&str> {
    let offers = response.head.all("Proxy-Authenticate");
    let names = offers.iter().map(|offer| offer.split(' ').next().unwrap());
    names.collect()
}

/// The first line whose ACLs match says which schemes are offered, and in which order; without one it is all.
#[test]
fn lines_choose_the_offers() {
    let program = program(
        "acl old browser Old
acl new browser New
acl odd browser Odd
auth_schemes basic old
auth_schemes negotiate,Basic,negotiate new
auth_schemes \"digest, ALL\" odd",
    );
    for (agent, expected) in [
        ("Old", &["Basic"][..]),
        ("New", &["Negotiate", "Basic"]),
        ("Odd", &["Digest", "Basic", "Negotiate"]),
        ("Other", &["Basic", "Digest", "Negotiate"]),
    ] {
        let fields = [("User-Agent", agent)];
        let answer = client(&program).request("GET", "http://127.0.0.1/", &fields);
        assert_eq!(
            (answer.status, &*offers(&answer)),
            (407, expected),
            "{agent}"
        );
    }
    // What isn't offered is still understood.
    let fields = [
        ("User-Agent", "Old"),
        ("Proxy-Authorization", "Negotiate eA=="),
    ];
    let answer = client(&program).request("GET", "http://127.0.0.1/", &fields);
    assert_eq!(answer.field("Proxy-Authenticate"), Some("Negotiate dG9r"));
}

/// A name that no `auth_param` line sets up is fatal, as in Squid.
#[test]
fn a_scheme_that_is_not_set_up() {
    let conf = format!("{SCHEMES}auth_schemes ntlm");
    let checked = Program::builder(&conf).arg("-k").arg("parse").run();
    assert_eq!(checked.status.code(), Some(1), "{}", checked.stderr);
    let told = "auth_schemes: no auth_param line is about 'ntlm'";
    assert!(checked.stderr.contains(told), "{}", checked.stderr);
}

/// The only helper waits for a client that began: another gets it once `reservation-timeout` is over.
#[test]
fn who_does_not_go_on_is_not_waited_for() {
    let program = program("");
    let began = [("Proxy-Authorization", "Negotiate eA==")];
    let mut first = client(&program);
    assert_eq!(
        first.request("GET", "http://127.0.0.1/", &began).status,
        407
    );
    let mut second = client(&program).wait(Duration::from_secs(20));
    let challenged = second.request("GET", "http://127.0.0.1/", &began);
    assert_eq!(
        challenged.field("Proxy-Authenticate"),
        Some("Negotiate dG9r")
    );
    // The first one's half is gone: it is told to begin anew.
    let lost = first.request("GET", "http://127.0.0.1/", &began);
    assert_eq!(lost.status, 407);
}
