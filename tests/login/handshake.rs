//! NTLM and Negotiate: the connection logs in.

use super::{curl, door, offers, origin, try_as};
use crate::support::{Entry, client};

/// NTLM with an independent client: the connection logs in, and stays so; other connections don't.
#[test]
fn ntlm() {
    let origin = origin();
    let program = door("auth_param ntlm program {helpers}/ntlm_fake_auth", &[]);
    let (a, b) = (origin.url("/a"), origin.url("/b"));
    let (status, told) = curl(
        &program,
        &[
            "--proxy-ntlm",
            "-U",
            "bob:secret",
            &a,
            &b,
            "-o",
            "/dev/null",
        ],
    );
    assert_eq!(status, "200 200", "{told}");
    assert_eq!(
        told.matches("> Proxy-Authorization: NTLM").count(),
        2,
        "{told}"
    );
    assert!(!told.contains("Closing connection 0\n* Issue"), "{told}");
    assert_eq!(origin.total(), 2);
    let line = program.wait_for_log(|line| line.contains("/b "));
    assert!(Entry::of(&line).user.contains("bob"), "{line}");
    assert_eq!(client(&program).get(&a).status, 407);
}

/// A helper of a handshake as they were before `key=value`, and as they are: the token of the end reaches the
/// client, the child is the client's own meanwhile, and a connection may log in as somebody else.
#[test]
fn negotiate() {
    let old = "while read -r word token; do case $word in YR) echo TT dG9r;; KK) echo AF ZG9uZQ== bob;; esac; done";
    let new = "while read -r word token; do case $word in YR) echo TT token=dG9r;; \
               KK) echo OK token=ZG9uZQ== user=bob group=staff;; esac; done";
    for helper in [old, new] {
        let origin = origin();
        let conf =
            "auth_param negotiate program /bin/sh {dir}/helper\nauth_param negotiate children 2";
        let program = door(conf, &[("helper", helper)]);
        let url = origin.url("/");
        let mut client = client(&program);
        let challenge = try_as(&mut client, &url, "Negotiate Zmlyc3Q=");
        assert_eq!(challenge.status, 407);
        assert_eq!(offers(&challenge), ["Negotiate dG9r"]);
        let welcome = try_as(&mut client, &url, "Negotiate c2Vjb25k");
        assert_eq!(welcome.status, 200);
        assert_eq!(
            welcome.field("Proxy-Authentication-Info"),
            Some("Negotiate ZG9uZQ==")
        );
        let later = client.get(&url);
        assert_eq!(
            (later.status, later.field("Proxy-Authentication-Info")),
            (200, None)
        );
        assert_eq!(try_as(&mut client, &url, "Negotiate c2Vjb25k").status, 200);
        // Denied as bob: the connection is nobody's again.
        assert_eq!(offers(&client.get("http://127.0.0.1:81/")), ["Negotiate"]);
        assert_eq!(client.get(&url).status, 407);
        assert_eq!(try_as(&mut client, &url, "Negotiate Zmlyc3Q=").status, 407);
        assert_eq!(try_as(&mut client, &url, "Negotiate c2Vjb25k").status, 200);
    }
}

/// Tokens of clients and helpers can't break a line or a field, and a helper that dies in between costs one login.
#[test]
fn broken_handshakes() {
    let helper = "while read -r word token; do case $token in ZGll) exit 1;; YmFk) echo 'TT a b\u{7f}';; \
                  bm9uZQ==) echo OK;; bm8=) echo NA no;; *) echo TT dG9r;; esac; done";
    let program = door(
        "auth_param ntlm program /bin/sh {dir}/helper",
        &[("helper", helper)],
    );
    let url = "http://127.0.0.1/";
    for first in [
        "NTLM ZGll",
        "NTLM bm9uZQ==",
        "NTLM bm8=",
        "NTLM a b",
        "NTLM \u{1}",
    ] {
        let mut client = client(&program);
        client.send_request("GET", url, &[("Proxy-Authorization", first)]);
        let status = client.response().status;
        assert!(
            status == 407 || (status == 400 && first.contains('\u{1}')),
            "{first:?}: {status}"
        );
    }
    let mut client = client(&program);
    assert_eq!(
        offers(&try_as(&mut client, url, "NTLM eA==")),
        ["NTLM dG9r"]
    );
    assert_eq!(offers(&try_as(&mut client, url, "NTLM ZGll")), ["NTLM"]);
    assert_eq!(
        offers(&try_as(&mut client, url, "NTLM eA==")),
        ["NTLM dG9r"]
    );
}

/// `keep_alive off` ends the connection with the first challenge, not in the middle of a handshake.
#[test]
fn keep_alive_off() {
    let conf = "auth_param ntlm program {helpers}/ntlm_fake_auth\nauth_param ntlm keep_alive off";
    let program = door(conf, &[]);
    let mut first = client(&program);
    assert_eq!(first.get("http://127.0.0.1/").status, 407);
    first.expect_close();
    let mut second = client(&program);
    let hello = "NTLM TlRMTVNTUAABAAAABoIIAAAAAAAAAAAAAAAAAAAAAAA=";
    let challenge = try_as(&mut second, "http://127.0.0.1/", hello);
    assert!(offers(&challenge)[0].starts_with("NTLM T"), "{challenge:?}");
    assert_eq!(try_as(&mut second, "http://127.0.0.1/", hello).status, 407);
}
