//! The lists beside `http_access`, by what they do to requests: to header fields, the cache, hops, rewriters.

use super::{Ask, RuleSet};

const REWRITER: &str = "\
while read -r url rest; do
  case \"$url\" in
    *send*) echo 'OK status=302 url=\"http://sent.example/\"' ;;
    *err*) echo ERR ;;
    *) echo 'OK rewrite-url=\"http://site.example/rewritten/bad\"' ;;
  esac
done
";

pub(super) fn rule_sets() -> Vec<RuleSet> {
    let mut sets = header_fields();
    sets.extend(caches());
    sets.extend(hops());
    sets.extend(rewriters());
    sets
}

fn header_fields() -> Vec<RuleSet> {
    let ask = |path: &str| {
        Ask::get(format!("http://site.example{path}"))
            .field("T-One", "1")
            .field("T-Two", "2")
            .field("t-three", "3")
    };
    let asks = [
        ask("/"),
        ask("/a"),
        ask("/b"),
        ask("/a").give("200 T-Red=r;T-Blue=b;Server=s"),
        ask("/b").give("404 T-Red=r;T-Red=again"),
        ask("/ab").give("200 T-Red=r;T-Blue=b"),
    ];
    let rules = [
        "request_header_access T-One deny all",
        "request_header_access T-One deny a",
        "request_header_access T-One allow a",
        "request_header_access T-One deny !a",
        "request_header_access T-Three deny a b",
        "request_header_access t-two deny a\nrequest_header_access T-Two allow b",
        "request_header_access Other deny a",
        "request_header_access All deny a",
        "request_header_access T-One allow all\nrequest_header_access All deny a",
        "request_header_access T-One allow all\nrequest_header_access Other deny all",
        "request_header_access X-Give deny a",
        "request_header_access T-One deny a\nrequest_header_replace T-One new",
        "request_header_access T-One deny a\nrequest_header_access T-Two deny b",
        "request_header_add T-New \"x\" a",
        "request_header_add T-New \"x\" all",
        "request_header_add T-New \"x\" !a b",
        "reply_header_access T-Red deny all",
        "reply_header_access T-Red deny a",
        "reply_header_access T-Red allow a",
        "reply_header_access T-Red deny !b",
        "reply_header_access Other deny a",
        "reply_header_access T-Blue allow all\nreply_header_access Other deny all",
        "reply_header_access T-Red deny a\nreply_header_replace T-Red new",
        "reply_header_add T-New \"x\" a",
        "reply_header_add T-New \"x\" !a",
        "acl s http_status 404\nreply_header_access T-Red deny s",
        "acl s http_status 200-299\nreply_header_add T-New \"y\" s",
        "acl h rep_header T-Red r\nreply_header_access T-Blue deny h",
        "acl p port 80\nrequest_header_access T-One deny p",
        "acl m method POST\nrequest_header_access T-One deny !m a",
        "acl r req_header T-One 1\nrequest_header_access T-Two deny r",
    ];
    rules
        .iter()
        .map(|rules| {
            let conf = format!("{ACLS}{rules}\nhttp_access allow all");
            RuleSet::new("header fields", *rules, conf, asks.as_slice())
        })
        .collect()
}

const ACLS: &str = "acl a urlpath_regex a\nacl b urlpath_regex b\n";

/// The serial that the origin counts tells a hit from a miss.
fn caches() -> Vec<RuleSet> {
    let ask = |path: &str| {
        Ask::get(format!("http://site.example{path}")).give("200 Cache-Control=max-age=600")
    };
    let asks = [
        ask("/a"),
        ask("/a"),
        ask("/b"),
        ask("/b"),
        ask("/"),
        ask("/"),
        ask("/ab"),
        ask("/ab"),
        ask("/a"),
    ];
    let rules = [
        "",
        "cache deny all",
        "cache deny a",
        "cache allow a",
        "cache deny !a",
        "cache deny a b",
        "cache deny a\ncache allow b",
        "cache allow a\ncache deny b\ncache allow all",
        "store_miss deny a",
        "store_miss allow a",
        "store_miss deny all",
        "send_hit deny a",
        "send_hit allow a",
        "miss_access deny a",
        "http_reply_access deny a",
        "acl s http_status 200\nstore_miss deny s",
        "acl g any-of a b\ncache deny g",
    ];
    let peer = "cache_peer 127.0.0.1 parent {origin} 0 no-query originserver name=origin\nnever_direct allow all\n";
    rules
        .iter()
        .map(|rules| {
            let conf = format!("{peer}{ACLS}{rules}\nhttp_access allow all");
            RuleSet::bare("cache", *rules, conf, asks.as_slice())
        })
        .collect()
}

/// A parent is asked for a whole URL, an origin for a path.
fn hops() -> Vec<RuleSet> {
    let ask = |path: &str| Ask::get(format!("http://127.0.0.1:{{origin}}{path}"));
    let asks = [
        ask("/"),
        ask("/a"),
        ask("/b"),
        ask("/ab"),
        Ask::by("DELETE", "http://127.0.0.1:{origin}/a"),
    ];
    let rules = [
        "",
        "never_direct allow all",
        "never_direct allow a",
        "never_direct deny a",
        "never_direct allow !a",
        "always_direct allow all",
        "always_direct allow a",
        "always_direct deny a",
        "always_direct allow a\nnever_direct allow all",
        "never_direct allow a\nalways_direct allow b",
        "cache_peer_access up deny a",
        "cache_peer_access up allow a",
        "cache_peer_access up deny a\ncache_peer_access up allow b",
        "cache_peer_access up deny a\nnever_direct allow all",
        "cache_peer_access up deny all",
        "prefer_direct on",
        "prefer_direct on\nnever_direct allow a",
        "nonhierarchical_direct off",
        "cache_peer_access up allow !a !b\nnever_direct allow b",
    ];
    rules
        .iter()
        .map(|rules| {
            let conf = format!(
                "cache_peer 127.0.0.1 parent {{parent}} 0 no-query name=up\ncache deny all\n{ACLS}{rules}\nhttp_access allow all"
            );
            RuleSet::bare("hops direct", *rules, conf, asks.as_slice())
        })
        .collect()
}

fn rewriters() -> Vec<RuleSet> {
    let asks: Vec<Ask> = ["/", "/a", "/b", "/ab", "/send", "/send/b", "/err", "/aerr"]
        .iter()
        .map(|path| Ask::get(format!("http://site.example{path}")))
        .collect();
    let rules = [
        "",
        "url_rewrite_access deny all",
        "url_rewrite_access allow a",
        "url_rewrite_access deny a",
        "url_rewrite_access deny !a",
        "url_rewrite_access deny a b",
        "url_rewrite_access allow b\nurl_rewrite_access deny all",
        "acl bad urlpath_regex bad$\nadapted_http_access deny bad",
        "acl bad urlpath_regex bad$\nadapted_http_access deny bad\nurl_rewrite_access deny a",
        "acl bad urlpath_regex bad$\nhttp_reply_access deny bad",
        "acl bad urlpath_regex bad$\nmiss_access deny bad",
        "acl bad urlpath_regex bad$\nrequest_header_add T-New \"x\" bad",
        "acl m method POST\nurl_rewrite_access deny !m",
    ];
    rules
        .iter()
        .map(|rules| {
            let conf = format!(
                "url_rewrite_program /bin/sh {{dir}}/rewriter\nurl_rewrite_children 1 startup=1\n{ACLS}{rules}\nhttp_access allow all"
            );
            RuleSet::new("rewriter", *rules, conf, asks.as_slice()).file("rewriter", REWRITER)
        })
        .collect()
}
