//! What the reply says, asked by `http_reply_access`; and which hop gave it.

use super::{Ask, RuleSet, each};

const SITE: &str = "http://site.example/";

pub(super) fn rule_sets() -> Vec<RuleSet> {
    let list = "http_reply_access";
    let mut sets = Vec::new();
    let statuses: Vec<Ask> = [
        "200", "201", "204", "206", "301", "302", "304", "400", "403", "404", "500", "503",
    ]
    .iter()
    .map(|status| Ask::get(SITE).give(status))
    .collect();
    let values = [
        "200",
        "404",
        "400-499",
        "500-",
        "-299",
        "200 404",
        "300-399 500",
        "100-599",
        "0-999",
        "403",
        "204-206",
        "304 301-302",
    ];
    sets.extend(each("http_status", list, "http_status", &values, &statuses));
    let given: Vec<Ask> = [
        "200",
        "200 X-One=alpha",
        "200 x-one=ALPHA",
        "200 X-One=a;X-One=lpha",
        "200 X-One=",
        "200 Server=Apache/2.4",
        "404 Set-Cookie=id=42",
        "200 Content-Disposition=attachment",
    ]
    .iter()
    .map(|give| Ask::get(SITE).give(give))
    .collect();
    let values = [
        "X-One alpha",
        "X-One -i alpha",
        "x-one ^ALPHA$",
        "X-One .",
        "X-One ^$",
        "Server Apache",
        "Set-Cookie id=",
        "Content-Length ^5$",
        "Content-Disposition -i ATTACHMENT",
        "X-One a, ?lpha",
        "Date .",
        "X-One beta alpha",
    ];
    sets.extend(each("rep_header", list, "rep_header", &values, &given));
    let kinds: Vec<Ask> = [
        "200",
        "200 Content-Type=text/html",
        "200 Content-Type=TEXT/HTML; charset=utf-8",
        "200 Content-Type=image/gif",
        "404 Content-Type=application/x-msdownload",
        "200 Content-Type=x",
        "200 Content-Type=",
    ]
    .iter()
    .map(|give| Ask::get(SITE).give(give))
    .collect();
    let values = [
        "text/html",
        "^text/",
        "-i ^TEXT/HTML$",
        "image",
        "charset",
        "^$",
        ".",
        "gif$ msdownload$",
        "-i HTML",
        "^-",
        "none",
    ];
    sets.extend(each(
        "rep_mime_type",
        list,
        "rep_mime_type",
        &values,
        &kinds,
    ));
    sets.extend(hops());
    sets
}

/// The hop that answered; and types about the transaction.
fn hops() -> Vec<RuleSet> {
    let list = "http_reply_access";
    let asks = [Ask::get(SITE), Ask::get(SITE).give("404")];
    let mut sets = Vec::new();
    let kinds: [(&str, &[&str]); 5] = [
        (
            "peername",
            &["origin", "Origin", "127.0.0.1", "other origin", "none"],
        ),
        ("peername_regex", &["^orig", "-i ORIG", "ORIG", "127"]),
        (
            "hier_code",
            &[
                "FIRSTUP_PARENT",
                "HIER_DIRECT",
                "HIER_NONE",
                "ANY_OLD_PARENT",
                "FIRSTUP_PARENT HIER_DIRECT",
                "ROUNDROBIN_PARENT",
            ],
        ),
        ("has", &["request", "response", "ALE", "request response"]),
        (
            "transaction_initiator",
            &["client", "internal", "esi", "icp client", "all"],
        ),
    ];
    for (kind, values) in kinds {
        sets.extend(each("hops", list, kind, values, &asks));
        if !matches!(kind, "hier_code") {
            sets.extend(each(
                "hops in http_access",
                "http_access",
                kind,
                values,
                &asks,
            ));
        }
    }
    sets
}
