use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use config::{DenyAnswer, DenyInfo, Place};
use proptest::prelude::*;

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

fn read(options: &Options) -> ErrorPages {
    let (pages, unreadable) = ErrorPages::read(options);
    assert!(unreadable.is_empty(), "{unreadable:?}");
    pages
}

fn pages() -> ErrorPages {
    read(&options())
}

fn facts(failure: &Failure) -> PageFacts<'_> {
    let local = "127.0.0.1:3128".parse().unwrap();
    PageFacts {
        method: b"GET",
        url: b"http://example.com/a?b=c",
        scheme: b"http",
        host: b"example.com",
        port: 80,
        path: b"/a?b=c",
        date: b"Fri, 20 Nov 2026 10:00:00 GMT",
        ..PageFacts::new(failure, "192.0.2.1".parse().unwrap(), local)
    }
}

fn shown(pages: &ErrorPages, form: Form, facts: &PageFacts<'_>) -> String {
    let Answer::Page(page) = pages.answer(facts.failure) else {
        panic!("no page for {:?}", facts.failure);
    };
    let mut out = Vec::new();
    pages.render(page, form, facts, &mut out);
    String::from_utf8(out).unwrap()
}

fn html(pages: &ErrorPages, facts: &PageFacts<'_>) -> String {
    shown(pages, Form::Plain, facts)
}

fn fields(pages: &ErrorPages, kind: FailureKind, form: Form, errno: i32) -> Vec<String> {
    let mut lines = Vec::new();
    let mut failure = Failure::new(kind, Side::Us);
    failure.errno = (errno != 0).then_some(errno);
    pages.fields(kind as usize, form, &failure, |name, value| {
        lines.push(format!("{name}: {}", str::from_utf8(value).unwrap()));
    });
    lines
}

fn place() -> Place {
    Place {
        file: "squid.conf".into(),
        line: 12,
    }
}

/// A refusal by a rule with the `deny_info` line of that number.
fn denied(pages: &ErrorPages, info: Option<u32>) -> Failure {
    let rule = ("http_access deny x".to_owned(), &place());
    Failure::denied(Some(Arc::new(pages.refusal(Some(rule), info))))
}

fn info(answer: DenyAnswer) -> DenyInfo {
    DenyInfo {
        answer,
        acls: vec!["x".into()],
        place: place(),
    }
}

fn page(status: Option<u16>, name: &str) -> DenyInfo {
    let name = name.to_owned();
    info(DenyAnswer::Page { status, name })
}

fn redirect(status: Option<u16>, url: &str) -> DenyInfo {
    let url = url.to_owned();
    info(DenyAnswer::Redirect { status, url })
}

/// A langpack with one page of each language.
fn langpack(languages: &[&str]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for language in languages {
        let directory = place.path().join(language);
        fs::create_dir(&directory).unwrap();
        fs::write(
            directory.join("ERR_ACCESS_DENIED"),
            format!("{language} %i"),
        )
        .unwrap();
    }
    place
}

#[test]
fn the_page_of_a_denied_request_names_the_rule() {
    let pages = pages();
    let page = html(&pages, &facts(&denied(&pages, None)));
    assert!(page.contains("<code>http_access deny x</code>"));
    assert!(page.contains("<code>GET http://example.com/a?b=c</code>"));
    assert!(page.contains("192.0.2.1") && page.contains("proxy.example (squall/0.1.0)"));
    let page = html(&pages, &facts(&Failure::denied(None)));
    assert!(page.contains("none matched"));
}

#[test]
fn every_page_is_whole_with_no_code_left_over() {
    let mut options = options();
    let extra = [
        "ERR_NO_RELAY",
        "ERR_FTP_NOT_FOUND",
        "ERR_AGENT_CONFIGURE",
        "ERR_ESI",
    ];
    options.deny_info = extra.iter().map(|name| page(None, name)).collect();
    let pages = read(&options);
    for (number, _) in pages.usual().enumerate() {
        let failure = Failure::denied(None);
        let mut out = Vec::new();
        pages.render(number, Form::Plain, &facts(&failure), &mut out);
        let page = String::from_utf8(out).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        assert!(!page.replace("%2f", "").contains('%'), "{page}");
        let kind = FailureKind::all().nth(number);
        let name = kind.map_or_else(|| extra[number - 30], FailureKind::page);
        assert!(page.contains(&format!("<body id=\"{name}\">")));
    }
}

#[test]
fn the_name_and_password_of_a_url_are_not_shown() {
    let failure = Failure::denied(None);
    let mut options = options();
    options.fixed.mail_data = true;
    let pages = read(&options);
    let check = |url: &[u8], expected: &str| {
        let facts = PageFacts {
            url,
            ..facts(&failure)
        };
        let page = html(&pages, &facts);
        assert!(
            page.contains(expected) && !page.contains("secret"),
            "{page}"
        );
        let problem = shown(&pages, Form::Problem, &facts);
        assert!(!problem.contains("secret"), "{problem}");
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
        fields(&pages, FailureKind::ConnectFail, Form::Plain, 111),
        [
            "Content-Type: text/html;charset=utf-8",
            "X-Squid-Error: ERR_CONNECT_FAIL 111",
            "Proxy-Status: proxy.example;error=connection_refused",
            "X-Content-Type-Options: nosniff",
            "Vary: Accept",
            "Content-Language: en",
        ]
    );
    let denied = fields(&pages, FailureKind::AccessDenied, Form::Problem, 0);
    assert_eq!(denied[0], "Content-Type: application/problem+json");
    assert_eq!(denied[1], "X-Squid-Error: ERR_ACCESS_DENIED 0");
}

#[test]
fn a_page_of_ones_own_replaces_the_built_in_one() {
    let directory = tempfile::tempdir().unwrap();
    let text = "<p>%i may not %M %u %U. %R %b %c %a %o%m %E";
    fs::write(directory.path().join("ERR_ACCESS_DENIED"), text).unwrap();
    let mut options = options();
    options.directory = Some(directory.path().into());
    options.fixed.strips_query = true;
    let pages = read(&options);
    let failure = Failure::denied(None);
    assert_eq!(
        html(&pages, &facts(&failure)),
        "<p>192.0.2.1 may not GET http://example.com/a?b=c http://example.com/a?. GET /a?b=c \
         3128 ERR_ACCESS_DENIED - [not available] [No Error]"
    );
    let own = fields(&pages, FailureKind::AccessDenied, Form::Plain, 0);
    assert!(!own.iter().any(|line| line.starts_with("Content-Language")));
    let other = Failure::new(FailureKind::DnsFail, Side::Hop);
    assert!(html(&pages, &facts(&other)).contains("Server name not found"));
}

#[test]
fn what_cannot_be_read_is_told_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("ERR_DNS_FAIL")).unwrap();
    let options = Options {
        directory: Some(directory.path().into()),
        stylesheet: Some("/nowhere/style.css".into()),
        deny_info: vec![page(None, "ERR_MISSING")],
        ..options()
    };
    let (pages, unreadable) = ErrorPages::read(&options);
    let told: Vec<String> = unreadable.iter().map(Unreadable::to_string).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].starts_with("cannot read /nowhere/style.css: "));
    assert!(
        told[1].ends_with("ERR_DNS_FAIL: not a plain file"),
        "{told:?}"
    );
    assert!(told[2].contains("ERR_MISSING: "), "{told:?}");
    let missing = html(&pages, &facts(&denied(&pages, Some(0))));
    assert!(missing.contains("<body id=\"ERR_MISSING\">"));
    assert!(html(&pages, &facts(&Failure::denied(None))).contains("Access denied"));
}

#[test]
fn the_configuration_names_the_host_and_its_keeper() {
    let config = Config {
        cache_mgr: "keeper@example.com".into(),
        httpd_suppress_version_string: true,
        email_err_data: true,
        err_html_text: "<b>Call 1234</b>".into(),
        ..config::built_in()
    };
    let pages = ErrorPages::load(&config, "cache.example");
    let page = html(&pages, &facts(&Failure::denied(None)));
    assert!(page.contains("cache.example (squall)") && page.contains("<b>Call 1234</b>"));
    let link = "mailto:keeper@example.com?subject=Proxy%20error%20ERR_ACCESS_DENIED&amp;body=";
    assert!(page.contains(link), "{page}");
    assert!(page.contains("URL%3A%20http%3A%2F%2Fexample.com%2Fa%3F%0D%0A"));
}

#[test]
fn deny_info_chooses_by_its_line() {
    let mut options = options();
    options.deny_info = vec![
        page(Some(404), "ERR_FTP_NOT_FOUND"),
        redirect(None, "http://info.example/?url=%u&why=%{x}&d=%H"),
        info(DenyAnswer::Reset),
        redirect(Some(303), "http://info.example/"),
    ];
    let pages = read(&options);
    assert_eq!(pages.info_of("x"), Some(0), "the first line holds");
    assert_eq!(pages.info_of("y"), None);

    let failure = denied(&pages, Some(0));
    let Answer::Page(number) = pages.answer(&failure) else {
        panic!("no page");
    };
    assert_eq!(pages.status(number, &failure), 404);
    let page = html(&pages, &facts(&failure));
    assert!(page.contains("FTP file not found") && page.contains("404:ERR_FTP_NOT_FOUND"));
    let mut challenge = failure.clone();
    challenge.kind = FailureKind::CacheAccessDenied;
    assert_eq!(pages.status(number, &challenge), 407);

    let mut failure = denied(&pages, Some(1));
    let Answer::Redirect(to) = pages.answer(&failure) else {
        panic!("no redirection");
    };
    let mut location = Vec::new();
    pages.location(to, &facts(&failure), &mut location);
    assert_eq!(
        str::from_utf8(&location).unwrap(),
        "http://info.example/?url=http%3A%2F%2Fexample.com%2Fa%3Fb%3Dc&why=%25{x}&d=example.com"
    );
    let by_method = [&b"GET"[..], b"HEAD", b"POST", b"CONNECT"].map(|method| to.status(method));
    assert_eq!(by_method, [302, 302, 307, 307]);
    assert_eq!(to.squid_error(), "403 Access Denied");
    failure.kind = FailureKind::CacheAccessDenied;
    assert!(matches!(pages.answer(&failure), Answer::Page(_)));

    assert!(matches!(
        pages.answer(&denied(&pages, Some(2))),
        Answer::Reset
    ));
    let failure = denied(&pages, Some(3));
    let Answer::Redirect(to) = pages.answer(&failure) else {
        panic!("no redirection");
    };
    assert_eq!(
        (to.status(b"POST"), to.squid_error()),
        (303, "303 Access Denied")
    );
}

#[test]
fn programs_read_a_problem_and_the_rule_when_they_may() {
    let quiet = pages();
    let failure = denied(&quiet, None);
    let problem = shown(&quiet, Form::Problem, &facts(&failure));
    let read: serde_json::Value = serde_json::from_str(&problem).unwrap();
    let expected = serde_json::json!({
        "title": "Forbidden",
        "status": 403,
        "detail": "Access denied",
        "error": "ERR_ACCESS_DENIED",
        "url": "http://example.com/a?b=c",
    });
    assert_eq!(read, expected);
    let status = str::from_utf8(quiet.proxy_status(&failure)).unwrap();
    assert_eq!(status, "proxy.example;error=http_request_denied");

    let telling = ErrorPages::read(&Options {
        deny_reason: true,
        ..options()
    });
    let telling = telling.0;
    let failure = denied(&telling, None);
    let problem = shown(&telling, Form::Problem, &facts(&failure));
    let read: serde_json::Value = serde_json::from_str(&problem).unwrap();
    assert_eq!(read["rule"], "squid.conf:12");
    let status = str::from_utf8(telling.proxy_status(&failure)).unwrap();
    assert_eq!(
        status,
        r#"proxy.example;error=http_request_denied;rule="squid.conf:12""#
    );
}

#[test]
fn json_is_for_who_likes_it_best() {
    let pages = pages();
    let check = |accept: &str, expected: bool| {
        let mut request = Fields::new();
        request.push_id(FieldId::Accept, accept.as_bytes());
        let form = pages.form(Some(&request));
        assert_eq!(form == Form::Problem, expected, "{accept}");
    };
    check("application/json", true);
    check("application/problem+json", true);
    check("application/json, text/plain, */*", true);
    check("text/html;q=0.5, application/json;q=0.9", true);
    check("*/*", false);
    check("text/html, application/json", false);
    check("text/html,application/xhtml+xml,*/*;q=0.8", false);
    check("application/json;q=0", false);
    check("application/vnd.api+json", false);
    assert_eq!(pages.form(Some(&Fields::new())), Form::Plain);
}

#[test]
fn languages_are_chosen_as_the_client_likes_them() {
    let pack = langpack(&["de", "fr", "pt-br", "en", "templates", "Odd"]);
    std::os::unix::fs::symlink("de", pack.path().join("de-at")).unwrap();
    let mut options = options();
    options.langpack = Some(pack.path().into());
    let check = |pages: &ErrorPages, accept: Option<&str>, expected: &str| {
        let mut request = Fields::new();
        if let Some(accept) = accept {
            request.push_id(FieldId::AcceptLanguage, accept.as_bytes());
        }
        let form = pages.form(Some(&request));
        let page = shown(pages, form, &facts(&Failure::denied(None)));
        assert!(page.contains(expected), "{accept:?}: {page}");
        let lines = fields(pages, FailureKind::AccessDenied, form, 0);
        let tag = expected.split(' ').next().unwrap();
        let tag = if tag == "Access" { "en" } else { tag };
        assert!(
            lines.contains(&format!("Content-Language: {tag}")),
            "{lines:?}"
        );
        assert!(lines.contains(&"Vary: Accept, Accept-Language".to_owned()));
    };
    let pages = read(&options);
    let english = "Access denied";
    check(&pages, None, english);
    check(&pages, Some("de"), "de 192.0.2.1");
    check(&pages, Some("DE-at"), "de 192.0.2.1");
    check(&pages, Some("de-ch-1996"), "de 192.0.2.1");
    check(&pages, Some("pt-BR,fr;q=0.9"), "pt-br 192.0.2.1");
    check(&pages, Some("en;q=0.8, fr;q=0.9"), "fr 192.0.2.1");
    check(&pages, Some("en-GB, fr"), english);
    check(&pages, Some("xx, fr;q=0"), english);
    check(&pages, Some("*"), english);
    options.default_language = Some("fr".into());
    let pages = read(&options);
    check(&pages, None, "fr 192.0.2.1");
    check(&pages, Some("xx"), "fr 192.0.2.1");
    check(&pages, Some("en"), english);
    // A page that a language lacks is ours.
    let form = pages.form(None);
    let other = Failure::new(FailureKind::DnsFail, Side::Hop);
    assert!(shown(&pages, form, &facts(&other)).contains("Server name not found"));
    options.default_language = Some("xx".into());
    let (_, unreadable) = ErrorPages::read(&options);
    assert_eq!(unreadable.len(), 1, "{unreadable:?}");
}

/// Squid's own templates, where the package is installed.
#[test]
fn an_installed_langpack_can_be_read() {
    let Some(place) = language::PLACES
        .iter()
        .map(Path::new)
        .find(|place| place.is_dir())
    else {
        println!("skipped: no squid-langpack is installed");
        return;
    };
    let mut options = options();
    options.langpack = Some(place.into());
    let pages = read(&options);
    let mut request = Fields::new();
    request.push_id(FieldId::AcceptLanguage, b"de-AT, en;q=0.5");
    let form = pages.form(Some(&request));
    let page = shown(&pages, form, &facts(&Failure::denied(None)));
    assert!(
        page.contains("Zugriff verweigert") && page.contains("mailto:webmaster"),
        "{page}"
    );
}

fn code() -> impl Strategy<Value = char> {
    let codes: Vec<char> = "aAbBcDeEfFgGhHiIlLmMoOpPRsStTuUwWxzZ%{".chars().collect();
    prop::sample::select(codes)
}

/// Facts of which a hostile client, helper or origin chooses every text.
fn hostile<'a>(failure: &'a Failure, text: &'a [u8], message: &'a str) -> PageFacts<'a> {
    PageFacts {
        method: text,
        url: text,
        scheme: text,
        host: text,
        path: text,
        user: text,
        message,
        helper_message: message,
        ..facts(failure)
    }
}

proptest! {
    /// The page between its marks has no markup whatever stands for the codes.
    #[test]
    fn no_code_lets_markup_in(text: Vec<u8>, message: String, letter in code()) {
        let source = format!("[%{letter}]");
        let fixed = Fixed { mail_data: true, ..options().fixed };
        let failure = Failure::denied(Some(Arc::new(Refusal {
            rule: Some(message.as_str().into()),
            ..Refusal::default()
        })));
        let facts = hostile(&failure, &text, &message);
        let mut out = Vec::new();
        Template::page(&source, "ERR_X", &fixed, &"".into()).render(&facts, &fixed, &mut out);
        let page = String::from_utf8(out).unwrap();
        // The signature is markup of ours.
        let page = page.replace("<p>Generated ", "").replace("</p>", "");
        prop_assert!(!page.contains(['<', '>', '"', '\'']), "{page}");
        prop_assert!(!page.contains(|char: char| char.is_control()));
    }

    /// A redirection stays one URL with the parts that the operator wrote.
    #[test]
    fn no_code_leaves_its_part_of_a_url(text: Vec<u8>, message: String, letter in code()) {
        let failure = Failure::denied(None);
        let facts = hostile(&failure, &text, &message);
        let mut out = Vec::new();
        let fixed = options().fixed;
        Template::url(&format!("%{letter}"), &fixed).render(&facts, &fixed, &mut out);
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%{".contains(byte);
        // A path stands for itself.
        let path = |byte: &u8| letter == 'R' && byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(byte);
        prop_assert!(
            out.iter().all(|byte| plain(byte) || path(byte)),
            "{}",
            String::from_utf8_lossy(&out)
        );
    }

    /// A problem is one JSON object that gives the texts back.
    #[test]
    fn no_text_leaves_its_member(text: Vec<u8>, message: String) {
        let failure = Failure::denied(None);
        let facts = hostile(&failure, &text, &message);
        let page = shown(&pages(), Form::Problem, &facts);
        prop_assert_eq!(page.lines().count(), 1);
        let read: serde_json::Value = serde_json::from_str(&page).unwrap();
        prop_assert_eq!(&read["status"], 403);
        if !message.is_empty() {
            prop_assert_eq!(&read["detail"], &message);
        }
    }
}
