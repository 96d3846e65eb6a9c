//! Who the user is: logins, and what an external helper says.

use super::{Ask, RuleSet};

const SITE: &str = "http://site.example/";

/// Knows a few users; the password is the name backwards, or `pw`.
const BASIC: &str = "auth_param basic program /bin/sh {dir}/basic\nauth_param basic realm test\n\
                     auth_param basic children 1 startup=1\n";
const BASIC_HELPER: &str = "\
while read -r user password; do
  case \"$user $password\" in
    *broken*) echo 'BH message=\"broken\"' ;;
    *' pw') echo OK ;;
    *) echo 'ERR message=\"no\"' ;;
  esac
done
";

/// Answers by the path: `/ok`, `/err`, `/user/NAME`, `/tag/NAME`.
const EXTERNAL_HELPER: &str = "\
while read -r path rest; do
  case \"$path\" in
    /ok*) echo OK ;;
    /user/*) echo \"OK user=${path#/user/}\" ;;
    /tag/*) echo \"OK tag=${path#/tag/}\" ;;
    /note/*) echo \"OK color=${path#/note/} size=big\" ;;
    /broken*) echo BH ;;
    /data*) case \"$rest\" in *magic*) echo OK ;; *) echo ERR ;; esac ;;
    *) echo 'ERR message=\"no\"' ;;
  esac
done
";

/// `NAME:pw` and others, in base64.
const LOGINS: [(&str, &str); 7] = [
    ("bob:pw", "Basic Ym9iOnB3"),
    ("alice:pw", "Basic YWxpY2U6cHc="),
    ("Bob:pw", "Basic Qm9iOnB3"),
    ("bob:no", "Basic Ym9iOm5v"),
    ("broken:pw", "Basic YnJva2VuOnB3"),
    ("garbage", "Basic !!!"),
    ("other scheme", "Bearer abc"),
];

pub(super) fn rule_sets() -> Vec<RuleSet> {
    let mut sets = logins();
    sets.extend(external());
    sets.extend(places());
    sets
}

fn asks() -> Vec<Ask> {
    let mut asks = vec![Ask::get(SITE).fresh()];
    let login =
        |(_, value): &(&str, &str)| Ask::get(SITE).field("Proxy-Authorization", value).fresh();
    asks.extend(LOGINS.iter().map(login));
    asks
}

fn logins() -> Vec<RuleSet> {
    let rules = [
        "acl x proxy_auth REQUIRED\nhttp_access allow x\nhttp_access deny all",
        "acl x proxy_auth REQUIRED\nhttp_access deny !x\nhttp_access allow all",
        "acl x proxy_auth REQUIRED\nhttp_access allow x",
        "acl x proxy_auth REQUIRED\nhttp_access deny x\nhttp_access allow all",
        "acl x proxy_auth bob\nhttp_access allow x\nhttp_access deny all",
        "acl x proxy_auth bob\nhttp_access deny x\nhttp_access allow all",
        "acl x proxy_auth bob\nhttp_access deny x all\nhttp_access allow all",
        "acl x proxy_auth bob\nhttp_access deny !x\nhttp_access allow all",
        "acl x proxy_auth bob\nhttp_access deny !x all\nhttp_access allow all",
        "acl x proxy_auth Bob\nhttp_access allow x\nhttp_access deny all",
        "acl x proxy_auth -i BOB\nhttp_access allow x\nhttp_access deny all",
        "acl x proxy_auth alice bob\nhttp_access allow x\nhttp_access deny all",
        "acl x proxy_auth alice\nacl x proxy_auth bob\nhttp_access allow x\nhttp_access deny all",
        "acl x proxy_auth_regex ^b\nhttp_access allow x\nhttp_access deny all",
        "acl x proxy_auth_regex -i ^B\nhttp_access deny x\nhttp_access allow all",
        "acl x proxy_auth_regex ^B\nhttp_access allow x all\nhttp_access deny all",
        "acl r proxy_auth REQUIRED\nacl x proxy_auth bob\nhttp_access deny !r\nhttp_access deny x\nhttp_access allow all",
        "acl r proxy_auth REQUIRED\nacl p port 81\nhttp_access allow p\nhttp_access allow r\nhttp_access deny all",
        "acl r proxy_auth REQUIRED\nacl p port 80\nhttp_access allow p\nhttp_access allow r\nhttp_access deny all",
        "acl r proxy_auth REQUIRED\nacl p port 80\nhttp_access deny r !p\nhttp_access allow r p",
        "acl x proxy_auth bob\nacl either any-of x\nhttp_access allow either\nhttp_access deny all",
        "acl x proxy_auth bob\nacl both all-of all x\nhttp_access deny both\nhttp_access allow all",
        "auth_param basic casesensitive on\nacl x proxy_auth bob\nhttp_access allow x\nhttp_access deny all",
        "auth_param basic casesensitive on\nacl x proxy_auth -i bob\nhttp_access allow x\nhttp_access deny all",
        "acl x proxy_auth bob\ndeny_info ERR_NO_RELAY x\nhttp_access allow x\nhttp_access deny all",
        "acl x proxy_auth bob\ndeny_info http://login.example/ x\nhttp_access deny x\nhttp_access allow all",
        "acl x ext_user bob\nhttp_access deny x\nhttp_access allow all",
        "acl x proxy_auth bob\nacl y ext_user_regex b\nhttp_access deny x y\nhttp_access allow all",
        "acl x proxy_auth REQUIRED\nhttp_reply_access allow x\nhttp_reply_access deny all\nhttp_access allow all",
        "acl x proxy_auth REQUIRED\nhttp_access allow x\nhttp_access deny all\nacl y proxy_auth bob\nhttp_reply_access deny y\nhttp_reply_access allow all",
        "acl x proxy_auth REQUIRED\nacl y proxy_auth bob\nhttp_access allow x\nhttp_access deny all\nrequest_header_access User-Agent deny y\nmiss_access deny y\nmiss_access allow all",
    ];
    let set = |rules: &&str| {
        RuleSet::new("proxy_auth", *rules, format!("{BASIC}{rules}"), asks())
            .file("basic", BASIC_HELPER)
    };
    rules.iter().map(set).collect()
}

fn external() -> Vec<RuleSet> {
    let asks: Vec<Ask> = [
        "/ok",
        "/err",
        "/broken",
        "/user/bob",
        "/user/Alice",
        "/tag/red",
        "/note/red",
        "/data",
        "/ok?again",
        "/ok",
    ]
    .iter()
    .map(|path| Ask::get(format!("http://site.example{path}")))
    .collect();
    let rules = [
        "acl x external h\nhttp_access allow x\nhttp_access deny all",
        "acl x external h\nhttp_access deny x\nhttp_access allow all",
        "acl x external h\nhttp_access deny !x\nhttp_access allow all",
        "acl x external h\nhttp_access allow !x\nhttp_access deny all",
        "acl x external h magic word\nhttp_access allow x\nhttp_access deny all",
        "acl x external h other\nhttp_access allow x\nhttp_access deny all",
        "acl x external h\nacl bob ext_user bob\nhttp_access deny x bob\nhttp_access allow x\nhttp_access deny all",
        "acl x external h\nacl bob ext_user -i ALICE\nhttp_access deny x bob\nhttp_access allow x\nhttp_access deny all",
        "acl x external h\nacl bob ext_user_regex ^b\nhttp_access deny x !bob\nhttp_access allow x\nhttp_access deny all",
        "acl x external h\nacl bob ext_user REQUIRED\nhttp_access deny x bob\nhttp_access allow x\nhttp_access deny all",
        "acl x external h\nacl red tag red\nhttp_access deny x red\nhttp_access allow x\nhttp_access deny all",
        "acl x external h\nacl red note color red\nhttp_access deny x red\nhttp_access allow x\nhttp_access deny all",
        "acl x external h\nacl red note size\nhttp_access deny x !red\nhttp_access allow x\nhttp_access deny all",
        "acl x external h\nacl red note tag\nhttp_access deny x red\nhttp_access allow x\nhttp_access deny all",
        "acl x external h\nacl either any-of x\nhttp_access deny !either\nhttp_access allow all",
        "acl x external h\ndeny_info ERR_NO_RELAY x\nhttp_access deny x\nhttp_access deny !x\nhttp_access allow all",
        "acl x external h\nhttp_reply_access deny x\nhttp_reply_access allow all\nhttp_access allow all",
        "acl x external h\nhttp_access allow all\nrequest_header_access X-Give deny x",
    ];
    let class = "external_acl_type h ttl=60 negative_ttl=60 children-max=1 children-startup=1 %PATH /bin/sh {dir}/external\n";
    let set = |rules: &&str| {
        RuleSet::new(
            "external",
            *rules,
            format!("{class}{rules}"),
            asks.as_slice(),
        )
        .file("external", EXTERNAL_HELPER)
    };
    rules.iter().map(set).collect()
}

/// `max_user_ip`: a user at several addresses.
fn places() -> Vec<RuleSet> {
    let asks: Vec<Ask> = [
        (1, 0),
        (2, 0),
        (1, 0),
        (2, 1),
        (3, 0),
        (1, 0),
        (3, 0),
        (3, 1),
    ]
    .iter()
    .filter_map(|(host, user)| {
        let (_, login) = LOGINS.get(*user)?;
        Some(
            Ask::get(SITE)
                .field("Proxy-Authorization", login)
                .from(*host)
                .fresh(),
        )
    })
    .collect();
    let values = ["1", "2", "0", "-s 1", "-s 2", "5"];
    let set = |value: &&str| {
        let rules = format!(
            "{BASIC}authenticate_ip_ttl 60 seconds\nacl r proxy_auth REQUIRED\nacl x max_user_ip {value}\n\
             http_access deny x\nhttp_access allow r\nhttp_access deny all"
        );
        RuleSet::new("max_user_ip", *value, rules, asks.as_slice()).file("basic", BASIC_HELPER)
    };
    values.iter().map(set).collect()
}
