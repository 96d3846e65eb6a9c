//! Credentials stay where they belong: whatever becomes of a request, no log, no page and no field that goes elsewhere
//! shows what clients log in with, and what we log in to peers with.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use testkit::{Client, Origin, Program, Reply, Request, Signal};

use crate::support::client;

/// What must not be seen, in the forms in which it travels.
const PASSWORD: &str = "hunter2-pass";
const TOKEN: &str = "t0ken-of-the-origin";
const IN_URL: &str = "url-pass";
const COOKIE: &str = "c00kie-value";
const PEERS: &str = "peer-pass";
const HELPERS: &str = "said-by-the-helper";

/// Every code of a page, and of a redirection.
const CODES: &str = "%a %A %b %B %c %D %e %E %f %F %g %h %H %i %I %l %L %m %M %o %O %p %P %R %s %S %t %T %u %U %w %W \
                     %x %z %Z";

/// Who says `bob` is let in; the helper says more than it should.
const HELPER: &str = r#"while read -r user rest; do
  case "$user" in
    bob) echo 'OK password="said-by-the-helper" ha1="said-by-the-helper" token="said-by-the-helper"' ;;
    *) echo 'ERR message="no <such> user"' ;;
  esac
done"#;

/// All that must not be seen anywhere.
fn secrets() -> Vec<String> {
    let mut all = vec![];
    for secret in [PASSWORD, TOKEN, IN_URL, COOKIE, PEERS, HELPERS] {
        all.push(secret.to_owned());
    }
    for pair in [
        format!("bob:{PASSWORD}"),
        format!("eve:{PASSWORD}"),
        format!("me:{PEERS}"),
    ] {
        all.push(STANDARD.encode(pair));
    }
    all
}

#[track_caller]
fn shows_none(what: &str, text: &str) {
    for secret in secrets() {
        assert!(!text.contains(&secret), "{what} shows {secret}:\n{text}");
    }
}

fn basic(user: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{PASSWORD}")))
}

/// A proxy with all its logs on; hosts `refused.test`, `away.test` and `dead.test` end as their names say.
fn program(peer: &Origin) -> Program {
    let formats = [
        "squid",
        "common",
        "combined",
        "referrer",
        "useragent",
        "codes",
    ];
    let logs = formats.map(|format| format!("access_log stdio:{{dir}}/{format}.log {format}\n"));
    let conf = format!(
        "auth_param basic program /bin/sh {{dir}}/helper
logformat codes %un %ul %ue %rm %ru %>ru %<ru %rp %>rd %err_code %err_detail %note %Ss
log_mime_hdrs on
strip_query_terms off
{}
debug_options ALL,9
error_directory {{dir}}
acl user proxy_auth REQUIRED
acl refused dstdomain refused.test
acl away dstdomain away.test
acl dead dstdomain dead.test
acl peered dstdomain peered.test
acl sibling dstdomain sibling.test
http_access deny !user
http_access deny refused
http_access deny away
http_access allow all
deny_info http://info.test/?{} away
cache_peer 127.0.0.1 parent {} 0 no-query name=known login=me:{PEERS}
cache_peer localhost sibling {} 0 no-query name=unknown
cache_peer 127.0.0.1 parent 1 0 no-query name=gone connect-timeout=1
cache_peer_access known allow peered
cache_peer_access unknown allow sibling
cache_peer_access gone allow dead
never_direct allow peered
never_direct allow dead
hosts_file {{dir}}/hosts
",
        logs.concat(),
        CODES.replace(' ', "&"),
        peer.port(),
        peer.port()
    );
    Program::builder(&conf)
        .file("helper", HELPER)
        .file(
            "hosts",
            "127.0.0.1 origin.test sibling.test refused.test away.test",
        )
        .file("ERR_ACCESS_DENIED", CODES)
        .file("ERR_CACHE_ACCESS_DENIED", CODES)
        .file("ERR_CANNOT_FORWARD", CODES)
        .file("ERR_CONNECT_FAIL", CODES)
        .file("ERR_INVALID_URL", CODES)
        .file("ERR_INVALID_REQ", CODES)
        .file("ERR_UNSUP_REQ", CODES)
        .start()
}

/// Every way in which a request may end, each with all credentials: none of them is in the reply, in a log, or in what a
/// hop is told that they are not for.
#[test]
fn nothing_shows_credentials() {
    let origin = Origin::start(|_: &Request| Reply::ok("fine"));
    let peer = Origin::start(|_: &Request| Reply::ok("fine"));
    let mut program = program(&peer);
    let port = origin.port();
    let (bob, eve) = (basic("bob"), basic("eve"));
    let bearer = format!("Bearer {TOKEN}");
    let cookie = format!("id={COOKIE}");
    let url = |host: &str| format!("http://{host}:{port}/path?query");
    for (what, method, target, login, status) in [
        ("a hit or miss", "GET", url("origin.test"), &bob, 200),
        ("a wrong password", "GET", url("origin.test"), &eve, 407),
        ("a refusal", "GET", url("refused.test"), &bob, 403),
        ("a redirection", "GET", url("away.test"), &bob, 302),
        (
            "a parent with a login",
            "GET",
            "http://peered.test/".to_owned(),
            &bob,
            200,
        ),
        ("a sibling", "GET", url("sibling.test"), &bob, 200),
        (
            "a dead parent",
            "GET",
            "http://dead.test/".to_owned(),
            &bob,
            503,
        ),
        (
            "a tunnel that is refused",
            "CONNECT",
            "refused.test:443".to_owned(),
            &bob,
            403,
        ),
        (
            "a tunnel to nowhere",
            "CONNECT",
            "dead.test:443".to_owned(),
            &bob,
            503,
        ),
        (
            "a login in a URL",
            "GET",
            format!("http://bob:{IN_URL}@origin.test:{port}/"),
            &bob,
            400,
        ),
        (
            "a login for FTP",
            "GET",
            format!("ftp://bob:{IN_URL}@refused.test/"),
            &bob,
            400,
        ),
        (
            "a login for an FTP that isn't",
            "GET",
            format!("ftp://bob:{IN_URL}@origin.test/"),
            &bob,
            400,
        ),
        (
            "a URL that is none",
            "GET",
            format!("http://bob:{IN_URL}@origin.test:99999/"),
            &bob,
            400,
        ),
        ("a trace", "TRACE", url("origin.test"), &bob, 200),
    ] {
        for accept in ["*/*", "application/json"] {
            let mut client = client(&program);
            let fields = [
                ("Proxy-Authorization", &**login),
                ("Authorization", &*bearer),
                ("Cookie", &*cookie),
                ("Accept", accept),
                ("Max-Forwards", if method == "TRACE" { "0" } else { "9" }),
            ];
            client.send_request(method, &target, &fields);
            let answer = client.response_to(method);
            assert_eq!(answer.status, status, "{what}: {answer:?}");
            let body = if method == "CONNECT" && status == 200 {
                String::new()
            } else {
                answer.text()
            };
            shows_none(what, &format!("{:?}\n{body}", answer.head));
        }
    }
    broken(&program, &bob, &bearer);
    for request in origin.requests() {
        assert_eq!(request.field("Proxy-Authorization"), None);
        assert_eq!(
            request.field("Authorization"),
            Some(&*bearer),
            "it is the origin's"
        );
        assert!(!format!("{request:?}").contains(IN_URL), "{request:?}");
    }
    for request in peer.requests() {
        let login = request.field("Proxy-Authorization").map(str::to_owned);
        let ours = format!("Basic {}", STANDARD.encode(format!("me:{PEERS}")));
        let host = request.field("Host").unwrap_or_default();
        let expected = host.starts_with("peered.test").then_some(ours);
        assert_eq!(login, expected, "{host}");
    }
    program.signal(Signal::TERM);
    assert!(program.wait().success());
    let mut told = 0;
    for name in [
        "squid.log",
        "common.log",
        "combined.log",
        "referrer.log",
        "useragent.log",
        "codes.log",
        "cache.log",
        "stdout",
        "stderr",
    ] {
        let text = program.read(name);
        told += text.lines().count();
        shows_none(name, &text);
    }
    assert!(told > 6 * 30, "{told} lines");
}

/// What can't be read is answered and logged without its bytes.
fn broken(program: &Program, login: &str, bearer: &str) {
    let secrets = format!(
        "Proxy-Authorization: {login}\r\nAuthorization: {bearer}\r\nCookie: id={COOKIE}\r\n"
    );
    for head in [
        format!("GET http://bob:{IN_URL}@[::1/ HTTP/1.1\r\nHost: x\r\n{secrets}\r\n"),
        format!("GET http://origin.test/ HTTP/1.1\r\n{secrets}Bad name: x\r\n\r\n"),
        format!("GET http://origin.test/ HTTP/7.0\r\nHost: x\r\n{secrets}\r\n"),
        format!(
            "GET http://origin.test/ HTTP/1.1\r\nHost: x\r\n{secrets}X: {}\r\n\r\n",
            "x".repeat(100_000)
        ),
        format!(
            "POST http://origin.test/ HTTP/1.1\r\nHost: x\r\n{secrets}Content-Length: x\r\n\r\n"
        ),
    ] {
        let mut client = Client::connect(program.addr());
        client.send(&head);
        let answer = client.response();
        assert!(answer.status >= 400, "{answer:?}");
        shows_none(&head, &format!("{:?}\n{}", answer.head, answer.text()));
    }
}

/// A page for a failed login says what the helper says, escaped (`%m`); so does the log, as a note.
#[test]
fn a_page_says_why_a_login_failed() {
    for (answer, shown) in [
        (
            r#"ERR message="locked until <noon>""#,
            "[locked until &lt;noon&gt;]",
        ),
        ("ERR locked", "[locked]"),
        ("ERR", "[[not available]]"),
    ] {
        let program = Program::builder(
            "auth_param basic program /bin/sh {dir}/helper
logformat why %note{message}
access_log stdio:{dir}/access.log why
error_directory {dir}
acl user proxy_auth REQUIRED
http_access allow user",
        )
        .file(
            "helper",
            format!("while read -r q; do echo '{answer}'; done"),
        )
        .file("ERR_CACHE_ACCESS_DENIED", "[%m]")
        .start();
        let login = basic("bob");
        let fields = [("Proxy-Authorization", &*login)];
        let page = client(&program).request("GET", "http://origin.test/", &fields);
        assert_eq!(page.status, 407);
        assert!(page.text().starts_with(shown), "{}", page.text());
        let line = program.wait_for_log_lines(1).remove(0);
        assert_eq!(line == "-", answer == "ERR", "{line}");
    }
}
