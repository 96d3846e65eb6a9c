//! Lists that aren't about admission.

use super::*;
use crate::testing::{Scene, rules};

#[test]
fn access_log_lines_have_lists_of_their_own() {
    let rules = rules(
        "acl local src 10.0.0.0/8\nacl p port 81\n\
         access_log stdio:/dev/null squid local !p\naccess_log stdio:/dev/null squid\n",
    );
    let scene = Scene::new("http://example.com/");
    let other = Scene::new("http://example.com:81/");
    let logged = |scene: &Scene, line| {
        rules
            .check(List::LogAccess(line), &scene.facts())
            .is_allow()
    };
    assert!(logged(&scene, 0) && logged(&scene, 1));
    assert!(!logged(&other, 0) && logged(&other, 1));
    assert_eq!(rules.list(List::LogAccess(1)).always(), Some(true));
}

#[test]
fn maxconn_without_the_table_of_clients_is_told_of() {
    let warned = |conf: &str| {
        rules(conf)
            .warnings
            .iter()
            .any(|warning| warning.message.contains("'client_db off'"))
    };
    assert!(warned("client_db off\nacl many maxconn 5"));
    assert!(!warned("client_db on\nacl many maxconn 5"));
    assert!(!warned("client_db off\nacl one src 10.0.0.1"));
}

#[test]
fn the_first_value_whose_acls_match_holds() {
    let rules = rules(
        "acl local src 10.0.0.0/8\nacl far dst 192.0.2.0/24\n\
         tcp_outgoing_address 192.0.2.50 far\ntcp_outgoing_address 192.0.2.51 local\n\
         tcp_outgoing_address 2001:db8::1\ntcp_outgoing_address 192.0.2.52\n\
         range_offset_limit 10 KB !local\nrange_offset_limit none local\n",
    );
    let scene = Scene::new("http://example.com/");
    let outside = Scene::new("http://example.com/").from("198.51.100.1");
    let address = |scene: &Scene, ipv6| {
        rules
            .outgoing_address(&scene.facts(), ipv6)
            .map(|ip| ip.to_string())
    };
    assert_eq!(
        address(&scene, false).as_deref(),
        Some("192.0.2.51"),
        "a missing fact is no match"
    );
    assert_eq!(address(&outside, false).as_deref(), Some("192.0.2.52"));
    assert_eq!(address(&scene, true).as_deref(), Some("2001:db8::1"));
    assert_eq!(rules.range_offset_limit(&scene.facts()), None);
    assert_eq!(rules.range_offset_limit(&outside.facts()), Some(10 << 10));
}
