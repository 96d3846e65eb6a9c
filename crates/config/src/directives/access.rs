//! Directives: who may do what.

use super::{Area, Kind, Row, acl, checked, done, not_yet, row, rules, set, since};
use crate::readers::{auth, external, lists};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("external_acl_type", &[], Kind::Lines(&[Kind::Word, Kind::Word, Kind::Word, Kind::Words]), ["name [opts] FORMAT helper [args]", "none"], since("2.5"), "declare a helper-backed ACL class with result cache (ttl, concurrency, children-*, ipv4)", done(external::external_acl_type)),
    row("acl", &[], Kind::Form, ["name type [flags] values or \"file\"", "all, manager, localhost, to_localhost, to_linklocal, CONNECT and five for TLS errors"], since("2.5"), "define a named access list; same-name lines of one type append", done(acl::acl)),
    row("proxy_protocol_access", &[], Kind::AccessList, ["allow/deny acl..", "deny all"], since("3.5"), "which peers may send a PROXY header on require-proxy-header ports (fast ACLs)", checked(rules!(proxy_protocol_access), not_yet(Area::Networking))),
    row("follow_x_forwarded_for", &[], Kind::AccessList, ["allow/deny acl..", "deny all (XFF ignored)"], since("2.6").except("3.0"), "trust X-Forwarded-For hops to find the indirect client", rules!(follow_x_forwarded_for)),
    row("acl_uses_indirect_client", &[], Kind::OnOff, ["on/off", "on"], since("2.6").except("3.0"), "use the indirect client address in ACLs", set!(acl_uses_indirect_client, on_off)),
    row("delay_pool_uses_indirect_client", &[], Kind::OnOff, ["on/off", "on"], since("2.6").except("3.0"), "use the indirect client address in delay pools", set!(delay_pool_uses_indirect_client, on_off)),
    row("log_uses_indirect_client", &[], Kind::OnOff, ["on/off", "on"], since("2.6").except("3.0"), "use the indirect client address in logs", set!(log_uses_indirect_client, on_off)),
    row("tproxy_uses_indirect_client", &[], Kind::OnOff, ["on/off", "off"], since("3.2"), "use the indirect client address when spoofing", checked(set!(tproxy_uses_indirect_client, on_off), not_yet(Area::Interception))),
    row("spoof_client_ip", &[], Kind::AccessList, ["allow/deny acl..", "allow all"], since("3.4"), "whether TPROXY traffic is sent from the client's IP", checked(rules!(spoof_client_ip), not_yet(Area::Interception))),
    row("http_access", &[], Kind::AccessList, ["allow/deny [!]acl..", "deny all"], since("2.5"), "main request admission; first match wins, none = opposite of last action, no lines = deny", rules!(http_access)),
    row("adapted_http_access", &["http_access2"], Kind::AccessList, ["allow/deny acl..", "allow all"], since("2.6").except("3.0"), "second admission check after rewrite/adaptation", rules!(adapted_http_access)),
    row("http_reply_access", &[], Kind::AccessList, ["allow/deny acl..", "allow all"], since("2.5"), "admission of replies", rules!(http_reply_access)),
    row("icp_access", &[], Kind::AccessList, ["allow/deny acl..", "deny all"], since("2.5"), "who may query by ICP", checked(rules!(icp_access), not_yet(Area::Peers))),
    row("htcp_access", &[], Kind::AccessList, ["allow/deny acl..", "deny all"], since("2.6"), "who may send HTCP TST", checked(rules!(htcp_access), not_yet(Area::Peers))),
    row("htcp_clr_access", &[], Kind::AccessList, ["allow/deny acl..", "deny all"], since("2.6"), "who may send HTCP CLR (purge); since 8 a denied CLR is also not relayed", checked(rules!(htcp_clr_access), not_yet(Area::Peers))),
    row("miss_access", &[], Kind::AccessList, ["allow/deny acl..", "allow all"], since("2.5"), "who may cause misses to be fetched (sibling protection)", rules!(miss_access)),
    row("reply_body_max_size", &[], Kind::Lines(&[Kind::SizeOrNone, Kind::Acls]), ["SIZE [acl..]", "no limit"], since("2.5"), "largest reply body; 2.5 form was \"SIZE allow/deny acl..\"", done(lists::reply_body_max_size)),
    row("on_unsupported_protocol", &[], Kind::Lines(&[Kind::OneOf(&["tunnel", "respond"]), Kind::Acls]), ["tunnel/respond acl..", "respond"], since("4"), "what to do with non-HTTP bytes on intercepted or bumped connections", not_yet(Area::Interception)),
    row("auth_schemes", &[], Kind::Lines(&[Kind::Quoted, Kind::Acls]), ["schemes [acl..]", "all, config order"], since("5"), "choose which schemes are offered", done(auth::auth_schemes)),
];
