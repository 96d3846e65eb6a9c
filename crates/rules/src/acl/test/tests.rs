//! Each ACL type against facts, asked through compiled configurations.

use std::sync::Arc;

use super::*;
use crate::List;
use crate::access::Answer;
use crate::facts::{HopFacts, ReplyFacts};
use crate::testing::{Scene, fields, rules};

/// Does `acl x …` match the scene?
fn asked(values: &str, facts: &Facts<'_>) -> Result<bool, Question> {
    let rules = rules(&format!(
        "acl x {values}\nhttp_access allow x\nhttp_access deny all\n"
    ));
    match rules.check(List::HttpAccess, facts) {
        Answer::Allow(_) => Ok(true),
        Answer::Deny(_) => Ok(false),
        Answer::Ask(question) => Err(question),
    }
}

fn check(values: &str, scene: &Scene, expected: bool) {
    assert_eq!(asked(values, &scene.facts()), Ok(expected), "{values}");
}

#[test]
fn addresses_and_ports_of_client_and_listener() {
    let scene = Scene::new("http://example.com:8080/x");
    for (values, expected) in [
        ("src 10.0.0.0/8", true),
        ("src 10.0.0.2", false),
        ("src known.test", false),
        ("localip 10.0.0.254", true),
        ("myip 10.0.0.1", false),
        ("localport 3128", true),
        ("myport 80", false),
        ("myportname 3128 other", true),
        ("myportname other", false),
        ("port 8080", true),
        ("port 1-1024", false),
    ] {
        check(values, &scene, expected);
    }
    check(
        "src known.test",
        &Scene::new("http://a/").from("192.0.2.7"),
        true,
    );
    check(
        "src known.test",
        &Scene::new("http://a/").from("2001:db8::7"),
        true,
    );
}

#[test]
fn methods_are_compared_by_name() {
    let get = Scene::new("http://example.com/");
    check("method GET HEAD", &get, true);
    check("method get", &get, true);
    check("method POST", &get, false);
    check("method CONNECT", &Scene::new("example.com:443"), true);
    check(
        "method PURGE",
        &Scene::new("http://a/").method("PURGE"),
        true,
    );
    check(
        "method REPORT",
        &Scene::new("http://a/").method("REPORT"),
        true,
    );
    assert!(rules("acl p method PURGE\n").purge);
    assert!(!rules("acl p method GET\n").purge);
}

#[test]
fn schemes_are_compared_and_a_tunnel_has_none() {
    check("proto HTTP", &Scene::new("http://a/"), true);
    check("proto HTTP", &Scene::new("ftp://a/"), false);
    check("proto FTP", &Scene::new("ftp://a/"), true);
    check("proto HTTP HTTPS", &Scene::new("a:443"), false);
}

#[test]
fn destinations_are_looked_up_only_when_they_are_names() {
    let named = Scene::new("http://example.com/");
    let numeric = Scene::new("http://192.0.2.1/");
    assert_eq!(
        asked("dst 192.0.2.0/24", &named.facts()),
        Err(Question::Destination)
    );
    check("dst -n 192.0.2.0/24", &named, false);
    check("dst 192.0.2.0/24", &numeric, true);
    check("dst -n 192.0.2.0/24", &numeric, true);
    check("dst 198.51.100.0/24", &numeric, false);
    let found = [
        "198.51.100.1".parse().unwrap(),
        "192.0.2.1".parse().unwrap(),
    ];
    named.learnt.learn_destination(Arc::new(found));
    assert_eq!(asked("dst 192.0.2.0/24", &named.facts()), Ok(true));
    let nowhere = Scene::new("http://www.example.com/");
    nowhere.learnt.learn_destination(Arc::new([]));
    assert_eq!(asked("dst all", &nowhere.facts()), Ok(false));
}

#[test]
fn domains_of_addresses_are_asked_for_unless_told_not_to() {
    let named = Scene::new("http://www.example.com/");
    let numeric = Scene::new("http://192.0.2.1/");
    check("dstdomain .example.com", &named, true);
    check("dstdomain example.com", &named, false);
    check("dstdom_regex -i ^WWW[.]", &named, true);
    check("dstdomain 192.0.2.1", &numeric, true);
    check("dstdomain -n .example.com", &numeric, false);
    assert_eq!(
        asked("dstdomain .example.com", &numeric.facts()),
        Err(Question::DestinationName)
    );
    assert_eq!(
        asked("dstdom_regex example", &numeric.facts()),
        Err(Question::DestinationName)
    );
    numeric.learnt.learn_destination_name("www.example.com");
    assert_eq!(asked("dstdomain .example.com", &numeric.facts()), Ok(true));
    let nameless = Scene::new("http://192.0.2.1/");
    nameless.learnt.learn_destination_name("");
    assert_eq!(
        asked("dstdomain .example.com", &nameless.facts()),
        Ok(false)
    );
    assert_eq!(asked("dstdomain none", &nameless.facts()), Ok(true));
}

#[test]
fn the_name_of_the_client_is_asked_for() {
    let scene = Scene::new("http://a/");
    assert_eq!(
        asked("srcdomain .example.com", &scene.facts()),
        Err(Question::ClientName)
    );
    scene.learnt.learn_client_name("pc.example.com");
    assert_eq!(asked("srcdomain .example.com", &scene.facts()), Ok(true));
    assert_eq!(asked("srcdom_regex ^pc", &scene.facts()), Ok(true));
    let nameless = Scene::new("http://a/");
    nameless.learnt.learn_client_name("");
    assert_eq!(
        asked("srcdomain .example.com", &nameless.facts()),
        Ok(false)
    );
}

#[test]
fn url_patterns_see_the_decoded_url() {
    let scene = Scene::new("http://example.com/a%2Fb%3d%25%zz?q=Cats");
    for (values, expected) in [
        ("url_regex ^http://example", true),
        ("url_regex cats", false),
        ("url_regex -i cats", true),
        ("url_regex -i dogs +i cats", false),
        ("url_regex a/b=", true),
        ("urlpath_regex ^/a/b", true),
        ("urlpath_regex example", false),
        ("url_regex dogs birds Cats$", true),
    ] {
        check(values, &scene, expected);
    }
    check(
        "url_regex ^example.com:443$",
        &Scene::new("example.com:443"),
        true,
    );
    check("urlpath_regex .", &Scene::new("example.com:443"), false);
}

#[test]
fn broken_escapes_stay_as_they_are() {
    let decode = |text: &str| {
        let mut out = Vec::new();
        decoded(text.as_bytes(), |bytes| {
            out = bytes.to_vec();
            true
        });
        String::from_utf8(out).unwrap()
    };
    for (text, expected) in [
        ("a%41b", "aAb"),
        ("%%41", "%41"),
        ("%00", "%00"),
        ("%", "%"),
        ("%4", "%4"),
        ("%4g%41", "%4gA"),
        ("x", "x"),
    ] {
        assert_eq!(decode(text), expected, "{text}");
    }
}

#[test]
fn request_fields_are_matched_by_pattern() {
    let scene = Scene::new("http://a/").with(&[
        ("User-Agent", "Mozilla/5.0"),
        ("Referer", "http://x.example/"),
        ("X-Team", "red"),
        ("x-team", "blue"),
        ("Content-Type", "application/json"),
    ]);
    for (values, expected) in [
        ("browser ^Mozilla", true),
        ("browser mozilla", false),
        ("referer_regex x[.]example", true),
        ("req_header X-Team ^red,", true),
        ("req_header X-Team ^blue", false),
        ("req_header x-team -i BLUE", true),
        ("req_header X-Other .", false),
        ("req_mime_type json", true),
    ] {
        check(values, &scene, expected);
    }
}

#[test]
fn reply_types_need_a_reply() {
    let scene = Scene::new("http://a/");
    let reply = fields(&[("Content-Type", "text/html"), ("Server", "nginx")]);
    let mut facts = scene.facts();
    for values in [
        "http_status 200-299",
        "rep_mime_type ^text/",
        "rep_header Server nginx",
    ] {
        assert_eq!(asked(values, &facts), Ok(false), "{values} without a reply");
    }
    facts.reply = Some(ReplyFacts {
        status: 204,
        fields: &reply,
    });
    for values in [
        "http_status 200-299",
        "rep_mime_type ^text/",
        "rep_header Server nginx",
    ] {
        assert_eq!(asked(values, &facts), Ok(true), "{values}");
    }
    assert_eq!(asked("http_status 404", &facts), Ok(false));
}

#[test]
fn a_community_is_what_an_snmp_question_says() {
    let scene = Scene::new("http://a/");
    let mut facts = scene.facts();
    facts.community = Some(b"public");
    assert_eq!(asked("snmp_community private public", &facts), Ok(true));
    assert_eq!(asked("snmp_community Public publi", &facts), Ok(false));
    facts.community = Some(b"");
    assert_eq!(asked("snmp_community public", &facts), Ok(false));
}

#[test]
fn the_hop_is_known_by_peer_and_code() {
    let scene = Scene::new("http://a/");
    let mut facts = scene.facts();
    assert_eq!(asked("peername web1", &facts), Ok(false));
    facts.hop = Some(HopFacts {
        peer: Some("web1"),
        code: "ROUNDROBIN_PARENT",
    });
    for (values, expected) in [
        ("peername web0 web1", true),
        ("peername web", false),
        ("peername_regex ^web[0-9]$", true),
        ("hier_code HIER_DIRECT", false),
        ("hier_code ROUNDROBIN_PARENT", true),
    ] {
        assert_eq!(asked(values, &facts), Ok(expected), "{values}");
    }
}

#[test]
fn time_is_read_in_the_zone_of_the_environment() {
    let scene = Scene::new("http://a/");
    check("time F 11:00-13:00", &scene, true);
    check("time F 13:00-14:00", &scene, false);
    check("time AS", &scene, false);
}

#[test]
fn random_matches_about_as_often_as_told() {
    let rules = rules(
        "acl half random 1/2\nacl never random 0\nacl x any-of half never\nhttp_access allow x\n",
    );
    let scene = Scene::new("http://a/");
    let mut facts = scene.facts();
    let mut hits = 0;
    for luck in 0..2000 {
        facts.luck = luck;
        hits += u32::from(rules.check(List::HttpAccess, &facts).is_allow());
    }
    assert!((900..1100).contains(&hits), "{hits} of 2000");
}

#[test]
fn combinations_take_lines_as_alternatives() {
    let text = "acl p port 80\nacl g method GET\nacl h method HEAD\nacl x all-of p g\nacl x all-of p h\nacl y any-of !p h\n\
                http_access allow x !y\nhttp_access deny all\n";
    let rules = rules(text);
    let allows = |scene: &Scene| rules.check(List::HttpAccess, &scene.facts()).is_allow();
    assert!(allows(&Scene::new("http://a/")));
    assert!(!allows(&Scene::new("http://a:81/")));
    assert!(!allows(&Scene::new("http://a/").method("HEAD")));
    assert!(!allows(&Scene::new("http://a/").method("POST")));
}

#[test]
fn a_message_without_a_media_type_has_an_empty_one() {
    let scene = Scene::new("http://a/");
    check("req_mime_type ^$", &scene, true);
    check("browser ^$", &scene, false);
    check("req_header Content-Type ^$", &scene, false);
}

#[test]
fn patterns_see_an_ipv6_address_in_brackets() {
    let scene = Scene::new("http://[2001:db8::1]/");
    check(r"dstdom_regex -n ^\[2001:.*\]$", &scene, true);
    check("dstdom_regex -n ^2001", &scene, false);
    check("dstdomain -n [2001:db8::1]", &scene, true);
}
