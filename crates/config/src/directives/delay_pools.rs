//! Directives: delay pools and WCCP.

use super::{Row, not_yet, row};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("delay_pools", &[], ["N", "0", "≤2.5"], "number of delay pools", not_yet("delay pools")),
    row("delay_class", &[], ["pool class", "none", "≤2.5"], "class 1-5 of a pool", not_yet("delay pools")),
    row("delay_access", &[], ["pool allow/deny acl..", "deny", "≤2.5"], "who falls in the pool (first allow wins, pools in order)", not_yet("delay pools")),
    row("delay_parameters", &[], ["pool restore/max ..", "none", "≤2.5"], "bucket rates: aggregate, network, individual, user, tag", not_yet("delay pools")),
    row("delay_initial_bucket_level", &[], ["percent", "50", "≤2.5"], "starting bucket fill", not_yet("delay pools")),
    row("client_delay_pools", &[], ["N", "0", "3.2"], "client-side (upload) pools", not_yet("delay pools")),
    row("client_delay_initial_bucket_level", &[], ["percent", "50", "3.2"], "starting fill of client delay pools", not_yet("delay pools")),
    row("client_delay_parameters", &[], ["pool rate max", "none", "3.2"], "rates of client delay pools", not_yet("delay pools")),
    row("client_delay_access", &[], ["pool allow/deny acl..", "deny", "3.2"], "which clients use which client delay pool", not_yet("delay pools")),
    row("response_delay_pool", &[], ["name k=v..", "none", "5"], "named response pools", not_yet("delay pools")),
    row("response_delay_pool_access", &[], ["name allow/deny acl..", "deny", "5"], "which responses use which pool", not_yet("delay pools")),
    row("wccp_router", &[], ["addr", "none", "≤2.5"], "WCCPv1 home router", not_yet("WCCP")),
    row("wccp2_router", &[], ["addr..", "none", "2.6"], "WCCPv2 routers", not_yet("WCCP")),
    row("wccp_version", &[], ["N", "4", "≤2.5"], "WCCPv1 version", not_yet("WCCP")),
    row("wccp2_rebuild_wait", &[], ["on/off", "on", "2.6"], "wait for index rebuild before HERE_I_AM", not_yet("WCCP")),
    row("wccp2_forwarding_method", &[], ["gre/l2 (1/2)", "gre", "2.6"], "router to cache method", not_yet("WCCP")),
    row("wccp2_return_method", &[], ["gre/l2 (1/2)", "gre", "2.6"], "cache to router method", not_yet("WCCP")),
    row("wccp2_assignment_method", &[], ["hash/mask (1/2)", "hash", "2.6"], "bucket assignment", not_yet("WCCP")),
    row("wccp2_service", &[], ["standard 0 / dynamic ID [password=]", "standard 0", "2.6"], "service group", not_yet("WCCP")),
    row("wccp2_service_info", &[], ["ID protocol= flags= priority= ports=", "none", "2.6"], "dynamic service definition", not_yet("WCCP")),
    row("wccp2_weight", &[], ["N", "10000", "2.6"], "share weight", not_yet("WCCP")),
    row("wccp_address", &[], ["addr", "any", "2.6"], "local address (v1)", not_yet("WCCP")),
    row("wccp2_address", &[], ["addr", "any", "2.6"], "local address (v2)", not_yet("WCCP")),
];
