//! Directives: delay pools and WCCP.

use super::{Area, Kind, Row, done, not_yet, row, since};
use crate::readers::delay;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("delay_pools", &[], Kind::Short, ["N", "0"], since("2.5"), "number of delay pools", done(delay::delay_pools)),
    row("delay_class", &[], Kind::Lines(&[Kind::Short, Kind::Short]), ["pool class", "none"], since("2.5"), "class 1-5 of a pool", done(delay::delay_class)),
    row("delay_access", &[], Kind::Lines(&[Kind::Short, Kind::AccessList]), ["pool allow/deny acl..", "deny"], since("2.5"), "who falls in the pool (first allow wins, pools in order)", done(delay::delay_access)),
    row("delay_parameters", &[], Kind::Lines(&[Kind::Short, Kind::Words]), ["pool restore/max ..", "none"], since("2.5"), "bucket rates: aggregate, network, individual, user, tag", done(delay::delay_parameters)),
    row("delay_initial_bucket_level", &[], Kind::Short, ["percent", "50"], since("2.5"), "starting bucket fill", done(delay::delay_initial_bucket_level)),
    row("client_delay_pools", &[], Kind::Short, ["N", "0"], since("3.2"), "number of pools that limit what clients are sent", done(delay::client_delay_pools)),
    row("client_delay_initial_bucket_level", &[], Kind::Short, ["percent", "50"], since("3.2"), "starting fill of client delay pools", done(delay::client_delay_initial_bucket_level)),
    row("client_delay_parameters", &[], Kind::Lines(&[Kind::Short, Kind::Words]), ["pool rate max", "none"], since("3.2"), "rate of each client of a client delay pool", done(delay::client_delay_parameters)),
    row("client_delay_access", &[], Kind::Lines(&[Kind::Short, Kind::AccessList]), ["pool allow/deny acl..", "deny"], since("3.2"), "which clients use which client delay pool", done(delay::client_delay_access)),
    row("response_delay_pool", &[], Kind::Lines(&[Kind::Word, Kind::Words]), ["name k=v..", "none"], since("5"), "named response pools", done(delay::response_delay_pool)),
    row("response_delay_pool_access", &[], Kind::Lines(&[Kind::Word, Kind::AccessList]), ["name allow/deny acl..", "deny"], since("5"), "which responses use which pool", done(delay::response_delay_pool_access)),
    row("wccp_router", &[], Kind::Address, ["addr", "none"], since("2.5"), "WCCPv1 home router", not_yet(Area::Wccp)),
    row("wccp2_router", &[], Kind::Addresses, ["addr..", "none"], since("2.6"), "WCCPv2 routers", not_yet(Area::Wccp)),
    row("wccp_version", &[], Kind::Number, ["N", "4"], since("2.5"), "WCCPv1 version", not_yet(Area::Wccp)),
    row("wccp2_rebuild_wait", &[], Kind::OnOff, ["on/off", "on"], since("2.6"), "wait for index rebuild before HERE_I_AM", not_yet(Area::Wccp)),
    row("wccp2_forwarding_method", &[], Kind::OneOf(&["gre", "l2", "1", "2"]), ["gre/l2 (1/2)", "gre"], since("2.6"), "router to cache method", not_yet(Area::Wccp)),
    row("wccp2_return_method", &[], Kind::OneOf(&["gre", "l2", "1", "2"]), ["gre/l2 (1/2)", "gre"], since("2.6"), "cache to router method", not_yet(Area::Wccp)),
    row("wccp2_assignment_method", &[], Kind::OneOf(&["hash", "mask", "1", "2"]), ["hash/mask (1/2)", "hash"], since("2.6"), "bucket assignment", not_yet(Area::Wccp)),
    row("wccp2_service", &[], Kind::Lines(&[Kind::OneOf(&["standard", "dynamic"]), Kind::Number, Kind::Words]), ["standard 0 / dynamic ID [password=]", "standard 0"], since("2.6"), "service group", not_yet(Area::Wccp)),
    row("wccp2_service_info", &[], Kind::Lines(&[Kind::Number, Kind::Words]), ["ID protocol= flags= priority= ports=", "none"], since("2.6"), "dynamic service definition", not_yet(Area::Wccp)),
    row("wccp2_weight", &[], Kind::Number, ["N", "10000"], since("2.6"), "share weight", not_yet(Area::Wccp)),
    row("wccp_address", &[], Kind::Address, ["addr", "any"], since("2.6"), "local address (v1)", not_yet(Area::Wccp)),
    row("wccp2_address", &[], Kind::Address, ["addr", "any"], since("2.6"), "local address (v2)", not_yet(Area::Wccp)),
];
