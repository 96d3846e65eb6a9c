//! How rules are put together: order, groups, negation, values of several lines and files; and annotations.

use super::{Ask, RuleSet, gets};

const SITE: &str = "http://site.example/";

pub(super) fn rule_sets() -> Vec<RuleSet> {
    let mut sets = order();
    sets.extend(values());
    sets.extend(annotations());
    sets
}

/// Three ACLs of which each request matches another part: all eight.
fn order() -> Vec<RuleSet> {
    let asks: Vec<Ask> = (0..8)
        .map(|bits: u8| {
            let path = ["a", "b", "c"].iter().enumerate();
            let path = path.filter(|(place, _)| bits >> place & 1 == 1);
            let path: String = path.map(|(_, letter)| *letter).collect();
            Ask::get(format!("http://site.example/-{path}-"))
        })
        .collect();
    let rules = [
        "",
        "http_access allow a",
        "http_access deny a",
        "http_access allow a b",
        "http_access deny a b",
        "http_access allow a\nhttp_access deny b",
        "http_access deny a\nhttp_access allow b",
        "http_access allow a\nhttp_access allow b",
        "http_access deny a\nhttp_access deny b",
        "http_access allow a !b\nhttp_access deny c",
        "http_access deny a !b\nhttp_access allow c",
        "http_access allow !a !b !c",
        "http_access deny !a !b !c",
        "http_access allow a b c\nhttp_access deny a b\nhttp_access allow a\nhttp_access deny all",
        "http_access deny a b c\nhttp_access allow a b\nhttp_access deny a\nhttp_access allow all",
        "http_access allow a a",
        "http_access deny a !a\nhttp_access allow b",
        "http_access allow all\nhttp_access deny all",
        "http_access deny all\nhttp_access allow all",
        "http_access allow !all",
        "http_access deny !all",
        "acl g any-of a b\nhttp_access allow g",
        "acl g any-of a b\nhttp_access deny g\nhttp_access allow all",
        "acl g all-of a b\nhttp_access allow g",
        "acl g all-of a !b\nhttp_access allow g",
        "acl g any-of a !b\nhttp_access deny g\nhttp_access allow all",
        "acl g all-of a b\nacl g all-of c\nhttp_access allow g",
        "acl g any-of a\nacl g any-of b\nhttp_access allow g",
        "acl g any-of a b\nacl h all-of g c\nhttp_access allow h",
        "acl g all-of a b\nacl h any-of g c\nhttp_access deny !h\nhttp_access allow all",
        "acl g all-of a b\nhttp_access deny !g\nhttp_access allow c\nhttp_access deny all",
        "acl g any-of all\nhttp_access allow g !c",
        "acl g all-of a\nacl h all-of !g\nhttp_access allow h",
        "acl g any-of a\nacl h any-of !g b\nhttp_access deny h c\nhttp_access allow all",
        "deny_info ERR_NO_RELAY a\nhttp_access deny a\nhttp_access allow all",
        "deny_info ERR_NO_RELAY a\nhttp_access deny b a\nhttp_access allow all",
        "deny_info ERR_NO_RELAY a\nhttp_access deny a b\nhttp_access allow all",
        "deny_info ERR_NO_RELAY b\nhttp_access deny a b\nhttp_access deny c\nhttp_access allow all",
        "deny_info ERR_NO_RELAY a\nhttp_access allow a",
        "deny_info ERR_NO_RELAY a\nhttp_access allow a\nhttp_access deny all",
        "deny_info ERR_NO_RELAY all\nhttp_access allow a\nhttp_access deny all",
        "deny_info ERR_NO_RELAY a\nhttp_access deny !a\nhttp_access allow all",
        "deny_info ERR_NO_RELAY a\ndeny_info ERR_TOO_BIG a\nhttp_access deny a\nhttp_access allow all",
        "deny_info ERR_NO_RELAY a\ndeny_info ERR_TOO_BIG b\nhttp_access deny a\nhttp_access deny b\nhttp_access allow all",
        "deny_info http://other.example/ a\nhttp_access deny a\nhttp_access allow all",
        "deny_info http://other.example/?u=%u a\nhttp_access deny a\nhttp_access allow all",
        "deny_info http://other.example/%H/%M a\nhttp_access deny a\nhttp_access allow all",
        "deny_info 301:http://other.example/ a\nhttp_access deny a\nhttp_access allow all",
        "deny_info 307:http://other.example/%R a\nhttp_access deny a\nhttp_access allow all",
        "deny_info 404:ERR_NO_RELAY a\nhttp_access deny a\nhttp_access allow all",
        "deny_info 451:ERR_ACCESS_DENIED a\nhttp_access deny a\nhttp_access allow all",
        "deny_info TCP_RESET a\nhttp_access deny a\nhttp_access allow all",
        "deny_info http://other.example/ a\nhttp_reply_access deny a\nhttp_reply_access allow all\nhttp_access allow all",
        "deny_info 404:ERR_NO_RELAY a\nmiss_access deny a\nhttp_access allow all",
        "acl g any-of a b\ndeny_info ERR_NO_RELAY g\nhttp_access deny g\nhttp_access allow all",
        "acl g any-of a b\ndeny_info ERR_NO_RELAY a\nhttp_access deny g\nhttp_access allow all",
        "acl g any-of a b\ndeny_info ERR_NO_RELAY b\nhttp_access deny g\nhttp_access allow all",
        "acl g all-of a b\ndeny_info ERR_NO_RELAY g\nhttp_access deny g\nhttp_access allow all",
        "acl g all-of a b\ndeny_info ERR_NO_RELAY b\nhttp_access deny g\nhttp_access allow all",
        "acl g all-of a b\ndeny_info ERR_NO_RELAY a\nhttp_access deny !g\nhttp_access allow all",
        "adapted_http_access deny a\nhttp_access allow all",
        "adapted_http_access deny a\nadapted_http_access allow all\nhttp_access deny b\nhttp_access allow all",
        "miss_access deny a\nhttp_access allow all",
        "miss_access allow a\nhttp_access allow all",
        "http_reply_access deny a\nhttp_access deny b\nhttp_access allow all",
        "http_reply_access allow a\nhttp_access allow all",
    ];
    let acls = "acl a urlpath_regex a.*-$\nacl b urlpath_regex b.*-$\nacl c urlpath_regex c.*-$\n";
    let set =
        |rules: &&str| RuleSet::new("order", *rules, format!("{acls}{rules}"), asks.as_slice());
    rules.iter().map(set).collect()
}

/// Values of several lines, of files, and both.
fn values() -> Vec<RuleSet> {
    let asks = gets(&[
        "http://one.example/",
        "http://two.example/",
        "http://www.three.example/",
        "http://three.example/",
        "http://four.example/",
        "http://five.example/",
        "http://six.example/x/ONE",
        "http://seven.example/one",
    ]);
    let acls = [
        "dstdomain one.example\nacl x dstdomain two.example",
        "dstdomain one.example \\\n  two.example",
        "dstdomain one.example # two.example",
        "dstdomain \"{dir}/list\"",
        "dstdomain \"{dir}/list\" one.example",
        "dstdomain four.example \"{dir}/list\"",
        "dstdomain \"{dir}/list\" \"{dir}/more\"",
        "dstdomain one.example\nacl x dstdomain \"{dir}/more\"",
        "dstdomain \"{dir}/empty\"",
        "dstdomain \"{dir}/none\"",
        "dstdomain \"{dir}/dos\"",
        "dstdomain '{dir}/list'",
        "url_regex \"{dir}/patterns\"",
        "url_regex -i \"{dir}/patterns\"",
        "url_regex seven \"{dir}/patterns\"",
        "url_regex -i ONE +i \"{dir}/patterns\"",
        "url_regex -i one\nacl x url_regex SIX",
        "url_regex \"{dir}/empty\"",
        "dstdomain .three.example three.example",
        "dstdomain three.example .three.example",
        "dstdomain www.three.example .three.example .example",
        "dstdomain one.example one.example",
        "dstdomain ONE.example Two.EXAMPLE",
        "dstdomain -n -- one.example",
        "url_regex -- one",
        "url_regex -i -- ONE",
    ];
    let set = |acl: &&str| {
        let rules = format!("acl x {acl}\nhttp_access deny x\nhttp_access allow all");
        RuleSet::new("values", *acl, rules, asks.as_slice())
            .file(
                "list",
                "# a list\none.example\n\n  two.example  \n.three.example # the third\n",
            )
            .file(
                "more",
                "four.example\n#five.example\nfive.example five.test\n",
            )
            .file("empty", "# nothing\n\n")
            .file("dos", "one.example\r\ntwo.example\r\n\r\n")
            .file("patterns", "^http://(one|two)\n/ONE$\n# seven\n[\n")
    };
    acls.iter().map(set).collect()
}

fn annotations() -> Vec<RuleSet> {
    let asks = [
        Ask::get("http://site.example/a").fresh(),
        Ask::get("http://site.example/plain"),
        Ask::get("http://site.example/b"),
        Ask::get("http://site.example/plain"),
        Ask::get("http://site.example/plain").fresh(),
        Ask::get("http://site.example/ab"),
        Ask::get("http://site.example/plain"),
    ];
    let ways = ["annotate_transaction", "annotate_client"];
    let notes = [
        ("key=one", "key=two"),
        ("key+=one", "key+=two"),
        ("key=one", "key+=two"),
        ("key=one,two", "key+=three"),
        ("other=x key=one", "key=two other=y"),
    ];
    let tests = [
        "note key",
        "note key one",
        "note key two",
        "note key one,two",
        "note -m key one",
        "note -m key two three",
        "note -m=| key one",
        "note Key one",
        "note key ONE",
        "note key on",
        "note other x",
        "note none",
    ];
    let mut sets = Vec::new();
    for way in ways {
        for (first, second) in notes {
            for test in tests {
                let rules = format!(
                    "acl a urlpath_regex a\nacl b urlpath_regex b\nacl plain urlpath_regex plain\n\
                     acl na {way} {first}\nacl nb {way} {second}\nacl x {test}\n\
                     http_access deny !plain a na !all\nhttp_access deny !plain b nb !all\n\
                     http_access deny x\nhttp_access allow all"
                );
                let name = format!("{way} {first}, {second}: {test}");
                sets.push(RuleSet::new("note", name, rules, asks.as_slice()));
            }
        }
    }
    let placed = [
        "acl n annotate_transaction key=one\nacl x note key one\nhttp_access allow n x\nhttp_access deny all",
        "acl n annotate_transaction key=one\nacl x note key one\nhttp_access allow x n\nhttp_access deny all",
        "acl n annotate_transaction key=one\nhttp_access deny !n\nhttp_access allow all",
        "acl n annotate_transaction key=one\nacl x note key one\nhttp_access allow n\nhttp_reply_access deny x\nhttp_reply_access allow all",
        "acl n annotate_client key=one\nacl x note key one\nhttp_access deny x\nhttp_access allow n",
        "acl n annotate_transaction key=one\nacl m annotate_transaction key=two\nacl x note key two\nhttp_access deny n m x\nhttp_access allow all",
        "note key one\nacl x note key one\nhttp_access deny x\nhttp_access allow all",
        "acl n annotate_transaction key=one\nacl x note key one\nhttp_access allow n\nmiss_access deny x\nmiss_access allow all",
        "acl n annotate_transaction tag=one\nacl x tag one\nhttp_access deny n x\nhttp_access allow all",
    ];
    let plain = [Ask::get(SITE), Ask::get(SITE), Ask::get(SITE).fresh()];
    for rules in placed {
        sets.push(RuleSet::new("note", rules, rules, plain.as_slice()));
    }
    sets
}
