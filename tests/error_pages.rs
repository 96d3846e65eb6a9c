//! What a refused client reads: pages by name and of one's own, redirections, resets; languages; JSON for programs.

use std::path::Path;

use testkit::{Origin, Program, Reply, Request, Response};

use crate::support::{Entry, client};

/// A page that Squid's langpack has in German.
const GERMAN: &str = "/usr/share/squid-langpack/de/ERR_ACCESS_DENIED";

/// Names a host `NAME.test` for an acl of that name, and refuses it.
fn refusing(names: &[&str], conf: &str) -> String {
    let acls = names
        .iter()
        .map(|name| format!("acl {name} dstdomain {name}.test\nhttp_access deny {name}\n"));
    let acls: String = acls.collect();
    format!("{acls}{conf}")
}

fn get(program: &Program, host: &str) -> Response {
    client(program).get(&format!("http://{host}.test/p?q=<\"&>"))
}

/// Each form of `deny_info`, with its status, its name in `X-Squid-Error` and its line in the log.
#[test]
fn deny_info_says_what_the_client_gets() {
    let names = ["own", "gone", "by_name", "away", "other", "reset", "plain"];
    let conf = refusing(
        &names,
        "error_directory {dir}\n\
         deny_info OWN own\n\
         deny_info 410:OWN gone\n\
         deny_info ERR_FTP_DISABLED by_name\n\
         deny_info http://info.test/?url=%u&host=%H&who=%i away\n\
         deny_info 303:http://info.test/%M other\n\
         deny_info TCP_RESET reset\n",
    );
    let program = Program::builder(&conf)
        .file("OWN", "own page for %i: %c at %u by %h")
        .start();
    let own = get(&program, "own");
    assert_eq!(
        (own.status, own.field("X-Squid-Error")),
        (403, Some("OWN 0"))
    );
    let url = "http://own.test/p?q=&lt;&quot;&amp;&gt;";
    assert!(
        own.text()
            .starts_with(&format!("own page for 127.0.0.1: OWN at {url} by "))
    );
    assert_eq!(own.field("Vary"), Some("Accept"));

    let gone = get(&program, "gone");
    assert_eq!(
        (gone.status, gone.field("X-Squid-Error")),
        (410, Some("410:OWN 0"))
    );
    let named = get(&program, "by_name");
    assert_eq!(named.field("X-Squid-Error"), Some("ERR_FTP_DISABLED 0"));
    assert!(
        named.text().contains("FTP is switched off"),
        "{}",
        named.text()
    );

    let away = get(&program, "away");
    assert_eq!((away.status, away.body().len()), (302, 0));
    assert_eq!(
        away.field("Location"),
        Some(
            "http://info.test/?url=http%3A%2F%2Faway.test%2Fp%3Fq%3D%3C%22%26%3E\
             &host=away.test&who=127.0.0.1"
        )
    );
    assert_eq!(away.field("X-Squid-Error"), Some("403 Access Denied"));
    let posted = client(&program).request("POST", "http://away.test/", &[("Content-Length", "0")]);
    assert_eq!(posted.status, 307);
    let other = get(&program, "other");
    assert_eq!(
        (other.status, other.field("Location")),
        (303, Some("http://info.test/GET"))
    );

    let mut cut = client(&program);
    cut.send_request("GET", "http://reset.test/", &[]);
    assert!(
        cut.try_response_to("GET").is_err(),
        "a reply in place of a reset"
    );
    assert!(
        get(&program, "plain")
            .text()
            .contains("http_access deny plain")
    );

    // Two workers write the log, each in its own order.
    for (url, result) in [
        ("own.test", "TCP_DENIED/403"),
        ("gone.test", "TCP_DENIED/410"),
        ("away.test", "TCP_DENIED/302"),
        ("away.test", "TCP_DENIED/307"),
        ("other.test", "TCP_DENIED/303"),
        ("reset.test", "TCP_DENIED/000"),
    ] {
        program.wait_for_log(|line| {
            let entry = Entry::of(line);
            entry.url.contains(url) && entry.result == result
        });
    }
    let reset = program.wait_for_log(|line| line.contains("reset.test"));
    let reset = Entry::of(&reset);
    assert_eq!((reset.bytes, &*reset.kind), (0, "-"));
}

/// The last ACL that was asked decides: of a group the member, without a matching rule the one that stopped it.
#[test]
fn the_last_acl_asked_chooses_the_page() {
    let program = Program::start(
        "acl one dstdomain one.test\nacl two dstdomain two.test\nacl group any-of one two\n\
         acl open dstdomain open.test\n\
         deny_info 410:ERR_ACCESS_DENIED two\ndeny_info 451:ERR_ACCESS_DENIED open\n\
         http_access deny group\nhttp_access allow open\n",
    );
    assert_eq!(get(&program, "one").status, 403);
    assert_eq!(get(&program, "two").status, 410);
    assert_eq!(get(&program, "else").status, 451);
}

/// A challenge may have a page of its own; neither a status nor a URL takes its place.
#[test]
fn challenges_have_their_pages() {
    let challenge = |answer: &str| {
        let program = Program::start(&format!(
            "auth_param basic program /usr/lib/squid/basic_fake_auth\n\
             acl users proxy_auth REQUIRED\ndeny_info {answer} users\nhttp_access allow users\n"
        ));
        let answer = get(&program, "a");
        assert_eq!(answer.status, 407);
        assert!(answer.field("Proxy-Authenticate").is_some());
        answer.field("X-Squid-Error").unwrap().to_owned()
    };
    assert_eq!(challenge("ERR_AGENT_CONFIGURE"), "ERR_AGENT_CONFIGURE 0");
    assert_eq!(challenge("404:ERR_TOO_BIG"), "404:ERR_TOO_BIG 0");
    assert_eq!(challenge("http://info.test/"), "ERR_CACHE_ACCESS_DENIED 0");
}

/// Replies and misses that are refused have pages, too.
#[test]
fn refused_replies_and_misses_have_their_pages() {
    let origin = Origin::start(|_: &Request| Reply::ok("secret").field("Content-Type", "video/x"));
    let program = Program::start(
        "acl film rep_mime_type ^video\nacl guest urlpath_regex guest\n\
         deny_info 451:ERR_TOO_BIG film\ndeny_info http://info.test/%o?%t guest\n\
         http_access allow all\nhttp_reply_access deny film\nmiss_access deny guest\n",
    );
    let film = client(&program).get(&origin.url("/"));
    assert_eq!((film.status, film.text().contains("secret")), (451, false));
    let guest = client(&program).get(&origin.url("/guest"));
    assert_eq!(guest.status, 302);
    let location = guest.field("Location").unwrap();
    assert!(location.starts_with("http://info.test/?"), "{location}");
    assert!(!location.contains("1970"), "{location}");
    assert_eq!(origin.total(), 1);
}

/// Programs get JSON when they like it best; which line refused is told where `deny_reason` is on. HEAD has no body.
#[test]
fn programs_read_why() {
    for told in [false, true] {
        let line = if told { "deny_reason on" } else { "" };
        let program = Program::start(&format!(
            "visible_hostname cache.test\n{line}\nhttp_access deny all"
        ));
        let json = ("Accept", "application/json, */*");
        let answer = client(&program).request("GET", "http://a.test/<b>", &[json]);
        assert_eq!(
            answer.field("Content-Type"),
            Some("application/problem+json")
        );
        assert_eq!(
            answer.field("Vary").map(|vary| vary.contains("Accept")),
            Some(true)
        );
        let text = answer.text();
        assert!(
            text.contains(r#""status":403"#) && text.contains(r#""error":"ERR_ACCESS_DENIED""#)
        );
        assert_eq!(text.contains(r#"squid.conf:"#), told, "{text}");
        let status = answer.field("Proxy-Status").unwrap();
        assert!(
            status.starts_with("cache.test;error=http_request_denied"),
            "{status}"
        );
        assert_eq!(status.contains(";rule=\""), told, "{status}");
        let head = client(&program).request("HEAD", "http://a.test/", &[json]);
        assert_eq!((head.status, head.body().len()), (403, 0));
        let page = client(&program).get("http://a.test/");
        assert_eq!(page.field("Content-Type"), Some("text/html;charset=utf-8"));
    }
}

/// A failure of the origin says which one it is.
#[test]
fn proxy_status_names_failures() {
    let program = Program::start("visible_hostname cache.test\nhttp_access allow all");
    let answer = client(&program).get("http://127.0.0.1:1/");
    assert_eq!(answer.status, 503);
    assert_eq!(
        answer.field("Proxy-Status"),
        Some("cache.test;error=connection_refused")
    );
    assert_eq!(answer.field("X-Squid-Error"), Some("ERR_CONNECT_FAIL 111"));
}

/// With Squid's langpack a client reads its own language, and the log tells of one that isn't there; once.
#[test]
fn pages_come_in_the_clients_language() {
    if !Path::new(GERMAN).is_file() {
        println!("skipped: the package squid-langpack is not installed");
        return;
    }
    let program = Program::start("http_access deny all");
    let ask = |language: &str| {
        let field = ("Accept-Language", language);
        client(&program).request("GET", "http://a.test/", &[field])
    };
    let german = ask("de-AT, en;q=0.5");
    assert_eq!(german.field("Content-Language"), Some("de"));
    assert_eq!(german.field("Vary"), Some("Accept, Accept-Language"));
    assert!(
        german.text().contains("Zugriff verweigert"),
        "{}",
        german.text()
    );
    let english = ask("en");
    assert_eq!(english.field("Content-Language"), Some("en"));
    assert!(english.text().contains("Access denied"));
    for _ in 0..2 {
        assert_eq!(ask("tlh").field("Content-Language"), Some("en"));
    }
    let log = program.read("cache.log");
    assert_eq!(log.matches("Missing Language: tlh").count(), 1, "{log}");
    let program = Program::start("error_default_language de\nhttp_access deny all");
    assert_eq!(
        client(&program)
            .get("http://a.test/")
            .field("Content-Language"),
        Some("de")
    );
}

/// A page that can't be found is told once, at the start, and the client reads ours.
#[test]
fn a_missing_page_is_told() {
    let program = Program::start("deny_info NOT_THERE all\nhttp_access deny all");
    for _ in 0..2 {
        let answer = client(&program).get("http://a.test/");
        assert_eq!(answer.field("X-Squid-Error"), Some("NOT_THERE 0"));
        assert!(answer.text().contains("</html>"));
    }
    let log = program.read("cache.log");
    assert_eq!(log.matches("NOT_THERE: ").count(), 1, "{log}");
}

/// What no rule of HTTP lets pass is not in the page, and credentials are not, either.
#[test]
fn pages_show_no_markup_and_no_secrets() {
    let program = Program::builder("error_directory {dir}\nhttp_access deny all")
        .file(
            "ERR_ACCESS_DENIED",
            "%a %A %b %B %c %D %e %E %f %F %g %h %H %i %I %l %L %m %M %o %O %p %P %R %s %S %t %T %u \
             %U %w %W %x %z %Z",
        )
        .start();
    let hostile = "http://x.test/<script>alert('1')</script>?\"%3Cb>";
    let fields = [
        ("Proxy-Authorization", "Basic c2VjcmV0"),
        ("Authorization", "Bearer secret"),
        ("Cookie", "secret"),
        ("X-Odd", "<script>"),
    ];
    for accept in ["*/*", "application/json"] {
        let mut all = fields.to_vec();
        all.push(("Accept", accept));
        let answer = client(&program).request("GET", hostile, &all);
        assert!(matches!(answer.status, 400 | 403), "{}", answer.status);
        let text = answer.text();
        assert!(
            !text.contains("secret") && !text.contains("c2VjcmV0"),
            "{text}"
        );
        if accept == "*/*" {
            assert!(!text.contains("<script"), "{text}");
        }
    }
}
