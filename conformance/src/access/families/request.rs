//! What the request says: method and fields.

use super::{Ask, RuleSet, each};

const SITE: &str = "http://site.example/";

pub(super) fn rule_sets() -> Vec<RuleSet> {
    let mut sets = methods();
    sets.extend(fields());
    sets.extend(values());
    sets
}

fn methods() -> Vec<RuleSet> {
    let plain = [
        "GET", "HEAD", "OPTIONS", "DELETE", "FOO", "get", "PROPFIND", "REPORT",
    ];
    let mut asks: Vec<Ask> = plain.iter().map(|method| Ask::by(method, SITE)).collect();
    for method in ["POST", "PUT", "PATCH"] {
        asks.push(Ask::by(method, SITE).field("Content-Length", "0"));
    }
    let values = [
        "GET",
        "HEAD",
        "POST PUT",
        "get",
        "FOO",
        "DELETE OPTIONS",
        "PATCH",
        "CONNECT",
        "Get post",
        "PROPFIND",
        "GET HEAD POST PUT DELETE",
        "REPORT foo",
        "BAR",
    ];
    each("method", "http_access", "method", &values, &asks)
}

/// Fields with values that several types look at.
fn fields() -> Vec<RuleSet> {
    let mut sets = Vec::new();
    let patterns = [
        "Mozilla",
        "-i mozilla",
        "^Mozilla/5",
        "curl|wget",
        "-i CURL",
        "^$",
        ".",
        "[0-9]+\\.[0-9]+",
        "\\(X11",
        "^-$",
        "compatible -i MSIE",
        "é",
    ];
    let with = |name: &str, values: &[&str]| {
        let mut asks = vec![Ask::get(SITE)];
        asks.extend(values.iter().map(|value| Ask::get(SITE).field(name, value)));
        asks
    };
    let browsers = with(
        "User-Agent",
        &[
            "Mozilla/5.0 (X11; Linux)",
            "mozilla/4.0 (compatible; MSIE 6.0)",
            "curl/8.0",
            "-",
            "",
            "x  y",
            "caf\u{e9}",
        ],
    );
    sets.extend(each(
        "browser",
        "http_access",
        "browser",
        &patterns,
        &browsers,
    ));
    let twice = Ask::get(SITE)
        .field("Referer", "http://one.example/")
        .field("Referer", "http://two.example/");
    let mut referers = with(
        "Referer",
        &[
            "http://one.example/",
            "HTTP://TWO.example/x",
            "",
            "none",
            "-",
        ],
    );
    referers.push(twice);
    let patterns = [
        "one",
        "two",
        "-i two",
        "^http://",
        "example/$",
        "^$",
        ".",
        "-",
        "none",
        "one.*two",
        ",",
    ];
    sets.extend(each(
        "referer_regex",
        "http_access",
        "referer_regex",
        &patterns,
        &referers,
    ));
    sets
}

fn values() -> Vec<RuleSet> {
    let mut sets = Vec::new();
    let asks = [
        Ask::get(SITE),
        Ask::get(SITE).field("X-One", "alpha"),
        Ask::get(SITE).field("x-one", "ALPHA"),
        Ask::get(SITE).field("X-One", ""),
        Ask::get(SITE).field("X-One", "a").field("X-One", "lpha"),
        Ask::get(SITE).field("X-Two", "alpha"),
        Ask::get(SITE).field("Accept", "text/html, */*"),
        Ask::get(SITE).field("Cookie", "id=42; alpha=1"),
        Ask::get(SITE).field("Cache-Control", "no-cache"),
    ];
    let patterns = [
        "X-One alpha",
        "X-One -i alpha",
        "x-one ^ALPHA$",
        "X-One .",
        "X-One ^$",
        "X-One .*",
        "X-Two a",
        "Accept html",
        "accept ^text/html, \\*/\\*$",
        "Cookie id=[0-9]+",
        "Cookie -i ALPHA",
        "Host ^site\\.example$",
        "Host .",
        "Cache-Control no-cache",
        "X-One a, ?lpha",
        "X-One one two alpha",
        "User-Agent .",
        "X-One -i ALP +i ha$",
    ];
    sets.extend(each(
        "req_header",
        "http_access",
        "req_header",
        &patterns,
        &asks,
    ));
    let post = |kind: &str| {
        let ask = Ask::by("POST", SITE).field("Content-Length", "0");
        if kind.is_empty() {
            ask
        } else {
            ask.field("Content-Type", kind)
        }
    };
    let asks = [
        "",
        "text/plain",
        "TEXT/HTML; charset=utf-8",
        "application/json",
        "multipart/form-data; boundary=x",
        "x",
    ]
    .map(post);
    let patterns = [
        "text/plain",
        "^text/",
        "-i ^text/html",
        "json$",
        "^$",
        ".",
        "charset",
        "form-data",
        "-",
        "^none$",
    ];
    sets.extend(each(
        "req_mime_type",
        "http_access",
        "req_mime_type",
        &patterns,
        &asks,
    ));
    sets
}
