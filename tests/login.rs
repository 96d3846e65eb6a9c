//! Logins: `auth_param` with real helpers, what clients are told, what holds afterwards, and that no credentials go
//! where they don't belong.

use std::process::Command;
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use testkit::{Client, Origin, Program, Reply, Request, Response, Signal, until};

use crate::support::{Entry, client};

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

/// The connection stays open over a 407; the user is in the log; a rule that denies a user asks for another one.
#[test]
fn basic_from_challenge_to_log() {
    let origin = origin();
    let program = door(FAKE, &[]);
    let mut client = client(&program);
    let url = origin.url("/");
    assert_eq!(client.get(&url).status, 407);
    assert_eq!(try_as(&mut client, &url, &basic("Bob:secret")).text(), "in");
    assert_eq!(origin.last().field("Proxy-Authorization"), None);
    assert_eq!(
        client.get(&url).status,
        407,
        "each request says who it is from"
    );
    assert_eq!(
        try_as(&mut client, "http://127.0.0.1:81/", &basic("bob:secret")).status,
        407
    );
    let logged = program.wait_for_log_lines(4);
    let seen: Vec<(String, String)> = logged
        .iter()
        .map(|line| Entry::of(line))
        .map(|entry| (entry.result, entry.user))
        .collect();
    let own = |result: &str, user: &str| (result.to_owned(), user.to_owned());
    let expected = [
        own("TCP_DENIED/407", "-"),
        own("TCP_MISS/200", "bob"),
        own("TCP_DENIED/407", "-"),
        own("TCP_DENIED/407", "bob"),
    ];
    assert_eq!(seen, expected);
    assert!(!program.read("access.log").contains("secret"));
    assert!(!program.read("cache.log").contains("secret"));
}

/// What isn't a name with a password is challenged and reaches no helper.
#[test]
fn strange_credentials() {
    let origin = origin();
    let helper = "while read -r line; do echo \"$line\" >> $1; echo OK; done";
    let conf = "auth_param basic program /bin/sh {dir}/helper {dir}/asked";
    let program = door(conf, &[("helper", helper)]);
    let mut client = client(&program);
    let url = origin.url("/");
    for credentials in [
        "Basic",
        "Basic !",
        "Basic Ym9i",
        "Bearer x",
        "x",
        &basic("bob:"),
        &basic(":x"),
        &basic("a\nb:x"),
        &basic("a\r\nOK:x"),
        &basic("a:x\0y"),
        "Digest username=\"x\"",
        "NTLM TlRMTVNTUAAB",
    ] {
        assert_eq!(
            try_as(&mut client, &url, credentials).status,
            407,
            "{credentials}"
        );
    }
    assert_eq!(program.read("asked"), "");
    assert_eq!(try_as(&mut client, &url, &basic("a b%:p\"w ö")).status, 200);
    assert_eq!(program.read("asked"), "a%20b%25 p%22w%20%C3%B6\n");
    assert_eq!(origin.total(), 1);
}

/// A password is asked about once, however many come with it at the same time, and again when its time is over or
/// another one came; a wrong one is asked about each time.
#[test]
fn what_is_known_is_not_asked_again() {
    let origin = origin();
    let conf = "auth_param basic program /bin/sh {dir}/helper {dir}/asked
auth_param basic children 5
auth_param basic credentialsttl 2 seconds";
    let helper = "while read -r line; do echo \"$line\" >> $1; sleep 0.3; case $line in *' wrong') echo ERR;; *) echo OK group=staff;; esac; done";
    let program = door(conf, &[("helper", helper)]);
    let url = origin.url("/");
    let asked = || program.read("asked").lines().count();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                assert_eq!(
                    try_as(&mut client(&program), &url, &basic("bob:pw")).status,
                    200
                )
            });
        }
    });
    assert_eq!(asked(), 1);
    let mut client = client(&program);
    let mut status = |pair: &str| try_as(&mut client, &url, &basic(pair)).status;
    assert_eq!((status("bob:pw"), asked()), (200, 1));
    assert_eq!((status("bob:wrong"), asked()), (407, 2));
    assert_eq!((status("bob:wrong"), asked()), (407, 3));
    assert_eq!((status("bob:pw"), asked()), (200, 3));
    assert_eq!((status("bob:new"), asked()), (200, 4));
    assert_eq!(
        (status("bob:pw"), asked()),
        (200, 5),
        "the old password isn't taken on trust"
    );
    thread::sleep(Duration::from_secs(2));
    assert_eq!((status("bob:pw"), asked()), (200, 6));
}

/// A reload that leaves the lines as they are keeps what is known.
#[test]
fn a_reload_keeps_what_is_known() {
    let origin = origin();
    let helper = "while read -r line; do echo \"$line\" >> $1; echo OK; done";
    let program = door(
        "auth_param basic program /bin/sh {dir}/helper {dir}/asked",
        &[("helper", helper)],
    );
    let url = origin.url("/");
    let mut client = client(&program);
    assert_eq!(try_as(&mut client, &url, &basic("bob:pw")).status, 200);
    let conf = program.read("squid.conf");
    for (add, asked) in [("# nothing new\n", 1), ("auth_param basic realm new\n", 2)] {
        program.write("squid.conf", format!("{add}{conf}"));
        let before = program.read("cache.log").matches("Reconfigured.").count();
        program.signal(Signal::HUP);
        until("a reload", || {
            (program.read("cache.log").matches("Reconfigured.").count() > before).then_some(())
        });
        assert_eq!(try_as(&mut client, &url, &basic("bob:pw")).status, 200);
        assert_eq!(program.read("asked").lines().count(), asked, "{add}");
    }
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

/// `basic_ncsa_auth` is read here, and runs only for hashes that we don't do; a changed file holds at once for those
/// who aren't known.
#[test]
fn password_files() {
    let origin = origin();
    let conf = "auth_param basic program {helpers}/basic_ncsa_auth {dir}/passwd\nauth_param basic credentialsttl 1 second";
    let hash = |kind: &str, word: &str| {
        let made = Command::new("openssl")
            .args(["passwd", kind, word])
            .output()
            .unwrap();
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    let passwd = format!(
        "bob:{}\nann:{}\njim:{}\n",
        hash("-apr1", "a"),
        hash("-6", "b"),
        hash("-5", "c")
    );
    let program = door(conf, &[("passwd", &passwd)]);
    let url = origin.url("/");
    let mut client = client(&program);
    let mut status = |pair: &str| try_as(&mut client, &url, &basic(pair)).status;
    for (pair, expected) in [
        ("bob:a", 200),
        ("ann:b", 200),
        ("JIM:c", 200),
        ("bob:b", 407),
        ("eve:a", 407),
    ] {
        assert_eq!(status(pair), expected, "{pair}");
    }
    assert_eq!(children(&program), 0, "no helper was needed");
    // The crypt(3) of old: the program is asked, which is said to know it.
    program.write("passwd", "old:rqXexS6ZhobKA\n");
    assert_eq!(status("eve:a"), 407);
    assert_eq!(status("old:wrong"), 407);
    assert_eq!(children(&program), 1);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(status("bob:a"), 407, "he is no longer in the file");
}

/// Processes that the program has started.
fn children(program: &Program) -> usize {
    let pid = program.pid();
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of = |task: std::fs::DirEntry| {
        std::fs::read_to_string(task.path().join("children")).unwrap_or_default()
    };
    tasks
        .map(|task| of(task.unwrap()).split_whitespace().count())
        .sum()
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

const DIGEST: &str = "auth_param digest program {helpers}/digest_file_auth {dir}/digest
auth_param digest realm The house";

/// Digest with an independent client; a nonce ends after its uses, and nobody is asked for a password again.
#[test]
fn digest() {
    let origin = origin();
    let conf = format!("{DIGEST}\nauth_param digest nonce_max_count 3");
    let program = door(&conf, &[("digest", "bob:secret\n")]);
    let url = |path: &str| origin.url(path);
    let as_bob = ["--proxy-digest", "-U", "bob:secret"];
    let (a, b, c, d, e) = (url("/a"), url("/b"), url("/c"), url("/d"), url("/e"));
    let discard = ["-o", "/dev/null"];
    let args = [
        &as_bob[..],
        &[&a, &b],
        &discard,
        &[&c],
        &discard,
        &[&d],
        &discard,
        &[&e],
        &discard,
    ]
    .concat();
    let (status, told) = curl(&program, &args);
    assert_eq!(status, "200 200 200 200 200", "{told}");
    assert!(
        told.contains("Digest realm=\"The house\", nonce=\""),
        "{told}"
    );
    assert_eq!(origin.total(), 5);
    assert!(
        origin
            .requests()
            .iter()
            .all(|request| request.field("Proxy-Authorization").is_none())
    );
    let line = program.wait_for_log(|line| line.contains("/e ") && line.contains("/200"));
    assert_eq!(Entry::of(&line).user, "bob");
    for wrong in ["bob:wrong", "eve:secret"] {
        let (status, told) = curl(&program, &["--proxy-digest", "-U", wrong, &a]);
        assert_eq!(status, "407", "{told}");
    }
    assert_eq!(origin.total(), 5);
}

/// What was said once doesn't let anybody in again: it is answered with a new nonce, by `stale=true`.
#[test]
fn a_digest_is_good_once() {
    let origin = origin();
    let program = door(DIGEST, &[("digest", "bob:secret\n")]);
    let url = origin.url("/");
    let (status, told) = curl(&program, &["--proxy-digest", "-U", "bob:secret", &url]);
    assert_eq!(status, "200", "{told}");
    let said = told
        .lines()
        .find_map(|line| line.strip_prefix("> Proxy-Authorization: "));
    let said = said.unwrap().trim();
    let mut client = client(&program);
    let again = try_as(&mut client, &url, said);
    assert_eq!(again.status, 407);
    let offers = offers(&again);
    assert!(
        offers.len() == 1 && offers[0].contains("stale=true"),
        "{offers:?}"
    );
    // With a nonce of somebody's own making, and a wrong digest.
    for other in [
        said.replace("nonce=\"0", "nonce=\"1"),
        said.replace("response=\"", "response=\"0"),
    ] {
        assert_eq!(try_as(&mut client, &url, &other).status, 407);
    }
    assert_eq!(origin.total(), 1);
}

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

/// `key_extras` goes to the helper, and makes another login of the same name and password.
#[test]
fn key_extras() {
    let origin = origin();
    let conf = "auth_param basic program /bin/sh {dir}/helper {dir}/asked\nauth_param basic key_extras \"%>a %{X-Site}>h\"";
    let helper = "while read -r line; do echo \"$line\" >> $1; echo OK; done";
    let program = door(conf, &[("helper", helper)]);
    let url = origin.url("/");
    let credentials = basic("bob:pw");
    let mut client = client(&program);
    for site in ["a b", "a b", "c"] {
        let fields = [("Proxy-Authorization", &*credentials), ("X-Site", site)];
        assert_eq!(client.request("GET", &url, &fields).status, 200);
    }
    assert_eq!(
        program.read("asked"),
        "bob pw 127.0.0.1 a%20b\nbob pw 127.0.0.1 c\n"
    );
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
