use std::sync::Arc;

use super::*;
use crate::failure::Side;

fn options() -> Options {
    Options {
        fixed: Fixed {
            hostname: "proxy.example".into(),
            software: "squall/0.1.0".into(),
            admin: "webmaster".into(),
            ..Fixed::default()
        },
        ..Options::default()
    }
}

fn pages() -> ErrorPages {
    let (pages, unreadable) = ErrorPages::read(&options());
    assert!(unreadable.is_empty());
    pages
}

fn facts(failure: &Failure) -> PageFacts<'_> {
    let local = "127.0.0.1:3128".parse().unwrap();
    PageFacts {
        method: b"GET",
        url: b"http://example.com/a?b=c",
        scheme: "http",
        host: b"example.com",
        port: 80,
        path: b"/a?b=c",
        date: b"Fri, 20 Nov 2026 10:00:00 GMT",
        ..PageFacts::new(failure, "192.0.2.1".parse().unwrap(), local)
    }
}

fn html(pages: &ErrorPages, facts: &PageFacts<'_>) -> String {
    let mut out = Vec::new();
    pages.render(facts, &mut out);
    String::from_utf8(out).unwrap()
}

fn fields(pages: &ErrorPages, kind: FailureKind, errno: i32) -> Vec<String> {
    let mut lines = Vec::new();
    pages.fields(kind, errno, |name, value| {
        lines.push(format!("{name}: {}", str::from_utf8(value).unwrap()));
    });
    lines
}

#[test]
fn the_page_of_a_denied_request_names_the_rule() {
    let rule: Arc<str> = "http_access deny to_localhost (built-in line 12)".into();
    let failure = Failure::denied(Some(rule));
    let page = html(&pages(), &facts(&failure));
    assert!(page.contains("<code>http_access deny to_localhost (built-in line 12)</code>"));
    assert!(page.contains("<code>GET http://example.com/a?b=c</code>"));
    assert!(page.contains("192.0.2.1") && page.contains("proxy.example (squall/0.1.0)"));
    let page = html(&pages(), &facts(&Failure::denied(None)));
    assert!(page.contains("none matched"));
}

#[test]
fn every_kind_has_a_whole_page_with_no_code_left_over() {
    let pages = pages();
    for kind in FailureKind::all() {
        let failure = Failure::new(kind, Side::Us);
        let page = html(&pages, &facts(&failure));
        assert!(page.starts_with("<!DOCTYPE html>"), "{}", kind.page());
        assert!(page.contains(&format!("<body id=\"{}\">", kind.page())));
        assert!(page.ends_with("</html>\n"));
        assert!(!page.contains('%'), "{}: {page}", kind.page());
    }
}

#[test]
fn nothing_that_the_client_sends_becomes_markup() {
    let failure = Failure::denied(None);
    let attack = b"http://a/\"><script>alert(1)</script>";
    let page = html(
        &pages(),
        &PageFacts {
            url: attack,
            method: b"<G>",
            ..facts(&failure)
        },
    );
    assert!(!page.contains("<script") && !page.contains("<G>"));
    assert!(page.contains("&lt;script&gt;"));
}

#[test]
fn the_name_and_password_of_a_url_are_not_shown() {
    let failure = Failure::denied(None);
    let check = |url: &[u8], shown: &str| {
        let facts = PageFacts {
            url,
            ..facts(&failure)
        };
        let page = html(&pages(), &facts);
        assert!(page.contains(shown) && !page.contains("secret"), "{page}");
    };
    check(
        b"http://me:secret@a.example/x@y",
        "<code>GET http://a.example/x@y</code>",
    );
    check(
        b"http://me:secret@a.example?q=@",
        "<code>GET http://a.example?q=@</code>",
    );
}

#[test]
fn a_failed_connection_shows_the_systems_reason() {
    let error = io::Error::from_raw_os_error(111);
    let failure = Failure::hop_io(FailureKind::ConnectFail, &error);
    let page = html(&pages(), &facts(&failure));
    assert!(page.contains("<code>(111) Connection refused</code>"));
}

#[test]
fn the_fields_that_go_with_a_page() {
    let pages = pages();
    assert_eq!(
        fields(&pages, FailureKind::ConnectFail, 111),
        [
            "Content-Type: text/html;charset=utf-8",
            "X-Squid-Error: ERR_CONNECT_FAIL 111",
            "X-Content-Type-Options: nosniff",
            "Vary: Accept-Language",
            "Content-Language: en",
        ]
    );
    let denied = fields(&pages, FailureKind::AccessDenied, 0);
    assert_eq!(denied[1], "X-Squid-Error: ERR_ACCESS_DENIED 0");
}

#[test]
fn a_page_of_ones_own_replaces_the_built_in_one() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("ERR_ACCESS_DENIED"),
        "<p>%i may not %M %U. %R %b",
    )
    .unwrap();
    let options = Options {
        directory: Some(directory.path().into()),
        ..options()
    };
    let (pages, unreadable) = ErrorPages::read(&options);
    assert!(unreadable.is_empty());
    let failure = Failure::denied(None);
    assert_eq!(
        html(&pages, &facts(&failure)),
        "<p>192.0.2.1 may not GET http://example.com/a?b=c. GET /a?b=c 3128"
    );
    assert_eq!(fields(&pages, FailureKind::AccessDenied, 0).len(), 3);
    let other = Failure::new(FailureKind::DnsFail, Side::Hop);
    assert!(html(&pages, &facts(&other)).contains("Server name not found"));
}

#[test]
fn what_cannot_be_read_is_told_and_replaced() {
    let options = Options {
        directory: Some("/nowhere".into()),
        stylesheet: Some("/nowhere/style.css".into()),
        ..options()
    };
    let (pages, unreadable) = ErrorPages::read(&options);
    assert_eq!(unreadable.len(), 2);
    let failure = Failure::denied(None);
    assert!(html(&pages, &facts(&failure)).contains("Access denied"));
}

#[test]
fn the_configuration_names_the_host_and_its_keeper() {
    let config = Config {
        cache_mgr: "keeper@example.com".into(),
        httpd_suppress_version_string: true,
        ..config::built_in()
    };
    let pages = ErrorPages::load(&config, "cache.example");
    let page = html(&pages, &facts(&Failure::denied(None)));
    assert!(page.contains("cache.example (squall)"));
    assert!(page.contains("mailto:keeper@example.com"));
}
