//! What lines become, and what is said about them.

use super::*;
use crate::parse;

fn peer(options: &str) -> Peer {
    let config = parse(
        &format!("cache_peer a.example parent 80 0 {options}"),
        "test",
    )
    .unwrap();
    config.peers.into_iter().next().unwrap()
}

#[test]
fn a_parent_has_ports_and_options() {
    let parent = peer("no-query no-digest originserver round-robin weight=3 name=web max-conn=9");
    assert_eq!((&*parent.host, &*parent.name), ("a.example", "web"));
    assert_eq!(
        (parent.kind, parent.http_port, parent.icp_port),
        (PeerKind::Parent, 80, 0)
    );
    let options = parent.options;
    assert!(options.no_query && options.no_digest && options.originserver && options.round_robin);
    assert_eq!((options.weight, options.max_conn), (3, Some(9)));
}

#[test]
fn a_login_has_many_forms() {
    let check =
        |value: &str, login| assert_eq!(peer(&format!("login={value}")).options.login, login);
    check("u:p:q", PeerLogin::Basic("u:p:q".into()));
    check("PASS", PeerLogin::Pass);
    check("PASSTHRU", PeerLogin::PassThru);
    check("PROXYPASS", PeerLogin::ProxyPass);
    check("*:p", PeerLogin::UserWith(":p".into()));
    check("*@us:p", PeerLogin::UserWith("@us:p".into()));
    check("NEGOTIATE:me", PeerLogin::Negotiate(Some("me".into())));
}

#[test]
fn times_and_domains_are_read() {
    let options = peer("connect-timeout=5 forceddomain=b.example connect-fail-limit=2").options;
    assert_eq!(options.connect_timeout, Some(Duration::from_secs(5)));
    assert_eq!(options.forceddomain.as_deref(), Some("b.example"));
    assert_eq!(options.connect_fail_limit, 2);
}

fn messages(text: &str) -> Vec<String> {
    let config = parse(text, "test").unwrap();
    config
        .warnings
        .into_iter()
        .map(|problem| problem.message)
        .collect()
}

#[test]
fn an_unknown_option_is_left_out() {
    let text = "cache_peer a parent 80 0 no-query frobnicate";
    assert_eq!(messages(text), ["cache_peer: unknown option 'frobnicate'"]);
}

#[test]
fn what_is_missing_is_said_once() {
    let text = "cache_peer a sibling 80 0 proxy-only\ncache_peer b sibling 80 0 proxy-only\n\
                cache_peer c parent 80 3130 carp\ncache_peer d parent 80 7 carp";
    assert_eq!(
        messages(text),
        [
            "not yet: cache_peer sibling",
            "not yet: cache_peer queries",
            "not yet: cache_peer carp",
        ]
    );
}

#[test]
fn options_that_are_not_obeyed_are_named() {
    let text = "cache_peer a parent 80 0 no-query allow-miss standby=2 front-end-https=auto \
                connection-auth=on login=NEGOTIATE monitorurl=http://a/";
    assert_eq!(
        messages(text),
        [
            "cache_peer login=NEGOTIATE: we can't log in by Kerberos ourselves",
            "not yet: cache_peer allow-miss",
            "not yet: cache_peer standby=",
            "not yet: cache_peer front-end-https",
            "not yet: cache_peer monitorurl",
        ]
    );
    let text = "cache_peer a parent 80 0 no-query standby=0 front-end-https=off \
                connection-auth=auto login=PASS proxy-only";
    assert!(messages(text).is_empty());
}

#[test]
fn a_peer_behind_tls_is_not_used_in_plain() {
    let text = "cache_peer a parent 443 0 no-query tls\ncache_peer_access a allow all";
    let config = parse(text, "test").unwrap();
    assert!(config.peers.is_empty());
    assert_eq!(config.warnings[0].message, "not yet: cache_peer tls");
}

#[test]
fn two_peers_of_one_name_and_strange_types_are_fatal() {
    let bad = [
        "cache_peer a parent 80 0\ncache_peer A parent 81 0",
        "cache_peer a cousin 80 0",
        "cache_peer a parent",
        "cache_peer a parent x 0",
        "cache_peer a parent 0 0",
        "cache_peer a parent 80 0 weight=x",
    ];
    for text in bad {
        assert!(parse(text, "test").is_err(), "{text}");
    }
}

#[test]
fn rules_belong_to_the_peer_they_name() {
    let text = "cache_peer a parent 80 0 no-query name=x\ncache_peer_access X deny all\n\
                cache_peer_access other allow all";
    let config = parse(text, "test").unwrap();
    assert_eq!(config.peers[0].access.len(), 1);
    assert_eq!(config.peers[0].access[0].acls[0].name, "all");
    assert_eq!(config.warnings[0].message, "No cache_peer 'other'");
}

#[test]
fn domains_of_a_peer_become_rules() {
    let text = "cache_peer a parent 80 0 no-query\ncache_peer_domain a .x .y !.z.y";
    let config = parse(text, "test").unwrap();
    let access = &config.peers[0].access;
    assert_eq!(
        access.iter().map(|rule| rule.allow).collect::<Vec<_>>(),
        [true, false]
    );
    let acl = |at: usize| {
        config
            .acls
            .iter()
            .find(|acl| acl.name == access[at].acls[0].name)
            .unwrap()
    };
    assert_eq!(acl(0).values, [".x", ".y"].into_iter().collect());
    assert_eq!(acl(1).values, [".z.y"].into_iter().collect());
}
