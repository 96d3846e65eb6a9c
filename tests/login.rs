//! Logins: `auth_param` with real helpers, what clients are told, what holds afterwards, and that no credentials go
//! where they don't belong.

mod basic;
mod digest;
mod handshake;
mod schemes;

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use testkit::{Client, Origin, Program, Reply, Request, Response, until};

use crate::support::client;

/// Where Debian puts Squid's helpers.
const HELPERS: &str = "/usr/lib/squid";

/// Everybody has to log in; `bob` may go everywhere but to port 81.
const RULES: &str = "acl user proxy_auth REQUIRED
acl bob proxy_auth bob
acl odd port 81
http_access deny odd bob
http_access allow user
http_access deny all
";

fn origin() -> Origin {
    Origin::start(|_: &Request| Reply::ok("in"))
}

/// A program with these schemes, and files for them.
fn door(schemes: &str, files: &[(&str, &str)]) -> Program {
    let conf = format!("{schemes}\n{RULES}").replace("{helpers}", HELPERS);
    let builder = Program::builder(&conf);
    let builder = files
        .iter()
        .fold(builder, |builder, (name, text)| builder.file(name, text));
    builder.start()
}

fn basic(pair: &str) -> String {
    format!("Basic {}", STANDARD.encode(pair))
}

fn try_as(client: &mut Client, url: &str, credentials: &str) -> Response {
    client.request("GET", url, &[("Proxy-Authorization", credentials)])
}

fn offers(response: &Response) -> Vec<&str> {
    response.head.all("Proxy-Authenticate")
}

const FAKE: &str = "auth_param basic program {helpers}/basic_fake_auth";

/// Schemes are offered in the order of their first lines, to clients of a proxy and of an accelerator; a scheme
/// without a program, or Digest without a realm, isn't.
#[test]
fn offers_in_order() {
    let origin = origin();
    let conf = format!(
        "http_port 127.0.0.1:{{port}}
http_port 127.0.0.1:{{port2}} accel defaultsite=site.example
cache_peer 127.0.0.1 parent {} 0 no-query originserver
auth_param ntlm program {HELPERS}/ntlm_fake_auth
auth_param digest program {HELPERS}/digest_file_auth -c {{dir}}/digest
auth_param basic realm Our \"own\" house
auth_param basic utf8 on
auth_param basic program {HELPERS}/basic_fake_auth
auth_param negotiate children 3
{RULES}",
        origin.port()
    );
    let program = Program::start(&conf);
    let answer = client(&program).get("http://site.example/");
    assert_eq!(
        (answer.status, answer.field("X-Squid-Error")),
        (407, Some("ERR_CACHE_ACCESS_DENIED 0"))
    );
    let basic_offer = "Basic realm=\"Our \\\"own\\\" house\", charset=\"UTF-8\"";
    assert_eq!(offers(&answer), ["NTLM", basic_offer]);
    assert_eq!(answer.head.all("WWW-Authenticate").len(), 0);
    let conf = program.read("squid.conf");
    let port = conf
        .lines()
        .find_map(|line| line.strip_suffix(" accel defaultsite=site.example"));
    let port: u16 = port.unwrap().rsplit(':').next().unwrap().parse().unwrap();
    let mut accelerated = Client::connect(([127, 0, 0, 1], port).into());
    let host = [("Host", "site.example")];
    let answer = accelerated.request("GET", "/", &host);
    assert_eq!(answer.status, 401);
    assert_eq!(answer.head.all("WWW-Authenticate"), ["NTLM", basic_offer]);
    assert_eq!(offers(&answer).len(), 0);
    let fields = [
        ("Host", "site.example"),
        ("Authorization", &*basic("bob:bob")),
    ];
    assert_eq!(accelerated.request("GET", "/", &fields).status, 200);
    // The origin isn't told: that takes login=.
    assert_eq!(origin.last().field("Authorization"), None);
}

/// A helper that lies, dies or isn't sure lets nobody in, and the log says so.
#[test]
fn a_broken_helper_lets_nobody_in() {
    for (body, told) in [
        (
            "while read -r line; do echo BH message=broken; done",
            "could not say: broken",
        ),
        ("exit 1", "auth_param basic: the helper"),
        (
            "while read -r line; do echo 'nonsense'; done",
            "makes no sense",
        ),
        (
            "while read -r line; do echo 'OK user=\"x'; done",
            "makes no sense",
        ),
    ] {
        let program = door(
            "auth_param basic program /bin/sh {dir}/helper",
            &[("helper", body)],
        );
        let answer = try_as(&mut client(&program), "http://127.0.0.1/", &basic("bob:pw"));
        assert_eq!(answer.status, 407, "{body}");
        until("a word in the log", || {
            program.read("cache.log").contains(told).then_some(())
        });
    }
}

/// A program that isn't there keeps the proxy from starting, in Squid's words; the check names it, for the file may be
/// another machine's.
#[test]
fn a_missing_program_is_fatal() {
    let conf = format!("auth_param basic program /nonexistent x\n{RULES}");
    let told = "Authentication helper program /nonexistent: (2) No such file or directory";
    let checked = Program::builder(&conf).arg("-k").arg("parse").run();
    assert!(checked.status.success());
    assert!(checked.stderr.contains(told), "{}", checked.stderr);
    let started = Program::builder(&conf).run();
    assert_eq!(started.status.code(), Some(1));
    assert!(started.stderr.contains(told), "{}", started.stderr);
}

/// Runs curl through the proxy: the last status, and all that it was told.
fn curl(program: &Program, args: &[&str]) -> (String, String) {
    let proxy = format!("http://{}", program.addr());
    let ran = Command::new("curl")
        .args([
            "-sS",
            "-v",
            "-m",
            "10",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code} ",
            "--noproxy",
            "",
            "-x",
            &proxy,
        ])
        .args(args)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    (text(&ran.stdout), text(&ran.stderr))
}

/// A page for one who has to log in shows nothing of what he said.
#[test]
fn pages_hold_no_credentials() {
    let program = door(FAKE, &[]);
    let answer = try_as(
        &mut client(&program),
        "http://127.0.0.1/",
        "Basic c2VjcmV0OnNlY3JldA==x",
    );
    assert_eq!(answer.status, 407);
    let page = answer.text();
    assert!(
        !page.contains("c2VjcmV0")
            && !page.contains("secret")
            && !page.contains("Proxy-Authorization")
    );
}
