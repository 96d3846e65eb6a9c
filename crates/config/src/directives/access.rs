//! Directives: who may do what.

use super::{Row, acl, done, not_yet, row, rules};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("external_acl_type", &[], ["name [opts] FORMAT helper [args]", "none", "≤2.5"], "declare a helper-backed ACL class with result cache (ttl, concurrency, children-*, ipv4)", not_yet("external ACLs")),
    row("acl", &[], ["name type [flags] values or \"file\"", "all, manager, localhost, to_localhost, to_linklocal, CONNECT and five for TLS errors", "≤2.5"], "define a named access list; same-name lines of one type append", done(acl::acl)),
    row("proxy_protocol_access", &[], ["allow/deny acl..", "deny all", "3.5"], "which peers may send a PROXY header on require-proxy-header ports (fast ACLs)", not_yet("the PROXY protocol")),
    row("follow_x_forwarded_for", &[], ["allow/deny acl..", "deny all (XFF ignored)", "2.6 (not 3.0)"], "trust X-Forwarded-For hops to find the indirect client", not_yet("the indirect client")),
    row("acl_uses_indirect_client", &[], ["on/off", "on", "2.6 (not 3.0)"], "use the indirect client address in ACLs", not_yet("the indirect client")),
    row("delay_pool_uses_indirect_client", &[], ["on/off", "on", "2.6 (not 3.0)"], "use the indirect client address in delay pools", not_yet("the indirect client")),
    row("log_uses_indirect_client", &[], ["on/off", "on", "2.6 (not 3.0)"], "use the indirect client address in logs", not_yet("the indirect client")),
    row("tproxy_uses_indirect_client", &[], ["on/off", "off", "3.2"], "use the indirect client address when spoofing", not_yet("the indirect client")),
    row("spoof_client_ip", &[], ["allow/deny acl..", "allow all", "3.4"], "whether TPROXY traffic is sent from the client's IP", not_yet("interception")),
    row("http_access", &[], ["allow/deny [!]acl..", "deny all", "≤2.5"], "main request admission; first match wins, none = opposite of last action, no lines = deny", rules!(http_access)),
    row("adapted_http_access", &["http_access2"], ["allow/deny acl..", "allow all", "2.6 (not 3.0)"], "second admission check after rewrite/adaptation", not_yet("URL rewriting")),
    row("http_reply_access", &[], ["allow/deny acl..", "allow all", "≤2.5"], "admission of replies", rules!(http_reply_access)),
    row("icp_access", &[], ["allow/deny acl..", "deny all", "≤2.5"], "who may query by ICP", not_yet("ICP and HTCP")),
    row("htcp_access", &[], ["allow/deny acl..", "deny all", "2.6"], "who may send HTCP TST", not_yet("ICP and HTCP")),
    row("htcp_clr_access", &[], ["allow/deny acl..", "deny all", "2.6"], "who may send HTCP CLR (purge); since 8 a denied CLR is also not relayed", not_yet("ICP and HTCP")),
    row("miss_access", &[], ["allow/deny acl..", "allow all", "≤2.5"], "who may cause misses to be fetched (sibling protection)", rules!(miss_access)),
    row("reply_body_max_size", &[], ["SIZE [acl..]", "no limit", "≤2.5"], "largest reply body; 2.5 form was \"SIZE allow/deny acl..\"", not_yet("access control")),
    row("on_unsupported_protocol", &[], ["tunnel/respond acl..", "respond", "4"], "what to do with non-HTTP bytes on intercepted or bumped connections", not_yet("interception")),
    row("auth_schemes", &[], ["schemes [acl..]", "all, config order", "5"], "choose which schemes are offered", not_yet("authentication")),
];
